/* What the selection kernels know of a mechanism: public parameters only, fixed before any data is seen.
 *
 * Scores are doubles or int64 (unsigned scores less 2^63: only differences count). A row's highest and lowest usable
 * score are kept as keys, integers in the same order as the scores, since integers have a maximum that vectorises.
 */
#ifndef EN_SELECTION_PLAN_H
#define EN_SELECTION_PLAN_H

#include "platform.h"

#define EN_INFINITY en_from_bits(UINT64_C(0x7ff0000000000000))

typedef enum { EN_EXPONENTIAL_MECHANISM, EN_PERMUTE_AND_FLIP, EN_SELECTION_COUNT } en_selection_family;

typedef enum { EN_SCORES_FLOAT64, EN_SCORES_INT64, EN_SCORES_COUNT } en_score_form;

/* What is said about a candidate besides its score. */
enum {
    EN_EXCLUDED = 1, /* by the public mask: not selected, and no part of its row's range */
    EN_MISSING = 2   /* counts as the lowest usable score of its row, as a NaN does */
};

typedef struct {
    en_selection_family family;
    en_score_form form;
    double half;  /* 1/2 for a scale of at least 2, so that differences do not overflow; else 1 */
    double step;  /* a power of two: half * difference * step * rate = difference / scale */
    double rate;  /* in (1/2, 1] */
    double slack; /* the parts of an interval's half width: see selection_kernels.h */
    double relative;
    double reach;
} en_selection_plan;

/* Keys of the highest and lowest usable score of a row. */
typedef struct {
    int64_t high;
    int64_t low;
} en_score_range;

/* `scale` is a normal positive double. `window_factor` is 1 except in tests, which shrink the intervals to see their
 * checks fail. */
void en_selection_plan_init(en_selection_plan *plan, en_selection_family family, en_score_form form, double scale,
                            double window_factor);

/* The order of doubles as that of integers, and back; infinities included. */
EN_ALWAYS_INLINE int64_t en_order_key(uint64_t bits) {
    return (int64_t)(bits ^ (UINT64_C(0) - (bits >> 63)) >> 1);
}

EN_ALWAYS_INLINE double en_from_order_key(int64_t key) {
    const uint64_t bits = (uint64_t)key;
    return en_from_bits(bits ^ (UINT64_C(0) - (bits >> 63)) >> 1);
}

EN_ALWAYS_INLINE int en_is_finite(double x) {
    return en_from_bits(en_bits(x) & INT64_MAX) <= DBL_MAX;
}

/* The score that a candidate counts with: the lowest usable one for NaN, -inf and missing, the highest for +inf. */
EN_ALWAYS_INLINE double en_float64_score(double x, uint64_t flag, double high, double low) {
    const double seen = en_pick_double(flag != 0, -EN_INFINITY, x);
    return en_pick_double(en_is_finite(seen), seen, en_pick_double(seen > DBL_MAX, high, low));
}

/* The range from the maximum of the keys and that of their complements, which are INT64_MIN where no score is usable:
 * then the scores count as equal. */
EN_ALWAYS_INLINE en_score_range en_range_of(int64_t key, int64_t complement) {
    const int none = key < ~complement;
    const en_score_range range = {none ? 0 : key, none ? 0 : ~complement};
    return range;
}

#endif
