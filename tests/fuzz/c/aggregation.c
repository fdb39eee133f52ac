/* Sums, squares, cells, bins and counts of any values at any distance and alignment, any bounds and codes: what a loop
 * without tricks makes of them, for every instruction set. */
#include "counts.h"
#include "input.h"
#include "sums.h"

typedef __int128 wide;

/* Values of one type at a distance of `stride` bytes, backwards too, or all at one place. */
typedef struct {
    char *memory;
    en_strided items;
    en_values type;
} values;

static values read_values(input *in, en_values type, size_t n, double unit) {
    const size_t width = type == EN_VALUES_FLOAT32 ? 4 : 8;
    const size_t spacing = between(in, 0, 1) ? width : between(in, 0, 5) ? width + (size_t)between(in, 0, 20) : 0;
    const size_t offset = spacing == width ? width * (size_t)between(in, 0, 1) : (size_t)between(in, 0, 9);
    const int backwards = spacing != width && between(in, 0, 1);
    const size_t size = n ? offset + spacing * (n - 1) + width : 0;
    values x = {allocate(size), {NULL, backwards ? -(ptrdiff_t)spacing : (ptrdiff_t)spacing, n}, type};
    x.items.start = x.memory + (n ? offset + (backwards ? spacing * (n - 1) : 0) : 0);
    for (size_t i = 0; i < n; i++) {
        const double real = type == EN_VALUES_FLOAT64 ? read_double(in, unit) : 0;
        const float narrow = type == EN_VALUES_FLOAT32 ? read_float(in, unit) : 0;
        const int64_t whole = type == EN_VALUES_INT64 ? read_integer(in) : 0;
        const void *from = type == EN_VALUES_FLOAT64   ? (const void *)&real
                           : type == EN_VALUES_FLOAT32 ? (const void *)&narrow
                                                       : (const void *)&whole;
        memcpy(x.memory + offset + spacing * i, from, width);
    }
    return x;
}

static double real_at(const values *x, size_t i) {
    double real;
    float narrow;
    if (x->type == EN_VALUES_FLOAT64) {
        memcpy(&real, en_item(&x->items, i), 8);
        return real;
    }
    memcpy(&narrow, en_item(&x->items, i), 4);
    return (double)narrow;
}

static int64_t whole_at(const values *x, size_t i) {
    int64_t whole;
    memcpy(&whole, en_item(&x->items, i), 8);
    return whole;
}

/* quantize.h, by the C library. Returns whether the value counts. */
static int quantize(const values *x, size_t i, int exponent, int64_t low, int64_t high, const int64_t *nan,
                    int64_t *q) {
    if (x->type == EN_VALUES_INT64) {
        *q = whole_at(x, i);
        *q = *q < low ? low : *q > high ? high : *q;
        return 1;
    }
    const double real = real_at(x, i);
    if (isnan(real)) {
        *q = nan ? *nan : 0;
        return nan != NULL;
    }
    *q = (int64_t)nearbyint(fmin(fmax(ldexp(real, -exponent), (double)low), (double)high));
    return 1;
}

static int64_t *read_codes(input *in, size_t n, size_t groups) {
    int64_t *codes = allocate(8 * n);
    for (size_t i = 0; i < n; i++)
        codes[i] = between(in, 0, 7) ? (int64_t)(next_word(in) % (groups + 2)) - 1 : read_integer(in);
    return codes;
}

static wide joined(uint64_t low, uint64_t high) {
    return (wide)((unsigned __int128)high << 64 | low);
}

