/* x + noise: any plan, data, words, lengths and lists.
 *
 * Every result is a multiple of the granularity and finite, a declined lane holds 0 and its record has the exact x and a
 * place of its own, a record stays inside the list, and whatever decides a lane, the fast path of any instruction set
 * or fixed point, decides it alike. */
#include "input.h"
#include "release.h"
#include "settle.h"

typedef struct {
    void *out;
    char *is_open; /* a byte a sample */
    en_pending *pending;
    size_t count;
} released;

typedef struct {
    en_randomness randomness;
    size_t n, width, capacity;
    const void *x;
    int in_place;
} task;

static void discard(released result) {
    free(result.out);
    free(result.is_open);
    free(result.pending);
}

static en_plan read_plan(input *in, double window_factor) {
    const en_family family = (en_family)between(in, 0, EN_FAMILY_COUNT - 1);
    en_form form = EN_INT64;
    int exponent = 0;
    if (family == EN_LAPLACE || family == EN_GAUSSIAN) {
        static const en_form forms[] = {EN_FLOAT64, EN_FLOAT32, EN_INT64_FLOAT64, EN_INT64};
        static const int lowest[] = {-1074, -149, -1074, 0}, highest[] = {1023, 127, -1, 62};
        const int64_t which = between(in, 0, 3);
        form = forms[which];
        const int64_t near_one = between(in, -40, 40);
        exponent = (int)between(in, lowest[which], highest[which]);
        if (between(in, 0, 1) && near_one >= lowest[which] && near_one <= highest[which])
            exponent = (int)near_one;
    }
    const int64_t binade = between(in, family == EN_DISCRETE_GAUSSIAN ? 2 : -30, 36);
    const uint64_t mantissa = binade == 36 ? 0 : next_word(in) >> 12;
    const double s = en_from_bits((uint64_t)(binade + 1023) << 52 | mantissa);
    const double offset = family == EN_DISCRETE_LAPLACE ? -(double)(next_word(in) >> 11) * 0x1p-54 : 0;
    double nan = read_double(in, 1);
    if (!isfinite(nan) || (form == EN_FLOAT32 && fabs(nan) > (double)FLT_MAX))
        nan = 0;

    en_plan plan;
    en_plan_init(&plan, family, form, s, exponent, nan, offset, window_factor);
    if (family == EN_DISCRETE_LAPLACE) /* the double's own error, as the window allows for it */
        en_plan_set_shortfall(&plan, plan.shortfall + (uint64_t)between(in, 0, 255));
    if (family == EN_TABULATED) {
        double threshold[EN_MOST_THRESHOLDS];
        const size_t count = (size_t)between(in, 0, EN_MOST_THRESHOLDS);
        uint64_t most = UINT64_C(1) << 50;
        for (size_t k = 0; k < count; k++)
            threshold[k] = (double)(most -= next_word(in) % (most + 1) >> between(in, 0, 50));
        en_plan_set_thresholds(&plan, threshold, count);
    }
    return plan;
}

static void *read_data(input *in, const en_plan *plan, size_t n) {
    const double g = ldexp(1, plan->exponent);
    char *x = allocate(n * (plan->form == EN_FLOAT32 ? 4 : 8));
    for (size_t i = 0; i < n; i++) {
        if (plan->form == EN_FLOAT32) {
            const float value = read_float(in, g);
            memcpy(x + 4 * i, &value, 4);
        } else if (plan->form == EN_INT64 || plan->form == EN_INT64_FLOAT64) {
            const int64_t value = read_integer(in);
            memcpy(x + 8 * i, &value, 8);
        } else {
            const double value = read_double(in, g);
            memcpy(x + 8 * i, &value, 8);
        }
    }
    return x;
}

static uint64_t exact_bits(const en_plan *plan, const void *x, size_t i) {
    uint64_t bits;
    float narrow;
    if (plan->form == EN_FLOAT32) {
        memcpy(&narrow, (const char *)x + 4 * i, 4);
        return en_bits((double)narrow);
    }
    memcpy(&bits, (const char *)x + 8 * i, 8);
    return bits;
}

static released release(const en_plan *plan, const en_kernels *kernels, const task *t) {
    const size_t n = t->n, size = t->width * n;
    released result = {allocate(PLANTED == 1 && n > 700 ? size - 1 : size), zeros(n), allocate(sizeof(en_pending) * n),
                       0};
    void *own_x = copy_of(t->x, size);
    if (t->in_place && size)
        memcpy(result.out, t->x, size);
    en_pending_list list = {allocate(sizeof(en_pending) * t->capacity), t->capacity, 0};
    for (size_t done = 0; done < n;) {
        const size_t before = done;
        list.count = 0;
        require(en_release(plan, kernels, t->randomness, t->in_place ? result.out : own_x, result.out, before, n, &list,
                           &done) == EN_OK,
                "no entropy is needed");
        require(done > before && done <= n && (done == n || done % EN_BLOCK == 0), "no progress");
        require(list.count <= t->capacity && list.count <= n - result.count, "more records than there is room");
        if (list.count)
            memcpy(result.pending + result.count, list.lanes, sizeof(en_pending) * list.count);
        result.count += list.count;
    }
    require(size == 0 || memcmp(own_x, t->x, size) == 0, "x was written");
    free(own_x);
    free(list.lanes);

    static const char zero[8];
    for (size_t i = 0; i < result.count; i++) {
        const size_t index = (size_t)result.pending[i].index;
        require(index < n && (i == 0 || result.pending[i - 1].index < result.pending[i].index), "records out of order");
        require(memcmp((char *)result.out + t->width * index, zero, t->width) == 0, "a declined lane is not 0");
        require(result.pending[i].x == exact_bits(plan, t->x, index), "a record does not have the exact x");
        result.is_open[index] = 1;
    }
    return result;
}

