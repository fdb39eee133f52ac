/* The kernels of clip.h. Included by kernels_body.h.
 *
 * A row goes through in strips of EN_STRIP numbers. Each step is a function of a strip, inlined twice: for whole strips,
 * whose length the compiler then knows, and for what remains.
 */
#ifndef EN_CLIP_BODY_H
#define EN_CLIP_BODY_H

#include "convert.h"
#include "kernels.h"

enum { EN_STRIP = 16 };

EN_INLINE double en_magnitude(double x) {
    return en_from_bits(en_bits(x) & ~EN_SIGN);
}

EN_INLINE double en_square(double x) {
    return x * x;
}

EN_INLINE double en_same(double x) {
    return x;
}

EN_INLINE double en_root(double x) {
    return EN_SQRT(x);
}

EN_INLINE double en_to_float64(double x) {
    return x;
}

/* Toward zero: to nearest, and one step back where that went up. */
EN_INLINE float en_to_float32(double x) {
    float result = (float)x;
    uint32_t bits;
    memcpy(&bits, &result, sizeof bits);
    bits -= en_magnitude((double)result) > en_magnitude(x);
    memcpy(&result, &bits, sizeof bits);
    return result;
}

#define EN_CLIP_STEPS(type, TYPE, LARGEST)                                                                             \
    /* NaN as 0, infinities as the largest finite number. */                                                           \
    EN_INLINE TYPE en_finite_##type(TYPE x) {                                                                          \
        x = x == x ? x : 0;                                                                                            \
        x = LARGEST < x ? LARGEST : x;                                                                                 \
        return -LARGEST > x ? -LARGEST : x;                                                                            \
    }                                                                                                                  \
    EN_INLINE void en_scale_##type(const TYPE *x, TYPE *out, size_t n, double first, double second) {                  \
        TYPE strip[EN_STRIP]; /* as x may be out */                                                                    \
        for (size_t j = 0; j < n; j++)                                                                                 \
            strip[j] = en_to_##type((double)en_finite_##type(x[j]) * first * second);                                  \
        for (size_t j = 0; j < n; j++)                                                                                 \
            out[j] = strip[j];                                                                                         \
    }

EN_CLIP_STEPS(float64, double, DBL_MAX)
EN_CLIP_STEPS(float32, float, FLT_MAX)

EN_INLINE void en_raise(double *largest, const double *x, size_t n) {
    for (size_t j = 0; j < n; j++) {
        double a = en_magnitude(en_finite_float64(x[j]));
        largest[j] = a > largest[j] ? a : largest[j];
    }
}

/* e of the contract, as the exponent field of 2^e. */
EN_INLINE uint64_t en_exponent_float64(const double *x, size_t n) {
    double largest[EN_STRIP] = {0};
    size_t i = 0;
    for (; i + EN_STRIP <= n; i += EN_STRIP)
        en_raise(largest, x + i, EN_STRIP);
    en_raise(largest, x + i, n - i);
    for (size_t half = EN_STRIP / 2; half; half /= 2)
        en_raise(largest, largest + half, half);
    const uint64_t field = en_bits(largest[0]) >> 52;
    return field < 1 ? 1 : field > 2045 ? 2045 : field;
}

EN_INLINE uint64_t en_exponent_float32(const float *x, size_t n) {
    (void)x;
    (void)n;
    return 1023;
}

#define EN_CLIP_KERNEL(norm, type, TYPE, TERM, ROOT)                                                                   \
    EN_INLINE void en_add_##norm##_##type(double *sums, const TYPE *x, size_t n, double power) {                       \
        for (size_t j = 0; j < n; j++)                                                                                 \
            sums[j] += TERM((double)en_finite_##type(x[j]) * power);                                                   \
    }                                                                                                                  \
    /* N of the contract. */                                                                                           \
    EN_INLINE double en_norm_##norm##_##type(const TYPE *x, size_t n, double power) {                                  \
        double sums[EN_STRIP] = {0};                                                                                   \
        size_t i = 0;                                                                                                  \
        for (; i + EN_STRIP <= n; i += EN_STRIP)                                                                       \
            en_add_##norm##_##type(sums, x + i, EN_STRIP, power);                                                      \
        en_add_##norm##_##type(sums, x + i, n - i, power);                                                             \
        for (size_t half = EN_STRIP / 2; half; half /= 2)                                                              \
            for (size_t j = 0; j < half; j++)                                                                          \
                sums[j] += sums[half + j];                                                                             \
        const double above = ROOT(sums[0]) * (1.0 + (double)(n + 256) * 0x1p-56);                                      \
        return above > DBL_MIN ? above : DBL_MIN;                                                                      \
    }                                                                                                                  \
    EN_TARGET static void clip_##norm##_##type(const void *data, void *result, size_t rows, size_t n, double bound) {  \
        const TYPE *x = data;                                                                                          \
        TYPE *out = result;                                                                                            \
        for (size_t row = 0; row < rows; row++, x += n, out += n) {                                                    \
            const uint64_t field = en_exponent_##type(x, n);                                                           \
            const double power = en_from_bits((2046 - field) << 52);                                                   \
            const uint64_t ratio = en_bits(bound / en_norm_##norm##_##type(x, n, power));                              \
            const double factor = en_from_bits(ratio - (ratio != 0));                                                  \
            const int keep = factor >= en_from_bits(field << 52);                                                      \
            const double first = keep ? 1.0 : power, second = keep ? 1.0 : factor;                                     \
            size_t i = 0;                                                                                              \
            for (; i + EN_STRIP <= n; i += EN_STRIP)                                                                   \
                en_scale_##type(x + i, out + i, EN_STRIP, first, second);                                              \
            en_scale_##type(x + i, out + i, n - i, first, second);                                                     \
        }                                                                                                              \
    }

EN_CLIP_KERNEL(l1, float64, double, en_magnitude, en_same)
EN_CLIP_KERNEL(l1, float32, float, en_magnitude, en_same)
EN_CLIP_KERNEL(l2, float64, double, en_square, en_root)
EN_CLIP_KERNEL(l2, float32, float, en_square, en_root)

#endif
