# Selections of a candidate: native/select.h.

CONTENDER_BYTES = sizeof(c.en_contender)
TILES_PER_KEY = c.EN_TILES_PER_KEY
EXCLUDED = c.EN_EXCLUDED
MISSING = c.EN_MISSING

SELECTION_FAMILIES = {"exponential": c.EN_EXPONENTIAL_MECHANISM, "permute-and-flip": c.EN_PERMUTE_AND_FLIP}
SCORE_FORMS = {"float64": c.EN_SCORES_FLOAT64, "int64": c.EN_SCORES_INT64}


cdef class Selection:
    """One mechanism's kernels for one form of scores: public parameters only, immutable, shared by threads."""

    cdef c.en_selection_plan _plan
    cdef const c.en_kernels *_kernels
    cdef readonly str family, form, simd
    cdef readonly double scale

    def __cinit__(self, str family, str form, double scale, str simd, double window_factor=1.0):
        if not DBL_MIN <= scale <= DBL_MAX:
            raise ValueError(f"scale must be a normal positive double, got {scale!r}")
        self._kernels = kernels_named(simd)
        self.family, self.form, self.scale, self.simd = family, form, scale, simd
        c.en_selection_plan_init(&self._plan, SELECTION_FAMILIES[family], SCORE_FORMS[form], scale, window_factor)

    def select(self, scores, flags, size_t candidates, out, contenders, *, key=None, words=None):
        """Selects one candidate of each row of the contiguous buffer `scores` into `out`: see native/select.h.

        The words come from `key` (32 bytes) or from the array `words`; `flags` has a byte a candidate, or is None.
        Returns how many records of `contenders` are filled or, if they are too few, would be needed.
        """
        cdef Buffer out_buffer = Buffer(out, PyBUF_WRITABLE)
        cdef Rows rows = Rows(scores, flags, candidates)
        cdef Contenders found = Contenders(contenders)
        cdef Randomness randomness = Randomness(key, words, rows)
        if out_buffer.size != 8 * rows.scores.rows:
            raise ValueError("out must hold a number for each row")
        with nogil:
            c.en_select(&self._plan, self._kernels, randomness.randomness, &rows.scores, <int64_t *>out_buffer.bytes,
                        &found.records)
        return found.records.count

    def widen_range(self, scores, flags, maxima):
        """Raises the two maxima, of the keys and of their complements, to those of a part of a row."""
        cdef Buffer maxima_buffer = Buffer(maxima, PyBUF_WRITABLE)
        cdef Rows part = Rows(scores, flags, 0)
        if maxima_buffer.size != 16:
            raise ValueError("maxima must hold two numbers")
        with nogil:
            c.en_widen_range(&self._plan, self._kernels, &part.scores, <int64_t *>maxima_buffer.bytes)

    def select_part(self, scores, flags, maxima, contenders, *, key=None, words=None):
        """Lists the contenders of a part of a row; returns how many, as `select` does, and the part's top."""
        cdef Buffer maxima_buffer = Buffer(maxima, PyBUF_SIMPLE)
        cdef Rows part = Rows(scores, flags, 0)
        cdef Contenders found = Contenders(contenders)
        cdef Randomness randomness = Randomness(key, words, part)
        cdef double top
        if maxima_buffer.size != 16:
            raise ValueError("maxima must hold two numbers")
        with nogil:
            top = c.en_select_part(&self._plan, self._kernels, randomness.randomness, &part.scores,
                                   <const int64_t *>maxima_buffer.bytes, &found.records)
        return found.records.count, top


cdef class Rows:
    """Rows of `candidates` scores of eight bytes, or one row of all of them where that is 0, with their flags."""

    cdef Buffer _values, _flags
    cdef c.en_scores scores

    def __cinit__(self, values, flags, size_t candidates):
        self._values = Buffer(values, PyBUF_SIMPLE)
        self.scores.values = self._values.bytes
        self.scores.candidates = candidates or self._values.size // 8
        if not self.scores.candidates or self._values.size % (8 * self.scores.candidates):
            raise ValueError("scores must hold whole rows")
        self.scores.rows = self._values.size // (8 * self.scores.candidates)
        self.scores.flags = NULL
        if flags is not None:
            self._flags = Buffer(flags, PyBUF_SIMPLE)
            if self._flags.size != self._values.size // 8:
                raise ValueError("flags must hold a byte for each candidate")
            self.scores.flags = <const uint8_t *>self._flags.bytes


cdef class Contenders:
    """A list of records in the caller's array."""

    cdef Buffer _buffer
    cdef c.en_contender_list records

    def __cinit__(self, contenders):
        self._buffer = Buffer(contenders, PyBUF_WRITABLE)
        self.records.contenders = <c.en_contender *>self._buffer.bytes
        self.records.capacity = self._buffer.size // sizeof(c.en_contender)
        self.records.count = 0


cdef class Randomness:
    """The words of all candidates of some rows, from a key or from an array."""

    cdef Buffer _source
    cdef c.en_randomness randomness

    def __cinit__(self, key, words, Rows rows):
        cdef size_t k = rows.scores.candidates
        cdef size_t tiles
        self._source = Buffer(words if key is None else key, PyBUF_SIMPLE)
        if key is None:
            if self._source.size != 8 * k * rows.scores.rows:
                raise ValueError("words must hold a word for each candidate")
            self.randomness = c.en_randomness(c.EN_FROM_WORDS, NULL, <const uint64_t *>self._source.bytes,
                                              self._source.size // 8)
            return
        if k <= c.EN_BLOCK:
            tiles = rows.scores.rows // (c.EN_BLOCK // k) + 1
        else:
            tiles = rows.scores.rows * ((k - 1) // c.EN_BLOCK + 1)
        if self._source.size != c.EN_KEY_BYTES or tiles > <size_t>c.EN_TILES_PER_KEY:
            raise ValueError("a key has 32 bytes and serves at most TILES_PER_KEY tiles")
        self.randomness = c.en_randomness(c.EN_FROM_KEY, <const uint8_t *>self._source.bytes, NULL, 0)
