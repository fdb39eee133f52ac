"""``exactnoise noise``: exact numbers in a column of a table in, noisy ones out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.cli.arguments import input_file, output_file
from exactnoise.cli.cells import parse_integers, parse_reals
from exactnoise.cli.console import complain, say
from exactnoise.cli.errors import SENSITIVITY, UsageError, refuse_missing
from exactnoise.cli.ledger_file import opened_budget
from exactnoise.cli.noise_source import Source, ahead, open_source, refuse_no_rows
from exactnoise.cli.progress import Progress
from exactnoise.cli.release_files import ReleaseFiles
from exactnoise.cli.table import Parse, Table
from exactnoise.errors import BudgetExceeded
from exactnoise.ledger import LedgerBudget
from exactnoise.ledger.store import unfit
from exactnoise.mechanisms import AdditiveMechanism, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from exactnoise.publish import publish
from exactnoise.publish.durable import check_folder
from exactnoise.publish.files import Format, check_writable, format_for, format_inside, open_writer
from exactnoise.publish.files.csv_files import csv_text
from exactnoise.publish.metadata import describe, metadata_path

__all__ = ["add_command"]

_MECHANISMS: dict[str, Any] = {
    "discrete-laplace": DiscreteLaplace,
    "laplace": Laplace,
    "gaussian": Gaussian,
    "discrete-gaussian": DiscreteGaussian,
}
_ON_INTEGERS = ("discrete-laplace", "discrete-gaussian")
_WITH_DELTA = ("gaussian", "discrete-gaussian")
_LOSS = "say the privacy loss, or --rho instead for Gaussian noise"
# Rows in memory at a time: few enough to stay in the cache, where a row takes half the time.
_CHUNK = 4096

_DESCRIPTION = """\
Add noise to one column of exact numbers, as one differentially private release.
IN is CSV, SQLite, Parquet or Arrow IPC, and is recognised by its content; OUT is
what its name ends in (.csv, .db, .parquet, .arrow). The last two need the extra
"files". Under a name that ends in nothing known it is CSV; one of another format
(.xlsx, .json, .gz) is refused.

Every other column, and the order of the rows, stays as it is: row labels must
be public, and so must the fact that a row is there. The noise protects the
numbers in the column, nothing else.

Beside OUT the command writes OUT.release.json: what was released, under which
guarantee, with the exact scale and the table's sha256. Both files appear
together when all is done; a failed or interrupted run leaves nothing.
"""

_EPILOG = """\
examples:
  counts, where one person changes one count by one
    exactnoise noise visits.csv -o visits-noisy.csv --column visits \\
        --sensitivity 1 --epsilon 0.5

  counts, where one person visits at most three sites
    exactnoise noise visits.csv -o visits-noisy.csv --column visits \\
        --sensitivity 3 --epsilon 0.5 --neighbors add-remove --unit person

  sums of money, where one customer moves the sums by at most 500 in all
    exactnoise noise sums.csv -o sums-noisy.csv --column total \\
        --mechanism laplace --sensitivity 500 --epsilon 1 --granularity 0.25

  Gaussian noise: the sensitivity is then in L2, sqrt(3) for three counts by one,
  rounded up (1.7320508 would be too small)
    exactnoise noise visits.csv -o visits-noisy.csv --column visits \\
        --mechanism discrete-gaussian --sensitivity 1.7320509 --epsilon 1 --delta 1e-6

  the same for a budget in rho (zCDP), where Gaussian noise costs least
    exactnoise noise visits.csv -o visits-noisy.csv --column visits \\
        --mechanism discrete-gaussian --sensitivity 1.7320509 --rho 0.05

  a nightly run, paid for from a budget that is kept: the same id is never released
  twice, and running it again returns the same table
    exactnoise ledger create privacy.db --budget visits --epsilon 10 \\
        --neighbors add-remove --unit person
    exactnoise noise visits.parquet -o visits-noisy.parquet --column visits \\
        --sensitivity 1 --epsilon 0.5 --ledger privacy.db --budget visits --id 2026-11-30

Without a ledger, running it again on the same data is another release: the
epsilons add up.

