/* The floating-point control word as other libraries may leave it: read, written, and put into known hostile states. */
#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

enum { ROUNDING = 0x6000, DOWN = 0x2000, UP = 0x4000, ZERO = 0x6000, FLUSH = 0x8040, FLAGS = 0x3f }; /* FTZ and DAZ */

uint64_t control_read(void) {
    return _mm_getcsr();
}

/* The old floating-point unit has a rounding mode of its own, with the same encoding; fesetround sets both. */
void control_write(uint64_t control) {
    uint16_t x87;
    __asm__ volatile("fnstcw %0" : "=m"(x87));
    x87 = (uint16_t)((x87 & ~0xc00u) | (control & ROUNDING) >> 3);
    __asm__ volatile("fldcw %0" : : "m"(x87));
    _mm_setcsr((unsigned)control);
}

#elif defined(__aarch64__)

enum { ROUNDING = 0xc00000, UP = 0x400000, DOWN = 0x800000, ZERO = 0xc00000, FLUSH = 0x1000000, FLAGS = 0 };

uint64_t control_read(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

void control_write(uint64_t control) {
    __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
}

#endif

/* Bits that say how numbers are computed, without the flags that computing sets. */
const uint64_t control_mask = ~(uint64_t)FLAGS;
const uint64_t control_rounding = ROUNDING;
const uint64_t control_down = DOWN;
const uint64_t control_up = UP;
const uint64_t control_zero = ZERO;
const uint64_t control_flush = FLUSH;
