"""SQLite tables, by the standard library.

Any column of SQLite can hold any value. A column that is declared as one of integers is read as such; otherwise numbers
are read as doubles. A value of another type is a missing one.

SQLite's own error texts may quote values (those of a view's functions do), so that none of them is passed on.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactnoise.errors import SchemaError
from exactnoise.publish.files.cells import as_text, cells_of
from exactnoise.publish.files.table import Chunk, Kind, Table, found

__all__ = ["SqliteTable", "SqliteWriter", "quoted", "read_sqlite"]

_ROWS = 2**14
#: SQLite's result codes that are about the file's place and not about what is in it.
_OS_ERRORS = {
    sqlite3.SQLITE_BUSY: errno.EBUSY,
    sqlite3.SQLITE_LOCKED: errno.EBUSY,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_READONLY: errno.EACCES,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
}
_DTYPES: Mapping[str, tuple[type, type[Any]]] = {"INTEGER": (int, np.int64), "REAL": (float, np.float64)}
_TYPES = {"i": "INTEGER", "b": "INTEGER", "f": "REAL"}


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


class SqliteTable(Table):
    """Some columns of a table or view."""

    def __init__(
        self,
        path: Path,
        table: str | None,
        columns: Mapping[str, Kind],
        *,
        others: bool = False,
        rows: int | None = None,
    ) -> None:
        super().__init__(path, 0)
        self._rows = rows or _ROWS
        path.open("rb").close()  # for an error that says what is wrong
        self._path, self.table = path, table or ""
        with self._readable():
            uri = f"{path.absolute().as_uri()}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self._connection.text_factory = lambda data: data.decode(errors="replace")
        try:
            with self._readable():
                self.table = self._found_table(table)
                described = self._connection.execute(f"PRAGMA table_info({quoted(self.table)})").fetchall()
            names, types = [row[1] for row in described], [str(row[2]).upper() for row in described]
            places = {name: found(self.name, name, names, f"table {self.table!r}") for name in columns}
            if others:
                places = {name: i for i, name in enumerate(names)}
            self._converters = {
                name: _converter(columns.get(name), types[i], f"{self.name}: column {name!r}")
                for name, i in places.items()
            }
        except BaseException:
            self._connection.close()
            raise

    @property
    def position(self) -> int:
        return 0

    def empty(self) -> Chunk:
        return self._chunk([])

    def chunks(self) -> Iterator[Chunk]:
        names = ", ".join(map(quoted, self._converters)) or "1"
        with self._readable():
            cursor = self._connection.execute(f"SELECT {names} FROM {quoted(self.table)}")
            while rows := cursor.fetchmany(self._rows):
                yield self._chunk(rows)

    def close(self) -> None:
        self._connection.close()

    def _chunk(self, rows: Sequence[Sequence[Any]]) -> Chunk:
        convert = self._converters.items()
        return Chunk(len(rows), {name: f([row[i] for row in rows]) for i, (name, f) in enumerate(convert)})

    def _found_table(self, table: str | None) -> str:
        tables = [
            row[0] for row in self._connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
        ]
        if table is None and len(tables) == 1:
            return str(tables[0])
        if table is None:
            raise SchemaError(
                f'{self.name} has {len(tables)} tables: say which one (--table NAME; in a job table = "NAME" under '
                "[input])"
            )
        if table not in tables:
            raise SchemaError(f"{self.name}: there is no table {table!r} (case matters)")
        return table

    def _readable(self) -> contextlib.AbstractContextManager[None]:
        table = f" (table {self.table!r})" if self.table else ""
        return _in_our_words(self._path, f"{self.name}{table} cannot be read as an SQLite database")


@contextlib.contextmanager
def _in_our_words(path: Path, problem: str) -> Iterator[None]:
    """Errors of SQLite without their texts: as those of the operating system, or with the name of the result code."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if (number := _OS_ERRORS.get(code & 0xFF)) is not None:
            raise OSError(number, os.strerror(number), str(path)) from None
        name = getattr(error, "sqlite_errorname", "SQLITE_ERROR")
        raise SchemaError(f"{problem} ({name})") from None


