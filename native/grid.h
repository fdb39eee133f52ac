/* The one rounding: x and the noise meet here, once, and leave as a multiple of the granularity g.
 *
 * x / g is split exactly into an even integer and a rest r, |r| <= 1, so that k = even + round(r + m) for noise m in
 * grid units; only y = r + m is computed in floating point, and the window covers its error. Every function hands out
 * `gap`, |y - round(y)|: the caller accepts the lane if that leaves its window free below 1/2. The rest is exact and
 * rounded once to the output type, which is post-processing.
 *
 * Adding and subtracting 3 * 2^52 rounds to an even integer while |x / g| <= 2^52, 1.5 * 2^52 rounds to an integer.
 * From 2^52 g on ("far") every double is a multiple of g and there is no rest. Values of every kind go through the same
 * instructions: NaN and infinities are replaced by selection, not by a branch.
 */
#ifndef EN_GRID_H
#define EN_GRID_H

#include "isa.h"
#include "plan.h"

#define EN_TO_EVEN 0x1.8p53
#define EN_TO_INTEGER 0x1.8p52

EN_INLINE double en_abs(double x) {
    return en_from_bits(en_bits(x) & ~0x8000000000000000u);
}

EN_INLINE double en_clamp(double x, double limit) {
    x = x > limit ? limit : x;
    return x < -limit ? -limit : x;
}

/* a + b = sum + rest exactly (Knuth's two-sum). */
EN_INLINE double en_two_sum(double a, double b, double *rest) {
    double sum = a + b;
    double from_a = sum - b;
    double from_b = sum - from_a;
    *rest = (a - from_a) + (b - from_b);
    return sum;
}

/* a + b rounded to odd: to the neighbour with an odd last bit unless it is exact. A later rounding to fewer bits then
 * gives what rounding the exact sum once would give (Boldo and Melquiond 2008, "Emulation of FMA and correctly rounded
 * sums"). */
EN_INLINE double en_add_to_odd(double a, double b) {
    double rest;
    double sum = en_two_sum(a, b, &rest);
    uint64_t bits = en_bits(sum);
    /* One step towards the exact sum: away from zero where rest and sum agree in sign, else towards it. */
    uint64_t step = 1 - ((bits ^ en_bits(rest)) >> 63 << 1);
    uint64_t inexact = rest == 0 ? 0 : 1;
    return en_from_bits(bits + step * (inexact & ~bits));
}

typedef struct {
    double even; /* 0 for a far value */
    double far;  /* 0, or a far value itself */
    double rest;
} en_split;

EN_INLINE en_split en_split_value(const en_grid *grid, double x) {
    x = x == x ? x : grid->nan;
    x = x > DBL_MAX ? grid->limit : x;
    x = x < -DBL_MAX ? -grid->limit : x;

    double magnitude = en_abs(x);
    double scaled = (magnitude < grid->near ? 0.0 : x) * grid->down[0];
    double even = EN_FMA(scaled, grid->down[1], EN_TO_EVEN) - EN_TO_EVEN; /* the product is exact */
    double rest = EN_FMA(scaled, grid->down[1], -even);
    en_split split;
    split.even = magnitude < grid->far ? even : 0.0;
    split.rest = magnitude < grid->far ? rest : 0.0;
    split.far = magnitude < grid->far ? 0.0 : x;
    return split;
}

/* round(y) as an integer-valued double. */
EN_INLINE double en_round(double y, double *gap) {
    double rounded = (y + EN_TO_INTEGER) - EN_TO_INTEGER;
    *gap = en_abs(y - rounded);
    return rounded;
}

/* round(y) as an integer. */
EN_INLINE uint64_t en_round_to_int(double y, double *gap) {
    double shifted = y + EN_TO_INTEGER;
    *gap = en_abs(y - (shifted - EN_TO_INTEGER));
    return en_bits(shifted) - en_bits(EN_TO_INTEGER);
}

/* EN_FLOAT64: g between 2^-900 and 2^900, where one step scales, x - r g is exact, and only an infinite x makes an
 * infinite sum: noise is below 2^43 g and cannot move the largest double. */
