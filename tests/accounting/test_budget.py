"""The budget: exact sums, refusals that change nothing, currencies, split, history."""

from __future__ import annotations

import copy
import math
import os
import pickle
import re
import subprocess
import sys
import timeit
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise import Gaussian
from exactnoise.accounting import PrivacyBudget, PrivacyCost, Spend
from exactnoise.errors import BudgetExceeded, ExactNoiseError


def budget_of(**cap):
    if "delta" in cap:
        cap.setdefault("method", "basic")
    return PrivacyBudget(neighbors="add-remove", unit="person", **cap)


class Fake:
    """A mechanism as far as a budget can tell."""

    def __init__(self, cost):
        self.cost = cost

    def __repr__(self):
        return "Fake()"


# --- exactness -----------------------------------------------------------------------------------

EVEN_SHARES = [(0.1, 1, 10), (0.1, 0.3, 3), ("1/7", 1, 7), ("1/11", 1, 11), (1e-12, 1e-9, 1000)]


class FloatBudget:
    """The naive budget, to show that the check below can fail."""

    def __init__(self, epsilon):
        self.epsilon, self.sum = epsilon, 0.0

    def spend(self, cost):
        if self.sum + float(cost.epsilon) > self.epsilon:
            raise BudgetExceeded("")
        self.sum += float(cost.epsilon)


def lets_exactly_through(budget, cost, uses):
    try:
        for _ in range(uses):
            budget.spend(cost)
    except BudgetExceeded:
        return False
    try:
        budget.spend(cost)
    except BudgetExceeded:
        return True
    return False


@pytest.mark.parametrize(("share", "cap", "uses"), EVEN_SHARES)
def test_even_shares_fit_and_no_more(share, cap, uses):
    budget = budget_of(epsilon=cap)
    assert lets_exactly_through(budget, PrivacyCost(epsilon=share), uses)
    assert budget.spent == budget.total == PrivacyCost(epsilon=cap)
    assert budget.remaining == PrivacyCost(epsilon=0)
    budget = budget_of(rho=cap)
    assert lets_exactly_through(budget, PrivacyCost(rho=share), uses)


def test_the_check_catches_a_budget_of_floats():
    verdicts = [
        lets_exactly_through(FloatBudget(float(cap)), PrivacyCost(epsilon=share), uses)
        for share, cap, uses in EVEN_SHARES
    ]
    assert not all(verdicts)


@pytest.mark.parametrize("crumb", [5e-324, 1e-17, "1e-400", Fraction(1, 10**1000)])
def test_not_a_crumb_after_exhaustion(crumb):
    budget = budget_of(epsilon=1)
    budget.spend(PrivacyCost(epsilon=1.0))
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon=crumb))
    assert budget.spent == budget.total


@pytest.mark.parametrize(
    ("amount", "error"),
    [
        (0, ValueError),
        (-0.1, ValueError),
        (math.nan, ValueError),
        (math.inf, ValueError),
        (True, TypeError),
        (None, TypeError),
    ],
)
def test_amounts_that_are_no_spend(amount, error):
    budget = budget_of(epsilon=1)
    for exhausted in (False, True):
        with pytest.raises(error) as refusal:
            budget.spend(PrivacyCost(epsilon=amount))
        assert not isinstance(refusal.value, BudgetExceeded)
        if not exhausted:
            budget.spend(PrivacyCost(epsilon=1))
    assert len(budget.history) == 1


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(
    st.fractions(Fraction(1, 100), 10),
    st.lists(st.fractions(0, 2) | st.decimals("0.001", 2, places=3).map(Fraction), max_size=25),
)
def test_sums_agree_with_plain_fractions(cap, spends):
    budget = budget_of(epsilon=cap)
    spent = Fraction(0)
    for epsilon in filter(None, spends):
        try:
            budget.spend(PrivacyCost(epsilon=epsilon))
        except BudgetExceeded:
            assert spent + epsilon > cap
        else:
            spent += epsilon
        assert budget.spent == PrivacyCost(epsilon=spent)
        assert budget.remaining + budget.spent == budget.total == PrivacyCost(epsilon=cap)
        assert spent <= cap
    assert sum((entry.cost.epsilon for entry in budget.history), Fraction(0)) == spent


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(
    st.fractions(Fraction(1, 100), 10),
    st.fractions(Fraction(1, 1000), Fraction(1, 2)),
    st.lists(st.tuples(st.fractions(0, 2), st.fractions(0, Fraction(1, 4))), max_size=25),
)
def test_both_epsilon_and_delta_hold(epsilon_cap, delta_cap, spends):
    budget = budget_of(epsilon=epsilon_cap, delta=delta_cap)
    epsilons = deltas = Fraction(0)
    for epsilon, delta in filter(any, spends):
        try:
            budget.spend(PrivacyCost(epsilon=epsilon, delta=delta))
        except BudgetExceeded:
            assert epsilons + epsilon > epsilon_cap or deltas + delta > delta_cap
        else:
            epsilons, deltas = epsilons + epsilon, deltas + delta
        assert budget.spent == PrivacyCost(epsilon=epsilons, delta=deltas)
        assert budget.remaining + budget.spent == budget.total
        assert epsilons <= epsilon_cap
        assert deltas <= delta_cap


