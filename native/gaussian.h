/* Gaussian noise from two random words for two samples (Box-Muller).
 *
 * Contract   Of words w1, w2 the upper 51 bits count. Let U1 be in the cell of width 2^-51 that w1's bits begin, and
 *            theta = (pi/2)(q + f) with q the two highest bits of w2 and f in [tau, tau+1] 2^-49, tau the other 49
 *            bits as a signed integer. With R = s sqrt(-2 ln U1):
 *              Z / g = R cos theta, Z' / g = R sin theta, two independent normal variables of standard deviation s
 * Method     Straight line: no tail, no table, no rejection. theta is uniform on the circle; the quadrant swaps and
 *            signs the sine and cosine of (pi/2) f, |f| <= 1/2, which are monotone on every cell.
 * Error      y = r + m, m = R C, |r| <= 1, |C| <= 1, R = s Q, Q = sqrt(2 E), E = -ln U1:
 *              logarithm   s (EN_LOG_ROOT_A + EN_LOG_ABSOLUTE_B / 2 Q), its effect on the root, by negative_log.h
 *              root, s Q, R C   2^-53 each, relative
 *              C           EN_SINCOS_ABSOLUTE_ERROR, and the half cell (pi/2) 2^-50 of theta
 *              sum, r, test     as in laplace.h
 *              U1's cell   |dQ| <= 2D / q, q = Q at the midpoint, D = |ln U1 - ln midpoint|. Above the midpoint D <= x,
 *                          x = 2^-52 / midpoint; below it |dQ| <= D / q and D <= -ln(1 - x) < 2x for J1 >= 1. So
 *                          |dQ| <= 2x / q, also in the cell that touches U1 = 1: x <= 2^12 EN_POWER_BOUND * power, and
 *                          1/q <= en_inverse_above(root). (The error of the root is in the factor 1 + 2^-40.)
 *            Q <= rho in every lane that is accepted; see en_plan_init. The cell that touches 0 (J1 = 0) has an
 *            infinite end. It is ambiguous at every s: there 2x / q = 0.235, and the coefficient is that of s = 5/2 at
 *            least.
 * Source     Box and Muller 1958. Gaussian mechanism: Dwork, Roth 2014, appendix A; Balle, Wang 2018.
 */
#ifndef EN_GAUSSIAN_H
#define EN_GAUSSIAN_H

#include "negative_log.h"
#include "sincos.h"
#include "uniform.h"

/* The pair of noise values in grid units, and the power that bounds the reach of U1's cell. In quadrants 0..3 the
 * direction is (c, s), (-s, c), (-c, -s), (s, -c), c and s being those of (pi/2) f. */
EN_INLINE void en_gaussian_noise(double scale, uint64_t word1, uint64_t word2, double *cosine_noise, double *sine_noise,
                                 double *power) {
    double root = EN_SQRT(en_twice_negative_log(en_uniform51(word1), power));
    *power *= en_inverse_above(root);

    double s, c;
    en_sincos_quarter(en_signed_fraction(word2), &s, &c);
    uint64_t next = word2 << 1;
    uint64_t odd = UINT64_C(0) - (next >> 63);
    uint64_t level = en_bits(c), turned = en_bits(s) ^ (next & EN_SIGN); /* (c, s) or (c, -s) */
    uint64_t swap = (level ^ turned) & odd;
    double radius = en_from_bits(en_bits(scale * root) ^ (word2 & EN_SIGN));
    *cosine_noise = radius * en_from_bits(level ^ swap);
    *sine_noise = radius * en_from_bits(turned ^ swap);
}

#endif