EN_INLINE double en_release_float64(const en_grid *grid, double x, double noise, double *gap) {
    x = x == x ? x : grid->nan;
    double magnitude = en_abs(x);
    x = magnitude < grid->near ? 0.0 : x;
    double scaled = x * grid->down[0];
    double even = (scaled + EN_TO_EVEN) - EN_TO_EVEN;
    double rest = magnitude < grid->far ? scaled - even : 0.0;
    double steps = en_round(rest + noise, gap);
    double on_grid = EN_FMA(-rest, grid->up[0], x);
    return en_clamp(EN_FMA(steps, grid->up[0], on_grid), grid->limit);
}

/* EN_FLOAT64_EXTREME: any other granularity. */
EN_INLINE double en_release_float64_extreme(const en_grid *grid, double x, double noise, double *gap) {
    en_split split = en_split_value(grid, x);
    double k = split.even + en_round(split.rest + noise, gap);
    return en_clamp(EN_FMA(k * grid->up[0], grid->up[1], split.far), grid->limit);
}

/* EN_FLOAT32: x is a widened float and so is the result once it is converted, which is the only rounding. */
EN_INLINE double en_release_float32(const en_grid *grid, double x, double noise, double *gap) {
    en_split split = en_split_value(grid, x);
    double k = split.even + en_round(split.rest + noise, gap);
    return en_clamp(en_add_to_odd(split.far, k * grid->up[0] * grid->up[1]), grid->limit);
}

/* EN_INT64_FLOAT64: every integer is a multiple of g. The integer is the exact sum of two doubles, and the sum with the
 * noise is rounded once. */
EN_INLINE double en_release_int64_float64(const en_grid *grid, int64_t x, double noise, double *gap) {
    uint64_t biased = (uint64_t)x ^ 0x8000000000000000u;
    double high = en_from_bits(0x4530000000000000u | biased >> 32) - 0x1.000008p84; /* 2^84 + 2^63 */
    double low = en_from_bits(0x4330000000000000u | (biased & 0xffffffffu)) - 0x1p52;
    double steps = en_round(noise, gap) * grid->up[0] * grid->up[1];
    double small_rest, rest;
    double small = en_two_sum(low, steps, &small_rest);
    double sum = en_two_sum(high, small, &rest);
    return sum + en_add_to_odd(rest, small_rest);
}

/* i + k with the nearest int64 where it overflows. */
EN_INLINE int64_t en_add_saturating(int64_t i, uint64_t k) {
    uint64_t a = (uint64_t)i;
    uint64_t sum = a + k;
    uint64_t overflow = (a ^ sum) & (k ^ sum);
    uint64_t nearest = 0x7fffffffffffffffu + (a >> 63);
    return (int64_t)en_pick((int)(overflow >> 63), nearest, sum);
}

/* EN_INT64: x = i g + rest with 0 <= rest < g, all in integers. */
EN_INLINE int64_t en_release_int64(const en_grid *grid, int64_t x, double noise, double *gap) {
    uint64_t biased = (uint64_t)x ^ 0x8000000000000000u;
    uint64_t remainder = biased & ((UINT64_C(1) << grid->shift) - 1);
    uint64_t half_range = 0x8000000000000000u >> grid->shift;
    int64_t lowest = (int64_t)(UINT64_C(0) - half_range);
    int64_t highest = (int64_t)(half_range - 1);
    int64_t whole = (int64_t)((biased >> grid->shift) - half_range);
    double high = en_from_bits(0x4530000000000000u | remainder >> 32) - 0x1p84;
    double low = en_from_bits(0x4330000000000000u | (remainder & 0xffffffffu)) - 0x1p52;
    double rest = (high + low) * grid->down[0];
    int64_t k = en_add_saturating(whole, en_round_to_int(rest + noise, gap));
    k = k > highest ? highest : k;
    k = k < lowest ? lowest : k;
    return (int64_t)((uint64_t)k << grid->shift);
}

#endif
