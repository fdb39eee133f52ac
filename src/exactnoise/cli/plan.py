"""``exactnoise plan``: what a job would cost and how far its numbers would be off."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exactnoise.cli.console import say
from exactnoise.cli.errors import ContentError, UsageError
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

Every key of a job file is in docs/jobs.md. Its paths are relative to the job file.

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
    parser.add_argument(
        "--date", metavar="DATE", help="what {date} and {month} stand for, such as 2026-12-31; default: today"
    )


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise plan``."""
    job = Job.load(args.job, id=args.id, date=args.date)
    plan = job.plan(expected=_expectation(args.expect, job))
    if plan.refusal is None:
        say(json.dumps(plan.document()) if args.json else str(plan))
        return
    if not args.json:
        say(str(plan))
    raise plan.refusal


def _expectation(text: str | None, job: Job) -> Expectation:
    if text is None:
        return Expectation()
    try:
        rows = float(text)
    except ValueError:
        return _earlier(Path(text), job)
    if not rows >= 0:
        raise UsageError(f"--expect: must be a number of rows, or a file, got {text!r}")
    return Expectation(rows=rows)


def _earlier(path: Path, job: Job) -> Expectation:
    """What an earlier table of the job says: its columns, and as rows of a cell the middle one of its counts."""
    cells = _expected_cells(path, job)
    counts = [cells[s.name] for s in job.statistics if s.kind == "count" and s.column is None and s.name in cells]
    sizes = [float(np.median(count)) for count in counts if len(count)]
    return Expectation(rows=max(sizes[0], 1.0) if sizes else None, cells=cells)


def _expected_cells(path: Path, job: Job) -> Mapping[str, Any]:
    """The columns of the job's output that it has."""
    columns = read_columns(path)
    labels = [label for statistic in job.statistics for label in statistic.labels]
    cells = {label: columns[label] for label in labels if label in columns}
    if not cells:
        raise ContentError(f"--expect: {path} has none of the columns that the job makes: {', '.join(labels[:8])}")
    for label, values in cells.items():
        if not isinstance(values, np.ndarray):
            raise ContentError(f"--expect: {path}, column {label!r}: not of numbers only")
    return cells
