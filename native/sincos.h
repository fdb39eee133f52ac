/* sin(pi/2 f) and cos(pi/2 f) for |f| <= 1/2: one quadrant of the Box-Muller angle, centred on its axis.
 *
 * Contract   fraction = 2^64 f is exact: a midpoint of uniform.h. The bounds hold with and without fused multiply-add.
 * Method     sin = f S(f^2) and cos = 1 + f^2 Q(f^2) with minimax polynomials, whose coefficients absorb the powers of
 *            two: nothing overflows or underflows, so the rounding is that of f in units of 1.
 *            Coefficients: proofs/minimax.py. Bounds: proved by proofs/bounds.py, which reads them here.
 */
#ifndef EN_SINCOS_H
#define EN_SINCOS_H

#include "isa.h"

/* Worst found, in units of 2^-53 (proved: 1.21 and 1.86):
 *   sine   1.158 at the word 0x1ff47c86bcca9800 without FMA, 1.088 at 0x1fed240ad4fce100 with it;
 *   cosine 1.580 at 0x1ffe557f068c2a00 without FMA, 1.316 at 0x1f3256829ad76600 with it. */
#define EN_SIN_ABSOLUTE_ERROR 0x1.38p-53
#define EN_COS_ABSOLUTE_ERROR 0x1.ep-53
#define EN_SINCOS_ABSOLUTE_ERROR 0x1.ep-53 /* the larger of the two */

/* sin(pi/2 f)/f in f^2. */
#define EN_SIN_C0 0x1.921fb54442d18p+0
#define EN_SIN_C1 -0x1.4abbce625be06p-1
#define EN_SIN_C2 0x1.466bc67754a63p-4
#define EN_SIN_C3 -0x1.32d2ccdf7c453p-8
#define EN_SIN_C4 0x1.50782cec0b860p-13
#define EN_SIN_C5 -0x1.e2fe094d703d4p-19
#define EN_SIN_C6 0x1.e33135d2edaf9p-25

/* (cos(pi/2 f) - 1)/f^2 in f^2. */
#define EN_COS_C0 -0x1.3bd3cc9be45a5p+0
#define EN_COS_C1 0x1.03c1f081b14eap-2
#define EN_COS_C2 -0x1.55d3c7dcb8ac4p-6
#define EN_COS_C3 0x1.e1f4fbfe6ec9dp-11
#define EN_COS_C4 -0x1.a6ca0199ec0b1p-16
#define EN_COS_C5 0x1.f3ef9482c39d9p-22

EN_INLINE void en_sincos_quarter(double fraction, double *sine, double *cosine) {
    const double z = fraction * fraction; /* 2^128 f^2 */

    double p = EN_SIN_C6 * 0x1p-832;
    p = EN_FMA(p, z, EN_SIN_C5 * 0x1p-704);
    p = EN_FMA(p, z, EN_SIN_C4 * 0x1p-576);
    p = EN_FMA(p, z, EN_SIN_C3 * 0x1p-448);
    p = EN_FMA(p, z, EN_SIN_C2 * 0x1p-320);
    p = EN_FMA(p, z, EN_SIN_C1 * 0x1p-192);
    p = EN_FMA(p, z, EN_SIN_C0 * 0x1p-64);
    *sine = fraction * p;

    double q = EN_COS_C5 * 0x1p-768;
    q = EN_FMA(q, z, EN_COS_C4 * 0x1p-640);
    q = EN_FMA(q, z, EN_COS_C3 * 0x1p-512);
    q = EN_FMA(q, z, EN_COS_C2 * 0x1p-384);
    q = EN_FMA(q, z, EN_COS_C1 * 0x1p-256);
    q = EN_FMA(q, z, EN_COS_C0 * 0x1p-128);
    *cosine = EN_FMA(q, z, 1.0);
}

#endif
