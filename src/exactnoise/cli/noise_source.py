"""Where ``exactnoise noise`` gets exact numbers from: batches of all columns of any format, one of them noisy."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from exactnoise.cli.errors import ContentError, UsageError
from exactnoise.cli.progress import Progress
from exactnoise.cli.table import Parse, Table
from exactnoise.errors import SchemaError
from exactnoise.mechanisms import AdditiveMechanism
from exactnoise.mechanisms._data import DECIMALS
from exactnoise.publish import files

__all__ = ["Source", "TextSource", "TypedSource", "ahead", "open_source", "refuse_no_rows"]

_CSV_ROWS = 4096
_ROWS = 2**18
_AHEAD = 2  # batches

Batch = Mapping[str, Any]
T = TypeVar("T")


class Source(Protocol):
    """A table whose schema has been checked."""

    stat: os.stat_result

    def check(self) -> None:
        """Raise for a cell that `noisy` would raise for, and where there is no row."""

    def empty(self, mechanism: AdditiveMechanism) -> Batch:
        """All columns, without rows."""

    def noisy(self, mechanism: AdditiveMechanism) -> Iterator[Batch]:
        """All columns, in the file's order, with noise in the one. All batches together are one release."""


class TextSource:
    """CSV, in which every cell of the column has to be a number or missing."""

    def __init__(self, path: Path, column: str, parse: Parse) -> None:
        self._path, self._column, self._parse = path, column, parse
        with self._open() as table:
            self.stat = table.stat
            names = table.header
            if len(set(names)) < len(names):
                raise SchemaError(f"{path.name}: two columns have one name, which only a CSV file can have")

    def check(self) -> None:
        with self._open() as table:
            rows = sum(len(rows) for rows, _ in table.chunks(_CSV_ROWS, self._parse))
        refuse_no_rows(self._path, rows)

    def empty(self, mechanism: AdditiveMechanism) -> Batch:
        with self._open() as table:
            none = mechanism.release(self._parse([]), budget=None)
            return {name: none if name == self._column else [] for name in table.header}

    def noisy(self, mechanism: AdditiveMechanism) -> Iterator[Batch]:
        with self._open() as table, Progress(table.name, table.stat.st_size) as progress:
            for rows, values in table.chunks(_CSV_ROWS, self._parse):
                columns: dict[str, Any] = dict(zip(table.header, map(list, zip(*rows, strict=True)), strict=True))
                columns[self._column] = mechanism.release(values, budget=None)
                yield columns
                progress.update(table.bytes_read)

    def _open(self) -> Table:
        return Table(self._path, self._column)


class TypedSource:
    """Parquet, Arrow IPC and SQLite: the column's type is checked; a missing whole number counts as `missing`."""

    def __init__(self, path: Path, column: str, table: str | None, *, whole: bool, missing: int, instead: str) -> None:
        self._path, self._column, self._table = path, column, table
        self._kind: files.Kind = "exact" if whole else "number"
        self._whole, self._missing = whole, missing
        self.stat = path.stat()
        with self._open() as opened:
            self._check_type(opened.empty().columns[column], instead)

    def check(self) -> None:
        with self._open() as table:  # values of the column's type, whatever they are, can be released
            refuse_no_rows(self._path, next((chunk.rows for chunk in table.chunks() if chunk.rows), 0))

    def empty(self, mechanism: AdditiveMechanism) -> Batch:
        with self._open() as table:
            return self._with_noise(table.empty(), mechanism)

    def noisy(self, mechanism: AdditiveMechanism) -> Iterator[Batch]:
        with self._open() as table, Progress(table.name, table.size) as progress:
            for chunk in table.chunks():
                yield self._with_noise(chunk, mechanism)
                progress.update(table.position)

    def _with_noise(self, chunk: files.Chunk, mechanism: AdditiveMechanism) -> Batch:
        exact = self._filled(chunk.columns[self._column])
        return {**chunk.columns, self._column: mechanism.release(exact, budget=None)}

    def _filled(self, values: Any) -> Any:
        if not self._whole:
            return values  # the mechanism has its own replacement
        if isinstance(values, np.ma.MaskedArray):
            return values.filled(self._missing)
        if isinstance(values, np.ndarray):
            return values
        filled = values.fill_null(0).to_numpy()
        exact = (np.minimum(filled, np.uint64(2**63 - 1)) if filled.dtype == np.uint64 else filled).astype(np.int64)
        exact[np.asarray(values.is_null())] = self._missing
        return exact

    def _check_type(self, none: Any, instead: str) -> None:
        kind = str(getattr(none, "type", None) or none.dtype)
        numbers = kind.lstrip("u").startswith("int")
        if not numbers and (self._whole or not kind.startswith(("float", "double", "halffloat"))):
            hint = f" (for real numbers say --mechanism {instead})" if kind.startswith(("float", "double")) else ""
            hint = f"; {DECIMALS}" if kind.startswith("decimal") else hint
            what = "whole numbers" if self._whole else "numbers"
            raise SchemaError(
                f"{self._path.name}: column {self._column!r} must be of {what}, and is of type {kind}{hint}"
            )

    def _open(self) -> files.Table:
        return files.open_table(
            self._path, table=self._table, columns={self._column: self._kind}, others=True, rows=_ROWS
        )


def open_source(
    path: Path, column: str, table: str | None, *, parse: Parse, whole: bool, missing: int, instead: str
) -> Source:
    """Check a table's schema: that the column is there, once, and is one of (whole) numbers."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UsageError(
            f"{path} is no file: only from CSV to CSV, without a ledger, can IN be a pipe, as it is read twice"
        )
    if files.format_inside(path) == "csv":
        return TextSource(path, column, parse)
    return TypedSource(path, column, table, whole=whole, missing=missing, instead=instead)


def refuse_no_rows(path: Path, rows: int) -> None:
    """Refuse a table without rows, whose number is public: nobody meant to pay for it."""
    if not rows:
        raise ContentError(f"{path.name} has no rows: nothing was released, nothing was spent")


class _EndError(Exception):
    """All batches have been made."""


@contextmanager
def ahead(batches: Iterable[T]) -> Iterator[Iterator[T]]:
    """The batches, which another thread makes while the ones before are used."""
    made: queue.Queue[T | BaseException] = queue.Queue(_AHEAD)
    stopped = threading.Event()

    def put(item: T | BaseException) -> bool:
        while not stopped.is_set():
            try:
                made.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def make() -> None:
        try:
            for batch in batches:
                if not put(batch):
                    return
            put(_EndError())
        except BaseException as error:  # raised where the batches are used
            put(error)

    def used() -> Iterator[T]:
        while True:
            item = made.get()
            if isinstance(item, _EndError):
                return
            if isinstance(item, BaseException):
                raise item
            yield item

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        yield used()
    finally:
        stopped.set()
        thread.join()
