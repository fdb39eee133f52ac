"""What decides privacy must be said, a refusal comes before the data, and the price is exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from exactnoise import (
    BudgetExceeded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PrivacyBudget,
    aggregates,
)
from exactnoise.aggregates import count, histogram, mean, quantile, variance, vector_sum

X = np.array([1.0, 2.0, 30.0])


def budget(neighbors="add-remove", unit="row", **amounts):
    return PrivacyBudget(neighbors=neighbors, unit=unit, **(amounts or {"epsilon": 1}))


CALLS = {
    "count": lambda **terms: count(X > 1, **terms),
    "sum": lambda **terms: aggregates.sum(X, bounds=(0, 10), **terms),
    "mean": lambda **terms: mean(X, bounds=(0, 10), **terms),
    "variance": lambda **terms: variance(X, bounds=(0, 10), **terms),
    "quantile": lambda **terms: quantile(X, [0.1, 0.5, 0.9], bounds=(0, 10), **terms),
    "histogram": lambda **terms: histogram(X, edges=[0, 5, 10], **terms),
    "vector_sum": lambda **terms: vector_sum(X.reshape(-1, 1), norm="l1", bound=2, **terms),
    "vector_sum-l2": lambda **terms: vector_sum(np.ones((3, 30)), norm="l2", bound=2, **terms),
}
BY_CALL = pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)


class Untouchable:
    """A column of which nothing may be read."""

    def __getattribute__(self, name):
        raise AssertionError(f"{name} was read before the budget was asked")

    def __len__(self):
        raise AssertionError("the length was read before the budget was asked")

    __iter__ = __array__ = __getitem__ = __len__


@BY_CALL
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_the_price_is_spent_exactly(call, neighbors):
    for amounts in (
        {"epsilon": "0.3"},
        {"epsilon": Fraction(1, 7)},
    ):
        paying = budget(neighbors)
        call(budget=paying, label="asked", **amounts)
        assert paying.spent.epsilon == Fraction(amounts["epsilon"])
        assert [spend.label for spend in paying.history] == ["asked"]


@BY_CALL
def test_prices_in_rho_and_with_delta(call):
    paying = budget(rho=1)
    released = call(budget=paying, rho="0.25")
    assert Fraction("0.249999999") < paying.spent.rho <= Fraction("0.25")
    assert released.cost.rho == paying.spent.rho
    paying = budget(epsilon=1, delta="1e-5", method="basic")
    call(budget=paying, epsilon="0.5", delta="1e-6")
    assert paying.spent.epsilon == Fraction("0.5")
    assert paying.spent.delta <= Fraction("1e-6")


@BY_CALL
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}], ids=str)
def test_what_is_left_is_enough(call, neighbors, price):
    """What is asked before the data is read is no more than what is spent."""
    paying = budget(neighbors, rho=1000)
    call(budget=paying, **price)
    exactly = budget(neighbors, rho=paying.spent.rho)
    call(budget=exactly, **price)
    assert exactly.remaining.rho == 0


def test_three_statistics_of_epsilon_1_in_total():
    paying = budget()
    for part, call in zip(paying.split(1, 1, 1), (CALLS["count"], CALLS["sum"], CALLS["mean"]), strict=True):
        call(budget=part, epsilon=Fraction(1, 3))
        assert part.remaining.epsilon == 0
    assert paying.remaining.epsilon == 0
    again = budget()
    for call in (CALLS["count"], CALLS["sum"], CALLS["mean"]):
        call(budget=again, epsilon="1/3")
    assert again.spent.epsilon == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **terms: count(x, **terms),
        lambda x, **terms: count(by=x, keys=["a"], n=3, **terms),
        lambda x, **terms: aggregates.sum(x, bounds=(0, 1), **terms),
        lambda x, **terms: aggregates.sum(X, bounds=(0, 1), by=x, keys=["a"], **terms),
        lambda x, **terms: mean(x, bounds=(0, 1), **terms),
        lambda x, **terms: variance(x, bounds=(0, 1), **terms),
        lambda x, **terms: quantile(x, 0.5, bounds=(0, 1), **terms),
        lambda x, **terms: histogram(x, edges=[0, 1], **terms),
        lambda x, **terms: histogram(x, categories=["a"], **terms),
        lambda x, **terms: histogram((x, x), edges=([0, 1], [0, 1]), **terms),
        lambda x, **terms: vector_sum(x, norm="l2", bound=1, **terms),
    ],
)
@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_a_refusal_comes_before_the_data(call, neighbors):
    paying = budget(neighbors)
    with pytest.raises(BudgetExceeded):
        call(Untouchable(), budget=paying, epsilon="1.1")
    assert paying.spent.epsilon == 0
    assert paying.history == ()


def test_a_refusal_comes_before_the_people():
    paying = budget(unit="person")
    for call in (
        lambda **terms: aggregates.sum(X, bounds=(0, 1), person=Untouchable(), **terms),
        lambda **terms: count(by=X, keys=[1], person=Untouchable(), groups_per_person=1, **terms),
    ):
        with pytest.raises(BudgetExceeded):
            call(budget=paying, epsilon="1.1", rows_per_person=1)


@BY_CALL
def test_what_decides_privacy_must_be_said(call):
    for wrong, message in (
        ({"epsilon": 1}, "budget"),
        ({"budget": None, "epsilon": 1}, "neighbors"),
        ({"budget": None, "neighbors": "add-remove"}, "epsilon"),
        ({"budget": budget("add-remove", "person"), "epsilon": 1}, "rows_per_person"),
    ):
        with pytest.raises(TypeError, match=message):
            call(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": 1, "rho": 1}, "epsilon, with or without delta, or rho"),
        ({"rho": 1, "delta": 0.1}, "delta"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "mechanism": "gaussian"}, "delta"),
        ({"epsilon": 1, "mechanism": "uniform"}, "mechanism"),
        ({"epsilon": 1, "neighbors": "replace"}, "neighbors"),
        ({"epsilon": 1, "rows_per_person": 0}, "rows_per_person"),
        ({"epsilon": 1, "rows_per_person": 1.5}, "rows_per_person"),
        ({"epsilon": 1, "rows_per_person": True}, "rows_per_person"),
        ({"epsilon": 1, "rows_per_person": 2, "groups_per_person": 2}, "groups_per_person"),
        ({"epsilon": 1, "budget": 3}, "budget"),
        ({"epsilon": 1, "sensitivity": 3}, "sensitivity"),
    ],
)
def test_bad_terms_name_the_parameter(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        aggregates.sum(X, bounds=(0, 1), **{"budget": None, "neighbors": "add-remove", **wrong})


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        (None, "bounds"),
        (5, "bounds"),
        ("01", "bounds"),
        ((1,), "bounds"),
        ((1, 2, 3), "bounds"),
        ((2, 1), "lower <= upper"),
        ((math.nan, 1), r"bounds\[0\]"),
        ((0, math.inf), r"bounds\[1\]"),
        ((0, True), r"bounds\[1\]"),
        ((0, 1e-300), "1e-280"),
        ((0, 0), "sum"),
    ],
)
def test_bad_bounds_are_refused_before_the_data(bounds, message):
    with pytest.raises((TypeError, ValueError), match=message):
        aggregates.sum(Untouchable(), bounds=bounds, budget=budget(), epsilon=1)


def test_what_needs_no_data_is_said_to():
    for call in (
        lambda: mean(X, bounds=(5, 5), budget=budget(), epsilon=1),
        lambda: aggregates.sum(X, bounds=(5, 5), budget=budget("replace-one"), epsilon=1),
        lambda: count(n=5, budget=budget("replace-one"), epsilon=1),
    ):
        with pytest.raises(ValueError, match="without any data"):
            call()
    assert aggregates.sum(X, bounds=(5, 5), budget=budget(), epsilon=1).mechanism.sensitivity == 5


def test_the_rule_that_picks_the_noise():
    delta = {"epsilon": 1, "delta": "1e-6", "budget": None, "neighbors": "add-remove"}
    person = {"rows_per_person": 1, "groups_per_person": 30}
    by = {"by": [0, 1, 2], "keys": range(50)}
    pure = {"epsilon": 1, "budget": None, "neighbors": "add-remove"}
    rho = {"rho": 1, "budget": None, "neighbors": "add-remove"}
    assert isinstance(count(X > 1, **pure).mechanism, DiscreteLaplace)
    assert isinstance(count(X > 1, **rho).mechanism, DiscreteGaussian)
    assert isinstance(count(X > 1, **delta).mechanism, DiscreteLaplace)
    assert isinstance(aggregates.sum(X, bounds=(0, 1), **pure).mechanism, Laplace)
    assert isinstance(aggregates.sum(X, bounds=(0, 1), **rho).mechanism, Gaussian)
    assert isinstance(aggregates.sum(X, bounds=(0, 1), **delta).mechanism, Laplace)
    assert isinstance(aggregates.sum(X, bounds=(0, 1), mechanism="laplace", **rho).mechanism, Laplace)
    assert isinstance(quantile(X, 0.5, bounds=(0, 1), **rho).mechanism, Exponential)
    # One person in many groups: Gaussian noise grows with the root of their number.
    assert isinstance(aggregates.sum(X, bounds=(0, 1), **delta, **person, **by).mechanism, Gaussian)
    assert isinstance(count(**delta, **person, **by).mechanism, DiscreteGaussian)
    assert isinstance(aggregates.sum(X, bounds=(0, 1), **pure, **person, **by).mechanism, Laplace)
    few = {"rows_per_person": 1, "groups_per_person": 2}
    assert isinstance(aggregates.sum(X, bounds=(0, 1), **delta, **few, **by).mechanism, Laplace)
    assert isinstance(aggregates.sum(X, bounds=(0, 1), mechanism="gaussian", **delta, **few, **by).mechanism, Gaussian)


def test_laplace_noise_leaves_the_delta():
    paying = budget(epsilon=1, delta="1e-6", method="basic")
    aggregates.sum(X, bounds=(0, 1), budget=paying, epsilon=1, delta="1e-6")
    assert (paying.spent.epsilon, paying.spent.delta) == (1, 0)


def test_parts_of_gaussian_noise_are_one_mechanism():
    """The vector of parts, each over its scale, changes by no more than 1 / sigma of the whole price."""
    for call in (CALLS["mean"], CALLS["variance"]):
        released = call(budget=None, neighbors="add-remove", epsilon=1, delta="1e-6", mechanism="gaussian")
        whole = Gaussian(sensitivity=1, epsilon=1, delta="1e-6")
        square = Fraction(0)
        for part in released.mechanism:
            square += (part.sensitivity / Fraction(part.scale)) ** 2
        assert square <= 1 / Fraction(whole.scale) ** 2
        assert square > Fraction(999, 1000) / Fraction(whole.scale) ** 2
        assert (released.cost.epsilon, released.cost.delta) == (1, Fraction("1e-6"))


def test_people_need_bounds_on_what_they_contribute():
    paying = budget(unit="person")
    with pytest.raises(TypeError, match="rows_per_person"):
        count(X > 1, budget=paying, epsilon=1)
    with pytest.raises(TypeError, match="groups_per_person"):
        count(by=[1, 2, 3], keys=[1, 2], budget=paying, epsilon=1, rows_per_person=2)
    with pytest.raises(ValueError, match="person"):
        count(X > 1, budget=budget(), epsilon=1, person=[1, 2, 3])
    assert count(X > 1, budget=paying, epsilon="0.5", rows_per_person=3).mechanism.sensitivity == 3
    grouped = count(by=[1, 2, 3], keys=[1, 2, 4], budget=paying, epsilon="0.5", rows_per_person=3, groups_per_person=2)
    assert grouped.mechanism.sensitivity == 6


def test_neighbors_come_from_the_budget():
    with pytest.raises(ValueError, match="neighbors"):
        aggregates.sum(X, bounds=(0, 1), budget=budget(), neighbors="replace-one", epsilon=1)
    assert aggregates.sum(X, bounds=(-1, 1), budget=budget("replace-one"), epsilon=1).mechanism.sensitivity == 2


def test_prices_that_drown_everything_are_refused():
    with pytest.raises(ValueError, match="price"):
        aggregates.sum(X, bounds=(0, 1), budget=None, neighbors="add-remove", epsilon="1e-40")
    assert aggregates.sum(X, bounds=(0, 1), budget=None, neighbors="add-remove", epsilon="1e-12").std_error > 1e12


def test_a_statistic_is_released_once_and_refused_without_loss():
    statistic = aggregates.Sum(bounds=(0, 10))
    statistic.add(X)
    with pytest.raises(BudgetExceeded):
        statistic.release(budget=budget(), epsilon=2)
    statistic.release(budget=budget(), epsilon=1)
    for action in (
        lambda: statistic.release(budget=budget(), epsilon=1),
        lambda: statistic.add(X),
        lambda: statistic.merge(aggregates.Sum(bounds=(0, 10))),
        lambda: aggregates.Sum(bounds=(0, 10)).merge(statistic),
    ):
        with pytest.raises(ValueError, match="released"):
            action()
    with pytest.raises(ValueError, match="same definition"):
        aggregates.Sum(bounds=(0, 10)).merge(aggregates.Sum(bounds=(0, 11)))
    assert "30" not in repr(statistic)


def noise_of(statistic, kind, epsilon, delta, groups):
    terms = {"epsilon": epsilon, "delta": delta, "budget": None, "neighbors": "add-remove", "mechanism": kind}
    data = {"sum": lambda **more: aggregates.sum([1.0], bounds=(0, 1), **more), "count": count}[statistic]
    return data(by=[0], keys=range(200), rows_per_person=1, groups_per_person=groups, **terms).mechanism


@pytest.mark.parametrize("statistic", ["sum", "count"])
def test_the_noise_picked_for_a_delta_is_never_the_larger(statistic):
    """At 9 and 10 groups discrete Gaussian noise, of epsilon 1, is larger than Laplace noise, and real noise is not."""
    for groups in (1, 2, 5, 8, 9, 10, 11, 20, 200):
        for epsilon in ("0.1", 1, 5):
            stds = {
                kind: noise_of(statistic, kind, epsilon, "1e-6", groups).std for kind in (None, "laplace", "gaussian")
            }
            assert stds[None] == min(stds["laplace"], stds["gaussian"])


@pytest.mark.parametrize(
    ("epsilon", "delta", "groups", "there", "not_there"),
    [("3e-11", "1e-30", 1, "laplace", "gaussian"), ("1e-9", "1e-6", 200, "gaussian", "laplace")],
)
def test_the_noise_picked_for_a_count_is_there(epsilon, delta, groups, there, not_there):
    with pytest.raises(ValueError, match=r"must lie between|too large for int64"):
        noise_of("count", not_there, epsilon, delta, groups)
    assert noise_of("count", None, epsilon, delta, groups) == noise_of("count", there, epsilon, delta, groups)


@BY_CALL
def test_a_misspelt_keyword_is_named(call):
    with pytest.raises(TypeError, match="unexpected keyword argument 'epsilom'"):
        call(budget=budget(), epsilom=1)
    with pytest.raises(TypeError, match="'bound'"):
        mean(X, bound=(0, 1), budget=budget(), epsilon=1)


def test_a_number_of_bins_is_no_keyword():
    with pytest.raises(
        TypeError, match=r"^histogram takes edges=, the bins' edges, or categories=, .*: it has no bins=$"
    ):
        histogram(X, bins=10, budget=budget(), epsilon=1)


class Table:
    columns = ("a", "b")


@pytest.mark.parametrize(
    ("mask", "got"),
    [
        (np.array([1, 2]), "dtype int64"),
        (np.array(["a", "b"]), "dtype <U1"),
        ([1, 0], "a list with other values in it"),
        (Table(), "a table of type Table: pass one of its columns"),
    ],
    ids=["integers", "texts", "list", "table"],
)
def test_a_mask_is_boolean(mask, got):
    """Whoever passes a column to have its rows counted is told how."""
    with pytest.raises(TypeError) as told:
        count(mask, budget=budget(), epsilon=1)
    hint = "for the number of rows say n=len(...), for that of each group by= and keys="
    assert str(told.value) == f"mask must be boolean, True for rows that count ({hint}); got {got}"


def test_a_statistic_takes_one_column_of_a_table():
    for call in (mean, aggregates.sum):
        with pytest.raises(
            TypeError, match=r"^x must be one column, a value a row; got a table of type Table: pass one"
        ):
            call(Table(), bounds=(0, 1), budget=budget(), epsilon=1)
