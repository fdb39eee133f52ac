/* -ln u for u = hi + lo, and the error bounds that the windows of the kernels are made of.
 *
 * Contract   hi is the top 32 bits of a random word times 2^-32 (it may be 0); lo, below 2^-32, is the rest as an exact
 *            positive double, so that u is an exact real number in [2^-65, 1). It never has to be one double.
 *            The result is positive and finite. The bounds hold with and without fused multiply-add.
 * Method     u = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]. hi 2^-e - 1 is exact and lo 2^-e is added to it, so f
 *            is one rounding of the real number: its error is relative, also next to u = 1, where -ln u is about -f.
 *            With s = f/(2 + f) and R(s^2) = 2 atanh(s)/s - 2:  ln(1 + f) = 2 atanh(s) = f - s (f - R).
 *            R(z)/z is a minimax polynomial, -e ln2_high is exact, and -e ln2_high - f is kept in two doubles, so that
 *            far from u = 1 only the last rounding counts.
 *            Coefficients: proofs/minimax.py. Bounds: proved by proofs/bounds.py, which reads them here.
 * Source     f - s (f - R): K. C. Ng's log in fdlibm (1993). The two doubles: the fast sum of T. J. Dekker (1971).
 */
#ifndef EN_NEGATIVE_LOG_H
#define EN_NEGATIVE_LOG_H

#include "isa.h"

/* For every u, with R = sqrt(-2 ln u):
 *   |result + ln u|        <= EN_LOG_RELATIVE_ERROR |ln u|
 *   |result + ln u|        <= EN_LOG_ABSOLUTE_A + EN_LOG_ABSOLUTE_B |ln u|
 *   |sqrt(2 result) - R|   <= EN_LOG_ROOT_A + EN_LOG_ABSOLUTE_B / 2 R    (the exact root of the result)
 * Worst found, u = (word + 1/2) 2^-64, in units of 2^-53 (proved: 2.64 and 0.53):
 *   relative 2.334 at 0xbf45b8791cc2a5fc without FMA, 2.341 at 0xbe9d8d0deb5ad5f2 with it;
 *   A        0.423 at 0x5c90b90b9634eb13 without FMA, 0.400 at 0x5d365bf7d875e700 with it. */
#define EN_LOG_RELATIVE_ERROR 0x1.58p-52
#define EN_LOG_ABSOLUTE_A 0x1.2p-54
#define EN_LOG_ABSOLUTE_B 0x1p-53
#define EN_LOG_ROOT_A 0x1.44p-54

/* ln 2 = high + low; high has 46 significant bits, so its multiples by 0..65 are exact. */
#define EN_LN2_HIGH 0x1.62e42fefa3980p-1
#define EN_LN2_LOW 0x1.bcd5e4f1d9cc0p-47

/* -R(z)/z, z in [0, 0.02944]. */
#define EN_LOG_C0 -0x1.5555555555592p-1
#define EN_LOG_C1 -0x1.999999997ff19p-2
#define EN_LOG_C2 -0x1.24924941e1536p-2
#define EN_LOG_C3 -0x1.c71c5214546d7p-3
#define EN_LOG_C4 -0x1.74663cec8e62dp-3
#define EN_LOG_C5 -0x1.39a1e8e045419p-3
#define EN_LOG_C6 -0x1.2f03b9536b209p-3

EN_INLINE double en_negative_log(double hi, double lo) {
    /* The exponent field counts from sqrt(1/2) upwards: adding the distance of the bit patterns of 1 and sqrt(1/2)
     * carries into it from there. */
    const uint64_t shifted = en_bits(hi + lo) + (UINT64_C(0x3FF0000000000000) - UINT64_C(0x3FE6A09E667F3BCD));
    const double scale = en_from_bits(UINT64_C(0x7FE0000000000000) - (shifted & UINT64_C(0xFFF0000000000000)));
    const double minus_e = 0x1.00000000003FFp52 - en_from_bits(UINT64_C(0x4330000000000000) | (shifted >> 52));

    const double coarse = EN_FMA(hi, scale, -1.0); /* exact: at most 33 bits */
    const double f = EN_FMA(lo, scale, coarse);

    const double s = f / (2.0 + f);
    const double z = s * s;
    double p = EN_LOG_C6;
    p = EN_FMA(p, z, EN_LOG_C5);
    p = EN_FMA(p, z, EN_LOG_C4);
    p = EN_FMA(p, z, EN_LOG_C3);
    p = EN_FMA(p, z, EN_LOG_C2);
    p = EN_FMA(p, z, EN_LOG_C1);
    p = EN_FMA(p, z, EN_LOG_C0);
    const double slope = EN_FMA(p, z, f); /* f - R */

    const double head = EN_FMA(minus_e, EN_LN2_HIGH, -f);
    double tail = EN_FMA(minus_e, EN_LN2_HIGH, -head) - f; /* exact: what the rounding of head lost */
    tail = EN_FMA(minus_e, EN_LN2_LOW, tail);
    return head + EN_FMA(s, slope, tail);
}

/* 2^-floor(log2 u) with u rounded to a double: at least (1 - 2^-53)/u, so that it bounds the slope of -ln at u. */
EN_INLINE double en_cell_reach(double hi, double lo) {
    const uint64_t power = en_bits(hi + lo) & UINT64_C(0x7FF0000000000000);
    return en_from_bits(UINT64_C(0x7FE0000000000000) - power);
}

#endif
