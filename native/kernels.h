/* The kernels of one instruction set, as a table. Every table computes the same integers from the same words. */
#ifndef EN_KERNELS_H
#define EN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "plan.h"
#include "platform.h"
#include "quantize.h"
#include "selection_plan.h"

#include "response_plan.h"

/* Samples that are drawn and rounded together, so that words, data and scratch stay in the first-level cache. It is
 * part of what the words mean: a block of Gaussian samples pairs its first half with its second.
 *
 * A sample needs 51 random bits (uniform.h), so that four drawn words serve five samples: the fifth word is made of
 * the 13 spare bits of each. */
enum { EN_BLOCK = 640, EN_DRAWN_WORDS = EN_BLOCK / 5 * 4 };

/* ChaCha20 comes in groups of sixteen blocks: see chacha20.h. */
enum { EN_KEY_BYTES = 32, EN_GROUP_BLOCKS = 16, EN_GROUP_WORDS = 128 };

/* What a lane of EN_DISCRETE_GAUSSIAN has for its slack when it needs a fresh proposal. */
#define EN_REJECTED 4.0

/* The noise of n <= EN_BLOCK samples in grid units, and the part of 1/2 that each lane's window leaves free. Both
 * arrays hold EN_BLOCK: the last pair is written whole. */
typedef void en_noise_kernel(const en_plan *plan, const uint64_t *words, double *noise, double *room, size_t n);

/* Rounds x + noise to the grid. slack[i], the lane's room on entry, tells on return whether the lane is decided; if
 * not, out[i] is not to be used. Returns whether all lanes are decided. x and out do not overlap. EN_FLOAT32 reads and
 * writes doubles: see widen and narrow. */
typedef int en_release_kernel(const en_plan *plan, const uint64_t *words, const double *noise, double *slack,
                              const void *x, void *out, size_t n);

/* Whether a lane's slack is in [0, 2): never for a negative number, a NaN or an infinity. The window contains the
 * roundings of the test, so a slack of 0 is enough. Two bits tell, so that the patterns of many lanes or-ed together
 * tell for all. */
static inline int en_is_decided(double slack) {
    return en_bits(slack) >> 62 == 0;
}

/* Whether a slack is 2 or more, so EN_REJECTED. */
static inline int en_is_rejected(double slack) {
    return en_bits(slack) >> 62 == 1;
}

/* What clip.h says. */
typedef enum { EN_L1, EN_L2, EN_NORM_COUNT } en_norm;
typedef enum { EN_ROWS_FLOAT64, EN_ROWS_FLOAT32, EN_ROWS_COUNT } en_rows;
typedef void en_clip_kernel(const void *x, void *out, size_t rows, size_t columns, double bound);

/* Of selections, for n <= EN_BLOCK candidates: selection_kernels.h. */
typedef void en_selection_noise_kernel(const en_selection_plan *plan, const uint64_t *words, double *noise,
                                       double *reach, size_t n);
typedef void en_score_keys_kernel(const void *scores, const uint64_t *flags, int64_t *keys, int64_t *complements,
                                  size_t n);
typedef void en_intervals_kernel(const en_selection_plan *plan, const void *scores, const uint64_t *flags,
                                 const en_score_range *ranges, const double *noise, const double *reach, int64_t *lower,
                                 double *upper, size_t rows, size_t candidates);

/* Responses among the categories of the data, as values of 8 or 16 bits: response_kernels.h. */
typedef void en_respond_kernel(const en_domain *domain, const en_response *plan, const uint64_t *words,
                               const int64_t *codes, void *reports, size_t n);

/* Of aggregates, for blocks: aggregate_kernels.h. */
typedef void en_quantize_kernel(const en_quantizer *quantizer, const void *x, uint64_t *values, uint64_t *kept,
                                size_t n);
