"""A budget written down and read back: a versioned dict of JSON's types."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from exactnoise.accounting.amount import from_text, text
from exactnoise.accounting.cost import PrivacyCost
from exactnoise.accounting.terms import Terms

__all__ = ["FORMAT", "Entry", "read", "read_entry", "read_terms", "written"]

#: The version of the layout, in every state.
FORMAT = "exactnoise-budget/1"


class Entry(NamedTuple):
    """One spend as it is written down: `charged` is its price in the budget's currency."""

    label: str | None
    cost: PrivacyCost
    mechanism: str | None
    charged: PrivacyCost


def written(terms: Terms, entries: Iterable[Entry], spent: PrivacyCost) -> dict[str, Any]:
    """The state of a budget with these terms after these entries."""
    return {
        "format": FORMAT,
        "neighbors": terms.neighbors,
        "unit": terms.unit,
        "method": terms.method,
        "guarantee": _amounts(terms.guarantee),
        "cap": _amounts(terms.as_cost(terms.cap)),
        "spent": _amounts(spent),
        "history": [
            {
                "label": entry.label,
                "mechanism": entry.mechanism,
                "cost": _amounts(entry.cost),
                "charged": _amounts(entry.charged),
            }
            for entry in entries
        ],
    }


def read(saved: Mapping[str, Any]) -> tuple[Terms, list[Entry], PrivacyCost]:
    """The terms, the entries and the sum of a state, or a ValueError that says what is wrong with it."""
    terms = read_terms(saved)
    with _damage_told():
        return terms, [read_entry(entry) for entry in saved["history"]], _cost(saved["spent"])


def read_terms(saved: Mapping[str, Any]) -> Terms:
    """The terms of a state, or a ValueError that says what is wrong with them."""
    if not isinstance(saved, Mapping) or saved.get("format") != FORMAT:
        found = saved.get("format") if isinstance(saved, Mapping) else saved
        raise ValueError(
            f"this is no state of a budget that this version can read: format must be {FORMAT!r}, got {found!r}"
        )
    with _damage_told():
        promised, counted = _cost(saved["guarantee"]), _cost(saved["cap"])
        return Terms.restored(saved["neighbors"], saved["unit"], saved["method"], promised, counted)


def read_entry(saved: Mapping[str, Any]) -> Entry:
    """One spend of a state, or a ValueError that says what is wrong with it."""
    with _damage_told():
        cost, charged = _cost(saved["cost"]), _cost(saved["charged"])
        return Entry(_text(saved["label"]), cost, _text(saved["mechanism"]), charged)


@contextlib.contextmanager
def _damage_told() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the state of the budget is damaged: {type(error).__name__} {error}") from None


def _amounts(cost: PrivacyCost) -> dict[str, str]:
    amounts = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return {name: text(amount) for name, amount in amounts.items() if amount is not None}


def _cost(amounts: Mapping[str, str]) -> PrivacyCost:
    values = {name: from_text(amount, name) for name, amount in amounts.items()}
    if not values.keys() <= {"epsilon", "delta", "rho"} or not values.keys() & {"epsilon", "rho"}:
        raise ValueError(f"the state of the budget is damaged: a cost of {', '.join(amounts) or 'nothing'}")
    if min(values.values()) < 0 or values.get("delta", Fraction(0)) > 1:
        raise ValueError("the state of the budget is damaged: an amount is out of range")
    return PrivacyCost.from_exact(**values)


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"a label or mechanism must be text or null, got {value!r}")
