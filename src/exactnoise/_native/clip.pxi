# Rows of a bounded norm: native/clip.h.

NORMS = {"l1": c.EN_L1, "l2": c.EN_L2}


def clip_rows(str norm, x, out, size_t columns, double bound, *, bint float32, str simd):
    """Writes the rows of the contiguous buffer x, clipped to the bound, into out, which may be x."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(x, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
    cdef size_t width = columns * (4 if float32 else 8)
    cdef c.en_rows type = c.EN_ROWS_FLOAT32 if float32 else c.EN_ROWS_FLOAT64
    cdef c.en_norm which = NORMS[norm]

    if not columns or source.size != target.size or source.size % width:
        raise ValueError("x and out must hold whole rows")
    if not 2.0**-997 <= bound <= 1e300:
        raise ValueError(f"bound must lie between 2**-997 and 1e300, got {bound!r}")
    with nogil:
        c.en_clip(kernels, which, type, source.bytes, target.bytes, source.size // width, columns, bound)


def clamp(x, out, double low, double high, *, bint float32):
    """Writes the numbers of the contiguous buffer x, clamped, into out, which may be x."""
    cdef Buffer source = Buffer(x, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
    if source.size != target.size:
        raise ValueError("x and out must have one length")
    with nogil:
        if float32:
            c.en_clamp_float32(<const float *>source.bytes, <float *>target.bytes, source.size // 4,
                               <float>low, <float>high)
        else:
            c.en_clamp_float64(<const double *>source.bytes, <double *>target.bytes, source.size // 8, low, high)


def widen(x, out, *, str simd):
    """Writes float32 numbers as doubles, whatever the floating-point environment."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(x, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
    if 2 * source.size != target.size:
        raise ValueError("x and out must have one length")
    with nogil:
        c.en_widen(kernels, <const float *>source.bytes, <double *>target.bytes, source.size // 4)
