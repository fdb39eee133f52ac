"""Threads racing for the last unit of a budget: exactly one gets it, every time."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from exactnoise import Laplace
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.errors import BudgetExceeded

THREADS = 16


class SlowLog(dict):
    """Holds a thread between the check and the entry that makes the spend visible."""

    def setdefault(self, number, entry):
        time.sleep(0.0002)
        return super().setdefault(number, entry)


class CarelessLog(SlowLog):
    """Takes every entry, also where another one was recorded since the check."""

    def setdefault(self, number, entry):
        super().setdefault(number, entry)
        return entry


def race(round_of_budgets, act):
    """Let all threads act at once on each budget; return the number of winners a round."""
    barrier = threading.Barrier(THREADS)
    wins = [[] for _ in round_of_budgets]

    def run():
        for i, budget in enumerate(round_of_budgets):
            barrier.wait()
            try:
                act(budget)
            except BudgetExceeded:
                continue
            wins[i].append(1)  # list.append is atomic

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [len(winners) for winners in wins]


CAPS = [
    {"epsilon": 1},
    {"epsilon": 1, "delta": 1e-6, "method": "basic"},
    {"epsilon": 1, "delta": 1e-6, "method": "zcdp"},
    {"rho": 1},
]


def last_units(rounds, *, log=dict, cap=CAPS[0]):
    budgets = []
    for _ in range(rounds):
        budget = PrivacyBudget(neighbors="add-remove", unit="person", **cap)
        budget.spend(fraction_of(budget, 9))
        budget._log = log(budget._log)
        budgets.append(budget)
    return budgets


def fraction_of(budget, tenths):
    total = budget.total
    names = [name for name in ("epsilon", "delta", "rho") if getattr(total, name)]
    return PrivacyCost(**{name: getattr(total, name) * tenths / 10 for name in names})


def spend_the_last(budget):
    budget.spend(fraction_of(budget, 1))


def fit_the_last(budget):
    budget.spend(budget.fit(Laplace, sensitivity=1))


def split_the_last(budget):
    budget.split(1, 1)


@pytest.mark.parametrize(
    ("act", "cap", "rounds"),
    [
        (spend_the_last, CAPS[0], 1000),
        (split_the_last, CAPS[0], 200),
        *((spend_the_last, cap, 100) for cap in CAPS[1:]),
    ],
)
def test_exactly_one_thread_wins(act, cap, rounds):
    budgets = last_units(rounds, cap=cap)
    assert race(budgets, act) == [1] * rounds
    for budget in budgets:
        assert budget.spent == budget.total
        assert len(budget.history) == 2


@pytest.mark.parametrize("act", [spend_the_last, split_the_last, fit_the_last])
def test_exactly_one_thread_wins_where_all_check_at_once(act):
    budgets = last_units(100, log=SlowLog)
    assert race(budgets, act) == [1] * 100


@pytest.mark.parametrize("act", [spend_the_last, split_the_last])
def test_the_race_catches_a_budget_that_does_not_compare(act):
    budgets = last_units(20, log=CarelessLog)
    assert max(race(budgets, act)) > 1


def test_no_spend_is_lost():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=THREADS * 100)
    race([budget] * 100, lambda b: b.spend(PrivacyCost(epsilon=1)))
    assert budget.spent == budget.total
    assert len(budget.history) == THREADS * 100


class InterruptingLog(dict):
    """Spends once more, as a signal handler or a finalizer would, between a check and its entry."""

    def setdefault(self, number, entry):
        if self.interruption is not None:
            interruption, self.interruption = self.interruption, None
            interruption()
        return super().setdefault(number, entry)


def interrupted(amount):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    budget._log = InterruptingLog()
    budget._log.interruption = lambda: budget.spend(PrivacyCost(epsilon=amount), label="inner")
    return budget


def test_a_spend_within_a_spend_counts():
    budget = interrupted(0.25)
    budget.spend(PrivacyCost(epsilon=0.75), label="outer")
    assert budget.spent == budget.total
    assert [entry.label for entry in budget.history] == ["inner", "outer"]


def test_a_spend_within_a_spend_cannot_overspend():
    budget = interrupted(0.25)
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon=0.8))
    assert budget.spent == PrivacyCost(epsilon=0.25)


def test_a_spend_within_a_split_is_left_out_of_the_parts():
    budget = interrupted(0.25)
    halves = budget.split(1, 1)
    assert [half.total for half in halves] == [PrivacyCost(epsilon=0.375)] * 2
    assert budget.spent == budget.total


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timer on this system")
def test_signal_handlers_spend_while_their_thread_does():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=10**6)
    spends = []

    def spend(*_):
        budget.spend(PrivacyCost(epsilon="1/3"))
        spends.append(1)

    previous = signal.signal(signal.SIGALRM, spend)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            spend()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert budget.spent == len(spends) * PrivacyCost(epsilon="1/3")
    assert len(budget.history) == len(spends)
