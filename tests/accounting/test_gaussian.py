"""The profile of Gaussian noise and its inverses: exact values, the safe side, extremes."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest
from golden import is_just_above, is_just_below, load
from hypothesis import given
from hypothesis import strategies as st

from exactnoise import Gaussian
from exactnoise.accounting import gaussian, gaussian_delta, gaussian_epsilon, gaussian_rho, zcdp_epsilon
from exactnoise.accounting.interval import Precision

ROWS = load("gaussian_profile")
SIGMAS = load("gaussian_sigma")


def rho_of(sigma, k=1):
    return k / (2 * Fraction(sigma) ** 2)


@pytest.mark.parametrize("row", ROWS["epsilon"], ids=lambda row: f"{row['k']} of {row['sigma']}, {row['delta']}")
def test_epsilon(row):
    assert is_just_above(gaussian_epsilon(rho_of(row["sigma"], row["k"]), row["delta"]), row["value"])


@pytest.mark.parametrize("row", ROWS["delta"], ids=lambda row: f"{row['sigma']}, {row['epsilon']}")
def test_delta(row):
    assert is_just_above(gaussian_delta(rho_of(row["sigma"]), row["epsilon"]), row["value"])


def test_rho():
    """The analytic sigma, on the grid of the calibration's own vectors."""
    for row in SIGMAS:
        rho = gaussian_rho(row["epsilon"], row["delta"])
        assert is_just_below(rho, str(rho_of(row["sigma"]))), row


def test_the_calibration_of_the_mechanism_agrees():
    """Two implementations: this one in `decimal`, that one in MPFR, on the double above the exact sigma."""
    for row in SIGMAS[::7]:
        mechanism = Gaussian(sensitivity=1, epsilon=row["epsilon"], delta=row["delta"])
        rho = gaussian_rho(row["epsilon"], row["delta"])
        assert rho_of(mechanism.scale) <= rho
        assert rho_of(math.nextafter(mechanism.scale, 0)) > rho * (1 - Fraction(1, 10**18))


def test_the_delta_that_the_classical_sigma_reaches():
    for row in ROWS["classical"]:
        rho = rho_of(row["sigma"])
        delta = gaussian_delta(rho, row["epsilon"])
        assert is_just_above(delta, row["value"]), row
        assert (delta <= Fraction(row["delta"])) is row["private"]
        assert (rho <= gaussian_rho(row["epsilon"], row["delta"])) is row["private"]


def test_where_the_classical_sigma_stops_being_private():
    for row in ROWS["classical_fails_from"]:
        variance = 2 * Fraction(math.log(1.25 / float(row["delta"])))
        for factor, private in (("0.99999999", True), ("1.00000001", False)):
            epsilon = Fraction(row["value"]) * Fraction(factor)
            assert (gaussian_delta(epsilon**2 / (2 * variance), epsilon) <= Fraction(row["delta"])) is private


def test_the_rows_catch_the_wrong_side(monkeypatch):
    monkeypatch.setattr(gaussian, "upper", gaussian.lower)
    failed = [
        row
        for row in ROWS["delta"]
        if not is_just_above(gaussian_delta(rho_of(row["sigma"]), row["epsilon"]), row["value"])
    ]
    assert len(failed) > len(ROWS["delta"]) / 2


@pytest.mark.parametrize("x", ["0", "0.5", "3.9", "4", "4.1", "8", "30"])
@pytest.mark.parametrize("digits", [20, 60])
def test_both_ways_to_the_mills_ratio_agree(monkeypatch, x, digits):
    point = Precision(digits + 20)(Fraction(x))
    monkeypatch.setattr(gaussian, "_FAR", 10**9)
    near = gaussian._mills_ratio(Precision(digits + 300)(Fraction(x)))
    assert near.agrees_to(digits)
    if point.low >= 3:
        monkeypatch.setattr(gaussian, "_FAR", 0)
        far = gaussian._mills_ratio(point)
        assert far.agrees_to(digits)
        assert far.low <= near.high
        assert near.low <= far.high


rhos = st.fractions(Fraction(1, 10**4), 100)
deltas = st.sampled_from(["0.3", "1e-3", "1e-6", "1e-15"])


@given(rhos, deltas)
def test_inverses(rho, delta):
    epsilon = gaussian_epsilon(rho, delta)
    assert epsilon <= zcdp_epsilon(rho, delta)
    if epsilon:
        assert gaussian_delta(rho, epsilon) <= Fraction(delta) * (1 + Fraction(1, 10**19))
        back = gaussian_rho(epsilon, delta)
        assert gaussian_delta(back, epsilon) <= Fraction(delta) * (1 + Fraction(1, 10**19))
        assert abs(back / rho - 1) < Fraction(1, 10**15)
    else:
        assert gaussian_delta(rho, 0) <= Fraction(delta)


@given(rhos, rhos, st.fractions(0, 20), st.fractions(0, 20))
def test_delta_is_monotone(rho, other, epsilon, another):
    (rho, other), (epsilon, another) = sorted((rho, other)), sorted((epsilon, another))
    assert gaussian_delta(rho, another) <= gaussian_delta(rho, epsilon) <= gaussian_delta(other, epsilon)


@pytest.mark.parametrize("rho", ["1e-300", "1e-30", 1, "1e10", "1e300"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-10", "0.999999"])
def test_extremes(rho, delta):
    started = time.process_time()
    epsilon = gaussian_epsilon(rho, delta)
    assert 0 <= epsilon <= zcdp_epsilon(rho, delta)
    if epsilon:
        assert gaussian_rho(epsilon, delta) <= Fraction(rho) * (1 + Fraction(1, 10**15))
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gaussian_delta(0, 1), ValueError, "rho must be a positive number"),
        (lambda: gaussian_delta(1, -1), ValueError, "epsilon must be zero or a positive number"),
        (lambda: gaussian_delta(True, 1), TypeError, "rho must be a number"),
        (lambda: gaussian_epsilon(1, 0), ValueError, "delta must be a positive number below 1"),
        (lambda: gaussian_epsilon(1, 1), ValueError, "delta must be a positive number below 1"),
        (lambda: gaussian_rho(0, 0.5), ValueError, "epsilon must be a positive number"),
        (lambda: gaussian_rho(1, math.nan), ValueError, "delta must be finite"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()
