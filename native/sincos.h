/* sin(pi/2 f) and cos(pi/2 f) for |f| <= 1/2: one quadrant of the Box-Muller angle, centred on its axis.
 *
 * Contract   f is the double nearest to an exact real number F, |F| <= 1/2 (an odd multiple of 2^-63). The bounds are
 *            against the sine and cosine of pi/2 F: they include the rounding of F to f, and hold with and without
 *            fused multiply-add.
 * Method     sin = f + f P(f^2) and cos = 1 + f^2 Q(f^2) with minimax polynomials. Adding to the exact f (instead of
 *            multiplying it by a rounded pi/2) leaves one large rounding, the last; 1 + does the same for the cosine.
 *            Coefficients: proofs/minimax.py. Bounds: proved by proofs/bounds.py, which reads them here.
 */
#ifndef EN_SINCOS_H
#define EN_SINCOS_H

#include "isa.h"

/* Worst found, F = (tau + 2) 2^-64, in units of 2^-53 (proved: 1.24 and 1.46):
 *   sine   1.184 at tau = 0x7f112ba2532119f8 without FMA, 0.994 at 0x7f4cea82edc8f5fc with it;
 *   cosine 1.405 at tau = 0x7f6c41e1eb8c25f4 without FMA, 1.150 at 0x7f68b0e1a78031fc with it. */
#define EN_SIN_ABSOLUTE_ERROR 0x1.4p-53
#define EN_COS_ABSOLUTE_ERROR 0x1.78p-53
#define EN_SINCOS_ABSOLUTE_ERROR 0x1.78p-53 /* the larger of the two */

/* sin(pi/2 f)/f - 1 in f^2. */
#define EN_SIN_C0 0x1.243f6a8885a30p-1
#define EN_SIN_C1 -0x1.4abbce625be06p-1
#define EN_SIN_C2 0x1.466bc67754a63p-4
#define EN_SIN_C3 -0x1.32d2ccdf7c453p-8
#define EN_SIN_C4 0x1.50782cec0b860p-13
#define EN_SIN_C5 -0x1.e2fe094d703d4p-19
#define EN_SIN_C6 0x1.e33135d2edaf9p-25

/* (cos(pi/2 f) - 1)/f^2 in f^2. */
#define EN_COS_C0 -0x1.3bd3cc9be45dep+0
#define EN_COS_C1 0x1.03c1f081b5a4fp-2
#define EN_COS_C2 -0x1.55d3c7e3bf5abp-6
#define EN_COS_C3 0x1.e1f506749a428p-11
#define EN_COS_C4 -0x1.a6d1e138cdeb3p-16
#define EN_COS_C5 0x1.f9c3d3c9c2f28p-22
#define EN_COS_C6 -0x1.afee49764f522p-28

EN_INLINE void en_sincos_quarter(double f, double *sine, double *cosine) {
    const double z = f * f;

    double p = EN_SIN_C6;
    p = EN_FMA(p, z, EN_SIN_C5);
    p = EN_FMA(p, z, EN_SIN_C4);
    p = EN_FMA(p, z, EN_SIN_C3);
    p = EN_FMA(p, z, EN_SIN_C2);
    p = EN_FMA(p, z, EN_SIN_C1);
    p = EN_FMA(p, z, EN_SIN_C0);
    *sine = EN_FMA(f, p, f);

    double q = EN_COS_C6;
    q = EN_FMA(q, z, EN_COS_C5);
    q = EN_FMA(q, z, EN_COS_C4);
    q = EN_FMA(q, z, EN_COS_C3);
    q = EN_FMA(q, z, EN_COS_C2);
    q = EN_FMA(q, z, EN_COS_C1);
    q = EN_FMA(q, z, EN_COS_C0);
    *cosine = EN_FMA(q, z, 1.0);
}

#endif
