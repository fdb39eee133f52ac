from array import array
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy.typing as npt

Buffer: TypeAlias = bytes | bytearray | memoryview | array[int] | npt.NDArray[Any]

Form: TypeAlias = Literal["float64", "float32", "int64-float64", "int64"]

BLOCK: int
KEY_BYTES: int
SAMPLES_PER_KEY: int
PENDING_BYTES: int
GROUP_WORDS: int
STATUS_END: int
REPORT_BLOCK: int
COIN_GROUPS: int
COIN_LEVELS: int
HASH_BYTES: int
WORDS_PER_KEY: int

def simd_available() -> tuple[str, ...]: ...
def fill_entropy(buffer: Buffer) -> None: ...
def entropy_source() -> str: ...

class Plan:
    family: str
    form: Form
    simd: str
    def __new__(
        cls,
        family: str,
        form: Form,
        s: float,
        exponent: int,
        nan: float,
        offset: float,
        simd: str,
        window_factor: float = 1.0,
        thresholds: Sequence[float] = (),
        shortfall: int = 0,
    ) -> Plan: ...
    @property
    def window(self) -> tuple[float, float]: ...
    @property
    def extension_count(self) -> int: ...
    def word_count(self, n: int) -> int: ...
    def settle(self, pending: Buffer, out: Buffer, extension: Buffer | None = None) -> int: ...
    def release(
        self,
        x: Buffer,
        out: Buffer,
        start: int,
        n: int,
        pending: Buffer,
        *,
        key: Buffer | None = None,
        words: Buffer | None = None,
    ) -> tuple[int, int]: ...
    def release_one(self, x: float | int) -> float | int | tuple[int, tuple[int, int, int]]: ...

def clamp(x: Buffer, out: Buffer, low: float, high: float, *, float32: bool) -> None: ...
def widen(x: Buffer, out: Buffer, *, simd: str) -> None: ...
def clip_rows(norm: str, x: Buffer, out: Buffer, columns: int, bound: float, *, float32: bool, simd: str) -> None: ...

class Response:
    hashed: bool
    def __new__(cls, categories: int, missing: int, choices: int, other: int, hashed: bool, simd: str) -> Response: ...
    def release(
        self, codes: Buffer, out: Buffer, *, key: Buffer | None = None, words: Buffer | None = None
    ) -> None: ...

class Coin:
    def __new__(cls, levels: int, head: int, tail: int, end: Literal["levels", "tail", "never"], simd: str) -> Coin: ...
    def flip(
        self, ones: Buffer, undecided: Buffer, *, key: Buffer | None = None, words: Buffer | None = None
    ) -> None: ...

class UnaryResponse:
    def __new__(cls, categories: int, missing: int, keep: int, coin: Coin) -> UnaryResponse: ...
    def release(
        self, codes: Buffer, out: Buffer, *, key: Buffer | None = None, words: Buffer | None = None
    ) -> None: ...

def count_columns(rows: Buffer, counts: Buffer, *, simd: str) -> None: ...
def count_supports(reports: Buffer, supports: Buffer, buckets: int, *, simd: str) -> None: ...
def chacha20_words(key: Buffer, counter: int, out: Buffer, *, simd: str) -> None: ...
def negative_log(words: Buffer, out: Buffer, *, simd: str) -> None: ...
def sincos(words: Buffer, sine: Buffer, cosine: Buffer, *, simd: str) -> None: ...
def square_root(x: Buffer, out: Buffer, *, simd: str) -> None: ...

CONTENDER_BYTES: int
TILES_PER_KEY: int
EXCLUDED: int
MISSING: int

class Selection:
    family: Literal["exponential", "permute-and-flip"]
    form: Literal["float64", "int64"]
    scale: float
    simd: str
    def __new__(cls, family: str, form: str, scale: float, simd: str, window_factor: float = 1.0) -> Selection: ...
    def select(
        self,
        scores: Buffer,
        flags: Buffer | None,
        candidates: int,
        out: Buffer,
        contenders: Buffer,
        *,
        key: Buffer | None = None,
        words: Buffer | None = None,
    ) -> int: ...
    def widen_range(self, scores: Buffer, flags: Buffer | None, maxima: Buffer) -> None: ...
    def select_part(
        self,
        scores: Buffer,
        flags: Buffer | None,
        maxima: Buffer,
        contenders: Buffer,
        *,
        key: Buffer | None = None,
        words: Buffer | None = None,
    ) -> tuple[int, float]: ...

class Quantizer:
    low: int
    high: int
    simd: str
    def __new__(cls, exponent: int, low: int, high: int, nan: int | None, simd: str) -> Quantizer: ...
    def add_sums(self, x: Buffer, codes: Buffer | None, counts: Buffer, sums: Buffer) -> None: ...
    def add_moments(self, x: Buffer, codes: Buffer | None, counts: Buffer, sums: Buffer, squares: Buffer) -> None: ...
    def cells(self, x: Buffer, out: Buffer) -> None: ...

def count_codes(codes: Buffer, counts: Buffer) -> None: ...
def bin_values(x: Buffer, edges: Buffer, out: Buffer, *, simd: str) -> None: ...
def add_rows(rows: Buffer, codes: Buffer | None, sums: Buffer, exponent: int, *, simd: str) -> None: ...
