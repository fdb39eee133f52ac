"""Conversions to rho: never below the truth, and hardly above it.

The values of tests/vectors/zcdp_rho.json come from the distributions, not from closed forms.
"""

from __future__ import annotations

import time
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from golden import is_just_above, load
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.accounting import (
    convert,
    discrete_laplace_rho,
    exponential_rho,
    laplace_rho,
    optimal_delta,
    pure_rho,
    randomized_response_rdp,
    randomized_response_rho,
)
from exactnoise.accounting.interval import Precision

VECTORS = load("zcdp_rho")
REPORTS = load("randomized_response")


def rho_of(row):
    match row["mechanism"]:
        case "laplace":
            return laplace_rho(row["epsilon"])
        case "pure":
            return pure_rho(row["epsilon"])
        case "exponential":
            return exponential_rho(row["epsilon"])
        case "discrete_laplace":
            return discrete_laplace_rho(row["epsilon"], row["whole"])
        case "randomized_response" | "randomized_response_many":
            return randomized_response_rho(row["epsilon"], row["whole"])


def is_safe_and_tight(rho, row):
    # The worst order of randomised response is searched; the other rhos are closed forms.
    return is_just_above(rho, row["rho"], 1e-9 if row["mechanism"].startswith("randomized") else 1e-18)


@pytest.mark.parametrize("row", VECTORS, ids=lambda r: f"{r['mechanism']}-{r['epsilon']}-{r['whole']}")
def test_against_the_distributions(row):
    rho = rho_of(row)
    assert type(rho) is Fraction
    assert is_safe_and_tight(rho, row)


def test_the_check_catches_rounding_the_wrong_way():
    closed = [row for row in VECTORS if not row["mechanism"].startswith("randomized")]
    down_in_the_last_digit = [rho_of(row) * (1 - Fraction(1, 10**18)) for row in closed]
    assert not any(map(is_safe_and_tight, down_in_the_last_digit, closed))
    nearest_double = [Fraction(float(rho_of(row))) for row in closed]
    assert not all(map(is_safe_and_tight, nearest_double, closed))


def test_the_check_catches_order_one_for_many_categories():
    """The Kullback-Leibler divergence is not the largest over orders there, by a factor of up to hundreds."""
    rows = [row for row in VECTORS if row["mechanism"] == "randomized_response_many" and row["epsilon"] in ("0.1", "4")]
    at_order_one = [randomized_response_rdp(1, row["epsilon"], row["whole"]) for row in rows]
    missed = [not is_safe_and_tight(rho, row) for rho, row in zip(at_order_one, rows, strict=True)]
    assert sum(missed) >= len(rows) - 2


@given(st.fractions(Fraction(1, 1000), 20), st.integers(2, 10**6), st.fractions(1, 60))
def test_no_order_of_randomized_response_exceeds_its_rho(epsilon, k, order):
    rho = randomized_response_rho(epsilon, k)
    assert randomized_response_rdp(order, epsilon, k) <= order * rho * (1 + Fraction(1, 10**18))
    assert rho <= pure_rho(epsilon) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("row", REPORTS, ids=lambda r: f"{r['epsilon']}-{r['categories']}")
def test_reports_of_randomized_response(row):
    """What follows from the probabilities of the reports is what is claimed for epsilon."""
    epsilon, k = Fraction(row["epsilon"]), row["categories"]
    truth, other = Fraction(row["truth"]), Fraction(row["other"])
    loss = Precision(40)(truth / other).ln()
    assert abs(Fraction(loss.high) / epsilon - 1) < Fraction(1, 10**22)
    assert abs(truth + (k - 1) * other - 1) < Fraction(1, 10**22)
    assert randomized_response_rho(epsilon, k) >= (truth - other) * epsilon * (1 - Fraction(1, 10**22))
    delta = optimal_delta(epsilon, epsilon=epsilon / 2)
    if k == 2:  # the worst of all mechanisms of this epsilon
        assert is_just_above(delta, row["delta_at_half"])
    else:
        assert delta > Fraction(row["delta_at_half"])


@given(st.fractions(Fraction(1, 10**6), 30))
def test_a_bounded_range_is_worth_having(epsilon):
    """Below an eighth of the square, which does not hold for permute-and-flip: `pure_rho` does."""
    rho = exponential_rho(epsilon)
    assert laplace_rho(epsilon / 2) <= rho <= epsilon**2 / 8
    assert rho < pure_rho(epsilon)
    if epsilon < 3:
        assert pure_rho(epsilon) > epsilon**2 / 8


@pytest.mark.parametrize("epsilon", ["1e-400", "5e-324", "1e-200", "1e6", "1e300", "1e400"])
def test_extreme_epsilons_are_quick(epsilon):
    started = time.process_time()
    amount = Fraction(epsilon)
    values = [laplace_rho(epsilon)]
    values += [discrete_laplace_rho(epsilon, d) for d in (1, 2, 10**6, 10**18)]
    exponential = exponential_rho(epsilon)
    assert time.process_time() - started < 1
    for rho in values:
        assert 0 < rho <= min(amount**2 / 2, amount) * (1 + Fraction(1, 10**18))
        assert rho >= (amount**2 / 3 if amount < 1 else amount - 1)
    assert (amount**2 / 9 if amount < 1 else amount / 2) < exponential < values[0] * (1 + Fraction(1, 10**18))


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-9", 40, "1e300"])
@pytest.mark.parametrize("categories", [3, 7, 10**5, 10**300])
def test_extreme_randomized_response(epsilon, categories):
    started = time.process_time()
    rho = randomized_response_rho(epsilon, categories)
    assert time.process_time() - started < 5
    assert 0 < rho <= pure_rho(epsilon) * (1 + Fraction(1, 10**9))
    assert rho >= randomized_response_rdp(1, epsilon, categories) * (1 - Fraction(1, 10**18))


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
    # With few digits, a step rounded the wrong way is not hidden by the last rounding.
    monkeypatch.setattr(convert, "upper", lambda formula: Fraction(formula(Precision(8)).high))
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


@pytest.mark.parametrize(
    "function",
    [
        laplace_rho,
        pure_rho,
        exponential_rho,
        lambda e: discrete_laplace_rho(e, 1),
        lambda e: randomized_response_rho(e, 9),
    ],
)
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


@pytest.mark.parametrize(
    ("categories", "error"), [(1, ValueError), (-2, ValueError), (3.0, TypeError), (True, TypeError)]
)
def test_refused_categories(categories, error):
    with pytest.raises(error, match="categories must be a whole number >= 2"):
        randomized_response_rho(1, categories)
