"""CSV: UTF-8 with a header line, comma-separated; a byte-order mark and either kind of line break are read.

Reading is total below the header. A row that is too short lacks the cells at its end, what a row has beyond the header
is not looked at, bytes that are no UTF-8 become U+FFFD, and a record that cannot be read (a field longer than 2^24
characters) is a row of missing values. Blank lines are no rows.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from exactnoise.errors import SchemaError
from exactnoise.publish.files.cells import as_text, cells_of
from exactnoise.publish.files.table import Chunk, Kind, Table, found

__all__ = ["SAVE_AS_CSV", "CsvTable", "CsvWriter", "csv_text", "read_csv", "refuse_what_is_no_csv"]

_ROWS = 2**14  # few enough to stay in the cache
_LONGEST_FIELD = 2**24
#: How files begin that are taken for CSV by mistake. None of it begins a header that is likely.
_NO_CSV = (
    (re.compile(rb"PK\x03\x04"), "a zip archive, as an Excel file is"),
    (re.compile(rb"\xd0\xcf\x11\xe0"), "an Excel file"),
    (re.compile(rb"\x1f\x8b|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd"), "compressed"),
    (re.compile(rb"(\xef\xbb\xbf)?\s*(\{\s*[\"}]|\[\s*[\[{\"\]])"), "JSON"),
    (re.compile(rb"\xff\xfe|\xfe\xff|[^\n]*\0"), "UTF-16 or no text at all, not UTF-8"),
)

SAVE_AS_CSV = "save the file as CSV in UTF-8"


class CsvTable(Table):
    """Some columns of a CSV file."""

    def __init__(
        self, path: Path, columns: Mapping[str, Kind], *, others: bool = False, rows: int | None = None
    ) -> None:
        self._rows = rows or _ROWS
        # The limit is the process's. It is never lowered, for whoever has raised it further.
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        self._binary = path.open("rb")
        try:
            super().__init__(path, os.fstat(self._binary.fileno()).st_size)
            refuse_what_is_no_csv(path, self._binary.peek())
            text = io.TextIOWrapper(self._binary, encoding="utf-8-sig", errors="replace", newline="")
            self._text = text  # closes the file when it is collected, so it must live as long
            self._reader = csv.reader(text)
            header = self._header()
            places = {name: found(self.name, name, header, "the header", public=False) for name in columns}
            if others:
                places = {name: i for i, name in enumerate(header)}
            self._cells = {name: (i, cells_of(columns.get(name, "texts"))) for name, i in places.items()}
        except BaseException:
            self._binary.close()
            raise

    @property
    def position(self) -> int:
        return self._binary.tell() if self._binary.seekable() else 0

    def empty(self) -> Chunk:
        return self._chunk([])

    def chunks(self) -> Iterator[Chunk]:
        while rows := self._read():
            yield self._chunk([row for row in rows if row])

    def close(self) -> None:
        self._binary.close()

    def _header(self) -> list[str]:
        try:
            header = next(self._reader, [])
        except csv.Error:
            header = []
        if {"\0", "\ufffd"} & set("".join(header)):  # UTF-16 has the one or the other, Latin-1 the other
            raise SchemaError(f"{self.name}: the first line is not UTF-8 text; {SAVE_AS_CSV}")
        if not any(map(str.strip, header)):
            raise SchemaError(f"{self.name}: the first line is empty: it should be the header")
        return header

    def _read(self) -> list[list[str]]:
        rows: list[list[str]] = []
        while True:
            try:
                rows.extend(itertools.islice(self._reader, self._rows - len(rows)))
                return rows
            except csv.Error:  # the reader goes on with the next line
                rows.append([""])

    def _chunk(self, rows: Sequence[Sequence[str]]) -> Chunk:
        return Chunk(len(rows), {name: cells(_column(rows, i)) for name, (i, cells) in self._cells.items()})


def refuse_what_is_no_csv(path: Path, beginning: bytes) -> None:
    """Name the format of a file that is another, before any of it is taken for a header.

    Raises
    ------
    SchemaError
    """
    for first, what in _NO_CSV:
        if first.match(beginning):
            raise SchemaError(f"{path.name} is {what}; {SAVE_AS_CSV}")


def _column(rows: Sequence[Sequence[str]], index: int) -> list[str]:
    try:
        return [row[index] for row in rows]
    except IndexError:
        return [row[index] if index < len(row) else "" for row in rows]


class CsvWriter:
    """Writes columns of equal length, chunk by chunk, as UTF-8 with line feeds; floats read back exactly."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self._names: list[str] | None = None

    def write(self, columns: Mapping[str, Any]) -> None:
        if self._names is None:
            self._names = list(columns)
            self._file.write(csv_text([self._names]).encode())
        cells = [_as_cells(columns[name]) for name in self._names]
        self._file.write(csv_text(zip(*cells, strict=True)).encode())

    def close(self) -> None:
        self._file.close()


def csv_text(rows: Iterable[Sequence[Any]], line_break: str = "\n") -> str:
    """Rows as CSV."""
    if line_break == "\r\n":
        return _plain(rows, line_break)
    rows = list(rows)
    text = _plain(rows, line_break)
    if "\r" in text:
        # The writer of Python 3.11 quotes a carriage return only if it is part of the line break.
        return "".join(_plain([row], "\r\n").removesuffix("\r\n") + "\n" for row in rows)
    return text


def _plain(rows: Iterable[Sequence[Any]], line_break: str) -> str:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator=line_break).writerows(rows)
    return buffer.getvalue()


def _as_cells(column: Any) -> Iterable[Any]:
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return list(column.tolist())
    if hasattr(column, "to_pylist"):
        column = column.to_pylist()
    elif isinstance(column, np.ndarray):
        column = column.tolist()
    return map(_cell, column)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if value is None or isinstance(value, (str, int, float)) else as_text(value)


def read_csv(path: Path) -> dict[str, Any]:
    """Read a released CSV file: columns of whole numbers as int64, of numbers as float64, others as lists of text."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = csv.reader(file, strict=True)
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(header)
        named = dict(zip(header, columns, strict=True))
    except (csv.Error, ValueError):  # their texts may quote what is there
        raise SchemaError(f"{path.name} is no table in CSV and UTF-8, of a header and rows as long as it") from None
    return {name: _typed(cells) for name, cells in named.items()}


def _typed(cells: Sequence[str]) -> Any:
    for dtype, convert in ((np.int64, int), (np.float64, float)):
        try:
            return np.array([convert(cell) for cell in cells], dtype)
        except (ValueError, OverflowError):
            continue
    return list(cells)
