/* Prints what the core makes of known words, lane by lane, for every instruction set: see architectures.py, which compares
 * the output of compilers and processors.
 *
 * A line is a call: what was called with what, then a token a lane: its bits, or - if it is not decided. Kernels with a
 * fused multiply-add decline other lanes than those without, so that two outputs agree if no lane has two values.
 */
#include <stdio.h>
#include <stdlib.h>

#include "clip.h"
#include "cpu.h"
#include "platform.h"
#include "random.h"
#include "select.h"
#include "settle.h"

enum { MOST_LANES = EN_BLOCK + 1, TRIALS = 2 };

typedef enum { RANDOM_WORDS, ZERO_WORDS, ONE_WORDS, WORD_KINDS } word_kind;

typedef struct {
    en_form form;
    int exponent;
} grid_case;

static const grid_case grids[] = {
    {EN_FLOAT64, -20},       {EN_FLOAT64, 0},        {EN_FLOAT64, 900},
    {EN_FLOAT64, -1074},     {EN_FLOAT64, 1023},     {EN_FLOAT32, -149},
    {EN_FLOAT32, -9},        {EN_FLOAT32, 127},      {EN_INT64_FLOAT64, -1074},
    {EN_INT64_FLOAT64, -20}, {EN_INT64_FLOAT64, -1}, {EN_INT64, 0},
    {EN_INT64, 3},           {EN_INT64, 62},
};
static const double scales[] = {0x1p-30, 1.7, 0x1.4p20, 0x1p36};
static const double discrete_gaussian_scales[] = {4.0, 5.3, 0x1p36};
static const double thresholds[] = {0x1p49, 0x1p40 + 1};

static uint64_t state;

static void fill_words(word_kind kind, uint64_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        words[i] = kind == RANDOM_WORDS ? next_random(&state) : kind == ZERO_WORDS ? 0 : UINT64_MAX;
}

/* A number as the bits of a double: special ones, those of the grid's size, any pattern. */
static uint64_t number(double g, size_t i) {
    const double special[] = {0.0,      -0.0,      EN_INFINITY, -EN_INFINITY, DBL_MAX,    -DBL_MAX,    DBL_MIN,
                              -DBL_MIN, 0x1p-1074, 0.5 * g,     1.5 * g,      0x1p52 * g, 0x1.8p53 * g};
    const uint64_t bits = next_random(&state);
    if (i % 3 == 0)
        return en_bits(special[i / 3 % 13]);
    return i % 3 == 1 ? en_bits((double)(int64_t)bits * 0x1p-62 * g) : bits;
}

static float narrowed(uint64_t bits) {
    const double wide = en_from_bits(bits);
    return wide > FLT_MAX || wide < -FLT_MAX ? FLT_MAX : (float)wide; /* NaN stays */
}

static void print_lane(const void *out, en_form form, size_t i) {
    uint64_t wide;
    uint32_t narrow;
    if (form == EN_FLOAT32) {
        memcpy(&narrow, (const char *)out + 4 * i, 4);
        printf(" %08lx", (unsigned long)narrow);
    } else {
        memcpy(&wide, (const char *)out + 8 * i, 8);
        printf(" %016llx", (unsigned long long)wide);
    }
}

static void print_call(const char *what, const en_plan *plan, word_kind kind) {
    printf("%s family %d form %d exponent %d scale %a words %d:", what, (int)plan->family, (int)plan->form,
           plan->exponent, plan->s, (int)kind);
}

static void print_lanes(const void *out, const en_plan *plan, size_t n, const en_pending *open, size_t count) {
    char is_open[MOST_LANES] = {0};
    for (size_t i = 0; i < count; i++)
        is_open[open[i].index] = 1;
    for (size_t i = 0; i < n; i++)
        if (is_open[i])
            printf(" -");
        else
            print_lane(out, plan->form, i);
    printf("\n");
}

