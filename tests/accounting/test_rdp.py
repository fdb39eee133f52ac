"""Renyi curves, and from curves to (epsilon, delta)."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction

import pytest
from golden import is_just_above, load
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.accounting import (
    PrivacyCost,
    discrete_laplace_rdp,
    discrete_laplace_rho,
    gaussian_rdp,
    laplace_rdp,
    laplace_rho,
    pure_rdp,
    pure_rho,
    randomized_response_rdp,
    rdp,
    rdp_delta,
    rdp_epsilon,
)
from exactnoise.accounting.interval import lower

ROWS = load("rdp")
TOLERANCE = 1e-9
# The default orders of dp-accounting, as the doubles that they are.
GRID = [Fraction(1 + x / 10) for x in range(1, 100)] + [*range(11, 64), 128, 256, 512, 1024]


def curve_of(row):
    parameter, whole = Fraction(row["parameter"]), row["whole"]
    match row["mechanism"]:
        case "gaussian":
            return lambda order: gaussian_rdp(order, 1 / (2 * parameter**2))
        case "laplace":
            return lambda order: laplace_rdp(order, 1 / parameter)
        case "randomized_response":
            return lambda order: randomized_response_rdp(order, parameter, whole)
        case "discrete_laplace":
            return lambda order: discrete_laplace_rdp(order, parameter, whole)


def identify(row):
    return "-".join(str(x) for x in row.values() if x is not None and len(str(x)) < 20)


@pytest.mark.parametrize("row", ROWS["curves"], ids=identify)
def test_curves(row):
    divergence = curve_of(row)(math.inf if row["order"] == "inf" else row["order"])
    if row["divergence"] is None:
        assert divergence == math.inf
        return
    assert type(divergence) is Fraction
    assert is_just_above(divergence, row["divergence"])
    if row["mechanism"] == "randomized_response" and row["whole"] == 2:
        assert pure_rdp(math.inf if row["order"] == "inf" else row["order"], row["parameter"]) == divergence


def test_the_first_order_is_the_limit():
    assert laplace_rdp(1, 2) == laplace_rho(2)
    assert discrete_laplace_rdp(1, 2, 3) == discrete_laplace_rho(2, 3)
    assert pure_rdp(1, 2) == pure_rho(2)
    near = Fraction(10**40 + 1, 10**40)
    for curve in (laplace_rdp, pure_rdp, lambda a, e: discrete_laplace_rdp(a, e, 3)):
        assert 0 <= curve(near, 2) - curve(1, 2) < Fraction(1, 10**18)


def test_the_curve_of_gaussian_noise_is_a_line():
    assert gaussian_rdp(1, "0.5") == Fraction(1, 2)
    assert gaussian_rdp("1024", "0.125") == 128
    assert gaussian_rdp(math.inf, 1) == math.inf


def plan_of(row):
    one = curve_of(row)
    return lambda order: row["times"] * one(order)


def clipped(value, row):
    return value if row["pure"] is None else min(value, row["pure"], key=Fraction)


@pytest.mark.parametrize("row", ROWS["epsilon"], ids=identify)
def test_epsilon(row):
    assert is_just_above(rdp_epsilon(plan_of(row), row["delta"]), clipped(row["epsilon"], row), TOLERANCE)


@pytest.mark.parametrize("row", ROWS["epsilon"], ids=identify)
def test_epsilon_at_given_orders(row):
    epsilon = rdp_epsilon(plan_of(row), row["delta"], orders=iter(GRID))
    assert is_just_above(epsilon, max(row["usual_orders"], "0", key=Fraction))
    assert epsilon >= Fraction(clipped(row["epsilon"], row)) * (1 - Fraction(1, 10**24))


@pytest.mark.parametrize("row", ROWS["delta"], ids=identify)
def test_delta(row):
    assert is_just_above(rdp_delta(plan_of(row), row["epsilon"]), row["delta"], TOLERANCE)


@pytest.mark.parametrize("row", ROWS["single_order"], ids=identify)
def test_one_order(row):
    """Never below the best that any conversion can do at this order."""

    def curve(order):
        return Fraction(row["divergence"]) if order == row["order"] else math.inf

    delta = rdp_delta(curve, row["epsilon"], orders=[row["order"]])
    assert delta >= Fraction(row["largest"]) * (1 - Fraction(1, 10**11))
    a, gap = row["order"], Fraction(row["divergence"]) - Fraction(row["epsilon"])
    closed = math.exp((a - 1) * gap) * (1 - 1 / a) ** a / (a - 1)
    assert float(delta) == pytest.approx(min(1, closed), rel=1e-12)
    if delta < 1:
        assert rdp_epsilon(curve, delta, orders=[a]) <= Fraction(row["epsilon"]) * (1 + Fraction(1, 10**15))


def test_the_rows_catch_the_wrong_side(monkeypatch):
    monkeypatch.setattr(rdp, "upper", lower)
    wrong = [
        row
        for row in ROWS["epsilon"][::4]
        if not is_just_above(rdp_epsilon(plan_of(row), row["delta"], orders=GRID), row["usual_orders"])
    ]
    assert len(wrong) > len(ROWS["epsilon"][::4]) / 2


def test_the_minimum_against_the_pure_epsilon():
    assert rdp_epsilon(lambda order: laplace_rdp(order, 1), "1e-30") == 1
    assert rdp_epsilon(lambda order: laplace_rdp(order, 1), "1e-5") < 1
    assert rdp_delta(lambda order: laplace_rdp(order, 1), 1) == 0
    assert rdp_delta(lambda order: laplace_rdp(order, 1), "0.9") > 0


def test_the_result_is_never_negative_nor_above_one():
    assert rdp_epsilon(lambda order: gaussian_rdp(order, "1e-9"), "0.9") == 0
    assert rdp_delta(lambda order: gaussian_rdp(order, 100), 0) == 1


def test_curves_that_end_or_bend():
    """Infinite from some order on, as for mechanisms with heavy tails; and the smaller of two."""

    def ending(order):
        return gaussian_rdp(order, "0.1") if order < 3 else math.inf

    assert rdp_epsilon(ending, 1e-6) >= rdp_epsilon(lambda order: gaussian_rdp(order, "0.1"), 1e-6)
    at_three = rdp_epsilon(ending, 1e-6, orders=["2.999999"])
    assert rdp_epsilon(ending, 1e-6) <= at_three

    def bent(order):
        return min(gaussian_rdp(order, "0.01"), pure_rdp(order, "0.5"))

    best = rdp_epsilon(bent, 1e-6)
    assert best <= rdp_epsilon(lambda order: pure_rdp(order, "0.5"), 1e-6)
    assert best <= rdp_epsilon(lambda order: gaussian_rdp(order, "0.01"), 1e-6)


def test_no_order_found_is_better():
    """A dense grid of orders finds nothing below what the search returns."""
    for row in ROWS["epsilon"][::7]:
        curve = plan_of(row)
        dense = [1 + Fraction(10) ** j * Fraction(step, 10) for j in range(-3, 4) for step in range(10, 100, 3)]
        found = rdp_epsilon(curve, row["delta"])
        assert found <= rdp_epsilon(curve, row["delta"], orders=dense) * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-12"])
def test_the_smaller_of_two_curves_has_two_minima(delta):
    """The bound's derivative need not be monotone there: no order of a dense grid is better all the same."""
    for rho, epsilon in (("0.01", "0.5"), ("0.3", 2), ("0.02", 1), ("1e-4", "0.05"), ("2", 5)):

        def curve(order, rho=rho, epsilon=epsilon):
            many = 20 * laplace_rdp(order, epsilon)
            return min(gaussian_rdp(order, rho) + (order > 4), many, pure_rdp(order, 8 * Fraction(epsilon)))

        dense = [1 + Fraction(2) ** j * Fraction(step, 8) for j in range(-6, 14) for step in range(8, 16)]
        assert rdp_epsilon(curve, delta) <= rdp_epsilon(curve, delta, orders=dense) * (1 + Fraction(1, 100))


