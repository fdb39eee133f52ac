"""Exact totals of any size: 128-bit integers in units of a power of two, as arrays of their two words."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

__all__ = ["Wide"]

_WORD = 2**64
#: Whole parts are clamped to this many steps, so that noise can be added to them in 64 bits.
_MOST_STEPS = 2**62


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
    def from_counts(cls, counts: npt.NDArray[np.int64]) -> Self:
        return cls(counts.view(np.uint64), counts >> np.int64(63), 0)

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

    def split(self, steps: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
        """The values as whole multiples of a step of 2^steps units and a rest, 0 <= rest < 2^steps units.

        `steps` is at most 63; with a negative one nothing can remain. Whole parts saturate at 2^62.
        """
        if steps < 0:
            wide, rest = self.in_units_of(self.exponent + steps), np.zeros_like(self.low)
            whole, carried = wide.low.view(np.int64), wide.high
        else:
            rest = self.low & np.uint64(2**steps - 1)
            whole = (self.low >> np.uint64(steps)).view(np.int64)
            if steps:
                whole = whole | self.high << np.int64(64 - steps)
            carried = self.high >> np.int64(steps)
        fits = carried == whole >> np.int64(63)
        saturated = np.where(carried < 0, -_MOST_STEPS, _MOST_STEPS)
        return np.clip(np.where(fits, whole, saturated), -_MOST_STEPS, _MOST_STEPS), rest
