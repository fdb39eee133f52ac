/* Drives the core through every family, form, instruction set and length. Run it under sanitizers: see sanitize.py.
 *
 * Every buffer is allocated with its exact size, so that one element too many is an error. Besides, it checks what needs no
 * oracle: a declined lane holds 0 and its record has the exact x; the result does not depend on whether out is x, on the
 * capacity of the list, or on whether the words come from a key or from an array; and decided lanes have the same bits for
 * every instruction set. Prints a checksum for each instruction set.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "clip.h"
#include "cpu.h"
#include "entropy.h"
#include "platform.h"
#include "random.h"
#include "settle.h"

enum { MAX_VARIANTS = 3, LAST_SHORT = 70 };

typedef enum { RANDOM_WORDS, ZERO_WORDS, ONE_WORDS, WORD_KINDS } word_kind;

typedef struct {
    en_form form;
    int exponent;
} grid_case;

static const grid_case grids[] = {
    {EN_FLOAT64, -20},       {EN_FLOAT64, 0},           {EN_FLOAT64, 900}, {EN_FLOAT64, -1074}, {EN_FLOAT64, -901},
    {EN_FLOAT64, 1023},      {EN_FLOAT32, -149},        {EN_FLOAT32, -20}, {EN_FLOAT32, 127},   {EN_INT64_FLOAT64, -1},
    {EN_INT64_FLOAT64, -20}, {EN_INT64_FLOAT64, -1074}, {EN_INT64, 0},     {EN_INT64, 3},       {EN_INT64, 62},
};
static const double scales[] = {0x1p-30, 1.7, 0x1.4p20, 0x1p36};
static const double discrete_gaussian_scales[] = {4.0, 5.3, 0x1p36};
/* Of a variable that is 0, 1 or 2 in absolute value, for EN_TABULATED. */
static const double thresholds[] = {0x1p49, 0x1p40 + 1};
/* How often a discrete Gaussian sample can be rejected before it is declined: see release.h. */
enum { TRIALS = 2 };

/* One release, whole: the values, and the declined lanes in order. */
typedef struct {
    void *out;
    en_pending *declined;
    size_t count;
} released;

static uint64_t state = 0x243f6a8885a308d3u;

static void require(int condition, const char *message, const en_plan *plan, size_t n) {
    if (condition)
        return;
    fprintf(stderr, "%s: family %d, form %d, exponent %d, s %a, n %zu\n", message, (int)plan->family, (int)plan->form,
            plan->exponent, plan->s, n);
    exit(1);
}

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL)
        abort();
    return memory;
}

static size_t width_of(const en_plan *plan) {
    return plan->form == EN_FLOAT32 ? sizeof(float) : 8;
}

static size_t lesser(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Special values first, then numbers of the grid's size, then any bit pattern. */
static void fill_data(const en_plan *plan, void *x, size_t n) {
    const double g = ldexp(1, plan->exponent);
    const double special[] = {0.0,      -0.0,      NAN,     INFINITY, -INFINITY, DBL_MAX,    -DBL_MAX,    DBL_MIN,
                              -DBL_MIN, 0x1p-1074, 0.5 * g, -0.5 * g, 1.5 * g,   0x1p52 * g, -0x1p52 * g, 0x1.8p53 * g};
    const int64_t whole[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, (INT64_C(1) << 53) + 1};
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = next_random(&state);
        double small = (double)(int64_t)bits * 0x1p-62 * g;
        if (plan->form == EN_INT64 || plan->form == EN_INT64_FLOAT64) {
            int64_t value = i % 3 == 0 ? whole[i / 3 % 8] : (int64_t)(bits >> i % 64);
            memcpy((char *)x + 8 * i, &value, 8);
        } else if (plan->form == EN_FLOAT32) {
            double wide = i % 3 == 0 ? special[i / 3 % 16] : small;
            /* The conversion of what is too large for a float would be undefined. */
            float value = fabs(wide) > FLT_MAX && !isinf(wide) ? FLT_MAX : (float)wide;
            memcpy((char *)x + 4 * i, &value, 4);
        } else {
            double value = i % 3 == 0 ? special[i / 3 % 16] : i % 3 == 1 ? small : en_from_bits(bits);
            memcpy((char *)x + 8 * i, &value, 8);
        }
    }
}