# --- refusals ------------------------------------------------------------------------------------


def test_a_refusal_is_harmless_and_says_it_all():
    budget = budget_of(epsilon=1)
    budget.spend(PrivacyCost(epsilon=0.9), label="first")
    before = budget.history
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(Fake(PrivacyCost(epsilon=0.2, rho=0.01)))
    refusal = caught.value
    assert isinstance(refusal, ValueError)
    assert isinstance(refusal, RuntimeError)
    assert isinstance(refusal, ExactNoiseError)
    assert refusal.requested == PrivacyCost(epsilon=0.2)
    assert refusal.spent == PrivacyCost(epsilon=0.9)
    assert refusal.remaining == PrivacyCost(epsilon=0.1)
    assert refusal.largest_epsilon == Fraction(1, 10)
    assert str(refusal) == (
        "over budget: epsilon 0.2 requested, 0.9 of 1 spent, 0.1 remaining; "
        "the largest epsilon that fits is 0.1, Laplace noise of scale 10 for a sensitivity of 1"
    )
    assert refusal.scale == 10
    assert budget.history == before
    budget.spend(PrivacyCost(epsilon=refusal.largest_epsilon))
    assert budget.remaining == PrivacyCost(epsilon=0)
    with pytest.raises(BudgetExceeded, match="1 of 1 spent, 0 remaining; nothing more fits"):
        budget.spend(PrivacyCost(epsilon=0.05))


def test_a_refusal_for_delta():
    budget = budget_of(epsilon=1, delta=1e-6)
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(PrivacyCost(epsilon=0.5, delta=1e-5))
    assert str(caught.value) == (
        "over budget: epsilon 0.5 requested, 0 of 1 spent, 1 remaining; "
        "delta 1e-5 requested, 0 of 1e-6 spent, 1e-6 remaining; "
        "the largest epsilon that fits is 1, with a delta of at most 1e-6, "
        "Laplace noise of scale 1 for a sensitivity of 1"
    )
    budget.spend(PrivacyCost(epsilon=0.5, delta=1e-6))


def test_a_refusal_in_rho():
    budget = budget_of(rho=0.5)
    with pytest.raises(BudgetExceeded, match=r"largest rho that fits is 0\.5, Gaussian noise of scale 1 for") as caught:
        budget.spend(PrivacyCost(rho=1))
    assert caught.value.largest_epsilon is None
    assert caught.value.remaining == PrivacyCost(rho=0.5)


def test_a_message_with_long_fractions_is_readable_and_can_be_followed():
    budget = budget_of(epsilon=1)
    awkward = sum(Fraction(1, p) for p in (1009, 1013, 1019, 1021, 1031, 1033, 1039, 1049))
    budget.spend(PrivacyCost(epsilon=awkward))
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(PrivacyCost(epsilon=1))
    message = str(caught.value)
    assert len(message) < 250
    budget.spend(PrivacyCost(epsilon=re.search(r"fits is about ([0-9.]+),", message)[1]))


