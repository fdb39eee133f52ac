"""From noisy parts to a statistic: post-processing, with its error and an interval."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.mechanisms._wide import Wide
from exactnoise.mechanisms.base import AdditiveMechanism
from exactnoise.mechanisms.selection import SelectionMechanism

__all__ = ["Additive", "Estimate", "MeanEstimate", "Selected", "VarianceEstimate", "noisy"]

Doubles = npt.NDArray[np.float64]
Interval = tuple[npt.NDArray[Any], npt.NDArray[Any]]


def noisy(mechanism: AdditiveMechanism, totals: Wide, *, whole: bool) -> npt.NDArray[Any]:
    """Totals with noise: int64 where they are whole numbers and the grid's step is 1, else float64."""
    released = mechanism.release_wide(totals)
    return released.int64() if whole and mechanism.granularity == 1 else released.floats()


class Estimate(ABC):
    """A statistic as a function of noisy parts."""

    @abstractmethod
    def value(self) -> npt.NDArray[Any]: ...

    @abstractmethod
    def std_error(self) -> npt.NDArray[Any] | None: ...

    @abstractmethod
    def interval(self, alpha: float) -> Interval: ...


@dataclass(frozen=True, eq=False)
class Additive(Estimate):
    """One noisy part over a public divisor.

    Attributes
    ----------
    mechanism : AdditiveMechanism
    noisy : ndarray of int64 or float64
    divisor : float
        Public; 1 for the part itself.
    least, most : float
        What the exact value cannot leave.
    clamp : bool
        Whether the value is moved there: for an interval it always can be.
    """

    mechanism: AdditiveMechanism
    noisy: npt.NDArray[Any]
    divisor: float = 1.0
    least: float = -np.inf
    most: float = np.inf
    clamp: bool = False

    def value(self) -> npt.NDArray[Any]:
        value = self.noisy if self.divisor == 1 else self.noisy / self.divisor
        if not self.clamp:
            return value
        if self.noisy.dtype.kind == "i":
            return np.maximum(value, round(self.least))
        return np.clip(value, self.least, self.most)

    def std_error(self) -> npt.NDArray[Any]:
        error = self.mechanism.std / self.divisor
        return np.full(self.noisy.shape, min(error, self.most - self.least) if self.clamp else error)

    def interval(self, alpha: float) -> Interval:
        low, high = self.mechanism.interval(self.noisy, alpha)
        low, high = np.asarray(low / self.divisor), np.asarray(high / self.divisor)
        return np.clip(low, self.least, self.most), np.clip(high, self.least, self.most)


@dataclass(frozen=True, eq=False)
class MeanEstimate(Estimate):
    """centre + (noisy sum of x - centre) / size, within the bounds.

    Attributes
    ----------
    sums : Additive
    counts : Additive or None
        The noisy size; None where it is public, and then `size`.
    """

    sums: Additive
    counts: Additive | None
    size: float
    centre: float
    lower: float
    upper: float

    def value(self) -> Doubles:
        return np.clip(self.centre + self._deviation(), self.lower, self.upper)

    def _sizes(self) -> Doubles:
        return np.asarray(self.size if self.counts is None else _at_least_one(self.counts.value()))

    def _deviation(self) -> Doubles:
        half = (self.upper - self.lower) / 2
        return np.clip(self.sums.value() / self._sizes(), -half, half)

    def std_error(self) -> Doubles:
        by_counts = 0.0 if self.counts is None else self._deviation() * self.counts.mechanism.std
        error = np.hypot(self.sums.std_error(), by_counts) / self._sizes()
        return np.asarray(np.minimum(error, self.upper - self.lower))

    def interval(self, alpha: float) -> Interval:
        if self.counts is None:
            low, high = (end / self.size for end in self.sums.interval(alpha))
        else:
            low, high = _ratio(self.sums.interval(alpha / 2), self.counts.interval(alpha / 2))
        return (
            np.clip(self.centre + low, self.lower, self.upper),
            np.clip(self.centre + high, self.lower, self.upper),
        )