typedef void en_total_kernel(const en_quantizer *quantizer, const void *x, size_t n, en_totals *totals);
typedef void en_bin_kernel(const void *x, const void *edges, size_t count, uint64_t *scratch, int64_t *bins, size_t n);
typedef void en_add_rows_kernel(const void *rows, size_t stride, size_t width, size_t n, double scale, double most,
                                uint64_t *sums);
typedef void en_add_row_kernel(const void *row, size_t width, double scale, double most, uint64_t kept, uint64_t *low,
                               uint64_t *high);

typedef struct {
    en_noise_kernel *noise[EN_FAMILY_COUNT];
    en_release_kernel *release[EN_FORM_COUNT];
    en_release_kernel *release_signed_int64; /* EN_DISCRETE_LAPLACE and EN_TABULATED, whose noise is a magnitude */
    en_clip_kernel *clip[EN_NORM_COUNT][EN_ROWS_COUNT];
    void (*spread_words)(uint64_t *words); /* EN_DRAWN_WORDS in, EN_BLOCK out */
    void (*widen)(const float *x, double *wide, size_t n);
    void (*narrow)(const double *wide, float *x, size_t n);
    void (*chacha20)(const uint8_t *key, uint32_t counter, uint64_t *words, size_t groups);
    /* Local randomisers, coins, and what servers count: response_kernels.h. */
    en_respond_kernel *respond8, *respond16;
    void (*respond_hashed)(const en_domain *domain, const en_response *plan, const uint64_t *hashes,
                           const uint64_t *words, const int64_t *codes, uint64_t *buckets, size_t n);
    void (*flip_coins)(const en_coin *coin, const uint64_t *words, uint64_t *ones, uint64_t *undecided, size_t groups);
    void (*set_categories)(const en_unary *plan, const uint64_t *words, const int64_t *codes, uint8_t *rows, size_t n);
    void (*add_columns)(const uint8_t *rows, size_t stride, size_t width, size_t n, uint8_t *counters);
    void (*add_supports)(uint32_t *place, const uint32_t *step, const int32_t *limit, size_t n, int64_t *supports,
                         size_t categories);
    /* The elementary functions by themselves, for the tests of their bounds. */
    void (*negative_log)(const uint64_t *words, double *out, size_t n);
    void (*sincos)(const uint64_t *words, double *sine, double *cosine, size_t n);
    void (*sqrt)(const double *x, double *out, size_t n);
    en_selection_noise_kernel *selection_noise[EN_SELECTION_COUNT];
    en_score_keys_kernel *score_keys[EN_SCORES_COUNT];
    void (*row_maxima)(const int64_t *x, int64_t *maxima, size_t rows, size_t candidates);
    en_intervals_kernel *intervals[EN_SCORES_COUNT];
    void (*contenders)(const double *upper, const int64_t *top, uint64_t *found, size_t rows, size_t candidates);
    en_quantize_kernel *quantize[EN_VALUES_COUNT];
    en_total_kernel *total[EN_VALUES_COUNT], *moments[EN_VALUES_COUNT];
    void (*place)(const int64_t *codes, uint64_t groups, uint64_t *places, uint64_t *values, uint64_t *kept, size_t n);
    void (*cells)(const en_quantizer *quantizer, const uint64_t *values, const uint64_t *kept, int64_t *out, size_t n);
    en_bin_kernel *bin[EN_VALUES_COUNT];
    en_add_rows_kernel *add_rows[EN_VALUES_INT64]; /* of floating-point numbers */
    en_add_row_kernel *add_row[EN_VALUES_INT64];
} en_kernels;

extern const en_kernels en_kernels_portable;
extern const en_kernels en_kernels_avx2;
extern const en_kernels en_kernels_avx512;

/* The kernel that rounds a plan's noisy values to the grid. */
static inline en_release_kernel *en_rounding(const en_plan *plan, const en_kernels *kernels) {
    return plan->family == EN_DISCRETE_LAPLACE || plan->family == EN_TABULATED ? kernels->release_signed_int64
                                                                               : kernels->release[plan->form];
}

#endif
