/* Gaussian noise from two random words for two samples (Box-Muller).
 *
 * Contract   For words w1, w2 let U1 in [w1, w1+1] 2^-64 and theta = (pi/2)(q + f) with q = w2 >> 62 and f in
 *            [tau, tau+4] 2^-64, tau = w2 << 2 as a signed integer. With R = s sqrt(-2 ln U1):
 *              Z / g = R cos theta, Z' / g = R sin theta, two independent normal variables of standard deviation s
 * Method     Straight line: no tail, no table, no rejection. theta is uniform on the circle; the quadrant swaps and signs
 *            the sine and cosine of (pi/2) f, |f| <= 1/2, which are monotone on every cell.
 * Error      y = r + m, m = R C, |r| <= 1, |C| <= 1, R = s Q, Q = sqrt(2 E), E = -ln U1:
 *              logarithm   s (EN_LOG_ROOT_A + EN_LOG_ABSOLUTE_B / 2 Q), its effect on the root, by negative_log.h
 *              root, s Q, R C   2^-53 each, relative
 *              sum         (|m| + 1) 2^-53, and 2^-54 for an inexact r
 *              C           EN_SINCOS_ABSOLUTE_ERROR, and the half cell (pi/2) 2^-63 of theta
 *              U1's cell   |dQ| <= 2 h / (U1 Q), h = 2^-65: the slope is 1 / (U1 Q), and the factor 2 covers the root's curvature
 *                          down to the cell that touches U1 = 1. `reach` times 2^-floor(log2 U1) 2^-floor(log2 Q).
 *            Q <= rho in every lane that is accepted; see en_plan_init. The cell that touches 0 (w1 = 0) has an infinite end: its
 *            reach, 2^65 2^-3, makes it ambiguous at every s.
 * Source     Box and Muller 1958. Gaussian mechanism: Dwork, Roth 2014, appendix A; Balle, Wang 2018.
 */
#ifndef EN_GAUSSIAN_H
#define EN_GAUSSIAN_H

#include "negative_log.h"
#include "sincos.h"
#include "uniform.h"

/* R in grid units, and the reach of U1's cell. */
EN_INLINE double en_gaussian_radius(double s, uint64_t word1, double *reach) {
    double high = en_uniform_high(word1);
    double low = en_uniform_low64(word1);
    double root = EN_SQRT(2.0 * en_negative_log(high, low));
    *reach = en_cell_reach(high, low) * en_cell_reach(root, 0.0);
    return s * root;
}

/* cos theta and sin theta: in quadrants 0..3 (c, s), (-s, c), (-c, -s), (s, -c) of (pi/2) f. */
EN_INLINE void en_gaussian_direction(uint64_t word2, double *cosine, double *sine) {
    double s, c;
    en_sincos_quarter(en_signed_fraction(word2), &s, &c);
    uint64_t odd = UINT64_C(0) - (word2 >> 62 & 1);
    uint64_t swap = (en_bits(s) ^ en_bits(c)) & odd;
    *cosine = en_from_bits(en_bits(c) ^ swap ^ ((word2 ^ word2 << 1) & EN_SIGN));
    *sine = en_from_bits(en_bits(s) ^ swap ^ (word2 & EN_SIGN));
}

#endif
