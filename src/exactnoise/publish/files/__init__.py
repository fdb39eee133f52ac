"""Files that are read and written: CSV and SQLite by the standard library, Parquet and Arrow IPC by the extra `files`.

What is read is recognised by its first bytes, what is written by the ending of its name.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import numpy as np

from exactnoise.errors import SchemaError
from exactnoise.publish.files.csv_files import CsvTable, CsvWriter, read_csv
from exactnoise.publish.files.table import Chunk, Kind, Table

__all__ = [
    "ENDINGS",
    "Chunk",
    "Format",
    "Kind",
    "Table",
    "Writer",
    "check_writable",
    "format_for",
    "format_inside",
    "format_named",
    "joined",
    "open_table",
    "open_writer",
    "read_columns",
]

Format = Literal["csv", "sqlite", "parquet", "arrow"]

ENDINGS: Mapping[str, Format] = {
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}
"""Ending of a file's name -> format."""

# A table under such a name would be opened as what it is not, and a release has its name for good.
_OTHER_FORMATS = re.compile(
    r"\.(xls[xmb]?|ods|(geo)?jsonl?|ndjson|tsv|tab|xml|html?|pdf|gz|bz2|xz|zip|zst|7z|tar|tgz|"
    r"orc|avro|h5|hdf5|np[yz]|pkl|pickle|rds|rdata|dta|sav|sas7bdat|duckdb|mdb|accdb)",
    re.IGNORECASE,
)
_FIRST_BYTES: Mapping[bytes, Format] = {b"SQLite format 3\0": "sqlite", b"PAR1": "parquet", b"ARROW1": "arrow"}


class Writer(Protocol):
    """What `open_writer` returns. The same columns always make the same bytes."""

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows: columns of equal length, of the names and types of the first call."""

    def close(self) -> None:
        """Finish the file. It has not been forced to the disk."""


def format_named(path: Path) -> Format | None:
    """The format that the ending of a name stands for; None for an unknown one."""
    return ENDINGS.get(path.suffix.lower())


def format_for(path: Path, form: Format | None = None) -> Format:
    """The format to write: the one asked for, else what the name ends in, else CSV.

    Raises
    ------
    ValueError
        The format asked for is none of these, or none is and the name ends in one that is not written.
    """
    if form not in (None, *get_args(Format)):
        raise ValueError(f"format must be one of {', '.join(get_args(Format))}, got {form!r}")
    if form is None and _OTHER_FORMATS.fullmatch(path.suffix):
        raise ValueError(
            f"{path.name}: {path.suffix} is a format that is not written; take .csv, .parquet, .arrow or .db"
        )
    return form or format_named(path) or "csv"


def format_inside(path: Path) -> Format:
    """The format of a file by its first bytes; a file without any, and a pipe, by its name; else CSV."""
    if not path.is_file():
        return format_named(path) or "csv"
    with path.open("rb") as file:
        first = file.read(16)
    known = next((known for magic, known in _FIRST_BYTES.items() if first.startswith(magic)), None)
    return known or (format_named(path) if not first else None) or "csv"


def open_table(
    path: Path, *, table: str | None = None, columns: Mapping[str, Kind], others: bool = False, rows: int | None = None
) -> Table:
    """Open a file to read some of its columns, chunk by chunk.

    Parameters
    ----------
    path : Path
    table : str, optional
        In an SQLite file; needed where there are several.
    columns : mapping of str to Kind
        The columns to read and what for.
    others : bool
        Read all other columns too, as they are, and all in the file's order.
    rows : int, optional
        Of a chunk, at most.

    Returns
    -------
    Table

    Raises
    ------
    SchemaError
        The file is of no readable format, or a column is not there exactly once, or its declared type does not fit.
    MissingExtra
        The format needs the extra `files`.
    OSError
        The file cannot be opened.
    """
    form = format_inside(path)
    if form == "csv":
        return CsvTable(path, columns, others=others, rows=rows)
    if form == "sqlite":
        from exactnoise.publish.files.sqlite_files import SqliteTable

        return SqliteTable(path, table, columns, others=others, rows=rows)
    from exactnoise.publish.files.arrow_files import ArrowTable

    return ArrowTable(path, columns, parquet=form == "parquet", others=others, rows=rows)


def joined(columns: Sequence[Any]) -> Any:
    """The columns of several chunks of a table as one; lists apart."""
    if not all(isinstance(column, np.ndarray) for column in columns):
        from exactnoise.publish.files.arrow_files import chunked

        return chunked(columns)
    join: Any = np.ma.concatenate if isinstance(columns[0], np.ma.MaskedArray) else np.concatenate
    return join(columns)


def open_writer(path: Path, form: Format | None = None, *, table: str = "release") -> Writer:
    """Create a file that columns are appended to.

    Parameters
    ----------
    path : Path
        An existing file is replaced.
    form : {"csv", "sqlite", "parquet", "arrow"}, optional
        By default as `format_for` says.
    table : str
        The table's name in an SQLite file.

    Returns
    -------
    Writer
    """
    form = format_for(path, form)
    if form == "csv":
        return CsvWriter(path)
    if form == "sqlite":
        from exactnoise.publish.files.sqlite_files import SqliteWriter

        return SqliteWriter(path, table)
    from exactnoise.publish.files.arrow_files import ArrowWriter

    return ArrowWriter(path, parquet=form == "parquet")


def check_writable(columns: Mapping[str, Any], path: Path, form: Format | None = None) -> None:
    """Find out whether a file of the format can hold such columns, before anything is paid for.

    Raises
    ------
    SchemaError
        A name, or a value of these, that it cannot hold: as two names that differ in case only in SQLite.
    MissingExtra
        The format needs the extra `files`.
    """
    form = format_for(path, form)
    with tempfile.TemporaryDirectory() as folder:
        try:
            with contextlib.closing(open_writer(Path(folder, f"columns.{form}"), form)) as writer:
                writer.write(columns)
        except (OverflowError, TypeError, ValueError):
            raise SchemaError(
                f"{path.name}: {form} cannot hold these columns: their names must differ (in SQLite by more than case) "
                "and be of usual characters, and there must not be too many"
            ) from None


def read_columns(path: Path, *, table: str = "release") -> dict[str, Any]:
    """Read all of a released file.

    Returns
    -------
    dict of str to ndarray or list
        int64 and float64 for columns of numbers, lists for others.

    Raises
    ------
    SchemaError, MissingExtra, OSError
        As for `open_table`.
    """
    form = format_inside(path)
    if form == "csv":
        return read_csv(path)
    if form == "sqlite":
        from exactnoise.publish.files.sqlite_files import read_sqlite

        return read_sqlite(path, table)
    from exactnoise.publish.files.arrow_files import read_arrow

    return read_arrow(path, parquet=form == "parquet")
