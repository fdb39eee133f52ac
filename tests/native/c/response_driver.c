/* Runs the local randomisers, coins and counts of every instruction set for the sanitizers: each buffer is allocated to
 * its exact size, lengths are around the blocks and groups, words are all kinds. Prints a checksum a set. */
#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"
#include "random.h"
#include "response.h"

static uint64_t state = 1;

static void *exactly(size_t size) {
    void *memory = malloc(size ? size : 1);
    if (memory == NULL)
        abort();
    return memory;
}

static uint64_t *words_of(size_t count) {
    uint64_t *words = exactly(8 * count);
    for (size_t i = 0; i < count; i++)
        words[i] = i % 7 == 5 ? 0 : i % 7 == 6 ? ~UINT64_C(0) : next_random(&state);
    return words;
}

static int64_t *codes_of(size_t n) {
    static const int64_t edges[] = {0, 1, -1, INT64_MIN, INT64_MAX, 265, 266, 65536};
    int64_t *codes = exactly(8 * n);
    for (size_t i = 0; i < n; i++)
        codes[i] = i < 8 ? edges[i] : (int64_t)(next_random(&state) % 300);
    return codes;
}

static uint64_t sum; /* FNV-1a */

static void add(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
}

/* Numbers and not their bytes, which are not in the same order everywhere. */
static void add_numbers(const int64_t *numbers, size_t n) {
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ (uint64_t)numbers[i]) * UINT64_C(0x100000001b3);
}

static void check(int right, const char *what) {
    if (!right) {
        printf("%s\n", what);
        exit(1);
    }
}

static const size_t lengths[] = {0, 1, 2, 7, 33, 511, 512, 513, 1100};

static void responses(const en_kernels *kernels, size_t n, en_origin origin, const uint8_t *key) {
    static const uint64_t choices[] = {2, 3, 256, 257, 65536};
    for (size_t c = 0; c < 5; c++) {
        for (int edge = 0; edge < 3; edge++) {
            const uint64_t k = choices[c];
            const uint64_t other = edge == 0 ? 1 : edge == 1 ? ~UINT64_C(0) / k : UINT64_C(0x0123456789) / k + 1;
            const en_domain domain = {k, k - 1};
            en_response plan;
            en_response_init(&plan, k, other);
            check(plan.keep + (k - 1) * other == 0 && plan.keep > other, "probabilities do not add up");
            uint64_t *words = words_of(n);
            int64_t *codes = codes_of(n);
            const size_t width = k <= 256 ? 1 : 2;
            uint8_t *reports = exactly(width * n);
            const en_randomness randomness = {origin, key, words, 0};
            check(en_respond(&domain, &plan, kernels, randomness, codes, reports, n) == EN_OK, "no response");
            for (size_t i = 0; i < n; i++) {
                uint64_t y = width == 1 ? reports[i] : reports[2 * i] | (uint64_t)reports[2 * i + 1] << 8;
                check(y < k, "a response that is no category");
            }
            if (origin == EN_FROM_WORDS)
                add(reports, width * n);
            free(words);
            free(codes);
            free(reports);
        }
    }
}

static void hashing(const en_kernels *kernels, size_t n, en_origin origin, const uint8_t *key) {
    static const uint64_t buckets[] = {2, 7, 1024};
    for (size_t c = 0; c < 3; c++) {
        const en_domain domain = {266, 3};
        en_response plan;
        en_response_init(&plan, buckets[c], ~UINT64_C(0) / 3000);
        uint64_t *words = words_of(2 * n);
        int64_t *codes = codes_of(n);
        uint8_t *reports = exactly(EN_HASH_BYTES * n);
        const en_randomness randomness = {origin, key, words, 0};
        check(en_respond_hashed(&domain, &plan, kernels, randomness, codes, reports, n) == EN_OK, "no hashed response");
        for (size_t i = 9; i < EN_HASH_BYTES * n; i += 5 * EN_HASH_BYTES)
            reports[i] = 0xff; /* a bucket that is none */
        int64_t *supports = exactly(8 * 266);
        memset(supports, 0, 8 * 266);
        en_count_supports(kernels, reports, n, (uint32_t)buckets[c], supports, 266);
        if (origin == EN_FROM_WORDS) {
            add(reports, EN_HASH_BYTES * n);
            add_numbers(supports, 266);
        }
        free(words);
        free(codes);
        free(reports);
        free(supports);
    }
}