/* How many words are given for n samples. */
static size_t word_count(const en_plan *plan, size_t n) {
    return en_word_count(plan->family, n) * (plan->family == EN_DISCRETE_GAUSSIAN ? TRIALS : 1);
}

static uint64_t *make_words(word_kind kind, size_t count) {
    uint64_t *words = allocate(8 * count);
    for (size_t i = 0; i < count; i++)
        words[i] = kind == RANDOM_WORDS ? next_random(&state) : kind == ZERO_WORDS ? 0 : UINT64_MAX;
    return words;
}

static released release(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, const void *x,
                        size_t n, int in_place, size_t capacity) {
    size_t size = width_of(plan) * n;
    released result = {allocate(size), allocate(sizeof(en_pending) * n), 0};
    void *own_x = allocate(size);
    memcpy(own_x, x, size);
    if (in_place)
        memcpy(result.out, x, size);
    else
        memset(result.out, 0xa5, size);

    en_pending_list list = {allocate(sizeof(en_pending) * capacity), capacity, 0};
    for (size_t done = 0; done < n;) {
        size_t before = done;
        list.count = 0;
        en_status status =
            en_release(plan, kernels, randomness, in_place ? result.out : own_x, result.out, before, n, &list, &done);
        require(status == EN_OK && done > before && done <= n, "no progress", plan, n);
        require(done == n || done % EN_BLOCK == 0, "stopped inside a block", plan, n);
        require(list.count <= n - result.count, "more lanes declined than there are", plan, n);
        memcpy(result.declined + result.count, list.lanes, sizeof(en_pending) * list.count);
        result.count += list.count;
    }
    require(memcmp(own_x, x, size) == 0, "x was written", plan, n);
    free(own_x);
    free(list.lanes);
    return result;
}

static void discard(released result) {
    free(result.out);
    free(result.declined);
}

static void check_declined(const en_plan *plan, const void *x, released result, size_t n) {
    static const char zero[8];
    const size_t width = width_of(plan);
    for (size_t i = 0; i < result.count; i++) {
        en_pending lane = result.declined[i];
        require(i == 0 || result.declined[i - 1].index < lane.index, "records out of order", plan, n);
        require(memcmp((char *)result.out + width * (size_t)lane.index, zero, width) == 0, "a declined lane is not 0",
                plan, n);
        double wide;
        uint64_t exact;
        float narrow;
        if (plan->form == EN_FLOAT32) {
            memcpy(&narrow, (const char *)x + 4 * lane.index, 4);
            wide = (double)narrow;
            memcpy(&exact, &wide, 8);
        } else {
            memcpy(&exact, (const char *)x + 8 * lane.index, 8);
        }
        require(exact == lane.x, "a record does not have the exact x", plan, n);
    }
}

static void check_same(const en_plan *plan, released a, released b, size_t n, const char *message) {
    require(memcmp(a.out, b.out, width_of(plan) * n) == 0, message, plan, n);
    require(a.count == b.count && memcmp(a.declined, b.declined, sizeof(en_pending) * a.count) == 0, message, plan, n);
}

/* The checksums take in the lanes that every instruction set decided: windows may differ in their last bits. */
static void add_to_checksums(const en_plan *plan, const released *results, size_t variants, size_t n,
                             uint64_t *checksums) {
    const size_t width = width_of(plan);
    char *skip = allocate(n);
    memset(skip, 0, n);
    for (size_t v = 0; v < variants; v++)
        for (size_t i = 0; i < results[v].count; i++)
            skip[results[v].declined[i].index] = 1;
    for (size_t v = 0; v < variants; v++)
        for (size_t i = 0; i < n; i++) {
            uint64_t bits = 0;
            memcpy(&bits, (const char *)results[v].out + width * i, width);
            if (!skip[i])
                checksums[v] = (checksums[v] ^ bits) * 0x100000001b3u;
        }
    free(skip);
}

