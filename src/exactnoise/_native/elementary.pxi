# What follows reaches parts of the core by themselves, for tests and `exactnoise info`. Nothing here releases data.


def chacha20_words(key, uint32_t counter, out, *, str simd):
    """Fills `out` (a whole number of groups of GROUP_WORDS words) with keystream: see native/chacha20.h."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer key_buffer = Buffer(key, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
    if key_buffer.size != c.EN_KEY_BYTES or target.size % (8 * c.EN_GROUP_WORDS):
        raise ValueError("the key has 32 bytes, out a whole number of groups")
    with nogil:
        kernels.chacha20(<const uint8_t *>key_buffer.bytes, counter, <uint64_t *>target.bytes,
                         target.size // (8 * c.EN_GROUP_WORDS))


def negative_log(words, out, *, str simd):
    """-ln of the midpoints (w + 1/2) 2^-64: see native/negative_log.h."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(words, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
    if source.size != target.size:
        raise ValueError("words and out must have one length")
    kernels.negative_log(<const uint64_t *>source.bytes, <double *>target.bytes, source.size // 8)


def sincos(words, sine, cosine, *, str simd):
    """sin and cos of (pi/2) f, f the signed fraction of each word: see native/sincos.h."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(words, PyBUF_SIMPLE)
    cdef Buffer sines = Buffer(sine, PyBUF_WRITABLE)
    cdef Buffer cosines = Buffer(cosine, PyBUF_WRITABLE)
    if source.size != sines.size or source.size != cosines.size:
        raise ValueError("words, sine and cosine must have one length")
    kernels.sincos(<const uint64_t *>source.bytes, <double *>sines.bytes, <double *>cosines.bytes, source.size // 8)


def square_root(x, out, *, str simd):
    """The kernels' square root."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(x, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
    if source.size != target.size:
        raise ValueError("x and out must have one length")
    kernels.sqrt(<const double *>source.bytes, <double *>target.bytes, source.size // 8)
