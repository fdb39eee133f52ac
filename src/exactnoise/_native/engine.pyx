"""The door from Python to the C core: each function checks sizes, lets go of the GIL, calls C once and turns a status
into an exception. No arithmetic on data happens here."""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBUF_SIMPLE,
    PyBUF_STRIDES,
    PyBUF_WRITABLE,
    Py_buffer,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from libc.float cimport DBL_MAX, DBL_MIN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from exactnoise._native cimport capi as c

from exactnoise.errors import UnsupportedInstructionSet, raise_for_status

BLOCK = c.EN_BLOCK
KEY_BYTES = c.EN_KEY_BYTES
GROUP_WORDS = c.EN_GROUP_WORDS
STATUS_END = <int>c.EN_STATUS_END


cdef class Buffer:
    """The bytes of a contiguous buffer, held as long as this object lives."""

    cdef Py_buffer _view
    cdef void *bytes
    cdef size_t size

    def __cinit__(self, exporter, int flags):
        PyObject_GetBuffer(exporter, &self._view, flags)
        self.bytes = self._view.buf
        self.size = <size_t>self._view.len

    def __dealloc__(self):
        PyBuffer_Release(&self._view)


def simd_available():
    """Names of the instruction sets that this machine can run, narrowest first."""
    cdef size_t i
    return tuple([c.en_variant_name(i).decode() for i in range(c.en_variant_count()) if c.en_variant_available(i)])


cdef const c.en_kernels *kernels_named(str simd) except NULL:
    cdef const c.en_kernels *kernels
    cdef size_t i
    for i in range(c.en_variant_count()):
        if c.en_variant_name(i).decode() == simd and c.en_variant_kernels(i, &kernels) == c.EN_OK:
            return kernels
    raise UnsupportedInstructionSet(
        f"instruction set {simd!r} is not available here; this machine has {', '.join(simd_available())}"
    )


def fill_entropy(buffer):
    """Fills a writable buffer with the operating system's random bytes."""
    cdef Buffer target = Buffer(buffer, PyBUF_WRITABLE)
    cdef c.en_status status
    with nogil:
        status = c.en_entropy(target.bytes, target.size)
    raise_for_status(status)


def entropy_source():
    """The name of the system call that gives random bytes."""
    return c.en_entropy_source().decode()


# One file a sampler family; all of them are this module.
include "additive.pxi"
include "clip.pxi"
include "response.pxi"
include "elementary.pxi"
include "selection.pxi"
include "aggregation.pxi"
