/* What local reports leave on the stack: see residue.c. Prints, for each kind of report and instruction set, how many of
 * the key's eight 32-bit words and of the first random words are found there. */
#include "stack_search.h"

#include <stdio.h>

#include "cpu.h"
#include "response.h"

enum { REPORTS = 2 * EN_REPORT_BLOCK + 37, BYTES = 8 };

typedef struct {
    const en_kernels *kernels;
    en_randomness randomness;
    int64_t codes[REPORTS];
    uint8_t reports[EN_HASH_BYTES * REPORTS];
} job;

static const en_domain domain = {60, 0};

static void *respond(void *argument) {
    job *this = argument;
    en_response plan;
    en_response_init(&plan, domain.categories, UINT64_C(1) << 57);
    if (en_respond(&domain, &plan, this->kernels, this->randomness, this->codes, this->reports, REPORTS) != EN_OK)
        abort();
    return NULL;
}

static void *respond_hashed(void *argument) {
    job *this = argument;
    en_response plan;
    en_response_init(&plan, 7, UINT64_C(1) << 60);
    if (en_respond_hashed(&domain, &plan, this->kernels, this->randomness, this->codes, this->reports, REPORTS) !=
        EN_OK)
        abort();
    return NULL;
}

static void *respond_unary(void *argument) {
    job *this = argument;
    const en_coin coin = {EN_COIN_LEVELS, {0, ~UINT64_C(0)}, UINT64_C(1) << 60, EN_ENDS_IN_TAIL};
    const en_unary plan = {domain, UINT64_C(1) << 63, BYTES, coin};
    size_t spare = 0;
    if (en_respond_unary(&plan, this->kernels, this->randomness, &spare, this->codes, this->reports, REPORTS) != EN_OK)
        abort();
    return NULL;
}

static void *keep(void *argument) {
    job *this = argument;
    struct {
        uint8_t key[EN_KEY_BYTES];
        uint64_t words[EN_GROUP_WORDS];
    } kept;
    memcpy(kept.key, this->randomness.key, sizeof kept.key);
    this->kernels->chacha20(kept.key, 0, kept.words, 1);
    __asm__ volatile("" : : "r"(&kept) : "memory");
    return NULL;
}

static void search(const char *name, const char *variant, void *(*function)(void *), job *work) {
    static uint64_t words[3][EN_GROUP_WORDS];
    for (uint32_t stream = 0; stream < 3; stream++)
        work->kernels->chacha20(work->randomness.key, stream << 30, words[stream], 1);
    char *stack = stack_after(function, work);
    printf("%s-%s %zu %zu\n", name, variant, count_found(stack, work->randomness.key, 8, 4),
           count_found(stack, words, 3 * EN_GROUP_WORDS, 8));
    free(stack);
}

int main(void) {
    static job work;
    uint8_t key[EN_KEY_BYTES];
    for (int i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)(0x91 + 29 * i);
    for (int i = 0; i < REPORTS; i++)
        work.codes[i] = i % 60;
    work.randomness = (en_randomness){EN_FROM_KEY, key, NULL, 0};
    for (size_t v = 0; v < en_variant_count(); v++) {
        if (en_variant_kernels(v, &work.kernels) != EN_OK)
            continue;
        search("respond", en_variant_name(v), respond, &work);
        search("hashed", en_variant_name(v), respond_hashed, &work);
        search("unary", en_variant_name(v), respond_unary, &work);
    }
    search("control", "", keep, &work);
    return 0;
}
