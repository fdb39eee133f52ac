"""What is said of a ledger in more than one place."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection

__all__ = ["ANOTHER_ID", "no_ledger"]

ANOTHER_ID = "take another id (on the command line --id), at a new price"


def no_ledger(
    path: str | os.PathLike[str], budget: str, *, amounts: Collection[str], neighbors: str | None, unit: str | None
) -> str:
    """There is none, and the command that makes one, with what is known of the budget.

    Parameters
    ----------
    path : path
    budget : str
    amounts : collection of str
        In which of epsilon, delta and rho its prices are.
    neighbors, unit : str or None
    """
    caps = [f"--{name} {name[0].upper()}" for name in amounts] + ["--method METHOD"] * ("delta" in amounts)
    command = (
        f"exactnoise ledger create {shlex.quote(os.fspath(path))} --budget {shlex.quote(budget)} {' '.join(caps)} "
        f"--neighbors {neighbors or 'NEIGHBORS'} --unit {shlex.quote(unit or 'UNIT')}"
    )
    return (
        f"there is no ledger {os.fspath(path)}: check the path, or make it by {command} (what is in capitals is yours "
        "to say: first of all the cap of all releases together)"
    )
