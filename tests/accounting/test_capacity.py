"""How many queries fit by each rule, against counts that share nothing with the package.

tests/vectors/filters.json holds them; filters.py says how they were found.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise import BudgetExceeded, PrivacyBudget, PrivacyCost
from exactnoise.accounting import (
    advanced_epsilon,
    advanced_filter_epsilon,
    gaussian_rho,
    largest_query_epsilon,
    optimal_delta,
    optimal_epsilon_each,
    pure_rho,
    queries_that_fit,
    zcdp_rho,
)
from exactnoise.accounting.capacity import MECHANISMS, gaussian_queries_that_fit

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "filters.json").read_text(encoding="utf-8"))
# The vectors have 25 digits, the last one rounded either way.
VECTOR_ERROR = Fraction(1, 10**24)
NAMES = {
    "basic": "basic",
    "zCDP": "zcdp",
    "advanced filter": "advanced_filter",
    "advanced": "advanced",
    "optimal": "optimal",
}
AS_YOU_GO = ["basic", "zCDP", "advanced filter"]


def row_id(row):
    return "-".join(str(row[key]) for key in ("epsilon", "delta", "query_epsilon", "sigma", "queries") if key in row)


def total_of(row):
    return {"epsilon": row["epsilon"], "delta": row["delta"]}


def amounts(capacities):
    return {capacity.rule: capacity.amount for capacity in capacities}


def is_safe_and_tight(cap, truth, tightness=Fraction(1, 10**9)):
    truth = Fraction(truth)
    return truth * (1 - tightness) <= cap <= truth * (1 + VECTOR_ERROR)


@pytest.mark.parametrize("row", VECTORS["pure"], ids=row_id)
def test_counts(row):
    counts = amounts(queries_that_fit(row["query_epsilon"], **total_of(row)))
    assert list(counts) == list(NAMES)
    for rule, key in NAMES.items():
        if row[key] is not None:
            assert counts[rule] == row[key]
    assert counts["zCDP"] >= row["zcdp_half_square"]
    assert counts["zCDP"] >= counts["advanced filter"]
    assert counts["optimal"] >= max(counts["basic"], counts["zCDP"], counts["advanced"])
    of_laplace = amounts(queries_that_fit(row["query_epsilon"], **total_of(row), mechanism="laplace"))
    assert of_laplace == counts | {"zCDP": row["zcdp_laplace"]}


@pytest.mark.parametrize("row", VECTORS["pure"], ids=row_id)
def test_the_caps_behind_the_counts(row):
    assert is_safe_and_tight(zcdp_rho(row["epsilon"], row["delta"]), row["rho_total"])
    assert is_safe_and_tight(gaussian_rho(row["epsilon"], row["delta"]), Fraction(row["mu_total"]) ** 2 / 2)
    # One query that uses up the whole sum of squares.
    each = amounts(largest_query_epsilon(1, **total_of(row)))["advanced filter"]
    assert is_safe_and_tight(each**2, row["squares_total"])


def test_the_check_catches_a_cap_on_the_unsafe_side():
    for row in VECTORS["pure"]:
        rho = zcdp_rho(row["epsilon"], row["delta"])
        assert not is_safe_and_tight(rho * (1 + Fraction(1, 10**12)), row["rho_total"])
        assert not is_safe_and_tight(rho * (1 - Fraction(1, 10**8)), row["rho_total"])


@pytest.mark.parametrize("row", VECTORS["gaussian"], ids=row_id)
def test_counts_of_gaussian_releases(row):
    rho = Fraction(1, 2) / Fraction(row["sigma"]) ** 2
    capacities = gaussian_queries_that_fit(rho, **total_of(row))
    assert amounts(capacities) == {"zCDP": row["zcdp"], "Gaussian": row["gaussian"]}
    assert all(capacity.adaptive for capacity in capacities)
    assert [capacity.method for capacity in capacities] == ["zcdp", None]


@pytest.mark.parametrize("row", VECTORS["largest"], ids=row_id)
def test_largest_epsilons(row):
    each = amounts(largest_query_epsilon(row["queries"], **total_of(row)))
    assert is_safe_and_tight(each["optimal"], row["optimal"])
    assert each["optimal"] == optimal_epsilon_each(**total_of(row), times=row["queries"])
    assert each["basic"] == Fraction(row["epsilon"]) / row["queries"]


def test_the_examples_of_the_documents():
    assert [amounts(queries_that_fit("0.01", epsilon=1, delta=1e-6))[rule] for rule in AS_YOU_GO] == [100, 487, 349]
    counts = amounts(queries_that_fit("0.5", epsilon=3, delta=1e-6))
    assert (counts["basic"], counts["zCDP"]) == (6, 1)


def test_which_rules_hold_as_one_goes_and_who_enforces_them():
    capacities = queries_that_fit("0.01", epsilon=1, delta=1e-6)
    assert [c.rule for c in capacities if c.adaptive] == AS_YOU_GO
    assert {c.rule: c.method for c in capacities if c.method} == {"basic": "basic", "zCDP": "zcdp"}
    assert [c.source for c in capacities] == [
        "Rogers, Roth, Ullman & Vadhan 2016, arXiv 1605.08294",
        "Feldman & Zrnic 2021, arXiv 2008.11193, Remark 4.4",
        "Whitehouse, Ramdas, Rogers & Wu 2023, arXiv 2203.05481",
        "Dwork, Rothblum & Vadhan 2010; Dwork & Roth 2014, Theorem 3.20",
        "Kairouz, Oh & Viswanath 2015, arXiv 1311.0776, Theorem 3.3; "
        "Murtagh & Vadhan 2016, arXiv 1507.03113, Theorem 1.5",
    ]


def test_without_delta_only_the_sum_is_left():
    (count,) = queries_that_fit("1/7", epsilon=1)
    assert (count.rule, count.adaptive, count.method, count.amount) == ("basic", True, "basic", 7)
    (size,) = largest_query_epsilon(7, epsilon=1)
    assert size.amount == Fraction("0.142857142857")


@pytest.mark.parametrize(("each", "total"), [("0.01", "1"), ("0.5", "3"), ("0.1", "1"), ("1/7", "1")])
@pytest.mark.parametrize("method", ["basic", "zcdp"])
def test_a_budget_stops_where_its_rule_says(each, total, method):
    (count,) = (c.amount for c in queries_that_fit(each, epsilon=total, delta="1e-6") if c.method == method)
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=total, delta="1e-6", method=method)
    for _ in range(count):
        budget.spend(PrivacyCost(epsilon=each))
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon=each))


def test_laplace_noise_in_a_budget_of_rho():
    from exactnoise import Laplace

    (count,) = (
        c.amount for c in queries_that_fit("0.1", epsilon=1, delta="1e-6", mechanism="laplace") if c.method == "zcdp"
    )
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1, delta="1e-6", method="zcdp")
    for _ in range(count):
        budget.spend(Laplace(sensitivity=1, epsilon="0.1"))
    with pytest.raises(BudgetExceeded):
        budget.spend(Laplace(sensitivity=1, epsilon="0.1"))


def proved(rule, each, times, epsilon, delta):
    """Whether so many fit, from the functions of the composition themselves."""
    return {
        "basic": lambda: each * times <= epsilon,
        "zCDP": lambda: pure_rho(each) * times <= zcdp_rho(epsilon, delta),
        "advanced filter": lambda: advanced_filter_epsilon(each, times=times, delta=delta) <= epsilon,
        "advanced": lambda: advanced_epsilon(each, times=times, delta=delta) <= epsilon,
        "optimal": lambda: optimal_delta(each, times=times, epsilon=epsilon) <= delta,
    }[rule]()


amount = st.builds(Fraction, st.integers(1, 999), st.sampled_from([10**3, 10**4, 7 * 10**2]))
small = st.sampled_from([Fraction(1, 10**n) for n in (1, 3, 6, 9, 30)])


@given(amount, amount.map(lambda x: 5 * x), small)
@settings(deadline=None, max_examples=30)
def test_counts_are_the_largest_proved_ones(each, epsilon, delta):
    for capacity in queries_that_fit(each, epsilon=epsilon, delta=delta):
        count = capacity.amount
        assert count == 0 or proved(capacity.rule, each, count, epsilon, delta)
        assert not proved(capacity.rule, each, count + 1, epsilon, delta)


@pytest.mark.usefixtures("repetition")
@given(st.integers(1, 300), amount, small)
@settings(deadline=None, max_examples=5)
def test_sizes_are_the_largest_proved_ones(times, epsilon, delta):
    for capacity in largest_query_epsilon(times, epsilon=epsilon, delta=delta):
        each = capacity.amount
        assert proved(capacity.rule, each, times, epsilon, delta)
        assert not proved(capacity.rule, each * (1 + Fraction(2, 10**11)), times, epsilon, delta)
        # The counts say the same.
        counts = amounts(queries_that_fit(each, epsilon=epsilon, delta=delta))
        assert counts[capacity.rule] >= times


@given(amount, amount, small)
@settings(deadline=None, max_examples=15)
def test_a_kind_of_mechanism_concerns_zcdp_only(each, epsilon, delta):
    of_any, of_laplace, of_exponential = (
        amounts(queries_that_fit(each, epsilon=epsilon, delta=delta, mechanism=kind)) for kind in MECHANISMS
    )
    assert of_any["zCDP"] <= of_laplace["zCDP"] <= of_exponential["zCDP"]
    assert of_any | {"zCDP": 0} == of_laplace | {"zCDP": 0} == of_exponential | {"zCDP": 0}


def test_the_optimum_of_too_many_queries_is_not_computed():
    counts = amounts(queries_that_fit("1e-5", epsilon=1, delta=1e-6))
    assert counts["optimal"] is None
    assert counts["zCDP"] == 487_119_407
    sizes = amounts(largest_query_epsilon(10**8 + 1, epsilon=1, delta=1e-6))
    assert sizes["optimal"] is None
    assert sizes["basic"] == Fraction("9.99999990000e-9")


@pytest.mark.parametrize(
    ("each", "epsilon", "delta"),
    [
        ("1e-100", "1e-100", "1e-100"),
        ("1e300", "1e300", "0.5"),
        ("1e-100", "1", "1e-6"),
        ("1", "1e-300", "1e-6"),
        ("1e-9", "1e-300", "0.999"),
        ("1e300", "1", "1e-300"),
        ("1/3", "1e4", "1e-300"),
    ],
)
def test_extremes(each, epsilon, delta):
    counts = amounts(queries_that_fit(each, epsilon=epsilon, delta=delta))
    sizes = amounts(largest_query_epsilon(3, epsilon=epsilon, delta=delta))
    assert counts["basic"] == Fraction(epsilon) // Fraction(each)
    for rule, count in counts.items():
        assert count is None or (count >= 3) == (sizes[rule] >= Fraction(each))


@pytest.mark.parametrize("bad", [0, -1, "nan", "much", float("inf"), None, True, [1]])
def test_each_error_names_its_parameter(bad):
    good = {"epsilon": 1, "delta": "1e-6"}
    calls = [
        ("query_epsilon", lambda: queries_that_fit(bad, **good)),
        ("epsilon", lambda: queries_that_fit(1, **good | {"epsilon": bad})),
        ("times", lambda: largest_query_epsilon(bad, **good)),
        ("epsilon", lambda: largest_query_epsilon(1, **good | {"epsilon": bad})),
        ("query_rho", lambda: gaussian_queries_that_fit(bad, **good)),
        ("delta", lambda: gaussian_queries_that_fit(1, **good | {"delta": bad})),
        ("mechanism", lambda: queries_that_fit(1, **good, mechanism=bad)),
    ]
    if bad is not None:
        calls += [
            ("delta", lambda: queries_that_fit(1, **good | {"delta": bad})),
            ("delta", lambda: largest_query_epsilon(1, **good | {"delta": bad})),
        ]
    for name, call in calls:
        with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
            call()


def test_delta_must_be_below_one():
    with pytest.raises(ValueError, match="delta must be a positive number below 1, got 1"):
        queries_that_fit(1, epsilon=1, delta=1)
    with pytest.raises(ValueError, match="mechanism must be one of 'any', 'laplace', 'exponential', got 'cauchy'"):
        queries_that_fit(1, epsilon=1, delta="1e-6", mechanism="cauchy")
