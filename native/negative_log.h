/* -2 ln u, the square of the Box-Muller radius, and the error bounds that the windows are made of.
 *
 * Contract   word = 2^64 u is a double from sqrt(1/2) 2^6 to 2^64 - 2^12, as the midpoints of uniform.h and what
 *            selection_kernels.h takes the second logarithm of. The result is positive and finite.
 *            `power` receives 2^(1-e) / 2^64 of the reduction below. The bounds hold with and without fused
 *            multiply-add.
 * Method     u = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)]; g = 2f is exact. With s = f/(2 + f) = g/(4 + g) and
 *            R(s^2) = 4 atanh(s)/s - 4:  2 ln(1 + f) = 4 atanh(s) = g - s (g - R).
 *            R(z)/z is a minimax polynomial. Next to u = 1 the error is relative, as g is exact and the rest small;
 *            far from it only the last rounding and that of ln 2 count.
 *            Coefficients: proofs/minimax.py. Bounds: proved by proofs/bounds.py, which reads them here.
 * Source     f - s (f - R): K. C. Ng's log in fdlibm (1993).
 */
#ifndef EN_NEGATIVE_LOG_H
#define EN_NEGATIVE_LOG_H

#include "convert.h"

/* For every u, with T = -2 ln u:
 *   |result - T|             <= EN_LOG_RELATIVE_ERROR T
 *   |result - T|             <= EN_LOG_ABSOLUTE_A + EN_LOG_ABSOLUTE_B T
 *   |sqrt(result) - sqrt(T)| <= EN_LOG_ROOT_A + EN_LOG_ABSOLUTE_B / 2 sqrt(T)    (the exact root of the result)
 * Worst found, in units of 2^-53 (proved: 6.18 and 2.97; the root's A 1.78):
 *   relative 3.756 at the word 0xefb6e88d3fe86000 without FMA, 3.717 at 0xef9661126562a800 with it;
 *   A        1.250 at 0x5a84cd52a90dd000 without FMA, 1.626 at 0x59be5a246c21ac00 with it. */
#define EN_LOG_RELATIVE_ERROR 0x1.9p-51
#define EN_LOG_ABSOLUTE_A 0x1.8p-52
#define EN_LOG_ABSOLUTE_B 0x1.4ep-53
#define EN_LOG_ROOT_A 0x1.dp-53

/* 1/word <= EN_POWER_BOUND * power, as word * power = 2 (1 + f) >= sqrt(2); with room for the curvature of ln on a
 * cell, a factor 1 + 2^-5 (see laplace.h). */
#define EN_POWER_BOUND 0x1.76p-1

/* -R(z)/z, z in [0, 0.02944]. */
#define EN_LOG_C0 -0x1.5555555552d80p+0
#define EN_LOG_C1 -0x1.999999a4f475ap-1
#define EN_LOG_C2 -0x1.24924028e1fc3p-1
#define EN_LOG_C3 -0x1.c7231dbf76056p-2
#define EN_LOG_C4 -0x1.731931220d84dp-2
#define EN_LOG_C5 -0x1.59489c7f6596ep-2

/* ln 4 to the nearest double: 0.302 2^-53 of it are missing, so that B is 1.302 2^-53. */
#define EN_LN4 0x1.62e42fefa39efp+0
/* ln 4 = high + low, without fused multiply-add; high has 46 significant bits, so its multiples by 0..58 are exact. */
#define EN_LN4_HIGH 0x1.62e42fefa3980p+0
#define EN_LN4_LOW 0x1.bcd5e4f1d9cc0p-46

EN_INLINE double en_twice_negative_log(double word, double *power) {
    /* -e is how often the exponent's unit fits between the bit patterns of word and of sqrt(2) 2^64: once below
     * sqrt(1/2) 2^64, twice below half of that, and so on. */
    const uint64_t below = UINT64_C(0x43F6A09E667F3BCD) - en_bits(word);
    const uint64_t field = below & UINT64_C(0x7FF0000000000000);
    const double minus_e = en_from_exponent_field(field); /* times 2^52 */
    *power = en_from_bits(UINT64_C(0x3C00000000000000) + field);

    const double g = EN_FMA(word, *power, -2.0); /* exact */
    const double s = g / (4.0 + g);
    const double z = s * s;
    double p = EN_LOG_C5;
    p = EN_FMA(p, z, EN_LOG_C4);
    p = EN_FMA(p, z, EN_LOG_C3);
    p = EN_FMA(p, z, EN_LOG_C2);
    p = EN_FMA(p, z, EN_LOG_C1);
    p = EN_FMA(p, z, EN_LOG_C0);
    const double slope = EN_FMA(p, z, g); /* g - R */
#if EN_HAVE_FMA
    return EN_FMA(minus_e, EN_LN4 * 0x1p-52, EN_FMA(s, slope, -g));
#else
    return minus_e * (EN_LN4_HIGH * 0x1p-52) + (minus_e * (EN_LN4_LOW * 0x1p-52) + (s * slope - g));
#endif
}

/* -ln u. */
EN_INLINE double en_negative_log(double word, double *power) {
    return 0.5 * en_twice_negative_log(word, power);
}

/* At least 1/x and at most 9/8 of it, for a normal x > 0: subtracting the bit patterns replaces 1/x by its chords
 * between the powers of two, and with x = 2^k (1 + m) the ratio is (1 + m)(1 - m/2). */
EN_INLINE double en_inverse_above(double x) {
    return en_from_bits(UINT64_C(0x7FE0000000000000) - en_bits(x));
}

#endif
