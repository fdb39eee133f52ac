/* What the kernels of the local randomisers know: public parameters only, fixed before any data is seen.
 *
 * Every probability is a multiple of 2^-64 (of coins: any rational), so that a whole word decides and nothing is left
 * to refine. Python chooses the multiples and proves that their ratios are within e^epsilon.
 */
#ifndef EN_RESPONSE_PLAN_H
#define EN_RESPONSE_PLAN_H

#include <stddef.h>
#include <stdint.h>

/* Data: a code outside 0 .. categories - 1 counts as `missing`. */
typedef struct {
    uint64_t categories; /* 2 .. 2^16 */
    uint64_t missing;    /* < categories */
} en_domain;

/* One of `choices` values: the true one with probability keep / 2^64, each other one with other / 2^64. */
typedef struct {
    uint64_t choices;    /* 2 .. 2^16 */
    uint64_t keep;       /* 2^64 - (choices - 1) other */
    uint64_t other;      /* >= 1, < keep */
    uint64_t multiplier; /* these three are a division by `other`: see response_kernels.h */
    unsigned drop;
    unsigned shift;
} en_response;

/* Levels of bit-sliced comparison before coins are looked at one by one: 2^-8 of them are still undecided. */
enum { EN_COIN_LEVELS = 8 };

/* How the binary expansion of a coin's probability ends. */
typedef enum {
    EN_ENDS_IN_LEVELS, /* a coin that equals all levels is 0 */
    EN_ENDS_IN_TAIL,   /* one more word decides every coin */
    EN_GOES_ON         /* a coin that equals levels and tail is left undecided */
} en_coin_end;

/* A coin that is 1 with probability p, 0 < p < 1. */
typedef struct {
    unsigned levels;               /* 1 .. EN_COIN_LEVELS */
    uint64_t bits[EN_COIN_LEVELS]; /* bit l of p's expansion, all 64 alike */
    uint64_t tail;                 /* the next 64 bits, the first of them highest */
    en_coin_end end;
} en_coin;

/* A bit for each category: the true one is 1 with probability keep / 2^64, every other one is a coin. */
typedef struct {
    en_domain domain;
    uint64_t keep;
    size_t bytes; /* of a report */
    en_coin coin; /* ends in the levels or in the tail */
} en_unary;

#endif
