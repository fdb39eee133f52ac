/* The instruction set that the kernels below this line are compiled for. Include it once per kernels_*.c, after
 * defining these parameters:
 *
 *   EN_NAME(f)       the symbol's name for this instruction set
 *   EN_TARGET        the attribute that allows its instructions, empty for the compiler's baseline
 *   EN_HAVE_FMA      1 if it has a fused multiply-add
 *   EN_VECTOR_BYTES  the width of a vector register
 *
 * The float kernels are plain loops that the compiler vectorises, so that one text serves every instruction set.
 * No compiler flag may enable an instruction set for a whole file: code outside EN_TARGET must run anywhere.
 */
#ifndef EN_ISA_H
#define EN_ISA_H

#include "platform.h"

#define EN_INLINE EN_ALWAYS_INLINE EN_TARGET

/* a*b + c. Every use is proved for both forms: one rounding with the instruction, two without. */
#if EN_HAVE_FMA
#define EN_FMA(a, b, c) __builtin_fma(a, b, c)
#else
#define EN_FMA(a, b, c) ((a) * (b) + (c))
#endif

/* The hardware's square root, correctly rounded by IEEE 754. */
#if defined(_MSC_VER) && !defined(__clang__) && (defined(_M_X64) || defined(_M_IX86))
#include <emmintrin.h>
#define EN_SQRT(a) _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(a)))
#elif defined(_MSC_VER) && !defined(__clang__)
double sqrt(double);
#pragma intrinsic(sqrt)
#define EN_SQRT(a) sqrt(a)
#else
#define EN_SQRT(a) __builtin_sqrt(a)
#endif

#endif
