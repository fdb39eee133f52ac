/* Selects one candidate a row: random words, intervals, and the list of rows that need refinement.
 *
 * Contract   Rows of candidates follow each other; candidate i of the whole has word i. A row's selection is final unless
 *            it has several contenders (selection_kernels.h); then out holds 0 and the row's contenders are listed, with
 *            all that refinement needs.
 *            Rows of up to EN_BLOCK candidates go together in tiles of whole rows, as many as fit in a block. A longer row
 *            goes block by block, and its contenders so far stay on the list while it lasts. Every tile or block has
 *            its own counters of the key.
 *            If list->count exceeds the capacity, the list was too small and nothing else is to be used: call again with
 *            the same words and that capacity. Only words that nobody draws ask for more than a few records a row.
 *            Keystream and scratch are wiped before returning; the list is the caller's to wipe. The floating-point
 *            environment is set for the call and restored. No lock, no global, no allocation: 60 kB of stack.
 */
#ifndef EN_SELECT_H
#define EN_SELECT_H

#include "release.h"

typedef struct {
    const void *values;   /* doubles or int64 */
    const uint8_t *flags; /* EN_EXCLUDED and EN_MISSING of each candidate; NULL for none */
    size_t rows;
    size_t candidates; /* at least one a row, and one that is not excluded */
} en_scores;

typedef struct {
    int64_t row;
    int64_t candidate; /* within its row */
    uint64_t word;
    uint64_t score; /* what the candidate counts with: the bits of a double, or an int64 */
    double upper;   /* of its interval */
} en_contender;

typedef struct {
    en_contender *contenders;
    size_t capacity;
    size_t count;
} en_contender_list;

/* Blocks of keystream under one key: 2^20 blocks of ChaCha20. */
#define EN_TILES_PER_KEY (INT64_C(1) << 14)

/* `randomness` is EN_FROM_KEY or EN_FROM_WORDS. */
void en_select(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
               const en_scores *scores, int64_t *out, en_contender_list *list);

/* A row in parts, each of which may have a key of its own: part by part the maximum of its scores' keys and that of
 * their complements, from INT64_MIN on; then the contenders of each part among its own candidates, and the part's top.
 * Of all contenders with upper >= the highest top one is selected. `part` has one row, and may have nobody who is not
 * excluded: its top is -infinity. */
void en_widen_range(const en_selection_plan *plan, const en_kernels *kernels, const en_scores *part, int64_t maxima[2]);
double en_select_part(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
                      const en_scores *part, const int64_t maxima[2], en_contender_list *list);

#endif
