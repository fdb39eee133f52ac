"""The law of an error: its root mean square, its mean absolute value, and how far it reaches."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from exactnoise.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Snapping
from exactnoise.mechanisms.base import AdditiveMechanism

__all__ = ["CutLaw", "FiniteLaw", "Law", "MixedLaw", "NoiseLaw", "SumLaw", "snapping_law"]

Doubles = npt.NDArray[np.float64]

_POINTS = 2**14  # of the grid of a sum
_STEPS = 256  # of it in a standard deviation
_SMALLEST_GRID_ALPHA = 1e-9  # what lies beyond the grid's end is less likely by far
_LARGEST_SUMMED = 1000.0  # scales of integer noise up to which it is summed term by term


class Law(ABC):
    """The law of a real error about 0."""

    @property
    @abstractmethod
    def std(self) -> float:
        """The root of the mean square."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """The mean of the absolute value."""

    @abstractmethod
    def half_width(self, alpha: float) -> float:
        """The smallest t with P(|error| > t) <= alpha."""

    @abstractmethod
    def beyond(self, t: float) -> float:
        """P(|error| > t)."""


@dataclass(frozen=True, eq=False)
class NoiseLaw(Law):
    """A mechanism's noise times a public factor."""

    mechanism: AdditiveMechanism
    factor: float = 1.0

    @property
    def std(self) -> float:
        return abs(self.factor) * self.mechanism.std

    @property
    def mean_absolute(self) -> float:
        return abs(self.factor) * _mean_absolute(self.mechanism)

    def half_width(self, alpha: float) -> float:
        return abs(self.factor) * self.mechanism.half_width(alpha)

    def beyond(self, t: float) -> float:
        return SumLaw((self,)).beyond(t)


class SumLaw(Law):
    """The sum of independent noises: its moments in closed form, the rest by convolution on a grid.

    The grid has 256 steps in a standard deviation and reaches 32 of them to either side; what it gives is within 1e-5
    of the exact values, relatively. Integer noise is put on the grid's points so that its mean stays.
    """

    def __init__(self, noises: Sequence[NoiseLaw]) -> None:
        self._noises = tuple(noise for noise in noises if noise.factor)

    @property
    def std(self) -> float:
        return math.hypot(*(noise.std for noise in self._noises))

    @cached_property
    def _masses(self) -> tuple[Doubles, Doubles]:
        """Steps of the grid from 0 on, and the probability that the absolute error is about there."""
        step, half = self.std / _STEPS, _POINTS // 2
        transforms = [np.fft.rfft(np.fft.ifftshift(_on_grid(noise, step, half))) for noise in self._noises]
        masses = np.fft.fftshift(np.fft.irfft(np.prod(transforms, axis=0), _POINTS)).clip(0)
        folded = masses[half:].copy()
        folded[1:] += masses[1:half][::-1]
        return np.asarray(step * np.arange(half)), np.asarray(folded / folded.sum())

    @property
    def mean_absolute(self) -> float:
        if len(self._noises) == 1:
            return self._noises[0].mean_absolute
        points, masses = self._masses
        return float(points @ masses)

    @cached_property
    def _outside(self) -> tuple[Doubles, Doubles]:
        """Distances, and the probability of a larger error, falling."""
        points, masses = self._masses
        edges = np.concatenate([[0.0], points + points[1] / 2])
        return edges, np.concatenate([[1.0], (1 - np.cumsum(masses)).clip(0)])

    def half_width(self, alpha: float) -> float:
        if len(self._noises) == 1:
            return self._noises[0].half_width(alpha)
        if alpha < _SMALLEST_GRID_ALPHA:
            return sum(noise.half_width(alpha / len(self._noises)) for noise in self._noises)
        edges, outside = self._outside
        return float(np.interp(-alpha, -outside, edges))

    def beyond(self, t: float) -> float:
        return float(np.interp(t, *self._outside))


@dataclass(frozen=True, eq=False)
class FiniteLaw(Law):
    """Finitely many errors with their probabilities."""

    errors: Doubles
    probabilities: Doubles

    @property
    def std(self) -> float:
        return math.sqrt(self.probabilities @ self.errors**2)

    @property
    def mean_absolute(self) -> float:
        return float(self.probabilities @ np.abs(self.errors))

    @cached_property
    def _outside(self) -> tuple[Doubles, Doubles]:
        """Absolute errors in ascending order, and the probability of a larger one."""
        distances = np.abs(self.errors)
        order = np.argsort(distances)
        masses = self.probabilities[order]
        return distances[order], np.concatenate([np.cumsum(masses[::-1])[::-1][1:], [0.0]])

    def half_width(self, alpha: float) -> float:
        distances, outside = self._outside
        return float(distances[np.argmax(outside <= alpha)])

    def beyond(self, t: float) -> float:
        return float(self.probabilities[np.abs(self.errors) > t].sum())