def _converter(kind: Kind | None, declared: str, where: str) -> Any:
    if kind is None:
        return list
    is_integer = "INT" in declared
    # How SQLite itself tells the affinity of a column.
    is_text = any(word in declared for word in ("CHAR", "CLOB", "TEXT"))
    if kind in ("texts", "dates", "times") and is_integer:
        raise SchemaError(f"{where} is declared {declared}, its keys are {kind}")
    is_real = any(word in declared for word in ("REAL", "FLOA", "DOUB"))
    if kind in ("integers", "exact") and (is_text or is_real):
        raise SchemaError(f"{where} is declared {declared}, where whole numbers are needed")
    if kind == "exact" or (kind == "number" and is_integer):
        return _exact
    if kind == "number":
        return _numbers
    if kind == "person":
        return list
    if kind == "integers":
        return lambda values: [value if type(value) is int else None for value in values]
    if kind == "booleans":
        return lambda values: [bool(value) if type(value) is int and value in (0, 1) else None for value in values]
    convert = cells_of(kind)
    if kind == "texts":
        return lambda values: [value if type(value) is str else None for value in values]
    return lambda values: convert([value if type(value) is str else "" for value in values])


def _exact(values: Sequence[Any]) -> Any:
    missing = [type(value) is not int for value in values]
    filled = [0 if absent else value for value, absent in zip(values, missing, strict=True)]
    return np.ma.MaskedArray(np.array(filled, np.int64), mask=missing)


def _numbers(values: Sequence[Any]) -> Any:
    try:
        return np.fromiter(values, np.float64, len(values))
    except (TypeError, ValueError):  # NULL, text or bytes
        return cells_of("number")([str(value) if isinstance(value, (int, float, str)) else "" for value in values])


class SqliteWriter:
    """A new database of one table, written in one transaction."""

    def __init__(self, path: Path, table: str = "release") -> None:
        self._path, self._table = path, table
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._insert: str | None = None
        self._names: list[str] = []
        # Whoever puts the finished file in place forces it to the disk.
        for pragma in ("journal_mode = OFF", "synchronous = OFF"):
            self._connection.execute(f"PRAGMA {pragma}")
        self._connection.execute("BEGIN")

    def write(self, columns: Mapping[str, Any]) -> None:
        with self._writable():
            if self._insert is None:
                self._names = list(columns)
                declared = ", ".join(f"{quoted(name)} {_type(columns[name])}".strip() for name in self._names)
                self._connection.execute(f"CREATE TABLE {quoted(self._table)} ({declared})")
                marks = ", ".join("?" * len(self._names))
                self._insert = f"INSERT INTO {quoted(self._table)} VALUES ({marks})"
            rows = zip(*(_values(columns[name]) for name in self._names), strict=True)
            self._connection.executemany(self._insert, rows)

    def close(self) -> None:
        with contextlib.closing(self._connection), self._writable():
            self._connection.execute("COMMIT")

    def _writable(self) -> contextlib.AbstractContextManager[None]:
        return _in_our_words(self._path, f"{self._path.name} cannot be written as an SQLite database")


def _values(column: Any) -> list[Any]:
    values = (
        column.to_pylist()
        if hasattr(column, "to_pylist")
        else np.asarray(column).tolist()
        if isinstance(column, np.ndarray)
        else list(column)
    )
    return [value if _can_be_held(value) else as_text(value) for value in values]


def _can_be_held(value: Any) -> bool:
    return -(2**63) <= value < 2**63 if isinstance(value, int) else isinstance(value, (float, str, bytes, type(None)))


def _type(column: Any) -> str:
    if isinstance(column, np.ndarray) and column.dtype.kind in _TYPES:
        return _TYPES[column.dtype.kind]
    values = _values(column)
    kinds = {type(value) for value in values if value is not None}
    return "INTEGER" if kinds <= {int, bool} and kinds else "REAL" if kinds <= {int, float} and kinds else "TEXT"


def read_sqlite(path: Path, table: str = "release") -> dict[str, Any]:
    """Read a released table: columns of integers as int64, of numbers as float64, others as lists."""
    path.open("rb").close()  # for an error that says what is wrong
    with (
        _in_our_words(path, f"{path.name} cannot be read as a released table"),
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection,
    ):
        rows = connection.execute(f"SELECT * FROM {quoted(table)}").fetchall()
        described = connection.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    columns = {row[1]: [cells[i] for cells in rows] for i, row in enumerate(described)}
    for row in described:
        kinds = {type(value) for value in columns[row[1]]}
        if row[2] in _DTYPES and kinds <= {_DTYPES[row[2]][0]}:  # any column of SQLite can hold any value
            columns[row[1]] = np.array(columns[row[1]], _DTYPES[row[2]][1])  # type: ignore[assignment]
    return columns
