"""``exactnoise plan``: what a job would cost and how far its numbers would be off."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from exactnoise.cli.console import say
from exactnoise.cli.errors import UsageError
from exactnoise.publish import Job
from exactnoise.publish.files import read_columns
from exactnoise.publish.plan import Expectation

__all__ = ["add_command", "add_job_arguments"]

_DESCRIPTION = """\
Check a job without spending anything or reading a row: are the job file and the
input's columns as they must be, what noise would each statistic get, how far
would its numbers be off, and does the price fit in the budget?

Where the ledger does not exist yet, say neighbors and unit under [privacy].
"""

_EPILOG = """\
a job file, visits.toml:
  id = "visits-{date}"                # one release a day
  data_version = "{date}"
  [input]
  path = "visits-{date}.parquet"      # or .csv, .db (with table = ".."), .arrow
  person = "user_id"                  # optional: limits are then enforced
  [privacy]
  epsilon = "1"                       # of all statistics together
  ledger = "privacy.db"
  budget = "visits"
  [limits]                            # how much of one person counts
  rows_per_person = 5                 # in each site
  groups_per_person = 3
  [keys]                              # declared, never read from the data
  site = ["a", "b", "c"]              # or {file = "sites.csv"}, {from = 1, to = 9}
  [[statistic]]
  kind = "count"
  by = ["site"]
  [[statistic]]
  kind = "mean"                       # or sum, variance, quantile, histogram
  column = "minutes"
  bounds = [0, 60]
  by = ["site"]
  weight = 2                          # two thirds of the price

examples:
  exactnoise plan visits.toml
  exactnoise plan visits.toml --expect 500              500 visits a site, say
  exactnoise plan visits.toml --expect yesterday.csv    an earlier snapshot

--expect must come from public knowledge: a plan tuned to the data tells about it.
Exit code 3 says that the price does not fit in the budget.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``plan`` to the command line."""
    parser = commands.add_parser(
        "plan",
        help="what a job would cost, and its expected errors; spends nothing",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_job_arguments(parser)
    parser.add_argument(
        "--expect",
        metavar="N|FILE",
        help="public expectation: rows in a cell, or a table of the job's output, such as an earlier snapshot",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    """What says which job it is."""
    parser.add_argument("job", metavar="JOB.toml", type=Path, help="the job file")
    parser.add_argument("--id", metavar="ID", help="name of the release, instead of the file's")
    parser.add_argument("--date", metavar="DATE", help="what {date} stands for, such as 2024-12-31; default: today")


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise plan``."""
    job = Job.load(args.job, id=args.id, date=args.date)
    plan = job.plan(expected=_expectation(args.expect))
    if plan.refusal is None:
        say(json.dumps(plan.document()) if args.json else str(plan))
        return
    if not args.json:
        say(str(plan))
    raise plan.refusal


def _expectation(text: str | None) -> Expectation:
    if text is None:
        return Expectation()
    try:
        rows = float(text)
    except ValueError:
        return Expectation(cells=read_columns(Path(text)))
    if not rows >= 0:
        raise UsageError(f"--expect: must be a number of rows, or a file, got {text!r}")
    return Expectation(rows=rows)
