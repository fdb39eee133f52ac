/* The kernels for AVX2 with fused multiply-add. */
#include "platform.h"

#if EN_X86_VARIANTS

#define EN_NAME(f) f##_avx2
#if defined(__clang__)
#define EN_TARGET __attribute__((target("avx2,fma")))
#else
/* gcc's tuning for the first processors with AVX2: four per cent faster than its generic one. */
#define EN_TARGET __attribute__((target("avx2,fma,tune=haswell")))
#endif
#define EN_HAVE_FMA 1
#define EN_VECTOR_BYTES 32

#include "kernels_body.h"

#endif
