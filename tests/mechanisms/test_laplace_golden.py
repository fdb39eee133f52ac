"""Laplace and two-sided geometric noise against tests/vectors/laplace_noise.json.

The mechanisms, and what their other tests rest on: the laws of tests/goodness.py and the oracle.
"""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import oracle
import pytest
from golden import is_just_above, load
from goodness import PRECISION, Geometric, RoundedLaplace
from support import assert_exact

from exactnoise import DiscreteLaplace, Laplace
from exactnoise._refine import discrete_offset
from exactnoise.testing import release_from_words

VECTORS = load("laplace_noise")
LAPLACE, DISTRIBUTION, QUANTILE, GEOMETRIC = (VECTORS[k] for k in ("laplace", "distribution", "quantile", "geometric"))
BY_PRICE = {"ids": lambda row: f"{row['epsilon']}-{row['sensitivity']}"}
BY_FIRST = {"ids": lambda row: next(iter(row.values()))}
HALF = Fraction(1, 2)
CELL_BITS = 100  # of the oracle's cells: so fine that a cell is a point


def near(value, rel=1e-14):
    return pytest.approx(float(value), rel=rel, abs=0)


def below_and_above(z, scale=1):
    """P(Z <= z) and P(Z > z): a value at 1/2 - z is rounded to 0 or less, or to more."""
    return RoundedLaplace(scale, HALF - Fraction(z)).masses([0])


def beyond(law, k):
    """P(|K| >= k), k >= 1."""
    below, _, above = law.masses([-k, k - 1])
    return below + above


def magnitudes(u):
    """-ln U in the oracle, over the cell of U at u: the two ends."""
    cell = min(math.floor(u * 2**CELL_BITS), 2**CELL_BITS - 1)
    ends = oracle.laplace_enclosure(cell, CELL_BITS, 1.0, oracle.FIRST_ATTEMPT)
    return (Fraction(end, 2**oracle.FIRST_ATTEMPT.fraction) for end in ends)


def test_vectors_are_complete():
    assert {name: len(rows) for name, rows in VECTORS.items()} == {
        "laplace": 21,
        "distribution": 7,
        "quantile": 8,
        "geometric": 12,
    }
    assert [sum(len(row[name]) for row in LAPLACE) for name in ("two_sided", "one_sided")] == [126, 126]
    names = ("probability", "tail", "tail_is_alpha_at", "half_width", "beyond_half_width")
    assert [sum(len(row[name]) for row in GEOMETRIC) for name in names] == [60, 48, 60, 60, 60]


@pytest.mark.parametrize("row", LAPLACE, **BY_PRICE)
def test_laplace(row):
    noise = Laplace(sensitivity=row["sensitivity"], epsilon=row["epsilon"])
    assert is_just_above(Fraction(noise.scale), row["scale"], 2.0**-52)
    assert noise.std == near(row["std"])
    assert noise.variance == near(row["variance"])

    def width(alpha):
        return noise.half_width(alpha) - noise.granularity / 2

    assert width(0.5) == near(row["median_absolute"])
    assert width(math.exp(-1)) == near(row["mean_absolute"])  # the mean of |Z| is the scale
    for alpha, t in row["two_sided"].items():
        assert width(float(alpha)) == near(t)
    for alpha, t in row["one_sided"].items():
        if alpha == "0.5":
            assert Fraction(t) == 0
        else:
            assert width(2 * float(alpha)) == near(t)


@pytest.mark.parametrize("row", LAPLACE, **BY_PRICE)
def test_tails_of_the_law(row):
    scale = Fraction(row["sensitivity"]) / Fraction(row["epsilon"])
    for alpha, t in row["two_sided"].items():
        assert 2 * below_and_above(t, scale)[1] == near(alpha, 1e-15)
    for alpha, t in row["one_sided"].items():
        assert below_and_above(t, scale)[1] == near(alpha, 1e-15)


@pytest.mark.parametrize("row", DISTRIBUTION, **BY_FIRST)
def test_distribution(row):
    below, above = below_and_above(row["z"])
    assert below == near(row["below"], 1e-15)
    assert above == near(row["above"], 1e-15)


@pytest.mark.parametrize("row", DISTRIBUTION, **BY_FIRST)
def test_density(row):
    """Of the oracle's noise: half a cell's probability, for the sign, over the length of what the cell becomes."""
    low, high = magnitudes(2 * Fraction(row["density"]))
    assert float(low) == pytest.approx(abs(float(row["z"])), rel=1e-15, abs=1e-20)
    assert Fraction(1, 2 ** (CELL_BITS + 1)) / (high - low) == near(row["density"])