static void check_length(const en_plan *plan, word_kind kind, size_t n, uint64_t *checksums) {
    const size_t variants = en_variant_count();
    const size_t least = lesser(n, EN_BLOCK);
    released results[MAX_VARIANTS];
    size_t available = 0;
    void *x = allocate(width_of(plan) * n);
    fill_data(plan, x, n);
    uint64_t *words = make_words(kind, word_count(plan, n));
    en_randomness from_words = {EN_FROM_WORDS, NULL, words, word_count(plan, n)};

    for (size_t v = 0; v < variants; v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        released result = release(plan, kernels, from_words, x, n, 0, n);
        released in_place = release(plan, kernels, from_words, x, n, 1, least);
        check_same(plan, result, in_place, n, "in place or with a short list the result differs");
        check_declined(plan, x, result, n);
        require(kind != ZERO_WORDS || result.count == n, "the cell that touches 0 was decided", plan, n);
        discard(in_place);
        results[available++] = result;
    }
    add_to_checksums(plan, results, available, n, checksums);
    for (size_t v = 0; v < available; v++)
        discard(results[v]);
    free(words);
    free(x);
}

/* The words of a release under a key: each block's keystream, spread over the whole block where it draws fewer words than it
 * needs. */
static uint64_t *words_of_key(const en_kernels *kernels, const uint8_t *key, size_t count) {
    uint64_t *words = allocate(8 * count);
    for (size_t start = 0; start < count; start += EN_BLOCK) {
        size_t needed = lesser(count - start, EN_BLOCK);
        size_t groups = (lesser(needed, EN_DRAWN_WORDS) + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS;
        size_t room = needed > EN_DRAWN_WORDS ? EN_BLOCK : groups * EN_GROUP_WORDS;
        uint64_t *block = allocate(8 * room);
        kernels->chacha20(key, (uint32_t)(start / EN_BLOCK * EN_DRAWN_WORDS / EN_GROUP_WORDS * EN_GROUP_BLOCKS), block,
                          groups);
        if (needed > EN_DRAWN_WORDS)
            kernels->spread_words(block);
        memcpy(words + start, block, 8 * needed);
        free(block);
    }
    return words;
}

/* Lanes as if they had been declined: in every instruction set the same ones are settled, with the same values, and those
 * that their words alone decide keep theirs whatever follows. */
static void check_settled(const en_plan *plan, word_kind kind, uint64_t *checksums) {
    enum { LANES = 64, WORDS = 2 };
    const size_t width = width_of(plan);
    void *x = allocate(width * LANES);
    fill_data(plan, x, LANES);
    uint64_t *words = make_words(kind, 3 * LANES), *extension = make_words(RANDOM_WORDS, WORDS * LANES);
    en_pending *declined = allocate(sizeof *declined * LANES);
    memset(declined, 0, sizeof *declined * LANES);
    for (size_t i = 0; i < LANES; i++) {
        declined[i].index = (int64_t)i;
        declined[i].lane = (int64_t)(i / 2 * 2);
        memcpy(declined[i].word, words + 3 * i, sizeof declined[i].word);
        if (plan->form == EN_FLOAT32) {
            float narrow;
            memcpy(&narrow, (const char *)x + 4 * i, 4);
            declined[i].x = en_bits((double)narrow);
        } else {
            memcpy(&declined[i].x, (const char *)x + 8 * i, 8);
        }
    }

    char *first = NULL;
    size_t available = 0;
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        char *out = allocate(2 * width * LANES), *alone = out, *extended = out + width * LANES;
        memset(out, 0xa5, 2 * width * LANES);
        en_pending *lanes = allocate(sizeof *lanes * LANES);
        memcpy(lanes, declined, sizeof *lanes * LANES);
        const size_t left = en_settle(plan, kernels, lanes, LANES, NULL, alone);
        require(left <= LANES, "more lanes left than there were", plan, LANES);
        require(kind != ZERO_WORDS || left == LANES, "the cell that touches 0 was settled", plan, LANES);
        char *is_left = allocate(LANES);
        memset(is_left, 0, LANES);
        for (size_t i = 0; i < left; i++)
            is_left[lanes[i].index] = 1;

        const size_t count = en_extension_count(plan->family);
        uint64_t *own = allocate(8 * count * LANES);
        memcpy(own, extension, 8 * count * LANES);
        memcpy(lanes, declined, sizeof *lanes * LANES);
        require(en_settle(plan, kernels, lanes, LANES, own, extended) <= left, "more words settle less", plan, LANES);
        for (size_t i = 0; i < LANES; i++)
            require(is_left[i] || memcmp(alone + width * i, extended + width * i, width) == 0,
                    "a word that follows changed a settled lane", plan, LANES);
        require(first == NULL || memcmp(first, out, 2 * width * LANES) == 0, "instruction sets settle differently",
                plan, LANES);
        for (size_t i = 0; i < 2 * width * LANES; i++)
            checksums[available] = (checksums[available] ^ (unsigned char)out[i]) * 0x100000001b3u;
        available++;
        free(own);
        free(is_left);
        free(lanes);
        if (first == NULL)
            first = out;
        else
            free(out);
    }
    free(first);
    free(declined);
    free(extension);
    free(words);
    free(x);
}

