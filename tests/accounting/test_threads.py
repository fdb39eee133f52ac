"""Threads racing for the last unit of a budget: exactly one gets it, every time."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext

import pytest

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.errors import BudgetExceeded

THREADS = 16
ROUNDS = 200


class SlowLog(list):
    """Holds a thread between the check and the entry that makes the spend visible."""

    def append(self, entry):
        time.sleep(0.0002)
        super().append(entry)


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


def last_units(rounds, *, slow):
    budgets = []
    for _ in range(rounds):
        budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
        budget.spend(PrivacyCost(epsilon=0.9))
        if slow:
            budget._log = SlowLog(budget._log)
        budgets.append(budget)
    return budgets


def spend_the_last(budget):
    budget.spend(PrivacyCost(epsilon=0.1))


def split_the_last(budget):
    budget.split(1, 1)


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("act", [spend_the_last, split_the_last])
def test_exactly_one_thread_wins(act, slow):
    budgets = last_units(ROUNDS, slow=slow)
    assert race(budgets, act) == [1] * ROUNDS
    for budget in budgets:
        assert budget.spent == budget.total
        assert len(budget.history) == 2


@pytest.mark.parametrize("act", [spend_the_last, split_the_last])
def test_the_race_catches_a_budget_without_its_lock(act):
    budgets = last_units(20, slow=True)
    for budget in budgets:
        budget._lock = nullcontext()
    assert max(race(budgets, act)) > 1


def test_no_spend_is_lost():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=THREADS * 100)
    race([budget] * 100, lambda b: b.spend(PrivacyCost(epsilon=1)))
    assert budget.spent == budget.total
    assert len(budget.history) == THREADS * 100
