/* Drives selections through every family, form, instruction set and shape. Run it under sanitizers: see sanitize.py.
 *
 * Every buffer is allocated with its exact size, so that one element too many is an error. Besides, it checks what needs no
 * oracle: a row with several contenders holds 0 and the others a candidate that is not excluded; a list that is too
 * small says how many records it would take; a row in parts has the contenders that it has in one piece, and a key the
 * words of its keystream; and decided rows are the same for every instruction set. Prints a checksum for each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"
#include "random.h"
#include "select.h"

enum { MAX_VARIANTS = 3 };

typedef enum { RANDOM_WORDS, ZERO_WORDS, ONE_WORDS, WORD_KINDS } word_kind;

static uint64_t state = 0x243f6a8885a308d3u;

static void require(int condition, const char *message, const en_selection_plan *plan, const en_scores *scores) {
    if (condition)
        return;
    fprintf(stderr, "%s: family %d, form %d, %zu rows of %zu\n", message, (int)plan->family, (int)plan->form,
            scores->rows, scores->candidates);
    exit(1);
}

static void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL)
        abort();
    return memory;
}

/* Special values first, then small numbers, then any bit pattern. */
static void *make_values(en_score_form form, size_t n) {
    static const double special[] = {0.0,      -0.0,    NAN,       INFINITY,   -INFINITY, DBL_MAX,
                                     -DBL_MAX, DBL_MIN, 0x1p-1074, -0x1p-1074, 1.5,       -7.25};
    static const int64_t whole[] = {0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, 1000};
    void *values = allocate(8 * n);
    for (size_t i = 0; i < n; i++) {
        uint64_t bits = next_random(&state);
        double wide = i % 5 == 0 ? special[i / 5 % 12] : i % 5 < 4 ? (double)(bits >> 60) : en_from_bits(bits);
        int64_t integer = i % 5 == 0 ? whole[i / 5 % 8] : (int64_t)(bits >> (i % 5 < 4 ? 60 : 0));
        memcpy((char *)values + 8 * i, form == EN_SCORES_INT64 ? (void *)&integer : (void *)&wide, 8);
    }
    return values;
}

static uint8_t *make_flags(size_t rows, size_t candidates) {
    uint8_t *flags = allocate(rows * candidates);
    for (size_t i = 0; i < rows * candidates; i++)
        flags[i] = (uint8_t)(next_random(&state) & 3);
    for (size_t row = 0; row < rows; row++)
        flags[row * candidates + next_random(&state) % candidates] &= EN_MISSING;
    return flags;
}

static uint64_t *make_words(word_kind kind, size_t count) {
    uint64_t *words = allocate(8 * count);
    for (size_t i = 0; i < count; i++)
        words[i] = kind == RANDOM_WORDS ? next_random(&state) : kind == ZERO_WORDS ? 0 : UINT64_MAX;
    return words;
}

/* The words of a selection under a key, tile by tile. */
static uint64_t *words_of_key(const en_kernels *kernels, const uint8_t *key, const en_scores *scores) {
    const size_t k = scores->candidates, count = scores->rows * k;
    uint64_t *words = allocate(8 * count), block[EN_BLOCK];
    for (size_t start = 0, tile = 0, n; start < count; start += n, tile++) {
        n = k <= EN_BLOCK ? EN_BLOCK / k * k : k - start % k;
        n = n < EN_BLOCK ? n : EN_BLOCK;
        n = n < count - start ? n : count - start;
        kernels->chacha20(key, (uint32_t)(64 * tile), block, EN_DRAWN_WORDS / EN_GROUP_WORDS);
        kernels->spread_words(block);
        memcpy(words + start, block, 8 * n);
    }
    return words;
}

typedef struct {
    int64_t *out;
    en_contender *contenders;
    size_t count;
} selected;

static selected run(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
                    const en_scores *scores, size_t capacity) {
    selected result = {allocate(8 * scores->rows), NULL, 0};
    for (;;) {
        result.contenders = allocate(sizeof(en_contender) * capacity);
        en_contender_list list = {result.contenders, capacity, 0};
        en_select(plan, kernels, randomness, scores, result.out, &list);
        result.count = list.count;
        if (result.count <= capacity)
            return result;
        free(result.contenders);
        capacity = result.count;
    }
}

static void discard(selected result) {
    free(result.out);
    free(result.contenders);
}

static void check_same(const en_selection_plan *plan, const en_scores *scores, selected a, selected b,
                       const char *message) {
    require(memcmp(a.out, b.out, 8 * scores->rows) == 0 && a.count == b.count, message, plan, scores);
    require(memcmp(a.contenders, b.contenders, sizeof(en_contender) * a.count) == 0, message, plan, scores);
}

static void check_selected(const en_selection_plan *plan, const en_scores *scores, const uint64_t *words,
                           selected result) {
    const size_t k = scores->candidates;
    size_t *several = allocate(sizeof(size_t) * scores->rows);
    memset(several, 0, sizeof(size_t) * scores->rows);
    for (size_t i = 0; i < result.count; i++) {
        const en_contender one = result.contenders[i];
        const size_t lane = (size_t)one.row * k + (size_t)one.candidate;
        require((size_t)one.candidate < k && one.word == words[lane], "a record is not of its candidate", plan, scores);
        require(!scores->flags || !(scores->flags[lane] & EN_EXCLUDED), "an excluded contender", plan, scores);
        several[one.row]++;
    }
    for (size_t row = 0; row < scores->rows; row++) {
        const size_t chosen = (size_t)result.out[row];
        require(several[row] != 1, "one contender is none", plan, scores);
        require(several[row] == 0 || chosen == 0, "a row to be refined is not 0", plan, scores);
        require(chosen < k, "no candidate at all", plan, scores);
        require(several[row] || !scores->flags || !(scores->flags[row * k + chosen] & EN_EXCLUDED), "one excluded",
                plan, scores);
    }
    free(several);
}