def test_pickling_a_refusal_keeps_everything():
    budget = budget_of(epsilon=1)
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(PrivacyCost(epsilon=2))
    for copied in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert type(copied) is BudgetExceeded
        assert str(copied) == str(caught.value)
        for name in ("requested", "spent", "remaining", "largest_epsilon", "scale"):
            assert getattr(copied, name) == getattr(caught.value, name) is not None


@pytest.mark.parametrize(
    ("cap", "cost", "words"),
    [
        ({"epsilon": 1}, PrivacyCost(rho=0.1), "Gaussian noise given by rho or scale"),
        (
            {"epsilon": 1, "delta": 1e-6},
            PrivacyCost(rho=0.1),
            "Gaussian noise given by rho or scale",
        ),
        ({"epsilon": 1}, PrivacyCost(epsilon=0.1, delta=1e-9), "no delta is small enough"),
        (
            {"epsilon": 1},
            Gaussian(sensitivity=1, epsilon=1, delta="1e-6"),
            "^a cost of epsilon 1, delta 1e-6, rho about 0.0280144819126 has a delta, but",
        ),
        ({"rho": 1}, PrivacyCost(epsilon=0.1, delta=1e-9), "^a cost of epsilon 0.1, delta 1e-9 has no rho"),
        ({"epsilon": 1, "delta": 1e-6, "method": "zcdp"}, PrivacyCost(epsilon=0.1, delta=1e-9), "has no rho"),
        ({"epsilon": 1}, 0.1, "spend takes a mechanism or a cost such as PrivacyCost"),
        ({"epsilon": 1}, "0.1", "spend takes a mechanism or a cost"),
        ({"epsilon": 1}, Fake, "spend takes a mechanism or a cost"),
        ({"epsilon": 1}, Fake(0.1), "spend takes a mechanism or a cost"),
    ],
)
def test_what_has_no_price_here_is_a_type_error(cap, cost, words):
    budget = budget_of(**cap)
    with pytest.raises(TypeError, match=words):
        budget.spend(cost)
    assert budget.history == ()


def test_a_rho_budget_takes_the_rho_of_a_cost_in_both_currencies():
    budget = budget_of(rho=1)
    budget.spend(PrivacyCost(epsilon=2, delta=1e-6, rho=0.25))
    assert budget.spent == PrivacyCost(rho=0.25)
    with pytest.raises(ValueError, match=r"^a spend must cost something, got epsilon 2, rho 0$"):
        budget.spend(PrivacyCost(epsilon=2, rho=0))


# --- construction --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"neighbors": None}, TypeError, "needs neighbors: 'add-remove' .* or 'replace-one'"),
        ({"neighbors": "remove"}, ValueError, "neighbors must be 'add-remove' .* got 'remove'"),
        ({"neighbors": ["add-remove"]}, ValueError, "neighbors must be"),
        ({"unit": None}, TypeError, "needs unit"),
        ({"unit": " "}, ValueError, "unit must be a name"),
        ({"unit": "per\nson"}, ValueError, "unit must be a name"),
        ({"unit": "\udcff"}, ValueError, "unit must be a name"),
        ({"unit": 1}, TypeError, "unit must be a name"),
        ({"epsilon": None}, TypeError, "needs either epsilon .* or rho"),
        ({"rho": 1}, TypeError, "needs either epsilon .* or rho"),
        ({"epsilon": None, "rho": 1, "delta": 1e-6}, TypeError, "delta belongs to epsilon"),
        ({"epsilon": 0}, ValueError, "epsilon must be a positive number, got 0"),
        ({"epsilon": math.inf}, ValueError, "epsilon must be finite"),
        ({"epsilon": True}, TypeError, "epsilon must be a number"),
        ({"delta": 0, "method": "basic"}, ValueError, "delta must be a positive number below 1"),
        ({"delta": 1, "method": "basic"}, ValueError, "delta must be a positive number below 1"),
        ({"delta": 1e-6}, TypeError, "needs method: 'basic', .* or 'zcdp'"),
        ({"method": "zcdp"}, ValueError, "method 'zcdp' needs a delta beside the epsilon"),
        ({"method": "advanced"}, ValueError, "^method must be 'basic' for a budget in epsilon, got 'advanced'$"),
        ({"delta": 1e-6, "method": "advanced"}, ValueError, "method must be 'basic' or 'zcdp' .* got 'advanced'"),
        ({"epsilon": None, "rho": 1, "method": "basic"}, ValueError, "method must be 'zcdp'"),
    ],
)
def test_refused_parameters(change, error, words):
    parameters = {"neighbors": "add-remove", "unit": "person", "epsilon": 1, **change}
    with pytest.raises(error, match=words):
        PrivacyBudget(**parameters)


