/* The loops over the lanes of a block, for the instruction set that isa.h describes. Included once by each kernels_*.c.
 *
 * Each loop is straight-line code in its lane, so that the compiler turns it into vector instructions: selections with
 * ?:, no branch, and the certainty of each lane written down instead of being acted on (a reduction or a store of
 * another width inside a loop would keep gcc from vectorising it).
 *
 * Noise and rounding are loops of their own, with the noise in a first-level cache between them. One long loop would be
 * slower: its hundred dependent operations fill the processor's scheduler, so that few lanes overlap.
 */
#include "aggregate_kernels.h"
#include "chacha20.h"
#include "clip_body.h"
#include "discrete_gaussian.h"
#include "gaussian.h"
#include "grid.h"
#include "kernels.h"
#include "laplace.h"
#include "response_kernels.h"
#include "selection_kernels.h"

/* First noise, then rounding: noise[i] in grid units, and room[i], the part of 1/2 that lane i's window leaves free. */

EN_TARGET static void laplace_noise(const en_plan *plan, const uint64_t *EN_RESTRICT words, double *EN_RESTRICT noise,
                                    double *EN_RESTRICT room, size_t n) {
    const double s = plan->s, reach = plan->reach, free = 0.5 - plan->window;
    for (size_t i = 0; i < n; i++) {
        double power;
        noise[i] = en_laplace_noise(s, words[i], &power);
        room[i] = EN_FMA(-reach, power, free);
    }
}

/* Pair i gives samples i and half + i; the last pair of an odd block gives one. */
EN_TARGET static void gaussian_noise(const en_plan *plan, const uint64_t *EN_RESTRICT words, double *EN_RESTRICT noise,
                                     double *EN_RESTRICT room, size_t n) {
    const double s = plan->s, reach = plan->reach, free = 0.5 - plan->window;
    const size_t half = (n + 1) / 2;
    double *EN_RESTRICT sine_noise = noise + half;
    double *EN_RESTRICT sine_room = room + half;
    const uint64_t *EN_RESTRICT words2 = words + half;
    for (size_t i = 0; i < half; i++) {
        double first, second, power;
        en_gaussian_noise(s, words[i], words2[i], &first, &second, &power);
        noise[i] = first;
        sine_noise[i] = second;
        sine_room[i] = room[i] = EN_FMA(-reach, power, free);
    }
}

EN_TARGET static void discrete_laplace_noise(const en_plan *plan, const uint64_t *EN_RESTRICT words,
                                             double *EN_RESTRICT noise, double *EN_RESTRICT room, size_t n) {
    const double s = plan->s, reach = plan->reach, free = 0.5 - plan->window, offset = plan->offset;
    for (size_t i = 0; i < n; i++) {
        double power;
        noise[i] = offset + en_laplace_magnitude(s, words[i], &power);
        room[i] = EN_FMA(-reach, power, free);
    }
}

/* The third word of pair i has the uniform variables of samples i and half + i. */
EN_TARGET static void discrete_gaussian_noise(const en_plan *plan, const uint64_t *EN_RESTRICT words,
                                              double *EN_RESTRICT noise, double *EN_RESTRICT room, size_t n) {
    gaussian_noise(plan, words, noise, room, n);
    const size_t half = (n + 1) / 2;
    double *EN_RESTRICT sine_noise = noise + half;
    double *EN_RESTRICT sine_room = room + half;
    const uint64_t *EN_RESTRICT words3 = words + 2 * half;
    for (size_t i = 0; i < half; i++) {
        noise[i] = en_discrete_gaussian(plan, noise[i], words3[i] >> 32, &room[i]);
        sine_noise[i] = en_discrete_gaussian(plan, sine_noise[i], words3[i] & 0xffffffffu, &sine_room[i]);
    }
}

/* 1 if the difference of two integers is negative: its sign. */
EN_INLINE uint64_t en_is_below(double difference) {
    return en_bits(difference) >> 63;
}

