/* A value becomes an integer: the nearest multiple of a public power of two, between two public bounds.
 *
 * Contract   exponent is in [-1000, 970]; low <= high are integers, at most 2^50 in magnitude for floating-point data. Of
 *            a value x
 *              floating-point   q = the integer nearest to x 2^-exponent, ties to even, clamped to low .. high.
 *                               Infinities count as numbers beyond the bounds, -0 as 0. NaN counts as the integer `nan`
 *                               in low .. high, or is dropped: it counts nowhere.
 *              int64            q = x clamped to low .. high; exponent is 0.
 *            A sum of such integers is exact, so neither order nor chunks nor threads nor instruction set change it; and
 *            one value moves it by an integer between low and high, on a computer as on paper.
 *            Toward zero (en_truncate_scaled), for rows whose norm is bounded:
 *                               q = x 2^-exponent without its fraction, clamped to -2^50 .. 2^50; NaN counts as 0.
 *            So |q| 2^exponent <= |x|: a row's norm does not grow, whichever it is.
 * Method     y = x * 2^-exponent; y clamped as a double; then y + 1.5 * 2^52, whose lowest bits are the integer.
 * Error      None. Round to nearest, gradual underflow (float_env.h).
 *              scaling    2^-exponent is in [2^-970, 2^1000], a normal double. The product is exact unless it is beyond
 *                         the doubles or subnormal. Beyond, it is an infinity, and like the true one, 2^1024 or more,
 *                         above all bounds in magnitude. Subnormal, it and the true one are at most 2^-1022: both round
 *                         to 0, to nearest and toward zero.
 *              clamping   before rounding is as good as after it: rounding does not decrease, and leaves the integers
 *                         low and high where they are.
 *              rounding   |y| <= 2^50, so y + 1.5 * 2^52 is in [2^52, 2^53), where doubles are the integers: one
 *                         rounding to nearest, ties to even; to an even q, since 1.5 * 2^52 is even. The doubles of that
 *                         binade have consecutive bit patterns, so the difference of two patterns is q.
 *              fraction   without a conversion instruction: |y| + 2^52 is rounded in the same way, and where that went up
 *                         1 is taken off.
 *            float32 and int32 values are doubles, exactly.
 * Squares    d = 2 q - (low + high) = (q - low) - (high - q), twice the distance from the middle; high - low <= 2^31, so
 *            that d^2 <= 2^62.
 * Source     Sums of floating-point numbers have a larger sensitivity than their bounds say: Casacuberta, Shoemate,
 *            Vadhan, Wagaman 2022, "Widespread Underestimation of Sensitivity in Differentially Private Libraries and How
 *            to Fix It", arXiv 2207.10635, Sections 5 and 6.
 */
#ifndef EN_QUANTIZE_H
#define EN_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>

typedef enum { EN_VALUES_FLOAT64, EN_VALUES_FLOAT32, EN_VALUES_INT64, EN_VALUES_COUNT } en_values;

/* The largest magnitude of a quantised floating-point value. */
#define EN_MOST_QUANTIZED (INT64_C(1) << 50)

typedef struct {
    int64_t low;
    int64_t high;
    double scale; /* 2^-exponent */
    double float_low, float_high;
    uint64_t nan;       /* 0 if NaN is dropped */
    uint64_t keeps_nan; /* all ones, or 0 */
} en_quantizer;

/* What a block of values comes to, as sums in two's complement: the lower word, the higher word. */
typedef struct {
    uint64_t count, sum[2], squares[2];
} en_totals;

/* `nan` may be NULL: then NaN is dropped. In sums.c. */
void en_quantizer_init(en_quantizer *quantizer, int exponent, int64_t low, int64_t high, const int64_t *nan);

#endif
