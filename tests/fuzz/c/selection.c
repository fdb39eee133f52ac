/* Selections: any scale, scores, flags, words, shape and length of the list.
 *
 * The selected are candidates that are not excluded, records have the word of their candidate and stay inside the list, a
 * row in two parts has the contenders that it has as a whole, and instruction sets that decide a row decide it alike. */
#include "input.h"
#include "select.h"

typedef struct {
    int64_t *out;
    en_contender *contenders;
    size_t count;
} selected;

static void discard(selected result) {
    free(result.out);
    free(result.contenders);
}

static selected choose(const en_selection_plan *plan, const en_kernels *kernels, en_randomness randomness,
                       const en_scores *scores, size_t capacity) {
    for (;;) {
        selected result = {allocate(8 * scores->rows), allocate(sizeof(en_contender) * capacity), 0};
        en_contender_list list = {result.contenders, capacity, 0};
        en_select(plan, kernels, randomness, scores, result.out, &list);
        result.count = list.count;
        if (PLANTED && list.count > 0 && capacity > 0)
            result.contenders[0].word ^= 1;
        if (list.count <= capacity)
            return result;
        capacity = list.count;
        discard(result);
    }
}

/* How many contenders each row has. */
static size_t *check_selected(const en_scores *scores, const uint64_t *words, selected result) {
    const size_t k = scores->candidates;
    size_t *several = zeros(sizeof *several * scores->rows);
    for (size_t i = 0; i < result.count; i++) {
        const en_contender one = result.contenders[i];
        require((size_t)one.row < scores->rows && (size_t)one.candidate < k, "a record of no candidate");
        const size_t lane = (size_t)one.row * k + (size_t)one.candidate;
        require(words == NULL || one.word == words[lane], "a record does not have its candidate's word");
        require(!scores->flags || !(scores->flags[lane] & EN_EXCLUDED), "an excluded contender");
        several[one.row]++;
    }
    for (size_t row = 0; row < scores->rows; row++) {
        const size_t chosen = (size_t)result.out[row];
        require(several[row] != 1 && chosen < k, "one contender is none");
        require(several[row] == 0 || chosen == 0, "a row to be refined is not 0");
        require(several[row] || !scores->flags || !(scores->flags[row * k + chosen] & EN_EXCLUDED), "one excluded");
    }
    return several;
}

static void check_parts(const en_selection_plan *plan, const en_kernels *kernels, const en_scores *scores,
                        const uint64_t *words, size_t cut, selected whole, size_t contenders) {
    const size_t ends[] = {0, cut, scores->candidates};
    int64_t maxima[2] = {INT64_MIN, INT64_MIN};
    en_contender_list lists[2];
    double tops[2];
    for (int pass = 0; pass < 2; pass++)
        for (int part = 0; part < 2; part++) {
            const size_t start = ends[part], n = ends[part + 1] - start;
            void *values = copy_of((const char *)scores->values + 8 * start, 8 * n);
            uint8_t *flags = scores->flags ? copy_of(scores->flags + start, n) : NULL;
            uint64_t *own = copy_of(words + start, 8 * n);
            const en_scores one = {values, flags, 1, n};
            const en_randomness randomness = {EN_FROM_WORDS, NULL, own, n};
            if (pass == 0) {
                en_widen_range(plan, kernels, &one, maxima);
            } else {
                lists[part] = (en_contender_list){allocate(sizeof(en_contender) * n), n, 0};
                tops[part] = en_select_part(plan, kernels, randomness, &one, maxima, &lists[part]);
                require(lists[part].count <= n, "more contenders than candidates");
            }
            free(values);
            free(flags);
            free(own);
        }
    const double top = tops[0] > tops[1] ? tops[0] : tops[1];
    size_t left = 0;
    int64_t last = 0;
    for (int part = 0; part < 2; part++) {
        for (size_t i = 0; i < lists[part].count; i++)
            if (lists[part].contenders[i].upper >= top) {
                last = lists[part].contenders[i].candidate + (int64_t)ends[part];
                left++;
            }
        free(lists[part].contenders);
    }
    require(left == 1 ? last == whole.out[0] && contenders == 0 : left == contenders, "parts differ from the whole");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = input_of(bytes, size);
    const en_kernels *kernels[MAX_VARIANTS];
    const size_t available = read_kernels(kernels);
    const en_selection_family family = (en_selection_family)between(&in, 0, EN_SELECTION_COUNT - 1);
    const en_score_form form = (en_score_form)between(&in, 0, EN_SCORES_COUNT - 1);
    const int64_t binade = between(&in, 0, 1) ? between(&in, -3, 70) : between(&in, -1022, 1023);
    const double scale = en_from_bits((uint64_t)(binade + 1023) << 52 | next_word(&in) >> 12);
    en_selection_plan plan;
    en_selection_plan_init(&plan, family, form, scale, 1);

    const size_t k = 1 + read_length(&in, 1400),
                 rows = k > 700 ? 1 + (size_t)between(&in, 0, 1) : read_length(&in, 1400 / k);
    const size_t n = k * rows;
    uint64_t *values = allocate(8 * n);
    const double unit = between(&in, 0, 1) ? scale : 1;
    for (size_t i = 0; i < n; i++)
        values[i] = form == EN_SCORES_INT64 ? (uint64_t)read_integer(&in) : en_bits(read_double(&in, unit));
    uint8_t *flags = between(&in, 0, 1) ? allocate(n) : NULL;
    for (size_t i = 0; flags && i < n; i++)
        flags[i] = next_word(&in) & (EN_EXCLUDED | EN_MISSING);
    for (size_t row = 0; flags && row < rows; row++)
        flags[row * k + next_word(&in) % k] &= EN_MISSING;
    uint64_t *words = read_words(&in, n);
    uint8_t *key = allocate(EN_KEY_BYTES);
    for (size_t i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)next_word(&in);
    const en_scores scores = {values, flags, rows, k};
    const int from_words = between(&in, 0, 3) != 0;
    const en_randomness randomness =
        from_words ? (en_randomness){EN_FROM_WORDS, NULL, words, n} : (en_randomness){EN_FROM_KEY, key, NULL, 0};
    const size_t cut = (size_t)between(&in, 1, k > 1 ? (int64_t)k - 1 : 1);
    const size_t capacity = (size_t)between(&in, 0, (int64_t)n);

    selected results[MAX_VARIANTS];
    size_t *several[MAX_VARIANTS];
    for (size_t v = 0; v < available; v++) {
        results[v] = choose(&plan, kernels[v], randomness, &scores, capacity);
        several[v] = check_selected(&scores, from_words ? words : NULL, results[v]);
        for (size_t row = 0; row < rows; row++)
            require(several[0][row] || several[v][row] || results[0].out[row] == results[v].out[row],
                    "instruction sets select differently");
        if (from_words && rows && k > 1)
            check_parts(&plan, kernels[v], &scores, words, cut, results[v], several[v][0]);
    }
    for (size_t v = 0; v < available; v++) {
        discard(results[v]);
        free(several[v]);
    }
    free(values);
    free(flags);
    free(words);
    free(key);
    return 0;
}
