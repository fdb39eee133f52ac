/* What a release leaves on its stack: it runs in a thread whose stack is searched afterwards.
 *
 * Prints, for each family and instruction set: how many of the key's eight 32-bit words, of the random words and of the
 * exact values are found there. All must be 0. The last line is the control: a function that wipes nothing.
 */
#include "stack_search.h"

#include <stdio.h>

#include "cpu.h"
#include "platform.h"
#include "random.h"
#include "select.h"
#include "settle.h"

enum { SAMPLES = 2 * EN_BLOCK + 37 };

typedef struct {
    en_plan plan;
    const en_kernels *kernels;
    en_randomness randomness;
    double data[SAMPLES];
    en_pending lanes[SAMPLES];
    en_selection_plan selection;
    size_t candidates;
    int64_t selected[SAMPLES];
    en_contender contenders[SAMPLES];
} job;

static uint64_t state = 1;

static void *release_in_place(void *argument) {
    job *this = argument;
    en_pending_list pending = {this->lanes, SAMPLES, 0};
    size_t done;
    if (en_release(&this->plan, this->kernels, this->randomness, this->data, this->data, 0, SAMPLES, &pending, &done) !=
        EN_OK)
        abort();
    return NULL;
}

/* Lanes as if all had been declined; what is settled goes where x was. */
static void *settle_lanes(void *argument) {
    job *this = argument;
    en_settle(&this->plan, this->kernels, this->lanes, SAMPLES, NULL, this->data);
    return NULL;
}

static void *select_rows(void *argument) {
    job *this = argument;
    const en_scores scores = {this->data, NULL, SAMPLES / this->candidates, this->candidates};
    en_contender_list list = {this->contenders, SAMPLES, 0};
    en_select(&this->selection, this->kernels, this->randomness, &scores, this->selected, &list);
    return NULL;
}

static void *copy_and_leave(void *argument) {
    job *this = argument;
    struct {
        uint8_t key[EN_KEY_BYTES];
        uint64_t words[EN_GROUP_WORDS];
        double data[EN_GROUP_WORDS];
    } kept;
    memcpy(kept.key, this->randomness.key, sizeof kept.key);
    this->kernels->chacha20(kept.key, 0, kept.words, 1);
    memcpy(kept.data, this->data, sizeof kept.data);
    __asm__ volatile("" : : "r"(&kept) : "memory");
    return NULL;
}

static void search(const char *name, void *(*function)(void *), job *work) {
    double data[SAMPLES];
    for (size_t i = 0; i < SAMPLES; i++)
        data[i] = work->data[i] = 1 + (double)(next_random(&state) >> 12) * 0x1p-52; /* full significands */
    uint64_t *words = malloc(8 * EN_DRAWN_WORDS);
    if (words == NULL)
        abort();
    work->kernels->chacha20(work->randomness.key, 0, words, EN_DRAWN_WORDS / EN_GROUP_WORDS);
    for (size_t i = 0; i < SAMPLES; i++) {
        en_pending lane = {(int64_t)i, (int64_t)i, {words[i % EN_DRAWN_WORDS], words[(i + 1) % EN_DRAWN_WORDS], 0}, 0};
        memcpy(&lane.x, &data[i], 8);
        work->lanes[i] = lane;
    }
    char *stack = stack_after(function, work);
    printf("%s %zu %zu %zu\n", name, count_found(stack, work->randomness.key, 8, 4),
           count_found(stack, words, EN_DRAWN_WORDS, 8), count_found(stack, data, SAMPLES, 8));
    free(stack);
    free(words);
}

int main(void) {
    static const char *const families[] = {"laplace", "gaussian"};
    static job work;
    uint8_t key[EN_KEY_BYTES];
    for (int i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)(next_random(&state) | 1);
    work.randomness = (en_randomness){EN_FROM_KEY, key, NULL, 0};
    for (size_t v = 0; v < en_variant_count(); v++) {
        if (en_variant_kernels(v, &work.kernels) != EN_OK)
            continue;
        for (en_family family = EN_LAPLACE; family <= EN_GAUSSIAN; family++) {
            char name[64];
            snprintf(name, sizeof name, "%s-%s", families[family], en_variant_name(v));
            en_plan_init(&work.plan, family, EN_FLOAT64, 0x1p20, -20, 0, 0, 1);
            search(name, release_in_place, &work);
            snprintf(name, sizeof name, "settled-%s-%s", families[family], en_variant_name(v));
            search(name, settle_lanes, &work);
        }
        for (work.candidates = 5; work.candidates <= SAMPLES; work.candidates *= 200) {
            char name[64];
            snprintf(name, sizeof name, "selection-of-%zu-%s", work.candidates, en_variant_name(v));
            en_selection_plan_init(&work.selection, EN_EXPONENTIAL_MECHANISM, EN_SCORES_FLOAT64, 1, 1);
            search(name, select_rows, &work);
        }
    }
    search("control", copy_and_leave, &work);
    return 0;
}
