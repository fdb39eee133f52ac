"""``exactnoise demo``: from a plan to a published table to a refusal, on a made-up table."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactnoise import BudgetExceeded, DiscreteLaplace, PrivacyBudget
from exactnoise.cli.console import say
from exactnoise.cli.errors import CommandError, UsageError
from exactnoise.errors import ExactNoiseError
from exactnoise.ledger import Ledger, LedgerBudget
from exactnoise.publish import publish
from exactnoise.publish.metadata import metadata_path

__all__ = ["add_command"]

_SITES = {
    "Old Town": 43,
    "Harbour": 38,
    "Station": 31,
    "University": 27,
    "Riverside": 22,
    "Market": 18,
    "Hillside": 14,
    "Airport": 11,
    "Mill Lane": 8,
    "Docklands": 5,
    "Lighthouse": 2,
    "Ferry": 0,
}
_ID = "exactnoise-demo"
_BUDGET = "exactnoise-demo"
_BLOCK = "\u2587"  # seven eighths high, so that bars on neighbouring lines stay apart
_BAR_WIDTH = 52

_DESCRIPTION = """\
Make a small made-up table, plan a release, publish it under a budget that is
kept in a ledger, ask for it again, and be refused a second one. Takes a second,
needs nothing but the package, and leaves in DIR:

  visits.csv                      the exact table
  visits-noisy.csv                the published one
  visits-noisy.csv.release.json   what was released, under which guarantee
  privacy.db                      the ledger
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``demo`` to the command line."""
    parser = commands.add_parser(
        "demo",
        help="a release on a made-up table, step by step",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "directory",
        metavar="DIR",
        nargs="?",
        type=Path,
        default=Path("exactnoise-demo"),
        help="where to put the files; default exactnoise-demo. Only files of an earlier demo are replaced",
    )
    parser.add_argument("--json", action="store_true", help="print the metadata and nothing else")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise demo``."""
    exact, noisy, ledger = (args.directory / name for name in ("visits.csv", "visits-noisy.csv", "privacy.db"))
    _refuse_foreign_files(exact, noisy, ledger)
    for path in (noisy, metadata_path(noisy), ledger):
        path.unlink(missing_ok=True)
    args.directory.mkdir(parents=True, exist_ok=True)
    exact.write_bytes(_csv(_SITES.values()))

    budget = Ledger(ledger).create(_BUDGET, neighbors="add-remove", unit="person", epsilon=1)
    mechanism = DiscreteLaplace(sensitivity=1, epsilon=1)

    def make(purse: PrivacyBudget) -> dict[str, Any]:
        counts = np.array(list(_SITES.values()))
        return {"site": list(_SITES), "visits": mechanism.release(counts, budget=purse, label="visits")}

    terms: dict[str, Any] = {"data_version": "made up", "budget": budget, "epsilon": 1}
    tell = _say_nothing if args.json else say
    tell(_plan(exact, mechanism, budget))
    snapshot = publish(noisy, make, id=_ID, **terms)
    released = snapshot.read()["visits"].tolist()
    tell(_chart(released))
    again = publish(noisy, make, id=_ID, **terms).read()["visits"].tolist()
    tell(_once_more(again == released, lambda: publish(noisy.with_name("again.csv"), make, id=f"{_ID}-2", **terms)))
    tell(_next_steps(noisy, ledger))
    if args.json:
        say(json.dumps(snapshot.metadata))


def _say_nothing(text: str) -> None:
    """What a machine gets to read of the story."""


def _refuse_foreign_files(exact: Path, noisy: Path, ledger: Path) -> None:
    """Only what an earlier demo wrote, and nobody changed since, may be replaced."""
    if ledger.exists() and not _is_of_a_demo(ledger):
        raise UsageError(f"{ledger} is not the demo's; name another folder")
    if exact.exists() and exact.read_bytes() != _csv(_SITES.values()):
        raise UsageError(f"{exact} is not the demo's; name another folder")
    record = metadata_path(noisy)
    if not noisy.exists() and not record.exists():
        return
    try:
        document = json.loads(record.read_bytes())
        ours = document["id"] == _ID
        unchanged = document["sha256"] == hashlib.sha256(noisy.read_bytes()).hexdigest()
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        ours = unchanged = False
    if not (ours and unchanged):
        raise UsageError(f"{noisy} or its metadata is not the demo's; name another folder")


def _is_of_a_demo(ledger: Path) -> bool:
    try:
        return [budget.name for budget in Ledger(ledger).budgets()] in ([], [_BUDGET])
    except (ExactNoiseError, OSError):
        return False


def _csv(visits: Iterable[int]) -> bytes:
    table = io.StringIO(newline="")
    rows = zip(_SITES, visits, strict=True)
    csv.writer(table, lineterminator="\n").writerows([("site", "visits"), *rows])
    return table.getvalue().encode()


def _plan(exact: Path, mechanism: DiscreteLaplace, budget: LedgerBudget) -> str:
    return f"""\
THE TABLE   {exact}, made up
  Visits to {len(_SITES)} clinics on one day. Nobody went to two, so one person
  changes one count by one: the sensitivity is 1.

THE PLAN    nothing is spent yet
  mechanism        {mechanism!r}
  scale            {mechanism.scale:g}
  standard error   {mechanism.std:.2f} visits a count
  95 % half width  {mechanism.half_width():g} visits: at least 19 times in 20 a count is that close
  price            epsilon {mechanism.epsilon}, all {len(_SITES)} counts together
  budget           epsilon {budget.total.epsilon}, protecting each {budget.unit}, kept in the ledger
"""


def _chart(released: Sequence[int]) -> str:
    """Exact and noisy counts, with a bar of one character a visit."""
    both = _BLOCK if _can_print(_BLOCK) else "#"
    lines = [f"THE RELEASE {both} visits, + added by the noise, - taken away by it"]
    lines.append(f"  {'site':<12}{'exact':>5}{'noisy':>7}")
    for (site, exact), noisy in zip(_SITES.items(), released, strict=True):
        shown = max(noisy, 0)
        bar = both * min(exact, shown) + "+" * (shown - exact) + "-" * (exact - shown)
        lines.append(f"  {site:<12}{exact:>5}{noisy:>7}  {bar[:_BAR_WIDTH]}".rstrip())
    if min(released) < 0:
        lines.append("  A count below zero is no fault: cutting it off would bias every sum.")
    return "\n".join(lines) + "\n"


def _once_more(same: bool, publish_another: Callable[[], object]) -> str:
    if not same:
        raise CommandError("the same release gave another table; do not release anything")
    try:
        publish_another()
    except BudgetExceeded as refusal:
        words = textwrap.fill(str(refusal), 78, initial_indent="  ", subsequent_indent="  ")
    else:
        raise CommandError("the budget let a second release pass; do not release anything")
    return f"""\
ONCE MORE?  the average of many answers would give the exact counts away
  The same release again is the same table, at no cost. A second one:
{words}
"""


def _next_steps(noisy: Path, ledger: Path) -> str:
    return f"""\
THE FILES   {noisy}
            {metadata_path(noisy)}
            {ledger}

NEXT
  exactnoise verify {shlex.quote(str(noisy))} \\
      --ledger {shlex.quote(str(ledger))}
  exactnoise utility --mechanism discrete-laplace --sensitivity 1 \\
      --epsilon 0.1,0.5,1,2
  exactnoise plan --help       a job of your own, every night from one budget
  exactnoise noise --help      a column of counts of your own

A ledger of your own is kept for good. Only the demo's is made anew each time."""


def _can_print(character: str) -> bool:
    try:
        character.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True
