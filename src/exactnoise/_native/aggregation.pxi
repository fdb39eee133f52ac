# Exact sums and counts of arrays: native/sums.h, native/counts.h.

import sys

# The items of a buffer, by the letters of its format. Their size is said apart: a letter's differs between systems.
SIGNED, UNSIGNED, FLOATS = "bhilqn", "BHILQN?", "fd"
NATIVE_ORDER = "@=^" + ("<" if sys.byteorder == "little" else ">")

VALUES = {"f8": c.EN_VALUES_FLOAT64, "f4": c.EN_VALUES_FLOAT32, "i8": c.EN_VALUES_INT64}
CODES = {
    "i1": c.EN_CODES_INT8,
    "i2": c.EN_CODES_INT16,
    "i4": c.EN_CODES_INT32,
    "i8": c.EN_CODES_INT64,
    "u1": c.EN_CODES_UINT8,
    "u2": c.EN_CODES_UINT16,
    "u4": c.EN_CODES_UINT32,
    "u8": c.EN_CODES_INT64,
}
LEAST_EXPONENT, MOST_EXPONENT = -1000, 970


cdef class Items:
    """The items of a buffer of 1 dimension, or of 2 in C order, and which they are, such as "f8"."""

    cdef Py_buffer _view
    cdef c.en_strided items
    cdef str dtype
    cdef size_t rows, columns

    def __cinit__(self, exporter, int dimensions):
        PyObject_GetBuffer(exporter, &self._view,
                           PyBUF_FORMAT | (PyBUF_STRIDES if dimensions == 1 else PyBUF_C_CONTIGUOUS))
        if self._view.ndim != dimensions:
            raise ValueError(f"a buffer must have {dimensions} dimensions, not {self._view.ndim}")
        self.items = c.en_strided(<const char *>self._view.buf, self._view.strides[0], <size_t>self._view.shape[0])
        self.rows = <size_t>self._view.shape[0]
        self.columns = <size_t>self._view.shape[1] if dimensions == 2 else 1
        self.dtype = self._dtype()

    def __dealloc__(self):
        PyBuffer_Release(&self._view)

    cdef str _dtype(self):
        cdef str text = "B" if self._view.format is NULL else self._view.format.decode()
        if len(text) == 2 and text[0] in NATIVE_ORDER:
            text = text[1]
        for kind, letters in (("i", SIGNED), ("u", UNSIGNED), ("f", FLOATS)):
            if len(text) == 1 and text in letters:
                return f"{kind}{self._view.itemsize}"
        raise ValueError(f"a buffer must hold numbers in native byte order, not {text!r}")


cdef void *aligned(Buffer buffer, object count) except? NULL:
    """The 64-bit items of a contiguous buffer, `count` of them."""
    if buffer.size != 8 * count:
        raise ValueError(f"a buffer must hold {count} items of 64 bits, not {buffer.size} bytes")
    if <size_t>buffer.bytes % 8:
        raise ValueError("a buffer of 64-bit items must be aligned")
    return buffer.bytes


cdef c.en_values values_of(Items x) except *:
    if x.dtype not in VALUES:
        raise ValueError(f"x must hold float64, float32 or int64, not {x.dtype}")
    return VALUES[x.dtype]