/* One release, then its lanes as if they had all been declined: first their words alone, then more of them. */
static void released(const en_plan *plan, const en_kernels *kernels, word_kind kind, size_t n) {
    static uint64_t exact[MOST_LANES], x[MOST_LANES], out[MOST_LANES], words[3 * MOST_LANES * TRIALS],
        more[2 * MOST_LANES];
    static en_pending open[MOST_LANES];
    const size_t count = en_word_count(plan->family, n) * (plan->family == EN_DISCRETE_GAUSSIAN ? TRIALS : 1);
    const double g = plan->grid.up[0] * plan->grid.up[1];
    fill_words(kind, words, count);
    for (size_t i = 0; i < n; i++) {
        exact[i] = number(g, i);
        const float narrow = narrowed(exact[i]);
        if (plan->form == EN_FLOAT32) {
            memcpy((char *)x + 4 * i, &narrow, 4);
            exact[i] = en_bits((double)narrow);
        } else {
            memcpy((char *)x + 8 * i, &exact[i], 8);
        }
    }

    en_pending_list list = {open, MOST_LANES, 0};
    size_t done = 0;
    const en_randomness randomness = {EN_FROM_WORDS, NULL, words, count};
    if (en_release(plan, kernels, randomness, x, out, 0, n, &list, &done) != EN_OK || done != n)
        abort();
    print_call("release", plan, kind);
    print_lanes(out, plan, n, open, list.count);

    fill_words(RANDOM_WORDS, more, 2 * n);
    for (int extended = 0; extended < 2; extended++) {
        memset(open, 0, sizeof open);
        for (size_t i = 0; i < n; i++) {
            open[i].index = (int64_t)i;
            open[i].lane = (int64_t)(i / 2 * 2);
            memcpy(open[i].word, words + i % (count / 3) * 3, sizeof open[i].word);
            open[i].x = exact[i];
        }
        memset(out, 0, sizeof out);
        const size_t left = en_settle(plan, kernels, open, n, extended ? more : NULL, out);
        print_call(extended ? "settle with more" : "settle", plan, kind);
        print_lanes(out, plan, n, open, left);
    }
}

static void released_all(const en_kernels *kernels, en_family family, grid_case grid, double s) {
    en_plan plan;
    en_plan_init(&plan, family, grid.form, s, grid.exponent, 1.25, family == EN_DISCRETE_LAPLACE ? -0.05 : 0.0, 1.0);
    if (family == EN_TABULATED)
        en_plan_set_thresholds(&plan, thresholds, sizeof thresholds / sizeof *thresholds);
    for (word_kind kind = RANDOM_WORDS; kind < WORD_KINDS; kind++) {
        released(&plan, kernels, kind, 7);
        released(&plan, kernels, kind, kind == RANDOM_WORDS ? MOST_LANES : 64);
    }
}

static void selected(const en_kernels *kernels, en_selection_family family, en_score_form form, double scale,
                     size_t rows, size_t candidates) {
    static const double whole[] = {0, 1, -1, 1000, 0x1p62, -0x1p62};
    const size_t n = rows * candidates;
    uint64_t *values = malloc(8 * n), *words = malloc(8 * n);
    uint8_t *flags = malloc(n);
    int64_t *out = malloc(8 * rows);
    en_contender *contenders = malloc(sizeof *contenders * n);
    if (!values || !words || !flags || !out || !contenders)
        abort();
    fill_words(RANDOM_WORDS, words, n);
    for (size_t i = 0; i < n; i++) {
        values[i] = form == EN_SCORES_FLOAT64 ? number(1, i)
                    : i % 5                   ? next_random(&state) >> 59
                                              : (uint64_t)(int64_t)whole[i % 6];
        flags[i] = i % candidates ? (uint8_t)(next_random(&state) & 3) : 0;
    }
    const en_scores scores = {values, flags, rows, candidates};
    en_contender_list list = {contenders, n, 0};
    en_selection_plan plan;
    en_selection_plan_init(&plan, family, form, scale, 1.0);
    en_select(&plan, kernels, (en_randomness){EN_FROM_WORDS, NULL, words, 0}, &scores, out, &list);
    printf("select family %d form %d scale %a rows %zu candidates %zu:", (int)family, (int)form, scale, rows,
           candidates);
    for (size_t row = 0, next = 0; row < rows; row++) {
        if (next < list.count && contenders[next].row == (int64_t)row)
            printf(" -");
        else
            printf(" %lld", (long long)out[row]);
        while (next < list.count && contenders[next].row == (int64_t)row)
            next++;
    }
    printf("\n");
    free(values);
    free(words);
    free(flags);
    free(out);
    free(contenders);
}

