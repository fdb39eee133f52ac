/* The kernels for the compiler's baseline: SSE2 on x86-64, NEON with fused multiply-add on aarch64. */
#include "platform.h"

#define EN_NAME(f) f##_portable
#define EN_TARGET
#if defined(__GNUC__) && defined(__FP_FAST_FMA)
#define EN_HAVE_FMA 1
#else
#define EN_HAVE_FMA 0
#endif
#define EN_VECTOR_BYTES 16

#include "kernels_body.h"
