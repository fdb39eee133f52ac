/* The loops over blocks; the contract is in counts.h. */
#include "counts.h"

#include "float_env.h"

enum { BLOCK = 512 };

#define WIDEN_CODES(type)                                                                                              \
    static void widen_##type(const en_strided *codes, size_t start, size_t n, int64_t *wide) {                         \
        for (size_t i = 0; i < n; i++) {                                                                               \
            type##_t code;                                                                                             \
            memcpy(&code, en_item(codes, start + i), sizeof code);                                                     \
            wide[i] = code;                                                                                            \
        }                                                                                                              \
    }

WIDEN_CODES(int8)
WIDEN_CODES(int16)
WIDEN_CODES(int32)
WIDEN_CODES(uint8)
WIDEN_CODES(uint16)
WIDEN_CODES(uint32)

static const int64_t *codes_at(en_codes type, const en_strided *codes, size_t start, size_t n, int64_t *scratch) {
    switch (type) {
    case EN_CODES_INT8:
        widen_int8(codes, start, n, scratch);
        break;
    case EN_CODES_INT16:
        widen_int16(codes, start, n, scratch);
        break;
    case EN_CODES_INT32:
        widen_int32(codes, start, n, scratch);
        break;
    case EN_CODES_UINT8:
        widen_uint8(codes, start, n, scratch);
        break;
    case EN_CODES_UINT16:
        widen_uint16(codes, start, n, scratch);
        break;
    case EN_CODES_UINT32:
        widen_uint32(codes, start, n, scratch);
        break;
    case EN_CODES_INT64:
        return en_items(codes, 8, start, n, scratch);
    }
    return scratch;
}

/* One for a code within the groups, at its place; 0 for another, at place 0. */
static inline unsigned inside(int64_t code, size_t groups, uint64_t *place) {
    const int is_inside = (uint64_t)code < groups;
    *place = en_pick(is_inside, (uint64_t)code, 0);
    return (unsigned)is_inside;
}

/* A counter that is written and read again soon waits for the processor's store buffer. With few groups that is often:
 * so the items take turns among several tables. They count 32 bits, as often as that is enough. */
enum { TABLES = 4, FEW = 1024 };
#define MOST_COUNTED (UINT64_C(1) << 31)

static void count_few(en_codes type, const en_strided *codes, size_t first, size_t end, size_t groups,
                      int64_t *counts) {
    uint32_t table[TABLES][FEW];
    int64_t scratch[BLOCK];
    uint64_t place[TABLES];
    for (size_t k = 0; k < TABLES; k++)
        memset(table[k], 0, groups * sizeof **table);
    for (size_t start = first; start < end; start += BLOCK) {
        const size_t n = en_less(end - start, BLOCK);
        const int64_t *code = codes_at(type, codes, start, n, scratch);
        size_t i = 0;
        for (; i + TABLES <= n; i += TABLES)
            for (size_t k = 0; k < TABLES; k++) {
                const unsigned one = inside(code[i + k], groups, &place[k]);
                table[k][place[k]] += one;
            }
        for (; i < n; i++) {
            const unsigned one = inside(code[i], groups, &place[0]);
            table[0][place[0]] += one;
        }
    }
    for (size_t k = 0; k < TABLES; k++)
        for (size_t c = 0; c < groups; c++)
            counts[c] += table[k][c];
    en_wipe(table, sizeof table);
    en_wipe(scratch, sizeof scratch);
}

static void count_many(en_codes type, const en_strided *codes, size_t groups, int64_t *counts) {
    int64_t scratch[BLOCK];
    for (size_t start = 0; start < codes->n; start += BLOCK) {
        const size_t n = en_less(codes->n - start, BLOCK);
        const int64_t *code = codes_at(type, codes, start, n, scratch);
        for (size_t i = 0; i < n; i++) {
            uint64_t place;
            const unsigned one = inside(code[i], groups, &place);
            counts[place] += one;
        }
    }
    en_wipe(scratch, sizeof scratch);
}

void en_count_codes(en_codes type, const en_strided *codes, size_t groups, int64_t *counts) {
    if (groups == 0)
        return;
    if (groups > FEW || codes->n < groups)
        count_many(type, codes, groups, counts);
    else
        for (size_t start = 0; start < codes->n; start += MOST_COUNTED)
            count_few(type, codes, start, start + en_less(codes->n - start, MOST_COUNTED), groups, counts);
}

void en_bin_values(const en_kernels *kernels, en_values type, const en_strided *x, const void *edges, size_t count,
                   int64_t *out) {
    uint64_t copy[BLOCK], scratch[BLOCK];
    en_float_env found = en_float_env_set();
    for (size_t start = 0; start < x->n; start += BLOCK) {
        const size_t n = en_less(x->n - start, BLOCK);
        const void *values = en_items(x, type == EN_VALUES_FLOAT32 ? 4 : 8, start, n, copy);
        kernels->bin[type](values, edges, count, scratch, out + start, n);
    }
    en_float_env_restore(found);
    en_wipe_dead_stack();
    en_wipe(copy, sizeof copy);
    en_wipe(scratch, sizeof scratch);
}