def test_parameters_are_keyword_only():
    with pytest.raises(TypeError):
        PrivacyBudget("add-remove", "person", 1)


def test_properties_and_repr():
    budget = PrivacyBudget(neighbors="replace-one", unit="visit", epsilon=1, delta=1e-6, method="basic")
    budget.spend(PrivacyCost(epsilon=0.25))
    assert (budget.neighbors, budget.unit, budget.method) == ("replace-one", "visit", "basic")
    assert repr(budget) == (
        "<PrivacyBudget: epsilon 0.75 of 1, delta 1e-6 of 1e-6 remaining, neighbors='replace-one', unit='visit'>"
    )
    assert budget_of(rho=1).method == "zcdp"
    with pytest.raises(AttributeError):
        budget.total = PrivacyCost(epsilon=2)
    with pytest.raises(AttributeError):
        budget.epsilon = 2


@pytest.mark.parametrize("label", [3, b"x", ["a"], PrivacyCost(epsilon=1)], ids=repr)
def test_a_label_is_text(label):
    budget = budget_of(epsilon=1)
    with pytest.raises(TypeError, match="label must be text or None"):
        budget.spend(PrivacyCost(epsilon=0.1), label=label)
    assert budget.history == ()


def test_history():
    budget = budget_of(epsilon=1)
    budget.spend(PrivacyCost(epsilon=0.1), label="a")
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon=1), label="refused")
    budget.spend(Fake(PrivacyCost(epsilon=0.2, rho=0.3)))
    assert budget.history == (
        Spend("a", PrivacyCost(epsilon=0.1), None),
        Spend(None, PrivacyCost(epsilon=0.2, rho=0.3), "Fake()"),
    )


# --- split ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(
    st.fractions(Fraction(1, 100), 10),
    st.fractions(0, 1),
    st.lists(st.fractions(Fraction(1, 50), 50), min_size=1, max_size=6),
)
def test_parts_add_up_exactly(cap, used, weights):
    for currency in ("epsilon", "rho"):
        budget = budget_of(**{currency: cap})
        if 0 < used < 1:
            budget.spend(PrivacyCost(**{currency: cap * used}))
        else:
            used = 0
        left = budget.remaining
        parts = budget.split(*weights)
        assert sum(part.total for part in parts) == left
        shares = [getattr(part.total, currency) for part in parts]
        assert shares == [cap * (1 - used) * w / sum(weights) for w in weights]
        assert budget.spent == budget.total
        for part in parts:
            assert (part.neighbors, part.unit, part.method) == (
                budget.neighbors,
                budget.unit,
                budget.method,
            )


def test_split_divides_delta_too():
    budget = budget_of(epsilon=1, delta=1e-6)
    small, large = budget.split(1, "3")
    assert small.total == PrivacyCost(epsilon=0.25, delta=2.5e-7)
    assert large.total == PrivacyCost(epsilon=0.75, delta=7.5e-7)
    assert budget.history == (Spend("split into 2", PrivacyCost(epsilon=1, delta=1e-6), None),)
    with pytest.raises(BudgetExceeded):
        budget.spend(PrivacyCost(epsilon=1e-9))
    with pytest.raises(BudgetExceeded, match=r"1 of 1 spent, 0 remaining.*nothing more fits"):
        budget.split(1)


def test_parts_are_pure_once_delta_is_used_up():
    budget = budget_of(epsilon=1, delta=1e-6)
    budget.spend(PrivacyCost(epsilon=0.5, delta=1e-6))
    (part,) = budget.split(1)
    assert part.total == PrivacyCost(epsilon=0.5)
    with pytest.raises(TypeError, match="no delta is small enough"):
        part.spend(PrivacyCost(epsilon=0.1, delta=1e-9))


