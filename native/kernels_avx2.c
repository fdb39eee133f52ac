/* The kernels for AVX2 with fused multiply-add. */
#include "platform.h"

#if EN_X86_VARIANTS

#define EN_NAME(f) f##_avx2
#define EN_TARGET __attribute__((target("avx2,fma")))
#define EN_HAVE_FMA 1
#define EN_VECTOR_BYTES 32

#include "kernels_body.h"

#endif
