/* Random words as uniform variables, in doubles.
 *
 * The upper 51 bits of a word count. They fix the first bits of a uniform U in (0, 1); U is the whole cell of numbers
 * that begin with those bits, and the kernels compute with the cell's midpoint, which 51 bits leave exact in a double.
 * It is given as the integer 2^64 U; that power of two goes into the constants it meets.
 * More bits at once would narrow the cells below the kernels' own rounding errors, and cost keystream.
 */
#ifndef EN_UNIFORM_H
#define EN_UNIFORM_H

#include "convert.h"

#define EN_SPARE 0x1fffu /* the bits of a word that do not count */

/* 2^64 times the midpoint (J + 1/2) 2^-51, J the upper 51 bits. */
EN_INLINE double en_uniform51(uint64_t word) {
    return en_middle(word, 13);
}

/* 2^64 times the midpoint (J + 1/2) 2^-50, J the upper 50 bits; bit 13 of the word is left for a sign. */
EN_INLINE double en_uniform50(uint64_t word) {
    return en_middle(word, 14);
}

/* 2^64 times the signed fraction f in (-1/2, 1/2) of a word without its two highest bits: the midpoint of a cell of
 * width 2^-49. */
EN_INLINE double en_signed_fraction(uint64_t word) {
    return en_signed_middle(word << 2, 15);
}

#endif
