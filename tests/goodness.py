"""Goodness of fit against the exact law of a released integer, with rigorous false-alarm rates.

``failures`` names the checks that a sample fails. Each check alarms with a probability below
``ALARM`` on a sample of the law itself (exactly for the counts, asymptotically for chi-square and
the moments); with fixed words it is not random at all.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist

import gmpy2
import numpy as np

ALARM = 1e-9
CELLS = 200
TAIL_LEVELS = (1e-3, 1e-4, 1e-5)
PRECISION = 256


class Law(ABC):
    """The law of an integer K = round(position + Z), or of position + X, in grid steps."""

    REACH: float  # beyond so many scales lies less mass than a double can see

    def __init__(self, steps: float, position: float = 0.0) -> None:
        self.steps = steps
        self.position = position

    @abstractmethod
    def cumulative(self, k: int) -> gmpy2.mpfr:
        """P(K <= k)."""

    @abstractmethod
    def quantile(self, p: float) -> float:
        """About the k with P(K <= k) = p."""

    @property
    @abstractmethod
    def ideal_variance(self) -> float:
        """The variance of the noise before it is rounded."""

    def masses(self, edges: list[int]) -> np.ndarray:
        """P(K <= e0), P(e0 < K <= e1), ..., P(K > e_last); differences taken at high precision."""
        with gmpy2.context(precision=PRECISION):
            cumulative = [gmpy2.mpfr(0), *map(self.cumulative, edges), gmpy2.mpfr(1)]
            return np.array([float(b - a) for a, b in itertools.pairwise(cumulative)])

    @cached_property
    def mean_and_variance(self) -> tuple[float, float]:
        """Exact up to double rounding: summed for coarse grids, Sheppard's correction for fine."""
        if self.steps > 100:  # the correction is off by e^(-2 pi^2 steps^2) or 1/(720 steps^2)
            return self.position, self.ideal_variance + 1 / 12
        centre, reach = round(self.position), math.ceil(self.REACH * self.steps) + 2
        ks = np.arange(centre - reach, centre + reach + 1)
        masses = self.masses([int(k) for k in ks[:-1]])
        mean = float(masses @ ks)
        return mean, float(masses @ (ks - mean) ** 2)


class RoundedLaplace(Law):
    REACH = 45.0

    def cumulative(self, k: int) -> gmpy2.mpfr:
        t = _exact(Fraction(2 * k + 1, 2) - Fraction(self.position)) / self.steps
        return gmpy2.exp(t) / 2 if t < 0 else 1 - gmpy2.exp(-t) / 2

    def quantile(self, p: float) -> float:
        return self.position + self.steps * _laplace_quantile(p)

    @property
    def ideal_variance(self) -> float:
        return 2 * self.steps**2


class RoundedGaussian(Law):
    REACH = 9.0

    def cumulative(self, k: int) -> gmpy2.mpfr:
        t = _exact(Fraction(2 * k + 1, 2) - Fraction(self.position)) / self.steps
        return gmpy2.erfc(-t / gmpy2.sqrt(gmpy2.mpfr(2))) / 2

    def quantile(self, p: float) -> float:
        return self.position + self.steps * NormalDist().inv_cdf(p)

    @property
    def ideal_variance(self) -> float:
        return self.steps**2


class Geometric(Law):
    """The discrete Laplace law, P(X = k) proportional to e^(-|k|/s), about an integer position."""

    def cumulative(self, k: int) -> gmpy2.mpfr:
        k -= int(self.position)
        q = gmpy2.exp(-1 / gmpy2.mpfr(self.steps))
        return 1 - q ** (k + 1) / (1 + q) if k >= 0 else q**-k / (1 + q)

    def quantile(self, p: float) -> float:
        return self.position + self.steps * _laplace_quantile(p)

    @property
    def ideal_variance(self) -> float:
        return 2 * math.exp(-1 / self.steps) / math.expm1(-1 / self.steps) ** 2

    @cached_property
    def mean_and_variance(self) -> tuple[float, float]:
        return self.position, self.ideal_variance


