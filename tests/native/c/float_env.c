/* The floating-point control word as other libraries may leave it: read, written, and put into known hostile states. */
#include <stdint.h>

#if defined(__x86_64__)

#include <xmmintrin.h>

/* The control word of the vector unit, and above it that of the old unit, which has modes of its own. */
#define BOTH(vector, old) (UINT64_C(vector) | UINT64_C(old) << 32)
#define ROUNDING BOTH(0x6000, 0xc00)
#define DOWN BOTH(0x2000, 0x400)
#define UP BOTH(0x4000, 0x800)
#define ZERO BOTH(0x6000, 0xc00)
#define FLUSH BOTH(0x8040, 0)  /* to zero, and denormals are zeros */
#define TRAPS BOTH(0x680, 0xd) /* of invalid operations, divisions by zero and overflow: set where they are masked */
#define NARROW BOTH(0, 0x300)  /* the old unit's precision: set where it is the longest, else that of float */
#define FLAGS BOTH(0x3f, 0)

uint64_t control_read(void) {
    uint16_t old;
    __asm__ volatile("fnstcw %0" : "=m"(old));
    return _mm_getcsr() | (uint64_t)old << 32;
}

void control_write(uint64_t control) {
    const uint16_t old = (uint16_t)(control >> 32);
    __asm__ volatile("fnclex; fldcw %0" : : "m"(old));
    _mm_setcsr((unsigned)control);
}

#elif defined(__aarch64__)

enum { ROUNDING = 0xc00000, UP = 0x400000, DOWN = 0x800000, ZERO = 0xc00000, FLUSH = 0x1000000 };
enum { TRAPS = 0, NARROW = 0, FLAGS = 0 }; /* most processors have no traps, and there is no old unit */

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
const uint64_t control_traps = TRAPS;
const uint64_t control_narrow = NARROW;

#ifdef AT_LOAD
/* As a library does that was linked with -ffast-math, and worse. */
__attribute__((constructor)) static void spoil(void) {
    control_write((control_read() & ~(uint64_t)ROUNDING) ^ AT_LOAD);
}
#endif