@pytest.mark.parametrize("row", QUANTILE, **BY_FIRST)
def test_quantile(row):
    p, z = Fraction(row["p"]), float(row["z"])
    assert below_and_above(row["z"])[0] == near(row["p"], 1e-15)
    # The double nearest to 0.999 is off by 5e-14 of its distance from 1.
    assert RoundedLaplace(1.0).quantile(float(p)) == near(z, 1e-13)

    u = 2 * min(p, 1 - p)
    low, high = magnitudes(u)
    assert float(low) == pytest.approx(abs(z), rel=1e-15, abs=1e-20)
    assert float(high) == pytest.approx(abs(z), rel=1e-15, abs=1e-20)

    noise = Laplace(sensitivity=1, epsilon=1)
    cell = min(math.floor(u * 2**50), 2**50 - 1)
    words = np.array([cell << 14 | (p < HALF) << 13], np.uint64)
    assert_exact(noise, np.zeros(1), words)
    (released,) = release_from_words(noise, np.zeros(1), words)
    assert abs(released - z) <= noise.granularity / 2 + 1 / cell


@pytest.mark.parametrize("row", GEOMETRIC, **BY_PRICE)
def test_geometric_mechanism(row):
    noise = DiscreteLaplace(sensitivity=row["sensitivity"], epsilon=row["epsilon"])
    assert is_just_above(Fraction(noise.scale), Fraction(row["sensitivity"]) / Fraction(row["epsilon"]), 2.0**-52)
    assert math.exp(-1 / noise.scale) == near(row["ratio"])
    assert noise.variance == near(row["variance"])
    assert noise.std == near(row["std"])
    assert {alpha: noise.half_width(float(alpha)) for alpha in row["half_width"]} == row["half_width"]
    for alpha, t in row["tail_is_alpha_at"].items():
        # Where |X| = floor(c - s ln U) changes, as the kernel has it.
        assert discrete_offset(noise.scale) + 0.5 - noise.scale * math.log(float(alpha)) == near(t)
        assert row["half_width"][alpha] == math.ceil(Fraction(t)) - 1


@pytest.mark.parametrize("row", GEOMETRIC, **BY_PRICE)
def test_geometric_law(row):
    law = Geometric(Fraction(row["sensitivity"]) / Fraction(row["epsilon"]))
    for k, value in row["probability"].items():
        assert law.masses([int(k) - 1, int(k)])[1] == near(value, 1e-15)
    _, at_0, at_1, _ = law.masses([-1, 0, 1])
    assert at_1 / at_0 == near(row["ratio"], 1e-15)
    assert law.ideal_variance == near(row["variance"])
    for k, value in row["tail"].items():
        assert beyond(law, int(k)) == near(value, 1e-15)
    for alpha, value in row["beyond_half_width"].items():
        assert beyond(law, row["half_width"][alpha] + 1) == near(value, 1e-15)
        assert Fraction(value) <= Fraction(alpha)
    # The mean of |X| is the sum of P(|X| >= k) over k >= 1, and of P(X <= -k) twice.
    with gmpy2.context(precision=PRECISION):
        half = sum(law.cumulative(-k) for k in range(1, math.ceil(40 * law.steps)))
    assert 2 * half == near(row["mean_absolute"])


@pytest.mark.parametrize("row", GEOMETRIC, **BY_PRICE)
def test_geometric_samples(row):
    """The words next to U = P(|X| >= k) give less than k above it, and k or more below it."""
    noise = DiscreteLaplace(sensitivity=row["sensitivity"], epsilon=row["epsilon"])
    x = np.zeros(4, np.int64)
    ks = np.array([int(k) for k in row["tail"]])
    cuts = [math.floor(2**50 * Fraction(value)) for value in row["tail"].values()]
    above = np.array([cut + 1 << 14 for cut in cuts], np.uint64)
    below = np.array([max(cut - 1, 0) << 14 for cut in cuts], np.uint64)

    def smallest(lane, j):  # for tails below 2^-50: U = 2^-178
        return j

    for words in (above, below):
        assert_exact(noise, x, words, smallest)
    assert np.all(release_from_words(noise, x, above, extension=smallest) < ks)
    assert np.all(release_from_words(noise, x, below, extension=smallest) >= ks)