class DiscreteGaussianLaw(Law):
    """P(X = k) proportional to e^(-k^2 / (2 s^2)), about an integer position: by sums, or by an integral.

    The integral from k - 1/2 on, with its first correction, is off by less than 1e-3 s^-4 of what it is.
    """

    REACH = 9.0

    @cached_property
    def _sums(self) -> tuple[list[gmpy2.mpfr], gmpy2.mpfr]:
        """The sums from k = 0, 1, .. on, and that over all integers."""
        with gmpy2.context(precision=PRECISION):
            rate = 1 / (2 * gmpy2.mpfr(self.steps) ** 2)
            weights = [gmpy2.exp(-rate * k * k) for k in range(math.ceil(20 * self.steps) + 20)]
            beyond = list(itertools.accumulate(reversed(weights)))[::-1]
            return beyond, 2 * beyond[0] - 1

    def cumulative(self, k: int) -> gmpy2.mpfr:
        k -= int(self.position)
        if k < 0:
            return self._beyond(-k)
        return 1 - self._beyond(k + 1)

    def _beyond(self, k: int) -> gmpy2.mpfr:
        """P(X >= k), k >= 1."""
        if self.steps <= 1000:
            beyond, total = self._sums
            return beyond[k] / total if k < len(beyond) else gmpy2.mpfr(0)
        t = (k - gmpy2.mpfr(0.5)) / self.steps
        density = gmpy2.exp(-t * t / 2) / gmpy2.sqrt(2 * gmpy2.const_pi())
        # Half a step's curvature: minus the derivative of the density over 24.
        return gmpy2.erfc(t / gmpy2.sqrt(gmpy2.mpfr(2))) / 2 - t * density / (24 * gmpy2.mpfr(self.steps) ** 2)

    def quantile(self, p: float) -> float:
        return self.position + self.steps * NormalDist().inv_cdf(p)

    @property
    def ideal_variance(self) -> float:
        if self.steps > 100:
            return self.steps**2
        weights = [math.exp(-((k / self.steps) ** 2) / 2) for k in range(1, math.ceil(40 * self.steps) + 2)]
        return 2 * sum(k * k * w for k, w in enumerate(weights, 1)) / (1 + 2 * sum(weights))

    @cached_property
    def mean_and_variance(self) -> tuple[float, float]:
        return self.position, self.ideal_variance


def _exact(value: Fraction) -> gmpy2.mpfr:
    return gmpy2.mpfr(gmpy2.mpq(value))


def _laplace_quantile(p: float) -> float:
    return math.log(2 * p) if p < 0.5 else -math.log(2 * (1 - p))


# ---------------------------------------------------------------------------------------------


def failures(ks: np.ndarray, law: Law) -> list[str]:
    """The checks that a sample of integers fails, with their p-values."""
    checks = {
        "cells": _cells(ks, law),
        "mean": _mean(ks, law),
        "variance": _variance(ks, law),
        "lag-1 independence": _lag(ks, law),
    }
    for level in TAIL_LEVELS:
        low, high = round(law.quantile(level)), round(law.quantile(1 - level))
        below, _, above = law.masses([low, high]) if low < high else (0, 0, 0)
        if low < high:
            checks[f"tail below {level}"] = count_tail(int(np.sum(ks <= low)), ks.size, below)
            checks[f"tail above {level}"] = count_tail(int(np.sum(ks > high)), ks.size, above)
    centre = round(law.position)
    below, at, above = law.masses([centre - 1, centre])
    checks["at the centre"] = count_tail(int(np.sum(ks == centre)), ks.size, at)
    checks["below the centre"] = count_tail(int(np.sum(ks < centre)), ks.size, below)
    checks["above the centre"] = count_tail(int(np.sum(ks > centre)), ks.size, above)
    if law.steps > 1000:
        checks["low bits"] = low_bits(ks)
    return [f"{name}: p = {p:.2g}" for name, p in checks.items() if p < ALARM]


def cell_edges(law: Law, cells: int = CELLS) -> list[int]:
    """Edges of cells of about equal mass, with the tail levels added on either side."""
    inner = [law.quantile(i / cells) for i in range(1, cells)]
    tails = [law.quantile(p) for level in TAIL_LEVELS for p in (level, 1 - level)]
    return sorted({round(q) for q in inner + tails})


