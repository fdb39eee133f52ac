"""Whether a value takes long says little about the size of its noise: the rates of slow values are bounded.

A value is slow if the fast path declines it: if the noisy value lies within its window of a boundary. A window contains
the reach of the noise's cell, which is wider where the uniform variable is small and the noise is large. So the rates
are not equal; docs/threat-model.md gives them. Here they are counted at 2^36 steps a scale, the finest grid that there
is. On fresh words of the same number each assertion would fail with a probability below 1e-12.
"""

from __future__ import annotations

import numpy as np
import pytest
from support import random_words

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from exactnoise.testing import ambiguous_lanes, release_from_words, word_count

LANES = 1 << 22
TENTHS = 10
STEPS = 2**36

#: How many times as many slow values the tenths of |noise| may have: one of the lower nine as another of them, and the
#: highest as the lower nine on average. The true ratios are 1.9 and 10.5 for Laplace noise, 1.1 and 1.9 for Gaussian.
LAPLACE, GAUSSIAN = (5, 20), (2, 3)
CASES = {
    "Laplace": (Laplace(sensitivity=1, scale=1, granularity=1 / STEPS), LAPLACE),
    "DiscreteLaplace": (DiscreteLaplace(sensitivity=1, scale=STEPS), LAPLACE),
    "Gaussian": (Gaussian(sensitivity=1, scale=1, granularity=1 / STEPS), GAUSSIAN),
    "DiscreteGaussian": (DiscreteGaussian(sensitivity=1, scale=STEPS), GAUSSIAN),
}


Sample = tuple[np.ndarray, np.ndarray, tuple[float, float]]


@pytest.fixture(scope="module", params=CASES)
def sample(request: pytest.FixtureRequest) -> Sample:
    """|noise|, which values are slow, and the limits."""
    mechanism, limits = CASES[request.param]
    spare = 2 if isinstance(mechanism, DiscreteGaussian) else 1  # for proposals that are rejected
    words = random_words(36, spare * word_count(mechanism, LANES))
    x = np.zeros(LANES, np.float64 if isinstance(mechanism, (Laplace, Gaussian)) else np.int64)
    slow = np.zeros(LANES, bool)
    slow[ambiguous_lanes(mechanism, x, words)] = True
    return np.abs(release_from_words(mechanism, x, words)), slow, limits


def spread(size: np.ndarray, slow: np.ndarray) -> tuple[float, float]:
    """The two ratios of which LAPLACE and GAUSSIAN are the limits."""
    ends = [i * LANES // TENTHS for i in range(1, TENTHS)]
    edges = np.partition(size, ends)[ends]
    counts = np.bincount(np.searchsorted(edges, size[slow], side="right"), minlength=TENTHS)
    lower, highest = counts[:-1], counts[-1]
    assert lower.min() > 100
    return lower.max() / lower.min(), highest / lower.mean()


def test_slow_values_are_of_any_size(sample: Sample) -> None:
    size, slow, (among_lower, highest) = sample
    found = spread(size, slow)
    assert found[0] < among_lower
    assert found[1] < highest


def test_control_a_window_in_proportion_to_the_noise(sample: Sample) -> None:
    size, slow, (among_lower, _) = sample
    chance = size * (10 * slow.mean() / size.mean())  # ten times as many slow ones, or the smallest tenth has too few
    rng = np.random.Generator(np.random.PCG64(37))
    assert spread(size, rng.random(LANES) < chance)[0] > among_lower


def test_control_a_window_that_is_wide_for_the_largest_noise(sample: Sample) -> None:
    size, slow, (_, highest) = sample
    large = size > np.quantile(size, 0.9)
    rng = np.random.Generator(np.random.PCG64(38))
    assert spread(size, slow | (large & (rng.random(LANES) < 20 * slow.mean())))[1] > highest
