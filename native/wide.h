/* Unsigned integers of 128 bits, for the few lanes that are decided in fixed point. Every operation is exact or rounds
 * down; the compilers' own type is not portable.
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
    return a.high < b.high || (a.high == b.high && a.low < b.low);
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
    const uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    const uint64_t first = a0 * b0;
    const uint64_t second = a1 * b0 + (first >> 32);
    const uint64_t third = a0 * b1 + (second & 0xffffffffu);
    return (en_wide){a1 * b1 + (second >> 32) + (third >> 32), third << 32 | (first & 0xffffffffu)};
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

/* floor(a / divisor). */
EN_ALWAYS_INLINE en_wide en_wide_by_small(en_wide a, uint32_t divisor) {
    const uint64_t limbs[4] = {a.high >> 32, a.high & 0xffffffffu, a.low >> 32, a.low & 0xffffffffu};
    uint64_t quotient[4], rest = 0;
    for (int i = 0; i < 4; i++) {
        rest = rest << 32 | limbs[i];
        quotient[i] = rest / divisor;
        rest %= divisor;
    }
    return (en_wide){quotient[0] << 32 | quotient[1], quotient[2] << 32 | quotient[3]};
}

/* floor(2^bits a / b) for a < b, digit by digit; bits <= 128. */
EN_ALWAYS_INLINE en_wide en_wide_ratio(en_wide a, en_wide b, unsigned bits) {
    en_wide quotient = {0, 0};
    for (unsigned i = 0; i < bits; i++) {
        const int carry = (int)(a.high >> 63);
        a = en_wide_left(a, 1);
        const int fits = carry || !en_wide_is_below(a, b);
        if (fits)
            a = en_wide_sub(a, b);
        quotient = en_wide_left(quotient, 1);
        quotient.low |= (uint64_t)fits;
    }
    return quotient;
}

/* floor(sqrt(2^112 a)), below 2^120, digit by digit. */
EN_ALWAYS_INLINE en_wide en_wide_root(en_wide a) {
    en_wide root = {0, 0}, rest = {0, 0};
    for (unsigned i = 0; i < 120; i++) {
        rest = en_wide_left(rest, 2);
        rest.low |= a.high >> 62;
        a = en_wide_left(a, 2);
        const en_wide trial = en_wide_add(en_wide_left(root, 2), (en_wide){0, 1});
        const int fits = !en_wide_is_below(rest, trial);
        if (fits)
            rest = en_wide_sub(rest, trial);
        root = en_wide_left(root, 1);
        root.low |= (uint64_t)fits;
    }
    return root;
}

#endif
