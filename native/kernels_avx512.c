/* The kernels for AVX-512 (F, DQ, VL, BW). */
#include "platform.h"

#if EN_X86_VARIANTS

#define EN_NAME(f) f##_avx512
#if defined(__clang__)
#define EN_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")))
#else
/* gcc would rather use half of the register, which was right for the first processors with AVX-512. */
#define EN_TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")))
#endif
#define EN_HAVE_FMA 1
#define EN_VECTOR_BYTES 64

#include "kernels_body.h"

#endif
