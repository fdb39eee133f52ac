/* The loops over blocks; the contract is in response.h. */
#include "response.h"

#include "entropy.h"
#include "platform.h"

typedef struct {
    const en_kernels *kernels;
    en_randomness randomness;
    uint32_t number; /* see the contract */
    size_t first;    /* of an array's words */
} stream;

/* Words [start, start + count) of a stream; from a key, start is a multiple of EN_GROUP_WORDS and `scratch` holds whole
 * groups. */
static en_status draw(const stream *from, size_t start, size_t count, uint64_t *scratch, const uint64_t **words) {
    *words = scratch;
    switch (from->randomness.origin) {
    case EN_FROM_WORDS:
        *words = from->randomness.words + from->first + start;
        break;
    case EN_FROM_KEY: {
        size_t counter = ((size_t)from->number << 30) + start / EN_GROUP_WORDS * EN_GROUP_BLOCKS;
        from->kernels->chacha20(from->randomness.key, (uint32_t)counter, scratch,
                                (count + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS);
        break;
    }
    case EN_FROM_SYSTEM:
        return en_entropy(scratch, count * sizeof(uint64_t));
    }
    return EN_OK;
}

static size_t less(size_t a, size_t b) {
    return a < b ? a : b;
}

static unsigned bit_length(uint64_t x) {
    unsigned length = 0;
    for (; x; x >>= 1)
        length++;
    return length;
}

static inline void store_little(uint8_t *bytes, uint64_t value, int count) {
    for (int i = 0; i < count; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

/* The first bytes of a group; all eight in one instruction. */
static void store_group(uint8_t *bytes, uint64_t group, size_t count) {
    if (count >= 8)
        store_little(bytes, group, 8);
    else
        store_little(bytes, group, (int)count);
}

static uint32_t load_little(const uint8_t *bytes, int count) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++)
        value |= (uint32_t)bytes[i] << 8 * i;
    return value;
}

/* Division of t < (k - 1) Q by Q. With n the bit length of Q and M = floor(2^62 / Q'), Q' = Q 2^(32 - n) rounded up to
 * a whole number, the kernels' estimate is floor(t' M 2^(d - 30 - n)), t' = floor(t / 2^d). It is never above t / Q,
 * since M 2^(-30 - n) <= 1 / Q. And it is below floor(t / Q) by one at most:
 *   d        the least with (k - 1) Q < 2^(32 + d), so t' < 2^32. If d > 0, 2^d / Q <= (k - 1) 2^-31 < 2^-15.
 *   M        of 31 bits or 2^31; rounding Q' and M costs 2^-31 and 2^-30 of t / Q < 2^16: less than 2^-13.
 * What is left, t - estimate Q, is below 2 Q < 2^64, since Q < 2^64 / k. One comparison puts the estimate right. */
void en_response_init(en_response *plan, uint64_t choices, uint64_t other) {
    const uint64_t others = (choices - 1) * other;
    const unsigned length = bit_length(other), total = bit_length(others);
    const uint64_t leading = length <= 32
                                 ? other << (32 - length)
                                 : (other >> (length - 32)) + ((other & ((UINT64_C(1) << (length - 32)) - 1)) != 0);
    plan->choices = choices;
    plan->other = other;
    plan->keep = UINT64_C(0) - others;
    plan->multiplier = (UINT64_C(1) << 62) / leading;
    plan->drop = total <= 32 ? 0 : total - 32;
    plan->shift = 30 + length - plan->drop;
}

en_status en_respond(const en_domain *domain, const en_response *plan, const en_kernels *kernels,
                     en_randomness randomness, const int64_t *codes, void *reports, size_t n) {
    const stream source = {kernels, randomness, 0, 0};
    const int narrow = plan->choices <= 256;
    uint64_t scratch[EN_REPORT_BLOCK];
    en_status status = EN_OK;
    for (size_t start = 0; start < n; start += EN_REPORT_BLOCK) {
        size_t count = less(n - start, EN_REPORT_BLOCK);
        const uint64_t *words;
        if ((status = draw(&source, start, count, scratch, &words)) != EN_OK)
            break;
        (narrow ? kernels->respond8 : kernels->respond16)(domain, plan, words, codes + start,
                                                          (char *)reports + (narrow ? start : 2 * start), count);
    }
    en_wipe_dead_stack();
    en_wipe(scratch, sizeof scratch);
    return status;
}

en_status en_respond_hashed(const en_domain *domain, const en_response *plan, const en_kernels *kernels,
                            en_randomness randomness, const int64_t *codes, uint8_t *reports, size_t n) {
    const stream source = {kernels, randomness, 0, 0};
    uint64_t scratch[2 * EN_REPORT_BLOCK], buckets[EN_REPORT_BLOCK];
    en_status status = EN_OK;
    for (size_t start = 0; start < n; start += EN_REPORT_BLOCK) {
        size_t count = less(n - start, EN_REPORT_BLOCK);
        const uint64_t *words;
        if ((status = draw(&source, 2 * start, 2 * count, scratch, &words)) != EN_OK)
            break;
        kernels->respond_hashed(domain, plan, words, words + count, codes + start, buckets, count);
        for (size_t i = 0; i < count; i++, reports += EN_HASH_BYTES) {
            store_little(reports, words[i], 8);
            store_little(reports + 8, buckets[i], 2);
        }
    }
    en_wipe_dead_stack();
    en_wipe(scratch, sizeof scratch);
    en_wipe(buckets, sizeof buckets);
    return status;
}

/* Stream 2, word by word. */
typedef struct {
    stream source;
    size_t available, used;
    en_status status;
    uint64_t words[EN_GROUP_WORDS];
} spare_words;

static uint64_t next_spare(spare_words *spare) {
    const uint64_t *words = spare->words;
    size_t i = spare->used++;
    if (spare->source.randomness.origin == EN_FROM_WORDS)
        return i < spare->available ? spare->source.randomness.words[spare->source.first + i] : 0;
    if (i % EN_GROUP_WORDS == 0 && i > 0 && spare->status == EN_OK)
        spare->status = draw(&spare->source, i, EN_GROUP_WORDS, spare->words, &words);
    return spare->words[i % EN_GROUP_WORDS];
}

/* Decides the marked coins of a group, but for those that equal a tail that goes on. */
static void decide_by_tail(const en_coin *coin, spare_words *spare, uint64_t *ones, uint64_t *undecided) {
    for (uint64_t left = *undecided, bit; left; left ^= bit) {
        bit = left & (UINT64_C(0) - left);
        uint64_t w = next_spare(spare);
        *ones |= w < coin->tail ? bit : 0;
        *undecided ^= w != coin->tail || coin->end == EN_ENDS_IN_TAIL ? bit : 0;
    }
}

typedef struct {
    uint64_t words[EN_COIN_GROUPS * EN_COIN_LEVELS];
    uint64_t ones[EN_COIN_GROUPS];
    uint64_t undecided[EN_COIN_GROUPS];
    spare_words spare;
} coin_scratch;

static en_status flip_blocks(const en_coin *coin, const en_kernels *kernels, en_randomness randomness, uint8_t *ones,
                             uint8_t *undecided, size_t bytes, coin_scratch *scratch) {
    enum { BLOCK_BYTES = 8 * EN_COIN_GROUPS };
    const stream levels = {kernels, randomness, 0, 0};
    for (size_t start = 0; start < bytes; start += BLOCK_BYTES) {
        size_t count = less(bytes - start, BLOCK_BYTES), groups = (count + 7) / 8;
        const uint64_t *words;
        en_status status = draw(&levels, start / 8 * coin->levels, groups * coin->levels, scratch->words, &words);
        if (status != EN_OK)
            return status;
        kernels->flip_coins(coin, words, scratch->ones, scratch->undecided, groups);
        if (count % 8) /* what lies beyond the bytes takes no words */
            scratch->undecided[groups - 1] &= ~(~UINT64_C(0) << 8 * (count % 8));
        if (coin->end != EN_ENDS_IN_LEVELS)
            for (size_t i = 0; i < groups; i++)
                if (scratch->undecided[i])
                    decide_by_tail(coin, &scratch->spare, &scratch->ones[i], &scratch->undecided[i]);
        for (size_t i = 0; i < groups; i++) {
            store_group(ones + start + 8 * i, scratch->ones[i], count - 8 * i);
            if (undecided)
                store_group(undecided + start + 8 * i, scratch->undecided[i], count - 8 * i);
        }
    }
    return scratch->spare.status;
}

/* Of an array of words: where stream 1 begins. */
static size_t level_words(const en_coin *coin, size_t bytes) {
    return (bytes + 7) / 8 * coin->levels;
}

static en_status flip(const en_coin *coin, const en_kernels *kernels, en_randomness randomness, size_t *spare,
                      size_t reports, uint8_t *ones, uint8_t *undecided, size_t bytes) {
    coin_scratch scratch;
    const stream source = {kernels, randomness, 2, level_words(coin, bytes) + reports};
    scratch.spare.source = source;
    scratch.spare.available = *spare;
    scratch.spare.used = 0;
    scratch.spare.status = EN_OK;
    if (randomness.origin != EN_FROM_WORDS && coin->end != EN_ENDS_IN_LEVELS) {
        /* The first group of spare words is drawn whether or not a coin needs one: a coin that is rarely 1 needs one
         * whenever it is, and the time of the draw would tell. */
        const uint64_t *same;
        scratch.spare.status = draw(&source, 0, EN_GROUP_WORDS, scratch.spare.words, &same);
    }
    en_status status = flip_blocks(coin, kernels, randomness, ones, undecided, bytes, &scratch);
    *spare = scratch.spare.used;
    en_wipe_dead_stack();
    en_wipe(&scratch, sizeof scratch);
    return status;
}

en_status en_coins(const en_coin *coin, const en_kernels *kernels, en_randomness randomness, size_t *spare,
                   uint8_t *ones, uint8_t *undecided, size_t bytes) {
    return flip(coin, kernels, randomness, spare, 0, ones, undecided, bytes);
}

en_status en_respond_unary(const en_unary *plan, const en_kernels *kernels, en_randomness randomness, size_t *spare,
                           const int64_t *codes, uint8_t *reports, size_t n) {
    en_status status = flip(&plan->coin, kernels, randomness, spare, n, reports, NULL, n * plan->bytes);
    if (status != EN_OK)
        return status;
    const stream truths = {kernels, randomness, 1, level_words(&plan->coin, n * plan->bytes)};
    uint64_t scratch[EN_REPORT_BLOCK];
    for (size_t start = 0; start < n; start += EN_REPORT_BLOCK) {
        size_t count = less(n - start, EN_REPORT_BLOCK);
        const uint64_t *words;
        if ((status = draw(&truths, start, count, scratch, &words)) != EN_OK)
            break;
        kernels->set_categories(plan, words, codes + start, reports + start * plan->bytes, count);
    }
    en_wipe_dead_stack();
    en_wipe(scratch, sizeof scratch);
    return status;
}

/* Narrow rows are counted several at a time as one wide row, wide ones in strips, so that the kernel's inner loops are
 * long and its counters stay in the first-level cache. */
enum { STRIP = 1024, FLUSH = 255 };

static void count_strip(const en_kernels *kernels, const uint8_t *rows, size_t bytes, size_t strip, size_t stride,
                        size_t width, size_t n, int64_t *counts) {
    uint8_t counters[8 * STRIP];
    for (size_t start = 0; start < n; start += FLUSH) {
        memset(counters, 0, 8 * width);
        kernels->add_columns(rows + start * stride + strip, stride, width, less(n - start, FLUSH), counters);
        for (size_t bit = 0; bit < 8; bit++)
            for (size_t j = 0, column = strip; j < width; j++, column = column + 1 == bytes ? 0 : column + 1)
                counts[8 * column + bit] += counters[bit * width + j];
    }
}

void en_count_columns(const en_kernels *kernels, const uint8_t *rows, size_t bytes, size_t n, int64_t *counts) {
    if (bytes <= STRIP) {
        size_t together = STRIP / bytes, wide = n / together;
        count_strip(kernels, rows, bytes, 0, together * bytes, together * bytes, wide, counts);
        count_strip(kernels, rows + wide * together * bytes, bytes, 0, bytes, bytes, n % together, counts);
        return;
    }
    for (size_t strip = 0; strip < bytes; strip += STRIP)
        count_strip(kernels, rows, bytes, strip, bytes, less(bytes - strip, STRIP), n, counts);
}

/* Bucket y holds the t with ceil(y 2^16 / g) <= t < ceil((y + 1) 2^16 / g): an interval of hash values mod 2^32, which
 * begins at `low` and is `width` long. 2^31 is taken from both sides of the comparison, which then is a signed one. */
void en_count_supports(const en_kernels *kernels, const uint8_t *reports, size_t n, uint32_t buckets, int64_t *supports,
                       size_t categories) {
    uint32_t place[EN_REPORT_BLOCK], step[EN_REPORT_BLOCK];
    int32_t limit[EN_REPORT_BLOCK];
    for (size_t start = 0; start < n; start += EN_REPORT_BLOCK) {
        size_t count = less(n - start, EN_REPORT_BLOCK);
        for (size_t i = 0; i < count; i++, reports += EN_HASH_BYTES) {
            uint32_t y = load_little(reports + 8, 2);
            uint32_t low = ((y << 16) + buckets - 1) / buckets, high = (((y + 1) << 16) + buckets - 1) / buckets;
            int64_t width = y < buckets ? (int64_t)(high - low) << 16 : 0;
            step[i] = load_little(reports, 4);
            place[i] = load_little(reports + 4, 4) - (low << 16) - UINT32_C(0x80000000);
            limit[i] = (int32_t)(width - INT64_C(0x80000000));
        }
        kernels->add_supports(place, step, limit, count, supports, categories);
    }
}