/* Fixed point decides what it can of the open lanes. */
static void settle(const en_plan *plan, const en_kernels *kernels, const task *t, const uint64_t *extension,
                   released *result) {
    en_pending *lanes = copy_of(result->pending, sizeof(en_pending) * result->count);
    const size_t left = en_settle(plan, kernels, lanes, result->count, extension, result->out);
    require(left <= result->count, "more lanes left than there were");
    memset(result->is_open, 0, t->n);
    for (size_t i = 0, j = 0; i < left; i++, j++) {
        while (j < result->count && result->pending[j].index != lanes[i].index)
            j++;
        require(j < result->count && memcmp(&lanes[i], &result->pending[j], sizeof *lanes) == 0, "a lane left changed");
        result->is_open[lanes[i].index] = 1;
    }
    free(lanes);
}

static void check_same(const task *t, released a, released b, const char *message) {
    for (size_t i = 0; i < t->n; i++)
        require(a.is_open[i] || b.is_open[i] ||
                    memcmp((char *)a.out + t->width * i, (char *)b.out + t->width * i, t->width) == 0,
                message);
}

static void check_on_grid(const en_plan *plan, const task *t, released result) {
    for (size_t i = 0; i < t->n; i++) {
        const uint64_t bits = exact_bits(plan, result.out, i); /* of a double, or of an int64 */
        if (plan->form == EN_INT64) {
            require((bits & ((UINT64_C(1) << plan->exponent) - 1)) == 0, "an integer off the grid");
            continue;
        }
        const uint64_t magnitude = bits << 1 >> 1;
        const int field = (int)(magnitude >> 52);
        require(field < 0x7ff, "a result that is not finite");
        uint64_t mantissa = magnitude & ((UINT64_C(1) << 52) - 1);
        int last = field ? field - 1075 : -1074; /* the exponent of its last bit */
        mantissa |= (uint64_t)(field != 0) << 52;
        for (; mantissa && mantissa % 2 == 0; mantissa /= 2)
            last++;
        require(mantissa == 0 || last >= plan->exponent, "a number off the grid");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = input_of(bytes, size), again = in;
    const en_kernels *kernels[MAX_VARIANTS];
    const size_t available = read_kernels(kernels);
    const en_plan plan = read_plan(&in, 1), declining = read_plan(&again, 0x1p60);
    task t = {
        .n = read_length(&in, 1400), .width = plan.form == EN_FLOAT32 ? 4 : 8, .in_place = (int)between(&in, 0, 1)};
    t.capacity = (size_t)between(&in, (int64_t)(t.n < EN_BLOCK ? t.n : EN_BLOCK), (int64_t)(t.n + 2));
    const size_t trials = plan.family == EN_DISCRETE_GAUSSIAN ? (size_t)between(&in, 1, 3) : 1;
    const size_t count = en_word_count(plan.family, t.n) * trials;
    uint64_t *words = read_words(&in, count);
    uint8_t *key = allocate(EN_KEY_BYTES);
    for (size_t i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)next_word(&in);
    t.randomness = between(&in, 0, 3) ? (en_randomness){EN_FROM_WORDS, NULL, words, count}
                                      : (en_randomness){EN_FROM_KEY, key, NULL, 0};
    uint64_t *extension = read_words(&in, en_extension_count(plan.family) * t.n);
    void *x = read_data(&in, &plan, t.n);
    t.x = x;

    released results[MAX_VARIANTS];
    for (size_t v = 0; v < available; v++) {
        results[v] = release(&plan, kernels[v], &t);
        if (PLANTED == 2 && v == 1 && t.n > 0)
            ((char *)results[v].out)[t.width - 1] ^= 1;
        check_on_grid(&plan, &t, results[v]);
        check_same(&t, results[0], results[v], "instruction sets decide differently");
        /* A proposal that every window declines is never rejected, so that discrete Gaussian lanes are others then. */
        if (plan.family != EN_DISCRETE_GAUSSIAN) {
            released slow = release(&declining, kernels[v], &t);
            settle(&plan, kernels[v], &t, NULL, &slow);
            check_on_grid(&plan, &t, slow);
            check_same(&t, results[v], slow, "fixed point decides otherwise than the fast path");
            settle(&plan, kernels[v], &t, extension, &slow);
            check_on_grid(&plan, &t, slow);
            discard(slow);
        }
        settle(&plan, kernels[v], &t, NULL, &results[v]);
        check_same(&t, results[0], results[v], "instruction sets settle differently");
    }
    for (size_t v = 0; v < available; v++)
        discard(results[v]);
    free(words);
    free(key);
    free(extension);
    free(x);
    return 0;
}
