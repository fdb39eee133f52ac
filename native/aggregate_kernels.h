/* The kernels of sums.h and counts.h. Included by kernels_body.h.
 *
 * A value that is dropped is 0 and counts 0, so that nothing jumps on data. `kept` is all ones or 0.
 */
#ifndef EN_AGGREGATE_KERNELS_H
#define EN_AGGREGATE_KERNELS_H

#include "convert.h"
#include "isa.h"
#include "kernels.h"

#define EN_ROUNDER 0x1.8p52

/* All ones, or 0 for a NaN. In integers: a comparison may become a jump where it is not vectorised. */
EN_INLINE uint64_t en_unless_nan(double x) {
    const uint64_t above_infinity = UINT64_C(0x7ff0000000000001);
    return UINT64_C(0) - (((en_bits(x) & ~EN_SIGN) - above_infinity) >> 63);
}

/* See quantize.h. The comparisons are those of the maximum and minimum instructions, with low for a NaN. */
EN_INLINE uint64_t en_quantize_float64(const en_quantizer *quantizer, double x, uint64_t *kept) {
    double y = x * quantizer->scale;
    y = y > quantizer->float_low ? y : quantizer->float_low;
    y = y < quantizer->float_high ? y : quantizer->float_high;
    const uint64_t number = en_unless_nan(x);
    *kept = number | quantizer->keeps_nan;
    return ((en_bits(y + EN_ROUNDER) - en_bits(EN_ROUNDER)) & number) | (quantizer->nan & ~number);
}

EN_INLINE uint64_t en_quantize_float32(const en_quantizer *quantizer, float x, uint64_t *kept) {
    return en_quantize_float64(quantizer, (double)x, kept);
}

EN_INLINE uint64_t en_quantize_int64(const en_quantizer *quantizer, int64_t x, uint64_t *kept) {
    const int64_t raised = (int64_t)en_pick(x < quantizer->low, (uint64_t)quantizer->low, (uint64_t)x);
    *kept = ~UINT64_C(0);
    return en_pick(raised > quantizer->high, (uint64_t)quantizer->high, (uint64_t)raised);
}

/* d^2 of quantize.h. */
EN_INLINE uint64_t en_squared_distance(const en_quantizer *quantizer, uint64_t q) {
    const uint64_t d = 2 * q - ((uint64_t)quantizer->low + (uint64_t)quantizer->high);
    return d * d;
}

/* Of a sum of halves: sum = low + 2^32 high - 2^63 negative. */
EN_INLINE void en_join(uint64_t sum[2], uint64_t low, uint64_t high, uint64_t negative) {
    const uint64_t words = low + (high << 32);
    const uint64_t carry = words < low;
    const uint64_t offset = negative << 63;
    sum[0] = words - offset;
    sum[1] = (high >> 32) + carry - (negative >> 1) - (words < offset);
}

/* Numbers are added as the halves of unsigned 64-bit integers, which do not overflow for up to 2^32 of them. */
#define EN_AGGREGATE_KERNELS(type, TYPE)                                                                               \
    EN_TARGET static void quantize_##type(const en_quantizer *quantizer, const void *data,                             \
                                          uint64_t *EN_RESTRICT values, uint64_t *EN_RESTRICT kept, size_t n) {        \
        const en_quantizer own = *quantizer;                                                                           \
        const TYPE *EN_RESTRICT x = data;                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                 \
            values[i] = en_quantize_##type(&own, x[i], &kept[i]);                                                      \
    }                                                                                                                  \
    EN_INLINE void en_total_##type(const en_quantizer *quantizer, const TYPE *EN_RESTRICT x, size_t n, int squares,    \
                                   en_totals *totals) {                                                                \
        const en_quantizer own = *quantizer;                                                                           \
        const uint64_t half = UINT64_C(0xffffffff);                                                                    \
        uint64_t count = 0, low = 0, high = 0, square_low = 0, square_high = 0;                                        \
        for (size_t i = 0; i < n; i++) {                                                                               \
            uint64_t kept;                                                                                             \
            const uint64_t q = en_quantize_##type(&own, x[i], &kept);                                                  \
            const uint64_t raised = q ^ EN_SIGN;                                                                       \
            count -= kept;                                                                                             \
            low += raised & half;                                                                                      \
            high += raised >> 32;                                                                                      \
            if (squares) {                                                                                             \
                const uint64_t square = en_squared_distance(&own, q) & kept;                                           \
                square_low += square & half;                                                                           \
                square_high += square >> 32;                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        totals->count = count;                                                                                         \
        en_join(totals->sum, low, high, n);                                                                            \
        en_join(totals->squares, square_low, square_high, 0);                                                          \
    }                                                                                                                  \
    EN_TARGET static void total_##type(const en_quantizer *quantizer, const void *x, size_t n, en_totals *totals) {    \
        en_total_##type(quantizer, x, n, 0, totals);                                                                   \
    }                                                                                                                  \
    EN_TARGET static void moments_##type(const en_quantizer *quantizer, const void *x, size_t n, en_totals *totals) {  \
        en_total_##type(quantizer, x, n, 1, totals);                                                                   \
    }

EN_AGGREGATE_KERNELS(float64, double)
EN_AGGREGATE_KERNELS(float32, float)
EN_AGGREGATE_KERNELS(int64, int64_t)

