/* Drives the core from several threads at once, for the thread sanitizer: see sanitize.py. Plans, data, words and keys are
 * shared, buffers are each thread's own, and every thread gets the same results. Prints a checksum for each instruction set. */
#define _XOPEN_SOURCE 600 /* barriers */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "clip.h"
#include "counts.h"
#include "cpu.h"
#include "entropy.h"
#include "random.h"
#include "response.h"
#include "select.h"
#include "settle.h"
#include "sums.h"

enum { THREADS = 4, ROUNDS = 6, N = 1500, COLUMNS = 15, PLANS = 6, UNARY_BYTES = 34 };

/* What all threads read. */
static en_plan plans[PLANS];
static en_selection_plan selections[EN_SELECTION_COUNT];
static en_response response;
static en_unary unary;
static en_quantizer quantizer;
static double x[N];
static float narrow[N];
static int64_t whole[N], codes[N], edges[] = {-5, 0, 1, 70};
static uint64_t words[8 * N];
static uint8_t key[EN_KEY_BYTES];
static pthread_barrier_t start;

static uint64_t state = 7;

/* What one thread writes. */
typedef struct {
    const en_kernels *kernels;
    uint64_t checksum; /* FNV-1a */
    double out[N];
    float narrow_out[N];
    int64_t whole_out[N], counts[8 * UNARY_BYTES];
    uint64_t sums[2 * COLUMNS], squares[2];
    uint8_t reports[UNARY_BYTES * N];
    en_pending pending[N];
    en_contender contenders[N];
} task;

