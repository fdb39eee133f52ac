/* The floating-point environment that every error bound assumes: round to nearest, gradual underflow, no traps.
 *
 * Other libraries change it for a whole process (a shared object linked with -ffast-math sets flush-to-zero when
 * it is loaded). Each entry into the kernels saves what it finds, sets what it needs and puts the old state back,
 * sticky exception flags included.
 */
#ifndef EN_FLOAT_ENV_H
#define EN_FLOAT_ENV_H

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64) || defined(_M_IX86)

#include <xmmintrin.h>

typedef unsigned int en_float_env;

static inline en_float_env en_float_env_set(void) {
    en_float_env found = _mm_getcsr();
    _mm_setcsr(0x1F80u); /* all exceptions masked, round to nearest, no flush-to-zero, no denormals-are-zero */
    return found;
}

static inline void en_float_env_restore(en_float_env found) {
    _mm_setcsr(found);
}

#elif defined(__aarch64__) && defined(__GNUC__)

#include <stdint.h>

typedef uint64_t en_float_env;

static inline en_float_env en_float_env_set(void) {
    en_float_env found;
    __asm__ volatile("mrs %0, fpcr" : "=r"(found));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return found;
}

static inline void en_float_env_restore(en_float_env found) {
    __asm__ volatile("msr fpcr, %0" : : "r"(found) : "memory");
}

#else

#include <fenv.h>

typedef fenv_t en_float_env;

static inline en_float_env en_float_env_set(void) {
    en_float_env found;
    fegetenv(&found);
    fesetenv(FE_DFL_ENV);
    return found;
}

static inline void en_float_env_restore(en_float_env found) {
    fesetenv(&found);
}

#endif

#endif
