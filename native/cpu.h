/* Which variants of the kernels this machine can run. The choice is a value that callers hold: there is no global. */
#ifndef EN_CPU_H
#define EN_CPU_H

#include "kernels.h"
#include "status.h"

/* The variants from narrowest to widest: a name for each index in [0, en_variant_count()). */
size_t en_variant_count(void);
const char *en_variant_name(size_t index);

/* Whether this machine has the instruction set of variant `index`. */
int en_variant_available(size_t index);

/* The kernels of the variant, or EN_SIMD_UNAVAILABLE when the machine lacks it or the index is out of range. */
en_status en_variant_kernels(size_t index, const en_kernels **kernels);

#endif
