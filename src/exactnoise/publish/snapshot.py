"""A published table: frozen, free to read, and checkable."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from exactnoise.aggregates import Mean, Variance
from exactnoise.errors import SnapshotDamaged
from exactnoise.ledger import Ledger
from exactnoise.ledger.store import APPLICATION, checked_text
from exactnoise.mechanisms._parameters import checked_alpha
from exactnoise.mechanisms.base import AdditiveMechanism
from exactnoise.publish.durable import sha256_of
from exactnoise.publish.files import read_columns
from exactnoise.publish.files.sqlite_files import quoted
from exactnoise.publish.metadata import FORMAT, mechanism_of, metadata_path

__all__ = ["Snapshot"]

_ID = "release_id"
_BUSY_SECONDS = 60.0
_KINDS = {"i": "INTEGER", "u": "INTEGER", "f": "REAL"}


class Snapshot:
    """A released table and its metadata. Reading, plotting and computing with it cost nothing.

    Attributes
    ----------
    path : Path
        The table.
    metadata : dict
        How it was made and what may be promised about it: the content of ``NAME.release.json``.
    """

    def __init__(self, path: Path, metadata: dict[str, Any]) -> None:
        self.path = path
        self.metadata = metadata

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Snapshot:
        """Return the snapshot under a name.

        Raises
        ------
        FileNotFoundError
            There is no table.
        SnapshotDamaged
            It has no metadata that can be read.
        """
        table = Path(path)
        table.stat()
        if not table.is_file():
            raise SnapshotDamaged(f"{table} is no file: it is no snapshot")
        if not metadata_path(table).is_file():
            raise SnapshotDamaged(f"{table} has no {metadata_path(table).name} beside it: it is no snapshot")
        try:
            metadata = json.loads(metadata_path(table).read_bytes())
        except (ValueError, RecursionError):
            metadata = None
        if (
            not isinstance(metadata, dict)
            or metadata.get("format") != FORMAT
            or not isinstance(metadata.get("id"), str)
        ):
            raise SnapshotDamaged(f"{metadata_path(table)} is not the metadata of a release")
        return cls(table, metadata)

    @property
    def id(self) -> str:
        """The release's name in the ledger."""
        return str(self.metadata["id"])

    def verify(self, ledger: Ledger | None = None, *, tell: Callable[[int], object] = lambda read: None) -> None:
        """Check that the table is what was released.

        Parameters
        ----------
        ledger : Ledger, optional
            Compare with what was committed in it as well: metadata can be changed together with a table, the ledger's
            entries cannot be changed unnoticed.
        tell : callable, optional
            Called now and then with the number of the table's bytes that have been read, for a progress bar.

        Raises
        ------
        SnapshotDamaged
            Table, metadata and ledger do not agree.
        LedgerDamaged, LedgerUnavailable
            The ledger itself is not as it was written, or cannot be read.
        """
        if ledger is not None and not isinstance(ledger, Ledger):
            raise TypeError(f"ledger must be a Ledger, such as Ledger('privacy.db'), got {type(ledger).__name__}")
        table = sha256_of(self.path, tell)
        if table is None or table != self.metadata.get("sha256"):
            raise SnapshotDamaged(f"{self.path} is not what was released: its sha256 is not the one in its metadata")
        if ledger is None:
            return
        ledger.verify()
        entry = ledger.reservation(self.id)
        if entry is None or entry.state != "committed":
            raise SnapshotDamaged(f"{self.path}: nothing was committed under the id {self.id!r} in {ledger.path}")
        digests = {"sha256": table, "metadata_sha256": sha256_of(metadata_path(self.path))}
        for name, digest in digests.items():
            if entry.outcome[name] != digest:
                which = "table" if name == "sha256" else "metadata"
                raise SnapshotDamaged(f"{self.path}: its {which} is not what was committed in {ledger.path}")

    def read(self) -> dict[str, Any]:
        """Return the columns by name: arrays of numbers, and lists of anything else.

        Raises
        ------
        SnapshotDamaged
            The table is not what was released.
        """
        self.verify()
        return read_columns(self.path)

    def interval(self, alpha: float = 0.05) -> dict[str, tuple[Any, Any]]:
        """Return where the exact values are with probability at least 1 - alpha, a column.

        Parameters
        ----------
        alpha : float
            Between 0 and 1; 0.05 means 95 %. It is about each cell by itself.

        Returns
        -------
        dict of str to (low, high)
            Of every column whose error is known. A column with noise of one mechanism gets that mechanism's interval;
            one with noise of several, such as a mean, its standard error divided by sqrt(alpha) on either side
            (Chebyshev's inequality), which holds to first order as the standard error does. No interval of a mean or
            a variance leaves what their bounds allow.
        """
        alpha = checked_alpha(alpha)
        columns = self.read()
        intervals = {}
        for statistic in self._statistics():
            name = statistic.get("column")
            if name in columns:
                interval = _interval(columns[name], columns.get(str(statistic.get("std_error"))), statistic, alpha)
                if interval is not None:
                    intervals[name] = interval
        return intervals

    def _statistics(self) -> list[dict[str, Any]]:
        """The statistics of the table; a release of a single column is described as a whole."""
        single = {"column": self.metadata.get("column"), "mechanism": [self.metadata.get("mechanism_repr")]}
        statistics: list[dict[str, Any]] = self.metadata.get("statistics", [single])
        return statistics

    def to_sqlite(self, db: str | os.PathLike[str], table: str) -> None:
        """Put the rows into a table of an SQLite file: all or none of them, and only once.

        Parameters
        ----------
        db : path
            The file; it is made where there is none.
        table : str
            The table; it is made where there is none. It has the snapshot's columns, and ``release_id`` before them,
            which tells the rows of several snapshots apart. Rows of this id that are there already stay as they are.

        Raises
        ------
        SnapshotDamaged
            The snapshot is not what was released.
        ValueError
            The table has other columns.
        FileExistsError
            The file is a ledger or a released table, neither of which is written to.
        OSError
            The file cannot be opened or written, or is locked.
        """
        file, table = Path(db), checked_text(table, "table")
        if file.name and any(os.path.lexists(metadata_path(path)) for path in (file, file.resolve())):
            raise _taken(db, "is a released table, which never changes")
        columns = self.read()
        if _ID in columns:
            raise ValueError(f"the snapshot has a column {_ID!r}, which is the name of its id in an SQLite table")
        values = [column.tolist() if isinstance(column, np.ndarray) else list(column) for column in columns.values()]
        with (
            _as_os_error(db),
            contextlib.closing(sqlite3.connect(db, timeout=_BUSY_SECONDS, isolation_level=None)) as connection,
        ):
            connection.execute("BEGIN IMMEDIATE")  # closing without a COMMIT rolls back
            if connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION:
                raise _taken(db, "is a ledger, which a table more would damage")
            _make_table(connection, table, columns)
            there = f"SELECT 1 FROM {quoted(table)} WHERE {_ID} = ? LIMIT 1"
            if connection.execute(there, (self.id,)).fetchone() is None:
                marks = ", ".join("?" * (len(values) + 1))
                rows = ((self.id, *map(_storable, row)) for row in zip(*values, strict=True))
                connection.executemany(f"INSERT INTO {quoted(table)} VALUES ({marks})", rows)
            connection.execute("COMMIT")

    def __repr__(self) -> str:
        return f"<Snapshot {self.id!r}: {self.path}>"