/* The highest bit is set if the difference is 0. */
EN_INLINE uint64_t en_is_zero(double difference) {
    return (en_bits(difference) - 1) & ~en_bits(difference);
}

/* The loop over lanes is the inner one, with a few thresholds at a time in registers. In integers: comparisons of doubles
 * would be jumps where they are not vectorised, and their time would tell of the noise. */
EN_TARGET static void tabulated_noise(const en_plan *plan, const uint64_t *EN_RESTRICT words, double *EN_RESTRICT noise,
                                      double *EN_RESTRICT room, size_t n) {
    for (size_t i = 0; i < n; i++) {
        noise[i] = 0x1p52; /* the count is in its lowest bits */
        room[i] = en_from_bits(en_is_zero(en_from_bits(words[i] >> 14)) & EN_SIGN);
    }
    for (size_t k = 0; k < plan->thresholds; k += EN_THRESHOLD_GROUP) {
        const double a = plan->threshold[k], b = plan->threshold[k + 1];
        const double c = plan->threshold[k + 2], d = plan->threshold[k + 3];
        for (size_t i = 0; i < n; i++) {
            const double j = en_uniform50(words[i]) * 0x1p-14 - 0.5;
            const double to_a = j - a, to_b = j - b, to_c = j - c, to_d = j - d;
            const uint64_t below = en_is_below(to_a) + en_is_below(to_b) + en_is_below(to_c) + en_is_below(to_d);
            const uint64_t equal = en_is_zero(to_a) | en_is_zero(to_b) | en_is_zero(to_c) | en_is_zero(to_d);
            noise[i] = en_from_bits(en_bits(noise[i]) + below);
            room[i] = en_from_bits(en_bits(room[i]) | (equal & EN_SIGN));
        }
    }
    for (size_t i = 0; i < n; i++) {
        noise[i] -= 0x1p52;
        room[i] = en_from_bits(en_bits(room[i]) | en_bits(0.5)); /* 1/2, or -1/2 if the lane is not decided */
    }
}

/* slack[i] is the lane's room on entry, and what its gap leaves of it on return; `all` is all of them or-ed together.
 * */
#define EN_RELEASE_KERNEL(form, IN, OUT)                                                                               \
    EN_TARGET static int release_##form(const en_plan *plan, const uint64_t *words, const double *EN_RESTRICT noise,   \
                                        double *EN_RESTRICT slack, const void *EN_RESTRICT data,                       \
                                        void *EN_RESTRICT result, size_t n) {                                          \
        const en_grid grid = plan->grid;                                                                               \
        const IN *EN_RESTRICT x = data;                                                                                \
        OUT *EN_RESTRICT out = result;                                                                                 \
        uint64_t all = 0;                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            double gap;                                                                                                \
            out[i] = en_release_##form(&grid, x[i], noise[i], &gap);                                                   \
            slack[i] -= gap;                                                                                           \
            all |= en_bits(slack[i]);                                                                                  \
        }                                                                                                              \
        (void)words;                                                                                                   \
        return en_is_decided(en_from_bits(all));                                                                       \
    }

EN_RELEASE_KERNEL(float64, double, double)
EN_RELEASE_KERNEL(float64_extreme, double, double)
EN_RELEASE_KERNEL(float32, double, double)
EN_RELEASE_KERNEL(int64_float64, int64_t, double)
EN_RELEASE_KERNEL(int64, int64_t, int64_t)