@dataclass(frozen=True, eq=False)
class CutLaw(Law):
    """An error that cannot be larger than `most`, as its value is cut to what is possible: no number above that."""

    law: Law
    most: float

    @property
    def std(self) -> float:
        return min(self.law.std, self.most)

    @property
    def mean_absolute(self) -> float:
        return min(self.law.mean_absolute, self.most)

    def half_width(self, alpha: float) -> float:
        return min(self.law.half_width(alpha), self.most)

    def beyond(self, t: float) -> float:
        return self.law.beyond(t) if t < self.most else 0.0


class MixedLaw(Law):
    """The error of one of several cells, each as likely as the others."""

    def __init__(self, laws: Sequence[Law]) -> None:
        self._laws = tuple(laws)

    @property
    def std(self) -> float:
        return math.sqrt(math.fsum(law.std**2 for law in self._laws) / len(self._laws))

    @property
    def mean_absolute(self) -> float:
        return math.fsum(law.mean_absolute for law in self._laws) / len(self._laws)

    def half_width(self, alpha: float) -> float:
        widths = [law.half_width(alpha) for law in self._laws]
        low, high = min(widths), max(widths)
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.beyond(middle) <= alpha else (middle, high)
        return high

    def beyond(self, t: float) -> float:
        return math.fsum(law.beyond(t) for law in self._laws) / len(self._laws)


def snapping_law(mechanism: Snapping, x: float) -> FiniteLaw:
    """What rounding and clamping make of the noise depends on where the exact value lies."""
    low, high = (float(bound) for bound in mechanism.bounds)
    inside, step = min(max(x, low), high), mechanism.granularity
    reach = 45 * mechanism.scale  # beyond lies less than 1e-19
    steps = np.arange(math.floor((inside - reach) / step), math.ceil((inside + reach) / step) + 1)
    edges = np.asarray((steps[:-1] + 0.5) * step - inside) / mechanism.scale
    masses = np.diff(_laplace_cdf(edges), prepend=0.0, append=1.0)
    return FiniteLaw(np.asarray(np.clip(steps * step, low, high) - x), masses)


def _mean_absolute(mechanism: AdditiveMechanism) -> float:
    scale = mechanism.scale
    if isinstance(mechanism, Laplace):
        return scale
    if isinstance(mechanism, Gaussian):
        return scale * math.sqrt(2 / math.pi)
    if isinstance(mechanism, DiscreteLaplace):
        return 2 * math.exp(-1 / scale) / -math.expm1(-2 / scale)
    assert isinstance(mechanism, DiscreteGaussian)
    if scale <= _LARGEST_SUMMED:
        _, masses = _discrete_gaussian(scale)
        return float(2 * (np.arange(1, len(masses) // 2 + 1) @ masses[len(masses) // 2 + 1 :]))
    # The Euler-Maclaurin formula for the sum of k exp(-k^2 / (2 s^2)); the next term is of order 1 / s^4.
    return math.sqrt(2 / math.pi) * (scale - 1 / (12 * scale))


def _on_grid(noise: NoiseLaw, step: float, half: int) -> Doubles:
    """The probability of each point -half .. half - 1."""
    mechanism, factor = noise.mechanism, abs(noise.factor)
    scale = factor * mechanism.scale
    whole: dict[type[AdditiveMechanism], Callable[[float], tuple[Doubles, Doubles]]] = {
        DiscreteLaplace: _discrete_laplace,
        DiscreteGaussian: _discrete_gaussian,
    }
    if type(mechanism) in whole and mechanism.scale <= _LARGEST_SUMMED:
        values, masses = whole[type(mechanism)](mechanism.scale)
        position = np.clip(values * (factor / step) + half, 0, 2 * half - 2)
        point = np.floor(position).astype(np.int64)
        above = position - point
        return np.asarray(
            np.bincount(point, masses * (1 - above), 2 * half) + np.bincount(point + 1, masses * above, 2 * half)
        )
    edges = np.asarray((np.arange(-half, half - 1) + 0.5) * (step / scale))
    cdf = _laplace_cdf if isinstance(mechanism, (Laplace, DiscreteLaplace)) else _normal_cdf
    return np.diff(cdf(edges), prepend=0.0, append=1.0)


def _discrete_laplace(scale: float) -> tuple[Doubles, Doubles]:
    values = np.arange(-math.ceil(45 * scale), math.ceil(45 * scale) + 1, dtype=np.float64)
    return values, np.exp(-np.abs(values) / scale) * math.tanh(0.5 / scale)


def _discrete_gaussian(scale: float) -> tuple[Doubles, Doubles]:
    values = np.arange(-math.ceil(12 * scale), math.ceil(12 * scale) + 1, dtype=np.float64)
    masses = np.exp(-0.5 * (values / scale) ** 2)
    return values, masses / masses.sum()


def _laplace_cdf(z: Doubles) -> Doubles:
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z < 0, tail, 1 - tail)


def _normal_cdf(z: Doubles) -> Doubles:
    return np.array([math.erfc(-x) for x in (z / math.sqrt(2)).tolist()]) / 2