def _interval(values: Any, std_errors: Any, statistic: Mapping[str, Any], alpha: float) -> tuple[Any, Any] | None:
    mechanisms = [mechanism_of(pasted) for pasted in statistic.get("mechanism") or ()]
    only = mechanisms[0] if len(mechanisms) == 1 else None
    additive = only if isinstance(only, AdditiveMechanism) else None
    errors = None if std_errors is None else np.asarray(std_errors, np.float64)
    if additive is not None and (errors is None or np.all(errors == additive.std)):
        low, high = additive.interval(values, alpha)
        return low, high
    if errors is None:
        return None
    least, most = _possible(statistic)
    half = errors / math.sqrt(alpha) if additive is None else errors * (additive.half_width(alpha) / additive.std)
    # Errors that were cut to what is possible tell no more; many rows leave half of it for the variance of a sample.
    half = np.where(errors < (most - least) / 2, half, np.inf)
    return np.clip(values - half, least, most), np.clip(values + half, least, most)


def _possible(statistic: Mapping[str, Any]) -> tuple[float, float]:
    """Between which values the cells of a statistic lie, by its public bounds."""
    try:
        match statistic.get("statistic"):
            case "mean":
                return Mean(bounds=statistic["bounds"])._possible()
            case "variance":
                return Variance(bounds=statistic["bounds"], ddof=statistic["ddof"])._possible()
    except (KeyError, TypeError, ValueError):  # whoever made the table says what they like
        pass
    return -math.inf, math.inf


def _make_table(connection: sqlite3.Connection, table: str, columns: Mapping[str, Any]) -> None:
    there = [row[1] for row in connection.execute(f"PRAGMA table_info({quoted(table)})")]
    if there:
        if there != [_ID, *columns]:
            raise ValueError(f"the table {table!r} has other columns than {_ID} and those of the snapshot")
        return
    kinds = [_KINDS.get(column.dtype.kind, "") if isinstance(column, np.ndarray) else "" for column in columns.values()]
    declared = ", ".join(f"{quoted(name)} {kind}".rstrip() for name, kind in zip(columns, kinds, strict=True))
    connection.execute(f"CREATE TABLE {quoted(table)} ({_ID} TEXT NOT NULL, {declared})")
    connection.execute(f"CREATE INDEX {quoted(table + '_' + _ID)} ON {quoted(table)} ({_ID})")


def _taken(db: str | os.PathLike[str], by: str) -> FileExistsError:
    return FileExistsError(errno.EEXIST, f"{by}: name another file", os.fspath(db))


def _storable(value: Any) -> Any:
    """What SQLite has a type for, or its text."""
    return value if value is None or isinstance(value, (int, float, str, bytes)) else str(value)


@contextlib.contextmanager
def _as_os_error(db: str | os.PathLike[str]) -> Any:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(f"{os.fspath(db)} cannot be written to: SQLite reports {error}") from None
