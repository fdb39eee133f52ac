/* Runs the sums, counts and bins of every instruction set for the sanitizers: each buffer is allocated to its exact size,
 * lengths are around the blocks, values and codes are all kinds. Prints a checksum a set. */
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"
#include "cpu.h"
#include "random.h"
#include "sums.h"

static uint64_t state = 1;

static void *exactly(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (memory == NULL)
        abort();
    return memory;
}

static void *zeros(size_t size) {
    void *memory = exactly(size);
    memset(memory, 0, size ? size : 1);
    return memory;
}

static uint64_t sum; /* FNV-1a */

/* Numbers of 64 bits, and not their bytes, which are not in the same order everywhere. */
static void add(const void *numbers, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint64_t number;
        memcpy(&number, (const char *)numbers + 8 * i, 8);
        sum = (sum ^ number) * UINT64_C(0x100000001b3);
    }
}

static void check(int right, const char *what) {
    if (!right) {
        printf("%s\n", what);
        exit(1);
    }
}

static const size_t lengths[] = {0, 1, 2, 7, 33, 63, 64, 65, 511, 512, 513, 1100};

static void store_value(char *to, en_values type, uint64_t word) {
    static const double special[] = {0.0, -0.0, 0x1p-1074, -0x1p1023, 0.5, -1.5, 2.5, 1e9};
    uint64_t bits = word; /* any pattern: NaNs and infinities of all kinds are among them */
    if (type != EN_VALUES_INT64 && word % 3)
        bits = word % 3 == 1 ? en_bits(special[word >> 8 & 7]) : word >> 12 | UINT64_C(0x7ff0000000000000);
    if (type == EN_VALUES_INT64 && word % 3)
        bits = word % 3 == 1 ? (word >> 8 & 63) - 32 : word >> 63 ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
    if (type == EN_VALUES_FLOAT32) {
        uint32_t narrow = (uint32_t)(word >> 20);
        float value = word % 3 == 1 && (word >> 8 & 7) != 3 ? (float)en_from_bits(bits) : 0;
        if (word % 3 == 1)
            memcpy(&narrow, &value, 4);
        memcpy(to, &narrow, 4);
    } else
        memcpy(to, &bits, 8);
}

/* Items at a distance of `spacing` bytes, the first at an odd address or not. */
static en_strided values_of(en_values type, size_t n, size_t spacing, int backwards, char **memory) {
    const size_t width = type == EN_VALUES_FLOAT32 ? 4 : 8, offset = spacing % 2;
    *memory = exactly(n ? offset + spacing * (n - 1) + width : 0);
    for (size_t i = 0; i < n; i++)
        store_value(*memory + offset + spacing * i, type, next_random(&state));
    if (backwards && n)
        return (en_strided){*memory + offset + spacing * (n - 1), -(ptrdiff_t)spacing, n};
    return (en_strided){*memory + offset, (ptrdiff_t)spacing, n};
}

static int64_t *codes_of(size_t n, size_t groups) {
    int64_t *codes = exactly(8 * n);
    for (size_t i = 0; i < n; i++)
        codes[i] = i % 9 == 8 ? (int64_t)next_random(&state) : (int64_t)(next_random(&state) % (groups + 2)) - 1;
    return codes;
}

static void sums(const en_kernels *kernels, en_values type, size_t n, size_t spacing, int backwards) {
    static const int64_t bounds[][2] = {{-5, 7}, {-(INT64_C(1) << 30), INT64_C(1) << 30}, {0, 0}};
    static const int exponents[] = {0, -1000, 970};
    for (size_t b = 0; b < 3; b++) {
        en_quantizer quantizer;
        en_quantizer_init(&quantizer, type == EN_VALUES_INT64 ? 0 : exponents[(b + n) % 3], bounds[b][0], bounds[b][1],
                          n % 2 ? &bounds[b][1] : NULL);
        char *memory;
        const en_strided x = values_of(type, n, spacing, backwards, &memory);
        int64_t *cells = exactly(8 * n);
        en_cells(&quantizer, kernels, type, &x, cells);
        add(cells, n);
        for (size_t groups = 0; groups < 80; groups = 3 * groups + 1) {
            int64_t *codes = codes_of(n, groups), *counts = zeros(8 * groups);
            uint64_t *wide = zeros(16 * groups), *squares = zeros(16 * groups);
            const int64_t *given = groups == 1 && n % 3 == 0 ? NULL : codes;
            en_add_sums(&quantizer, kernels, type, &x, given, groups, counts, wide);
            en_add_moments(&quantizer, kernels, type, &x, given, groups, counts, wide, squares);
            int64_t most = bounds[b][1] > -bounds[b][0] ? bounds[b][1] : -bounds[b][0];
            for (size_t g = 0; g < groups; g++) {
                const int64_t total = (int64_t)wide[2 * g];
                check(wide[2 * g + 1] == (total < 0 ? ~UINT64_C(0) : 0), "a sum of few is not small");
                check(total <= counts[g] * most && -total <= counts[g] * most, "a sum beyond its bounds");
                check(counts[g] >= 0 && counts[g] <= 2 * (int64_t)n, "a count of more than all");
            }
            add(counts, groups);
            add(wide, 2 * groups);
            add(squares, 2 * groups);
            free(codes);
            free(counts);
            free(wide);
            free(squares);
        }
        free(memory);
        free(cells);
    }
}

