/* The loop over blocks; the contract is in release.h. */
#include "release.h"

#include "entropy.h"
#include "float_env.h"
#include "platform.h"

typedef struct {
    uint64_t words[3 * EN_BLOCK / 2 + EN_GROUP_WORDS]; /* whole groups are drawn, so up to one less word is too many */
    double noise[EN_BLOCK];
    double slack[EN_BLOCK];
    double x[EN_BLOCK]; /* doubles, widened floats or int64: eight bytes a lane */
    double out[EN_BLOCK];
} scratch_block;

/* Proposals that replace rejected ones, and what the list must know of the lanes that took one. */
typedef struct {
    uint64_t words[3 * EN_BLOCK / 2 + EN_GROUP_WORDS];
    double noise[EN_BLOCK];
    double slack[EN_BLOCK];
    uint16_t sample[EN_BLOCK + 1];   /* rejected lanes of the block */
    uint16_t trial[EN_BLOCK];        /* of each lane of the block: its last proposal, */
    uint16_t cosine[EN_BLOCK];       /* the lane it was paired with, */
    uint64_t lane_word[EN_BLOCK][3]; /* and its words; unless it is proposal 0 */
} fresh_proposals;

/* Families whose samples come in pairs take two words a pair, and the discrete Gaussian a third one. */
static int is_paired(en_family family) {
    return family == EN_GAUSSIAN || family == EN_DISCRETE_GAUSSIAN;
}

size_t en_word_count(en_family family, size_t n) {
    size_t paired = n + (is_paired(family) ? n % 2 : 0);
    return family == EN_DISCRETE_GAUSSIAN ? paired + paired / 2 : paired;
}

/* Where a part of a block's words begins in the keystream: part 0 has its words, 1 its third words, each later one fresh
 * proposals. A block has the counters of as many groups as it can need, and a range has fewer than 2^14 blocks, so that
 * parts do not meet. */
static size_t first_counter(size_t part, size_t start, size_t groups) {
    return part << 24 | start / EN_BLOCK * (groups * EN_GROUP_BLOCKS);
}

/* Fills count words, and up to a group. */
static en_status draw(const en_kernels *kernels, en_randomness randomness, size_t counter, size_t count,
                      uint64_t *words) {
    if (randomness.origin == EN_FROM_SYSTEM)
        return en_entropy(words, count * sizeof(uint64_t));
    kernels->chacha20(randomness.key, (uint32_t)counter, words, (count + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS);
    return EN_OK;
}

/* The words of proposal `trial` for n samples of the block that begins at sample `start` of `range`: in `words`, or
 * where they are given. */
static en_status draw_words(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, size_t range,
                            size_t start, size_t trial, size_t n, uint64_t *words, const uint64_t **drawn_words) {
    enum { GROUPS = EN_DRAWN_WORDS / EN_GROUP_WORDS };
    const size_t all = en_word_count(plan->family, n);
    const size_t count = n + (is_paired(plan->family) ? n % 2 : 0);
    *drawn_words = words;
    if (randomness.origin == EN_FROM_WORDS) {
        size_t first = trial * en_word_count(plan->family, range) + en_word_count(plan->family, start);
        *drawn_words = randomness.words + first;
        return EN_OK;
    }
    if (trial > 0) /* few lanes, not worth their spare bits */
        return draw(kernels, randomness, first_counter(1 + trial, start, 2 * GROUPS), all, words);
    const size_t drawn = count < EN_DRAWN_WORDS ? count : EN_DRAWN_WORDS;
    en_status status = draw(kernels, randomness, first_counter(0, start, GROUPS), drawn, words);
    if (status == EN_OK && count > drawn)
        kernels->spread_words(words);
    if (status == EN_OK && all > count)
        status = draw(kernels, randomness, first_counter(1, start, GROUPS), all - count, words + count);
    return status;
}

/* The words of sample i of a block that has `half` pairs. */
static void pair_words(const en_plan *plan, const uint64_t *words, size_t half, size_t i, uint64_t word[3]) {
    size_t pair = i < half ? i : i - half;
    word[0] = words[pair];
    word[1] = words[half + pair];
    word[2] = 0;
    if (plan->family == EN_DISCRETE_GAUSSIAN) {
        uint64_t third = words[2 * half + pair];
        word[2] = i < half ? third & UINT64_C(0xffffffff00000000) : third << 32;
    }
}

/* Moves the declined lanes of a block to the list and leaves a public 0 in their place. */
static void set_aside(const en_plan *plan, const uint64_t *words, const scratch_block *scratch,
                      const fresh_proposals *fresh, const void *x, void *out, size_t start, size_t n,
                      en_pending_list *pending) {
    const size_t half = (n + 1) / 2;
    for (size_t i = 0; i < n; i++) {
        if (en_is_decided(scratch->slack[i]))
            continue;
        en_pending *lane = &pending->lanes[pending->count++];
        memset(lane, 0, sizeof *lane);
        lane->index = lane->lane = (int64_t)(start + i);
        if (fresh && fresh->trial[i]) {
            lane->lane = (int64_t)(start + fresh->cosine[i]) | (int64_t)fresh->trial[i] << 48;
            memcpy(lane->word, fresh->lane_word[i], sizeof lane->word);
        } else if (is_paired(plan->family)) {
            size_t pair = i < half ? i : i - half;
            lane->lane = (int64_t)(start + pair);
            pair_words(plan, words, half, i, lane->word);
        } else {
            lane->word[0] = words[i];
        }
        memcpy(&lane->x, (const char *)x + 8 * i, 8);
        memset((char *)out + 8 * i, 0, 8);
    }
}

static int any_rejected(const double *slack, size_t n) {
    int any = 0;
    for (size_t i = 0; i < n; i++)
        any |= en_is_rejected(slack[i]);
    return any;
}

/* Gives the rejected lanes of a block fresh proposals until none is rejected. The data plays no part in it. */
static en_status propose_again(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, size_t range,
                               size_t start, size_t n, scratch_block *scratch, fresh_proposals *fresh) {
    size_t trials = EN_MOST_TRIALS;
    if (randomness.origin == EN_FROM_WORDS && randomness.word_count / en_word_count(plan->family, range) < trials)
        trials = randomness.word_count / en_word_count(plan->family, range);
    memset(fresh->trial, 0, sizeof fresh->trial);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        fresh->sample[count] = (uint16_t)i; /* stays if the lane is rejected */
        count += (size_t)en_is_rejected(scratch->slack[i]);
    }
    for (size_t trial = 1; count > 0 && trial < trials; trial++) {
        const uint64_t *words;
        en_status status = draw_words(plan, kernels, randomness, range, start, trial, count, fresh->words, &words);
        if (status != EN_OK)
            return status;
        kernels->noise[plan->family](plan, words, fresh->noise, fresh->slack, count);
        const size_t half = (count + 1) / 2;
        for (size_t j = 0; j < count; j++) {
            const size_t i = fresh->sample[j];
            scratch->noise[i] = fresh->noise[j];
            scratch->slack[i] = fresh->slack[j];
            fresh->trial[i] = (uint16_t)trial;
            fresh->cosine[i] = fresh->sample[j < half ? j : j - half];
            pair_words(plan, words, half, j, fresh->lane_word[i]);
        }
        size_t left = 0;
        for (size_t j = 0; j < count; j++) {
            fresh->sample[left] = fresh->sample[j];
            left += (size_t)en_is_rejected(fresh->slack[j]);
        }
        count = left;
    }
    return EN_OK;
}

