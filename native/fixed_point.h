/* -ln u, the Box-Muller radius, sine and cosine in fixed point of 128 bits: what settle.c decides with.
 *
 * Contract   A fraction is an en_wide in units of 2^-128. Results are in units of 2^-120 (EN_RADIX) or 2^-127, as each
 *            function says, and as near to the true ones as the bounds below, in units of 1.
 * Method     Integers only: every step rounds down by at most one unit, so that no floating-point environment,
 *            instruction set or compiler matters. Series in Horner's form, one multiplication by the inverse of a
 *            small integer a term; Newton's iterations for 1/b and the root.
 *            The bounds are proved by proofs/fixed_point.py, step by step, and so are the constants and the numbers of
 *            terms, which it reads here.
 */
#ifndef EN_FIXED_POINT_H
#define EN_FIXED_POINT_H

#include "wide.h"

enum { EN_RADIX = 120, EN_LOG_TERMS = 24, EN_SINE_TERMS = 16, EN_INVERSE_STEPS = 5, EN_ROOT_STEPS = 6 };

#define EN_FIXED_LOG_ERROR 0x1p-117    /* -ln u */
#define EN_FIXED_RADIUS_ERROR 0x1p-106 /* sqrt(-2 ln u), for u <= 1 - 2^-16 */
#define EN_FIXED_SINCOS_ERROR 0x1p-122 /* both */

/* ln 2, pi / 4 and sqrt(1/2), rounded down. */
#define EN_FIXED_LN2_HIGH UINT64_C(0xb17217f7d1cf79ab)
#define EN_FIXED_LN2_LOW UINT64_C(0xc9e3b39803f2f6af)
#define EN_FIXED_QUARTER_PI_HIGH UINT64_C(0xc90fdaa22168c234)
#define EN_FIXED_QUARTER_PI_LOW UINT64_C(0xc4c6628b80dc1cd1)
#define EN_FIXED_SQRT_HALF UINT64_C(0xb504f333f9de6484)

/* 1/b of a fraction, 0.42 < b < 0.61, in units of 2^-126 and from below: Newton's iteration, whose error 1 - b y is
 * squared in every step. It starts with the tangent 4 - 4b and ends when no more than roundings is left. */
EN_ALWAYS_INLINE en_wide en_fixed_inverse(en_wide b) {
    const en_wide one = {UINT64_C(1) << 62, 0};
    en_wide y = en_wide_sub((en_wide){0, 0}, b);
    for (int i = 0; i < EN_INVERSE_STEPS; i++) {
        const en_wide product = en_wide_add(en_wide_mul(y, b), (en_wide){0, 1}); /* at least */
        if (!en_wide_is_below(product, one))
            break;
        y = en_wide_add(y, en_wide_mul(y, en_wide_left(en_wide_sub(one, product), 2)));
    }
    return y;
}

/* The root of a fraction, 1/4 <= a < 1, in units of 2^-126: a times its inverse root from below, by Newton's iteration
 * from 15/8 - a on, in the same way. */
EN_ALWAYS_INLINE en_wide en_fixed_root(en_wide a) {
    const en_wide one = {UINT64_C(1) << 60, 0};
    en_wide y = en_wide_sub((en_wide){UINT64_C(15) << 59, 0}, en_wide_right(a, 2));
    for (int i = 0; i < EN_ROOT_STEPS; i++) {
        const en_wide product = en_wide_add(en_wide_mul(a, en_wide_mul(y, y)), (en_wide){0, 2}); /* at least */
        if (!en_wide_is_below(product, one))
            break;
        y = en_wide_add(y, en_wide_mul(y, en_wide_left(en_wide_sub(one, product), 3)));
    }
    return en_wide_mul(a, y);
}

