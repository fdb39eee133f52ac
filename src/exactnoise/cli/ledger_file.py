"""A ledger that a command was given the name of."""

from __future__ import annotations

from pathlib import Path

from exactnoise.cli.errors import UsageError
from exactnoise.errors import ExactNoiseError
from exactnoise.ledger import Ledger, LedgerBudget

__all__ = ["opened", "opened_budget"]


def opened(path: Path) -> Ledger:
    """The ledger; it is not made where there is none."""
    if not path.exists():
        raise UsageError(f"there is no ledger {path}; exactnoise ledger create makes one")
    return Ledger(path)


def opened_budget(path: Path, name: str) -> LedgerBudget:
    """A budget of the ledger."""
    ledger = opened(path)
    try:
        return ledger.budget(name)
    except ExactNoiseError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None
