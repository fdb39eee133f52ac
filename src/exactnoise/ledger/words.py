"""What is said of a ledger in more than one place."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable

__all__ = ["ANOTHER_ID", "RESTORE", "named", "no_budget"]

ANOTHER_ID = "take another id (on the command line --id), at a new price"
RESTORE = "restore it from a copy, or publish anew under another id"


def named(budgets: Iterable[str]) -> str:
    """Which budgets a ledger has."""
    return ", ".join(map(repr, budgets)) or "none yet"


def no_budget(
    path: str | os.PathLike[str],
    budget: str,
    budgets: Collection[str] | None,
    *,
    amounts: Collection[str],
    neighbors: str | None,
    unit: str | None,
) -> str:
    """There is none, and the command that makes one, with what is known of it.

    Parameters
    ----------
    path : path
    budget : str
    budgets : collection of str or None
        What the ledger has; None where there is no ledger.
    amounts : collection of str
        In which of epsilon, delta and rho its prices are.
    neighbors, unit : str or None
    """
    caps = [f"--{name} {name[0].upper()}" for name in amounts] + ["--method METHOD"] * ("delta" in amounts)
    command = (
        f"exactnoise ledger create {shlex.quote(os.fspath(path))} --budget {shlex.quote(budget)} {' '.join(caps)} "
        f"--neighbors {neighbors or 'NEIGHBORS'} --unit {shlex.quote(unit or 'UNIT')}"
    )
    if budgets is None:
        problem = f"there is no ledger {os.fspath(path)}: check the path"
    else:
        problem = f"the ledger {os.fspath(path)} has no budget {budget!r}; it has {named(budgets)}: check path and name"
    return (
        f"{problem}, or make it by {command} (what is in capitals is yours to say: first of all the cap of all "
        "releases together)"
    )
