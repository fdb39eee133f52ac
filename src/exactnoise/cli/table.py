"""A CSV file read once, front to back, in chunks of rows."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from exactnoise.cli.cells import CellError
from exactnoise.cli.errors import ContentError
from exactnoise.publish.files.csv_files import SAVE_AS_CSV, refuse_what_is_no_csv
from exactnoise.publish.files.table import columns_told, separator_told

__all__ = ["Parse", "Row", "Table"]

Row = list[Any]  # text as it was read, with numbers put in by the caller
Parse = Callable[[Sequence[str]], NDArray[Any]]

_BOM = "\ufeff"
_LINE_BREAK = re.compile(r"\r\n?|\n")
_LINE_BREAK_BYTES = re.compile(rb"\r\n?|\n")
# A number, also as ($12.50), "7" or -, or what stands where one is missing. It can be anywhere in a cell: what
# separates a row may be no comma, so that a cell here is several of the row's.
_LIKE_DATA = re.compile(r"\b(\d|(inf(inity)?|n\W?a|nan|null|none)\b)|[;:|\t]|\A\W*\Z", re.IGNORECASE)
_LONGEST_FIELD = 2**24  # characters; Python's own 2**17 is less than a polygon or a document takes


class Table:
    """The header and one numeric column of a UTF-8 CSV file.

    The byte-order mark and the kind of line break are kept in `prefix` and `line_break`, so that a
    copy can be written the way the original was; `stat` tells which file it is, under any name.

    Parameters
    ----------
    path : Path
        The file; anything that can be opened and read once.
    column : str
        Name of the column, exactly once in the header.

    Raises
    ------
    ContentError
        The file is empty, is no CSV, or its header does not have the column exactly once.
    SchemaError
        The file is of another format.
    OSError
        The file cannot be opened or read.
    """

    def __init__(self, path: Path, column: str) -> None:
        self.column = column
        self.name = path.name
        # The limit is the process's. It is never lowered, for whoever has raised it further.
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_FIELD))
        self._binary = path.open("rb")
        try:
            self.stat = os.fstat(self._binary.fileno())
            refuse_what_is_no_csv(path, self._binary.peek())
            text = io.TextIOWrapper(self._binary, encoding="utf-8", newline="")
            first = self._first_line(text)
            self.prefix = _BOM if first.startswith(_BOM) else ""
            self.line_break = "\r\n" if first.endswith("\r\n") else "\n"
            lines = chain([first.removeprefix(_BOM)], text)
            self._reader = csv.reader(lines, strict=True)
            self._text = text  # closes the file when it is collected, so it must live as long
            self.header = self._read(1)[0]
            self.index = self._find(column)
        except BaseException:
            self._binary.close()
            raise

    def __enter__(self) -> Table:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._binary.close()

    @property
    def bytes_read(self) -> int:
        """How far reading has come; 0 where the file has no position (a pipe)."""
        return self._binary.tell() if self._binary.seekable() else 0

    def chunks(self, size: int, parse: Parse) -> Iterator[tuple[list[Row], NDArray[Any]]]:
        """Up to `size` rows at a time, with the column's cells parsed by `parse`.

        Raises
        ------
        ContentError
            A row of the wrong width or a cell that `parse` refuses, by line and column name.
        """
        width = len(self.header)
        while True:
            line = self._reader.line_num + 1
            rows = self._read(size)
            if not rows:
                return
            if set(map(len, rows)) != {width}:
                bad = next(i for i, row in enumerate(rows) if len(row) != width)
                raise ContentError(
                    f"line {_line_of(rows, bad, line)} has {len(rows[bad])} columns, the header has {width}"
                )
            index = self.index
            try:
                values = parse([row[index] for row in rows])
            except CellError as error:
                raise ContentError(
                    f"line {_line_of(rows, error.index, line)}, column {self.column!r}: not {error.expected}"
                ) from None
            yield rows, values

    def _first_line(self, text: io.TextIOWrapper) -> str:
        try:
            first = next(text, "")
        except UnicodeDecodeError as error:
            raise _not_utf8(error, lines_read=0) from None
        if not first.removeprefix(_BOM).strip():
            raise ContentError("the first line is empty: it should be the header")
        return first

    def _read(self, size: int) -> list[Row]:
        try:
            return list(islice(self._reader, size))
        except UnicodeDecodeError as error:
            raise _not_utf8(error, lines_read=self._reader.line_num) from None
        except csv.Error as error:  # its own texts quote no data
            line = self._reader.line_num
            raise ContentError(f"line {line} cannot be read as CSV: {error}") from None

    def _find(self, column: str) -> int:
        times = self.header.count(column)
        if times != 1:
            problem = "is not in the header" if times == 0 else f"is in the header {times} times"
            told = self._told(column) if times == 0 else ""
            raise ContentError(f"column {column!r} {problem} (line 1, case matters){told}")
        return self.header.index(column)

    def _told(self, column: str) -> str:
        """What may help with a column that is not in the header."""
        if (told := separator_told(self.header)) is not None:
            return f"; {told}"
        # Without a header the column's first number is here, or is missing.
        if any(map(_LIKE_DATA.search, self.header)):
            return "; what line 1 has is not told, as it may be a row: a cell is empty, or has a number or a separator"
        return f"; {columns_told(column, self.header)}"


def _not_utf8(error: UnicodeDecodeError, lines_read: int) -> ContentError:
    """`error`, whose own text quotes the bytes, by line.

    A block of the file is decoded when all whole lines before it are read.
    """
    breaks = len(_LINE_BREAK_BYTES.findall(error.object, 0, error.start))
    return ContentError(f"line {lines_read + breaks + 1} is not UTF-8 text; {SAVE_AS_CSV}")


def _line_of(rows: Sequence[Row], index: int, first_line: int) -> int:
    """Line of the file on which rows[index] starts; quoted fields may hold line breaks."""
    breaks = sum(len(_LINE_BREAK.findall(field)) for row in rows[:index] for field in row)
    return first_line + index + breaks
