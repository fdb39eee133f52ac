/* The loops over blocks; the contract is in sums.h. */
#include "sums.h"

#include "float_env.h"

/* Blocks of values that are added up by the kernel alone; and of values that then go to their groups one by one: short, so
 * that the processor is at the next block's vectors while it waits for the groups' memory. */
enum { BLOCK = 512, SHORT_BLOCK = 64 };

/* 2^exponent for a normal double. */
static double power_of_two(int exponent) {
    return en_from_bits((uint64_t)(1023 + exponent) << 52);
}

void en_quantizer_init(en_quantizer *quantizer, int exponent, int64_t low, int64_t high, const int64_t *nan) {
    quantizer->low = low;
    quantizer->high = high;
    quantizer->scale = power_of_two(-exponent);
    quantizer->float_low = (double)low;
    quantizer->float_high = (double)high;
    quantizer->nan = nan ? (uint64_t)*nan : 0;
    quantizer->keeps_nan = nan ? ~UINT64_C(0) : 0;
}

static size_t width_of(en_values type) {
    return type == EN_VALUES_FLOAT32 ? 4 : 8;
}

/* A block of values on its way. */
typedef struct {
    uint64_t copy[SHORT_BLOCK], values[SHORT_BLOCK], kept[SHORT_BLOCK], places[SHORT_BLOCK];
} block;

static inline void add_wide(uint64_t *sum, uint64_t low, uint64_t high) {
    const uint64_t lower = sum[0] + low, higher = sum[1] + high + (lower < low);
    sum[0] = lower;
    sum[1] = higher;
}

static void add_totals(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                       int64_t *count, uint64_t *sum, uint64_t *squares) {
    en_total_kernel *total = squares ? kernels->moments[type] : kernels->total[type];
    uint64_t copy[BLOCK];
    for (size_t start = 0; start < x->n; start += BLOCK) {
        const size_t n = en_less(x->n - start, BLOCK);
        en_totals totals;
        total(quantizer, en_items(x, width_of(type), start, n, copy), n, &totals);
        *count += (int64_t)totals.count;
        add_wide(sum, totals.sum[0], totals.sum[1]);
        if (squares)
            add_wide(squares, totals.squares[0], totals.squares[1]);
    }
    en_wipe(copy, sizeof copy);
}

static void add_to_groups(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                          const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums, uint64_t *squares) {
    const uint64_t twice_middle = (uint64_t)quantizer->low + (uint64_t)quantizer->high;
    block scratch;
    for (size_t start = 0; start < x->n; start += SHORT_BLOCK) {
        const size_t n = en_less(x->n - start, SHORT_BLOCK);
        kernels->quantize[type](quantizer, en_items(x, width_of(type), start, n, scratch.copy), scratch.values,
                                scratch.kept, n);
        kernels->place(codes + start, groups, scratch.places, scratch.values, scratch.kept, n);
        for (size_t i = 0; i < n; i++) {
            const uint64_t place = scratch.places[i], q = scratch.values[i];
            const int64_t count = counts[place] - (int64_t)scratch.kept[i]; /* loaded before sums are stored: faster */
            add_wide(sums + 2 * place, q, UINT64_C(0) - (q >> 63));
            counts[place] = count;
        }
        for (size_t i = 0; squares && i < n; i++) {
            const uint64_t d = 2 * scratch.values[i] - twice_middle;
            add_wide(squares + 2 * scratch.places[i], d * d & scratch.kept[i], 0);
        }
    }
    en_wipe(&scratch, sizeof scratch);
}

static void add(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums, uint64_t *squares) {
    if (groups == 0)
        return;
    en_float_env found = en_float_env_set();
    if (codes)
        add_to_groups(quantizer, kernels, type, x, codes, groups, counts, sums, squares);
    else
        add_totals(quantizer, kernels, type, x, counts, sums, squares);
    en_float_env_restore(found);
    en_wipe_dead_stack();
}

void en_add_sums(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                 const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums) {
    add(quantizer, kernels, type, x, codes, groups, counts, sums, NULL);
}

void en_add_moments(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                    const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums, uint64_t *squares) {
    add(quantizer, kernels, type, x, codes, groups, counts, sums, squares);
}

void en_cells(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
              int64_t *out) {
    block scratch;
    en_float_env found = en_float_env_set();
    for (size_t start = 0; start < x->n; start += SHORT_BLOCK) {
        const size_t n = en_less(x->n - start, SHORT_BLOCK);
        kernels->quantize[type](quantizer, en_items(x, width_of(type), start, n, scratch.copy), scratch.values,
                                scratch.kept, n);
        kernels->cells(quantizer, scratch.values, scratch.kept, out + start, n);
    }
    en_float_env_restore(found);
    en_wipe_dead_stack();
    en_wipe(&scratch, sizeof scratch);
}

/* Without groups rows are added in strips of columns, to 64-bit sums in the first-level cache; so many rows at a time
 * that these do not overflow. Narrow rows go several at a time as one wide row. */
enum { STRIP = 512, ROWS = 4096 };

static void add_strip(const en_kernels *kernels, en_values type, const char *rows, size_t stride, size_t width,
                      size_t n, double scale, size_t columns, uint64_t *low, uint64_t *high) {
    uint64_t strip[STRIP];
    for (size_t start = 0; start < n; start += ROWS) {
        memset(strip, 0, sizeof strip);
        kernels->add_rows[type](rows + width_of(type) * stride * start, stride, width, en_less(n - start, ROWS), scale,
                                (double)EN_MOST_QUANTIZED, strip);
        for (size_t j = 0, column = 0; j < width; j++, column = column + 1 == columns ? 0 : column + 1) {
            low[column] += strip[j];
            high[column] += (UINT64_C(0) - (strip[j] >> 63)) + (low[column] < strip[j]);
        }
    }
    en_wipe(strip, sizeof strip);
}

static void add_all_rows(const en_kernels *kernels, en_values type, const char *rows, size_t n, size_t columns,
                         double scale, uint64_t *low, uint64_t *high) {
    const size_t together = columns < STRIP ? STRIP / columns : 1, wide = n / together, rest = n % together;
    for (size_t first = 0; first < columns; first += STRIP) {
        const size_t width = en_less(columns - first, STRIP);
        const char *strip = rows + width_of(type) * first;
        add_strip(kernels, type, strip, columns * together, together > 1 ? width * together : width, wide, scale, width,
                  low + first, high + first);
        add_strip(kernels, type, strip + width_of(type) * columns * together * wide, columns, width, rest, scale, width,
                  low + first, high + first);
    }
}

void en_add_rows(const en_kernels *kernels, en_values type, const void *rows, size_t n, size_t columns, int exponent,
                 const int64_t *codes, size_t groups, uint64_t *sums) {
    const double scale = power_of_two(-exponent);
    if (groups == 0 || columns == 0)
        return;
    en_float_env found = en_float_env_set();
    if (!codes)
        add_all_rows(kernels, type, rows, n, columns, scale, sums, sums + columns);
    for (size_t row = 0; codes && row < n; row++) {
        const uint64_t kept = en_pick((uint64_t)codes[row] < groups, ~UINT64_C(0), 0);
        uint64_t *low = sums + 2 * columns * ((uint64_t)codes[row] & kept);
        kernels->add_row[type]((const char *)rows + width_of(type) * columns * row, columns, scale,
                               (double)EN_MOST_QUANTIZED, kept, low, low + columns);
    }
    en_float_env_restore(found);
    en_wipe_dead_stack();
}
