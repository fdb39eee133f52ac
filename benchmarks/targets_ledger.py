"""Targets of ledgers that have been in use for years: see targets.py.

    python benchmarks/targets_ledger.py [SECONDS]

measures these alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from time import perf_counter

import numpy as np
from target_result import Result, measure_alone
from timing import least_seconds

from exactnoise import DiscreteLaplace, PrivacyBudget
from exactnoise.ledger import Ledger
from exactnoise.publish import publish

#: Every night for three years, and for twenty-seven.
RELEASES = (1000, 10_000)
#: What a nightly process does: open the ledger, read and check all of it, publish two rows.
COLD_SECONDS = 0.3
#: What the age of a ledger adds to the next release of a process that has it open.
WARM_FACTOR = 1.5
_PRICE = "1e-6"


def old_ledgers(seconds: float) -> Iterator[Result]:
    """In real time: most of a release is waiting for the disk."""
    with tempfile.TemporaryDirectory() as name:
        folder, names = Path(name), map(str, count())

        def release(ledger: Ledger) -> None:
            number = next(names)
            budget = ledger.budget("visits")
            publish(folder / f"{number}.csv", _make, id=number, data_version="1", budget=budget, epsilon=_PRICE)

        young = Ledger(folder / "young.db")
        young.create("visits", epsilon=1, neighbors="add-remove", unit="person")
        release(young)
        for releases in RELEASES:
            path = folder / f"{releases}.db"
            old = _aged(path, young, releases)
            functions = {
                "young": lambda: release(young),
                "old": lambda old=old: release(old),
                "opened": lambda path=path: release(Ledger(path)),
            }
            least = least_seconds(functions, min(seconds, 2), clock=perf_counter)
            yield Result(
                f"a release from a ledger of {releases}, just opened",
                least["opened"],
                COLD_SECONDS,
                False,
                "s",
                "real time",
            )
            yield Result(
                f"a release from a ledger of {releases}, open already: a new ledger, times",
                least["old"] / least["young"],
                WARM_FACTOR,
                False,
                "",
                f"{least['old'] * 1e3:.1f} against {least['young'] * 1e3:.1f} ms",
            )


def _make(purse: PrivacyBudget) -> dict[str, object]:
    return {"visits": DiscreteLaplace(sensitivity=1, epsilon=_PRICE).release(np.array([1, 2]), budget=purse, label="v")}


def _aged(path: Path, model: Ledger, releases: int) -> Ledger:
    """A ledger with the entries of so many releases like the model's, written in one transaction."""
    reserved, committed = (entry.details for entry in model.history()[-2:])
    ledger = Ledger(path)
    ledger.create("visits", epsilon=1, neighbors="add-remove", unit="person")
    with ledger._writing() as write:
        for number in range(releases):
            name = f"visits-{number}"
            write("reserved", "visits", name, 1, reserved | {"spend": reserved["spend"] | {"label": name}})
            write("committed", "visits", name, 1, committed | {"path": f"/data/{name}.csv"})
    return ledger


if __name__ == "__main__":
    sys.exit(measure_alone(old_ledgers, seconds=10))