/* The first row in two parts: the same contenders, or the same selected one. */
static void check_parts(const en_selection_plan *plan, const en_kernels *kernels, const en_scores *scores,
                        const uint64_t *words, selected whole) {
    const size_t k = scores->candidates, cut = k / 2;
    const size_t starts[] = {0, cut, k};
    int64_t maxima[2] = {INT64_MIN, INT64_MIN};
    en_contender_list lists[2];
    double tops[2];
    for (int pass = 0; pass < 2; pass++)
        for (int part = 0; part < 2; part++) {
            const size_t start = starts[part], n = starts[part + 1] - start;
            void *values = allocate(8 * n);
            uint8_t *flags = scores->flags ? allocate(n) : NULL;
            memcpy(values, (const char *)scores->values + 8 * start, 8 * n);
            if (flags)
                memcpy(flags, scores->flags + start, n);
            const en_scores one = {values, flags, 1, n};
            if (pass == 0) {
                en_widen_range(plan, kernels, &one, maxima);
            } else {
                lists[part] = (en_contender_list){allocate(sizeof(en_contender) * n), n, 0};
                tops[part] = en_select_part(plan, kernels, (en_randomness){EN_FROM_WORDS, NULL, words + start, 0}, &one,
                                            maxima, &lists[part]);
            }
            free(values);
            free(flags);
        }
    const double top = tops[0] > tops[1] ? tops[0] : tops[1];
    size_t left = 0, listed = 0;
    int64_t last = 0;
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < lists[part].count; i++)
            if (lists[part].contenders[i].upper >= top) {
                last = lists[part].contenders[i].candidate + (int64_t)starts[part];
                left++;
            }
        free(lists[part].contenders);
    }
    while (listed < whole.count && whole.contenders[listed].row == 0)
        listed++;
    require(left == 1 ? last == whole.out[0] && listed == 0 : left == listed, "parts differ from the whole", plan,
            scores);
}

static void check_shape(const en_selection_plan *plan, word_kind kind, size_t rows, size_t candidates, int with_flags,
                        uint64_t *checksums) {
    const size_t n = rows * candidates;
    void *values = make_values(plan->form, n);
    uint8_t *flags = with_flags ? make_flags(rows, candidates) : NULL;
    const en_scores scores = {values, flags, rows, candidates};
    uint64_t *words = make_words(kind, n);
    uint8_t *key = allocate(EN_KEY_BYTES);
    for (int i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)next_random(&state);

    selected results[MAX_VARIANTS];
    size_t available = 0;
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        const en_randomness from_words = {EN_FROM_WORDS, NULL, words, 0};
        selected result = run(plan, kernels, from_words, &scores, n);
        selected short_list = run(plan, kernels, from_words, &scores, 0);
        check_same(plan, &scores, result, short_list, "with a short list the result differs");
        check_selected(plan, &scores, words, result);
        if (rows && candidates > 1)
            check_parts(plan, kernels, &scores, words, result);

        uint64_t *stream = words_of_key(kernels, key, &scores);
        selected from_key = run(plan, kernels, (en_randomness){EN_FROM_KEY, key, NULL, 0}, &scores, n);
        selected from_stream = run(plan, kernels, (en_randomness){EN_FROM_WORDS, NULL, stream, 0}, &scores, n);
        check_same(plan, &scores, from_key, from_stream, "the words are not the keystream");
        free(stream);
        discard(short_list);
        discard(from_key);
        discard(from_stream);
        results[available++] = result;
    }
    for (size_t row = 0; row < rows; row++) {
        int undecided = 0;
        for (size_t v = 0; v < available; v++)
            for (size_t i = 0; i < results[v].count; i++)
                undecided |= results[v].contenders[i].row == (int64_t)row;
        for (size_t v = 0; v < available && !undecided; v++)
            checksums[v] = (checksums[v] ^ (uint64_t)results[v].out[row]) * 0x100000001b3u;
    }
    for (size_t v = 0; v < available; v++)
        discard(results[v]);
    free(key);
    free(words);
    free(flags);
    free(values);
}

int main(void) {
    static const size_t shapes[][2] = {{0, 3},   {1, 1},   {700, 1}, {1, 4},    {33, 2},   {100, 7},
                                       {45, 16}, {5, 213}, {3, 320}, {3, 321},  {2, 512},  {2, 513},
                                       {3, 639}, {3, 640}, {2, 641}, {2, 1280}, {1, 1281}, {2, 3000}};
    static const double scales[] = {0.7, 1e18, DBL_MIN, DBL_MAX};
    uint64_t checksums[MAX_VARIANTS] = {0};
    if (en_variant_count() > MAX_VARIANTS)
        abort();
    for (en_selection_family family = 0; family < EN_SELECTION_COUNT; family++)
        for (en_score_form form = 0; form < EN_SCORES_COUNT; form++)
            for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
                en_selection_plan plan;
                en_selection_plan_init(&plan, family, form, scales[s], 1.0);
                for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
                    for (word_kind kind = RANDOM_WORDS; kind < (s ? ZERO_WORDS : WORD_KINDS); kind++)
                        for (int with_flags = 0; with_flags < 2; with_flags++)
                            check_shape(&plan, kind, shapes[i][0], shapes[i][1], with_flags, checksums);
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
