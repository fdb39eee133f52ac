/* The door to the kernels that clip; the contract is in clip.h. */
#include "clip.h"

#include "float_env.h"

void en_clip(const en_kernels *kernels, en_norm norm, en_rows type, const void *x, void *out, size_t rows,
             size_t columns, double bound) {
    en_float_env found = en_float_env_set();
    kernels->clip[norm][type](x, out, rows, columns, bound);
    en_float_env_restore(found);
}
