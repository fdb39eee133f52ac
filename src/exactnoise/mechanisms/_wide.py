"""Exact totals of any size: 128-bit integers in units of a power of two, as arrays of their two words."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Wide"]

_WORD = 2**64


class Wide(NamedTuple):
    """Integers below 2^127 in magnitude, times a common power of two.

    Attributes
    ----------
    low : ndarray of uint64
        The lower words, of any shape.
    high : ndarray of int64
        The upper words: an element is high 2^64 + low.
    exponent : int
        The unit is 2^exponent.
    """

    low: npt.NDArray[np.uint64]
    high: npt.NDArray[np.int64]
    exponent: int

    @classmethod
    def zeros(cls, shape: int | tuple[int, ...], exponent: int) -> Self:
        return cls(np.zeros(shape, np.uint64), np.zeros(shape, np.int64), exponent)

    @classmethod
    def from_words(cls, words: npt.NDArray[np.uint64], exponent: int) -> Self:
        """The totals of the kernels: words[group, 0] and words[group, 1] are the lower and the upper one."""
        return cls(words[:, 0], words[:, 1].view(np.int64), exponent)

    @classmethod
    def from_int64(cls, integers: npt.NDArray[np.int64], exponent: int = 0) -> Self:
        return cls(integers.view(np.uint64), integers >> np.int64(63), exponent)

    @classmethod
    def from_ints(cls, integers: Iterable[int], exponent: int) -> Self:
        """Python integers, in one dimension; those beyond 127 bits saturate."""
        clamped = [min(max(integer, -(2**127)), 2**127 - 1) for integer in integers]
        low = np.array([integer % _WORD for integer in clamped], np.uint64)
        high = np.array([integer // _WORD for integer in clamped], np.int64)
        return cls(low, high, exponent)

    def ints(self) -> list[int]:
        """The integers, in C order."""
        return [
            high * _WORD + low for low, high in zip(self.low.ravel().tolist(), self.high.ravel().tolist(), strict=True)
        ]

    def fractions(self) -> list[Fraction]:
        """The exact values, in C order."""
        unit = Fraction(2) ** self.exponent
        return [integer * unit for integer in self.ints()]

    @staticmethod
    def products(counts: npt.NDArray[np.int64], factor: int, exponent: int) -> Wide:
        """Counts, which are not negative, times an integer below 2^64 in magnitude."""
        mask, half = np.uint64(2**32 - 1), np.uint64(32)
        total = Wide.zeros(counts.shape, exponent)
        for i, digits in enumerate((counts.view(np.uint64) & mask, counts.view(np.uint64) >> half)):
            for j in range(2):
                product = digits * np.uint64(abs(factor) >> 32 * j & 2**32 - 1)
                part = Wide(product, np.zeros(counts.shape, np.int64), exponent + 32 * (i + j))
                total += part
        return total if factor >= 0 else -total

    def __neg__(self) -> Self:
        return type(self)(~self.low + np.uint64(1), ~self.high + (self.low == 0), self.exponent)

    def __sub__(self, other: Any) -> Self:
        return self.__add__(-other)

    def __add__(self, other: Any) -> Self:
        """The sums of two arrays of totals, in the finer of their units."""
        exponent = min(self.exponent, other.exponent)
        ours, theirs = self.in_units_of(exponent), other.in_units_of(exponent)
        low = ours.low + theirs.low
        return type(self)(low, ours.high + theirs.high + (low < ours.low), exponent)

    def in_units_of(self, exponent: int) -> Self:
        """The same values in a unit that is not coarser."""
        shift = self.exponent - exponent
        assert shift >= 0
        if shift == 0:
            return self
        if shift >= 64:
            return type(self)(np.zeros_like(self.low), (self.low << np.uint64(shift - 64)).view(np.int64), exponent)
        up, down = np.uint64(shift), np.uint64(64 - shift)
        high = (self.high.view(np.uint64) << up | self.low >> down).view(np.int64)
        return type(self)(self.low << up, high, exponent)

    def split(self, steps: int) -> tuple[Self, npt.NDArray[np.uint64]]:
        """The values as whole multiples of a step of 2^steps units, and a rest, 0 <= rest < 2^steps units.

        `steps` is at most 63; with a negative one nothing can remain.
        """
        exponent = self.exponent + steps
        if steps <= 0:
            return self.in_units_of(exponent), np.zeros_like(self.low)
        low = self.low >> np.uint64(steps) | self.high.view(np.uint64) << np.uint64(64 - steps)
        return type(self)(low, self.high >> np.int64(steps), exponent), self.low & np.uint64(2**steps - 1)

    def int64(self) -> npt.NDArray[np.int64]:
        """The integers, saturating."""
        narrow = self.low.view(np.int64)
        limits = np.where(self.high < 0, np.int64(-(2**63)), np.int64(2**63 - 1))
        return np.where(self.high == narrow >> np.int64(63), narrow, limits)

    def floats(self) -> npt.NDArray[np.float64]:
        """The values as doubles, saturating: rounded once where an integer has 64 bits, at most three times else."""
        narrow = self.low.view(np.int64)
        small = np.ldexp(narrow.astype(np.float64), self.exponent)
        with np.errstate(all="ignore"):
            large = np.ldexp(self.high.astype(np.float64), self.exponent + 64)
            large = large + np.ldexp(self.low.astype(np.float64), self.exponent)
        values = np.where(self.high == narrow >> np.int64(63), small, large)
        return np.clip(values, -sys.float_info.max, sys.float_info.max)