In CSV a cell that is not a number, or a row of another width than the header, ends the
run with exit code 4, before anything is paid for from a ledger; so does a table
without rows, in any format. Messages tell the line and column, never a value. In the
other formats the column's type is checked, and what is missing, or not of that type
in SQLite, counts as --nan says.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``noise`` to the command line."""
    parser = commands.add_parser(
        "noise",
        help="add noise to one column of a table",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add(
        "input",
        metavar="IN",
        type=input_file,
        help="table: CSV (UTF-8, with a header line), SQLite, Parquet, Arrow; /dev/stdin from a pipe, CSV to CSV only",
    )
    add("-o", "--output", metavar="OUT", type=output_file, required=True, help="table to make")
    add("--column", metavar="NAME", required=True, help="the column that gets the noise")

    group = parser.add_argument_group("privacy (exact decimals or fractions: 0.1, 1e-6, 1/3)")
    add = group.add_argument
    add(
        "--sensitivity",
        metavar="S",
        help="needed: how much one person can change the column in total: the sum of the changes of all "
        "cells, or the root of the sum of their squares with Gaussian noise",
    )
    add("--epsilon", metavar="E", help="privacy loss of the whole column")
    add("--delta", metavar="D", help="belongs to the epsilon of gaussian and discrete-gaussian, such as 1e-6")
    add(
        "--rho",
        metavar="R",
        help="instead of --epsilon and --delta: privacy loss of Gaussian noise in zCDP, for a budget that counts so",
    )
    add(
        "--mechanism",
        choices=list(_MECHANISMS),
        default="discrete-laplace",
        help="discrete-laplace (the default) and discrete-gaussian take and make whole numbers; laplace "
        "and gaussian take and make real ones",
    )
    add(
        "--granularity",
        metavar="G",
        help="grid of the released numbers, a power of two, for laplace and gaussian; the default "
        "is about a millionth of the scale",
    )
    add(
        "--nan",
        metavar="V",
        default="0",
        help="public number that stands for a missing cell (empty, NA or NaN) before the noise; default 0",
    )

    add("--table", metavar="NAME", help="table of an SQLite file, if it has several")

    group = parser.add_argument_group("ledger (the release is paid for, once)")
    add = group.add_argument
    add("--ledger", metavar="FILE", type=Path, help="file of budgets; exactnoise ledger create makes one")
    add("--budget", metavar="NAME", help="the budget in it that pays")
    add("--data-version", metavar="TEXT", type=_name, help="which data it is; default: the id")

    group = parser.add_argument_group("for the record")
    add = group.add_argument
    add(
        "--neighbors",
        choices=["add-remove", "replace-one"],
        help="neighbouring relation the sensitivity is meant for",
    )
    add(
        "--unit",
        metavar="NAME",
        type=_name,
        help="whom the guarantee protects: person, household, row",
    )
    add("--id", metavar="ID", type=_name, help="name of the release; default: a random one; needed with a ledger")
    add("--label", metavar="TEXT", type=_utf8, help="a note")

    group = parser.add_argument_group("running")
    add = group.add_argument
    add("--force", action="store_true", help="replace OUT and its metadata if they exist")
    add("--json", action="store_true", help="print one JSON object (the metadata, or the error)")


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise noise``. All that is public is checked before the first draw."""
    mechanism, parse = _mechanism_and_parser(args)
    _check_ledger_options(args)
    try:
        form = format_for(args.output)
    except ValueError as error:
        raise UsageError(str(error)) from None
    before = False
    if args.ledger is not None:
        document, before = _published(args, mechanism, parse)
    elif form == format_inside(args.input) == "csv":
        document = _csv_to_csv(args, mechanism, parse)
    else:
        document = _released(args, mechanism, _source(args, parse), form)
    try:
        say(json.dumps(document) if args.json else _summary(mechanism, args.output, document["rows"], before))
    except (OSError, KeyboardInterrupt):  # no failure: who runs it again pays for it again
        complain("released; could not print the summary")


def _source(args: argparse.Namespace, parse: Parse) -> Source:
    whole = args.mechanism in _ON_INTEGERS
    return open_source(
        args.input,
        args.column,
        args.table,
        parse=parse,
        whole=whole,
        missing=_whole_number(args.nan, args.mechanism) if whole else 0,
        instead=args.mechanism.removeprefix("discrete-"),
    )


