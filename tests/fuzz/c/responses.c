/* Local reports and coins of any plan, codes and words, and what servers count in bytes that anybody may have sent.
 *
 * Reports are within their domain, padding is 0, counts are those of a loop without tricks, and every instruction set gives the
 * same bytes. */
#include "input.h"
#include "response.h"

static int64_t *read_codes(input *in, size_t n, uint64_t categories) {
    int64_t *codes = allocate(8 * n);
    for (size_t i = 0; i < n; i++)
        codes[i] = between(in, 0, 3) ? (int64_t)(next_word(in) % categories) : read_integer(in);
    return codes;
}

static en_randomness read_randomness(input *in, const uint8_t *key, const uint64_t *words, size_t count) {
    return between(in, 0, 3) ? (en_randomness){EN_FROM_WORDS, NULL, words, count}
                             : (en_randomness){EN_FROM_KEY, key, NULL, 0};
}

/* Any probabilities: 1 <= other < keep = 2^64 - (choices - 1) other. */
static en_response read_response(input *in, uint64_t choices) {
    const uint64_t most = UINT64_MAX / choices; /* so that choices * other < 2^64 */
    uint64_t other = (next_word(in) >> between(in, 0, 63)) % most + 1;
    en_response plan;
    en_response_init(&plan, choices, other);
    require(plan.keep + (choices - 1) * other == 0 && plan.keep > other, "probabilities do not add up");
    return plan;
}

static uint64_t respond_slowly(const en_response *plan, const en_domain *domain, uint64_t word, int64_t code) {
    const uint64_t value = (uint64_t)code < domain->categories ? (uint64_t)code : domain->missing;
    if (word < plan->keep)
        return value;
    const uint64_t j = (word - plan->keep) / plan->other;
    return j + (j >= value);
}

static void respond(input *in, const en_kernels *const *kernels, size_t available, const uint8_t *key) {
    const uint64_t k = (uint64_t)between(in, 2, between(in, 0, 1) ? 300 : 65536);
    const en_domain domain = {k, (uint64_t)between(in, 0, (int64_t)k - 1)};
    const en_response plan = read_response(in, k);
    const size_t n = read_length(in, 1400), width = k <= 256 ? 1 : 2;
    int64_t *codes = read_codes(in, n, k);
    uint64_t *words = read_words(in, n);
    const en_randomness randomness = read_randomness(in, key, words, n);
    uint8_t *first = NULL;
    for (size_t v = 0; v < available; v++) {
        uint8_t *reports = allocate(width * n);
        require(en_respond(&domain, &plan, kernels[v], randomness, codes, reports, n) == EN_OK, "no response");
        for (size_t i = 0; i < n; i++) {
            const uint64_t y = width == 1 ? reports[i] : reports[2 * i] | (uint64_t)reports[2 * i + 1] << 8;
            require(y < k, "a response that is no category");
            require(randomness.origin == EN_FROM_KEY || y == respond_slowly(&plan, &domain, words[i], codes[i]),
                    "a response that its word does not stand for");
        }
        first = agreed(first, reports, width * n, "responses differ");
    }
    free(first);
    free(codes);
    free(words);
}

static void respond_hashed(input *in, const en_kernels *const *kernels, size_t available, const uint8_t *key) {
    const uint64_t k = (uint64_t)between(in, 2, 65536), g = (uint64_t)between(in, 2, between(in, 0, 1) ? 40 : 1 << 15);
    const en_domain domain = {k, (uint64_t)between(in, 0, (int64_t)k - 1)};
    const en_response plan = read_response(in, g);
    const size_t n = read_length(in, 1400);
    int64_t *codes = read_codes(in, n, k);
    uint64_t *words = read_words(in, 2 * n);
    const en_randomness randomness = read_randomness(in, key, words, 2 * n);
    uint8_t *first = NULL;
    for (size_t v = 0; v < available; v++) {
        uint8_t *reports = allocate(EN_HASH_BYTES * n);
        require(en_respond_hashed(&domain, &plan, kernels[v], randomness, codes, reports, n) == EN_OK, "no response");
        for (size_t i = 0; i < n; i++)
            require((uint64_t)(reports[10 * i + 8] | reports[10 * i + 9] << 8) < g, "a bucket that does not exist");
        first = agreed(first, reports, EN_HASH_BYTES * n, "hashed responses differ");
    }
    free(first);
    free(codes);
    free(words);
}

/* Reports of any bytes: buckets that do not exist are among them. */
static void count_supports(input *in, const en_kernels *const *kernels, size_t available) {
    const size_t n = read_length(in, 600), categories = (size_t)between(in, 0, 300);
    const uint32_t buckets = (uint32_t)between(in, 2, between(in, 0, 1) ? 20 : 1 << 15);
    uint8_t *reports = allocate(EN_HASH_BYTES * n);
    for (size_t i = 0; i < EN_HASH_BYTES * n; i++)
        reports[i] = (uint8_t)(in->left ? between(in, 0, 255) : (int64_t)(next_word(in) & 0xff));
    for (size_t i = 0; i < n; i++) /* otherwise hardly any bucket would exist */
        if (buckets < 256 && i % 4)
            reports[10 * i + 9] = 0;
    int64_t *expected = zeros(8 * categories);
    for (size_t i = 0; i < n; i++) {
        uint32_t part[3] = {0, 0, 0};
        for (int b = 0; b < EN_HASH_BYTES; b++)
            part[b / 4] |= (uint32_t)reports[10 * i + (size_t)b] << b % 4 * 8;
        for (uint32_t v = 0; v < categories; v++)
            expected[v] += ((uint64_t)((part[0] * v + part[1]) >> 16) * buckets >> 16) == part[2];
    }
    for (size_t v = 0; v < available; v++) {
        int64_t *supports = zeros(8 * categories);
        en_count_supports(kernels[v], reports, n, buckets, supports, categories);
        require(categories == 0 || memcmp(expected, supports, 8 * categories) == 0, "supports are not the reports'");
        free(supports);
    }
    free(expected);
    free(reports);
}

