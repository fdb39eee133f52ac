"""Budgets that count in rho: the cap behind (epsilon, delta), what things cost there, what a refusal advises."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.accounting import PrivacyBudget, PrivacyCost, laplace_rho, pure_rho, zcdp_epsilon, zcdp_rho
from exactnoise.errors import BudgetExceeded


def zcdp_budget(epsilon=1, delta=1e-6):
    return PrivacyBudget(neighbors="add-remove", unit="person", epsilon=epsilon, delta=delta, method="zcdp")


def test_the_cap_proves_the_guarantee():
    budget = zcdp_budget()
    assert budget.method == "zcdp"
    assert budget.guarantee == PrivacyCost(epsilon=1, delta=1e-6)
    assert budget.total == PrivacyCost(rho="0.0243559703")
    assert budget.total.rho <= zcdp_rho(1, 1e-6) * (1 - Fraction(1, 10**9))
    assert budget.total.rho == pytest.approx(0.02435597, abs=1e-8)
    assert zcdp_epsilon(budget.total.rho, 1e-6) <= 1
    assert "rho 0.0243559703 of" in repr(budget)


@pytest.mark.parametrize(("epsilon", "each", "uses"), [(1, "0.01", 487), (3, "0.5", 1)])
def test_how_many_pure_queries_fit(epsilon, each, uses):
    """Figures of the comparison of filters: zCDP lets 487 queries of 0.01 through at (1, 1e-6), and one of 0.5 at 3."""
    budget, cost = zcdp_budget(epsilon), PrivacyCost(epsilon=each)
    for _ in range(uses):
        budget.spend(cost)
    assert budget.spent.rho == uses * pure_rho(each)
    with pytest.raises(BudgetExceeded):
        budget.spend(cost)


def test_a_mechanism_counts_with_its_own_rho():
    budget = zcdp_budget()
    budget.spend(Laplace(sensitivity=1, epsilon="0.1"))
    assert budget.spent == PrivacyCost(rho=laplace_rho("0.1"))
    budget.spend(Gaussian(sensitivity=1, scale=100))
    budget.spend(Gaussian(sensitivity=1, epsilon="0.1", delta=1e-9))
    assert budget.spent + budget.remaining == budget.total
    assert [spend.mechanism.split("(")[0] for spend in budget.history] == ["Laplace", "Gaussian", "Gaussian"]


def test_parts_count_in_rho():
    budget = zcdp_budget()
    parts = budget.split(1, 2)
    assert [part.total.rho for part in parts] == [budget.total.rho / 3, 2 * budget.total.rho / 3]
    for part in parts:
        assert part.guarantee == part.total
        assert part.method == "zcdp"
        part.spend(part.fit(Gaussian, sensitivity=1))
        assert part.remaining.rho == 0


@pytest.mark.parametrize("k", [1, 2, 7, 11, 100, 999, 1000])
@pytest.mark.parametrize(
    ("mechanism", "params"),
    [(Gaussian, {"sensitivity": 3}), (Laplace, {"sensitivity": "0.7"}), (DiscreteLaplace, {"sensitivity": 2})],
)
def test_exactly_k_fit(mechanism, params, k):
    budget = zcdp_budget()
    fit = budget.fit(mechanism, times=k, **params)
    budget.spend((k - 1) * fit.cost) if k > 1 else None
    budget.spend(fit)
    with pytest.raises(BudgetExceeded):
        budget.spend(fit)


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(st.fractions(Fraction(1, 1000), 20), st.lists(st.fractions(Fraction(1, 100), 5), min_size=1, max_size=20))
def test_nothing_exceeds_the_promise(epsilon, spends):
    budget = zcdp_budget(epsilon)
    for each in spends:
        try:
            budget.spend(PrivacyCost(epsilon=each))
        except BudgetExceeded:
            assert budget.spent.rho + pure_rho(each) > budget.total.rho
    if budget.spent.rho:
        assert zcdp_epsilon(budget.spent.rho, 1e-6) <= epsilon


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(sensitivity=3, epsilon=5, granularity=0.5),
        DiscreteLaplace(sensitivity=3, epsilon=5),
        Gaussian(sensitivity=3, epsilon=5, delta=1e-9),
        Gaussian(sensitivity=3, rho=5),
        Gaussian(sensitivity=3, scale="0.1"),
    ],
    ids=repr,
)
def test_a_refusal_names_the_scale_that_fits(mechanism):
    budget = zcdp_budget()
    budget.spend(PrivacyCost(epsilon="0.05"))
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(mechanism)
    refusal = caught.value
    fitting = type(mechanism)(sensitivity=3, scale=refusal.scale)
    assert 0.9999 < fitting.cost.rho / budget.remaining.rho <= 1
    if refusal.largest_epsilon is not None:
        assert fitting.cost.epsilon == pytest.approx(float(refusal.largest_epsilon), rel=1e-9)
    shown = str(refusal).rsplit("of scale ", 1)[1]
    budget.spend(type(mechanism)(sensitivity=3, scale=shown))


def test_the_scale_that_fits_can_be_typed_back():
    """A double counts as its decimal text, which can lie below the double."""
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon="3/28")
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(Laplace(sensitivity="0.1", epsilon=100))
    budget.spend(Laplace(sensitivity="0.1", scale=caught.value.scale))


@pytest.mark.parametrize(
    ("mechanism", "advice"),
    [
        (Laplace(sensitivity=3, epsilon=2), "the largest epsilon that fits is 0.5, .*Laplace of scale 6"),
        (
            Gaussian(sensitivity=3, epsilon=2, delta=1e-7),
            "the largest epsilon that fits is 0.5, with a delta of at most 1e-6, Gaussian of scale 2.",
        ),
    ],
)
def test_advice_under_basic_composition(mechanism, advice):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1, delta=1e-6, method="basic")
    budget.spend(PrivacyCost(epsilon="0.5"))
    with pytest.raises(BudgetExceeded, match=advice) as caught:
        budget.spend(mechanism)
    price = {"epsilon": caught.value.largest_epsilon, **({"delta": 1e-7} if mechanism.delta else {})}
    exact = type(mechanism)(sensitivity=3, **price).scale
    assert exact <= caught.value.scale <= math.nextafter(exact, math.inf)  # the next double, where a text is below
    budget.spend(type(mechanism)(sensitivity=3, **price))


@pytest.mark.parametrize("scale", ["1.5", 1.5, "7/3"])
def test_gaussian_noise_of_a_typed_scale_costs_exactly_its_rho(scale):
    """Nine of 2/9 are 2; a price rounded up would let eight through."""
    noise = Gaussian(sensitivity=1, scale=scale)
    budget = PrivacyBudget(neighbors="add-remove", unit="person", rho=9 / (2 * Fraction(scale) ** 2))
    for _ in range(9):
        budget.spend(noise)
    assert budget.remaining.rho == 0
    again = PrivacyBudget(neighbors="add-remove", unit="person", rho=noise.rho)
    with pytest.raises(BudgetExceeded) as caught:
        again.spend(Gaussian(sensitivity=1, scale="0.1"))
    again.spend(Gaussian(sensitivity=1, scale=caught.value.scale))


def test_amounts_longer_than_any_typed_one():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=10)
    for prime in (1009, 1013, 1019, 1021):
        budget.spend(PrivacyCost(epsilon=Fraction(1, prime**600)))
    budget.spend(budget.fit(Laplace, times=3, sensitivity=1))
    assert budget.spent.epsilon_at(1e-6) <= budget.spent.epsilon * (1 + Fraction(1, 10**18))
    assert budget.spent.delta_at(11) == 0
    assert budget.split(1, 2)[0].fit(Laplace, sensitivity=1).epsilon > 1


def test_so_little_left_that_no_noise_is_large_enough():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    budget.spend(PrivacyCost(epsilon=1 - Fraction(1, 10**390)))
    with pytest.raises(BudgetExceeded, match=r"the largest epsilon that fits is 1e-390\Z") as caught:
        budget.spend(PrivacyCost(epsilon="0.1"))
    assert (caught.value.largest_epsilon, caught.value.scale) == (Fraction(1, 10**390), None)
    with pytest.raises(BudgetExceeded, match=r"the largest epsilon that fits is 1e-390\Z"):
        budget.spend(DiscreteLaplace(sensitivity=1, epsilon=1))
