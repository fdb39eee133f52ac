"""How long a release takes says nothing about its noise.

Rank correlation of time and magnitude, over single draws and over small batches. For independent pairs its standard
deviation is 1 / sqrt(N): 0.05 is 11 of them, whatever the machine does meanwhile.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import numpy as np
import pytest

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

pytestmark = pytest.mark.slow

DRAWS = 50_000
LIMIT = 0.05

Draw = Callable[[], tuple[int, float]]  # nanoseconds, magnitude of the noise


def timed(mechanism, x) -> Draw:
    def draw() -> tuple[int, float]:
        start = time.perf_counter_ns()
        y = mechanism.release(x, budget=None)
        return time.perf_counter_ns() - start, float(np.abs(y).sum())

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
    assert abs(rank_correlation(timed(mechanism, x))) < LIMIT


def test_a_loop_over_coins_is_found() -> None:
    """Counting failures one by one, as a naive geometric sampler does, takes as long as its result is large."""

    def draw() -> tuple[int, float]:
        start = time.perf_counter_ns()
        count = 0
        while random.random() > 0.01:
            count += 1
        return time.perf_counter_ns() - start, float(count)

    assert rank_correlation(draw, 5_000) > 0.5
