"""fit: the most accurate mechanism of which a given number of uses fit."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise import Gaussian, Laplace, RandomizedResponse
from exactnoise.accounting import (
    PrivacyBudget,
    PrivacyCost,
    discrete_laplace_rho,
    laplace_rho,
    pure_rho,
)
from exactnoise.accounting.amount import exact
from exactnoise.errors import BudgetExceeded


class FakeLaplace:
    priced_by = (("epsilon",),)

    def __init__(self, *, sensitivity, epsilon):
        self.sensitivity = sensitivity
        self.epsilon = exact(epsilon, "epsilon")
        self.cost = PrivacyCost(epsilon=self.epsilon, rho=laplace_rho(self.epsilon))


class FakeDiscreteLaplace(FakeLaplace):
    def __init__(self, *, sensitivity, epsilon):
        self.sensitivity = sensitivity
        self.epsilon = exact(epsilon, "epsilon")
        rho = discrete_laplace_rho(self.epsilon, sensitivity)
        self.cost = PrivacyCost(epsilon=self.epsilon, rho=rho)


class FakeGaussian:
    priced_by = (("epsilon", "delta"), ("rho",))

    def __init__(self, *, sensitivity, epsilon=None, delta=None, rho=None):
        self.sensitivity = sensitivity
        if rho is not None:
            self.cost = PrivacyCost(rho=rho)
        else:
            self.cost = PrivacyCost(epsilon=epsilon, delta=exact(delta, "delta", below=1))


class FakePermuteAndFlip(FakeLaplace):
    """Priced by epsilon, without a rho of its own."""

    def __init__(self, *, epsilon):
        self.cost = PrivacyCost(epsilon=epsilon)


class FakeZeroConcentrated(FakeGaussian):
    priced_by = (("rho",),)


class FakeSecret(FakeLaplace):
    """Priced by epsilon, but at an (epsilon, delta) that implies no rho."""

    def __init__(self, *, epsilon):
        self.cost = PrivacyCost(epsilon=epsilon, delta=1e-9)


class FakeCostly(FakeLaplace):
    """A rho above the epsilon^2 / 2 that holds for every pure mechanism: priced too high."""

    def __init__(self, *, epsilon):
        self.epsilon = epsilon
        self.cost = PrivacyCost(rho=100 * epsilon**2)


class FloatShare(FakeLaplace):
    """A mechanism that rounds its share to the nearest double, to show that the check can fail."""

    def __init__(self, *, sensitivity, epsilon):
        self.cost = PrivacyCost(epsilon=Fraction(float(epsilon)))


def budget_of(**cap):
    if "delta" in cap:
        cap.setdefault("method", "basic")
    return PrivacyBudget(neighbors="add-remove", unit="person", **cap)


def lets_exactly_through(budget, mechanism, uses):
    """Exactly `uses` fit, and they use up everything."""
    try:
        for _ in range(uses):
            budget.spend(mechanism)
    except BudgetExceeded:
        return False
    try:
        budget.spend(mechanism)
    except BudgetExceeded:
        return budget.spent == budget.total
    return False


@pytest.mark.parametrize("cap", [1, 0.3, "1/7", "1/11", 1e-9])
def test_exactly_k_uses_fit_in_epsilon(cap):
    for k in [*range(1, 41), 49, 77, 100, 333, 999, 1000]:
        budget = budget_of(epsilon=cap)
        mechanism = budget.fit(FakeLaplace, times=k, sensitivity=1)
        assert mechanism.epsilon == exact(cap, "epsilon") / k
        assert budget.history == ()
        assert lets_exactly_through(budget, mechanism, k)


def test_exactly_k_uses_fit_for_every_k():
    for k in range(1, 1001):
        budget = budget_of(epsilon=1)
        cost = budget.fit(FakeLaplace, times=k, sensitivity=1).cost
        # The sum after k - 1 uses in one spend: a thousand budgets of a thousand spends take long.
        if k > 1:
            budget.spend((k - 1) * cost)
        budget.spend(cost)
        with pytest.raises(BudgetExceeded):
            budget.spend(cost)
        assert budget.spent == budget.total


SHARES = [1, 0.1, "0.3", Decimal("1e-9"), Fraction(1, 11), "1/7"]
KINDS = {
    "epsilon": (Laplace, lambda cap: {"epsilon": cap}),
    "epsilon and delta": (Gaussian, lambda cap: {"epsilon": cap, "delta": 1e-6, "method": "basic"}),
    "rho": (Gaussian, lambda cap: {"rho": cap}),
    "zcdp": (Gaussian, lambda cap: {"epsilon": cap, "delta": 1e-6, "method": "zcdp"}),
}


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("share", SHARES, ids=repr)
@pytest.mark.parametrize("kind", KINDS)
def test_exactly_k_real_mechanisms_fit(share, kind, step):
    """The sum after k - 1 uses is one spend; many k where calibration does not take long."""
    mechanism, cap = KINDS[kind]
    for k in range(1, 1001, step) if kind in ("epsilon", "rho") else (1, 2, 3, 7, 10, 11, 333, 1000):
        budget = budget_of(**cap(share))
        fit = budget.fit(mechanism, times=k, sensitivity=1)
        if k > 1:
            budget.spend((k - 1) * fit.cost)
        budget.spend(fit)
        assert budget.spent == budget.total
        for crumb in (fit, PrivacyCost(epsilon=5e-324, rho=5e-324)):
            with pytest.raises(BudgetExceeded):
                budget.spend(crumb)


def test_the_check_catches_rounded_shares():
    verdicts = []
    for k in range(1, 41):
        budget = budget_of(epsilon=1)
        try:
            mechanism = budget.fit(FloatShare, times=k, sensitivity=1)
        except BudgetExceeded:
            verdicts.append(False)
        else:
            verdicts.append(lets_exactly_through(budget, mechanism, k))
    assert not all(verdicts)


@pytest.mark.parametrize("k", [1, 3, 7, 11, 1000])
def test_gaussian_divides_both_amounts_or_rho(k):
    budget = budget_of(epsilon="1/11", delta=1e-6)
    gaussian = budget.fit(FakeGaussian, times=k, sensitivity=1)
    assert gaussian.cost == PrivacyCost(epsilon=Fraction(1, 11 * k), delta=Fraction(1, k * 10**6))
    assert lets_exactly_through(budget, gaussian, k)
    budget = budget_of(rho="1/7")
    gaussian = budget.fit(FakeGaussian, times=k, sensitivity=1)
    assert gaussian.cost == PrivacyCost(rho=Fraction(1, 7 * k))
    assert lets_exactly_through(budget, gaussian, k)


def test_gaussian_with_a_chosen_delta():
    budget = budget_of(epsilon=1, delta=1e-6)
    gaussian = budget.fit(FakeGaussian, times=4, sensitivity=1, delta=1e-7)
    assert gaussian.cost == PrivacyCost(epsilon=0.25, delta=1e-7)
    with pytest.raises(BudgetExceeded, match="delta 2e-6 requested") as caught:
        budget.fit(FakeGaussian, times=4, sensitivity=1, delta=5e-7)
    assert caught.value.requested == PrivacyCost(epsilon=1, delta=2e-6)


def test_laplace_takes_epsilon_alone_of_a_budget_with_delta():
    budget = budget_of(epsilon=1, delta=1e-6)
    assert budget.fit(FakeLaplace, times=2, sensitivity=1).cost.epsilon == Fraction(1, 2)


def test_what_was_spent_is_no_longer_divided():
    budget = budget_of(epsilon=1)
    budget.spend(PrivacyCost(epsilon=0.4))
    assert budget.fit(FakeLaplace, times=3, sensitivity=1).epsilon == Fraction(1, 5)


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(
    st.fractions(Fraction(1, 10**9), 100, max_denominator=10**9),
    st.integers(1, 50),
    st.sampled_from([FakeLaplace, FakeDiscreteLaplace]),
)
def test_the_largest_epsilon_within_rho(cap, times, mechanism):
    budget = budget_of(rho=cap)
    fitted = budget.fit(mechanism, times=times, sensitivity=3)
    assert times * fitted.cost.rho <= cap
    next_epsilon = fitted.epsilon * (1 + Fraction(1, 10**11))
    assert times * mechanism(sensitivity=3, epsilon=next_epsilon).cost.rho > cap
    for _ in range(times):
        budget.spend(fitted)
    with pytest.raises(BudgetExceeded):
        budget.spend(fitted)


@pytest.mark.parametrize("cap", ["1e-300", 1e-12, 1e6])
def test_the_largest_epsilon_within_an_extreme_rho(cap):
    budget = budget_of(rho=cap)
    epsilon = budget.fit(FakeLaplace, sensitivity=1).epsilon
    assert laplace_rho(epsilon) <= exact(cap, "rho")
    assert laplace_rho(epsilon * (1 + Fraction(1, 10**11))) > exact(cap, "rho")


def test_a_mechanism_priced_above_the_pure_bound():
    assert budget_of(rho=1).fit(FakeCostly).epsilon == Fraction(1, 10)


@pytest.mark.parametrize("cap", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 1}])
def test_nothing_remains(cap):
    budget = budget_of(**cap)
    budget.spend(PrivacyCost(epsilon=1, rho=1))
    with pytest.raises(BudgetExceeded, match="0 remaining") as caught:
        budget.fit(FakeLaplace, sensitivity=1)
    assert caught.value.requested is None
    assert caught.value.spent.epsilon == cap.get("epsilon")


def test_no_delta_remains():
    budget = budget_of(epsilon=1, delta=1e-6)
    budget.spend(PrivacyCost(epsilon=0.5, delta=1e-6))
    with pytest.raises(BudgetExceeded, match=r"with a delta of at most 0, Laplace"):
        budget.fit(FakeGaussian, sensitivity=1)
    assert budget.fit(FakeLaplace, sensitivity=1).epsilon == Fraction(1, 2)


@pytest.mark.parametrize(
    ("cap", "mechanism", "params", "words"),
    [
        (
            {"epsilon": 1},
            FakeGaussian,
            {},
            "cannot price FakeGaussian, .* epsilon and delta or rho",
        ),
        ({"epsilon": 1}, FakeGaussian, {"delta": 1e-6}, "cannot price FakeGaussian"),
        ({"epsilon": 1}, FakeLaplace, {"epsilon": 1}, "leave out epsilon"),
        ({"epsilon": 1}, FakeLaplace, {"scale": 1}, "leave out scale"),
        ({"epsilon": 1}, FakeGaussian, {"rho": 1}, "leave out rho"),
        ({"rho": 1}, FakeSecret, {}, "FakeSecret has no rho"),
        (
            {"epsilon": 1},
            object,
            {},
            "^fit needs a mechanism's class, such as Laplace, whose priced_by names the parameters that set its price, "
            "got <class 'object'>$",
        ),
        (
            {"epsilon": 1, "delta": 1e-6},
            FakeZeroConcentrated,
            {},
            "^a budget counted in epsilon and delta cannot price FakeZeroConcentrated, which is priced by rho$",
        ),
        ({"epsilon": 1}, FakeLaplace, {"sensitivities": 1}, "sensitivities"),
    ],
)
def test_what_cannot_be_fitted(cap, mechanism, params, words):
    if mechanism in (FakeLaplace, FakeGaussian):
        params = {"sensitivity": 1, **params}
    budget = budget_of(**cap)
    with pytest.raises(TypeError, match=words):
        budget.fit(mechanism, **params)
    assert budget.history == ()


@pytest.mark.parametrize("times", [0, -1, 1.5, True, "2", None, math.nan])
def test_times_is_a_whole_number(times):
    error = ValueError if type(times) is int else TypeError
    with pytest.raises(error, match="times must be a whole number >= 1"):
        budget_of(epsilon=1).fit(FakeLaplace, times=times, sensitivity=1)


def test_a_price_in_epsilon_and_delta_is_none_in_rho():
    class Approximate(FakeGaussian):
        priced_by = (("epsilon", "delta"),)

    budget = PrivacyBudget(neighbors="add-remove", unit="person", rho=1)
    with pytest.raises(TypeError, match=r"a budget counted in rho cannot price Approximate, .* by epsilon and delta"):
        budget.fit(Approximate, sensitivity=1)


def test_a_refusal_of_a_mechanism_without_a_scale_names_the_epsilon():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon="0.5")
    with pytest.raises(BudgetExceeded, match=r"the largest epsilon that fits is 0\.5$") as refusal:
        budget.spend(RandomizedResponse(epsilon=1, categories=5))
    assert refusal.value.largest_epsilon == Fraction(1, 2)
    assert refusal.value.scale is None


def test_a_refusal_rounds_what_is_spent_up_and_what_remains_down():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    budget.spend(PrivacyCost(epsilon="0.123456789012345678901234567891"))
    with pytest.raises(
        BudgetExceeded, match=r"epsilon 1 requested, about 0\.123456789013 of 1 spent, about 0\.876543210987 remaining"
    ):
        budget.spend(PrivacyCost(epsilon=1))


def test_a_refusal_in_rho_of_a_pure_price_names_the_epsilon():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", rho="0.1")
    with pytest.raises(
        BudgetExceeded, match=r"the largest epsilon that fits is 0\.45\d+, Laplace noise of scale"
    ) as refusal:
        budget.spend(PrivacyCost(epsilon=1))
    assert pure_rho(refusal.value.largest_epsilon) <= Fraction(1, 10)
    assert pure_rho(refusal.value.largest_epsilon * (1 + Fraction(1, 10**11))) > Fraction(1, 10)