static void add_sums(input *in, const en_kernels *const *kernels, size_t available) {
    const en_values type = (en_values)between(in, 0, EN_VALUES_COUNT - 1);
    const int is_whole = type == EN_VALUES_INT64;
    const int exponent = is_whole ? 0 : (int)(between(in, 0, 1) ? between(in, -20, 20) : between(in, -1000, 970));
    const int64_t most = is_whole ? INT64_MAX : EN_MOST_QUANTIZED;
    int64_t low = between(in, 0, 1) ? between(in, -100, 100) : between(in, -most, most), high;
    const int64_t span = between(in, 0, 2) ? between(in, 0, INT64_C(1) << between(in, 0, 31)) : INT64_MAX;
    high = low > most - span ? most : low + span;
    const int64_t nan = between(in, 0, 1) ? low : high, *keeps = between(in, 0, 1) ? &nan : NULL;
    const int with_squares = (unsigned __int128)((wide)high - low) <= (unsigned __int128)1 << 31;
    const size_t n = read_length(in, 1100), groups = between(in, 0, 2) ? (size_t)between(in, 0, 90) : 1;
    values x = read_values(in, type, n, ldexp(1, exponent));
    int64_t *codes = read_codes(in, n, groups);
    const int64_t *given = groups == 1 && between(in, 0, 1) ? NULL : codes;
    en_quantizer quantizer;
    en_quantizer_init(&quantizer, exponent, low, high, keeps);

    int64_t *expected_count = zeros(8 * groups), *expected_cells = allocate(8 * n);
    wide *expected_sum = zeros(16 * groups), *expected_squares = zeros(16 * groups);
    for (size_t i = 0; i < n; i++) {
        int64_t q;
        const int counts = quantize(&x, i, exponent, low, high, keeps, &q);
        expected_cells[i] = counts ? (int64_t)((uint64_t)q - (uint64_t)low) : -1;
        const uint64_t group = given ? (uint64_t)codes[i] : 0;
        if (!counts || group >= groups)
            continue;
        const wide d = with_squares ? 2 * (wide)q - low - high : 0;
        expected_count[group]++;
        expected_sum[group] += q;
        expected_squares[group] += d * d;
    }
    for (size_t v = 0; v < available; v++)
        for (int moments = 0; moments <= with_squares; moments++) {
            int64_t *count = zeros(8 * groups);
            uint64_t *sums = zeros(16 * groups), *squares = zeros(16 * groups);
            if (moments)
                en_add_moments(&quantizer, kernels[v], type, &x.items, given, groups, count, sums, squares);
            else
                en_add_sums(&quantizer, kernels[v], type, &x.items, given, groups, count, sums);
            if (PLANTED && groups && n > 600)
                sums[0]++;
            for (size_t g = 0; g < groups; g++) {
                require(count[g] == expected_count[g], "a count is not the values'");
                require(joined(sums[2 * g], sums[2 * g + 1]) == expected_sum[g], "a sum is not the values'");
                require(!moments || joined(squares[2 * g], squares[2 * g + 1]) == expected_squares[g],
                        "squares are not the values'");
            }
            free(count);
            free(sums);
            free(squares);
        }
    if ((unsigned __int128)((wide)high - low) < (unsigned __int128)1 << 62)
        for (size_t v = 0; v < available; v++) {
            int64_t *cells = allocate(8 * n);
            en_cells(&quantizer, kernels[v], type, &x.items, cells);
            require(n == 0 || memcmp(cells, expected_cells, 8 * n) == 0, "cells are not the values'");
            free(cells);
        }
    free(expected_count);
    free(expected_sum);
    free(expected_squares);
    free(expected_cells);
    free(codes);
    free(x.memory);
}

