"""``exactnoise publish``: a job, run into a snapshot that is paid for once."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from exactnoise.cli.arguments import output_file
from exactnoise.cli.console import complain, say
from exactnoise.cli.errors import UsageError
from exactnoise.cli.plan import add_job_arguments
from exactnoise.cli.progress import Progress
from exactnoise.errors import SchemaError, SnapshotDamaged
from exactnoise.publish import Job, Snapshot
from exactnoise.publish.metadata import metadata_path

__all__ = ["add_command"]

_DESCRIPTION = """\
Run a job: reserve its price in the ledger, read the input, count exactly, add
noise, write the table, commit it in the ledger, and put it in place. Then it is
frozen: publishing the same id again returns the same table and costs nothing,
also after a crash at any moment. Check that the input is complete before: make it
under another name and rename it. What is published is not made again.

What is checked before anything is paid for: the job file, the input's columns
and their types, the budget. After that no cell of the input can stop the job:
one that cannot be understood counts as a missing value (nan = under [[statistic]]).
"""

_EPILOG = """\
examples:
  exactnoise ledger create privacy.db --budget visits --epsilon 30 \\
      --neighbors add-remove --unit person
  exactnoise plan visits.toml                        look before you pay
  exactnoise publish visits.toml -o visits.csv
  exactnoise verify visits.csv --ledger privacy.db

every night, from cron; run it twice and nothing is paid, drawn or added twice:
  exactnoise publish visits.toml -o visits-$(date -I).parquet --date $(date -I) \\
      --into published.db --table visits

Beside OUT is OUT.release.json, for whoever uses the table: guarantee, exact scales,
bounds, keys, ledger entry. plan --help shows a job file.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``publish`` to the command line."""
    parser = commands.add_parser(
        "publish",
        help="run a job into a table that is paid for once",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add_job_arguments(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        type=output_file,
        help="table to make: .csv, .parquet, .arrow or .db (CSV under a name that ends in nothing known; .xlsx, .json, "
        ".gz and the like are refused); default: the job's [output]",
    )
    parser.add_argument(
        "--into",
        metavar="DB",
        type=Path,
        help="add the rows to a table of this SQLite file as well, in one transaction and once for each id",
    )
    parser.add_argument("--table", metavar="NAME", help="the table of --into; default: the budget's name")
    parser.add_argument("--json", action="store_true", help="print the metadata as one JSON object")


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise publish``."""
    if args.table is not None and args.into is None:
        raise UsageError("--table: it is a table of --into")
    job = Job.load(args.job, id=args.id, date=args.date)
    size = job.input.stat().st_size if job.input.is_file() else 0
    before = job.is_published()
    with Progress(job.input.name, size) as progress:
        snapshot = job.run(args.output, tell=progress.update)
    table = args.output or job.output or snapshot.path  # as it was given: the snapshot's own path is absolute
    if args.into is not None:
        try:
            snapshot.to_sqlite(args.into, args.table or job.budget)
        except OSError as error:
            told = f"published as {table}, but not added to this file: {error.strerror or error}"
            raise OSError(error.errno, told, str(args.into)) from None
        except (SchemaError, SnapshotDamaged) as error:
            raise type(error)(f"published as {table}, but not added to {args.into}: {error}") from None
        except ValueError as error:
            raise UsageError(f"published as {table}, but not added to {args.into}: {error}") from None
    try:
        added = "" if args.into is None else f"\n{args.into}: its rows are in table {args.table or job.budget}"
        say(json.dumps(snapshot.metadata) if args.json else _summary(snapshot, table, job, before) + added)
    except (OSError, KeyboardInterrupt):  # no failure: it is published
        complain("published; could not print the summary")


def _summary(snapshot: Snapshot, table: Path, job: Job, before: bool) -> str:
    metadata = snapshot.metadata
    price = ", ".join(
        f"{name} {metadata[name]}" for name in ("epsilon", "delta", "rho") if metadata[name] not in (None, "0")
    )
    paid = "paid before: nothing was spent or drawn" if before else f"from {job.budget} in {job.ledger}"
    return (
        f"{table}: {metadata['rows']} rows, published as {snapshot.id}{' before, unchanged' * before}\n"
        f"price: {price}, {paid}\n"
        f"{metadata_path(table)}: the guarantee, for whoever uses the table"
    )