static void clipped(const en_kernels *kernels, en_norm norm, en_rows type, size_t columns, double bound) {
    enum { ROWS = 3, MOST_COLUMNS = 513 };
    static double wide[ROWS * MOST_COLUMNS], out[ROWS * MOST_COLUMNS];
    static float narrow[ROWS * MOST_COLUMNS];
    const size_t n = ROWS * columns;
    for (size_t i = 0; i < n; i++) {
        const uint64_t bits = i < columns ? number(1, i) : en_bits((double)(int64_t)next_random(&state) * 0x1p-63);
        wide[i] = en_from_bits(bits);
        narrow[i] = narrowed(bits);
    }
    en_clip(kernels, norm, type, type == EN_ROWS_FLOAT32 ? (void *)narrow : (void *)wide, out, ROWS, columns, bound);
    printf("clip norm %d type %d columns %zu bound %a:", (int)norm, (int)type, columns, bound);
    for (size_t i = 0; i < n; i++)
        print_lane(out, type == EN_ROWS_FLOAT32 ? EN_FLOAT32 : EN_FLOAT64, i);
    printf("\n");
}

/* The cipher's words have 32 bits: which half of a word of 64 is the first depends on the order of bytes, and nothing on
 * that. */
static void keystream(const en_kernels *kernels) {
    uint8_t key[EN_KEY_BYTES];
    uint64_t words[EN_BLOCK];
    for (size_t i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)i;
    kernels->chacha20(key, 1, words, EN_DRAWN_WORDS / EN_GROUP_WORDS);
    printf("keystream:");
    for (size_t i = 0; i < 2 * EN_DRAWN_WORDS; i++)
        print_lane(words, EN_FLOAT32, i);
    fill_words(RANDOM_WORDS, words, EN_DRAWN_WORDS);
    kernels->spread_words(words);
    printf("\nspread:");
    for (size_t i = 0; i < EN_BLOCK; i++)
        print_lane(words, EN_FLOAT64, i);
    printf("\n");
}

static void everything(const en_kernels *kernels) {
    static const size_t shapes[][2] = {{7, 1}, {33, 2}, {45, 16}, {3, 640}, {2, 1281}};
    static const size_t columns[] = {1, 3, 16, 100, 513};
    static const double bounds[] = {1e-300, 1.0, 1e300};
    keystream(kernels);
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
            released_all(kernels, EN_LAPLACE, grids[i], scales[s]);
            released_all(kernels, EN_GAUSSIAN, grids[i], scales[s]);
        }
        released_all(kernels, EN_DISCRETE_LAPLACE, (grid_case){EN_INT64, 0}, scales[s]);
        for (en_selection_family family = 0; family < EN_SELECTION_COUNT; family++)
            for (en_score_form form = 0; form < EN_SCORES_COUNT; form++)
                for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
                    selected(kernels, family, form, scales[s], shapes[i][0], shapes[i][1]);
    }
    for (size_t s = 0; s < sizeof discrete_gaussian_scales / sizeof *discrete_gaussian_scales; s++)
        released_all(kernels, EN_DISCRETE_GAUSSIAN, (grid_case){EN_INT64, 0}, discrete_gaussian_scales[s]);
    released_all(kernels, EN_TABULATED, (grid_case){EN_INT64, 0}, 1.7);
    for (en_norm norm = 0; norm < EN_NORM_COUNT; norm++)
        for (en_rows type = 0; type < EN_ROWS_COUNT; type++)
            for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
                for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++)
                    clipped(kernels, norm, type, columns[i], bounds[b]);
}

int main(void) {
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        printf("== %s\n", en_variant_name(v));
        state = 0x243f6a8885a308d3u;
        everything(kernels);
    }
    return 0;
}