@pytest.mark.parametrize(
    ("weights", "error"),
    [((), TypeError), ((1, 0), ValueError), ((1, -1), ValueError), ((1, math.nan), ValueError)],
)
def test_refused_weights_spend_nothing(weights, error):
    budget = budget_of(epsilon=1)
    with pytest.raises(error, match="weight"):
        budget.split(*weights)
    assert budget.history == ()


# --- one budget, one process ---------------------------------------------------------------------


@pytest.mark.parametrize("cap", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6, "method": "basic"}, {"rho": 1}], ids=str)
def test_what_is_closed_spends_no_more(cap):
    """Nor do its parts, and theirs; what was spent before is still told."""
    budget = PrivacyBudget(neighbors="add-remove", unit="person", **cap)
    one, other = budget.split(1, 1)
    (inner,) = one.split(1)
    cost = PrivacyCost(**dict.fromkeys(set(cap) & {"epsilon", "rho"}, "0.125"))
    inner.spend(cost)
    budget._close()
    crumb = PrivacyCost(**dict.fromkeys(set(cap) & {"epsilon", "rho"}, Fraction(1, 10**30)))
    for closed in (budget, one, other, inner):
        with pytest.raises(BudgetExceeded):
            closed.spend(crumb)
    assert inner.history[0].cost == cost
    assert [spend.label for spend in other.history] == ["closed"]
    assert other.history[0].cost == other.total


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_no_copies(duplicate):
    with pytest.raises(TypeError, match="both copies could be spent"):
        duplicate(budget_of(epsilon=1))


def test_no_spending_in_another_process(monkeypatch):
    budget = budget_of(epsilon=1)
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(RuntimeError, match="before a fork"):
        budget.spend(PrivacyCost(epsilon=1))
    with pytest.raises(RuntimeError, match="before a fork"):
        budget.split(1)
    monkeypatch.undo()
    budget.spend(PrivacyCost(epsilon=1))


def test_a_check_says_what_a_spend_would_and_changes_nothing():
    budget = budget_of(epsilon=1)
    budget.check(Fake(PrivacyCost(epsilon=1)))
    assert budget.history == ()
    budget.spend(PrivacyCost(epsilon="0.7"))
    with pytest.raises(BudgetExceeded, match=r"epsilon 0\.4 requested, 0\.7 of 1 spent, 0\.3 remaining"):
        budget.check(PrivacyCost(epsilon="0.4"))
    budget.check(PrivacyCost(epsilon="0.3"))
    assert budget.remaining == PrivacyCost(epsilon="0.3")


def test_a_resumed_budget_goes_on_where_it_was():
    budget = budget_of(epsilon=1, delta="1e-6")
    spent = (Fraction(3, 4), Fraction(0))
    resumed = PrivacyBudget._resumed(budget._terms, spent)
    assert resumed.spent == PrivacyCost(epsilon="0.75")
    assert resumed.history == (Spend(None, PrivacyCost(epsilon="0.75"), None),)
    resumed.spend(PrivacyCost(epsilon="0.25", delta="1e-6"))
    assert resumed.remaining == PrivacyCost(epsilon=0)
    assert PrivacyBudget._resumed(budget._terms, (Fraction(0), Fraction(0))).history == ()


FORK = """
import os
from exactnoise.accounting import PrivacyBudget, PrivacyCost
budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
child = os.fork()
try:
    budget.spend(PrivacyCost(epsilon=1))
except RuntimeError as refusal:
    os._exit(3 if "before a fork" in str(refusal) else 4)
if child == 0:
    os._exit(5)
_, status = os.waitpid(child, 0)
raise SystemExit(0 if os.waitstatus_to_exitcode(status) == 3 else 6)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_copy_is_worthless():
    run = subprocess.run([sys.executable, "-c", FORK], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# --- speed ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [{"epsilon": 10**6}, {"epsilon": 10**6, "delta": 0.5}])
def test_a_spend_takes_less_than_20_microseconds(cap):
    budget = budget_of(**cap)
    cost = PrivacyCost(epsilon=0.1, delta=1e-9 if "delta" in cap else 0)
    best = min(timeit.repeat(lambda: budget.spend(cost), number=200, repeat=50)) / 200
    assert best < 20e-6
