# Releases of x + noise: native/release.h and native/settle.h.

PENDING_BYTES = sizeof(c.en_pending)
SAMPLES_PER_KEY = c.EN_SAMPLES_PER_KEY

FAMILIES = {
    "laplace": c.EN_LAPLACE,
    "gaussian": c.EN_GAUSSIAN,
    "discrete-laplace": c.EN_DISCRETE_LAPLACE,
    "discrete-gaussian": c.EN_DISCRETE_GAUSSIAN,
    "tabulated": c.EN_TABULATED,
}
FORMS = {"float64": c.EN_FLOAT64, "float32": c.EN_FLOAT32, "int64-float64": c.EN_INT64_FLOAT64, "int64": c.EN_INT64}


cdef class Plan:
    """One mechanism's kernels for one form of data: public parameters only, immutable, shared by threads."""

    cdef c.en_plan _plan
    cdef const c.en_kernels *_kernels
    cdef readonly str family, form, simd

    def __cinit__(self, str family, str form, double s, int exponent, double nan, double offset, str simd,
                  double window_factor=1.0, thresholds=(), uint64_t shortfall=0):
        cdef double table[c.EN_MOST_THRESHOLDS]
        cdef Py_ssize_t k
        if not 2.0**-30 <= s <= 2.0**36:  # also what is left of it in a hostile floating-point environment
            raise ValueError(f"scale / granularity must lie between 2**-30 and 2**36, got {s!r}")
        self._kernels = kernels_named(simd)
        self.family, self.form, self.simd = family, form, simd
        c.en_plan_init(&self._plan, FAMILIES[family], FORMS[form], s, exponent, nan, offset, window_factor)
        if shortfall:
            c.en_plan_set_shortfall(&self._plan, shortfall)
        if len(thresholds) > c.EN_MOST_THRESHOLDS:
            raise ValueError(f"there is room for {<int>c.EN_MOST_THRESHOLDS} thresholds, got {len(thresholds)}")
        for k in range(len(thresholds)):
            table[k] = thresholds[k]
        c.en_plan_set_thresholds(&self._plan, table, len(thresholds))

    @property
    def window(self):
        """The fixed part of the window and the coefficient of the cell's reach, in grid units."""
        return self._plan.window, self._plan.reach

    def word_count(self, size_t n):
        """How many words n samples take, rejected ones not counted."""
        return c.en_word_count(self._plan.family, n)

    def release(self, x, out, size_t start, size_t n, pending, *, key=None, words=None):
        """Releases samples start..n of the contiguous buffer x into out: see native/release.h.

        The words come from `key` (32 bytes), from the array `words`, or from the operating system. Returns how many
        samples are done and how many records of `pending` are filled.
        """
        cdef Buffer x_buffer = Buffer(x, PyBUF_SIMPLE)
        cdef Buffer out_buffer = Buffer(out, PyBUF_WRITABLE)
        cdef Buffer pending_buffer = Buffer(pending, PyBUF_WRITABLE)
        cdef Buffer source
        cdef size_t width = 4 if self._plan.form == c.EN_FLOAT32 else 8
        cdef size_t word_count = c.en_word_count(self._plan.family, n)
        cdef c.en_randomness randomness = c.en_randomness(c.EN_FROM_SYSTEM, NULL, NULL, 0)
        cdef c.en_pending_list lanes
        cdef c.en_status status
        cdef size_t done = start

        if x_buffer.size != width * n or out_buffer.size != width * n or start > n:
            raise ValueError("x and out must hold n samples")
        if key is not None:
            source = Buffer(key, PyBUF_SIMPLE)
            if source.size != c.EN_KEY_BYTES or n > <size_t>c.EN_SAMPLES_PER_KEY:
                raise ValueError("a key has 32 bytes and serves at most SAMPLES_PER_KEY samples")
            randomness = c.en_randomness(c.EN_FROM_KEY, <const uint8_t *>source.bytes, NULL, 0)
        elif words is not None:
            source = Buffer(words, PyBUF_SIMPLE)
            if source.size != 8 * word_count and (self._plan.family != c.EN_DISCRETE_GAUSSIAN
                                                  or source.size < 8 * word_count):
                raise ValueError(f"words must hold {word_count} 64-bit words")
            randomness = c.en_randomness(c.EN_FROM_WORDS, NULL, <const uint64_t *>source.bytes, source.size // 8)
        lanes.lanes = <c.en_pending *>pending_buffer.bytes
        lanes.capacity = pending_buffer.size // sizeof(c.en_pending)
        lanes.count = 0
        with nogil:
            status = c.en_release(&self._plan, self._kernels, randomness, x_buffer.bytes, out_buffer.bytes,
                                  start, n, &lanes, &done)
        raise_for_status(status)
        return done, lanes.count

    @property
    def extension_count(self):
        """How many words `settle` takes for a lane: one a cell, none for a family whose lanes it leaves open."""
        return c.en_extension_count(self._plan.family)

    def settle(self, pending, out, extension=None):
        """Decides declined lanes in fixed point and writes their values to out: see native/settle.h.

        `extension` has extension_count words a lane. Those still open move to the front of `pending`; returns how many.
        """
        cdef Buffer pending_buffer = Buffer(pending, PyBUF_WRITABLE)
        cdef Buffer out_buffer = Buffer(out, PyBUF_WRITABLE)
        cdef Buffer words
        cdef const uint64_t *further = NULL
        cdef c.en_pending *lanes = <c.en_pending *>pending_buffer.bytes
        cdef size_t count = pending_buffer.size // sizeof(c.en_pending)
        cdef size_t width = 4 if self._plan.form == c.EN_FLOAT32 else 8
        cdef size_t i

        for i in range(count):
            if not 0 <= lanes[i].index < <int64_t>(out_buffer.size // width):
                raise ValueError("a lane's index is not one of out's")
        if extension is not None:
            words = Buffer(extension, PyBUF_SIMPLE)
            if words.size != 8 * count * c.en_extension_count(self._plan.family):
                raise ValueError("extension must hold extension_count words a lane")
            further = <const uint64_t *>words.bytes
        with nogil:
            count = c.en_settle(&self._plan, self._kernels, lanes, count, further, out_buffer.bytes)
        return count

    def release_one(self, x):
        """Releases one number with words from the operating system: the value, or the words of a lane to refine."""
        cdef c.en_pending lane
        cdef c.en_pending_list lanes
        cdef c.en_randomness randomness = c.en_randomness(c.EN_FROM_SYSTEM, NULL, NULL, 0)
        cdef size_t done = 0
        cdef double float_x, float_out
        cdef float narrow_x, narrow_out
        cdef int64_t int_x, int_out
        cdef c.en_status status
        cdef object result
        lanes.lanes = &lane
        lanes.capacity = 1
        lanes.count = 0

        if self._plan.form == c.EN_FLOAT64 or self._plan.form == c.EN_FLOAT64_EXTREME:
            float_x = x
            status = c.en_release(&self._plan, self._kernels, randomness, &float_x, &float_out, 0, 1, &lanes, &done)
            result = float_out
        elif self._plan.form == c.EN_FLOAT32:
            narrow_x = x
            status = c.en_release(&self._plan, self._kernels, randomness, &narrow_x, &narrow_out, 0, 1, &lanes, &done)
            result = narrow_out
        elif self._plan.form == c.EN_INT64_FLOAT64:
            int_x = x
            status = c.en_release(&self._plan, self._kernels, randomness, &int_x, &float_out, 0, 1, &lanes, &done)
            result = float_out
        else:
            int_x = x
            status = c.en_release(&self._plan, self._kernels, randomness, &int_x, &int_out, 0, 1, &lanes, &done)
            result = int_out
        if status != c.EN_OK:
            raise_for_status(status)
        if lanes.count:
            return lane.lane, (lane.word[0], lane.word[1], lane.word[2])
        return result