def test_curves_without_a_finite_order():
    def infinite(order):
        return math.inf

    with pytest.raises(ValueError, match="curve must be finite at some order"):
        rdp_epsilon(infinite, "0.1")
    with pytest.raises(ValueError, match="curve must be finite at some order"):
        rdp_epsilon(lambda a: 1 if a < 3 else math.inf, "0.1", orders=[4, 5])
    assert rdp_delta(infinite, 1) == 1
    assert rdp_delta(lambda a: 1 if a < 3 else math.inf, "0.1", orders=[4]) == 1

    def only_pure(order):
        return Fraction(3, 2) if order == math.inf else math.inf

    assert rdp_epsilon(only_pure, "0.1") == Fraction(3, 2)
    assert rdp_delta(only_pure, "1.5") == 0
    assert rdp_delta(only_pure, "1.4") == 1


@pytest.mark.parametrize("bad", [math.nan, -1, Fraction(-1, 10**9)])
def test_what_no_divergence_can_be(bad):
    for call in (rdp_epsilon, rdp_delta):
        with pytest.raises(ValueError, match="curve must give numbers >= 0"):
            call(lambda order: bad, "0.1")
        with pytest.raises(ValueError, match="curve must give numbers >= 0"):
            call(lambda order: bad if order < math.inf else math.inf, "0.1", orders=[2])