/* Codes outside of 0 .. groups - 1 become 0, and their values are dropped. */
EN_TARGET static void place(const int64_t *EN_RESTRICT codes, uint64_t groups, uint64_t *EN_RESTRICT places,
                            uint64_t *EN_RESTRICT values, uint64_t *EN_RESTRICT kept, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const uint64_t inside = en_pick((uint64_t)codes[i] < groups, ~UINT64_C(0), 0);
        places[i] = (uint64_t)codes[i] & inside;
        values[i] &= inside;
        kept[i] &= inside;
    }
}

EN_TARGET static void cells(const en_quantizer *quantizer, const uint64_t *EN_RESTRICT values,
                            const uint64_t *EN_RESTRICT kept, int64_t *EN_RESTRICT out, size_t n) {
    const uint64_t low = (uint64_t)quantizer->low;
    for (size_t i = 0; i < n; i++)
        out[i] = (int64_t)((values[i] - low) | ~kept[i]);
}

/* A binary search of all values at once, which takes the same steps for each. `bins` counts the edges that are known to
 * be at most x. Edges are fetched in a loop of their own, so that comparing is one of plain vectors. */
#define EN_BIN_KERNEL(type, TYPE, EDGE)                                                                                \
    EN_TARGET static void bin_##type(const void *data, const void *edge_data, size_t count, uint64_t *scratch,         \
                                     int64_t *EN_RESTRICT bins, size_t n) {                                            \
        const TYPE *EN_RESTRICT x = data;                                                                              \
        const EDGE *edges = edge_data;                                                                                 \
        EDGE *EN_RESTRICT edge = (EDGE *)scratch;                                                                      \
        const EDGE last = edges[count - 1];                                                                            \
        for (size_t i = 0; i < n; i++)                                                                                 \
            bins[i] = 0;                                                                                               \
        for (size_t left = count; left > 0; left = left > 1 ? left - left / 2 : 0) {                                   \
            const int64_t step = left > 1 ? (int64_t)(left / 2) : 1;                                                   \
            for (size_t i = 0; i < n; i++)                                                                             \
                edge[i] = edges[bins[i] + step - 1];                                                                   \
            for (size_t i = 0; i < n; i++)                                                                             \
                bins[i] += (int64_t)en_pick(edge[i] <= (EDGE)x[i], (uint64_t)step, 0);                                 \
        }                                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const uint64_t bin = (uint64_t)bins[i] - 1 - en_pick((uint64_t)bins[i] == count, 1, 0);                    \
            bins[i] = (int64_t)en_pick((EDGE)x[i] > last, ~UINT64_C(0), bin);                                          \
        }                                                                                                              \
    }

EN_BIN_KERNEL(float64, double, double)
EN_BIN_KERNEL(float32, float, double)
EN_BIN_KERNEL(int64, int64_t, int64_t)

/* Toward zero: see quantize.h. `most` = 2^50 is no constant here: compilers would jump where they knew all that follows
 * from it. */
EN_INLINE uint64_t en_truncate_scaled(double x, double scale, double most) {
    const double y = x * scale;
    double magnitude = en_from_bits(en_bits(y) & ~EN_SIGN);
    magnitude = magnitude < most ? magnitude : most;
#if EN_CONVERTS_INT64
    const uint64_t q = (uint64_t)(int64_t)magnitude;
#else
    const double rounded = magnitude + 0x1p52;
    const uint64_t is_above = en_bits(magnitude - (rounded - 0x1p52)) >> 63;
    const uint64_t q = en_bits(rounded) - en_bits(0x1p52) - is_above;
#endif
    const uint64_t negative = UINT64_C(0) - (en_bits(y) >> 63);
    return ((q ^ negative) - negative) & en_unless_nan(x);
}

/* Rows begin `stride` numbers apart. add_rows: sums of n <= 2^12 rows, 64 bits each. add_row: one row, whose numbers count
 * if `kept`, onto sums of 128 bits. */
#define EN_ROW_KERNELS(type, TYPE)                                                                                     \
    EN_TARGET static void add_rows_##type(const void *data, size_t stride, size_t width, size_t n, double scale,       \
                                          double most, uint64_t *EN_RESTRICT sums) {                                   \
        const TYPE *EN_RESTRICT x = data;                                                                              \
        for (size_t row = 0; row < n; row++, x += stride)                                                              \
            for (size_t j = 0; j < width; j++)                                                                         \
                sums[j] += en_truncate_scaled((double)x[j], scale, most);                                              \
    }                                                                                                                  \
    EN_TARGET static void add_row_##type(const void *data, size_t width, double scale, double most, uint64_t kept,     \
                                         uint64_t *EN_RESTRICT low, uint64_t *EN_RESTRICT high) {                      \
        const TYPE *EN_RESTRICT x = data;                                                                              \
        for (size_t j = 0; j < width; j++) {                                                                           \
            const uint64_t q = en_truncate_scaled((double)x[j], scale, most) & kept;                                   \
            const uint64_t sum = low[j] + q;                                                                           \
            high[j] += en_pick(sum < q, 1, 0) - (q >> 63);                                                             \
            low[j] = sum;                                                                                              \
        }                                                                                                              \
    }

EN_ROW_KERNELS(float64, double)
EN_ROW_KERNELS(float32, float)

#endif
