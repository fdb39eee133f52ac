"""Faults that prices have had elsewhere, each on its smallest input. The comments name where it was reported."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any

import pytest

from exactnoise import (
    BudgetExceeded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    PrivacyBudget,
    PrivacyCost,
    RandomizedResponse,
    Snapping,
)
from exactnoise.accounting import (
    advanced_epsilon,
    advanced_filter_epsilon,
    exponential_rho,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_rho,
    laplace_epsilon,
    optimal_epsilon,
    pure_rho,
    zcdp_epsilon,
    zcdp_rho,
)


def budget_of(**cap: Any) -> PrivacyBudget:
    return PrivacyBudget(neighbors="add-remove", unit="person", **cap)


# opendp/opendp#429, #844: a search for the epsilon of delta 0 had no end, nor had a sampler of epsilon 0.
# NVIDIA-NeMo/Safe-Synthesizer#367: an epsilon of 0 counted as not given, and that as infinite.


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (Laplace, {"sensitivity": 1}),
        (DiscreteLaplace, {"sensitivity": 1}),
        (Gaussian, {"sensitivity": 1, "delta": "1e-6"}),
        (DiscreteGaussian, {"sensitivity": 1, "delta": "1e-6"}),
        (Snapping, {"sensitivity": 1, "bounds": (0, 1)}),
        (Exponential, {"sensitivity": 1}),
        (PermuteAndFlip, {"sensitivity": 1}),
        (RandomizedResponse, {"categories": 3}),
        (budget_of, {}),
    ],
)
@pytest.mark.parametrize("epsilon", [0, 0.0, "0", Fraction(0)])
def test_an_epsilon_of_zero_is_refused(kind: Any, more: dict[str, Any], epsilon: Any) -> None:
    with pytest.raises(ValueError, match="epsilon must be a positive number"):
        kind(epsilon=epsilon, **more)


@pytest.mark.parametrize(
    "conversion", [zcdp_epsilon, gaussian_epsilon, lambda rho, delta: PrivacyCost(rho=rho).epsilon_at(delta)]
)
def test_a_delta_of_zero_is_refused(conversion: Any) -> None:
    for delta in (0, 0.0, "0"):
        with pytest.raises(ValueError, match="delta"):
            conversion("0.1", delta)
    assert conversion("0.1", "1e-300") > 10  # and the least has an answer


# opendp/opendp#621: a delta near 1 had a negative epsilon.


@pytest.mark.parametrize("delta", ["0.999", "0.5", 1 - 2**-53])
@pytest.mark.parametrize("rho", ["1e-9", "0.1", 1])
def test_no_epsilon_is_negative(rho: Any, delta: Any) -> None:
    for conversion in (zcdp_epsilon, gaussian_epsilon):
        assert 0 <= conversion(rho, delta) <= conversion(rho, "0.1")
    assert 0 <= laplace_epsilon(1, times=3, delta=delta) <= 3
    assert 0 <= optimal_epsilon("0.1", times=3, delta=delta) <= Fraction(3, 10)


def test_control_the_formula_alone_is_negative() -> None:
    rho, delta, order = 1e-9, 0.999, 2
    assert rho * order + math.log(1 - 1 / order) - math.log(order * delta) / (order - 1) < -1


# opendp/opendp#2802, #2820: a delta was rounded to the nearest, that is as often to the wrong side.


@pytest.mark.parametrize("delta", ["1e-6", "0.01", "1e-30"])
@pytest.mark.parametrize("rho", ["0.001", "0.1", 3])
def test_there_and_back_is_never_cheaper(rho: Any, delta: Any) -> None:
    """Costs round up and caps down."""
    epsilon = gaussian_epsilon(rho, delta)
    assert gaussian_delta(rho, epsilon) <= Fraction(delta)
    short = epsilon * (1 - Fraction(1, 10**15))
    assert gaussian_delta(rho, short) > Fraction(delta)
    assert gaussian_rho(short, delta) < Fraction(rho)
    assert zcdp_rho(zcdp_epsilon(rho, delta) * (1 - Fraction(1, 10**8)), delta) < Fraction(rho)


# opendp/smartnoise-sdk#462, opendp/smartnoise-core#316: the classical sigma at an epsilon above 1, where it is too
# small; a sign in the exact formula; a square taken twice.


def test_gaussian_noise_is_calibrated_exactly_above_epsilon_1() -> None:
    delta = Fraction(1, 10**6)
    noise = Gaussian(sensitivity=1, epsilon=2, delta=delta)
    price = 1 / (2 * Fraction(noise.scale) ** 2)
    assert gaussian_delta(price, 2) <= delta
    assert gaussian_delta(price * (1 + Fraction(1, 10**9)), 2) > delta
    for epsilon in (10, 20):
        classical = math.sqrt(2 * math.log(1.25e6)) / epsilon
        assert gaussian_delta(1 / (2 * Fraction(classical) ** 2), epsilon) > delta
        assert Gaussian(sensitivity=1, epsilon=epsilon, delta=delta).scale > classical


# opendp/opendp#2911: epsilon^2 / 8 holds for the exponential mechanism, whose likelihood ratios span e^epsilon; those
# of permute-and-flip span e^(2 epsilon).


def test_permute_and_flip_does_not_have_the_rho_of_the_exponential_mechanism() -> None:
    """On [0, 0] and [1, -1], one person apart, half the odds of the loser go over."""
    epsilon = Fraction(1, 100)
    assert exponential_rho(epsilon) < epsilon**2 / 8 < pure_rho(epsilon) <= epsilon**2 / 2
    flip = PermuteAndFlip(sensitivity=1, epsilon=epsilon)
    assert flip.cost.rho is None
    assert flip.cost.implied_rho == pure_rho(epsilon)
    assert Exponential(sensitivity=1, epsilon=epsilon).cost.rho == exponential_rho(epsilon)
    large = 8
    losses = {}
    for kind in (Exponential, PermuteAndFlip):
        p, q = (kind(sensitivity=1, epsilon=large).probabilities(scores) for scores in ([0, 0], [1, -1]))
        losses[kind] = sum(float(a) * math.log(a / b) for a, b in zip(p, q, strict=True))
    assert losses[Exponential] < float(exponential_rho(large))
    assert losses[PermuteAndFlip] <= float(pure_rho(large))


# opendp/opendp#2131, #2789, w3c/attribution#77: budgets of floats refuse the last share, or leave a crumb.


@pytest.mark.parametrize(("share", "cap", "uses"), [(0.1, 0.3, 3), (0.1, 1, 10), ("1/11", 1, 11), (0.7, 2.1, 3)])
def test_equal_shares_are_all_there_is(share: Any, cap: Any, uses: int) -> None:
    budget = budget_of(epsilon=cap)
    for _ in range(uses):
        budget.spend(PrivacyCost(epsilon=share))
    assert budget.remaining.epsilon == 0
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon="1e-300"))


def test_control_floats_do_not_add_up() -> None:
    *_, three = accumulate([0.1] * 3)  # sum compensates since Python 3.12
    *_, ten = accumulate([0.1] * 10)
    assert three > 0.3
    assert 1 - ten == 2.0**-53 > 0


# maziyarpanahi/openmed#2457: what is lost in rounding was free.


def test_the_least_double_is_a_price() -> None:
    budget = budget_of(epsilon=1)
    budget.spend(PrivacyCost(epsilon=1.0))
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon=5e-324))
    budget = budget_of(epsilon=1)
    budget.spend(PrivacyCost(epsilon=5e-324))
    assert budget.remaining.epsilon == 1 - PrivacyCost(epsilon=5e-324).epsilon < 1
    assert 1.0 - 5e-324 == 1.0  # what floats make of it


# opendp/smartnoise-sdk#621: without its ln(1/delta) the bound is below what a single query may lose.


@pytest.mark.parametrize("delta", ["1e-6", "0.01"])
@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_composition_of_one_query_is_that_query(epsilon: str, delta: str) -> None:
    """What one query of the worst kind, with two answers, loses beyond delta: no bound is below it."""
    exact = optimal_epsilon(epsilon, delta=delta)
    e = float(epsilon)
    single = math.log(math.exp(e) - float(delta) * (1 + math.exp(e)))
    assert float(exact) == pytest.approx(single, rel=1e-9)
    for bound in (advanced_epsilon, advanced_filter_epsilon):
        assert bound(epsilon, delta=delta) >= exact
    assert e * math.tanh(e / 2) < exact / 2  # the formula without its root of ln(1 / delta)
