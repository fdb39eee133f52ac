/* Random words as uniform variables, in doubles.
 *
 * A word fixes the first 63 or 64 bits of a uniform U in (0, 1); U is the whole cell of numbers that begin with those
 * bits, and the kernels compute with the cell's midpoint. The midpoint has up to 65 significant bits, so it is kept as
 * an exact sum of two doubles. OR-ing 32 bits under a fixed exponent and subtracting that power of two converts without
 * the 64-bit integer conversions that AVX2 lacks.
 */
#ifndef EN_UNIFORM_H
#define EN_UNIFORM_H

#include "isa.h"

#define EN_LOW32 0xffffffffu
#define EN_SIGN 0x8000000000000000u

/* The midpoint's upper part: the word's upper 32 bits times 2^-32. */
EN_INLINE double en_uniform_high(uint64_t word) {
    return en_from_bits(0x4130000000000000u | word >> 32) - 0x1p20;
}

/* The lower part of the midpoint (J + 1/2) 2^-63, J = word >> 1: the word's lowest bit is not part of U. */
EN_INLINE double en_uniform_low63(uint64_t word) {
    return en_from_bits(0x3f30000000000000u | (word & EN_LOW32) | 1) - 0x1p-12;
}

/* The lower part of the midpoint (word + 1/2) 2^-64. */
EN_INLINE double en_uniform_low64(uint64_t word) {
    return en_from_bits(0x3f20000000000000u | (word & EN_LOW32) << 1 | 1) - 0x1p-13;
}

/* The signed fraction f in (-1/2, 1/2) of a word without its two highest bits: the midpoint (tau + 2) 2^-64 of a cell of
 * width 2^-62, tau = word << 2 as a signed integer, rounded once. */
EN_INLINE double en_signed_fraction(uint64_t word) {
    uint64_t tau = (word << 2) ^ EN_SIGN; /* biased by 1/2 to be unsigned */
    double high = en_from_bits(0x4130000000000000u | tau >> 32) - (0x1p20 + 0.5);
    double low = en_from_bits(0x3f30000000000000u | (tau & EN_LOW32) | 2) - 0x1p-12;
    return high + low;
}

#endif