static en_status release_blocks(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, const void *x,
                                void *out, size_t start, size_t n, en_pending_list *pending, size_t *done,
                                scratch_block *scratch, fresh_proposals *fresh) {
    const int is_float32 = plan->form == EN_FLOAT32;
    const size_t width = is_float32 ? sizeof(float) : 8;
    en_noise_kernel *make_noise = kernels->noise[plan->family];
    en_release_kernel *round_to_grid = en_rounding(plan, kernels);

    for (; start < n; start += EN_BLOCK) {
        size_t lanes = n - start < EN_BLOCK ? n - start : EN_BLOCK;
        if (pending->capacity - pending->count < lanes)
            break;

        const void *block_x = (const char *)x + width * start;
        void *block_out = (char *)out + width * start;

        const uint64_t *words;
        en_status status = draw_words(plan, kernels, randomness, n, start, 0, lanes, scratch->words, &words);
        if (status != EN_OK)
            return status;

        void *rounded = is_float32 ? scratch->out : block_out;
        if (is_float32)
            kernels->widen(block_x, scratch->x, lanes);
        else if (x == out)
            memcpy(scratch->x, block_x, width * lanes);
        if (is_float32 || x == out)
            block_x = scratch->x;

        make_noise(plan, words, scratch->noise, scratch->slack, lanes);
        const int again = plan->family == EN_DISCRETE_GAUSSIAN && any_rejected(scratch->slack, lanes);
        if (again)
            status = propose_again(plan, kernels, randomness, n, start, lanes, scratch, fresh);
        if (status != EN_OK)
            return status;
        if (!round_to_grid(plan, words, scratch->noise, scratch->slack, block_x, rounded, lanes))
            set_aside(plan, words, scratch, again ? fresh : NULL, block_x, rounded, start, lanes, pending);
        if (is_float32)
            kernels->narrow(scratch->out, block_out, lanes);
    }
    *done = start < n ? start : n;
    return EN_OK;
}

/* The blocks of discrete Gaussian samples, with more scratch. A function of its own, so that nobody else pays for it. */
EN_NEVER_INLINE en_status release_with_proposals(const en_plan *plan, const en_kernels *kernels,
                                                 en_randomness randomness, const void *x, void *out, size_t start,
                                                 size_t n, en_pending_list *pending, size_t *done,
                                                 scratch_block *scratch) {
    fresh_proposals fresh;
    en_status status = release_blocks(plan, kernels, randomness, x, out, start, n, pending, done, scratch, &fresh);
    en_wipe(&fresh, sizeof fresh);
    return status;
}

en_status en_release(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, const void *x, void *out,
                     size_t start, size_t n, en_pending_list *pending, size_t *done) {
    scratch_block scratch;
    en_float_env found = en_float_env_set();
    en_status status =
        plan->family == EN_DISCRETE_GAUSSIAN
            ? release_with_proposals(plan, kernels, randomness, x, out, start, n, pending, done, &scratch)
            : release_blocks(plan, kernels, randomness, x, out, start, n, pending, done, &scratch, NULL);
    en_float_env_restore(found);
    en_wipe_dead_stack();

    const size_t lanes = n - start < EN_BLOCK ? n - start : EN_BLOCK;
    const size_t touched = (lanes + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS * EN_GROUP_WORDS;
    const size_t words = en_word_count(plan->family, lanes) + EN_GROUP_WORDS;
    en_wipe(scratch.words, (words < sizeof scratch.words / 8 ? words : sizeof scratch.words / 8) * 8);
    en_wipe(scratch.noise, touched * 8);
    en_wipe(scratch.slack, touched * 8);
    en_wipe(scratch.x, touched * 8);
    en_wipe(scratch.out, touched * 8);
    return status;
}
