/* The loops over tiles and blocks; the contract is in select.h. */
#include "select.h"

#include "float_env.h"

typedef struct {
    uint64_t words[EN_BLOCK];
    uint64_t flags[EN_BLOCK];
    double noise[EN_BLOCK];
    double reach[EN_BLOCK];
    int64_t keys[EN_BLOCK]; /* of the scores, then of the intervals' lower ends */
    int64_t complements[EN_BLOCK];
    double upper[EN_BLOCK];
    en_score_range ranges[EN_BLOCK]; /* a row each, from here on */
    int64_t low[EN_BLOCK];
    int64_t top[EN_BLOCK];
    uint64_t found[EN_BLOCK];
} scratch_tile;

/* All that the functions of this file work with. */
typedef struct {
    const en_selection_plan *plan;
    const en_kernels *kernels;
    en_randomness randomness;
    en_contender_list *list;
    scratch_tile *scratch;
} selection;

void en_selection_plan_init(en_selection_plan *plan, en_selection_family family, en_score_form form, double scale,
                            double window_factor) {
    en_float_env found = en_float_env_set();
    plan->family = family;
    plan->form = form;
    plan->half = scale >= 2 ? 0.5 : 1;
    const uint64_t bits = en_bits(plan->half * scale);
    const uint64_t one = UINT64_C(1023) << 52, exponent = bits & UINT64_C(0x7ff0000000000000);
    plan->step = en_from_bits(2 * one - exponent);
    plan->rate = 1 / en_from_bits(bits - exponent + one);
    plan->slack = window_factor * 0x1p-45;
    plan->relative = window_factor * 0x1p-50;
    plan->reach = window_factor * 0.875 * 0x1p12;
    en_float_env_restore(found);
}