static int by_real(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int by_whole(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Whether a value is at least, or above, an edge. */
static int reaches(const values *x, size_t i, const int64_t *edge, int above) {
    if (x->type == EN_VALUES_INT64)
        return above ? whole_at(x, i) > *edge : whole_at(x, i) >= *edge;
    const double real = real_at(x, i), limit = en_from_bits((uint64_t)*edge);
    return above ? real > limit : real >= limit;
}

static void bin(input *in, const en_kernels *const *kernels, size_t available) {
    const en_values type = (en_values)between(in, 0, EN_VALUES_COUNT - 1);
    const size_t n = read_length(in, 1100), count = (size_t)between(in, 2, between(in, 0, 3) ? 40 : 1000);
    values x = read_values(in, type, n, 1);
    int64_t *edges = allocate(8 * count);
    for (size_t i = 0; i < count; i++) {
        double edge = read_double(in, 1);
        edge = isnan(edge) ? 0 : edge;
        edges[i] = type == EN_VALUES_INT64 ? read_integer(in) : (int64_t)en_bits(edge);
    }
    qsort(edges, count, 8, type == EN_VALUES_INT64 ? by_whole : by_real);
    for (size_t v = 0; v < available; v++) {
        int64_t *bins = allocate(8 * n);
        en_bin_values(kernels[v], type, &x.items, edges, count, bins);
        for (size_t i = 0; i < n; i++) {
            const int64_t b = bins[i];
            require(b >= -1 && b < (int64_t)count - 1, "a bin that does not exist");
            const int inside = reaches(&x, i, &edges[0], 0) && !reaches(&x, i, &edges[count - 1], 1);
            const int last = b == (int64_t)count - 2;
            require(inside == (b >= 0) || (type != EN_VALUES_INT64 && isnan(real_at(&x, i)) && b == -1),
                    "a value in no bin");
            require(b < 0 || (reaches(&x, i, &edges[b], 0) && (last || !reaches(&x, i, &edges[b + 1], 0))),
                    "a value in another's bin");
        }
        free(bins);
    }
    free(edges);
    free(x.memory);
}

static void count_codes(input *in) {
    static const size_t widths[] = {1, 2, 4, 8, 1, 2, 4};
    const en_codes type = (en_codes)between(in, EN_CODES_INT8, EN_CODES_UINT32);
    const size_t width = widths[type], n = read_length(in, 1300);
    const size_t groups = (size_t)between(in, 0, between(in, 0, 1) ? 40 : 1500),
                 spacing = width + (size_t)between(in, 0, 3);
    char *memory = allocate(n ? spacing * (n - 1) + width : 0);
    const int backwards = (int)between(in, 0, 1);
    const en_strided codes = {memory + (backwards && n ? spacing * (n - 1) : 0),
                              backwards ? -(ptrdiff_t)spacing : (ptrdiff_t)spacing, n};
    int64_t *expected = zeros(8 * groups), *counts = zeros(8 * groups);
    for (size_t i = 0; i < n; i++) {
        const uint64_t word = between(in, 0, 3) ? next_word(in) % (groups + 2) : next_word(in);
        memcpy(memory + spacing * i, &word, width); /* the lower bytes, on the machines that this runs on */
        const int is_signed = type <= EN_CODES_INT64;
        uint64_t code = word << (64 - 8 * width);
        code = is_signed ? (uint64_t)((int64_t)code >> (64 - 8 * width)) : code >> (64 - 8 * width);
        if (code < groups)
            expected[code]++;
    }
    en_count_codes(type, &codes, groups, counts);
    require(groups == 0 || memcmp(counts, expected, 8 * groups) == 0, "counts are not the codes'");
    free(memory);
    free(expected);
    free(counts);
}

static void add_rows(input *in, const en_kernels *const *kernels, size_t available) {
    const en_values type = (en_values)between(in, 0, EN_VALUES_FLOAT32);
    const int exponent = (int)(between(in, 0, 1) ? between(in, -20, 20) : between(in, -1000, 970));
    const size_t columns = (size_t)between(in, 0, between(in, 0, 3) ? 40 : 1100);
    const size_t n = read_length(in, 3000 / (columns + 1)), groups = between(in, 0, 1) ? 1 : (size_t)between(in, 0, 5);
    const double unit = ldexp(1, exponent);
    const size_t width = type == EN_VALUES_FLOAT32 ? 4 : 8;
    values x = {allocate(width * n * columns), {NULL, (ptrdiff_t)width, n * columns}, type};
    x.items.start = x.memory;
    for (size_t i = 0; i < n * columns; i++) {
        const double real = type == EN_VALUES_FLOAT64 ? read_double(in, unit) : 0;
        const float narrow = type == EN_VALUES_FLOAT32 ? read_float(in, unit) : 0;
        memcpy(x.memory + width * i, width == 8 ? (const void *)&real : (const void *)&narrow, width);
    }
    int64_t *codes = read_codes(in, n, groups);
    const int64_t *given = groups == 1 && between(in, 0, 1) ? NULL : codes;
    wide *expected = zeros(16 * groups * columns);
    for (size_t i = 0; i < n * columns; i++) {
        const uint64_t group = given ? (uint64_t)codes[i / columns] : 0;
        const double scaled = ldexp(real_at(&x, i), -exponent), most = (double)EN_MOST_QUANTIZED;
        if (group < groups && !isnan(scaled))
            expected[group * columns + i % columns] += (int64_t)trunc(fmin(fmax(scaled, -most), most));
    }
    for (size_t v = 0; v < available; v++) {
        uint64_t *sums = zeros(16 * groups * columns);
        en_add_rows(kernels[v], type, x.memory, n, columns, exponent, given, groups, sums);
        for (size_t i = 0; i < groups * columns; i++) {
            const uint64_t *of_group = sums + i / columns * 2 * columns + i % columns;
            require(joined(of_group[0], of_group[columns]) == expected[i], "a row sum is not the rows'");
        }
        free(sums);
    }
    free(expected);
    free(codes);
    free(x.memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = input_of(bytes, size);
    const en_kernels *kernels[MAX_VARIANTS];
    const size_t available = read_kernels(kernels);
    switch (between(&in, 0, 4)) {
    case 0:
    case 1:
        add_sums(&in, kernels, available);
        break;
    case 2:
        bin(&in, kernels, available);
        break;
    case 3:
        count_codes(&in);
        break;
    default:
        add_rows(&in, kernels, available);
    }
    return 0;
}
