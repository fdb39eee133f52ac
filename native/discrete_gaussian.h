/* Discrete Gaussian noise: P(X = k) proportional to exp(-k^2 / (2 s^2)), s the scale, on the integers.
 *
 * Contract   s >= 4: a pair of samples takes three words. Words w1 and w2 give Y = s R cos theta and Y' = s R sin theta
 *            as in gaussian.h, normal variables of standard deviation s. V and V' lie in the cells of width 2^-32 that
 *            the upper and the lower half of w3 begin. With K = round(Y) and F = Y - K let
 *              T = V exp((1/4 - F^2) / (2 s^2)) cosh(K F / s^2)
 *            The sample is K if T < 1; otherwise it takes a fresh proposal, of other words.
 *            s < 4: a sample takes one word. Of word w let J be the upper 50 bits and U in [J, J+1] 2^-50; |X| is the
 *            number of k >= 1 with U < P(|X| >= k), and X is negative iff bit 13 is set.
 * Method     Rejection from the rounded normal. Y = K + F has density exp(-(K^2 + F^2) / (2 s^2)) exp(-K F / s^2), so
 *            that accepted proposals with K and F have exp(-(K^2 + 1/4) / (2 s^2)) e^-u / cosh u, u = K F / s^2. As
 *            e^-u + e^u = 2 cosh u, F and -F together have a density that does not depend on F. A share of e^(-1 / (8 s^2)) of all
 *            proposals is accepted: 0.992 at s = 4. Trials never see the data, so their number tells nothing. Below s = 4 inversion of the distribution function takes no more than 34 comparisons.
 * Error      K is decided as in gaussian.h, with the lane's window w. Let rho be the largest |Y| / s (see
 *            en_plan_init). Over the cells F moves by at most w and stays within 1/2, and |K| <= rho s + 1/2, so ln T
 *            moves by at most eta = w (rho s + 1) / s^2; V moves by 2^-33, T with it by at most 2^-33 e^(1/128)
 *            cosh(1.1) < 2^-32. The series of exp (|p| <= 1/128, first term left out p^5/120) and of cosh (|u| <= 1.1,
 *            first term left out u^16/16!) and all roundings are together below 2^-39 of T < 2. The lane is decided
 *            if |T - 1| >= 2^-31 + 2 eta: for eta <= 1/2, 1 - 2 eta < e^-eta and (1 + 2 eta) e^-eta >= 1; for a larger
 *            eta no T < 2 satisfies it.
 *            s < 4: t_k = floor(2^50 P(|X| >= k)) comes from directed rounding, so U < P(|X| >= k) is decided by J < t_k
 *            unless J = t_k; J = 0 is never decided, as it lies below infinitely many thresholds that round to 0.
 * Source     Canonne, Kamath, Steinke 2020, arXiv 2004.00010, for the mechanism. Box and Muller 1958.
 */
#ifndef EN_DISCRETE_GAUSSIAN_H
#define EN_DISCRETE_GAUSSIAN_H

#include "gaussian.h"
#include "grid.h"

/* exp(p) - 1 for 0 <= p <= 1/128. */
EN_INLINE double en_exp_minus_one(double p) {
    double q = EN_FMA(p, 1.0 / 24, 1.0 / 6);
    q = EN_FMA(q, p, 0.5);
    q = EN_FMA(q, p, 1.0);
    return q * p;
}

/* cosh(u) - 1 of u^2, |u| <= 1.1. */
EN_INLINE double en_cosh_minus_one(double square) {
    double q = 1.0 / 87178291200;
    q = EN_FMA(q, square, 1.0 / 479001600);
    q = EN_FMA(q, square, 1.0 / 3628800);
    q = EN_FMA(q, square, 1.0 / 40320);
    q = EN_FMA(q, square, 1.0 / 720);
    q = EN_FMA(q, square, 1.0 / 24);
    q = EN_FMA(q, square, 0.5);
    return q * square;
}

/* v32 is V's cell, an integer below 2^32. `room` is what the window leaves free of 1/2 and becomes the lane's slack: in
 * [0, 1/2] if K is the sample, EN_REJECTED if it is not, negative if that is open. */
EN_INLINE double en_discrete_gaussian(const en_plan *plan, double y, uint64_t v32, double *room) {
    double gap;
    double k = en_round(y, &gap);
    double f = y - k;
    double p = EN_FMA(-f, f, 0.25) * (0.5 * plan->inverse_square);
    double u = k * f * plan->inverse_square;
    double v = en_from_bits(UINT64_C(0x4330000000000000) | v32) - (0x1p52 - 0.5);
    double e = en_exp_minus_one(p), c = en_cosh_minus_one(u * u);
    double excess = EN_FMA(v * 0x1p-32, (1 + e) * (1 + c), -1.0);
    double window = EN_FMA(0.5 - *room, plan->steepness, plan->acceptance);

    double decided = *room - gap;
    double certain = en_abs(excess) - window;
    decided = decided < certain ? decided : certain;
    double verdict = excess < 0 ? 0.5 : EN_REJECTED;
    *room = decided < 0 ? decided : verdict;
    return k;
}

#endif
