/* Noisy scores of candidates as intervals, and who may have the highest.
 *
 * Contract   Of a word w let J be the upper 51 bits and U in [J, J+1] 2^-51; E = -ln U is an exponential variable and
 *            G = -ln E a Gumbel variable. A candidate of score s in a row whose highest score is s_max has
 *              y = t + G  (exponential mechanism)   or   y = t + E  (permute-and-flip),   t = (s - s_max) / scale,
 *            and the candidate of the largest y is selected. The kernels give each candidate an interval [lower, upper]
 *            that holds y for every U of the cell. The highest lower end of a row is its `top`; who has upper >= top is
 *            a contender, and who is none cannot be the selected one.
 * Method     y at the midpoint of U's cell, and a half width
 *              slack + relative |t| + reach 1/U  (E)   or   reach 1/(U E)  (G),     infinite for the cells at 0 and 1.
 *            t is at least -2^100 here: the lower end of a lane that this moves, -2^100 - 2^50, is not above the upper
 *            end of anybody, so it excludes nobody.
 * Error      t            half s is exact, or subnormal with an error that 1/scale <= 1/2 leaves below 2^-1074; so are
 *                         the difference (2^-53 |t|), its product with a power of two, and with the rate (2^-53 for the
 *                         rate, 2^-53 for the product): (3 + 2^-50) 2^-53 |t| and less than 2^-52. An unsigned
 *                         difference of integers is exact and is rounded once, to a double.
 *            logarithm    of midpoints: E <= 36.1; |error of E| <= EN_LOG_ABSOLUTE_A / 2 + EN_LOG_ABSOLUTE_B E
 *                         < 0.39 * 2^-46, and it is EN_LOG_RELATIVE_ERROR E at most
 *            second one   -2 ln(E 2^-6) <= 80.5, E 2^58 as the word: half of EN_LOG_ABSOLUTE_A + EN_LOG_ABSOLUTE_B 80.5
 *                         < 0.42 * 2^-46; E's own relative error < 2^-50; 6 ln 2 and its subtraction, whose result is
 *                         below 36.1: 2^-51 + 2^-48. Together < 0.8 * 2^-46.
 *            sum          2^-53 (|t| + 37), and the same again for each end
 *            All that does not belong to t is below (0.8 + 0.3 + 0.3) 2^-46 < 2^-45 = slack, and what does is below
 *            (3 + 1 + 1 + 1/2) 2^-53 |t| < 2^-50 |t|, relative = 2^-50. Roundings of the half width are 2^-51 of it.
 *            cell         d = 2^-52, m the midpoint, x = d/m <= 1/3 for J >= 1.
 *                         E: |ln u - ln m| <= -ln(1 - x) <= 1.2165 x.
 *                         G: dG/du = 1/h, h = -u ln u, which is concave and 0 at 0 and 1. So h(u) >= h(m) u/m below m,
 *                         and h(u) >= h(m) (1 - u)/(1 - m) above: |G(u) - G(m)| <= 1.2165 d / h(m) as before.
 *                         1/m <= 2^64 sqrt(1/2) power by negative_log.h, and 1.2165 sqrt(1/2) < 7/8 (1 - 2^-6):
 *                         reach = 7/8 2^12, with room for E's relative error in its inverse.
 * Source     Exponential mechanism: McSherry & Talwar 2007. As the maximum of Gumbel noise: Yellott 1977.
 *            Permute-and-flip: McKenna & Sheldon 2020, arXiv 2010.12603; as that of exponential noise: Ding, Kifer,
 *            Sayed, Steinke, Wang, Xiao, Zhang 2021, arXiv 2105.07260.
 */
#ifndef EN_SELECTION_KERNELS_H
#define EN_SELECTION_KERNELS_H

#include "kernels.h"
#include "negative_log.h"
#include "uniform.h"

#define EN_SIX_LN2 0x1.0a2b23f3bab73p+2

/* `reach` is the cell's own part of the half width. */

EN_INLINE double en_unless_at_an_end(double word, double reach) {
    const int inside = (word > 0x1p12) & (word < 0x1p64 - 0x1p12);
    return inside ? reach : EN_INFINITY;
}

EN_TARGET static void exponential_noise(const en_selection_plan *plan, const uint64_t *EN_RESTRICT words,
                                        double *EN_RESTRICT noise, double *EN_RESTRICT reach, size_t n) {
    const double factor = plan->reach;
    for (size_t i = 0; i < n; i++) {
        double power;
        const double word = en_uniform51(words[i]);
        noise[i] = en_negative_log(word, &power);
        reach[i] = en_unless_at_an_end(word, factor * power);
    }
}

EN_TARGET static void gumbel_noise(const en_selection_plan *plan, const uint64_t *EN_RESTRICT words,
                                   double *EN_RESTRICT noise, double *EN_RESTRICT reach, size_t n) {
    const double factor = plan->reach;
    for (size_t i = 0; i < n; i++) {
        double power, unused;
        const double word = en_uniform51(words[i]);
        const double e = en_negative_log(word, &power);
        noise[i] = en_negative_log(0x1p58 * e, &unused) - EN_SIX_LN2;
        reach[i] = en_unless_at_an_end(word, factor * power * en_inverse_above(e));
    }
}

/* Keys of the scores, and their complements, whose maximum is that of the lowest; the least integer for a candidate
 * that is no part of its row's range. */

