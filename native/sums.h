/* Exact sums of quantised values, for each of several groups.
 *
 * Contract   Values as in quantize.h. A group is a code 0 .. groups - 1; values of other codes are dropped. With codes =
 *            NULL there is one group. All results are added to what the arrays hold:
 *              counts    int64 a group: values that count
 *              sums      two words a group, the lower and the higher of a 128-bit integer in two's complement
 *              squares   the same, of the squared distances of quantize.h
 *            128 bits do not overflow, for fewer than 2^64 values of 2^63 in magnitude.
 *            Scratch copies of data are wiped before returning. No allocation: 25 kB of stack.
 * Timing     What is done for a value does not depend on it. But adding to a group's totals is an access to memory at the
 *            group's place, which is what grouping means: who watches the caches sees codes. Values are not seen.
 */
#ifndef EN_SUMS_H
#define EN_SUMS_H

#include "kernels.h"
#include "strided.h"

void en_add_sums(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                 const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums);

/* high - low <= 2^31. */
void en_add_moments(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
                    const int64_t *codes, size_t groups, int64_t *counts, uint64_t *sums, uint64_t *squares);

/* out[i] = q - low, or -1 where the value is dropped; high - low < 2^62. */
void en_cells(const en_quantizer *quantizer, const en_kernels *kernels, en_values type, const en_strided *x,
              int64_t *out);

/* n rows of floating-point numbers in C order, toward zero. A group has `columns` lower words, then `columns` higher
 * ones. */
void en_add_rows(const en_kernels *kernels, en_values type, const void *rows, size_t n, size_t columns, int exponent,
                 const int64_t *codes, size_t groups, uint64_t *sums);

#endif
