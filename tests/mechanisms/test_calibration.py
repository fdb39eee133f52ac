"""Gaussian noise from epsilon and delta: the smallest double that suffices, and it does suffice."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import gmpy2
import pytest
from gmpy2 import mpfr, mpq
from hypothesis import given
from hypothesis import strategies as st

from exactnoise import Gaussian

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "gaussian_sigma.json").read_text())
BITS = 600


def delta_of(sigma: Fraction, epsilon: Fraction, bits: int = BITS) -> mpfr:
    """The delta of Gaussian noise for sensitivity 1, to more than 60 digits.

    At epsilon the privacy loss is reached right of the point t = 1/2 - epsilon sigma^2 (Balle & Wang 2018, Theorem 8).
    """
    with gmpy2.context(precision=bits):
        s, e = mpfr(mpq(sigma)), mpfr(mpq(epsilon))
        root = gmpy2.sqrt(mpfr(2)) * s
        centre = e * s * s
        mass = gmpy2.erfc((centre - 0.5) / root) / 2
        neighbours = gmpy2.erfc((centre + 0.5) / root) / 2
        return mass - gmpy2.exp(e) * neighbours


def assert_smallest(scale: float, sensitivity: Fraction, epsilon: Fraction, delta: Fraction, bits: int = BITS) -> None:
    limit = mpq(delta)
    assert delta_of(Fraction(scale) / sensitivity, epsilon, bits) <= limit
    smaller = Fraction(math.nextafter(scale, 0.0))
    assert delta_of(smaller / sensitivity, epsilon, bits) > limit


def test_vectors_are_complete():
    assert len(VECTORS) == 180
    assert {row["epsilon"] for row in VECTORS} >= {"0.01", "1", "20"}
    assert {row["delta"] for row in VECTORS} >= {"0.1", "1e-6", "1e-15"}


@pytest.mark.parametrize("row", VECTORS, ids=lambda row: f"{row['epsilon']}-{row['delta']}")
def test_vector(row):
    mechanism = Gaussian(sensitivity=1, epsilon=row["epsilon"], delta=row["delta"])
    sigma, scale = Fraction(row["sigma"]), Fraction(mechanism.scale)
    assert sigma <= scale <= sigma * (1 + Fraction(1, 10**9))
    assert_smallest(mechanism.scale, Fraction(1), Fraction(row["epsilon"]), Fraction(row["delta"]))
    assert mechanism.epsilon == Fraction(row["epsilon"])
    assert mechanism.delta == Fraction(row["delta"])


def test_control_a_sigma_one_digit_short():
    """The vectors would show an error in the last digit."""
    row = next(row for row in VECTORS if row["epsilon"] == "1" and row["delta"] == "1e-6")
    scale = Gaussian(sensitivity=1, epsilon=1, delta="1e-6").scale
    assert Fraction(math.nextafter(scale, 0.0)) < Fraction(row["sigma"])
    with pytest.raises(AssertionError):
        assert_smallest(math.nextafter(scale, 0.0), Fraction(1), Fraction(1), Fraction(1, 10**6))
    with pytest.raises(AssertionError):
        assert_smallest(math.nextafter(scale, 9.0), Fraction(1), Fraction(1), Fraction(1, 10**6))


@given(
    st.fractions(Fraction(1, 10**6), 10**6),
    st.builds(lambda digits, places: Fraction(digits, 10**places), st.integers(1, 999), st.integers(1, 7)),
    st.builds(lambda digits, places: Fraction(digits, 10**places), st.integers(1, 99), st.integers(2, 30)),
)
def test_any_parameters(sensitivity, epsilon, delta):
    epsilon = min(epsilon, Fraction(30))
    scale = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta).scale
    assert_smallest(scale, sensitivity, epsilon, delta)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "delta"),
    [
        ("1", "1e-320", "1e-6"),
        ("1", "1e-9", "0.5"),
        ("1", "1e-300", "1e-290"),
        ("1", "1", "1e-300"),
        ("1", "1", "0.999999"),
        ("1", "1000", "1e-9"),
        ("1", "1000000", "1e-6"),
        ("1e-290", "1", "1e-6"),
        ("1e300", "1", "1e-6"),
        ("1/3", "1/7", "1/11"),
    ],
)
def test_extreme_parameters(sensitivity, epsilon, delta):
    exact = Fraction(sensitivity), Fraction(epsilon), Fraction(delta)
    scale = Gaussian(sensitivity=sensitivity, epsilon=epsilon, delta=delta).scale
    assert_smallest(scale, *exact, bits=3000)


@pytest.mark.parametrize("row", VECTORS[::13], ids=lambda row: f"{row['epsilon']}-{row['delta']}")
def test_rho_is_that_of_the_scale(row):
    mechanism = Gaussian(sensitivity=3, epsilon=row["epsilon"], delta=row["delta"])
    exact = 9 / (2 * Fraction(mechanism.scale) ** 2)
    assert exact <= mechanism.rho <= exact * (1 + Fraction(1, 10**19))
    from_rho = Gaussian(sensitivity=3, rho=mechanism.rho)
    assert from_rho.rho == mechanism.rho
    assert from_rho.epsilon is None
    assert from_rho.scale <= mechanism.scale