EN_TARGET static void score_keys_float64(const void *scores, const uint64_t *EN_RESTRICT flags,
                                         int64_t *EN_RESTRICT keys, int64_t *EN_RESTRICT complements, size_t n) {
    const double *EN_RESTRICT x = scores;
    for (size_t i = 0; i < n; i++) {
        const double seen = en_pick_double(flags[i] != 0, EN_INFINITY, x[i]);
        const uint64_t key = (uint64_t)en_order_key(en_bits(seen));
        keys[i] = (int64_t)en_pick(en_is_finite(seen), key, EN_SIGN);
        complements[i] = (int64_t)en_pick(en_is_finite(seen), ~key, EN_SIGN);
    }
}

EN_TARGET static void score_keys_int64(const void *scores, const uint64_t *EN_RESTRICT flags, int64_t *EN_RESTRICT keys,
                                       int64_t *EN_RESTRICT complements, size_t n) {
    const int64_t *EN_RESTRICT x = scores;
    for (size_t i = 0; i < n; i++) {
        keys[i] = (int64_t)en_pick(flags[i] != 0, EN_SIGN, (uint64_t)x[i]);
        complements[i] = (int64_t)en_pick(flags[i] != 0, EN_SIGN, ~(uint64_t)x[i]);
    }
}

/* Raises each row's maximum to that of its numbers. */
EN_TARGET static void row_maxima(const int64_t *EN_RESTRICT x, int64_t *EN_RESTRICT maxima, size_t rows,
                                 size_t candidates) {
    for (size_t row = 0; row < rows; row++, x += candidates) {
        int64_t most = maxima[row];
        for (size_t i = 0; i < candidates; i++)
            most = x[i] > most ? x[i] : most;
        maxima[row] = most;
    }
}

/* An interval's ends, the lower one as a key, from t before it is limited. An excluded candidate's are below all others:
 * a NaN is not >= anything. */
EN_INLINE void en_interval(const en_selection_plan *plan, double t, double noise, double reach, uint64_t flag,
                           int64_t *lower, double *upper) {
    t = en_pick_double(t > -0x1p100, t, -0x1p100);
    const double y = t + noise;
    const double half_width = EN_FMA(-plan->relative, t, plan->slack + reach);
    const int excluded = (flag & EN_EXCLUDED) != 0;
    *lower = (int64_t)en_pick(excluded, EN_SIGN, (uint64_t)en_order_key(en_bits(y - half_width)));
    *upper = en_pick_double(excluded, en_from_bits(UINT64_C(0x7ff8000000000000)), y + half_width);
}

EN_TARGET static void intervals_float64(const en_selection_plan *plan, const void *scores,
                                        const uint64_t *EN_RESTRICT flags, const en_score_range *EN_RESTRICT ranges,
                                        const double *EN_RESTRICT noise, const double *EN_RESTRICT reach,
                                        int64_t *EN_RESTRICT lower, double *EN_RESTRICT upper, size_t rows,
                                        size_t candidates) {
    const en_selection_plan own = *plan;
    const double *EN_RESTRICT x = scores;
    for (size_t row = 0, i = 0; row < rows; row++) {
        const double high = en_from_order_key(ranges[row].high), low = en_from_order_key(ranges[row].low);
        const double highest = own.half * high;
        for (const size_t end = i + candidates; i < end; i++) {
            const double score = en_float64_score(x[i], flags[i], high, low);
            const double t = (own.half * score - highest) * own.step * own.rate;
            en_interval(&own, t, noise[i], reach[i], flags[i], &lower[i], &upper[i]);
        }
    }
}

/* A 64-bit integer to the nearest double. */
EN_INLINE double en_from_uint64(uint64_t n) {
#if EN_CONVERTS_INT64
    return (double)n;
#else
    const double high = en_from_bits(UINT64_C(0x4530000000000000) | n >> 32) - (0x1p84 + 0x1p52); /* exact */
    return high + en_from_bits(UINT64_C(0x4330000000000000) | (n & 0xffffffffu));
#endif
}

EN_TARGET static void intervals_int64(const en_selection_plan *plan, const void *scores,
                                      const uint64_t *EN_RESTRICT flags, const en_score_range *EN_RESTRICT ranges,
                                      const double *EN_RESTRICT noise, const double *EN_RESTRICT reach,
                                      int64_t *EN_RESTRICT lower, double *EN_RESTRICT upper, size_t rows,
                                      size_t candidates) {
    const en_selection_plan own = *plan;
    const uint64_t *EN_RESTRICT x = scores;
    for (size_t row = 0, i = 0; row < rows; row++) {
        const uint64_t high = (uint64_t)ranges[row].high, low = (uint64_t)ranges[row].low;
        for (const size_t end = i + candidates; i < end; i++) {
            const uint64_t below = high - en_pick(flags[i] != 0, low, x[i]);
            const double t = en_from_uint64(below) * -own.half * own.step * own.rate;
            en_interval(&own, t, noise[i], reach[i], flags[i], &lower[i], &upper[i]);
        }
    }
}

/* How many contenders each row has, in the upper half of found, and the sum of their places in the lower half. */
EN_TARGET static void contenders(const double *EN_RESTRICT upper, const int64_t *EN_RESTRICT top,
                                 uint64_t *EN_RESTRICT found, size_t rows, size_t candidates) {
    for (size_t row = 0; row < rows; row++, upper += candidates) {
        const double least = en_from_order_key(top[row]);
        uint64_t sum = 0;
        for (size_t i = 0; i < candidates; i++)
            sum += upper[i] >= least ? UINT64_C(1) << 32 | i : 0;
        found[row] = sum;
    }
}

#endif
