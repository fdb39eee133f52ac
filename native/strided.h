/* Items of an array at equal distances in memory, of any alignment, a block at a time. */
#ifndef EN_STRIDED_H
#define EN_STRIDED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "platform.h"

typedef struct {
    const char *start;
    ptrdiff_t stride; /* in bytes; may be negative or 0 */
    size_t n;
} en_strided;

static inline size_t en_less(size_t a, size_t b) {
    return a < b ? a : b;
}

static inline const char *en_item(const en_strided *x, size_t i) {
    return x->start + (ptrdiff_t)i * x->stride;
}

/* Items i .. i + n - 1, of 4 or 8 bytes, next to each other and aligned: where they are, or copied to scratch. */
static inline const void *en_items(const en_strided *x, size_t width, size_t i, size_t n, void *scratch) {
    const char *from = en_item(x, i);
    if (x->stride == (ptrdiff_t)width && (uintptr_t)from % width == 0)
        return from;
    for (size_t j = 0; j < n; j++) {
        if (width == 8)
            memcpy((char *)scratch + 8 * j, en_item(x, i + j), 8);
        else
            memcpy((char *)scratch + 4 * j, en_item(x, i + j), 4);
    }
    return scratch;
}

#endif