def counts(ks: np.ndarray, edges: list[int]) -> np.ndarray:
    return np.bincount(np.searchsorted(edges, ks), minlength=len(edges) + 1)


def chi_square(observed: np.ndarray, masses: np.ndarray) -> float:
    """p-value of Pearson's statistic; neighbouring cells are merged to 25 expected at least."""
    total = observed.sum()
    merged: list[list[float]] = [[0.0, 0.0]]
    for seen, mass in zip(observed.tolist(), masses.tolist(), strict=True):
        if merged[-1][1] >= 25:
            merged.append([0.0, 0.0])
        merged[-1][0] += seen
        merged[-1][1] += mass * total
    if merged[-1][1] < 25 and len(merged) > 1:
        last = merged.pop()
        merged[-1] = [a + b for a, b in zip(merged[-1], last, strict=True)]
    statistic = sum((seen - expected) ** 2 / expected for seen, expected in merged)
    return chi_square_tail(statistic, len(merged) - 1)


def chi_square_tail(statistic: float, degrees: int) -> float:
    """P(chi-square > statistic): e^-h times the sum of h^a / Gamma(a+1), a = degrees/2 - 1, ..."""
    half = gmpy2.mpfr(statistic) / 2
    a = gmpy2.mpfr(degrees) / 2 - 1
    total = gmpy2.mpfr(0)
    while a >= 0:
        total += gmpy2.exp(a * gmpy2.log(half) - half - gmpy2.lngamma(a + 1))
        a -= 1
    if degrees % 2:
        total += gmpy2.erfc(gmpy2.sqrt(half))
    return float(total)


def count_tail(seen: int, trials: int, p: float) -> float:
    """Upper bound of the two-sided p-value of a binomial count (Chernoff)."""
    share = seen / trials
    if not 0 < p < 1:
        return 1.0 if share == p else 0.0
    divergence = sum(a * math.log(a / b) for a, b in ((share, p), (1 - share, 1 - p)) if a > 0)
    return min(1.0, 2 * math.exp(-trials * max(divergence, 0.0)))


def normal_tail(z: float) -> float:
    return math.erfc(abs(z) / math.sqrt(2))


def low_bits(ks: np.ndarray) -> float:
    """On a fine grid the last byte of K is uniform, up to e^(-steps)."""
    return chi_square(np.bincount(ks & 255, minlength=256), np.full(256, 1 / 256))


def ranks(ks: np.ndarray, law: Law, cells: int = CELLS) -> tuple[np.ndarray, np.ndarray]:
    """The cell of each sample, and the masses of the cells."""
    edges = cell_edges(law, cells)
    return np.searchsorted(edges, ks), law.masses(edges)


def independence(a: np.ndarray, b: np.ndarray, law: Law) -> float:
    """p-value that two samples of one law are independent: a chi-square over 12 by 12 cells."""
    cell_a, masses = ranks(a, law, 12)
    cell_b, _ = ranks(b, law, 12)
    observed = np.bincount(cell_a * masses.size + cell_b, minlength=masses.size**2)
    return chi_square(observed, np.outer(masses, masses).ravel())


def _cells(ks: np.ndarray, law: Law) -> float:
    edges = cell_edges(law)
    return chi_square(counts(ks, edges), law.masses(edges))


def _mean(ks: np.ndarray, law: Law) -> float:
    mean, variance = law.mean_and_variance
    return normal_tail((ks.mean() - mean) / math.sqrt(variance / ks.size))


def _variance(ks: np.ndarray, law: Law) -> float:
    """Within 6.1 standard errors, estimated from the sample's fourth moment."""
    mean, variance = law.mean_and_variance
    squares = (ks - mean) ** 2
    return normal_tail((squares.mean() - variance) / (squares.std() / math.sqrt(ks.size)))


def _lag(ks: np.ndarray, law: Law) -> float:
    return independence(ks[:-1:2], ks[1::2], law)
