"""Composition by formula: the basic sum, advanced composition, and its filter."""

from __future__ import annotations

import decimal
from fractions import Fraction

import numpy as np
import pytest
from golden import is_just_above, load
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.accounting import (
    advanced_epsilon,
    advanced_filter_epsilon,
    basic_epsilon,
    compose,
    optimal_delta,
    optimal_epsilon,
)
from exactnoise.accounting.interval import upper

ROWS = load("composition")
PLANS = [(row["epsilon"], row["k"], row) for row in ROWS["equal"]] + [
    (row["epsilons"], 1, row) for row in ROWS["mixed"]
]
EPSILONS = st.fractions(Fraction(1, 1000), 5, max_denominator=1000)
DELTAS = st.fractions(Fraction(1, 10**9), Fraction(999, 1000))


def test_every_row():
    assert len(PLANS) > 120
    for epsilons, times, row in PLANS:
        total = basic_epsilon(epsilons, times=times)
        advanced = advanced_epsilon(epsilons, times=times, delta=row["delta"])
        assert total == Fraction(row["basic"])
        if Fraction(row["advanced"]) < total:
            assert is_just_above(advanced, row["advanced"]), row
        else:
            assert advanced == total
        assert is_just_above(advanced_filter_epsilon(epsilons, times=times, delta=row["delta"]), row["filter"]), row


def test_the_rows_catch_the_wrong_side(monkeypatch):
    monkeypatch.setattr(compose, "upper", lambda formula: upper(formula) * (1 - Fraction(1, 10**16)))
    for epsilons, times, row in PLANS:
        assert not is_just_above(advanced_filter_epsilon(epsilons, times=times, delta=row["delta"]), row["filter"])


def test_the_sum_is_of_what_was_typed():
    assert basic_epsilon([0.1] * 10) == 1
    assert basic_epsilon(np.array([0.1, 0.2]), times=10) == 3
    assert basic_epsilon("0.1", times=3) == Fraction(3, 10)
    assert basic_epsilon({"0.1": 3, 0.2: 2}, times=2) == Fraction(7, 5)
    assert basic_epsilon(decimal.Decimal("0.1") for _ in range(2)) == Fraction(1, 5)
    assert basic_epsilon({"0.1": 1, 0.1: 1}) == Fraction(1, 5)  # two names of one number


@given(st.lists(EPSILONS, min_size=1, max_size=6), st.integers(1, 20), DELTAS)
def test_ways_to_say_the_same(epsilons, times, delta):
    for function in (advanced_epsilon, advanced_filter_epsilon):
        value = function(epsilons, times=times, delta=delta)
        assert value == function(iter(epsilons * times), delta=delta)
        assert value == function(list(reversed(epsilons)), times=times, delta=delta)
        assert value == function({eps: epsilons.count(eps) for eps in epsilons}, times=times, delta=delta)


@given(st.lists(EPSILONS, min_size=1, max_size=6), EPSILONS, DELTAS, DELTAS)
def test_more_queries_and_smaller_deltas_cost_more(epsilons, another, a, b):
    for function in (advanced_epsilon, advanced_filter_epsilon):
        assert function(epsilons, delta=a) <= function([*epsilons, another], delta=a)
        assert function(epsilons, delta=max(a, b)) <= function(epsilons, delta=min(a, b))
    assert advanced_epsilon(epsilons, delta=a) <= basic_epsilon(epsilons)


@pytest.mark.parametrize("epsilon", ["1e-300", "1e-12", "1", "1e5", "1e7", "1e300"])
@pytest.mark.parametrize("delta", ["1e-300", "0.999999"])
def test_extreme_parameters(epsilon, delta):
    for times in (1, 10**5, 10**40):
        total = basic_epsilon(epsilon, times=times)
        assert 0 < advanced_epsilon(epsilon, times=times, delta=delta) <= total == times * Fraction(epsilon)
        assert advanced_filter_epsilon(epsilon, times=times, delta=delta) > times * Fraction(epsilon) ** 2 / 2


FUNCTIONS = {
    "basic": basic_epsilon,
    "advanced": lambda epsilons, **options: advanced_epsilon(epsilons, delta=0.1, **options),
    "filter": lambda epsilons, **options: advanced_filter_epsilon(epsilons, delta=0.1, **options),
    "epsilon": lambda epsilons, **options: optimal_epsilon(epsilons, delta=0.1, **options),
    "delta": lambda epsilons, **options: optimal_delta(epsilons, epsilon=1, **options),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_bad_queries(function):
    for value in (0, -1, float("nan"), float("inf"), [], {}, [0.1, 0], "x", {0.1: 0}, [0.1, "1e999"]):
        with pytest.raises(ValueError, match="epsilons"):
            function(value)
    for value in (None, True, 1j, b"1", [None], [[0.1]], {0.1: 1.5}, {0.1: "2"}):
        with pytest.raises(TypeError, match="epsilons"):
            function(value)
    for times, error in ((0, ValueError), (-1, ValueError), (1.5, TypeError), ("2", TypeError), (True, TypeError)):
        with pytest.raises(error, match="times"):
            function(0.1, times=times)


@pytest.mark.parametrize("function", [advanced_epsilon, advanced_filter_epsilon])
def test_bad_deltas(function):
    for delta, error in ((0, ValueError), (1, ValueError), (-0.1, ValueError), (None, TypeError)):
        with pytest.raises(error, match="delta"):
            function(0.1, delta=delta)
