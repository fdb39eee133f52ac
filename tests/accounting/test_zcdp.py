"""Between zCDP and (epsilon, delta)."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from golden import is_just_above, is_just_below, load
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise.accounting import (
    gaussian_delta,
    zcdp,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from exactnoise.accounting.interval import upper

ROWS = load("zcdp")
TOLERANCE = 1e-9  # the order is found to six digits, near which the bound is flat


@pytest.mark.parametrize("row", ROWS["epsilon"], ids=lambda r: f"{r['rho']}-{r['delta']}")
def test_epsilon(row):
    epsilon = zcdp_epsilon(row["rho"], row["delta"])
    assert is_just_above(epsilon, row["epsilon"], TOLERANCE)
    assert epsilon < Fraction(row["bun_steinke"])
    assert epsilon > Fraction(row["gaussian"]) or epsilon == Fraction(row["gaussian"]) == 0


@pytest.mark.parametrize("row", ROWS["delta"], ids=lambda r: f"{r['rho']}-{r['epsilon']}")
def test_delta(row):
    delta = zcdp_delta(row["rho"], row["epsilon"])
    assert is_just_above(delta, row["delta"], TOLERANCE)
    assert Fraction(row["gaussian"]) < delta < Fraction(row["bun_steinke"])
    assert is_just_above(gaussian_delta(row["rho"], row["epsilon"]), row["gaussian"])


@pytest.mark.parametrize("row", ROWS["rho"], ids=lambda r: f"{r['epsilon']}-{r['delta']}")
def test_rho(row):
    """A cap: rounded down."""
    rho = zcdp_rho(row["epsilon"], row["delta"])
    assert is_just_below(rho, row["rho"], TOLERANCE)
    assert rho > Fraction(row["bun_steinke"])


def test_the_figures_that_texts_quote():
    assert float(zcdp_rho(1, 1e-6)) == pytest.approx(0.02435597, abs=5e-9)
    assert float(zcdp_epsilon("0.5", 1e-6)) == pytest.approx(5.221534445, abs=5e-10)


def test_the_rows_catch_the_wrong_side(monkeypatch):
    monkeypatch.setattr(zcdp, "lower", upper)
    wrong = [row for row in ROWS["rho"] if not is_just_below(zcdp_rho(row["epsilon"], row["delta"]), row["rho"], 0)]
    assert len(wrong) > len(ROWS["rho"]) / 2


rhos = st.fractions(Fraction(1, 10**6), 50)
deltas = st.sampled_from(["0.9", "1e-2", "1e-6", "1e-15", "1e-300"])


@pytest.mark.usefixtures("repetition")
@settings(max_examples=10)
@given(rhos, deltas)
def test_inverses(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    if epsilon:
        back = zcdp_rho(epsilon, delta)
        # A cap from a price: the price fits, up to the digits of the order found.
        assert rho * (1 - Fraction(1, 10**11)) <= back <= rho * (1 + Fraction(1, 10**11))
        assert zcdp_epsilon(back, delta) <= epsilon * (1 + Fraction(1, 10**11))
        assert zcdp_delta(rho, epsilon) <= Fraction(delta) * (1 + Fraction(1, 10**9))


@pytest.mark.usefixtures("repetition")
@settings(max_examples=15)
@given(rhos, rhos, deltas)
def test_epsilon_grows_with_rho(a, b, delta):
    a, b = sorted((a, b))
    assert zcdp_epsilon(a, delta) <= zcdp_epsilon(b, delta) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("rho", ["1e-300", "1e-30", "1e30", "1e300"])
@pytest.mark.parametrize("delta", ["1e-300", "0.999999"])
def test_extremes(rho, delta):
    epsilon = zcdp_epsilon(rho, delta)
    assert epsilon >= 0
    if epsilon:
        assert 0.999999 < zcdp_rho(epsilon, delta) / Fraction(rho) < 1.000001


@pytest.mark.usefixtures("repetition")
@settings(max_examples=15)
@given(rhos, deltas, deltas)
def test_epsilon_falls_with_delta(rho, a, b):
    a, b = sorted((a, b), key=Fraction)
    assert zcdp_epsilon(rho, b) <= zcdp_epsilon(rho, a) * (1 + Fraction(1, 10**9))


@pytest.mark.usefixtures("repetition")
@settings(max_examples=15)
@given(rhos, st.fractions(0, 60), st.fractions(0, 60))
def test_delta_falls_with_epsilon(rho, a, b):
    a, b = sorted((a, b))
    assert zcdp_delta(rho, b) <= zcdp_delta(rho, a) * (1 + Fraction(1, 10**9)) <= 1 + Fraction(1, 10**9)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-100", 1, "1e300", "1e400"])
@pytest.mark.parametrize("delta", ["1e-100", "1e-10", "0.999999"])
def test_extreme_caps(epsilon, delta):
    """Never negative, at least the closed form's start e^2 / (4 ln(1/delta) + 4 e), and what it allows holds."""
    rho, e = zcdp_rho(epsilon, delta), Fraction(epsilon)
    assert rho > 0
    assert rho >= e * e / (4 * 1000 + 4 * e)
    assert zcdp_epsilon(rho, delta) <= e * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.01", 1000), ("1e-3", "1e6"), ("1e-300", "1e300"), ("1e-300", 1), ("1e300", "1e300")]
)
def test_extreme_deltas_end(rho, epsilon):
    """Far below any delta that matters it is rounded up, not calculated with a million digits."""
    delta = zcdp_delta(rho, epsilon)
    assert 0 < delta <= 1
    assert delta == 1 or delta < Fraction(1, 10**4000)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: zcdp_epsilon(0, 0.1), ValueError, "rho must be a positive number"),
        (lambda: zcdp_epsilon(1, 1), ValueError, "delta must be a positive number below 1"),
        (lambda: zcdp_delta(1, -1), ValueError, "epsilon must be zero or a positive number"),
        (lambda: zcdp_rho(math.inf, 0.1), ValueError, "epsilon must be finite"),
        (lambda: zcdp_rho(1, None), TypeError, "delta must be a number"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()
