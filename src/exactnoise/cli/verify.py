"""``exactnoise verify``: a table, its metadata and the ledger's entry agree."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from exactnoise.cli.console import say
from exactnoise.cli.errors import UsageError
from exactnoise.cli.ledger_file import opened
from exactnoise.cli.progress import Progress
from exactnoise.publish import Snapshot
from exactnoise.publish.metadata import metadata_path

__all__ = ["add_command"]

_METADATA = metadata_path(Path("x")).name.removeprefix("x")

_DESCRIPTION = """\
Check that a released table is what was released: its sha256 is the one in the
metadata beside it, and with --ledger both are what was committed there, in a chain
of entries that nobody has changed since.
"""

_EPILOG = """\
examples:
  exactnoise verify visits.csv                       table and metadata
  exactnoise verify visits.csv --ledger privacy.db   and the ledger's entry

Exit code 4 says that they do not agree.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``verify`` to the command line."""
    parser = commands.add_parser(
        "verify",
        help="check that a released table is what was released",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    parser.add_argument("table", metavar="OUT", type=Path, help="the table")
    parser.add_argument("--ledger", metavar="FILE", type=Path, help="the ledger that paid for it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise verify``."""
    if not metadata_path(args.table).exists() and args.table.name.endswith(_METADATA):
        raise UsageError(f"{args.table} is the metadata of a table: say {args.table.name.removesuffix(_METADATA)}")
    snapshot = Snapshot.open(args.table)
    ledger = None if args.ledger is None else opened(args.ledger)
    with Progress(args.table.name, args.table.stat().st_size) as progress:
        snapshot.verify(ledger, tell=progress.update)
    checked = ["table", "metadata"] + (["ledger"] if args.ledger is not None else [])
    if args.json:
        say(json.dumps({"id": snapshot.id, "path": str(args.table), "agree": checked}))
        return
    lines = [f"{args.table}: release {snapshot.id}; {', '.join(checked[:-1])} and {checked[-1]} agree"]
    if args.ledger is None and snapshot.metadata.get("ledger"):
        lines.append("a ledger paid for it: --ledger FILE compares with its entry too")
    say("\n".join(lines))
