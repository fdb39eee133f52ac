"""An auditor cannot refute the privacy of selections, and does refute that of broken ones."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from auditor import Claim, refutations
from support import random_words

from exactnoise import Exponential, PermuteAndFlip
from exactnoise.testing import select_from_words

RUNS = 100_000
# One person changes every score by 1 at most, in any direction: the worst case lifts one and lowers the others.
SCORES, NEIGHBOUR = np.array([3.0, 3.0, 3.0, 2.5]), np.array([4.0, 2.0, 2.0, 1.5])
# Counts: one person adds 1 to some scores.
COUNTS, MORE = np.array([10, 9, 9, 8]), np.array([10, 9, 9, 9])
EVENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    **{f"candidate {i}": lambda y, i=i: y == i for i in range(4)},
    **{f"not candidate {i}": lambda y, i=i: y != i for i in range(4)},
}
kinds = pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
epsilons = pytest.mark.parametrize("epsilon", [0.5, 2.0])


def runs(mechanism, scores: np.ndarray, seed: int) -> np.ndarray:
    table = np.broadcast_to(scores, (RUNS, scores.size))
    return select_from_words(mechanism, table, random_words(seed, table.size))


@kinds
@epsilons
@pytest.mark.parametrize("monotonic", [False, True])
def test_selections_are_private(kind, epsilon, monotonic):
    mechanism = kind(sensitivity=1, epsilon=epsilon, monotonic=monotonic)
    pair = (COUNTS, MORE) if monotonic else (SCORES, NEIGHBOUR)
    y, neighbour = (runs(mechanism, scores, seed) for seed, scores in enumerate(pair))
    assert refutations(y, neighbour, Claim(epsilon), EVENTS) == []


@kinds
@epsilons
def test_control_half_the_noise(kind, epsilon):
    """Taking scores for monotonic that are not leaves too little noise."""
    broken = kind(sensitivity=1, epsilon=epsilon, monotonic=True)
    y, neighbour = runs(broken, SCORES, 0), runs(broken, NEIGHBOUR, 1)
    assert refutations(y, neighbour, Claim(epsilon), EVENTS)


@epsilons
def test_control_a_support_that_depends_on_data(epsilon):
    """A naive selection that leaves out candidates without a score: the auditor sees who can never be selected."""

    def naive(scores: np.ndarray, seed: int) -> np.ndarray:
        weights = np.nan_to_num(np.exp(epsilon * scores / 2))
        return np.random.default_rng(seed).choice(scores.size, RUNS, p=weights / weights.sum())

    with_nan = np.where(np.arange(4) == 3, math.nan, SCORES)
    y, neighbour = naive(SCORES, 0), naive(with_nan, 1)
    assert refutations(y, neighbour, Claim(epsilon), EVENTS)
    for kind in (Exponential, PermuteAndFlip):  # here it counts as the lowest
        ours = kind(sensitivity=1, epsilon=epsilon)
        assert refutations(runs(ours, SCORES, 0), runs(ours, with_nan, 1), Claim(epsilon), EVENTS) == []


def test_control_permute_and_flip_has_no_bounded_range():
    """The exponential mechanism's likelihood ratios lie within e^epsilon of each other, those of the other do not."""
    epsilon = 2.0
    spread = {}
    for kind in (Exponential, PermuteAndFlip):
        mechanism = kind(sensitivity=1, epsilon=epsilon)
        ratios = [
            np.log(mechanism.probabilities(u) / mechanism.probabilities(v))
            for u, v in (([0.0, 0, 0], [1.0, -1, -1]), ([0.0, 0], [1.0, -1]), ([0.0, -1, -1], [1.0, -2, 0]))
        ]
        spread[kind] = max(np.ptp(ratio) for ratio in ratios)
    assert spread[Exponential] <= epsilon + 1e-12
    assert spread[PermuteAndFlip] > epsilon + 0.1
