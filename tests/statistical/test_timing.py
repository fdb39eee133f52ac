"""How long a release takes says nothing about its noise.

Rank correlation of time and magnitude, over single draws and over small batches. For independent pairs its standard
deviation is 1 / sqrt(N): 0.05 is 11 of them, whatever the machine does meanwhile.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from exactnoise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    LocalHashing,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    RandomizedResponse,
    Snapping,
    SymmetricUnaryEncoding,
)
from exactnoise.mechanisms.response import bernoulli

pytestmark = pytest.mark.slow

DRAWS = 50_000
LIMIT = 0.05

Draw = Callable[[], tuple[int, float]]  # nanoseconds, magnitude of the noise


def timed(release: Callable[[], Any], magnitude: Callable[[Any], float]) -> Draw:
    def draw() -> tuple[int, float]:
        start = time.perf_counter_ns()
        y = release()
        return time.perf_counter_ns() - start, magnitude(y)

    return draw


def rank_correlation(draw: Draw, draws: int = DRAWS) -> float:
    """Spearman's coefficient."""
    for _ in range(100):
        draw()
    times, magnitudes = np.array([draw() for _ in range(draws)]).T
    return float(np.corrcoef(_ranks(times), _ranks(magnitudes))[0, 1])


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ties have the middle of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


ADDITIVE = {
    "Laplace": Laplace(sensitivity=1, epsilon=1),
    "Laplace, wide": Laplace(sensitivity=1, epsilon="1e-9"),
    "Gaussian": Gaussian(sensitivity=1, epsilon=1, delta=1e-6),
    "DiscreteLaplace": DiscreteLaplace(sensitivity=1, epsilon="0.1"),
    "DiscreteLaplace, wide": DiscreteLaplace(sensitivity=1, epsilon="1e-6"),
    "DiscreteGaussian, tabulated": DiscreteGaussian(sensitivity=1, scale=3),
    "DiscreteGaussian": DiscreteGaussian(sensitivity=1, scale=5),
    "DiscreteGaussian, wide": DiscreteGaussian(sensitivity=1, scale=10**6),
}


@pytest.mark.parametrize("size", [None, 8, 100])
@pytest.mark.parametrize("name", ADDITIVE)
def test_additive_noise(name: str, size: int | None) -> None:
    mechanism = ADDITIVE[name]
    zero = 0 if mechanism._on_integers else 0.0
    x = zero if size is None else np.full(size, zero)
    draw = timed(lambda: mechanism.release(x, budget=None), lambda y: float(np.abs(y).sum()))
    assert abs(rank_correlation(draw)) < LIMIT


@pytest.mark.parametrize("size", [None, 8, 100])
def test_snapping(size: int | None) -> None:
    mechanism = Snapping(sensitivity=1, epsilon=1, bounds=(-50, 50))
    x = 0.0 if size is None else np.zeros(size)
    draw = timed(lambda: mechanism.release(x, budget=None), lambda y: float(np.abs(y).sum()))
    assert abs(rank_correlation(draw)) < LIMIT


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_selection(kind: type[Exponential | PermuteAndFlip], rows: int) -> None:
    """How far the scores of those selected are from the best ones."""
    mechanism = kind(sensitivity=1, epsilon="0.1")
    scores = np.tile(np.arange(16.0), (rows, 1))
    draw = timed(lambda: mechanism.release(scores, budget=None, disjoint=True), lambda y: 15.0 * rows - float(y.sum()))
    assert abs(rank_correlation(draw)) < LIMIT


@pytest.mark.parametrize("size", [1, 8, 100])
@pytest.mark.parametrize("kind", [RandomizedResponse, SymmetricUnaryEncoding, OptimizedUnaryEncoding])
def test_local_reports(kind: type[Any], size: int) -> None:
    """How many bits or reports are not the true ones."""
    mechanism = kind(epsilon=1, categories=16)
    codes = np.arange(size) % 16
    own = np.arange(16) == codes[:, None]

    def lies(reports: Any) -> float:
        if mechanism.report_shape:
            return float((np.unpackbits(reports, axis=1, count=16, bitorder="little") != own).sum())
        return float((reports != codes).sum())

    assert abs(rank_correlation(timed(lambda: mechanism.release(codes, budget=None), lies))) < LIMIT


@pytest.mark.parametrize("size", [1, 8, 100])
def test_local_hashing(size: int) -> None:
    """How many reports do not support their person's category."""
    mechanism = LocalHashing(epsilon=1, categories=16)
    codes = np.full(size, 5)

    def lies(reports: Any) -> float:
        hashes = (reports["a"] * np.uint32(5) + reports["b"]) >> np.uint32(16)
        buckets = (hashes.astype(np.uint64) * np.uint64(4)) >> np.uint64(16)
        return float((buckets != reports["bucket"]).sum())

    false = 1 - float(mechanism.truth_probability)
    assert abs(lies(mechanism.release(np.full(10_000, 5), budget=None)) / 10_000 - false) < 0.05  # 10 deviations
    assert abs(rank_correlation(timed(lambda: mechanism.release(codes, budget=None), lies))) < LIMIT


@pytest.mark.parametrize("epsilon", [1, 5])
@pytest.mark.parametrize("kind", [SymmetricUnaryEncoding, OptimizedUnaryEncoding])
def test_rare_bits(kind: type[Any], epsilon: int) -> None:
    """A bit that is rarely 1 takes more random bits to decide when it is."""
    mechanism = kind(epsilon=epsilon, categories=64)
    draw = timed(lambda: mechanism.release(3, budget=None), lambda report: float(np.unpackbits(report).sum()))
    assert abs(rank_correlation(draw)) < LIMIT


@pytest.mark.parametrize("size", [1, 8, 100])
@pytest.mark.parametrize("probability", ["1/3", "1/100", "1/1000"])
def test_coins(probability: str, size: int) -> None:
    draw = timed(lambda: bernoulli(probability, size), lambda coins: float(coins.sum()))
    assert abs(rank_correlation(draw)) < LIMIT


@pytest.mark.parametrize(("size", "least"), [(1, 0.5), (8, 0.25), (100, 0.15)])
def test_a_loop_over_coins_is_found(size: int, least: float) -> None:
    """Counting failures one by one, as a naive geometric sampler does, takes as long as its result is large.

    The sum of a batch varies by 1 / sqrt(size) of itself, beside what else the machine does: the correlation is
    weaker, and still three times the limit for the mechanisms.
    """

    def loop() -> int:
        count = 0
        while random.random() > 0.03:
            count += 1
        return count

    assert rank_correlation(timed(lambda: [loop() for _ in range(size)], sum), 5_000) > least