static en_coin coin_of(unsigned levels, en_coin_end end) {
    en_coin coin = {.levels = levels, .tail = next_random(&state), .end = end};
    for (unsigned i = 0; i < levels; i++)
        coin.bits[i] = i % 3 == 1 ? ~UINT64_C(0) : 0;
    return coin;
}

static void unary(const en_kernels *kernels, size_t n, en_origin origin, const uint8_t *key) {
    static const uint64_t categories[] = {2, 8, 9, 266, 2049};
    for (size_t c = 0; c < 5; c++) {
        const uint64_t k = categories[c];
        const size_t size = (size_t)(k + 7) / 8, bytes = size * n;
        if (bytes > 40000)
            continue;
        for (unsigned levels = 1; levels <= EN_COIN_LEVELS; levels += 3) {
            en_unary plan = {{k, 1}, UINT64_C(1) << 63, size, coin_of(levels, EN_ENDS_IN_TAIL)};
            size_t spare = 8 * bytes;
            uint64_t *words = words_of((bytes + 7) / 8 * levels + n + spare);
            int64_t *codes = codes_of(n);
            uint8_t *reports = exactly(bytes);
            const en_randomness randomness = {origin, key, words, 0};
            check(en_respond_unary(&plan, kernels, randomness, &spare, codes, reports, n) == EN_OK,
                  "no unary response");
            check(spare <= 8 * bytes, "too many spare words");
            int64_t *counts = exactly(64 * size);
            memset(counts, 0, 64 * size);
            en_count_columns(kernels, reports, size, n, counts);
            for (size_t i = (size_t)k; i < 8 * size; i++)
                check(counts[i] == 0, "padding is not 0");
            if (origin == EN_FROM_WORDS) {
                add(reports, bytes);
                add_numbers(counts, 8 * size);
            }
            free(words);
            free(codes);
            free(reports);
            free(counts);
        }
    }
}

static void coins(const en_kernels *kernels, size_t bytes, en_origin origin, const uint8_t *key) {
    for (en_coin_end end = EN_ENDS_IN_LEVELS; end <= EN_GOES_ON; end++) {
        en_coin coin = coin_of(7, end);
        size_t spare = 3;
        uint64_t *words = words_of((bytes + 7) / 8 * coin.levels + spare);
        uint8_t *ones = exactly(bytes), *undecided = exactly(bytes);
        const en_randomness randomness = {origin, key, words, 0};
        check(en_coins(&coin, kernels, randomness, &spare, ones, undecided, bytes) == EN_OK, "no coins");
        check(end != EN_ENDS_IN_LEVELS || spare == 0, "words for coins that are decided");
        if (origin == EN_FROM_WORDS) {
            add(ones, bytes);
            add_numbers(&(int64_t){(int64_t)spare}, 1);
        }
        free(words);
        free(ones);
        free(undecided);
    }
}

int main(void) {
    uint8_t key[EN_KEY_BYTES];
    for (int i = 0; i < EN_KEY_BYTES; i++)
        key[i] = (uint8_t)next_random(&state);
    for (size_t v = 0; v < en_variant_count(); v++) {
        const en_kernels *kernels;
        if (en_variant_kernels(v, &kernels) != EN_OK)
            continue;
        state = 7;
        sum = UINT64_C(0xcbf29ce484222325);
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            for (en_origin origin = EN_FROM_KEY; origin <= EN_FROM_WORDS; origin++) {
                responses(kernels, lengths[i], origin, key);
                hashing(kernels, lengths[i], origin, key);
                unary(kernels, lengths[i], origin, key);
                coins(kernels, lengths[i], origin, key);
            }
        }
        printf("%s %016llx\n", en_variant_name(v), (unsigned long long)sum);
    }
    return 0;
}
