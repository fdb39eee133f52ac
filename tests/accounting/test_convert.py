"""Conversions to rho: never below the truth, and hardly above it.

The values of tests/vectors/zcdp_rho.json come from the distributions, not from closed forms.
"""

from __future__ import annotations

import json
import time
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.accounting import convert, discrete_laplace_rho, laplace_rho, pure_rho

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "zcdp_rho.json").read_text(encoding="utf-8"))
# The vectors have 25 digits, the last one rounded either way.
VECTOR_ERROR = Fraction(1, 10**24)


def rho_of(row):
    if row["mechanism"] == "laplace":
        return laplace_rho(row["epsilon"])
    if row["mechanism"] == "pure":
        return pure_rho(row["epsilon"])
    return discrete_laplace_rho(row["epsilon"], row["sensitivity"])


def is_safe_and_tight(rho, row):
    truth = Fraction(row["rho"])
    return truth * (1 - VECTOR_ERROR) <= rho <= truth * (1 + Fraction(1, 10**18))


@pytest.mark.parametrize("row", VECTORS, ids=lambda r: f"{r['mechanism']}-{r['epsilon']}-{r['sensitivity']}")
def test_against_the_distributions(row):
    rho = rho_of(row)
    assert type(rho) is Fraction
    assert is_safe_and_tight(rho, row)


def test_the_check_catches_rounding_the_wrong_way():
    down_in_the_last_digit = [rho_of(row) * (1 - Fraction(1, 10**18)) for row in VECTORS]
    assert not any(map(is_safe_and_tight, down_in_the_last_digit, VECTORS))
    nearest_double = [Fraction(float(rho_of(row))) for row in VECTORS]
    assert not all(map(is_safe_and_tight, nearest_double, VECTORS))


@pytest.mark.parametrize("epsilon", ["1e-400", "5e-324", "1e-200", "1e6", "1e300", "1e400"])
def test_extreme_epsilons_are_quick(epsilon):
    started = time.perf_counter()
    amount = Fraction(epsilon)
    values = [laplace_rho(epsilon)]
    values += [discrete_laplace_rho(epsilon, d) for d in (1, 2, 10**6, 10**18)]
    assert time.perf_counter() - started < 1
    for rho in values:
        assert 0 < rho <= min(amount**2 / 2, amount) * (1 + Fraction(1, 10**18))
        assert rho >= (amount**2 / 3 if amount < 1 else amount - 1)


epsilons = st.fractions(Fraction(1, 10**9), 50, max_denominator=10**9)
shifts = st.integers(1, 10**6)


@given(epsilons, shifts)
def test_orders_between_mechanisms(epsilon, shift):
    # Rounded at 20 digits; strict order where the truth is further apart than that.
    assert laplace_rho(epsilon) <= discrete_laplace_rho(epsilon, shift) <= pure_rho(epsilon)
    assert discrete_laplace_rho(epsilon, shift + 1) <= discrete_laplace_rho(epsilon, shift)
    assert pure_rho(epsilon) <= epsilon**2 / 2 * (1 + Fraction(1, 10**19))


@given(epsilons, epsilons, shifts)
def test_rho_grows_with_epsilon(a, b, shift):
    a, b = sorted((a, b))
    assert laplace_rho(a) <= laplace_rho(b)
    assert discrete_laplace_rho(a, shift) <= discrete_laplace_rho(b, shift)


def closed_forms(epsilon, shift):
    """The two rhos from the published formulas, in 200 digits."""
    with localcontext() as context:
        context.prec = 200
        eps = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        a, d = (-eps / shift).exp(), Decimal(shift)
        laplace = eps + (-eps).exp() - 1
        discrete = eps / d * (d - 2 * a * (1 - (-eps).exp()) / (1 - a * a))
    return Fraction(laplace), Fraction(discrete)


@given(epsilons, st.integers(1, 50))
def test_against_the_closed_forms(epsilon, shift):
    laplace, discrete = closed_forms(epsilon, shift)
    slack = Fraction(1, 10**120)
    above = 1 + Fraction(2, 10**19)
    assert laplace * (1 - slack) <= laplace_rho(epsilon) <= laplace * above
    assert discrete * (1 - slack) <= discrete_laplace_rho(epsilon, shift) <= discrete * above


@pytest.mark.parametrize("shift", [1, 2, 3, 7, 50])
def test_every_step_rounds_to_the_safe_side(monkeypatch, shift):
    # With few digits inside, a step rounded the wrong way is no longer hidden by the last rounding.
    monkeypatch.setattr(convert, "_SPARE_DIGITS", -17)
    for i in range(1, 1500):
        epsilon = Fraction(i, 237)
        laplace, discrete = closed_forms(epsilon, shift)
        assert laplace_rho(epsilon) >= laplace
        assert discrete_laplace_rho(epsilon, shift) >= discrete


def test_the_callers_decimal_context_does_not_matter():
    expected = laplace_rho("1e-12"), discrete_laplace_rho("1e-12", 3)
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 3, 5, -5
        assert (laplace_rho("1e-12"), discrete_laplace_rho("1e-12", 3)) == expected


@pytest.mark.parametrize("function", [laplace_rho, pure_rho, lambda e: discrete_laplace_rho(e, 1)])
@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "x"])
def test_refused_epsilons(function, epsilon):
    with pytest.raises(ValueError, match="epsilon must"):
        function(epsilon)


@pytest.mark.parametrize(
    ("sensitivity", "error"),
    [(0, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError), ("1", TypeError)],
)
def test_refused_sensitivities(sensitivity, error):
    with pytest.raises(error, match="sensitivity must be a whole number >= 1"):
        discrete_laplace_rho(1, sensitivity)