@dataclass(frozen=True, eq=False)
class VarianceEstimate(Estimate):
    """(mean of squares of x - centre) - (mean of x - centre)^2, between 0 and a quarter of the squared width.

    That times n / (n - ddof). It is computed in units of half the width, in which no square is too large for a double.

    Attributes
    ----------
    sums : Additive
    squares : Additive
        Of the squares, half the largest of which was taken off each before the noise.
    counts : Additive
    half : float
        Half the bounds' width.
    ddof : int
    """

    sums: Additive
    squares: Additive
    counts: Additive
    half: float
    ddof: int

    @property
    def _largest(self) -> float:
        return self.half * self.half

    def value(self) -> Doubles:
        size = self._size()
        mean, square = self.sums.value() / self.half / size, self.squares.value() / self._largest / size + 0.5
        return self._scaled(square - mean * mean, size)

    def _scaled(self, value: Doubles, size: Doubles) -> Doubles:
        """In the data's units, and of that many rows; what is beyond the possible is moved there."""
        # With ddof = 1 of at least two rows: of one the variance is 0, and the correction falls with n.
        rows = np.maximum(size, 1.0 + self.ddof)
        return np.asarray(np.clip(value, 0.0, 1.0) * (rows / (rows - self.ddof)) * self._largest)

    def _size(self) -> Doubles:
        return _at_least_one(self.counts.value())

    def std_error(self) -> Doubles:
        size = self._size()
        mean, square = self.sums.value() / self.half / size, self.squares.value() / self._largest / size
        by_sums = 2 * mean * (self.sums.mechanism.std / self.half)
        by_counts = (square - 2 * mean * mean) * self.counts.mechanism.std
        error = np.sqrt((self.squares.mechanism.std / self._largest) ** 2 + by_sums**2 + by_counts**2)
        return self._scaled(error / size, size)

    def interval(self, alpha: float) -> Interval:
        sizes = self.counts.interval(alpha / 3)
        mean_low, mean_high = (end / self.half for end in _ratio(self.sums.interval(alpha / 3), sizes))
        square_low, square_high = (end / self._largest + 0.5 for end in _ratio(self.squares.interval(alpha / 3), sizes))
        largest = np.maximum(mean_low**2, mean_high**2)
        least = np.where((mean_low < 0) & (mean_high > 0), 0.0, np.minimum(mean_low**2, mean_high**2))
        return self._scaled(square_low - largest, sizes[1]), self._scaled(square_high - least, sizes[0])


@dataclass(frozen=True, eq=False)
class Selected(Estimate):
    """Selected candidates, whose error is one of rank and not of value.

    Attributes
    ----------
    selected : ndarray of float64
    mechanisms : tuple of SelectionMechanism
        That of each level.
    scores_a_row : tuple of int
        By how much a score moves for each row more below its candidate.
    candidates : int
    """

    selected: Doubles
    mechanisms: tuple[SelectionMechanism, ...]
    scores_a_row: tuple[int, ...]
    candidates: int

    def value(self) -> Doubles:
        return self.selected

    def std_error(self) -> None:
        return None

    def interval(self, alpha: float) -> Interval:
        raise TypeError("a quantile's error is one of rank, not of value: release.rank_error(alpha) tells it, in rows")

    def rank_error(self, alpha: float) -> float:
        return max(
            mechanism.half_width(alpha, candidates=self.candidates) / row
            for mechanism, row in zip(self.mechanisms, self.scores_a_row, strict=True)
        )


def _ratio(numerators: Interval, sizes: Interval) -> Interval:
    """The range of numerator / size over both intervals, sizes being at least 1."""
    smallest, largest = (_at_least_one(end) for end in sizes)
    low, high = numerators
    return np.minimum(low / smallest, low / largest), np.maximum(high / smallest, high / largest)


def _at_least_one(counts: npt.NDArray[Any]) -> Doubles:
    return np.maximum(counts.astype(np.float64), 1.0)
