/* What differs between compilers and targets, in one place. Includes nothing of ours.
 *
 * EN_X86_VARIANTS  1 where functions can be compiled for AVX2 and AVX-512 by attribute and chosen at run time.
 * EN_ALWAYS_INLINE a static function that is always inlined, so that it takes on its caller's instruction set.
 * EN_NEVER_INLINE  a static function with a stack frame of its own.
 * EN_RESTRICT      no other pointer reaches these elements.
 * en_bits, en_from_bits  a double's bit pattern and back.
 * en_wipe          overwrite secrets; the compiler may not remove it. en_wipe_dead_stack: those in frames that have ended.
 */
#ifndef EN_PLATFORM_H
#define EN_PLATFORM_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
#define EN_X86_VARIANTS 1
#else
#define EN_X86_VARIANTS 0
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define EN_ALWAYS_INLINE static __forceinline
#define EN_NEVER_INLINE static __declspec(noinline)
#define EN_RESTRICT __restrict
#else
#define EN_ALWAYS_INLINE static inline __attribute__((always_inline))
#define EN_NEVER_INLINE static __attribute__((noinline, unused))
#define EN_RESTRICT restrict
#endif

/* Extended intermediate precision (x87) would break every error bound. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "exactnoise needs plain double arithmetic: build with SSE2 (-msse2 -mfpmath=sse)"
#endif

#ifdef __FAST_MATH__
#error "exactnoise must not be built with -ffast-math"
#endif

EN_ALWAYS_INLINE uint64_t en_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

EN_ALWAYS_INLINE double en_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void en_wipe(void *memory, size_t size) {
#if defined(_MSC_VER) && !defined(__clang__)
    volatile unsigned char *byte = (volatile unsigned char *)memory;
    while (size--)
        *byte++ = 0;
#else
    memset(memory, 0, size);
    __asm__ volatile("" : : "r"(memory) : "memory");
#endif
}

/* Overwrites what the functions called before left on the stack: registers with key and keystream that did not fit. */
EN_NEVER_INLINE void en_wipe_dead_stack(void) {
    unsigned char frames[8192];
    en_wipe(frames, sizeof frames);
}

#endif
