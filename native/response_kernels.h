/* Randomised response, local hashing, unary encodings and coins from whole random words; and what servers count.
 *
 * Contract   A word w is a number in 0 .. 2^64 - 1.
 *              response   of v among k: v if w < P, else the j-th of the other values in ascending order,
 *                         j = floor((w - P) / Q). P = 2^64 - (k - 1) Q, so the probabilities are exactly P and Q over
 *                         2^64 and no word is left over.
 *              hashing    (a, b) = lower and upper half of the first word; t = upper 16 bits of (a v + b) mod 2^32;
 *                         bucket = floor(t g / 2^16); a response of the bucket among g with the second word.
 *              coin       1 iff U < p. Bit number c of a block of words is bit c % 64 of its group c / 64; level l of
 *                         group i is words[l groups + i], so that U begins with that bit of level 0, level 1, ... A
 *                         coin whose levels equal those of p takes one more word, the next 64 bits of U. Coins are in
 *                         the order of bytes and, in a byte, from the lowest bit up.
 *              unary      a row of bytes of coins, bit v % 8 of byte v / 8 for category v; then the true category's bit
 *                         is overwritten by w < P of a word of its own, and the bits that pad the last byte by 0.
 * Method     Division by a constant: see en_response_init. Coins: 64 in a machine word are compared with p bit by bit;
 *            m marks those that equal p so far. The true bit is written by a pass over the whole row with a mask,
 *            so that no address depends on data.
 * Error      None: integers throughout.
 * Source     Randomised response: Warner 1965; with k categories Kairouz, Oh, Viswanath 2016. Unary encodings and
 *            local hashing: Wang, Blocki, Li, Jha 2017, "Locally Differentially Private Protocols for Frequency
 *            Estimation". The hash family: Dietzfelbinger 1996, "Universal hashing and k-wise independence via integer
 *            arithmetic without primes"; pairwise independent since 32 >= 16 + 16 - 1.
 *
 * The usual way, a coin for the truth and then a draw among the others, needs two words, and the second one's uniform
 * choice has to be refined where k - 1 is no power of two. Here one word makes both, with no case left to refine.
 */
#ifndef EN_RESPONSE_KERNELS_H
#define EN_RESPONSE_KERNELS_H

#include "isa.h"
#include "kernels.h"

/* Little-endian in memory, whatever the machine is. */
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define EN_LITTLE16(x) __builtin_bswap16(x)
#else
#define EN_LITTLE16(x) (x)
#endif

EN_INLINE uint64_t en_read_code(const en_domain *domain, int64_t code) {
    return en_pick((uint64_t)code < domain->categories, (uint64_t)code, domain->missing);
}

EN_INLINE uint64_t en_respond_one(const en_response *plan, uint64_t w, uint64_t value) {
    const uint64_t mask = UINT64_C(0xffffffff);
    uint64_t over = w - plan->keep; /* not used where it wraps around */
    uint64_t estimate = (over >> plan->drop & mask) * plan->multiplier >> plan->shift;
    uint64_t rest = over - estimate * plan->other;
    uint64_t j = estimate + (rest >= plan->other);
    uint64_t other = j + (j >= value);
    return en_pick(w < plan->keep, value, other);
}

