/* The loop over blocks; the contract is in release.h. */
#include "release.h"

#include "entropy.h"
#include "float_env.h"
#include "platform.h"

typedef struct {
    uint64_t words[EN_BLOCK];
    double noise[EN_BLOCK];
    double slack[EN_BLOCK];
    double x[EN_BLOCK]; /* doubles, widened floats or int64: eight bytes a lane */
    double out[EN_BLOCK];
} scratch_block;

/* The words of samples [start, start + n): a pair of Gaussian samples takes both of its words at an odd end, too. */
static en_status draw_words(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, size_t start,
                            size_t n, scratch_block *scratch, const uint64_t **words) {
    size_t count = plan->family == EN_GAUSSIAN ? n + n % 2 : n;
    size_t drawn = count < EN_DRAWN_WORDS ? count : EN_DRAWN_WORDS;
    size_t groups = (drawn + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS;
    size_t counter = start / EN_BLOCK * (EN_DRAWN_WORDS / EN_GROUP_WORDS * EN_GROUP_BLOCKS);
    *words = scratch->words;
    switch (randomness.origin) {
    case EN_FROM_WORDS:
        *words = randomness.words + start;
        return EN_OK;
    case EN_FROM_KEY:
        kernels->chacha20(randomness.key, (uint32_t)counter, scratch->words, groups);
        break;
    case EN_FROM_SYSTEM:
        if (en_entropy(scratch->words, drawn * sizeof(uint64_t)) != EN_OK)
            return EN_ENTROPY_FAILED;
        break;
    }
    if (count > drawn)
        kernels->spread_words(scratch->words);
    return EN_OK;
}

/* Moves the declined lanes of a block to the list and leaves a public 0 in their place. */
static void set_aside(const en_plan *plan, const uint64_t *words, const scratch_block *scratch, const void *x,
                      void *out, size_t start, size_t n, en_pending_list *pending) {
    size_t half = (n + 1) / 2;
    for (size_t i = 0; i < n; i++) {
        if (en_is_decided(scratch->slack[i]))
            continue;
        en_pending *lane = &pending->lanes[pending->count++];
        lane->index = lane->lane = (int64_t)(start + i);
        lane->word[0] = words[i];
        lane->word[1] = 0;
        if (plan->family == EN_GAUSSIAN) {
            size_t pair = i < half ? i : i - half;
            lane->lane = (int64_t)(start + pair);
            lane->word[0] = words[pair];
            lane->word[1] = words[half + pair];
        }
        memcpy(&lane->x, (const char *)x + 8 * i, 8);
        memset((char *)out + 8 * i, 0, 8);
    }
}

static en_status release_blocks(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, const void *x,
                                void *out, size_t start, size_t n, en_pending_list *pending, size_t *done,
                                scratch_block *scratch) {
    const int is_float32 = plan->form == EN_FLOAT32;
    const size_t width = is_float32 ? sizeof(float) : 8;
    en_noise_kernel *make_noise = kernels->noise[plan->family];
    en_release_kernel *round_to_grid =
        plan->family == EN_DISCRETE_LAPLACE ? kernels->release_signed_int64 : kernels->release[plan->form];

    for (; start < n; start += EN_BLOCK) {
        size_t lanes = n - start < EN_BLOCK ? n - start : EN_BLOCK;
        if (pending->capacity - pending->count < lanes)
            break;

        const void *block_x = (const char *)x + width * start;
        void *block_out = (char *)out + width * start;

        const uint64_t *words;
        en_status status = draw_words(plan, kernels, randomness, start, lanes, scratch, &words);
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
        if (!round_to_grid(plan, words, scratch->noise, scratch->slack, block_x, rounded, lanes))
            set_aside(plan, words, scratch, block_x, rounded, start, lanes, pending);
        if (is_float32)
            kernels->narrow(scratch->out, block_out, lanes);
    }
    *done = start < n ? start : n;
    return EN_OK;
}

/* Overwrites what the functions called before left on the stack: registers with key and keystream that did not fit. */
EN_NEVER_INLINE void wipe_dead_stack(void) {
    unsigned char frames[8192];
    en_wipe(frames, sizeof frames);
}

en_status en_release(const en_plan *plan, const en_kernels *kernels, en_randomness randomness, const void *x, void *out,
                     size_t start, size_t n, en_pending_list *pending, size_t *done) {
    scratch_block scratch;
    en_float_env found = en_float_env_set();
    en_status status = release_blocks(plan, kernels, randomness, x, out, start, n, pending, done, &scratch);
    en_float_env_restore(found);
    wipe_dead_stack();

    size_t touched =
        n - start < EN_BLOCK ? (n - start + EN_GROUP_WORDS - 1) / EN_GROUP_WORDS * EN_GROUP_WORDS : EN_BLOCK;
    en_wipe(scratch.words, touched * 8);
    en_wipe(scratch.noise, touched * 8);
    en_wipe(scratch.slack, touched * 8);
    en_wipe(scratch.x, touched * 8);
    en_wipe(scratch.out, touched * 8);
    return status;
}
