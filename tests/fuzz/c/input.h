/* What a fuzz target makes its case of: the input's bytes first, and when they are used up a stream that they seed.
 *
 * A target's LLVMFuzzerTestOneInput reads parameters within the core's preconditions, data of any bit pattern and any
 * words, and requires what holds for all of them. Buffers are allocated with their exact size, so that AddressSanitizer
 * sees an access to one element too many. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu.h"
#include "platform.h"
#include "random.h"

/* The number of a fault that the target has, which the runner must report: see tests/fuzz/test_core.py. */
#ifndef PLANTED
#define PLANTED 0
#endif

enum { MAX_VARIANTS = 3 };

typedef struct {
    const uint8_t *bytes;
    size_t left;
    uint64_t state;
} input;

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static inline void require(int condition, const char *message) {
    if (condition)
        return;
    fprintf(stderr, "violated: %s\n", message);
    abort();
}

static inline input input_of(const uint8_t *bytes, size_t size) {
    input in = {bytes, size, 0xcbf29ce484222325u};
    for (size_t i = 0; i < size; i++)
        in.state = (in.state ^ bytes[i]) * 0x100000001b3u;
    return in;
}

static inline uint64_t next_word(input *in) {
    uint64_t word;
    if (in->left >= sizeof word) {
        memcpy(&word, in->bytes, sizeof word);
        in->bytes += sizeof word;
        in->left -= sizeof word;
        return word;
    }
    return next_random(&in->state);
}

/* A number from low to high; of one byte or two where that is enough, so that parameters leave bytes for the data. */
static inline int64_t between(input *in, int64_t low, int64_t high) {
    const uint64_t span = (uint64_t)high - (uint64_t)low;
    uint64_t chosen = 0;
    if (span < 1 << 16 && in->left >= 2) {
        chosen = in->bytes[0];
        if (span >= 1 << 8)
            chosen |= (uint64_t)in->bytes[1] << 8;
        in->bytes += span < 1 << 8 ? 1 : 2;
        in->left -= span < 1 << 8 ? 1 : 2;
    } else {
        chosen = next_word(in);
    }
    return (int64_t)((uint64_t)low + (span == UINT64_MAX ? chosen : chosen % (span + 1)));
}

/* Lengths around the blocks of 64, 512 and 640 and short ones are the interesting ones. */
static inline size_t read_length(input *in, size_t most) {
    static const size_t around[] = {64, 128, 512, 640, 1024, 1280};
    const size_t from = around[between(in, 0, 5)];
    const size_t n = between(in, 0, 7) ? (size_t)between(in, 0, 40) : from - 2 + (size_t)between(in, 0, 4);
    return n < most ? n : most;
}

static inline void *allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL)
        abort();
    return memory;
}

static inline void *zeros(size_t size) {
    return memset(allocate(size), 0, size);
}

static inline void *copy_of(const void *memory, size_t size) {
    return size ? memcpy(allocate(size), memory, size) : allocate(0);
}

/* Words that nobody draws are among them: those at the ends of the unit interval. */
static inline uint64_t *read_words(input *in, size_t count) {
    uint64_t *words = allocate(8 * count);
    const int64_t kind = between(in, 0, 7);
    for (size_t i = 0; i < count; i++) {
        const uint64_t word = next_word(in);
        words[i] = kind == 0   ? 0
                   : kind == 1 ? UINT64_MAX
                   : kind == 2 ? word >> word % 64
                   : kind == 3 ? ~(word >> word % 64)
                               : word;
    }
    return words;
}

/* Any bit pattern, or a number of the size of `unit`, or a special one. */
static inline double read_double(input *in, double unit) {
    const double special[] = {0.0,     -0.0,        (double)NAN, (double)INFINITY, -(double)INFINITY,
                              DBL_MAX, -DBL_MAX,    DBL_MIN,     -DBL_MIN,         0x1p-1074,
                              unit,    -1.5 * unit, 2.5 * unit};
    const uint64_t word = next_word(in);
    switch (word % 4) {
    case 0:
        return special[word / 4 % (sizeof special / sizeof *special)];
    case 1:
        return (double)(int64_t)word * 0x1p-60 * unit;
    default:
        return en_from_bits(word >> 2 | word << 62);
    }
}

static inline float read_float(input *in, double unit) {
    const uint64_t word = next_word(in);
    uint32_t bits = (uint32_t)(word >> 32);
    float value;
    memcpy(&value, &bits, sizeof value);
    if (word % 2)
        return value;
    const double wide = read_double(in, unit);
    /* The conversion of what is too large for a float would be undefined. */
    return fabs(wide) > (double)FLT_MAX && !isinf(wide) ? FLT_MAX : (float)wide;
}

static inline int64_t read_integer(input *in) {
    static const int64_t whole[] = {
        0, 1, -1, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, (INT64_C(1) << 53) + 1};
    const uint64_t word = next_word(in);
    return word % 4 == 0 ? whole[word / 4 % 8] : word % 4 == 1 ? (int64_t)word >> word / 4 % 64 : (int64_t)word;
}

/* The output of the first instruction set, which is kept; every other one is compared with it and freed. */
static inline void *agreed(void *first, void *output, size_t size, const char *message) {
    if (first == NULL)
        return output;
    require(size == 0 || memcmp(first, output, size) == 0, message);
    free(output);
    return first;
}

/* The instruction sets of this machine. */
static inline size_t read_kernels(const en_kernels *kernels[MAX_VARIANTS]) {
    size_t available = 0;
    if (en_variant_count() > MAX_VARIANTS)
        abort();
    for (size_t v = 0; v < en_variant_count(); v++)
        available += en_variant_kernels(v, &kernels[available]) == EN_OK;
    return available;
}

#endif
