/* ChaCha20 keystream (RFC 8439), sixteen blocks side by side, as 64-bit words. Included once per instruction set.
 *
 * Contract: en_chacha20(key, counter, words, groups) writes groups * EN_GROUP_WORDS words: the keystream of blocks
 *   counter .. counter + 16 * groups - 1 of the key with an all-zero nonce. The caller draws a fresh key for every
 *   range of blocks and never uses a block twice, so no nonce is needed.
 * Layout: within a group of sixteen blocks, 32-bit word r of block b stands at position 16*r + b. This public
 *   permutation of the RFC's byte order is how the state lies in vector registers; undoing it would cost a tenth of the
 *   time and change nothing about the randomness. Every instruction set writes the same words.
 * Method: each vector register holds one state word of EN_LANES blocks. With a machine word as the "vector" the same
 *   text is the portable fallback for compilers without vector types. Two such sets of blocks advance in turns, a round
 *   each: the quarter rounds of one set wait for each other at the end of its round, and the processor fills that time
 *   with the other set. That is worth more than a state that stays in the registers.
 */
#ifndef EN_CHACHA20_H
#define EN_CHACHA20_H

#include "isa.h"
#include "kernels.h"

#if defined(__GNUC__)
typedef uint32_t en_lanes __attribute__((vector_size(EN_VECTOR_BYTES)));
enum { EN_LANES = EN_VECTOR_BYTES / 4 };
#else
typedef uint32_t en_lanes;
enum { EN_LANES = 1 };
#endif

EN_INLINE en_lanes en_rotate(en_lanes x, int bits) {
    return (x << bits) | (x >> (32 - bits));
}

#if EN_VECTOR_BYTES >= 32
/* Whole bytes move in one shuffle. AVX2 has no rotation at all, and AVX-512 has one port for rotations, which the other
 * two distances keep busy. */
#include <immintrin.h>
#define EN_BYTE_ROTATION_16 13, 12, 15, 14, 9, 8, 11, 10, 5, 4, 7, 6, 1, 0, 3, 2
#define EN_BYTE_ROTATION_8 14, 13, 12, 15, 10, 9, 8, 11, 6, 5, 4, 7, 2, 1, 0, 3
#if EN_VECTOR_BYTES == 64
#define EN_SHUFFLE(x, order) (en_lanes) _mm512_shuffle_epi8((__m512i)(x), _mm512_broadcast_i32x4(_mm_set_epi8(order)))
#else
#define EN_SHUFFLE(x, order)                                                                                           \
    (en_lanes) _mm256_shuffle_epi8((__m256i)(x), _mm256_broadcastsi128_si256(_mm_set_epi8(order)))
#endif
#define en_rotate16(x) EN_SHUFFLE(x, EN_BYTE_ROTATION_16)
#define en_rotate8(x) EN_SHUFFLE(x, EN_BYTE_ROTATION_8)
#else
#define en_rotate16(x) en_rotate(x, 16)
#define en_rotate8(x) en_rotate(x, 8)
#endif

EN_INLINE void en_quarter_round(en_lanes *a, en_lanes *b, en_lanes *c, en_lanes *d) {
    *a += *b;
    *d = en_rotate16(*d ^ *a);
    *c += *d;
    *b = en_rotate(*b ^ *c, 12);
    *a += *b;
    *d = en_rotate8(*d ^ *a);
    *c += *d;
    *b = en_rotate(*b ^ *c, 7);
}

EN_INLINE en_lanes en_broadcast(uint32_t value) {
#if defined(__GNUC__)
    return (en_lanes){0} + value;
#else
    return value;
#endif
}

/* The first round works on the four columns of the state by themselves, and only column 0 holds the counter: for one
 * key the other three are the same in every block. */
EN_INLINE void en_first_columns(const uint32_t key[8], en_lanes start[16], en_lanes v[16]) {
    start[0] = en_broadcast(0x61707865u); /* "expand 32-byte k" */
    start[1] = en_broadcast(0x3320646eu);
    start[2] = en_broadcast(0x79622d32u);
    start[3] = en_broadcast(0x6b206574u);
    for (int i = 0; i < 8; i++)
        start[4 + i] = en_broadcast(key[i]);
    start[12] = start[13] = start[14] = start[15] = en_broadcast(0);
    for (int i = 0; i < 16; i++)
        v[i] = start[i];
    en_quarter_round(&v[1], &v[5], &v[9], &v[13]);
    en_quarter_round(&v[2], &v[6], &v[10], &v[14]);
    en_quarter_round(&v[3], &v[7], &v[11], &v[15]);
}

