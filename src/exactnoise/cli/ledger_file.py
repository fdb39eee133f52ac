"""A ledger that a command was given the name of."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from exactnoise.cli.errors import UsageError
from exactnoise.ledger import Ledger, LedgerBudget
from exactnoise.ledger.store import APPLICATION
from exactnoise.ledger.words import no_budget

__all__ = ["is_ledger", "opened", "opened_budget"]

_HEADER = 72  # bytes, of which the last four are the application's id


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger, of whatever version and state; it is not opened as one."""
    with path.open("rb") as file:
        header = file.read(_HEADER)
    return header.startswith(b"SQLite format 3\0") and int.from_bytes(header[-4:]) == APPLICATION


def opened(path: Path) -> Ledger:
    """The ledger; it is not made where there is none."""
    if not path.exists():
        raise UsageError(f"there is no ledger {path}: check the path")
    return Ledger(path)


def opened_budget(
    path: Path, name: str, *, amounts: Collection[str], neighbors: str | None, unit: str | None
) -> LedgerBudget:
    """A budget of the ledger, to be spent from; the rest is for who has none yet."""
    budgets = {budget.name: budget for budget in opened(path).budgets()} if path.exists() else None
    if budgets is None or name not in budgets:
        raise UsageError(no_budget(path, name, budgets, amounts=amounts, neighbors=neighbors, unit=unit))
    return budgets[name]
