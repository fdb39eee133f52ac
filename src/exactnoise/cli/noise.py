"""``exactnoise noise``: exact numbers in a CSV column in, noisy ones out."""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from exactnoise.cli.cells import parse_integers, parse_reals
from exactnoise.cli.console import complain, say
from exactnoise.cli.errors import UsageError
from exactnoise.cli.progress import Progress
from exactnoise.cli.release_files import ReleaseFiles
from exactnoise.cli.table import Parse, Row, Table
from exactnoise.mechanisms import AdditiveMechanism, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
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
# Rows in memory at a time: few enough to stay in the cache, where a row takes half the time.
_CHUNK = 4096

_DESCRIPTION = """\
Add noise to one column of exact numbers, as one differentially private release.

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

Running it again on the same data is another release: the epsilons add up.

A cell that is not a number, or a row of another width than the header, ends the
run with exit code 4. Messages tell the line and column, never a value.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``noise`` to the command line."""
    parser = commands.add_parser(
        "noise",
        help="add noise to one column of a CSV file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add = parser.add_argument
    add("input", metavar="IN", type=Path, help="CSV file with a header line, UTF-8")
    add("-o", "--output", metavar="OUT", type=Path, required=True, help="CSV file to make")
    add("--column", metavar="NAME", required=True, help="the column that gets the noise")

    group = parser.add_argument_group("privacy (exact decimals or fractions: 0.1, 1e-6, 1/3)")
    add = group.add_argument
    add(
        "--sensitivity",
        metavar="S",
        required=True,
        help="how much one person can change the column in total: the sum of the changes of all "
        "cells, or the root of the sum of their squares with Gaussian noise",
    )
    add("--epsilon", metavar="E", required=True, help="privacy loss of the whole column")
    add("--delta", metavar="D", help="needed by gaussian and discrete-gaussian, such as 1e-6; the others have none")
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

    group = parser.add_argument_group("for the record (metadata only)")
    add = group.add_argument
    add(
        "--neighbors",
        choices=["add-remove", "replace-one"],
        help="neighbouring relation the sensitivity is meant for",
    )
    add(
        "--unit",
        metavar="NAME",
        type=_utf8,
        help="whom the guarantee protects: person, household, row",
    )
    add("--id", metavar="ID", type=_utf8, help="name of the release; default: a random one")
    add("--label", metavar="TEXT", type=_utf8, help="a note")

    group = parser.add_argument_group("running")
    add = group.add_argument
    add("--force", action="store_true", help="replace OUT and its metadata if they exist")
    add("--json", action="store_true", help="print one JSON object (the metadata, or the error)")


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise noise``. All that is public is checked before the first draw."""
    mechanism, parse = _mechanism_and_parser(args)
    with (
        Table(args.input, args.column) as table,
        ReleaseFiles(args.output, force=args.force, source=table.stat) as files,
    ):
        rows = _release(table, files, mechanism, parse)
        summary = _summary(mechanism, args.output, rows)
        document = files.commit(
            describe(
                mechanism,
                release_id=args.id,
                label=args.label,
                column=args.column,
                rows=rows,
                missing=args.nan,
                neighbors=args.neighbors,
                unit=args.unit,
            )
        )
    try:
        say(json.dumps(document) if args.json else summary)
    except (OSError, KeyboardInterrupt):  # no failure: who runs it again pays for it again
        complain("released; could not print the summary")


def _utf8(text: str) -> str:
    """An option that is written to the metadata; its bytes may have been anything."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("must be UTF-8 text") from None
    return text


def _mechanism_and_parser(args: argparse.Namespace) -> tuple[AdditiveMechanism, Parse]:
    """What draws the noise, and what turns the column's cells into its input."""
    if args.delta is not None and args.mechanism not in _WITH_DELTA:
        raise UsageError(f"--delta: {args.mechanism} has no delta; it is for --mechanism gaussian or discrete-gaussian")
    if args.delta is None and args.mechanism in _WITH_DELTA:
        raise UsageError(f"--delta: {args.mechanism} needs one, the probability that belongs to epsilon; such as 1e-6")
    parameters = {"sensitivity": args.sensitivity, "epsilon": args.epsilon}
    parse: Parse
    if args.mechanism in _WITH_DELTA:
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
    header = table.prefix + _csv([table.header], table.line_break)
    files.write(header.encode())
    with Progress(table.name, table.stat.st_size) as progress:
        for rows, values in table.chunks(_CHUNK, parse):
            noisy = mechanism.release(values, budget=None).tolist()
            for row, value in zip(rows, noisy, strict=True):
                row[index] = value
            files.write(_csv(rows, table.line_break).encode())
            progress.update(table.bytes_read)
            count += len(rows)
    return count


def _csv(rows: Sequence[Row], line_break: str) -> str:
    text = _plain_csv(rows, line_break)
    if line_break == "\n" and "\r" in text:
        # The writer of Python 3.11 quotes a carriage return only if it is part of the line break.
        return "".join(_plain_csv([row], "\r\n").removesuffix("\r\n") + "\n" for row in rows)
    return text


def _plain_csv(rows: Iterable[Row], line_break: str) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=line_break).writerows(rows)
    return buffer.getvalue()


def _summary(mechanism: AdditiveMechanism, path: Path, rows: int) -> str:
    return (
        f"{path}: {rows} rows, released once with {mechanism!r}\n"
        f"95 % of the cells are within {mechanism.half_width():.4g} of the exact number "
        f"(standard deviation {mechanism.std:.4g})\n"
        f"{metadata_path(path)}: the guarantee, for whoever uses the table"
    )