EN_INLINE void en_column_round(en_lanes v[16]) {
    en_quarter_round(&v[0], &v[4], &v[8], &v[12]);
    en_quarter_round(&v[1], &v[5], &v[9], &v[13]);
    en_quarter_round(&v[2], &v[6], &v[10], &v[14]);
    en_quarter_round(&v[3], &v[7], &v[11], &v[15]);
}

EN_INLINE void en_diagonal_round(en_lanes v[16]) {
    en_quarter_round(&v[0], &v[5], &v[10], &v[15]);
    en_quarter_round(&v[1], &v[6], &v[11], &v[12]);
    en_quarter_round(&v[2], &v[7], &v[8], &v[13]);
    en_quarter_round(&v[3], &v[4], &v[9], &v[14]);
}

/* `sets` (1 or 2) times EN_LANES blocks: number `block` and on of the call. */
EN_INLINE void en_chacha20_sets(const en_lanes start[16], const en_lanes first[16], uint32_t counter, uint32_t block,
                                uint32_t *out, const int sets) {
    uint32_t counters[2 * EN_LANES];
    for (int lane = 0; lane < 2 * EN_LANES; lane++)
        counters[lane] = counter + block + (uint32_t)lane;
    en_lanes count[2];
    memcpy(count, counters, sizeof count);

    en_lanes v[2][16];
    for (int j = 0; j < sets; j++) {
        for (int i = 0; i < 16; i++)
            v[j][i] = i == 12 ? count[j] : first[i];
        en_quarter_round(&v[j][0], &v[j][4], &v[j][8], &v[j][12]);
        en_diagonal_round(v[j]);
    }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 9 /* clang does as well with a loop, and compiles it ten times as fast */
#endif
    for (int i = 0; i < 9; i++) {
        for (int j = 0; j < sets; j++)
            en_column_round(v[j]);
        for (int j = 0; j < sets; j++)
            en_diagonal_round(v[j]);
    }
    for (int j = 0; j < sets; j++, block += EN_LANES) {
        uint32_t *set = out + 2 * EN_GROUP_WORDS * (block / EN_GROUP_BLOCKS) + block % EN_GROUP_BLOCKS;
        for (int i = 0; i < 16; i++) {
            v[j][i] += i == 12 ? count[j] : start[i];
            memcpy(set + EN_GROUP_BLOCKS * i, &v[j][i], sizeof v[j][i]);
        }
    }
}

EN_TARGET static void en_chacha20(const uint8_t *key_bytes, uint32_t counter, uint64_t *words, size_t groups) {
    uint32_t key[8];
#if defined(__GNUC__)
#pragma GCC unroll 8 /* else gcc makes vectors of the bytes, in a hundred instructions */
#endif
    for (int i = 0; i < 8; i++) /* little-endian, whatever the machine is */
        key[i] = (uint32_t)key_bytes[4 * i] | (uint32_t)key_bytes[4 * i + 1] << 8 |
                 (uint32_t)key_bytes[4 * i + 2] << 16 | (uint32_t)key_bytes[4 * i + 3] << 24;
    en_lanes start[16], first[16];
    en_first_columns(key, start, first);
    uint32_t *out = (uint32_t *)words;
    const uint32_t blocks = EN_GROUP_BLOCKS * (uint32_t)groups;
    uint32_t block = 0;
    for (; block + 2 * EN_LANES <= blocks; block += 2 * EN_LANES)
        en_chacha20_sets(start, first, counter, block, out, 2);
    if (EN_GROUP_BLOCKS % (2 * EN_LANES) != 0 && block < blocks)
        en_chacha20_sets(start, first, counter, block, out, 1);
    en_wipe(key, sizeof key);
    en_wipe(start, sizeof start);
    en_wipe(first, sizeof first);
}

#endif