cdef class Quantizer:
    """Which integer a value counts as: native/quantize.h. Immutable, shared by threads."""

    cdef c.en_quantizer _quantizer
    cdef const c.en_kernels *_kernels
    cdef readonly int exponent
    cdef readonly int64_t low, high
    cdef readonly str simd

    def __cinit__(self, int exponent, int64_t low, int64_t high, nan, str simd):
        cdef int64_t replacement = low if nan is None else nan
        self._kernels = kernels_named(simd)
        if not LEAST_EXPONENT <= exponent <= MOST_EXPONENT or not low <= replacement <= high:
            raise ValueError("exponent must be in -1000 .. 970, low <= high, nan between them")
        self.exponent, self.low, self.high, self.simd = exponent, low, high, simd
        c.en_quantizer_init(&self._quantizer, exponent, low, high, NULL if nan is None else &replacement)

    cdef c.en_values _values(self, Items x) except *:
        cdef c.en_values type = values_of(x)
        if type == c.EN_VALUES_INT64:
            if self.exponent != 0:
                raise ValueError("int64 has the exponent 0")
        elif self.low < -c.EN_MOST_QUANTIZED or self.high > c.EN_MOST_QUANTIZED:
            raise ValueError("bounds of floating-point values must be within 2**50 in magnitude")
        return type

    def add_sums(self, x, codes, counts, sums):
        """Adds the values of each group to counts (int64 a group) and sums (two uint64 a group)."""
        self._add(x, codes, counts, sums, None)

    def add_moments(self, x, codes, counts, sums, squares):
        """The same, and the squares of 2q - (low + high) to squares (two uint64 a group)."""
        if <object>self.high - self.low > 1 << 31:
            raise ValueError("high - low must be at most 2**31")
        self._add(x, codes, counts, sums, squares)

    cdef _add(self, x, codes, counts, sums, squares):
        cdef Items data = Items(x, 1)
        cdef c.en_values type = self._values(data)
        cdef Buffer total = Buffer(counts, PyBUF_WRITABLE)
        cdef size_t groups = total.size // 8
        cdef int64_t *count = <int64_t *>aligned(total, groups)
        cdef Buffer sums_held = Buffer(sums, PyBUF_WRITABLE)
        cdef uint64_t *sum = <uint64_t *>aligned(sums_held, 2 * groups)
        cdef Buffer squares_held, codes_held
        cdef uint64_t *square = NULL
        cdef const int64_t *code = NULL
        if squares is not None:
            squares_held = Buffer(squares, PyBUF_WRITABLE)
            square = <uint64_t *>aligned(squares_held, 2 * groups)
        if codes is not None:
            codes_held = Buffer(codes, PyBUF_SIMPLE)
            code = <const int64_t *>aligned(codes_held, data.items.n)
        elif groups != 1:
            raise ValueError("without codes there is one group")
        with nogil:
            if square is NULL:
                c.en_add_sums(&self._quantizer, self._kernels, type, &data.items, code, groups, count, sum)
            else:
                c.en_add_moments(&self._quantizer, self._kernels, type, &data.items, code, groups, count, sum, square)

    def cells(self, x, out):
        """Writes q - low for each value, or -1 where it is dropped, into the int64 out."""
        cdef Items data = Items(x, 1)
        cdef c.en_values type = self._values(data)
        cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
        cdef int64_t *cell = <int64_t *>aligned(target, data.items.n)
        if <object>self.high - self.low >= 1 << 62:
            raise ValueError("high - low must be below 2**62")
        with nogil:
            c.en_cells(&self._quantizer, self._kernels, type, &data.items, cell)


def count_codes(codes, counts):
    """Adds to counts (int64 a group) how many of the integers are each group's code."""
    cdef Items data = Items(codes, 1)
    cdef Buffer target = Buffer(counts, PyBUF_WRITABLE)
    cdef size_t groups = target.size // 8
    cdef int64_t *count = <int64_t *>aligned(target, groups)
    cdef c.en_codes type
    if data.dtype not in CODES:
        raise ValueError(f"codes must be integers, not {data.dtype}")
    type = CODES[data.dtype]
    with nogil:
        c.en_count_codes(type, &data.items, groups, count)


def bin_values(x, edges, out, *, str simd):
    """Writes the index of each value's bin, or -1, into the int64 out."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Items data = Items(x, 1), bounds = Items(edges, 1)
    cdef c.en_values type = values_of(data)
    cdef Buffer held = Buffer(edges, PyBUF_SIMPLE), target = Buffer(out, PyBUF_WRITABLE)
    cdef const void *edge = aligned(held, bounds.items.n)
    cdef int64_t *bin = <int64_t *>aligned(target, data.items.n)
    if bounds.dtype != ("i8" if type == c.EN_VALUES_INT64 else "f8") or bounds.items.n < 2:
        raise ValueError("edges must be two or more float64, or int64 where x is")
    with nogil:
        c.en_bin_values(kernels, type, &data.items, edge, bounds.items.n, bin)


def add_rows(rows, codes, sums, int exponent, *, str simd):
    """Adds rows of float32 or float64 in C order to the sums (uint64[groups, 2, columns]) of their groups."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Items data = Items(rows, 2)
    cdef c.en_values type = values_of(data)
    cdef Buffer target = Buffer(sums, PyBUF_WRITABLE), codes_held
    cdef size_t groups = target.size // (16 * data.columns) if data.columns else 0
    cdef uint64_t *sum = <uint64_t *>aligned(target, 2 * groups * data.columns)
    cdef const int64_t *code = NULL
    if type == c.EN_VALUES_INT64 or <size_t>data.items.start % <size_t>data._view.itemsize:
        raise ValueError("rows must be aligned float64 or float32")
    if not LEAST_EXPONENT <= exponent <= MOST_EXPONENT:
        raise ValueError("exponent must be in -1000 .. 970")
    if codes is not None:
        codes_held = Buffer(codes, PyBUF_SIMPLE)
        code = <const int64_t *>aligned(codes_held, data.rows)
    elif groups != 1 and data.columns:
        raise ValueError("without codes there is one group")
    with nogil:
        c.en_add_rows(kernels, type, data.items.start, data.rows, data.columns, exponent, code, groups, sum)