/* The noise is the magnitude; its sign, bit 13 of the word, is applied to the decided integer. */
EN_TARGET static int release_signed_int64(const en_plan *plan, const uint64_t *EN_RESTRICT words,
                                          const double *EN_RESTRICT noise, double *EN_RESTRICT slack,
                                          const void *EN_RESTRICT data, void *EN_RESTRICT result, size_t n) {
    const int64_t *EN_RESTRICT x = data;
    int64_t *EN_RESTRICT out = result;
    uint64_t all = 0;
    for (size_t i = 0; i < n; i++) {
        double gap;
        uint64_t k = en_round_to_int(noise[i], &gap);
        uint64_t negative = UINT64_C(0) - (words[i] >> 13 & 1);
        out[i] = en_add_saturating(x[i], (k ^ negative) - negative);
        slack[i] -= gap;
        all |= en_bits(slack[i]);
    }
    (void)plan;
    return en_is_decided(en_from_bits(all));
}

EN_TARGET static void spread_words(uint64_t *EN_RESTRICT words) {
    enum { QUARTER = EN_DRAWN_WORDS / 4 };
    const uint64_t *second = words + QUARTER, *third = second + QUARTER, *fourth = third + QUARTER;
    uint64_t *EN_RESTRICT fifth = words + EN_DRAWN_WORDS;
    for (size_t i = 0; i < QUARTER; i++)
        fifth[i] =
            words[i] << 51 | (second[i] & EN_SPARE) << 38 | (third[i] & EN_SPARE) << 25 | (fourth[i] & EN_SPARE) << 12;
}

EN_TARGET static void widen(const float *EN_RESTRICT x, double *EN_RESTRICT wide, size_t n) {
    for (size_t i = 0; i < n; i++)
        wide[i] = (double)x[i];
}

EN_TARGET static void narrow(const double *EN_RESTRICT wide, float *EN_RESTRICT x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = (float)wide[i];
}

EN_TARGET static void negative_log(const uint64_t *EN_RESTRICT words, double *EN_RESTRICT out, size_t n) {
    double power;
    for (size_t i = 0; i < n; i++)
        out[i] = en_negative_log(en_uniform51(words[i]), &power);
}

EN_TARGET static void sincos(const uint64_t *EN_RESTRICT words, double *EN_RESTRICT sine, double *EN_RESTRICT cosine,
                             size_t n) {
    for (size_t i = 0; i < n; i++) {
        double s, c;
        en_sincos_quarter(en_signed_fraction(words[i]), &s, &c);
        sine[i] = s;
        cosine[i] = c;
    }
}

EN_TARGET static void square_root(const double *EN_RESTRICT x, double *EN_RESTRICT out, size_t n) {
    for (size_t i = 0; i < n; i++)
        out[i] = EN_SQRT(x[i]);
}

const en_kernels EN_NAME(en_kernels) = {
    .noise = {laplace_noise, gaussian_noise, discrete_laplace_noise, discrete_gaussian_noise, tabulated_noise},
    .release = {release_float64, release_float64_extreme, release_float32, release_int64_float64, release_int64},
    .release_signed_int64 = release_signed_int64,
    .clip = {{clip_l1_float64, clip_l1_float32}, {clip_l2_float64, clip_l2_float32}},
    .spread_words = spread_words,
    .widen = widen,
    .narrow = narrow,
    .chacha20 = en_chacha20,
    .respond8 = respond8,
    .respond16 = respond16,
    .respond_hashed = respond_hashed,
    .flip_coins = flip_coins,
    .set_categories = set_categories,
    .add_columns = add_columns,
    .add_supports = add_supports,
    .negative_log = negative_log,
    .sincos = sincos,
    .sqrt = square_root,
    .selection_noise = {gumbel_noise, exponential_noise},
    .score_keys = {score_keys_float64, score_keys_int64},
    .row_maxima = row_maxima,
    .intervals = {intervals_float64, intervals_int64},
    .contenders = contenders,
    .quantize = {quantize_float64, quantize_float32, quantize_int64},
    .total = {total_float64, total_float32, total_int64},
    .moments = {moments_float64, moments_float32, moments_int64},
    .place = place,
    .cells = cells,
    .bin = {bin_float64, bin_float32, bin_int64},
    .add_rows = {add_rows_float64, add_rows_float32},
    .add_row = {add_row_float64, add_row_float32},
};
