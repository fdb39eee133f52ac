/* What one mechanism's kernels need to know: public parameters only, fixed before any data is seen.
 *
 * A plan is made once, is never written again and may be shared by threads. All lengths are in grid units: the scale
 * is s = scale / g, an exact double because the granularity g = 2^exponent is a power of two.
 *
 * The window is what makes the result exact. The fast path computes y, the noisy value's distance from a nearby grid
 * point, with an error below
 *
 *     window + reach * (the cell's own reach, which the kernel reads off the exponent of the random number)
 *
 * and accepts round(y) only if y is farther than that from the nearest half-integer. The fixed part is the same for
 * every lane of every call, so that "this lane was slow" says as little as possible about the noise; laplace.h and
 * gaussian.h derive both parts.
 */
#ifndef EN_PLAN_H
#define EN_PLAN_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    EN_LAPLACE,
    EN_GAUSSIAN,
    EN_DISCRETE_LAPLACE,
    EN_DISCRETE_GAUSSIAN, /* s >= 4 */
    EN_TABULATED,         /* any symmetric integer variable; the discrete Gaussian with s < 4 */
    EN_FAMILY_COUNT
} en_family;

/* Magnitudes up to here have a threshold: for s < 4 all others are less likely than 2^-50. */
enum { EN_MOST_THRESHOLDS = 36, EN_THRESHOLD_GROUP = 4 /* looked at together */ };

/* How values are read, rounded to the grid and written. */
typedef enum {
    EN_FLOAT64,         /* double to double */
    EN_FLOAT64_EXTREME, /* the same where 2^-900 <= g <= 2^900 does not hold; en_plan_init chooses */
    EN_FLOAT32,         /* float to float */
    EN_INT64_FLOAT64,   /* int64 to double: the granularity is below 1 */
    EN_INT64,           /* int64 to int64: the granularity is 1 or more */
    EN_FORM_COUNT
} en_form;

typedef struct {
    double down[2]; /* x times both is x / g; in two steps, since 1 / g itself may overflow */
    double up[2];   /* k times both is k * g */
    double far;     /* 2^52 g: from here on every double is a multiple of g */
    double near;    /* 2^-200 g: below it x / g counts as 0, an error far inside the window */
    double limit;   /* the largest finite multiple of g in the output type, which an infinite value counts as */
    double nan;     /* what a NaN counts as */
    unsigned shift; /* EN_INT64: g = 2^shift */
} en_grid;

typedef struct {
    en_family family;
    en_form form;
    int exponent;       /* g = 2^exponent */
    double s;           /* scale / g */
    double offset;      /* EN_DISCRETE_LAPLACE: c - 1/2, see laplace.h */
    uint64_t shortfall; /* the same: 1/2 - c in units of 2^-64, rounded down */
    uint64_t doubt;     /* of y in settle.h, in units of 2^-64 */
    double window;
    double reach;
    double inverse_square; /* EN_DISCRETE_GAUSSIAN: 1 / s^2 */
    double steepness;      /* the same: how far T moves, times 2, while y moves by 1; see discrete_gaussian.h */
    double acceptance;     /* the same: the fixed part of T's window */
    size_t thresholds;     /* EN_TABULATED: how many, a multiple of EN_THRESHOLD_GROUP */
    double threshold[EN_MOST_THRESHOLDS]; /* floor(2^50 P(|X| >= k)) for k = 1, 2, .. */
    en_grid grid;
} en_plan;

/* Fills in everything from the public parameters.
 * Preconditions, checked by the caller: 2^-30 <= s <= 2^36; -1074 <= exponent <= 1023, -149 <= exponent <= 127 for
 * EN_FLOAT32, exponent < 0 for EN_INT64_FLOAT64, 0 <= exponent <= 62 for EN_INT64; nan finite; the discrete families
 * only with EN_INT64 and exponent 0; s >= 4 for EN_DISCRETE_GAUSSIAN. `window_factor` is 1 except in tests, which
 * shrink the windows to see their checks fail. */
void en_plan_init(en_plan *plan, en_family family, en_form form, double s, int exponent, double nan, double offset,
                  double window_factor);

/* For EN_DISCRETE_LAPLACE: more of 1/2 - c than the double `offset` says. */
void en_plan_set_shortfall(en_plan *plan, uint64_t shortfall);

/* The table of EN_TABULATED: count <= EN_MOST_THRESHOLDS whole numbers from 0 to 2^50, decreasing. */
void en_plan_set_thresholds(en_plan *plan, const double *threshold, size_t count);

#endif
