/* Releases an array: random words, kernel, and the list of lanes that need refinement, block by block.
 *
 * Contract   Samples [start, n) of a range are released, start a multiple of EN_BLOCK. out[i] is final for every lane
 *            that is not listed; a listed lane holds 0 until the caller has refined it. The list keeps what refinement
 *            needs, the exact x included, because out may be x (or must not overlap it).
 *            Stops early, at a block boundary, when the list could overflow; call again with start = *done.
 *            Keystream, copies of data and scratch are wiped before returning. The floating-point environment is set
 *            for the call and restored. No lock, no global, no allocation: 40 kB of stack.
 */
#ifndef EN_RELEASE_H
#define EN_RELEASE_H

#include "kernels.h"
#include "status.h"

/* Where the random words of a range come from. */
typedef enum {
    EN_FROM_KEY,    /* ChaCha20 under a key of 32 fresh random bytes, used for this range only; block b of the range has
                       its own counters, so that a range may be continued */
    EN_FROM_SYSTEM, /* the operating system, with no cipher */
    EN_FROM_WORDS /* an array, for tests: en_word_count words for the samples of the range in order. Rejected ones take
                       their fresh proposals from as many again, as long as the array goes on */
} en_origin;

typedef struct {
    en_origin origin;
    const uint8_t *key;
    const uint64_t *words;
    size_t word_count; /* EN_FROM_WORDS */
} en_randomness;

/* How many words n samples take, rejected ones not counted. */
size_t en_word_count(en_family family, size_t n);

/* A key serves at most 64 MiB of keystream: with the third words of discrete Gaussian samples, 1.3 words a sample. */
#define EN_SAMPLES_PER_KEY ((INT64_C(1) << 22) / EN_DRAWN_WORDS * EN_BLOCK)

/* Fresh proposals are drawn so many times. Then, which never happens, refinement goes on by itself. */
enum { EN_MOST_TRIALS = 64 };

/* A lane that the fast path declined. */
typedef struct {
    int64_t index;    /* the sample, relative to the range */
    int64_t lane;     /* the same; for a Gaussian the pair's cosine sample. 2^48 more for every earlier proposal */
    uint64_t word[3]; /* its random words so far; of the third word of a pair its half, as the upper one */
    uint64_t x;       /* its exact input: the bits of a double, or of an int64 */
} en_pending;

typedef struct {
    en_pending *lanes;
    size_t capacity; /* at least EN_BLOCK or the number of samples, whichever is less */
    size_t count;
} en_pending_list;

en_status en_release(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, const void *x, void *out,
                     size_t start, size_t n, en_pending_list *pending, size_t *done);

#endif