static void bins(const en_kernels *kernels, en_values type, size_t n, size_t spacing, int backwards) {
    for (size_t count = 2; count < 40; count = 2 * count - 1) {
        int64_t *edges = exactly(8 * count), *out = exactly(8 * n);
        for (size_t i = 0; i < count; i++) {
            const double edge = (double)i - 5;
            edges[i] = (int64_t)i - 5;
            if (type != EN_VALUES_INT64)
                memcpy(&edges[i], &edge, 8);
        }
        char *memory;
        const en_strided x = values_of(type, n, spacing, backwards, &memory);
        en_bin_values(kernels, type, &x, edges, count, out);
        for (size_t i = 0; i < n; i++)
            check(out[i] >= -1 && out[i] < (int64_t)count - 1, "a bin that does not exist");
        add(out, n);
        free(edges);
        free(out);
        free(memory);
    }
}

/* Mostly small ones; of one byte in three any. */
static void store_code(uint8_t *to, size_t width) {
    uint64_t code = 0;
    for (size_t byte = 0; byte < width; byte++)
        code |= (next_random(&state) % 3 ? 0 : next_random(&state) & 0xff) << 8 * byte;
    const uint8_t one = (uint8_t)code;
    const uint16_t two = (uint16_t)code;
    const uint32_t four = (uint32_t)code;
    memcpy(to,
           width == 1   ? (const void *)&one
           : width == 2 ? (const void *)&two
           : width == 4 ? (const void *)&four
                        : &code,
           width);
}

static void counts(size_t n) {
    static const size_t widths[] = {1, 2, 4, 8, 1, 2, 4};
    for (int type = EN_CODES_INT8; type <= EN_CODES_UINT32; type++)
        for (size_t groups = 0; groups < 2000; groups = 5 * groups + 3) {
            const size_t width = widths[type];
            uint8_t *memory = exactly(3 * width * n);
            for (size_t i = 0; i < 3 * n; i++)
                store_code(memory + width * i, width);
            int64_t *count = zeros(8 * groups);
            const en_strided dense = {(char *)memory, (ptrdiff_t)width, 3 * n};
            const en_strided sparse = {(char *)memory + (n ? 3 * width * (n - 1) : 0), -3 * (ptrdiff_t)width, n};
            en_count_codes((en_codes)type, &dense, groups, count);
            en_count_codes((en_codes)type, &sparse, groups, count);
            int64_t total = 0;
            for (size_t c = 0; c < groups; c++)
                total += count[c];
            check(total >= 0 && total <= 4 * (int64_t)n, "a count of more than all");
            add(count, groups);
            free(memory);
            free(count);
        }
}

static void rows(const en_kernels *kernels, en_values type, size_t n) {
    static const size_t widths[] = {0, 1, 3, 16, 100, 511, 513};
    for (size_t w = 0; w < 7; w++) {
        const size_t columns = widths[w], groups = 3;
        if (columns * n > 60000)
            continue;
        char *memory;
        values_of(type, n * columns, type == EN_VALUES_FLOAT32 ? 4 : 8, 0, &memory);
        int64_t *codes = codes_of(n, groups);
        uint64_t *all = zeros(16 * columns), *wide = zeros(16 * columns * groups);
        en_add_rows(kernels, type, memory, n, columns, -20, NULL, 1, all);
        en_add_rows(kernels, type, memory, n, columns, 3, codes, groups, wide);
        add(all, 2 * columns);
        add(wide, 2 * columns * groups);
        free(memory);
        free(codes);
        free(all);
        free(wide);
    }
}

int main(void) {
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        state = 7;
        sum = UINT64_C(0xcbf29ce484222325);
        for (en_values type = EN_VALUES_FLOAT64; type < EN_VALUES_COUNT; type++) {
            const size_t width = type == EN_VALUES_FLOAT32 ? 4 : 8;
            for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
                const size_t n = lengths[i];
                sums(kernels, type, n, width, 0);
                sums(kernels, type, n, width + 5, 1);
                bins(kernels, type, n, width, 0);
                bins(kernels, type, n, width + 5, 1);
                if (type != EN_VALUES_INT64)
                    rows(kernels, type, n);
                if (type == EN_VALUES_INT64)
                    counts(n);
            }
        }
        printf("%s %016llx\n", en_variant_name(v), (unsigned long long)sum);
    }
    return 0;
}
