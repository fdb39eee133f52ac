/* What sums, counts and bins leave of the data on the stack: see residue.c. Prints, for each function and instruction set,
 * how many of the first values or codes are found there. */
#include "stack_search.h"

#include <stdio.h>

#include "counts.h"
#include "cpu.h"
#include "sums.h"

enum { N = 1200, SPACING = 16, GROUPS = 7, COLUMNS = 5 };

typedef struct {
    const en_kernels *kernels;
    en_quantizer quantizer;
    en_strided x;
    int64_t codes[N], counts[GROUPS], out[N];
    uint64_t sums[2 * COLUMNS * GROUPS], squares[2 * GROUPS];
    double edges[GROUPS];
} job;

static void *add_sums(void *argument) {
    job *this = argument;
    en_add_sums(&this->quantizer, this->kernels, EN_VALUES_FLOAT64, &this->x, NULL, 1, this->counts, this->sums);
    return NULL;
}

static void *add_moments(void *argument) {
    job *this = argument;
    en_add_moments(&this->quantizer, this->kernels, EN_VALUES_FLOAT64, &this->x, this->codes, GROUPS, this->counts,
                   this->sums, this->squares);
    return NULL;
}

static void *cells(void *argument) {
    job *this = argument;
    en_cells(&this->quantizer, this->kernels, EN_VALUES_FLOAT64, &this->x, this->out);
    return NULL;
}

static void *bins(void *argument) {
    job *this = argument;
    en_bin_values(this->kernels, EN_VALUES_FLOAT64, &this->x, this->edges, GROUPS, this->out);
    return NULL;
}

static void *counts(void *argument) {
    job *this = argument;
    en_count_codes(EN_CODES_INT64, &this->x, GROUPS, this->counts);
    return NULL;
}

static void *rows(void *argument) {
    job *this = argument;
    en_add_rows(this->kernels, EN_VALUES_FLOAT64, this->x.start, N * SPACING / 8 / COLUMNS, COLUMNS, -30, NULL, 1,
                this->sums);
    return NULL;
}

static void *keep(void *argument) {
    job *this = argument;
    uint64_t copy[N];
    for (size_t i = 0; i < N; i++)
        memcpy(&copy[i], en_item(&this->x, i), 8);
    __asm__ volatile("" : : "r"(copy) : "memory");
    return NULL;
}

/* A value as it was given or as it is counted. */
typedef struct {
    uint64_t bits;
    size_t index;
} secret;

static int compare(const void *one, const void *other) {
    const uint64_t a = ((const secret *)one)->bits, b = ((const secret *)other)->bits;
    return (a > b) - (a < b);
}

/* How many of the values are somewhere on the stack. */
static size_t count_values(const char *stack, const en_strided *x) {
    static secret secrets[2 * N];
    for (size_t i = 0; i < N; i++) {
        uint64_t bits;
        memcpy(&bits, en_item(x, i), 8);
        secrets[2 * i] = (secret){bits, i};
        secrets[2 * i + 1] = (secret){(uint64_t)(int64_t)(en_from_bits(bits) * 0x1p30), i};
    }
    qsort(secrets, 2 * N, sizeof(secret), compare);
    char seen[N] = {0};
    for (size_t offset = 0; offset + 8 <= STACK; offset++) {
        secret here = {0, 0};
        memcpy(&here.bits, stack + offset, 8);
        const secret *known = here.bits == 0 ? NULL : bsearch(&here, secrets, 2 * N, sizeof(secret), compare);
        if (known != NULL)
            seen[known->index] = 1;
    }
    size_t found = 0;
    for (size_t i = 0; i < N; i++)
        found += (size_t)seen[i];
    return found;
}

static void search(const char *name, const char *variant, void *(*function)(void *), job *work) {
    char *stack = stack_after(function, work);
    printf("%s-%s %zu\n", name, variant, count_values(stack, &work->x));
    free(stack);
}

int main(void) {
    static job work;
    static double data[N * SPACING / 8];
    const int64_t bound = INT64_C(1) << 30;
    for (size_t i = 0; i < sizeof data / sizeof *data; i++)
        data[i] =
            (double)(((i + 1) * 2654435761u) % 1000003u) * 0x1p-20 + 54321 * 0x1p-30; /* of the grid, all different */
    for (size_t i = 0; i < N; i++)
        work.codes[i] = (int64_t)(i % GROUPS);
    for (size_t i = 0; i < GROUPS; i++)
        work.edges[i] = (double)i / GROUPS;
    work.x = (en_strided){(const char *)data, SPACING, N};
    en_quantizer_init(&work.quantizer, -30, -bound, bound, NULL);
    for (size_t v = 0; v < en_variant_count(); v++) {
        if (en_variant_kernels(v, &work.kernels) != EN_OK)
            continue;
        search("sums", en_variant_name(v), add_sums, &work);
        search("moments", en_variant_name(v), add_moments, &work);
        search("cells", en_variant_name(v), cells, &work);
        search("bins", en_variant_name(v), bins, &work);
        search("counts", en_variant_name(v), counts, &work);
        search("rows", en_variant_name(v), rows, &work);
    }
    search("control", "", keep, &work);
    return 0;
}