def test_curves_of_floats_are_taken_as_they_are():
    assert rdp_epsilon(lambda order: float(order) / 8, 1e-6, orders=[2, 4]) == rdp_epsilon(
        lambda order: gaussian_rdp(order, "0.125"), 1e-6, orders=[2, 4]
    )


@pytest.mark.parametrize("divergence", [10**8, 10**20, 10**300])
def test_huge_divergences_end(divergence):
    assert rdp_delta(lambda order: divergence if order < math.inf else math.inf, 1, orders=[2]) == 1
    assert rdp_epsilon(lambda order: divergence if order < math.inf else math.inf, "0.1", orders=[2]) > divergence


def test_a_curve_of_zero():
    assert rdp_epsilon(lambda order: 0, "1e-6") == 0
    assert rdp_delta(lambda order: 0, 0) == 0
    assert 0 < rdp_delta(lambda order: 0 if order < math.inf else math.inf, 1) < Fraction(1, 10**100)


orders = st.fractions(Fraction(101, 100), 200)
epsilons = st.fractions(Fraction(1, 100), 10)


@given(orders, epsilons, st.integers(1, 30))
def test_curves_are_ordered(order, epsilon, d):
    slack = 1 + Fraction(1, 10**18)
    laplace, geometric, worst = (
        laplace_rdp(order, epsilon),
        discrete_laplace_rdp(order, epsilon, d),
        pure_rdp(order, epsilon),
    )
    assert laplace <= geometric * slack
    assert geometric <= worst * slack
    assert worst <= epsilon
    assert worst <= order * pure_rho(epsilon) * slack
    assert laplace <= order * laplace_rho(epsilon) * slack
    assert geometric <= order * discrete_laplace_rho(epsilon, d) * slack
    assert randomized_response_rdp(order, epsilon, d + 2) <= worst * slack


@given(orders, epsilons, st.fractions(Fraction(1, 100), Fraction(99, 100)))
def test_a_change_in_one_coordinate_is_the_worst(order, epsilon, share):
    slack = 1 + Fraction(1, 10**18)
    parts = [share * epsilon, (1 - share) * epsilon]
    assert sum(laplace_rdp(order, part) for part in parts) <= laplace_rdp(order, epsilon) * slack


@given(orders, orders, epsilons)
def test_curves_increase(a, b, epsilon):
    a, b = sorted((a, b))
    for curve in (laplace_rdp, pure_rdp):
        assert curve(a, epsilon) <= curve(b, epsilon) * (1 + Fraction(1, 10**18))


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", 700, "1e300"])
@pytest.mark.parametrize("order", ["1.000000000001", 2, "1e12"])
def test_extreme_curves(order, epsilon):
    for value in (
        laplace_rdp(order, epsilon),
        discrete_laplace_rdp(order, epsilon, 7),
        pure_rdp(order, epsilon),
        randomized_response_rdp(order, epsilon, 1000),
    ):
        assert 0 < value <= Fraction(epsilon) * (1 + Fraction(1, 10**18))


def test_many_releases_are_quick():
    started = time.process_time()
    epsilon = rdp_epsilon(lambda order: 10**5 * laplace_rdp(order, "0.001"), 1e-6)
    assert float(epsilon) == pytest.approx(1.471299, abs=1e-6)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: laplace_rdp("0.9", 1), ValueError, "order must be at least 1"),
        (lambda: laplace_rdp(math.nan, 1), ValueError, "order must be finite"),
        (lambda: laplace_rdp(2, 0), ValueError, "epsilon must be a positive number"),
        (lambda: gaussian_rdp(2, -1), ValueError, "rho must be a positive number"),
        (lambda: discrete_laplace_rdp(2, 1, 0), ValueError, "sensitivity must be a whole number >= 1"),
        (lambda: randomized_response_rdp(2, 1, 1), ValueError, "categories must be a whole number >= 2"),
        (lambda: rdp_epsilon(lambda a: a, 0), ValueError, "delta must be a positive number below 1"),
        (lambda: rdp_delta(lambda a: a, -1), ValueError, "epsilon must be zero or a positive number"),
        (lambda: rdp_epsilon(lambda a: a, 0.1, orders=[]), ValueError, "orders must be numbers above 1"),
        (lambda: rdp_epsilon(lambda a: a, 0.1, orders=[2, 1]), ValueError, "orders must be numbers above 1"),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_orders_of_decimal() -> None:
    assert gaussian_rdp(Decimal("Infinity"), 1) == gaussian_rdp(math.inf, 1) == math.inf
    with pytest.raises(ValueError, match=r"^order must be"):
        PrivacyCost(rho=1).rdp(Decimal("sNaN"))
