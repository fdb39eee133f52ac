"""Costs: validation, basic composition, repr, pickling."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise.accounting import PrivacyCost, disjoint, pure_rho
from exactnoise.accounting.cost import in_words

amounts = st.fractions(0, 10**6) | st.decimals(0, 1000).map(Fraction)
deltas = st.fractions(0, 1)
costs_in_both = st.builds(PrivacyCost, epsilon=amounts, delta=deltas, rho=amounts)
costs = st.one_of(
    st.builds(PrivacyCost, epsilon=amounts, delta=deltas),
    st.builds(PrivacyCost, rho=amounts),
    costs_in_both,
)


def test_amounts_are_exact():
    cost = PrivacyCost(epsilon=0.1, delta="1e-6", rho="1/11")
    assert (cost.epsilon, cost.delta, cost.rho) == (
        Fraction(1, 10),
        Fraction(1, 10**6),
        Fraction(1, 11),
    )
    assert all(type(value) is Fraction for value in (cost.epsilon, cost.delta, cost.rho))
    pure = PrivacyCost(epsilon=1)
    assert (pure.delta, pure.rho) == (0, None)
    assert type(pure.delta) is Fraction
    assert PrivacyCost(rho=1).epsilon is None


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({}, TypeError, "needs epsilon, or rho, or both"),
        ({"delta": 1e-6}, TypeError, "needs epsilon, or rho, or both"),
        ({"delta": 1e-6, "rho": 1}, TypeError, "^delta belongs to epsilon: give both, or rho alone$"),
        ({"epsilon": -0.1}, ValueError, "epsilon must be zero or a positive number, got -0.1"),
        ({"epsilon": math.nan}, ValueError, "epsilon must be finite, got nan"),
        ({"epsilon": math.inf}, ValueError, "epsilon must be finite, got inf"),
        ({"epsilon": True}, TypeError, "epsilon must be a number"),
        ({"rho": "x"}, ValueError, "rho must be a decimal number"),
        ({"epsilon": 1, "delta": 2}, ValueError, "delta must be at most 1, got 2"),
        ({"epsilon": 1, "delta": -1e-9}, ValueError, "delta must be zero or a positive number"),
        ({"epsilon": 1, "delta": None}, TypeError, "delta must be a number"),
    ],
)
def test_refusals(parameters, error, words):
    with pytest.raises(error, match=words):
        PrivacyCost(**parameters)


def test_immutable_and_without_further_attributes():
    cost = PrivacyCost(epsilon=1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        cost.epsilon = Fraction(2)
    with pytest.raises((AttributeError, TypeError)):
        cost.epsilons = 1
    with pytest.raises(TypeError):
        PrivacyCost(1)


def test_sums_of_each_currency():
    a = PrivacyCost(epsilon="1/3", delta=1e-6, rho=0.1)
    b = PrivacyCost(epsilon="1/7", delta=2e-6, rho=0.2)
    assert a + b == PrivacyCost(epsilon="10/21", delta=3e-6, rho=0.3)
    assert a + PrivacyCost(rho=1) == PrivacyCost(rho=1.1)
    assert a + PrivacyCost(epsilon=1) == PrivacyCost(epsilon="4/3", delta=1e-6)
    with pytest.raises(TypeError, match=r"^costs of epsilon 1 and of rho 1 have no currency in common"):
        PrivacyCost(epsilon=1) + PrivacyCost(rho=1)
    with pytest.raises(TypeError):
        a + 0.1


def test_delta_of_a_sum_stops_at_one():
    cost = PrivacyCost(epsilon=1, delta=0.6)
    assert (cost + cost).delta == (2 * cost).delta == 1


@pytest.mark.parametrize(("times", "error"), [(True, TypeError), (0.5, TypeError), ("2", TypeError), (-1, ValueError)])
def test_multiples_are_whole(times, error):
    with pytest.raises(error):
        times * PrivacyCost(epsilon=1)


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(costs, st.integers(0, 12))
def test_a_multiple_is_a_repeated_sum(cost, k):
    zero = 0 * cost
    assert k * cost == cost * k == sum([cost] * k, start=zero)
    if k:
        assert sum([cost] * k) == k * cost


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(costs, costs_in_both, costs)
def test_sums_are_commutative_and_associative(a, b, c):
    assert a + b == b + a
    in_common = (None not in (a.epsilon, c.epsilon)) or (None not in (a.rho, c.rho))
    if in_common:
        assert (a + b) + c == a + (b + c)


@given(costs)
def test_copies_are_equal(cost):
    for copied in (
        pickle.loads(pickle.dumps(cost)),
        copy.deepcopy(cost),
        eval(repr(cost), {"PrivacyCost": PrivacyCost}),
    ):
        assert copied == cost
        assert hash(copied) == hash(cost)


def test_repr_is_readable():
    assert repr(PrivacyCost(epsilon=0.1)) == "PrivacyCost(epsilon='0.1')"
    cost = PrivacyCost(epsilon="1/7", delta=1e-6, rho=0.01)
    assert repr(cost) == "PrivacyCost(epsilon='1/7', delta='1e-6', rho='0.01')"


def test_the_rho_that_a_pure_cost_implies():
    assert PrivacyCost(epsilon=1).implied_rho == pure_rho(1)
    assert PrivacyCost(epsilon=1, rho="0.1").implied_rho == Fraction(1, 10)
    assert PrivacyCost(epsilon=1, delta=1e-9).implied_rho is None
    assert PrivacyCost(epsilon=1, delta=1e-9, rho=1).implied_rho == 1
    assert PrivacyCost(epsilon=0).implied_rho == 0


PARTS = [
    PrivacyCost(epsilon="0.5", delta=1e-9, rho="0.1"),
    PrivacyCost(epsilon="0.2", delta=1e-6, rho="0.3"),
    PrivacyCost(epsilon="0.4", rho="0.2"),
]


def test_disjoint_parts():
    assert disjoint(PARTS, neighbors="add-remove") == PrivacyCost(epsilon="0.5", delta=1e-6, rho="0.3")
    assert disjoint(PARTS, neighbors="replace-one") == PrivacyCost(epsilon="0.9", delta="1.001e-6", rho="0.5")
    mixed = [*PARTS, PrivacyCost(rho=1)]
    assert disjoint(mixed, neighbors="add-remove") == PrivacyCost(rho=1)
    assert disjoint(mixed, neighbors="replace-one") == PrivacyCost(rho="1.3")
    for neighbors in ("add-remove", "replace-one"):
        assert disjoint(PARTS[:1], neighbors=neighbors) == PARTS[0]
        with pytest.raises(TypeError, match="no currency in common"):
            disjoint([PrivacyCost(epsilon=1), PrivacyCost(rho=1)], neighbors=neighbors)
        with pytest.raises(ValueError, match="at least one part"):
            disjoint([], neighbors=neighbors)
    for neighbors in ("replace", None, ["add-remove"]):
        with pytest.raises(ValueError, match="neighbors must be 'add-remove' or 'replace-one'"):
            disjoint(PARTS, neighbors=neighbors)
    assert disjoint([PrivacyCost(epsilon=1, delta="0.7")] * 3, neighbors="replace-one").delta == 1


def test_equal_parts_keep_what_is_known_of_their_loss():
    part = PrivacyCost(epsilon="0.5")
    assert disjoint([part] * 5, neighbors="add-remove").losses == part.losses
    assert disjoint((part for _ in range(5)), neighbors="replace-one").losses == (2 * part).losses


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(st.lists(costs_in_both, min_size=1, max_size=6))
def test_disjoint_lies_between_the_largest_and_the_sum(parts):
    largest, two = disjoint(parts, neighbors="add-remove"), disjoint(parts, neighbors="replace-one")
    for name in ("epsilon", "delta", "rho"):
        amounts = sorted(getattr(part, name) for part in parts)
        assert getattr(largest, name) == amounts[-1]
        assert getattr(two, name) == min(sum(amounts[-2:]), 1 if name == "delta" else math.inf)


def test_words_for_a_message():
    assert in_words(PrivacyCost(epsilon=0.1, delta=1e-6)) == "epsilon 0.1, delta 1e-6"
    assert in_words(PrivacyCost(epsilon="1/3", rho=2)) == "epsilon 1/3, rho 2"


def test_only_the_zero_of_sum_is_added():
    cost = PrivacyCost(epsilon=1)
    assert sum([cost, cost]) == 2 * cost
    for other in (1, False, 0.0):
        with pytest.raises(TypeError, match="unsupported operand"):
            other + cost
