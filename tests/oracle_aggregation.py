"""What native/quantize.h, sums.h and counts.h say, in Python's integers and fractions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

MOST = 2**50


def clamp(q: int, low: int, high: int) -> int:
    return min(max(q, low), high)


def quantize(x: float | int, exponent: int, low: int, high: int, nan: int | None) -> int | None:
    """The integer of a value, None if it is dropped."""
    if math.isnan(x):
        return nan
    if math.isinf(x):
        return high if x > 0 else low
    return clamp(round(Fraction(x) / Fraction(2) ** exponent), low, high)  # ties to even


def truncate(x: float, exponent: int) -> int:
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return MOST if x > 0 else -MOST
    return clamp(math.trunc(Fraction(x) / Fraction(2) ** exponent), -MOST, MOST)


def grouped(
    values: Iterable[int | None], codes: Sequence[int], groups: int, middle: int
) -> tuple[list[int], list[int], list[int]]:
    """Counts, sums, and sums of the squares of 2q - middle."""
    counts, sums, squares = [0] * groups, [0] * groups, [0] * groups
    for q, code in zip(values, codes, strict=True):
        if q is not None and 0 <= code < groups:
            counts[code] += 1
            sums[code] += q
            squares[code] += (2 * q - middle) ** 2
    return counts, sums, squares


def bin_of(x: float | int, edges: Sequence[float | int]) -> int:
    if math.isnan(x) or x < edges[0] or x > edges[-1]:
        return -1
    return min(sum(edge <= x for edge in edges), len(edges) - 1) - 1


def integers(words: np.ndarray) -> list[int]:
    """128-bit integers in two's complement from rows of (low, high)."""
    totals = [int(high) << 64 | int(low) for low, high in words.reshape(-1, 2)]
    return [total - (total >> 127 << 128) for total in totals]


def words(totals: Iterable[int]) -> np.ndarray:
    return np.array([[total & 2**64 - 1, total >> 64 & 2**64 - 1] for total in totals], np.uint64)
