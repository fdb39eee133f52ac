# Local randomisers, coins, and what servers count in reports: native/response.h.

REPORT_BLOCK = c.EN_REPORT_BLOCK
COIN_GROUPS = c.EN_COIN_GROUPS
COIN_LEVELS = c.EN_COIN_LEVELS
HASH_BYTES = c.EN_HASH_BYTES
WORDS_PER_KEY = 1 << 23

COIN_ENDS = {"levels": c.EN_ENDS_IN_LEVELS, "tail": c.EN_ENDS_IN_TAIL, "never": c.EN_GOES_ON}


cdef class Source:
    """Where a range's words come from: `key` (32 bytes), the array `words`, or the operating system.

    The caller says how many words there are at a fixed place, and how many more an array may have.
    """

    cdef Buffer buffer
    cdef c.en_randomness randomness
    cdef size_t spare

    def __cinit__(self, key, words, size_t fixed, bint more=False):
        self.randomness = c.en_randomness(c.EN_FROM_SYSTEM, NULL, NULL, 0)
        self.spare = 0
        if key is not None:
            self.buffer = Buffer(key, PyBUF_SIMPLE)
            if self.buffer.size != c.EN_KEY_BYTES or fixed > <size_t>WORDS_PER_KEY:
                raise ValueError("a key has 32 bytes and serves at most WORDS_PER_KEY words")
            self.randomness = c.en_randomness(c.EN_FROM_KEY, <const uint8_t *>self.buffer.bytes, NULL, 0)
        elif words is not None:
            self.buffer = Buffer(words, PyBUF_SIMPLE)
            if self.buffer.size % 8 or self.buffer.size < 8 * fixed or self.buffer.size > 8 * fixed and not more:
                raise ValueError(f"words must hold {fixed} 64-bit words" + (" and spare ones" if more else ""))
            self.spare = self.buffer.size // 8 - fixed
            self.randomness = c.en_randomness(c.EN_FROM_WORDS, NULL, <const uint64_t *>self.buffer.bytes,
                                              self.buffer.size // 8)

    cdef int check_spare(self, size_t used) except -1:
        if self.randomness.origin == c.EN_FROM_WORDS and used > self.spare:
            raise ValueError(f"words must hold {used} spare ones for coins that the levels leave undecided")
        return 0


cdef c.en_domain domain_of(size_t categories, size_t missing) except *:
    if not 2 <= categories <= 1 << 16 or missing >= categories:
        raise ValueError("categories must be 2 .. 2**16, missing one of them")
    return c.en_domain(categories, missing)


cdef class Response:
    """One of `choices` values, or of so many buckets of a hash function; immutable, shared by threads."""

    cdef c.en_domain _domain
    cdef c.en_response _plan
    cdef const c.en_kernels *_kernels
    cdef readonly bint hashed

    def __cinit__(self, size_t categories, size_t missing, size_t choices, uint64_t other, bint hashed, str simd):
        self._kernels = kernels_named(simd)
        self._domain = domain_of(categories, missing)
        if not 2 <= choices <= 1 << 16 or (choices != categories and not hashed):
            raise ValueError("choices must be the categories, or 2 .. 2**16 buckets")
        if not 0 < other < 2.0**64 / choices:
            raise ValueError("other must be positive and below 2**64 / choices")
        self.hashed = hashed
        c.en_response_init(&self._plan, choices, other)

    def release(self, codes, out, *, key=None, words=None):
        """Writes the reports of the contiguous int64 codes."""
        cdef Buffer data = Buffer(codes, PyBUF_SIMPLE)
        cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
        cdef size_t n = data.size // 8
        cdef Source source = Source(key, words, 2 * n if self.hashed else n)
        cdef c.en_status status
        if target.size != n * (c.EN_HASH_BYTES if self.hashed else 1 if self._plan.choices <= 256 else 2):
            raise ValueError("out must hold a report for each code")
        with nogil:
            if self.hashed:
                status = c.en_respond_hashed(&self._domain, &self._plan, self._kernels, source.randomness,
                                             <const int64_t *>data.bytes, <uint8_t *>target.bytes, n)
            else:
                status = c.en_respond(&self._domain, &self._plan, self._kernels, source.randomness,
                                      <const int64_t *>data.bytes, target.bytes, n)
        raise_for_status(status)


cdef class Coin:
    """A coin's probability: `levels` bits of its binary expansion, the 64 after them, and how it ends."""

    cdef c.en_coin _coin
    cdef const c.en_kernels *_kernels

    def __cinit__(self, size_t levels, uint64_t head, uint64_t tail, str end, str simd):
        cdef size_t i
        self._kernels = kernels_named(simd)
        if not 1 <= levels <= c.EN_COIN_LEVELS:
            raise ValueError("levels must be 1 .. COIN_LEVELS")
        self._coin.levels = <unsigned>levels
        for i in range(levels):
            self._coin.bits[i] = <uint64_t>0 - (head >> (levels - 1 - i) & 1)
        self._coin.tail = tail
        self._coin.end = COIN_ENDS[end]

    def flip(self, ones, undecided, *, key=None, words=None):
        """Fills two buffers of one size: the coins, and which of them need the further bits of the probability."""
        cdef Buffer target = Buffer(ones, PyBUF_WRITABLE)
        cdef Buffer marks = Buffer(undecided, PyBUF_WRITABLE)
        cdef Source source = Source(key, words, (target.size + 7) // 8 * self._coin.levels, True)
        cdef size_t spare = source.spare
        cdef c.en_status status
        if target.size != marks.size:
            raise ValueError("ones and undecided must have one length")
        with nogil:
            status = c.en_coins(&self._coin, self._kernels, source.randomness, &spare,
                                <uint8_t *>target.bytes, <uint8_t *>marks.bytes, target.size)
        raise_for_status(status)
        source.check_spare(spare)


cdef class UnaryResponse:
    """A bit for each category: `keep` / 2^64 for the true one, a coin for every other one."""

    cdef c.en_unary _plan
    cdef const c.en_kernels *_kernels

    def __cinit__(self, size_t categories, size_t missing, uint64_t keep, Coin coin):
        if coin._coin.end == c.EN_GOES_ON:
            raise ValueError("the coin's probability must end in the levels or the tail")
        self._kernels = coin._kernels
        self._plan.domain = domain_of(categories, missing)
        self._plan.keep = keep
        self._plan.bytes = (categories + 7) // 8
        self._plan.coin = coin._coin

    def release(self, codes, out, *, key=None, words=None):
        """Writes the rows of the contiguous int64 codes."""
        cdef Buffer data = Buffer(codes, PyBUF_SIMPLE)
        cdef Buffer target = Buffer(out, PyBUF_WRITABLE)
        cdef size_t n = data.size // 8
        cdef Source source = Source(key, words, (target.size + 7) // 8 * self._plan.coin.levels + n, True)
        cdef size_t spare = source.spare
        cdef c.en_status status
        if target.size != n * self._plan.bytes:
            raise ValueError("out must hold a report for each code")
        with nogil:
            status = c.en_respond_unary(&self._plan, self._kernels, source.randomness, &spare,
                                        <const int64_t *>data.bytes, <uint8_t *>target.bytes, n)
        raise_for_status(status)
        source.check_spare(spare)


def count_columns(rows, counts, *, str simd):
    """Adds to counts (int64, 8 a byte of a row) how many rows have each bit set."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(rows, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(counts, PyBUF_WRITABLE)
    cdef size_t width = target.size // 64
    if target.size % 64 or not width or source.size % width:
        raise ValueError("counts must hold eight int64 for each byte of a row, rows whole rows")
    with nogil:
        c.en_count_columns(kernels, <const uint8_t *>source.bytes, width, source.size // width,
                           <int64_t *>target.bytes)


def count_supports(reports, supports, uint32_t buckets, *, str simd):
    """Adds to supports (int64, one a category) how many reports' hash functions put it into their bucket."""
    cdef const c.en_kernels *kernels = kernels_named(simd)
    cdef Buffer source = Buffer(reports, PyBUF_SIMPLE)
    cdef Buffer target = Buffer(supports, PyBUF_WRITABLE)
    if source.size % c.EN_HASH_BYTES or target.size % 8 or not 2 <= buckets <= 1 << 15:
        raise ValueError("reports must be whole ones, supports int64, buckets 2 .. 2**15")
    with nogil:
        c.en_count_supports(kernels, <const uint8_t *>source.bytes, source.size // c.EN_HASH_BYTES, buckets,
                            <int64_t *>target.bytes, target.size // 8)
