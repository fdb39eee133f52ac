"""Whatever is done to a budget, in whatever order: the cap holds, and nothing is lost.

A state machine drives a budget and the parts it is split into with spends, fits, splits, refusals,
ways through a saved state, and threads, and keeps the sums itself.
"""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.accounting import PrivacyBudget, PrivacyCost, pure_rho, zcdp_epsilon
from exactnoise.errors import BudgetExceeded

CAPS = [
    {"epsilon": 1},
    {"epsilon": "1/3", "delta": "1e-6", "method": "basic"},
    {"epsilon": 2, "delta": 1e-6, "method": "zcdp"},
    {"rho": "0.1"},
]
NAMES = ("epsilon", "delta", "rho")
amounts = st.one_of(
    st.fractions(Fraction(1, 10**6), 1),
    st.sampled_from([0.1, "0.1", "1/7", "1/11", 1e-12, Fraction(1, 3)]),
)


def amounts_of(cost):
    return tuple(getattr(cost, name) or Fraction(0) for name in NAMES)


class Budgets(RuleBasedStateMachine):
    """`spent` is what each budget must have charged, `released` what was not only handed on to parts."""

    new_budget = PrivacyBudget

    @initialize(cap=st.sampled_from(CAPS))
    def create(self, cap):
        self.root = self.new_budget(neighbors="add-remove", unit="person", **cap)
        self.budgets = [self.root]
        self.spent = [[Fraction(0)] * 3]
        self.released = [Fraction(0)] * 3

    def pick(self, index):
        return index % len(self.budgets)

    def charge(self, which, price, *, released=True):
        for i in range(3):
            self.spent[which][i] += price[i]
            self.released[i] += price[i] if released else 0

    def price(self, which, cost):
        """What the budget must charge, from its terms alone."""
        total = self.budgets[which].total
        if total.rho is not None:
            return (0, 0, pure_rho(cost.epsilon) if cost.rho is None else cost.rho)
        return (cost.epsilon, cost.delta, 0)

    @rule(which=st.integers(0, 9), epsilon=amounts, delta=st.sampled_from([0, 0, "1e-7"]), rho=st.booleans())
    def spend(self, which, epsilon, delta, rho):
        which = self.pick(which)
        budget = self.budgets[which]
        cost = PrivacyCost(epsilon=epsilon, delta=delta, rho=epsilon if rho else None)
        history = budget.history
        try:
            budget.spend(cost)
        except BudgetExceeded as refusal:
            assert budget.history == history
            left = amounts_of(budget.remaining)
            assert any(asked > rest for asked, rest in zip(self.price(which, cost), left, strict=True))
            if refusal.largest_epsilon and not delta and not rho:
                smaller = PrivacyCost(epsilon=refusal.largest_epsilon)
                budget.spend(smaller)  # the next smaller query passes
                self.charge(which, self.price(which, smaller))
        except TypeError:
            assert budget.history == history
        else:
            self.charge(which, self.price(which, cost))

    @rule(
        which=st.integers(0, 9),
        times=st.integers(1, 40),
        uses=st.integers(0, 3),
        mechanism=st.sampled_from([Laplace, DiscreteLaplace, Gaussian]),
    )
    def fit(self, which, times, uses, mechanism):
        which = self.pick(which)
        budget = self.budgets[which]
        before = amounts_of(budget.spent)
        try:
            fitted = budget.fit(mechanism, times=times, sensitivity=1)
        except (BudgetExceeded, TypeError, ValueError):  # nothing left; no price here; too little for any scale
            assert amounts_of(budget.spent) == before
            return
        assert amounts_of(budget.spent) == before
        for _ in range(min(uses, times)):
            budget.spend(fitted)
            self.charge(which, self.price(which, fitted.cost))

    @rule(which=st.integers(0, 9), weights=st.lists(st.integers(1, 9), min_size=1, max_size=3))
    def split(self, which, weights):
        which = self.pick(which)
        if len(self.budgets) > 8:
            return
        left = amounts_of(self.budgets[which].remaining)
        try:
            parts = self.budgets[which].split(*weights)
        except BudgetExceeded:
            assert not any(left[0::2])
            return
        handed_on = [sum(column) for column in zip(*(amounts_of(part.total) for part in parts), strict=True)]
        assert tuple(handed_on) == left
        self.charge(which, left, released=False)
        self.budgets += parts
        self.spent += [[Fraction(0)] * 3 for _ in parts]

    @rule(which=st.integers(0, 9), epsilon=amounts)
    def race(self, which, epsilon):
        which = self.pick(which)
        budget = self.budgets[which]
        cost, passed = PrivacyCost(epsilon=epsilon), []

        def spend():
            try:
                budget.spend(cost)
            except BudgetExceeded:
                return
            passed.append(1)  # list.append is atomic

        threads = [threading.Thread(target=spend) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for _ in passed:
            self.charge(which, self.price(which, cost))

    @rule(which=st.integers(0, 9))
    def save_and_restore(self, which):
        which = self.pick(which)
        restored = PrivacyBudget.from_state(self.budgets[which].to_state())
        assert restored.history == self.budgets[which].history
        self.budgets[which] = restored
        self.root = self.budgets[0]

    @invariant()
    def sums_and_caps_hold(self):
        for budget, spent in zip(self.budgets, self.spent, strict=True):
            assert amounts_of(budget.spent) == tuple(spent)
            assert budget.spent + budget.remaining == budget.total
            assert all(s <= t for s, t in zip(spent, amounts_of(budget.total), strict=True))

    @invariant()
    def everything_together_keeps_the_promise(self):
        assert all(r <= t for r, t in zip(self.released, amounts_of(self.root.total), strict=True))

    def teardown(self):
        if getattr(self, "root", None) is not None and self.root.method == "zcdp" and self.root.guarantee.epsilon:
            assert zcdp_epsilon(self.root.total.rho, "1e-6") <= self.root.guarantee.epsilon


@pytest.mark.usefixtures("repetition")
def test_histories():
    run_state_machine_as_test(Budgets, settings=settings(deadline=None, max_examples=10, stateful_step_count=20))


class Generous(PrivacyBudget):
    """Splits more than it has."""

    def split(self, *weights):
        parts = super().split(*weights)
        return (*parts, *(PrivacyBudget.from_state(part.to_state()) for part in parts))


class Forgetful(PrivacyBudget):
    """Lets every third spend through unrecorded."""

    __slots__ = ("_count",)

    def spend(self, what, *, label=None):
        self._count = getattr(self, "_count", 0) + 1
        if self._count % 3:
            super().spend(what, label=label)


@pytest.mark.parametrize("broken", [Generous, Forgetful])
def test_the_machine_catches_broken_budgets(broken):
    # Without fits: they take nearly all the time, and what is broken are spends and splits.
    machine = type("Broken", (Budgets,), {"new_budget": broken, "fit": None})
    with pytest.raises(AssertionError):
        run_state_machine_as_test(
            machine,
            settings=settings(
                deadline=None, max_examples=300, stateful_step_count=20, database=None, phases=[Phase.generate]
            ),
        )
