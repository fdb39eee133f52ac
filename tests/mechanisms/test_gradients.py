"""Gaussian noise on clipped vectors, end to end: sensitivities, exact values, float16 and float32."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from auditor import gaussian_claim, refutations
from support import assert_exact, random_words, word_count

from exactnoise import Gaussian, clip_l2

C = Fraction(3, 10)
BY_DTYPE = pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])


def vectors(dtype, count, columns=24):
    """Within and far beyond the bound, and what broken clients send."""
    rng = np.random.default_rng(5)
    with np.errstate(over="ignore"):
        rows = (rng.standard_normal((count, columns)) * np.exp2(rng.uniform(-6, 14, (count, 1)))).astype(dtype)
    rows[0, ::2], rows[1, :3], rows[2] = np.nan, [np.inf, -np.inf, np.nan], 0
    return rows


def squared_norm(vector):
    return sum(Fraction(value) ** 2 for value in vector.tolist())


@BY_DTYPE
def test_two_clipped_vectors_are_at_most_2c_apart(dtype):
    """Replace-one, without a sum: each client's own release."""
    clipped = clip_l2(vectors(dtype, 30), C).astype("f8")
    for one, other in itertools.combinations(clipped, 2):
        distance = [Fraction(a) - Fraction(b) for a, b in zip(one.tolist(), other.tolist(), strict=True)]
        assert sum(d * d for d in distance) <= (2 * C) ** 2
    assert squared_norm(clipped[4]) > (C * Fraction(99, 100)) ** 2


@BY_DTYPE
def test_a_clipped_vector_is_released_exactly(dtype):
    rows = clip_l2(vectors(dtype, 20), C)
    noise = Gaussian(sensitivity=2 * C, rho="0.5")
    for i, row in enumerate(rows):
        assert_exact(noise, row, random_words(i, word_count(Gaussian, row.size)))
        assert noise.release(row, budget=None).dtype == rows.dtype


@BY_DTYPE
@pytest.mark.parametrize(("replace", "distance"), [(False, C), (True, 2 * C)])
def test_sums_on_a_grid_move_by_the_sensitivity_at_most(dtype, replace, distance):
    """Any one client taken out, or replaced by any other, in exact integers."""
    g = Fraction(1, 2**20)
    rows = vectors(dtype, 12)
    rows[4] = -rows[3]  # opposite, both of norm C
    messages = np.trunc(clip_l2(rows, C).astype("f8") / float(g)).astype("i8")
    total = messages.sum(axis=0)
    largest = 0
    for i, j in itertools.permutations(range(len(rows)), 2):
        neighbour = np.delete(messages, i, axis=0).sum(axis=0) + (messages[j] if replace else 0)
        largest = max(largest, squared_norm(total - neighbour) * g**2)
    assert (distance * Fraction(999, 1000)) ** 2 < largest <= distance**2


@BY_DTYPE
def test_sums_are_released_exactly(dtype):
    messages = np.trunc(clip_l2(vectors(dtype, 50), C).astype("f8") * 2**20).astype("i8")
    noise = Gaussian(sensitivity=C * 2**20, rho="0.01", granularity=1)
    total = messages.sum(axis=0)
    assert_exact(noise, total, random_words(9, word_count(Gaussian, total.size)))
    assert noise.release(total, budget=None).dtype == np.int64


SAMPLES = 20_000
EVENTS = {f"beyond {t}": lambda y, t=t: y > t for t in np.arange(-3, 4, 0.25)}


@BY_DTYPE
def test_auditor(dtype):
    """Two clipped vectors 2C apart, and the claim of Gaussian noise for that distance; its twin does not clip."""
    huge = np.zeros((SAMPLES, 2), dtype)
    huge[:, 0] = 6e4
    noise = Gaussian(sensitivity=2 * C, scale=2 * C)
    y, other = (noise.release(clip_l2(rows, C), budget=None)[:, 0] / float(2 * C) for rows in (huge, -huge))
    claim = gaussian_claim(1.0, 1.0)
    assert refutations(y, other, claim, EVENTS) == []
    y, other = (noise.release(clip_l2(rows, 2 * C), budget=None)[:, 0] / float(2 * C) for rows in (huge, -huge))
    assert refutations(y, other, claim, EVENTS)
