/* Rows of any bits, any width and bound: the norm stays within the bound as far as 64 bits of precision see, nothing grows
 * that is not lost beside the row's largest number, no result is a NaN, and every instruction set writes the same, in place
 * and elsewhere. */
#include "clip.h"
#include "input.h"

static double item(en_rows type, const void *rows, size_t i) {
    double wide;
    float narrow;
    if (type == EN_ROWS_FLOAT64) {
        memcpy(&wide, (const char *)rows + 8 * i, 8);
        return wide;
    }
    memcpy(&narrow, (const char *)rows + 4 * i, 4);
    return (double)narrow;
}

static void check_rows(en_norm norm, en_rows type, const void *x, const void *out, size_t rows, size_t columns,
                       double bound) {
    for (size_t row = 0; row < rows; row++) {
        long double total = 0;
        double largest = 0;
        for (size_t i = row * columns; i < (row + 1) * columns; i++)
            largest = fmax(largest, fmin(fabs(item(type, x, i)), DBL_MAX)); /* fmax drops a NaN */
        for (size_t i = row * columns; i < (row + 1) * columns; i++) {
            const double from = item(type, x, i), to = item(type, out, i);
            require(isfinite(to), "a clipped number that is not finite");
            require(isnan(from) ? to == 0 : fabs(to) <= fabs(from) || fabs(from) <= largest * 0x1p-1020,
                    "a number grew");
            require(to == 0 || (to < 0) == (from < 0), "a sign changed");
            const long double part = fabsl((long double)to) / (long double)bound;
            total += norm == EN_L1 ? part : part * part;
        }
        require(total <= 1 + ((long double)columns + 8) * 0x1p-62L, "a norm above the bound");
    }
}

static void check_clamp(input *in, size_t n) {
    double low = read_double(in, 1), high = read_double(in, 1);
    if (!(low <= high))
        low = high = isnan(low) || isnan(high) ? 0 : low;
    double *x = allocate(8 * n), *out = allocate(8 * n);
    for (size_t i = 0; i < n; i++)
        x[i] = read_double(in, 1);
    en_clamp_float64(x, out, n, low, high);
    for (size_t i = 0; i < n; i++)
        require(isnan(x[i]) ? isnan(out[i]) : out[i] >= low && out[i] <= high, "a number beyond its bounds");
    free(x);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = input_of(bytes, size);
    const en_kernels *kernels[MAX_VARIANTS];
    const size_t available = read_kernels(kernels);
    const en_norm norm = (en_norm)between(&in, 0, EN_NORM_COUNT - 1);
    const en_rows type = (en_rows)between(&in, 0, EN_ROWS_COUNT - 1);
    const int64_t binade = between(&in, 0, 1) ? between(&in, -30, 30) : between(&in, -997, 995);
    const double bound = en_from_bits((uint64_t)(binade + 1023) << 52 | next_word(&in) >> 12);
    const size_t columns = 1 + read_length(&in, 1400), rows = columns > 100 ? 2 : read_length(&in, 8);
    const size_t n = rows * columns, width = type == EN_ROWS_FLOAT32 ? 4 : 8;
    const double unit = between(&in, 0, 1) ? bound : 1;
    char *x = allocate(width * n), *first = NULL;
    for (size_t i = 0; i < n; i++) {
        const double wide = type == EN_ROWS_FLOAT64 ? read_double(&in, unit) : 0;
        const float narrow = type == EN_ROWS_FLOAT32 ? read_float(&in, unit) : 0;
        memcpy(x + width * i, type == EN_ROWS_FLOAT64 ? (const void *)&wide : (const void *)&narrow, width);
    }
    for (size_t v = 0; v < available; v++) {
        char *out = allocate(width * n), *in_place = copy_of(x, width * n);
        en_clip(kernels[v], norm, type, x, out, rows, columns, bound);
        en_clip(kernels[v], norm, type, in_place, in_place, rows, columns, bound);
        require(n == 0 || memcmp(in_place, out, width * n) == 0, "in place the clipped rows differ");
        free(in_place);
        first = agreed(first, out, width * n, "instruction sets clip differently");
    }
    check_rows(norm, type, x, first, rows, columns, PLANTED ? bound * (1 - 0x1p-30) : bound);
    check_clamp(&in, n < 50 ? n : 50);
    free(first);
    free(x);
    return 0;
}