/* The words of n candidates from `start` on, which are tile number `tile` of the key. */
static const uint64_t *make_words(const selection *s, size_t tile, size_t start, size_t n) {
    if (s->randomness.origin == EN_FROM_WORDS)
        return s->randomness.words + start;
    const size_t drawn = n < EN_DRAWN_WORDS ? n : EN_DRAWN_WORDS;
    const size_t groups = (drawn + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS;
    const size_t counter = tile * (EN_DRAWN_WORDS / EN_GROUP_WORDS * EN_GROUP_BLOCKS);
    s->kernels->chacha20(s->randomness.key, (uint32_t)counter, s->scratch->words, groups);
    if (n > drawn)
        s->kernels->spread_words(s->scratch->words);
    return s->scratch->words;
}

/* Flags as wide as scores, so that kernels with both are vectorised. */
static void make_flags(const selection *s, const en_scores *scores, size_t start, size_t n) {
    for (size_t i = 0; i < n; i++)
        s->scratch->flags[i] = scores->flags ? scores->flags[start + i] : 0;
}

static const void *values_from(const en_scores *scores, size_t start) {
    return (const char *)scores->values + 8 * start;
}

/* The score that a candidate counts with, as bits. */
static uint64_t score_of(const en_selection_plan *plan, const void *values, size_t i, uint64_t flag,
                         const en_score_range *range) {
    uint64_t bits;
    memcpy(&bits, (const char *)values + 8 * i, sizeof bits);
    if (plan->form == EN_SCORES_INT64)
        return flag ? (uint64_t)range->low : bits;
    return en_bits(
        en_float64_score(en_from_bits(bits), flag, en_from_order_key(range->high), en_from_order_key(range->low)));
}

/* Lists who of a row's n candidates in scratch, at `from`, has a chance against `top`. */
static void list_contenders(const selection *s, const void *values, const uint64_t *words, size_t from, size_t n,
                            const en_score_range *range, int64_t top, en_contender place) {
    const double least = en_from_order_key(top);
    const scratch_tile *scratch = s->scratch;
    en_contender_list *list = s->list;
    const int64_t first = place.candidate;
    for (size_t i = from; i < from + n; i++) {
        if (!(scratch->upper[i] >= least))
            continue;
        place.candidate = first + (int64_t)(i - from);
        place.word = words[i];
        place.score = score_of(s->plan, values, i, scratch->flags[i], range);
        place.upper = scratch->upper[i];
        if (list->count < list->capacity)
            list->contenders[list->count] = place;
        list->count++;
    }
}

/* Raises rows of maxima, of the keys and of their complements. */
static void widen_ranges(const selection *s, const void *values, int64_t *key, int64_t *complement, size_t rows,
                         size_t candidates) {
    int64_t *keys = s->scratch->keys, *complements = s->scratch->complements;
    s->kernels->score_keys[s->plan->form](values, s->scratch->flags, keys, complements, rows * candidates);
    s->kernels->row_maxima(keys, key, rows, candidates);
    s->kernels->row_maxima(complements, complement, rows, candidates);
}

/* Intervals in scratch; raises each row's top. */
static void make_intervals(const selection *s, const void *values, const uint64_t *words, const en_score_range *ranges,
                           int64_t *top, size_t rows, size_t candidates) {
    scratch_tile *scratch = s->scratch;
    s->kernels->selection_noise[s->plan->family](s->plan, words, scratch->noise, scratch->reach, rows * candidates);
    s->kernels->intervals[s->plan->form](s->plan, values, scratch->flags, ranges, scratch->noise, scratch->reach,
                                         scratch->keys, scratch->upper, rows, candidates);
    s->kernels->row_maxima(scratch->keys, top, rows, candidates);
}

static void select_short_rows(const selection *s, const en_scores *scores, int64_t *out) {
    scratch_tile *scratch = s->scratch;
    const size_t k = scores->candidates, most = EN_BLOCK / k;
    make_flags(s, scores, 0, scores->flags ? 0 : EN_BLOCK);
    for (size_t row = 0, tile = 0; row < scores->rows; row += most, tile++) {
        const size_t rows = scores->rows - row < most ? scores->rows - row : most;
        const size_t start = row * k;
        const void *values = values_from(scores, start);
        const uint64_t *words = make_words(s, tile, start, rows * k);
        if (scores->flags)
            make_flags(s, scores, start, rows * k);

        for (size_t i = 0; i < rows; i++)
            scratch->top[i] = scratch->low[i] = INT64_MIN;
        widen_ranges(s, values, scratch->top, scratch->low, rows, k);
        for (size_t i = 0; i < rows; i++) {
            scratch->ranges[i] = en_range_of(scratch->top[i], scratch->low[i]);
            scratch->top[i] = INT64_MIN;
        }
        make_intervals(s, values, words, scratch->ranges, scratch->top, rows, k);
        s->kernels->contenders(scratch->upper, scratch->top, scratch->found, rows, k);
        for (size_t i = 0; i < rows; i++) {
            const en_contender place = {.row = (int64_t)(row + i)};
            const int decided = scratch->found[i] >> 32 == 1;
            out[row + i] = decided ? (int64_t)(scratch->found[i] & 0xffffffffu) : 0;
            if (!decided)
                list_contenders(s, values, words, i * k, k, &scratch->ranges[i], scratch->top[i], place);
        }
    }
}

/* Drops the records from `first` on that have no chance against `top`. */
static void drop_beaten(en_contender_list *list, size_t first, int64_t top) {
    if (list->count > list->capacity)
        return; /* the list is lost; only its length is still of interest */
    size_t kept = first;
    const double least = en_from_order_key(top);
    for (size_t i = first; i < list->count; i++)
        if (list->contenders[i].upper >= least)
            list->contenders[kept++] = list->contenders[i];
    list->count = kept;
}

static size_t block_at(const en_scores *scores, size_t i) {
    return scores->candidates - i < EN_BLOCK ? scores->candidates - i : EN_BLOCK;
}

static void widen_range(const selection *s, const en_scores *scores, size_t start, int64_t maxima[2]) {
    for (size_t i = 0; i < scores->candidates; i += EN_BLOCK) {
        const size_t n = block_at(scores, i);
        make_flags(s, scores, start + i, n);
        widen_ranges(s, values_from(scores, start + i), &maxima[0], &maxima[1], 1, n);
    }
}

/* Lists the contenders of a row that begins at candidate `start` of the whole, and leaves the key of its top. What is
 * known of its scores stays in scratch, which is wiped. */
static void scan_row(const selection *s, const en_scores *scores, size_t row, size_t start, size_t tile,
                     const int64_t maxima[2]) {
    const size_t first = s->list->count;
    en_score_range *range = &s->scratch->ranges[0];
    int64_t *top = &s->scratch->top[0];
    *range = en_range_of(maxima[0], maxima[1]);
    *top = INT64_MIN;
    for (size_t i = 0; i < scores->candidates; i += EN_BLOCK, tile++) {
        const size_t n = block_at(scores, i);
        const void *values = values_from(scores, start + i);
        const uint64_t *words = make_words(s, tile, start + i, n);
        const en_contender place = {.row = (int64_t)row, .candidate = (int64_t)i};
        make_flags(s, scores, start + i, n);
        make_intervals(s, values, words, range, top, 1, n);
        /* Whether there is anything to do would tell, by the time, in which order the scores come. */
        drop_beaten(s->list, first, *top);
        list_contenders(s, values, words, 0, n, range, *top, place);
    }
}

static void select_long_rows(const selection *s, const en_scores *scores, int64_t *out) {
    const size_t blocks = (scores->candidates + EN_BLOCK - 1) / EN_BLOCK;
    int64_t *maxima = s->scratch->low;
    for (size_t row = 0; row < scores->rows; row++) {
        const size_t first = s->list->count, start = row * scores->candidates;
        maxima[0] = maxima[1] = INT64_MIN;
        widen_range(s, scores, start, maxima);
        scan_row(s, scores, row, start, row * blocks, maxima);
        const int decided = s->list->count == first + 1 && s->list->count <= s->list->capacity;
        out[row] = decided ? s->list->contenders[first].candidate : 0;
        s->list->count -= (size_t)decided;
    }
}

void en_select(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
               const en_scores *scores, int64_t *out, en_contender_list *list) {
    scratch_tile scratch;
    const selection s = {plan, kernels, randomness, list, &scratch};
    en_float_env found = en_float_env_set();
    list->count = 0;
    if (scores->candidates <= EN_BLOCK)
        select_short_rows(&s, scores, out);
    else
        select_long_rows(&s, scores, out);
    en_float_env_restore(found);
    en_wipe_dead_stack();
    en_wipe(&scratch, sizeof scratch);
}

void en_widen_range(const en_selection_plan *plan, const en_kernels *kernels, const en_scores *part,
                    int64_t maxima[2]) {
    scratch_tile scratch;
    const selection s = {.plan = plan, .kernels = kernels, .scratch = &scratch};
    en_float_env found = en_float_env_set();
    widen_range(&s, part, 0, maxima);
    en_float_env_restore(found);
    en_wipe_dead_stack();
    en_wipe(&scratch, sizeof scratch);
}

double en_select_part(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
                      const en_scores *part, const int64_t maxima[2], en_contender_list *list) {
    scratch_tile scratch;
    const selection s = {plan, kernels, randomness, list, &scratch};
    en_float_env found = en_float_env_set();
    list->count = 0;
    scan_row(&s, part, 0, 0, 0, maxima);
    const double top = scratch.top[0] == INT64_MIN ? -EN_INFINITY : en_from_order_key(scratch.top[0]);
    en_float_env_restore(found);
    en_wipe_dead_stack();
    en_wipe(&scratch, sizeof scratch);
    return top;
}