static void add(task *t, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        t->checksum = (t->checksum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

static void require(int condition, const char *message) {
    if (condition)
        return;
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void release(task *t, const en_plan *plan, en_randomness randomness) {
    const size_t width = plan->form == EN_FLOAT32 ? 4 : 8;
    const void *from = plan->form == EN_FLOAT32 ? (const void *)narrow
                       : plan->form == EN_INT64 ? (const void *)whole
                                                : x;
    void *to = plan->form == EN_FLOAT32 ? (void *)t->narrow_out : t->out;
    en_pending_list list = {t->pending, N, 0};
    size_t done;
    require(en_release(plan, t->kernels, randomness, from, to, 0, N, &list, &done) == EN_OK && done == N, "no release");
    const size_t left = en_settle(plan, t->kernels, t->pending, list.count, NULL, to);
    for (size_t i = 0; i < left;
         i++) /* which lanes are left may differ between instruction sets, but not their words */
        memset((char *)to + width * (size_t)t->pending[i].index, 0, width);
    if (randomness.origin != EN_FROM_SYSTEM)
        add(t, to, width * N);
}

static void everything(task *t) {
    const en_randomness of_key = {EN_FROM_KEY, key, NULL, 0}, of_words = {EN_FROM_WORDS, NULL, words, 8 * N};
    for (size_t i = 0; i < PLANS; i++) {
        release(t, &plans[i], of_key);
        release(t, &plans[i], of_words);
    }
    release(t, &plans[0], (en_randomness){EN_FROM_SYSTEM, NULL, NULL, 0});
    for (size_t i = 0; i < EN_SELECTION_COUNT; i++) {
        en_contender_list list = {t->contenders, N, 0};
        en_select(&selections[i], t->kernels, of_key, &(en_scores){x, NULL, 3, 500}, t->whole_out, &list);
        add(t, t->whole_out, 8 * 3);
        en_select(&selections[i], t->kernels, of_words, &(en_scores){x, NULL, 1, N}, t->whole_out, &list);
        add(t, t->whole_out, 8);
    }
    require(en_respond(&unary.domain, &response, t->kernels, of_key, codes, t->reports, N) == EN_OK, "no response");
    add(t, t->reports, 2 * N);
    require(en_respond_hashed(&unary.domain, &response, t->kernels, of_key, codes, t->reports, N) == EN_OK, "no hash");
    add(t, t->reports, EN_HASH_BYTES * N);
    memset(t->counts, 0, sizeof t->counts);
    en_count_supports(t->kernels, t->reports, N, 300, t->counts, 8 * UNARY_BYTES);
    add(t, t->counts, sizeof t->counts);
    size_t spare = 0;
    require(en_respond_unary(&unary, t->kernels, of_key, &spare, codes, t->reports, N) == EN_OK, "no bits");
    add(t, t->reports, UNARY_BYTES * N);
    en_count_columns(t->kernels, t->reports, UNARY_BYTES, N, t->counts);
    add(t, t->counts, sizeof t->counts);
    en_clip(t->kernels, EN_L2, EN_ROWS_FLOAT64, x, t->out, N / COLUMNS, COLUMNS, 3);
    en_clip(t->kernels, EN_L1, EN_ROWS_FLOAT32, narrow, t->narrow_out, N / COLUMNS, COLUMNS, 3);
    add(t, t->out, sizeof t->out);
    add(t, t->narrow_out, sizeof t->narrow_out);

    const en_strided values = {(const char *)x, 8, N}, items = {(const char *)whole, 8, N};
    int64_t count = 0;
    memset(t->sums, 0, sizeof t->sums);
    memset(t->squares, 0, sizeof t->squares);
    en_add_sums(&quantizer, t->kernels, EN_VALUES_FLOAT64, &values, NULL, 1, &count, t->sums);
    en_add_moments(&quantizer, t->kernels, EN_VALUES_FLOAT64, &values, codes, 1, &count, t->sums, t->squares);
    en_add_rows(t->kernels, EN_VALUES_FLOAT64, x, N / COLUMNS, COLUMNS, -20, NULL, 1, t->sums);
    en_cells(&quantizer, t->kernels, EN_VALUES_FLOAT64, &values, t->whole_out);
    add(t, t->whole_out, sizeof t->whole_out);
    en_bin_values(t->kernels, EN_VALUES_INT64, &items, edges, sizeof edges / sizeof *edges, t->whole_out);
    en_count_codes(EN_CODES_INT64, &items, 70, t->counts);
    add(t, &count, sizeof count);
    add(t, t->sums, sizeof t->sums);
    add(t, t->squares, sizeof t->squares);
    add(t, t->whole_out, sizeof t->whole_out);
    add(t, t->counts, sizeof t->counts);
}

static void *work(void *argument) {
    task *t = argument;
    pthread_barrier_wait(&start);
    for (int round = 0; round < ROUNDS; round++)
        everything(t);
    return NULL;
}

static void make_inputs(void) {
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)(int64_t)next_random(&state) * 0x1p-60;
        narrow[i] = (float)x[i];
        whole[i] = (int64_t)next_random(&state) >> 57;
        codes[i] = (int64_t)(next_random(&state) % 280);
    }
    for (size_t i = 0; i < 8 * N; i++)
        words[i] = next_random(&state);
    for (size_t i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)next_random(&state);
    const double thresholds[] = {0x1p49, 0x1p40 + 1};
    en_plan_init(&plans[0], EN_LAPLACE, EN_FLOAT64, 0x1.4p20, -20, 0, 0, 1);
    en_plan_init(&plans[1], EN_GAUSSIAN, EN_FLOAT32, 0x1.4p20, -20, 0, 0, 1);
    en_plan_init(&plans[2], EN_GAUSSIAN, EN_INT64, 0x1.4p30, 3, 0, 0, 1);
    en_plan_init(&plans[3], EN_DISCRETE_LAPLACE, EN_INT64, 1.7, 0, 0, -0.05, 1);
    en_plan_init(&plans[4], EN_DISCRETE_GAUSSIAN, EN_INT64, 5.3, 0, 0, 0, 1);
    en_plan_init(&plans[5], EN_TABULATED, EN_INT64, 1.7, 0, 0, 0, 1);
    en_plan_set_thresholds(&plans[5], thresholds, 2);
    for (en_selection_family family = 0; family < EN_SELECTION_COUNT; family++)
        en_selection_plan_init(&selections[family], family, EN_SCORES_FLOAT64, 1, 1);
    en_response_init(&response, 300, UINT64_MAX / 3000);
    unary = (en_unary){{8 * UNARY_BYTES - 6, 1}, UINT64_C(1) << 63, UNARY_BYTES, {.levels = 3, .end = EN_ENDS_IN_TAIL}};
    unary.coin.bits[1] = ~UINT64_C(0);
    const int64_t nan = 0;
    en_quantizer_init(&quantizer, -20, -(INT64_C(1) << 30), INT64_C(1) << 30, &nan);
}

int main(void) {
    make_inputs();
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        task *tasks = calloc(THREADS, sizeof *tasks);
        pthread_t threads[THREADS];
        require(tasks != NULL && pthread_barrier_init(&start, NULL, THREADS) == 0, "no memory");
        for (size_t i = 0; i < THREADS; i++) {
            tasks[i].kernels = kernels;
            require(pthread_create(&threads[i], NULL, work, &tasks[i]) == 0, "no thread");
        }
        for (size_t i = 0; i < THREADS; i++)
            pthread_join(threads[i], NULL);
        for (size_t i = 1; i < THREADS; i++)
            require(tasks[i].checksum == tasks[0].checksum, "threads get different results");
        printf("%s %016llx\n", en_variant_name(v), (unsigned long long)tasks[0].checksum);
        pthread_barrier_destroy(&start);
        free(tasks);
    }
    return 0;
}
