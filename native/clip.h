/* Scales the rows of a matrix down to a public bound on their norm, so that one row's share of a sum is bounded.
 *
 * Contract   bound is in [1e-300, 1e300], columns <= 2^40. Each row of `x` counts with NaN as 0 and infinities as the
 *            type's largest finite number; let x be that row, |x| its exact norm (L1 or L2), y the row written.
 *              |y| <= bound, as real numbers.
 *              y = x bit for bit if the computed bound on |x|, which is above it by less than a part in (columns +
 *              300) 2^-55, is within the bound; else y is x times a factor below bound / |x| by less than that, rounded
 *              to nearest for float64 and toward zero for float32. (By less, where numbers are normal.)
 *            The result is the same for every instruction set. Each row is written after it was read: x and out may be
 *            one array.
 * Method     Three passes over a row, which the first-level cache holds: its largest magnitude M; the norm of the row
 *            scaled by a power of two that brings M to [1, 4), added up in 16 accumulators; the scaled row. float32
 *            needs no first pass: its squares are normal doubles as they are. Additions in a fixed order and no fused
 *            operation, so that every instruction set rounds alike.
 * Error      u = 2^-53, n columns, t = x / 2^e the scaled row, S the computed sum of |t| or t^2 and T the exact one.
 *              power    e = exponent of M, but within -1022 .. 1022, so that 2^e and 2^-e are normal numbers; then M /
 *                       2^e is in [1, 4), or at least 2^-52 in a row of subnormal numbers. For float32 e = 0 and every
 *                       |t| is at least 2^-149.
 *              terms    where |t| < 2^-500 a term may be lost to underflow, in float64 only: at most n 2^-500 of T >=
 *                       2^-104 in total, a part below 2^-355.
 *              sum      else a term is rounded k <= n / 16 + 5 times: squared, added in its accumulator ceil(n / 16) -
 *                       1 times beyond the exact start from 0, and with the other accumulators 4 times. All terms are
 *                       positive, so T <= S / (1 - u)^k (1 + 2^-354), and k u < 2^-16.
 *              norm     N = root(S) (1 + (n + 256) 2^-56), rounded three times at most. (n + 256) 2^-56 = (n / 8 + 32)
 *                       u is at least 2 k u + 22 u. Of that the sum takes at most k u (1 + 2^-15) + u, and the three
 *                       roundings with what is of second order 5 u: N >= root(T) (1 + k u / 2 + 16 u).
 *              factor   q = the double below the rounded bound / N, so that q <= bound / N even where that is not
 *                       normal; 0 stays 0. Where bound / N is beyond the doubles, q is the largest.
 *              keep     if q >= 2^e, for then |x| <= N 2^e <= bound. Both factors of the result are 1.
 *              result   else y = (x 2^-e) q: a rounding of u, and at most 2^-1075 twice for numbers that are not
 *                       normal, the scaled and the final one: |y| <= q (1 + u) (|t| + n 2^-1075) + n 2^-1075. The first
 *                       n 2^-1075 is a part n 2^-1023 of |t|, the second a part n 2^-78 of bound >= 2^-997, both
 *                       together less than k u / 4 + u. So |y| <= bound (1 + u) (1 + k u / 4 + u) / (1 + k u / 2 + 16
 *                       u) < bound. Rounding toward zero to float32 does not increase it, and takes what is not normal
 *                       among the doubles to 0.
 *            A row of zeros has N = 2^-1022, and is kept as bound / N > 1.
 * Source     Clipping to an L2 bound: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang 2016, arXiv 1607.00133,
 *            Section 3.1. Error of sums: Higham, Accuracy and Stability of Numerical Algorithms, 2002, Section 4.2.
 */
#ifndef EN_CLIP_H
#define EN_CLIP_H

#include "kernels.h"

/* Rows in C order, of the given type; x and out may be one array. */
void en_clip(const en_kernels *kernels, en_norm norm, en_rows type, const void *x, void *out, size_t rows,
             size_t columns, double bound);

/* x between two numbers of its type, low <= high; NaN stays. In the floating-point environment of the kernels, for with
 * flush-to-zero a caller's comparison takes subnormal numbers for zeros. */
void en_clamp_float64(const double *x, double *out, size_t n, double low, double high);
void en_clamp_float32(const float *x, float *out, size_t n, float low, float high);

/* The same numbers as doubles, subnormal ones, too. */
void en_widen(const en_kernels *kernels, const float *x, double *out, size_t n);

#endif
