/* Unsigned integers of 128 bits, for the few lanes that are decided in fixed point. Every operation is exact or rounds
 * down. Not all compilers have such a type of their own; where there is one it multiplies.
 */
#ifndef EN_WIDE_H
#define EN_WIDE_H

#include "platform.h"

typedef struct {
    uint64_t high, low;
} en_wide;

EN_ALWAYS_INLINE en_wide en_wide_add(en_wide a, en_wide b) {
    const uint64_t low = a.low + b.low;
    return (en_wide){a.high + b.high + (low < a.low), low};
}

/* Modulo 2^128, like the sum: so both serve two's complement. */
EN_ALWAYS_INLINE en_wide en_wide_sub(en_wide a, en_wide b) {
    return (en_wide){a.high - b.high - (a.low < b.low), a.low - b.low};
}

EN_ALWAYS_INLINE int en_wide_is_below(en_wide a, en_wide b) {
    return (a.high < b.high) | ((a.high == b.high) & (a.low < b.low));
}

/* 0 < bits < 64, and what is shifted out on the left is lost. */
EN_ALWAYS_INLINE en_wide en_wide_left(en_wide a, unsigned bits) {
    return (en_wide){a.high << bits | a.low >> (64 - bits), a.low << bits};
}

/* 0 < bits < 128. */
EN_ALWAYS_INLINE en_wide en_wide_right(en_wide a, unsigned bits) {
    if (bits >= 64)
        return (en_wide){0, a.high >> (bits - 64)};
    return (en_wide){a.high >> bits, a.high << (64 - bits) | a.low >> bits};
}

EN_ALWAYS_INLINE unsigned en_leading_zeros(uint64_t a) {
    unsigned zeros = 64;
    for (; a != 0; a >>= 1)
        zeros--;
    return zeros;
}

EN_ALWAYS_INLINE en_wide en_wide_product(uint64_t a, uint64_t b) {
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 uint128;
    const uint128 product = (uint128)a * b;
    return (en_wide){(uint64_t)(product >> 64), (uint64_t)product};
#else
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t first = a0 * b0;
    const uint64_t second = a1 * b0 + (first >> 32);
    const uint64_t third = a0 * b1 + (second & 0xffffffffu);
    return (en_wide){a1 * b1 + (second >> 32) + (third >> 32), third << 32 | (first & 0xffffffffu)};
#endif
}

/* floor(a b / 2^64) for a b < 2^192. */
EN_ALWAYS_INLINE en_wide en_wide_times_word(en_wide a, uint64_t b) {
    return en_wide_add(en_wide_product(a.high, b), (en_wide){0, en_wide_product(a.low, b).high});
}

/* floor(a b / 2^128). */
EN_ALWAYS_INLINE en_wide en_wide_mul(en_wide a, en_wide b) {
    const en_wide left = en_wide_product(a.high, b.low), right = en_wide_product(a.low, b.high);
    en_wide middle = {0, en_wide_product(a.low, b.low).high};
    middle = en_wide_add(middle, (en_wide){0, left.low});
    middle = en_wide_add(middle, (en_wide){0, right.low});
    en_wide product = en_wide_product(a.high, b.high);
    product = en_wide_add(product, (en_wide){0, left.high});
    product = en_wide_add(product, (en_wide){0, right.high});
    return en_wide_add(product, (en_wide){0, middle.high});
}

/* floor((2^128 - 1) / d), 0 < d < 2^16: 2^64 = high d + rest, so that 2^128 - 1 = (high 2^64 + rest high) d + rest^2 - 1. */
EN_ALWAYS_INLINE en_wide en_wide_inverse(uint32_t d) {
    const uint64_t high = ~UINT64_C(0) / d;
    const uint32_t rest = (uint32_t)(UINT64_C(0) - high * d);
    return (en_wide){high, high * rest + (rest * rest - 1) / d};
}

#endif