/* A key gives the same words whether or not the call is resumed; the system's words fit the buffers. */
static void check_origins(const en_plan *plan, size_t n) {
    void *x = allocate(width_of(plan) * n);
    fill_data(plan, x, n);
    uint8_t *key = allocate(EN_KEY_BYTES);
    for (int i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)next_random(&state);

    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        const en_randomness of_key = {EN_FROM_KEY, key, NULL, 0};
        released resumed = release(plan, kernels, of_key, x, n, 0, lesser(n, EN_BLOCK));
        released whole = release(plan, kernels, of_key, x, n, 1, n);
        released from_system = release(plan, kernels, (en_randomness){EN_FROM_SYSTEM, NULL, NULL, 0}, x, n, 1, n);
        check_same(plan, resumed, whole, n, "a key gives other words when the call is resumed");
        check_declined(plan, x, whole, n);
        check_declined(plan, x, from_system, n);
        if (plan->family !=
            EN_DISCRETE_GAUSSIAN) { /* whose third words and fresh proposals are elsewhere in the stream */
            uint64_t *words = words_of_key(kernels, key, word_count(plan, n));
            released from_words =
                release(plan, kernels, (en_randomness){EN_FROM_WORDS, NULL, words, word_count(plan, n)}, x, n, 1, n);
            check_same(plan, resumed, from_words, n, "the words are not the keystream");
            discard(from_words);
            free(words);
        }
        discard(resumed);
        discard(whole);
        discard(from_system);
    }
    free(key);
    free(x);
}

static void check_plan(en_family family, grid_case grid, double s, uint64_t *checksums) {
    en_plan plan;
    en_plan_init(&plan, family, grid.form, s, grid.exponent, 1.25, family == EN_DISCRETE_LAPLACE ? -0.05 : 0.0, 1.0);
    if (family == EN_TABULATED)
        en_plan_set_thresholds(&plan, thresholds, sizeof thresholds / sizeof thresholds[0]);
    static const size_t around[] = {EN_DRAWN_WORDS - 1, EN_DRAWN_WORDS, EN_DRAWN_WORDS + 1, EN_BLOCK - 1,
                                    EN_BLOCK,           EN_BLOCK + 1,   3 * EN_BLOCK,       3 * EN_BLOCK + 1};
    for (word_kind kind = RANDOM_WORDS; kind < WORD_KINDS; kind++) {
        check_settled(&plan, kind, checksums);
        for (size_t n = 0; n <= LAST_SHORT; n++)
            check_length(&plan, kind, n, checksums);
        for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
            check_length(&plan, kind, around[i], checksums);
    }
    for (size_t n = 1; n <= LAST_SHORT; n += 23)
        check_origins(&plan, n);
    for (size_t i = 0; i < sizeof around / sizeof around[0]; i++)
        check_origins(&plan, around[i]);
}

