/* The only file that asks the processor what it has; the contract is in cpu.h. */
#include "cpu.h"

#include "platform.h"

#if EN_X86_VARIANTS

static int has_avx2(void) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static int has_avx512(void) {
#if defined(__APPLE__)
    return 0; /* macOS turns the registers on only when a thread first uses them, which the usual check cannot see */
#else
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && has_avx2();
#endif
}

#endif

static int always(void) {
    return 1;
}

static const struct {
    const char *name;
    int (*available)(void);
    const en_kernels *kernels;
} variants[] = {
    {"portable", always, &en_kernels_portable},
#if EN_X86_VARIANTS
    {"avx2", has_avx2, &en_kernels_avx2},
    {"avx512", has_avx512, &en_kernels_avx512},
#endif
};

size_t en_variant_count(void) {
    return sizeof variants / sizeof variants[0];
}

const char *en_variant_name(size_t index) {
    return variants[index].name;
}

int en_variant_available(size_t index) {
    return index < en_variant_count() && variants[index].available();
}

en_status en_variant_kernels(size_t index, const en_kernels **kernels) {
    if (!en_variant_available(index))
        return EN_SIMD_UNAVAILABLE;
    *kernels = variants[index].kernels;
    return EN_OK;
}