static void count_columns(input *in, const en_kernels *const *kernels, size_t available) {
    const size_t bytes = (size_t)between(in, 1, between(in, 0, 3) ? 40 : 2100), n = read_length(in, 20000 / bytes);
    uint8_t *rows = allocate(bytes * n);
    int64_t *expected = zeros(64 * bytes);
    for (size_t i = 0; i < bytes * n; i++) {
        rows[i] = (uint8_t)(next_word(in) >> 56);
        for (size_t bit = 0; bit < 8; bit++)
            expected[i % bytes * 8 + bit] += rows[i] >> bit & 1;
    }
    for (size_t v = 0; v < available; v++) {
        int64_t *counts = zeros(64 * bytes);
        en_count_columns(kernels[v], rows, bytes, n, counts);
        require(memcmp(expected, counts, 64 * bytes) == 0, "columns are not the rows'");
        free(counts);
    }
    free(expected);
    free(rows);
}

static en_coin read_coin(input *in, en_coin_end last) {
    en_coin coin = {.levels = (unsigned)between(in, 1, EN_COIN_LEVELS), .tail = next_word(in)};
    coin.end = (en_coin_end)between(in, EN_ENDS_IN_LEVELS, last);
    for (unsigned level = 0; level < coin.levels; level++)
        coin.bits[level] = UINT64_C(0) - (uint64_t)between(in, 0, 1);
    return coin;
}

static void flip(input *in, const en_kernels *const *kernels, size_t available, const uint8_t *key) {
    const en_coin coin = read_coin(in, EN_GOES_ON);
    const size_t bytes = read_length(in, 1400), room = (size_t)between(in, 0, 50);
    const size_t count = (bytes + 7) / 8 * coin.levels + room;
    uint64_t *words = read_words(in, count);
    const en_randomness randomness = read_randomness(in, key, words, count);
    uint8_t *first = NULL;
    size_t taken = 0;
    for (size_t v = 0; v < available; v++) {
        uint8_t *ones = allocate(2 * bytes), *undecided = ones + bytes;
        size_t spare = room;
        require(en_coins(&coin, kernels[v], randomness, &spare, ones, undecided, bytes) == EN_OK, "no coins");
        require(spare <= 8 * bytes && (coin.end != EN_ENDS_IN_LEVELS || spare == 0), "too many words taken");
        for (size_t i = 0; i < bytes; i++)
            require((ones[i] & undecided[i]) == 0 || coin.end == EN_ENDS_IN_LEVELS, "an undecided coin is 1");
        require(first == NULL || taken == spare, "instruction sets take different numbers of words");
        taken = spare;
        first = agreed(first, ones, 2 * bytes, "coins differ");
    }
    free(first);
    free(words);
}

static void respond_unary(input *in, const en_kernels *const *kernels, size_t available, const uint8_t *key) {
    const uint64_t k = (uint64_t)between(in, 2, between(in, 0, 3) ? 80 : 5000);
    const size_t width = (size_t)(k + 7) / 8, n = read_length(in, 6000 / width), bytes = width * n;
    const en_unary plan = {
        {k, (uint64_t)between(in, 0, (int64_t)k - 1)}, next_word(in), width, read_coin(in, EN_ENDS_IN_TAIL)};
    const size_t room = (size_t)between(in, 0, 300), count = (bytes + 7) / 8 * plan.coin.levels + n + room;
    int64_t *codes = read_codes(in, n, k);
    uint64_t *words = read_words(in, count);
    const en_randomness randomness = read_randomness(in, key, words, count);
    uint8_t *first = NULL;
    for (size_t v = 0; v < available; v++) {
        uint8_t *reports = allocate(bytes);
        size_t spare = room;
        require(en_respond_unary(&plan, kernels[v], randomness, &spare, codes, reports, n) == EN_OK, "no response");
        if (PLANTED && k % 8 && n > 0)
            reports[bytes - 1] |= 0x80;
        for (size_t i = 0; k % 8 && i < n; i++)
            require(reports[width * i + width - 1] >> k % 8 == 0, "padding is not 0");
        first = agreed(first, reports, bytes, "unary responses differ");
    }
    free(first);
    free(codes);
    free(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    input in = input_of(bytes, size);
    const en_kernels *kernels[MAX_VARIANTS];
    const size_t available = read_kernels(kernels);
    const int64_t what = between(&in, 0, 5);
    uint8_t *key = allocate(EN_KEY_BYTES);
    for (size_t i = 0; i < EN_KEY_BYTES; i += 8) {
        const uint64_t word = next_word(&in);
        memcpy(key + i, &word, 8);
    }
    switch (what) {
    case 0:
        respond(&in, kernels, available, key);
        break;
    case 1:
        respond_hashed(&in, kernels, available, key);
        break;
    case 2:
        count_supports(&in, kernels, available);
        break;
    case 3:
        count_columns(&in, kernels, available);
        break;
    case 4:
        flip(&in, kernels, available, key);
        break;
    default:
        respond_unary(&in, kernels, available, key);
    }
    free(key);
    return 0;
}