/* What the tests of the bounds call by itself. */
static void check_elementary(size_t n) {
    uint64_t *words = make_words(RANDOM_WORDS, n);
    double *a = allocate(8 * n), *b = allocate(8 * n), *c = allocate(8 * n);
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        kernels->negative_log(words, a, n);
        kernels->sincos(words, b, c, n);
        kernels->sqrt(a, b, n);
    }
    free(a);
    free(b);
    free(c);
    free(words);
}

/* Rows of any bit patterns: what every instruction set makes of them, in place and elsewhere, and rows not written. */
static void check_clip(size_t columns, uint64_t *checksums) {
    enum { ROWS = 3 };
    const double bounds[] = {1e-300, 1.0, 1e300};
    for (en_rows type = 0; type < EN_ROWS_COUNT; type++) {
        const size_t size = ROWS * columns * (type == EN_ROWS_FLOAT32 ? sizeof(float) : sizeof(double));
        uint8_t *x = allocate(size), *out = allocate(size);
        for (size_t i = 0; i < size; i++)
            x[i] = (uint8_t)next_random(&state);
        for (en_norm norm = 0; norm < EN_NORM_COUNT; norm++)
            for (size_t b = 0; b < 3; b++) {
                size_t available = 0;
                for (size_t v = 0; v < en_variant_count(); v++) {
                    const en_kernels *kernels;
                    if (en_variant_kernels(v, &kernels) != EN_OK)
                        continue;
                    uint8_t *own = allocate(size);
                    memcpy(own, x, size);
                    en_clip(kernels, norm, type, x, out, ROWS, columns, bounds[b]);
                    en_clip(kernels, norm, type, own, own, ROWS, columns, bounds[b]);
                    if (memcmp(own, out, size) != 0) {
                        fputs("in place the clipped rows differ\n", stderr);
                        exit(1);
                    }
                    for (size_t i = 0; i < size; i++)
                        checksums[available] = (checksums[available] ^ out[i]) * 0x100000001b3u;
                    available++;
                    free(own);
                }
            }
        free(x);
        free(out);
    }
}

int main(void) {
    uint64_t checksums[MAX_VARIANTS] = {0};
    if (en_variant_count() > MAX_VARIANTS)
        abort();
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
            check_plan(EN_LAPLACE, grids[i], scales[s], checksums);
            check_plan(EN_GAUSSIAN, grids[i], scales[s], checksums);
        }
        check_plan(EN_DISCRETE_LAPLACE, (grid_case){EN_INT64, 0}, scales[s], checksums);
    }
    check_plan(EN_TABULATED, (grid_case){EN_INT64, 0}, 1.7, checksums);
    for (size_t s = 0; s < sizeof discrete_gaussian_scales / sizeof discrete_gaussian_scales[0]; s++)
        check_plan(EN_DISCRETE_GAUSSIAN, (grid_case){EN_INT64, 0}, discrete_gaussian_scales[s], checksums);
    for (size_t n = 0; n <= LAST_SHORT; n++) {
        check_elementary(n);
        check_clip(n, checksums);
        void *bytes = allocate(n);
        if (en_entropy(bytes, n) != EN_OK)
            abort();
        free(bytes);
    }

    int equal = 1;
    size_t available = 0;
    for (size_t v = 0; v < en_variant_count(); v++)
        if (en_variant_available(v)) {
            printf("%s %016llx\n", en_variant_name(v), (unsigned long long)checksums[available]);
            equal &= checksums[available++] == checksums[0];
        }
    if (!equal)
        fputs("the instruction sets do not agree\n", stderr);
    return !equal;
}
