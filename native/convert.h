/* Random 64-bit integers as doubles, without rounding.
 *
 * AVX-512 and AArch64 convert vectors of 64-bit integers in one instruction. Elsewhere the bits are OR-ed under a fixed
 * exponent and the power of two is subtracted again, with the same result.
 */
#ifndef EN_CONVERT_H
#define EN_CONVERT_H

#include "isa.h"

#if EN_VECTOR_BYTES == 64 || defined(__aarch64__)
#define EN_CONVERTS_INT64 1
#else
#define EN_CONVERTS_INT64 0
#endif

#define EN_SIGN UINT64_C(0x8000000000000000)
#define EN_BITS_OF_TWO64 UINT64_C(0x43f0000000000000)

/* The middle of the integers that share all but the `spare` lowest bits of n; 12 < spare < 64. */
EN_INLINE double en_middle(uint64_t n, unsigned spare) {
    const uint64_t half = UINT64_C(1) << (spare - 1);
    const uint64_t kept = UINT64_C(0) - 2 * half;
#if EN_CONVERTS_INT64
    return (double)((n & kept) | half);
#else
    return en_from_bits((n >> 12 & kept >> 12) | (EN_BITS_OF_TWO64 | half >> 12)) - 0x1p64;
#endif
}

/* The same with n in two's complement. */
EN_INLINE double en_signed_middle(uint64_t n, unsigned spare) {
    const uint64_t half = UINT64_C(1) << (spare - 1);
    const uint64_t kept = UINT64_C(0) - 2 * half;
#if EN_CONVERTS_INT64
    return (double)(int64_t)((n & kept) | half);
#else
    return en_from_bits((n >> 12 & kept >> 12) ^ (EN_BITS_OF_TWO64 | EN_SIGN >> 12 | half >> 12)) - 0x1.8p64;
#endif
}

/* A multiple of 2^52 below 2^63. */
EN_INLINE double en_from_exponent_field(uint64_t field) {
#if EN_CONVERTS_INT64
    return (double)(int64_t)field;
#else
    return en_from_bits(UINT64_C(0x4670000000000000) | field >> 52) - 0x1p104;
#endif
}

#endif
