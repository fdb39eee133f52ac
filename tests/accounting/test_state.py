"""A budget written down and read back is the same budget; a damaged state is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactnoise import Gaussian, Laplace
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.errors import BudgetExceeded

CAPS = [
    {"epsilon": 1},
    {"epsilon": "1/3", "delta": 1e-6, "method": "basic"},
    {"epsilon": 1, "delta": 1e-6, "method": "zcdp"},
    {"rho": "0.02"},
]


def budget_of(cap):
    return PrivacyBudget(neighbors="replace-one", unit="visit", **cap)


def through_json(budget):
    return PrivacyBudget.from_state(json.loads(json.dumps(budget.to_state())))


def facts(budget):
    history = [(spend.label, spend.cost, spend.mechanism) for spend in budget.history]
    amounts = (budget.total, budget.spent, budget.remaining, budget.guarantee)
    return (budget.neighbors, budget.unit, budget.method, *amounts, history)


@pytest.mark.parametrize("cap", CAPS, ids=str)
def test_there_and_back(cap):
    budget = budget_of(cap)
    assert facts(through_json(budget)) == facts(budget)
    budget.spend(Laplace(sensitivity=1, epsilon="1/11"), label="flights \u2708")
    budget.spend(budget.fit(Laplace, times=7, sensitivity=1))
    again = through_json(budget)
    assert facts(again) == facts(budget)
    again.spend(again.fit(Laplace, sensitivity=1))
    assert len(budget.history) == 2
    with pytest.raises(BudgetExceeded):
        again.spend(PrivacyCost(epsilon="0.1"))


@pytest.mark.parametrize("cap", CAPS, ids=str)
def test_parts_can_be_kept_too(cap):
    whole = budget_of(cap)
    parts = whole.split(1, "1/3", 7)
    assert facts(through_json(whole)) == facts(whole)
    for part in parts:
        assert facts(through_json(part)) == facts(part)
    inner = parts[1].split(1, 1)[0]
    assert facts(through_json(inner)) == facts(inner)


def test_a_state_is_readable():
    budget = budget_of({"epsilon": 1, "delta": 1e-6, "method": "zcdp"})
    budget.spend(Gaussian(sensitivity=1, rho="0.001"), label="mean")
    state = budget.to_state()
    assert state == {
        "format": "exactnoise-budget/1",
        "neighbors": "replace-one",
        "unit": "visit",
        "method": "zcdp",
        "guarantee": {"epsilon": "1", "delta": "1e-6"},
        "cap": {"rho": "0.0243559703"},
        "spent": {"rho": "0.001"},
        "history": [
            {
                "label": "mean",
                "mechanism": "Gaussian(sensitivity=1, rho='0.001')",
                "cost": {"rho": "0.001"},
                "charged": {"rho": "0.001"},
            },
        ],
    }


@given(st.lists(st.fractions(Fraction(1, 10**6), 1), max_size=20))
def test_sums_of_any_length(spends):
    budget = budget_of({"epsilon": 20})
    for epsilon in spends:
        budget.spend(PrivacyCost(epsilon=epsilon))
    assert facts(through_json(budget)) == facts(budget)


def test_thousands_of_digits():
    budget = budget_of({"epsilon": 1})
    for price in (Fraction(1, 3**15_000), Fraction(1, 7**8_000)):
        budget.spend(PrivacyCost(epsilon=price))
    budget.split(1)
    assert facts(through_json(budget)) == facts(budget)


def changed(state, path, value):
    *parents, last = path
    place = state
    for name in parents:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return state


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["format"], "exactnoise-budget/2"),
        (["format"], None),
        (["neighbors"], None),
        (["neighbors"], "both"),
        (["unit"], 3),
        (["method"], "zcdp"),
        (["method"], "pld"),
        (["guarantee"], {"epsilon": "0.9"}),
        (["guarantee"], {"epsilon": "1", "delta": "1e-6"}),
        (["guarantee"], {"rho": "1"}),
        (["guarantee"], {"epsilon": "1", "rho": "1e-9"}),
        (["guarantee"], {"epsilon": "0", "rho": "1"}),
        (["guarantee"], {"epsilon": "0"}),
        (["guarantee"], {}),
        (["cap"], {"epsilon": "1.1"}),
        (["cap"], {"epsilon": "1", "delta": "1e-9"}),
        (["cap"], {"epsilon": "0.2"}),
        (["cap"], {"rho": "1"}),
        (["spent"], {"epsilon": "0.2"}),
        (["spent"], {"epsilon": 0.25}),
        (["spent"], {"epsilon": "1e999999999"}),
        (["spent"], {"epsilon": "1/0"}),
        (["history"], []),
        (["history"], None),
        (["history"], 3),
        (["history", 0], "spend"),
        (["history", 0, "cost"], {"epsilon": "-0.25"}),
        (["history", 0, "cost"], {"epsilon": "0"}),
        (["history", 0, "cost"], {"epsilon": "nan"}),
        (["history", 0, "cost"], {"epsilon": "0.25", "delta": "1e-9"}),
        (["history", 0, "cost"], {"epsilon": "0.25", "delta": "2"}),
        (["history", 0, "cost"], {"sigma": "0.25"}),
        (["history", 0, "cost"], {"delta": "0.25"}),
        (["history", 0, "cost"], {"epsilon": "1.5"}),
        (["history", 0, "charged"], None),
        (["history", 0, "charged"], {"epsilon": "0.2"}),
        (["history", 0, "charged"], {"epsilon": "1.5"}),
        (["history", 0, "charged"], {"rho": "0.25"}),
        (["history", 0, "label"], 3),
        (["history", 0, "mechanism"], None),
    ],
    ids=str,
)
def test_damage_is_refused(path, value):
    budget = budget_of({"epsilon": 1})
    budget.spend(PrivacyCost(epsilon="0.25"))
    state = json.loads(json.dumps(budget.to_state()))
    assert PrivacyBudget.from_state(state).spent == budget.spent
    with pytest.raises(ValueError, match=r"state|saved|neighbors|unit|method|epsilon"):
        PrivacyBudget.from_state(changed(state, path, value))


@pytest.mark.parametrize(
    ("cost", "told"),
    [
        ({"epsilon": "0.25", "delta": "2"}, "an amount is out of range"),
        ({"epsilon": "-0.25"}, "an amount is out of range"),
        ({"sigma": "1", "delta": "0.5"}, "a cost of sigma, delta"),
        ({}, "a cost of nothing"),
    ],
)
def test_what_is_wrong_with_a_cost(cost, told):
    budget = budget_of({"epsilon": 1})
    budget.spend(PrivacyCost(epsilon="0.25"))
    state = changed(budget.to_state(), ["history", 0, "cost"], cost)
    with pytest.raises(ValueError, match=f"^the state of the budget is damaged: {told}$"):
        PrivacyBudget.from_state(state)


@pytest.mark.parametrize("state", [None, [], "", 1, {}], ids=repr)
def test_what_is_no_state(state):
    with pytest.raises(ValueError, match="no state of a budget that this version can read"):
        PrivacyBudget.from_state(state)


def test_a_second_promise_cannot_be_slipped_in():
    state = budget_of({"epsilon": 1, "delta": 1e-6, "method": "zcdp"}).to_state()
    state["guarantee"]["rho"] = "1e-9"
    with pytest.raises(ValueError, match="its guarantee is none that a budget can give"):
        PrivacyBudget.from_state(state)


def test_what_was_charged_is_kept():
    """A bare epsilon may be known to imply less rho one day; what was charged for it stays charged."""
    budget = budget_of({"rho": 1})
    budget.spend(PrivacyCost(epsilon="0.5"))
    state = budget.to_state()
    assert state["history"][0]["cost"] == {"epsilon": "0.5"}
    state["history"][0]["charged"] = state["spent"] = {"rho": "0.125"}
    assert PrivacyBudget.from_state(state).spent == PrivacyCost(rho="0.125")


def test_a_smaller_cap_than_today_proves_is_kept():
    """An older version may have been content with less; what it promised still holds."""
    state = budget_of({"epsilon": 1, "delta": 1e-6, "method": "zcdp"}).to_state()
    state["cap"] = {"rho": "0.02"}
    assert PrivacyBudget.from_state(state).total == PrivacyCost(rho="0.02")
    state["cap"] = {"rho": "0.0243559703595"}  # what an earlier search for the best order found
    assert PrivacyBudget.from_state(state).total == PrivacyCost(rho="0.0243559703595")
    state["cap"] = {"rho": "0.0243559704"}
    with pytest.raises(ValueError, match="does not prove its guarantee"):
        PrivacyBudget.from_state(state)
