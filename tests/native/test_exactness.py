"""On the same words every release equals the oracle's, byte for byte, on every instruction set."""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np
import pytest
from support import (
    Mechanism,
    assert_exact,
    in_steps,
    random_words,
    with_scale,
    word_count,
    words_for,
)

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from exactnoise._native import BLOCK
from exactnoise.testing import word_count as word_count_of

REAL = (Laplace, Gaussian)
WHOLE = (DiscreteLaplace, DiscreteGaussian)
ALL = (*REAL, *WHOLE)
DBL_MAX = sys.float_info.max
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
ONES = np.uint64(2**64 - 1)
# Lanes a mechanism, over all its families of inputs.
LANES = [pytest.param(2 * 10**5, id="2e5"), pytest.param(10**7, id="1e7", marks=pytest.mark.slow)]


class Family(NamedTuple):
    """A family of random inputs: dtype, granularity and scale in steps."""

    dtype: type
    granularity: float
    steps: float

    def inputs(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Half of them within a few steps of 0, half of magnitudes from tiny to huge."""
        if self.dtype is np.int64:
            wide = rng.integers(INT64_MIN, INT64_MAX, count, dtype=np.int64, endpoint=True)
            return wide >> rng.integers(0, 63, count)
        near = rng.uniform(-4, 4, count)
        mixed = rng.choice([-1.0, 1.0], count) * np.exp2(rng.uniform(-60, 60, count))
        positions = np.where(rng.random(count) < 0.5, near, mixed)
        return (positions * self.granularity).astype(self.dtype)


REAL_FAMILIES = [
    Family(np.float64, 1.0, 2.0**-30),
    Family(np.float64, 2.0**-20, 1.37 * 2.0**-30),
    Family(np.float64, 2.0**-3, 0.0071),
    Family(np.float64, 2.0**-20, 0.3),
    Family(np.float64, 1.0, 1.0),
    Family(np.float64, 2.0**10, 1.7),
    Family(np.float64, 2.0**-30, 1000.3),
    Family(np.float64, 2.0**-20, 2.0**20),
    Family(np.float64, 2.0**-20, 1.9 * 2.0**19),
    Family(np.float64, 2.0**-40, 1.234567 * 2.0**28),
    Family(np.float64, 2.0**-36, 1.1 * 2.0**35),
    Family(np.float64, 1.0, 2.0**36),
    Family(np.float32, 2.0**-20, 2.0**20),
    Family(np.float32, 1.0, 0.7),
    Family(np.float32, 2.0**-30, 1.3 * 2.0**31),
    Family(np.int64, 2.0**-20, 1.3 * 2.0**20),  # to float64
    Family(np.int64, 2.0**-1, 5.9),  # to float64
    Family(np.int64, 1.0, 3.3),  # to int64
    Family(np.int64, 2.0**7, 1.1 * 2.0**20),  # to int64
    Family(np.int64, 2.0**40, 0.9),  # to int64
]
DISCRETE_FAMILIES = [
    Family(np.int64, 1.0, steps)
    for steps in (2.0**-30, 0.07, 0.3, 1.0, 1.7, 8.0, 1000.3, 2.0**20, 1.3 * 2.0**27, 2.0**36)
]
# The discrete Gaussian looks its samples up below scale 4 and rejects some from 4 on.
DISCRETE_GAUSSIAN_FAMILIES = DISCRETE_FAMILIES + [
    Family(np.int64, 1.0, steps) for steps in (3.99, 4.0, 4.01, 5.0, 50.0)
]
FAMILIES = [(kind, family) for kind in REAL for family in REAL_FAMILIES]
FAMILIES += [(DiscreteLaplace, family) for family in DISCRETE_FAMILIES]
FAMILIES += [(DiscreteGaussian, family) for family in DISCRETE_GAUSSIAN_FAMILIES]


def _name(value: object) -> str:
    if isinstance(value, type):
        return value.__name__
    assert isinstance(value, Family)
    return f"{value.dtype.__name__}-g{value.granularity:.3g}-s{value.steps:.3g}"


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(("kind", "family"), FAMILIES, ids=_name)
def test_random_lanes(kind: type[Mechanism], family: Family, lanes: int) -> None:
    index = FAMILIES.index((kind, family))
    count = lanes // sum(kind is other for other, _ in FAMILIES)
    x = family.inputs(np.random.Generator(np.random.PCG64([lanes, index])), count)
    mechanism = in_steps(kind, family.steps, family.granularity)
    assert_exact(mechanism, x, words_for(mechanism, count, [index, lanes]))


# ---------------------------------------------------------------------------------------------
# Shapes: remainders of vectors, blocks and pairs

LENGTHS = [*range(40), BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 3 * BLOCK, 3 * BLOCK + 7]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("kind", REAL)
def test_every_length(kind: type[Mechanism], dtype: type) -> None:
    for length in LENGTHS:
        x = np.arange(length).astype(dtype)
        assert_exact(in_steps(kind, 7.7), x, random_words(length, word_count(kind, length)))


@pytest.mark.parametrize("steps", [1.3, 4.2, 7.7])
@pytest.mark.parametrize("kind", WHOLE)
def test_every_length_of_integers(kind: type[Mechanism], steps: float) -> None:
    mechanism = in_steps(kind, steps)
    for length in LENGTHS:
        assert_exact(mechanism, np.arange(length), words_for(mechanism, length, length))


# ---------------------------------------------------------------------------------------------
# Words at the ends of their range


@pytest.mark.parametrize("steps", [2.0**-30, 0.3, 1.0, 1e6, 2.0**36])
@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace])
def test_words_at_the_ends(kind: type[Mechanism], steps: float) -> None:
    """Zeros, ones and their neighbours in all positions: tails, U near 1, ends of the octants."""
    edges = [0, 1, 2, 3, 4, 2**62, 2**63]
    words = np.array([(e + d) % 2**64 for e in edges for d in (-3, -2, -1, 0, 1, 2)], np.uint64)
    octants = np.array([(q * 2**61 + d) % 2**64 for q in range(8) for d in (-1, 0, 1)], np.uint64)
    radius, angle = np.meshgrid(np.concatenate([words, octants]), np.concatenate([words, octants]))
    radius, angle = radius.ravel(), angle.ravel()
    for start in range(0, radius.size, BLOCK // 2):
        block = slice(start, start + BLOCK // 2)
        both = np.concatenate([radius[block], angle[block]])
        x = np.zeros(both.size, np.int64 if kind in WHOLE else np.float64)
        assert_exact(in_steps(kind, steps), x, both)


@pytest.mark.parametrize("word", [np.uint64(0), np.uint64(1), ONES, ONES - np.uint64(1)])
@pytest.mark.parametrize("kind", ALL)
def test_constant_words(kind: type[Mechanism], word: np.uint64) -> None:
    x = np.arange(64)
    words = np.full(64, word, np.uint64)
    assert_exact(in_steps(kind, 1.7), x if kind in WHOLE else x * 0.25, words)


@pytest.mark.parametrize("zeros", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", ALL)
def test_tail_extends_beyond_any_word(kind: type[Mechanism], zeros: int) -> None:
    """After a zero word and more zero extension words the noise is as large as it must be."""
    x = np.zeros(4, np.int64)
    mechanism = in_steps(kind, 16.0)

    def extension(lane: int, j: int) -> int:
        return 0 if j < zeros else 2**63 + lane

    for words in (np.zeros, np.ones):
        assert_exact(mechanism, x, words(word_count_of(mechanism, 4), np.uint64), extension)


# ---------------------------------------------------------------------------------------------
# Inputs at the ends of their range


def _float_edges(granularity: float) -> np.ndarray:
    g = granularity
    with np.errstate(over="ignore", under="ignore"):
        in_grid = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.5, 3.0, 2.0**51 + 0.5, 2.0**52, 2.0**53])
        steps = in_grid * g
        around = np.concatenate([steps, np.nextafter(steps, np.inf), np.nextafter(steps, -np.inf)])
    absolute = [1e-300, 0.1, 1e15 + 0.3, 1e300, DBL_MAX, math.inf]
    subnormal = [5e-324, 2.5e-320, 2.0**-1022, np.nextafter(2.0**-1022, 0.0)]
    positive = np.concatenate([around, absolute, subnormal])
    return np.concatenate([positive, -positive, [math.nan]])


GRANULARITIES = [2.0**-1058, 2.0**-1042, 2.0**-1022, 2.0**-1000, 2.0**-500, 2.0**-52]
GRANULARITIES += [2.0**-20, 1.0, 2.0**10, 2.0**70, 2.0**500, 2.0**970, 2.0**987, 2.0**1000]


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("kind", REAL)
def test_special_inputs(kind: type[Mechanism], granularity: float) -> None:
    edges = _float_edges(granularity)
    for steps in (1.0, 2.0**20 * 1.3, 2.0**-30, 2.0**36):
        scale = steps * granularity
        if not 2.0**-1022 <= scale < math.inf:
            continue  # not a normal double
        mechanism = with_scale(kind, scale, granularity, nan=-0.5)
        for seed in range(4):
            words = random_words(seed, word_count(kind, edges.size))
            assert_exact(mechanism, edges, words, nan=-0.5)
        ends = np.resize(np.array([0, 1, ONES, ONES - np.uint64(1)], np.uint64), words.size)
        assert_exact(mechanism, edges, ends, nan=-0.5)


@pytest.mark.parametrize("granularity", [2.0**-149, 2.0**-126, 2.0**-20, 1.0, 2.0**110])
@pytest.mark.parametrize("kind", REAL)
def test_special_float32_inputs(kind: type[Mechanism], granularity: float) -> None:
    """Results among float32's subnormals, at its largest value and beyond 24 digits."""
    limits = np.finfo(np.float32)
    with np.errstate(over="ignore"):
        edges = _float_edges(granularity).astype(np.float32)
    more = [limits.max, -limits.max, limits.smallest_subnormal, limits.tiny, 2.0**24 + 2]
    x = np.concatenate([edges, np.array(more, np.float32)])
    for steps in (1.0, 1.3 * 2.0**12, 2.0**36):
        mechanism = in_steps(kind, steps, granularity)
        for seed in range(4):
            assert_exact(mechanism, x, random_words(seed, word_count(kind, x.size)))


INTEGER_GRIDS = [(kind, 2.0**e) for kind in REAL for e in (-20, -1, 0, 1, 20, 62)]
INTEGER_GRIDS += [(kind, 1.0) for kind in WHOLE]


@pytest.mark.parametrize(("kind", "granularity"), INTEGER_GRIDS)
def test_special_integers(kind: type[Mechanism], granularity: float) -> None:
    powers = [1 << b for b in range(63)]
    near = [p + d for p in powers for d in (-2, -1, 0, 1, 2)]
    extremes = [INT64_MIN, INT64_MIN + 1, INT64_MAX, INT64_MAX - 1, 2**53 + 1, 2**54 + 2]
    x = np.array([*near, *(-v for v in near), *extremes], np.int64)
    for steps in (0.4, 1.3 * 2.0**20, 2.0**36):
        mechanism = in_steps(kind, steps, granularity)
        for seed in range(4):
            assert_exact(mechanism, x, words_for(mechanism, x.size, seed))


@pytest.mark.parametrize("nan", [0.0, -0.0, 0.3, -7.5, 1e300])
@pytest.mark.parametrize("kind", REAL)
def test_nan_is_replaced_before_the_noise(kind: type[Mechanism], nan: float) -> None:
    mechanism = with_scale(kind, 1.0, nan=nan)
    x = np.full(64, math.nan)
    assert_exact(mechanism, x, random_words(3, 64), nan=nan)


@pytest.mark.parametrize("kind", REAL)
def test_ties_are_decided_by_the_noise(kind: type[Mechanism]) -> None:
    """x half-way between grid points and noise far below a step: only its sign matters."""
    halves = np.arange(-512, 512) + 0.5
    mechanism = in_steps(kind, 2.0**-30)
    assert_exact(mechanism, halves, random_words(11, halves.size))
