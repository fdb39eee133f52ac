/* The door to the kernels that clip; the contract is in clip.h. */
#include "clip.h"

#include "float_env.h"

void en_clip(const en_kernels *kernels, en_norm norm, en_rows type, const void *x, void *out, size_t rows,
             size_t columns, double bound) {
    en_float_env found = en_float_env_set();
    kernels->clip[norm][type](x, out, rows, columns, bound);
    en_float_env_restore(found);
}

void en_clamp_float64(const double *x, double *out, size_t n, double low, double high) {
    en_float_env found = en_float_env_set();
    for (size_t i = 0; i < n; i++) {
        double value = x[i] < low ? low : x[i];
        out[i] = value > high ? high : value;
    }
    en_float_env_restore(found);
}

void en_clamp_float32(const float *x, float *out, size_t n, float low, float high) {
    en_float_env found = en_float_env_set();
    for (size_t i = 0; i < n; i++) {
        float value = x[i] < low ? low : x[i];
        out[i] = value > high ? high : value;
    }
    en_float_env_restore(found);
}

void en_widen(const en_kernels *kernels, const float *x, double *out, size_t n) {
    en_float_env found = en_float_env_set();
    kernels->widen(x, out, n);
    en_float_env_restore(found);
}
