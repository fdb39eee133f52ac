/* How many items have each code, and the bins of values between edges.
 *
 * Contract   en_count_codes   counts[c] += the number of items equal to c, c < groups; other items are dropped. Unsigned
 *                             64-bit items may be read as signed ones: those that become negative are in no group.
 *            en_bin_values    out[i] = the b with edges[b] <= x < edges[b + 1]; x = the last edge is in the last bin; -1
 *                             outside and for NaN. 2 edges or more, which do not decrease: float64 for floating-point
 *                             values, int64 for int64.
 *            Scratch copies of data are wiped before returning. No allocation: 25 kB of stack.
 * Timing     What is done for an item does not depend on it, but the counter is an access to memory at the code's place,
 *            and the search among edges reads the edges it compares with: who watches the caches sees codes and bins.
 */
#ifndef EN_COUNTS_H
#define EN_COUNTS_H

#include "kernels.h"
#include "strided.h"

typedef enum {
    EN_CODES_INT8,
    EN_CODES_INT16,
    EN_CODES_INT32,
    EN_CODES_INT64,
    EN_CODES_UINT8,
    EN_CODES_UINT16,
    EN_CODES_UINT32
} en_codes;

void en_count_codes(en_codes type, const en_strided *codes, size_t groups, int64_t *counts);

void en_bin_values(const en_kernels *kernels, en_values type, const en_strided *x, const void *edges, size_t count,
                   int64_t *out);

#endif
