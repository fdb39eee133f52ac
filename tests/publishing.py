"""A ledger, a price and a table for the tests of `publish`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactnoise import DiscreteLaplace, PrivacyBudget
from exactnoise.accounting import PrivacyCost
from exactnoise.errors import LedgerNote
from exactnoise.ledger import Ledger, LedgerBudget
from exactnoise.publish import Snapshot, publish

#: So little that two draws of the noise are never the same.
PRICE = "0.001"
TERMS = {"epsilon": "0.003", "neighbors": "add-remove", "unit": "person"}
COUNTS = np.array([10, 0, 7])
CELLS = ["a", "b", "c"]
#: What is in the folder when a day's visits are published, and nothing else.
FINISHED = ["visits.csv", "visits.csv.release.json"]


def budget_of(folder: Path, **terms: Any) -> LedgerBudget:
    """The budget of a ledger in the folder; it is created where there is none."""
    return Ledger(folder / "privacy.db").create("visits", **(TERMS | terms))


def noisy(child: PrivacyBudget) -> dict[str, Any]:
    """A table that is different each time."""
    visits = DiscreteLaplace(sensitivity=1, epsilon=PRICE).release(COUNTS, budget=child, label="visits")
    return {"site": CELLS, "visits": visits}


def never(child: PrivacyBudget) -> dict[str, Any]:
    raise AssertionError("made again")


def publish_visits(folder: Path, make: Callable[[PrivacyBudget], Any] = noisy, **other: Any) -> Snapshot:
    """Publish a day's visits."""
    given = {"id": "day 1", "data_version": "1", "epsilon": PRICE, "query": {"table": "visits"}} | other
    path = given.pop("path", folder / "visits.csv")
    budget = given.pop("budget", None) or budget_of(folder)
    return publish(path, make, budget=budget, **given)


def files(folder: Path) -> list[str]:
    """What is in the folder beside the ledger."""
    return sorted(path.name for path in folder.iterdir() if path.name != "privacy.db")


def costs(times: int) -> PrivacyCost:
    """What so many publications cost."""
    return times * PrivacyCost(epsilon=PRICE)


def state(budget: LedgerBudget, name: str = "day 1") -> str | None:
    """What became of an id."""
    found = budget.ledger.reservation(name)
    return found and found.state


def notes(error: pytest.ExceptionInfo[BaseException]) -> list[LedgerNote]:
    """What the exception says about the ledger."""
    return [note for note in getattr(error.value, "__notes__", ()) if isinstance(note, LedgerNote)]