def _csv_to_csv(args: argparse.Namespace, mechanism: AdditiveMechanism, parse: Parse) -> dict[str, Any]:
    """Everything but the column stays as it was, byte for byte."""
    with (
        Table(args.input, args.column) as table,
        ReleaseFiles(args.output, force=args.force, source=table.stat) as files,
    ):
        rows = _release(table, files, mechanism, parse)
        refuse_no_rows(args.input, rows)
        return files.commit(_description(args, mechanism, rows))


def _released(args: argparse.Namespace, mechanism: AdditiveMechanism, source: Source, form: Format) -> dict[str, Any]:
    with ReleaseFiles(args.output, force=args.force, source=source.stat) as files:
        writer = open_writer(files.unfinished, form)
        rows = 0
        with closing(writer), ahead(source.noisy(mechanism)) as batches:
            for batch in batches:
                writer.write(batch)
                rows += len(batch[args.column])
        refuse_no_rows(args.input, rows)
        return files.commit(_description(args, mechanism, rows))


def _published(args: argparse.Namespace, mechanism: AdditiveMechanism, parse: Parse) -> tuple[dict[str, Any], bool]:
    """Released once for its id, paid for from a ledger, and whether it was before; then it needs its input no more."""
    price = {name: getattr(args, name) for name in ("epsilon", "delta", "rho") if getattr(args, name) is not None}
    budget = opened_budget(args.ledger, args.budget, amounts=price, neighbors=args.neighbors, unit=args.unit)
    for name in ("neighbors", "unit"):
        said, true = getattr(args, name), getattr(budget, name)
        if said is not None and said != true:
            raise UsageError(f"--{name}: the budget {args.budget!r} has {true!r}")
    _check_currency(budget, PrivacyCost(**price))
    reservation = budget.ledger.reservation(args.id)
    source, before = None, reservation is not None and reservation.state == "committed"
    if not before:
        source = _source(args, parse)
        source.check()
        check_writable(source.empty(mechanism), args.output)
        check_folder(args.output)

    def make(purse: PrivacyBudget) -> Iterator[Mapping[str, Any]]:
        assert source is not None  # else it is published, and this is not called
        purse.spend(mechanism, label=args.column)
        with ahead(source.noisy(mechanism)) as batches:
            yield from batches

    query = {"column": args.column, "mechanism": repr(mechanism), "nan": args.nan, "label": args.label}
    version = args.data_version or args.id
    snapshot = publish(args.output, make, id=args.id, data_version=version, budget=budget, query=query, **price)
    return snapshot.metadata, before


def _check_currency(budget: LedgerBudget, cost: PrivacyCost) -> None:
    """Refuse a price of another kind than the budget counts; what has been paid for is no matter of amounts."""
    try:
        budget.check(cost)
    except BudgetExceeded:
        pass  # not if it has been paid for already
    except (TypeError, ValueError):
        total = budget.total
        if total.rho is not None:
            say_instead = "the budget counts in rho: say --rho, with --mechanism gaussian or discrete-gaussian"
        elif not total.delta:
            say_instead = "the budget is of pure epsilon, without any delta: say --epsilon, with a Laplace mechanism"
        else:
            say_instead = "the budget counts epsilon and delta: say --epsilon, and --delta for Gaussian noise"
        raise UsageError(f"--budget {budget.name}: {say_instead}") from None


def _description(args: argparse.Namespace, mechanism: AdditiveMechanism, rows: int) -> dict[str, Any]:
    return describe(
        mechanism,
        release_id=args.id,
        label=args.label,
        column=args.column,
        rows=rows,
        missing=args.nan,
        neighbors=args.neighbors,
        unit=args.unit,
    )


def _check_ledger_options(args: argparse.Namespace) -> None:
    if args.ledger is None:
        for name in ("budget", "data_version"):
            if getattr(args, name) is not None:
                raise UsageError(
                    f"--{name.replace('_', '-')}: it is for a release that a ledger pays for; give --ledger"
                )
        return
    if missing := [f"--{name}" for name in ("budget", "id") if getattr(args, name) is None]:
        raise UsageError(f"--ledger: needs {' and '.join(missing)} as well")
    if args.force:
        raise UsageError("--force: what a ledger paid for is never replaced")