/* 2 atanh(s) of a fraction s < 0.1717: 2s + 2s (z/3 + z^2/5 + ..), z = s^2. */
EN_ALWAYS_INLINE en_wide en_fixed_twice_atanh(en_wide s) {
    const en_wide z = en_wide_mul(s, s);
    en_wide sum = {0, 0};
    for (uint32_t k = EN_LOG_TERMS; k > 0; k--)
        sum = en_wide_add(en_wide_inverse(2 * k + 1), en_wide_mul(z, sum));
    return en_wide_left(en_wide_add(s, en_wide_mul(s, en_wide_mul(z, sum))), 1);
}

/* -ln u of a fraction u > 0, in units of 2^-120. With u = 2^-n m, sqrt(1/2) < m < sqrt(2) or nearly so,
 * ln m = 2 atanh((m - 1) / (m + 1)). */
EN_ALWAYS_INLINE en_wide en_fixed_negative_log(en_wide u) {
    const en_wide ln2 = {EN_FIXED_LN2_HIGH, EN_FIXED_LN2_LOW}, quarter = {UINT64_C(1) << 62, 0};
    uint64_t n = 0;
    if (u.high == 0) {
        u = (en_wide){u.low, 0};
        n = 64;
    }
    const unsigned zeros = en_leading_zeros(u.high);
    if (zeros > 0)
        u = en_wide_left(u, zeros);
    n += zeros;

    const int is_above = u.high < EN_FIXED_SQRT_HALF; /* then m is twice u, and above 1 */
    n += (uint64_t)is_above;
    const en_wide difference = is_above ? en_wide_left(u, 1) : en_wide_sub((en_wide){0, 0}, u); /* |m - 1| */
    const en_wide sum = en_wide_add(quarter, en_wide_right(u, is_above ? 1 : 2));               /* (m + 1) / 4 */
    const en_wide s = en_wide_mul(difference, en_fixed_inverse(sum));
    const en_wide ln = en_wide_right(en_fixed_twice_atanh(s), 128 - EN_RADIX);
    const en_wide whole = en_wide_mul(ln2, (en_wide){n << (EN_RADIX - 64), 0});
    return is_above ? en_wide_sub(whole, ln) : en_wide_add(whole, ln);
}

/* sqrt(-2 ln u), 0 < u <= 1 - 2^-16, in units of 2^-120. */
EN_ALWAYS_INLINE en_wide en_fixed_radius(en_wide u) {
    const en_wide square = en_wide_left(en_fixed_negative_log(u), 1);
    const unsigned half = en_leading_zeros(square.high) / 2; /* 2^(2 half) times the square is from 1/4 to 1 of 2^8 */
    const en_wide root = en_fixed_root(half ? en_wide_left(square, 2 * half) : square);
    return en_wide_right(root, 2 + half);
}

/* 1 - sin(a)/a or 1 - cos(a) of z = a^2: z/d (1 - z/d' (1 - ..)), d = 2k (2k + 1) or (2k - 1) 2k. */
EN_ALWAYS_INLINE en_wide en_fixed_versine(en_wide z, uint32_t is_sine) {
    en_wide rest = {0, 0};
    for (uint32_t k = EN_SINE_TERMS; k > 0; k--) {
        const en_wide term = en_wide_mul(z, en_wide_inverse(2 * k * (is_sine ? 2 * k + 1 : 2 * k - 1)));
        rest = en_wide_sub(term, en_wide_mul(term, rest));
    }
    return rest;
}

/* sin or cos of (pi/2) f for 0 <= f <= 1/2, in units of 2^-127. */
EN_ALWAYS_INLINE en_wide en_fixed_direction(en_wide f, int is_sine) {
    const en_wide quarter_pi = {EN_FIXED_QUARTER_PI_HIGH, EN_FIXED_QUARTER_PI_LOW}, one = {UINT64_C(1) << 63, 0};
    const en_wide angle = en_wide_left(en_wide_mul(quarter_pi, f), 1);
    const en_wide versine = en_fixed_versine(en_wide_mul(angle, angle), (uint32_t)is_sine);
    if (is_sine)
        return en_wide_right(en_wide_sub(angle, en_wide_mul(angle, versine)), 1);
    return en_wide_sub(one, en_wide_right(versine, 1));
}

#endif
