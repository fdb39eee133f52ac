/* Laplace and discrete Laplace noise from one random word a sample.
 *
 * Contract   For a word w let J = w >> 1 and U in [J, J+1] 2^-63; the sign is negative iff bit 0 of w is set.
 *              Laplace           Z / g = +- s (-ln U), density exp(-|z| / scale) / (2 scale)
 *              discrete Laplace  X = +- floor(c - s ln U), c = s ln(2 / (1 + e^(-1/s))), so that
 *                                P(|X| >= k) = 2 q^k / (1 + q), q = e^(-1/s): P(X = k) is proportional to q^|k|
 * Method     Inverse transform at the midpoint of U's cell. The discrete variable is the same computation with the offset
 *            c - 1/2 in the place of the data's remainder, since floor(a) = round(a - 1/2) almost everywhere; its sign
 *            is applied to the decided integer.
 * Error      y = r + m, m = +-s (-ln U), |r| <= 1. The midpoint is exact (uniform.h), so:
 *              logarithm   s (A + B E), E = -ln U, by negative_log.h
 *              product     s E 2^-53        (of the rounded logarithm; the excess is in the factor 1 + 2^-40)
 *              sum         (s E + 1) 2^-53
 *              r           2^-54 where it is not exact (EN_INT64, g > 2^53), and for the discrete offset c - 1/2
 *              cell        |ln U - ln midpoint| <= 2^-64 2^-e, e = floor(log2 midpoint): `reach` times en_cell_reach
 *            E <= L in every lane that is accepted: acceptance needs s 2^-64 2^-e < 1/2, so 2^e > s 2^-63.
 *            The cell that touches 0 (J = 0) has an infinite end; its reach 2^64 makes it ambiguous at every s.
 * Source     Laplace mechanism: Dwork, McSherry, Nissim, Smith 2006. Geometric mechanism: Ghosh, Roughgarden, Sundararajan
 *            2009. Deciding a rounding from an interval of lazily drawn bits: Haney, Desfontaines, Hartman, Shrestha,
 *            Hay 2022, arXiv 2207.13793.
 */
#ifndef EN_LAPLACE_H
#define EN_LAPLACE_H

#include "negative_log.h"
#include "uniform.h"

/* |Z| / g, and the reach of the cell. */
EN_INLINE double en_laplace_magnitude(double s, uint64_t word, double *reach) {
    double high = en_uniform_high(word);
    double low = en_uniform_low63(word);
    *reach = en_cell_reach(high, low);
    return s * en_negative_log(high, low);
}

EN_INLINE double en_laplace_noise(double s, uint64_t word, double *reach) {
    double magnitude = en_laplace_magnitude(s, word, reach);
    return en_from_bits(en_bits(magnitude) ^ word << 63);
}

#endif