def _utf8(text: str) -> str:
    """An option that is written to the metadata; its bytes may have been anything."""
    if not text.strip():
        raise argparse.ArgumentTypeError("must not be empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("must be UTF-8 text") from None
    return text


def _name(text: str) -> str:
    """An option that a ledger has to hold as well."""
    if problem := unfit(_utf8(text)):
        raise argparse.ArgumentTypeError(problem)
    return text


def _mechanism_and_parser(args: argparse.Namespace) -> tuple[AdditiveMechanism, Parse]:
    """What draws the noise, and what turns the column's cells into its input."""
    for name in ("delta", "rho"):
        if getattr(args, name) is not None and args.mechanism not in _WITH_DELTA:
            raise UsageError(
                f"--{name}: {args.mechanism} has no {name}; it is for --mechanism gaussian or discrete-gaussian"
            )
    if args.rho is not None and args.epsilon is not None:
        raise UsageError(f"--epsilon: {_LOSS}")
    if args.rho is not None and args.delta is not None:
        raise UsageError("--delta: it belongs to --epsilon; rho has none")
    refuse_missing(_missing(args))
    parameters = {"sensitivity": args.sensitivity}
    parameters |= {"epsilon": args.epsilon} if args.rho is None else {"rho": args.rho}
    parse: Parse
    if args.delta is not None:
        parameters["delta"] = args.delta
    if args.mechanism in _ON_INTEGERS:
        if args.granularity is not None:
            raise UsageError("--granularity: it is for --mechanism laplace and gaussian")
        instead = args.mechanism.removeprefix("discrete-")
        parse = partial(parse_integers, missing=_whole_number(args.nan, args.mechanism), instead=instead)
    else:
        parse = parse_reals
        parameters |= {"granularity": args.granularity, "nan": _real_number(args.nan)}
    try:
        return _MECHANISMS[args.mechanism](**parameters), parse
    except (TypeError, ValueError) as error:
        raise UsageError(str(error)) from None


def _missing(args: argparse.Namespace) -> dict[str, str]:
    needed = {}
    if args.sensitivity is None:
        needed["--sensitivity"] = SENSITIVITY
    if args.epsilon is None and args.rho is None:
        needed["--epsilon"] = _LOSS
    if args.delta is None and args.rho is None and args.mechanism in _WITH_DELTA:
        needed["--delta"] = f"{args.mechanism} needs one, the probability that belongs to epsilon; such as 1e-6"
    return needed


def _whole_number(text: str, mechanism: str) -> int:
    """``--nan`` for whole numbers; the mechanism itself replaces missing values by 0 only."""
    try:
        value = int(text)
    except ValueError:
        raise UsageError(f"--nan: {mechanism} needs a whole number, got {text!r}") from None
    if not -(2**63) <= value < 2**63:
        raise UsageError(f"--nan: must fit in 64 bits, got {text}")
    return value


def _real_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--nan: must be a number, got {text!r}") from None


def _release(table: Table, files: ReleaseFiles, mechanism: AdditiveMechanism, parse: Parse) -> int:
    """Copy `table` with noise in its column; returns the number of rows.

    The chunks are one release: the noise of every cell is independent of all others, and the
    sensitivity is that of the whole column.
    """
    index, count = table.index, 0
    header = table.prefix + csv_text([table.header], table.line_break)
    files.write(header.encode())
    with Progress(table.name, table.stat.st_size) as progress:
        for rows, values in table.chunks(_CHUNK, parse):
            noisy = mechanism.release(values, budget=None).tolist()
            for row, value in zip(rows, noisy, strict=True):
                row[index] = value
            files.write(csv_text(rows, table.line_break).encode())
            progress.update(table.bytes_read)
            count += len(rows)
    return count


def _summary(mechanism: AdditiveMechanism, path: Path, rows: int, before: bool) -> str:
    return (
        f"{path}: {rows} rows, released once with {mechanism!r}{', before: nothing was spent or drawn' * before}\n"
        f"95 % of the cells are within {mechanism.half_width():.4g} of the exact number "
        f"(standard deviation {mechanism.std:.4g})\n"
        f"{metadata_path(path)}: the guarantee, for whoever uses the table"
    )
