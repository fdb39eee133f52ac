/* Laplace and discrete Laplace noise from one random word a sample.
 *
 * Contract   Of a word w let J be the upper 50 bits and U in [J, J+1] 2^-50; the sign is negative iff bit 13, the next
 *            one, is set.
 *              Laplace           Z / g = +- s (-ln U), density exp(-|z| / scale) / (2 scale)
 *              discrete Laplace  X = +- floor(c - s ln U), c = s ln(2 / (1 + e^(-1/s))), so that
 *                                P(|X| >= k) = 2 q^k / (1 + q), q = e^(-1/s): P(X = k) is proportional to q^|k|
 * Method     Inverse transform at the midpoint of U's cell. The discrete variable is the same computation with the
 *            offset c - 1/2 in the place of the data's rest, since floor(a) = round(a - 1/2) almost everywhere; its
 *            sign is applied to the decided integer.
 * Error      y = r + m, m = +-s (-ln U), |r| <= 1. The midpoint is exact (uniform.h), so:
 *              logarithm   s (EN_LOG_ABSOLUTE_A / 2 + EN_LOG_ABSOLUTE_B E), E = -ln midpoint, by negative_log.h for 2 E
 *              product     s E 2^-53        (of the rounded logarithm; the excess is in the factor 1 + 2^-40)
 *              sum         (s E + 1) 2^-53
 *              r           2^-54 where it is not exact (EN_INT64, g > 2^53), and for the discrete offset c - 1/2
 *              test        3 * 2^-54, the roundings of 1/2 - window and of its difference with the gap
 *              cell        |ln U - ln midpoint| <= -ln(1 - x), x = (1/2) / (J + 1/2), at the cell's lower end. For J
 *                          >= 8 this is at most (1 + 2^-5) x, and x <= 2^13 sqrt(1/2) power by negative_log.h; for 2
 *                          <= J <= 7 it is at most 2^13 sqrt(1/2) power, one by one. So EN_POWER_BOUND covers both.
 *            E <= L in every lane that is accepted: acceptance needs s 2^-51 / midpoint < 1/2.
 *            J = 0, whose cell touches 0 and has an infinite end, and J = 1 are ambiguous at every s: the coefficient
 *            of the power is that of s = 3/2 at least, and at J = 1 it gives 3/2 EN_POWER_BOUND / 2 > 1/2.
 * Source     Laplace mechanism: Dwork, McSherry, Nissim, Smith 2006. Geometric mechanism: Ghosh, Roughgarden,
 *            Sundararajan 2009. Deciding a rounding from an interval of lazily drawn bits: Haney, Desfontaines,
 *            Hartman, Shrestha, Hay 2022, arXiv 2207.13793.
 */
#ifndef EN_LAPLACE_H
#define EN_LAPLACE_H

#include "negative_log.h"
#include "uniform.h"

/* |Z| / g, and the power that bounds the cell's reach. */
EN_INLINE double en_laplace_magnitude(double s, uint64_t word, double *power) {
    return 0.5 * s * en_twice_negative_log(en_uniform50(word), power);
}

EN_INLINE double en_laplace_noise(double s, uint64_t word, double *power) {
    double magnitude = en_laplace_magnitude(s, word, power);
    return en_from_bits(en_bits(magnitude) ^ (word << 50 & EN_SIGN));
}

#endif
