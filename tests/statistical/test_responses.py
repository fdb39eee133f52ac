"""Reports of fixed words have the distribution that is promised, to the last outcome."""

from __future__ import annotations

import math

import numpy as np
import oracle_response as oracle
import pytest
from goodness import ALARM, chi_square
from support import random_words

from exactnoise import LocalHashing, OptimizedUnaryEncoding, RandomizedResponse, SymmetricUnaryEncoding
from exactnoise.mechanisms.response import LocalRandomizer
from exactnoise.testing import respond_from_words

N = 400_000
SIZES = [N, pytest.param(10_000_000, marks=pytest.mark.slow)]


def response_law(m: RandomizedResponse, value: int) -> np.ndarray:
    law = np.full(m.categories, float(m.other_probability))
    law[value] = float(m.truth_probability)
    return law


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("k", [2, 3, 10, 266, 1000])
def test_responses(k: int, n: int) -> None:
    m = RandomizedResponse(epsilon="1.3", categories=k)
    for value in (0, k // 2, k - 1):
        reports = respond_from_words(m, np.full(n, value), random_words(value + k, n))
        seen = np.bincount(reports, minlength=k)
        assert chi_square(seen, response_law(m, value)) > ALARM
    wrong = RandomizedResponse(epsilon=2, categories=k)
    assert chi_square(seen, response_law(wrong, k - 1)) < ALARM  # the control


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", ["0.5", "2", "3"])
def test_buckets(epsilon: str, n: int) -> None:
    """The reported bucket, given its category's true one; and the hash values of two categories together."""
    m = LocalHashing(epsilon=epsilon, categories=1000)
    g = m.buckets
    reports = respond_from_words(m, np.full(n, 7), random_words(5, 2 * n))
    a, b, reported = (reports[name].astype(np.uint64) for name in ("a", "b", "bucket"))
    true, other = (((a * np.uint64(v) + b) % 2**32 >> np.uint64(16)) * np.uint64(g) >> np.uint64(16) for v in (7, 999))
    law = np.full((g, g), float((1 - m.truth_probability) / (g - 1)))
    np.fill_diagonal(law, float(m.truth_probability))
    pairs = np.bincount((true * np.uint64(g) + reported).astype(np.int64), minlength=g * g)
    assert chi_square(pairs, law.ravel() / g) > ALARM  # buckets are equal to 2^-16
    together = np.bincount((true * np.uint64(g) + other).astype(np.int64), minlength=g * g)
    assert chi_square(together, np.full(g * g, 1 / g**2)) > ALARM
    slanted = law.copy()
    slanted[:, 0] += 0.02
    slanted[:, 1] -= 0.02
    assert chi_square(pairs, slanted.ravel() / g) < ALARM  # the control


@pytest.mark.parametrize("n", [N, pytest.param(3_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", [SymmetricUnaryEncoding, OptimizedUnaryEncoding])
def test_unary_reports(kind: type[LocalRandomizer], n: int) -> None:
    """All 2^8 rows of seven categories: every bit, and the bits together."""
    m = kind(epsilon="1.7", categories=7)
    p, q = float(m.truth_probability), float(m.other_probability)
    value = 3
    words = random_words(9, oracle.level_words(m.other_probability, 8 * n) + n + n // 20)
    seen = np.bincount(respond_from_words(m, np.full(n, value), words)[:, 0], minlength=256)
    assert not seen[128:].any()

    def law(p: float) -> np.ndarray:
        chances = [p if i == value else q for i in range(7)]
        return np.array([math.prod(c if row >> i & 1 else 1 - c for i, c in enumerate(chances)) for row in range(128)])

    assert chi_square(seen[:128], law(p)) > ALARM
    assert chi_square(seen[:128], law(p + 0.02)) < ALARM  # the control


def independence_of_neighbours(reports: np.ndarray, law: np.ndarray, apart: int) -> float:
    first, second = reports[:-apart], reports[apart:]
    blocks = np.arange(first.size) // apart % 2 == 0  # pairs that do not overlap
    seen = np.bincount(12 * first[blocks] + second[blocks], minlength=144)
    return chi_square(seen, np.outer(law, law).ravel())


@pytest.mark.parametrize("apart", [1, 8, 512])
def test_neighbouring_reports_are_independent(apart: int) -> None:
    m = RandomizedResponse(epsilon="0.2", categories=12)
    reports = respond_from_words(m, np.zeros(N, int), random_words(3, N)).astype(int)
    law = response_law(m, 0)
    assert independence_of_neighbours(reports, law, apart) > ALARM
    # Positive control: one report in twenty is its neighbour's.
    copied = np.arange(N - apart) % 20 == 0
    reports[apart:][copied] = reports[:-apart][copied]
    assert independence_of_neighbours(reports, law, apart) < ALARM
