/* Reports of the local randomisers from a range of data, coins, and what the servers count in reports.
 *
 * Contract   Samples 0 .. n - 1 of a range; what a word means is in response_kernels.h. Reports:
 *              en_respond         one byte, or two (little-endian), the value
 *              en_respond_hashed  10 bytes: a (4, little-endian), b (4, little-endian), bucket (2, little-endian)
 *              en_respond_unary   plan->bytes bytes, category v is bit v % 8 of byte v / 8, padding bits 0
 *              en_coins           coin c is bit c % 8 of byte c / 8
 *            The words of a range are three streams. An array of words (EN_FROM_WORDS) holds them one after the other;
 *            of a key, stream s begins at ChaCha20 block s 2^30.
 *              0  response   one word a report
 *                 hashing    blocks of EN_REPORT_BLOCK reports; of a block first the words of all hash functions, then
 *                            those of all responses
 *                 coins      blocks of EN_COIN_GROUPS groups of 64 coins; of a block first level 0 of all groups, then
 *                            level 1, ... The last block is as short as the bytes allow. Unary reports lie
 *                            in one sequence of bytes, rows across the blocks.
 *              1  unary      one word a report, for the true category's bit
 *              2  coins      one word for each coin that the levels leave undecided, in the order of coins
 *            Keystream and scratch are wiped before returning. No lock, no global, no allocation, no floating-point
 *            operation: 25 kB of stack.
 * Timing     Nothing depends on data. Whether a coin takes a word of stream 2 depends on its first random bits, hence a
 *            little on the result: a few instructions a coin, and a group of keystream every 128 words after the first.
 * Reports    A server reads anything: a bucket that does not exist supports no category, and padding bits are columns
 *            of their own.
 */
#ifndef EN_RESPONSE_H
#define EN_RESPONSE_H

#include "kernels.h"
#include "release.h"

enum { EN_REPORT_BLOCK = 512, EN_COIN_GROUPS = 128, EN_HASH_BYTES = 10 };

/* The part of the plan that follows from `choices` and `other`. */
void en_response_init(en_response *plan, uint64_t choices, uint64_t other);

en_status en_respond(const en_domain *domain, const en_response *plan, const en_kernels *kernels,
                     en_randomness randomness, const int64_t *codes, void *reports, size_t n);

en_status en_respond_hashed(const en_domain *domain, const en_response *plan, const en_kernels *kernels,
                            en_randomness randomness, const int64_t *codes, uint8_t *reports, size_t n);

/* Stream 2 of an array has `spare` words. On return *spare is how many were needed: if they are more, the result is
 * worthless. */
en_status en_respond_unary(const en_unary *plan, const en_kernels *kernels, en_randomness randomness, size_t *spare,
                           const int64_t *codes, uint8_t *reports, size_t n);

/* Coins for all bits of `bytes` bytes. `undecided` marks those that equal levels and tail, if p goes on; their bit in
 * `ones` is 0. */
en_status en_coins(const en_coin *coin, const en_kernels *kernels, en_randomness randomness, size_t *spare,
                   uint8_t *ones, uint8_t *undecided, size_t bytes);

/* counts[c] += the number of rows with bit c set, c < 8 bytes. */
void en_count_columns(const en_kernels *kernels, const uint8_t *rows, size_t bytes, size_t n, int64_t *counts);

/* supports[v] += the number of reports whose hash function puts v into their bucket, of `buckets` <= 2^15. */
void en_count_supports(const en_kernels *kernels, const uint8_t *reports, size_t n, uint32_t buckets, int64_t *supports,
                       size_t categories);

#endif