#define EN_RESPOND_KERNEL(bits, LITTLE)                                                                                \
    EN_TARGET static void respond##bits(const en_domain *domain, const en_response *plan,                              \
                                        const uint64_t *EN_RESTRICT words, const int64_t *EN_RESTRICT codes,           \
                                        void *EN_RESTRICT reports, size_t n) {                                         \
        const en_domain data = *domain;                                                                                \
        const en_response response = *plan;                                                                            \
        uint##bits##_t *EN_RESTRICT report = reports;                                                                  \
        for (size_t i = 0; i < n; i++)                                                                                 \
            report[i] = LITTLE((uint##bits##_t)en_respond_one(&response, words[i], en_read_code(&data, codes[i])));    \
    }

EN_RESPOND_KERNEL(8, )
EN_RESPOND_KERNEL(16, EN_LITTLE16)

EN_TARGET static void respond_hashed(const en_domain *domain, const en_response *plan,
                                     const uint64_t *EN_RESTRICT hashes, const uint64_t *EN_RESTRICT words,
                                     const int64_t *EN_RESTRICT codes, uint64_t *EN_RESTRICT buckets, size_t n) {
    const en_domain data = *domain;
    const en_response response = *plan;
    for (size_t i = 0; i < n; i++) {
        uint64_t a = hashes[i] & UINT64_C(0xffffffff), b = hashes[i] >> 32;
        uint64_t t = (a * en_read_code(&data, codes[i]) + b) >> 16 & 0xffff;
        buckets[i] = en_respond_one(&response, words[i], t * response.choices >> 16);
    }
}

EN_TARGET static void flip_coins(const en_coin *coin, const uint64_t *EN_RESTRICT words, uint64_t *EN_RESTRICT ones,
                                 uint64_t *EN_RESTRICT undecided, size_t groups) {
    for (size_t i = 0; i < groups; i++) {
        ones[i] = 0;
        undecided[i] = ~UINT64_C(0);
    }
    for (unsigned level = 0; level < coin->levels; level++, words += groups) {
        const uint64_t bit = coin->bits[level];
        for (size_t i = 0; i < groups; i++) {
            ones[i] |= undecided[i] & ~words[i] & bit;
            undecided[i] &= ~(words[i] ^ bit);
        }
    }
}

/* In one row: the true category's bit, and the padding. */
EN_INLINE void en_set_category(const en_unary *plan, uint64_t w, uint64_t value, uint8_t *EN_RESTRICT row) {
    enum { SPAN = 256 }; /* what one byte of index tells apart: the narrower the lanes, the more of them */
    const uint64_t place = value >> 3;
    const unsigned is_one = 0u - (unsigned)(w < plan->keep);
    for (size_t base = 0; base < plan->bytes; base += SPAN) {
        size_t width = plan->bytes - base < SPAN ? plan->bytes - base : SPAN;
        uint8_t *EN_RESTRICT span = row + base;
        uint8_t bit = (uint8_t)((1u << (value & 7)) & (0u - (unsigned)(place - base < SPAN)));
        uint8_t set = (uint8_t)(bit & is_one), target = (uint8_t)place;
        uint8_t index = (uint8_t)base;
        for (size_t j = 0; j < width; j++, index++) {
            uint8_t here = index == target ? 0xff : 0;
            span[j] = (uint8_t)((span[j] & ~(here & bit)) | (here & set));
        }
    }
    row[plan->bytes - 1] &= (uint8_t)(0xffu >> (8 * plan->bytes - plan->domain.categories));
}

EN_TARGET static void set_categories(const en_unary *plan, const uint64_t *EN_RESTRICT words,
                                     const int64_t *EN_RESTRICT codes, uint8_t *EN_RESTRICT rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        en_set_category(plan, words[i], en_read_code(&plan->domain, codes[i]), rows + i * plan->bytes);
}

/* counters[bit * width + j] += bit number `bit` of byte j of each of n <= 255 rows. */
EN_TARGET static void add_columns(const uint8_t *EN_RESTRICT rows, size_t stride, size_t width, size_t n,
                                  uint8_t *EN_RESTRICT counters) {
    for (size_t i = 0; i < n; i++, rows += stride) {
        for (unsigned bit = 0; bit < 8; bit++) {
            const uint8_t mask = (uint8_t)(1u << bit);
            uint8_t *EN_RESTRICT counter = counters + bit * width;
            for (size_t j = 0; j < width; j++)
                counter[j] = (uint8_t)(counter[j] + ((rows[j] & mask) != 0));
        }
    }
}

/* supports[v] += the number of reports i with (place[i] + v step[i]) mod 2^32 < limit[i], as signed numbers; place is
 * overwritten. Signed, since only AVX-512 compares unsigned ones. */
EN_TARGET static void add_supports(uint32_t *EN_RESTRICT place, const uint32_t *EN_RESTRICT step,
                                   const int32_t *EN_RESTRICT limit, size_t n, int64_t *supports, size_t categories) {
    for (size_t v = 0; v < categories; v++) {
        uint32_t count = 0;
        for (size_t i = 0; i < n; i++) {
            count += (int32_t)place[i] < limit[i];
            place[i] += step[i];
        }
        supports[v] += count;
    }
}

#endif
