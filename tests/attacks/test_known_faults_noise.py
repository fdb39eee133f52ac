"""Faults that noise has had elsewhere, each on its smallest input. The comments name where it was reported."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import compilers
import gmpy2
import numpy as np
import pytest
from float_env import Control
from goodness import ALARM, count_tail
from support import extension, in_steps, random_words, with_scale, words_for

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.testing import release_from_words

# opendp/opendp#2638, cmpute/dashu#57: rationals that lost their sign where they were divided biased every sample.


def wrong_quotients(divide: Callable[[int, int, int], Any]) -> list[tuple[int, int, int]]:
    """The n / d / k that are wrong, by multiplying back in integers."""
    small = [value for value in range(-12, 13) if value]
    wrong = []
    for n, d, k in product(small, repeat=3):
        q = divide(n, d, k)
        if q.numerator * d * k != n * q.denominator or q.denominator <= 0:
            wrong.append((n, d, k))
    return wrong


def test_rationals_are_divided_exactly() -> None:
    assert gmpy2.mpq(-2, 3) / 4 == gmpy2.mpq(-1, 6)
    assert wrong_quotients(lambda n, d, k: gmpy2.mpq(n, d) / k) == []
    assert wrong_quotients(lambda n, d, k: Fraction(n, d) / k) == []


def test_control_a_lost_sign() -> None:
    assert (-2, 3, 4) in wrong_quotients(lambda n, d, k: Fraction(abs(n), abs(d)) / k)


# world-federation-of-advertisers/cardinality_estimation_evaluation_framework#97: a rounded Laplace variable is not
# geometric, and the intervals of the one are not those of the other.


def test_noise_of_counts_is_geometric() -> None:
    noise = DiscreteLaplace(sensitivity=1, epsilon=1)
    size = 100_000
    y = release_from_words(noise, np.zeros(size, np.int64), words_for(noise, size, 1), extension=extension)
    geometric, rounded = math.tanh(0.5), 1 - math.exp(-0.5)
    assert (round(geometric, 3), round(rounded, 3)) == (0.462, 0.393)
    assert count_tail(int(np.sum(y == 0)), size, geometric) > ALARM
    assert count_tail(int(np.sum(y == 0)), size, rounded) < ALARM
    assert noise.variance == pytest.approx(1 / (2 * math.sinh(0.5) ** 2))
    within = 1 - 2 * math.exp(-3) / (1 + math.exp(-1))  # of 2, where a rounded one is more often: not that of the name
    assert noise.half_width(alpha=1 - within * 0.999) == 2
    assert noise.half_width(alpha=1 - within * 1.001) == 3


# opendp/opendp#1309: rounding the data first moves each number by up to a step, and a vector of n by n of them.


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_rounding_costs_nothing_however_long_the_vector(kind: type[Laplace | Gaussian]) -> None:
    """1000 numbers, 2^-20 the step: those 0.02 steps apart are released 0.02 steps apart on average, not one."""
    size, g = 1000, 2.0**-20
    mechanism = in_steps(kind, 1.3 * 2.0**20, g)
    words = random_words(3, size)
    low, high = (
        release_from_words(mechanism, np.full(size, r * g), words, extension=extension) / g for r in (0.49, 0.51)
    )
    moved = int(np.sum(high - low))
    assert set(np.unique(high - low).tolist()) <= {0.0, 1.0}
    assert count_tail(moved, size, 0.02) > ALARM
    assert count_tail(int(np.rint(0.51) - np.rint(0.49)) * size, size, 0.02) < ALARM  # what rounding first does
    assert Fraction(Laplace(sensitivity=1, epsilon=1, granularity=g).scale) == 1  # nothing for n, nor for g


# opendp/opendp#182: a uniform variable of -0.0 passed for positive, and its logarithm was no number.


@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace])
def test_no_uniform_is_zero(kind: type[Laplace | Gaussian | DiscreteLaplace]) -> None:
    """A word of zeros, as it is and with the sign's bit: a large finite value, decided by the words after it."""
    mechanism = with_scale(kind, 1.0)
    for word in (0, 1 << 13, 1 << 63):
        x = np.zeros(2, np.int64 if kind is DiscreteLaplace else np.float64)
        y = release_from_words(mechanism, x, np.array([word, word], np.uint64), extension=extension)
        assert np.isfinite(y).all()
        assert np.abs(y).max() < 100
    with np.errstate(divide="ignore"):
        assert np.isinf(np.log(np.array([-0.0])))  # what a naive one gets


# symengine/symengine#1453, llvm/llvm-project#57589: a library compiled with -ffast-math flushes the subnormal numbers
# of the whole process from its import on.


ALIVE = """
import numpy
def alive(): return 1e-323 != 0 and (numpy.full(64, 1e-320) / 2 != 0).all()
"""


def test_importing_leaves_subnormal_numbers_alone() -> None:
    """Nor does a release, on any instruction set."""
    script = """
import exactnoise
from exactnoise import Exponential, Gaussian, Laplace
from exactnoise._native import simd_available
from exactnoise.testing import release_from_words
assert alive()
for kind in (Laplace, Gaussian):
    m = kind(sensitivity=1, scale=1)
    m.release(numpy.zeros(5000), budget=None, workers=2)
    for simd in simd_available():
        release_from_words(m, numpy.zeros(64), numpy.arange(64, dtype="u8"), simd=simd)
Exponential(sensitivity=1, epsilon=1).release([1.0, 2.0], budget=None)
assert alive()
print("alive")
"""
    answer = subprocess.run([sys.executable, "-c", ALIVE + script], capture_output=True, text=True, check=True)
    assert answer.stdout == "alive\n"


@pytest.mark.skipif(not compilers.COMPILERS, reason="compiles C by Unix rules")
def test_control_subnormal_numbers_are_flushed(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    exec(ALIVE, names)
    assert names["alive"]()
    with Control(compilers.shared_library("float_env.c", tmp_path)).set("flush"):
        assert not names["alive"]()
