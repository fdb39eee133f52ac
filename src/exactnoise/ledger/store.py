"""The file of a ledger: an SQLite table to which entries are appended, each sealed with the digest of the one before.

A connection lives for one transaction, so that there is none for a forked process to inherit or for threads to share.
A fork waits for a transaction that is under way in another thread: what SQLite knows of its locks is the process's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from exactnoise.errors import LedgerDamaged, LedgerUnavailable
from exactnoise.ledger.disk import folder_to_disk, network_file_system

__all__ = ["Entry", "Line", "Rows", "canonical", "checked_text", "open_or_create", "transaction", "unfit"]

APPLICATION = 0x456E4C31
_VERSION = 1
#: How long to wait for another process's transaction, which takes milliseconds.
BUSY_SECONDS = 60.0

_SCHEMA = (
    """CREATE TABLE entries (
        sequence INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        budget TEXT,
        id TEXT,
        attempt INTEGER,
        details TEXT NOT NULL,
        digest TEXT NOT NULL
    )""",
    # Idempotence is a fact of the database: a budget is created once, a release is committed once, and an attempt at
    # one is reserved once and ends once.
    "CREATE UNIQUE INDEX one_budget ON entries (budget) WHERE kind = 'budget'",
    "CREATE UNIQUE INDEX one_release ON entries (id) WHERE kind = 'committed'",
    "CREATE UNIQUE INDEX one_reservation ON entries (id, attempt) WHERE kind = 'reserved'",
    "CREATE UNIQUE INDEX one_end ON entries (id, attempt) WHERE kind IN ('committed', 'charged', 'voided')",
    "CREATE TRIGGER no_change BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END",
    "CREATE TRIGGER no_removal BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'a ledger is only added to'); END",
)
_COLUMNS = "sequence, kind, budget, id, attempt, details, digest"

_DECODER = json.JSONDecoder()
_TEXT, _NUMBER = (str, type(None)), (int, type(None))
_json_text = json.encoder.encode_basestring_ascii

_transactions = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_transactions.acquire,
        after_in_parent=_transactions.release,
        after_in_child=_transactions.release,
    )


class Entry(NamedTuple):
    """One line of a ledger: never changed, never removed.

    Attributes
    ----------
    sequence : int
        Its number, from 1: the order of entries, whatever the clock said.
    kind : str
        "ledger" (its first entry), "budget" (created), "cap" (raised), or the state of a reservation: "reserved",
        "held" (by another process, or by none), "committed", "charged" or "voided".
    budget, id : str or None
        Whose entry it is.
    attempt : int or None
        How many times the id was reserved, voided ones included.
    details : dict
        The rest: amounts as exact text, the time, who, why.
    digest : str
        The sha256 of the digest before it and of all of the above.
    """

    sequence: int
    kind: str
    budget: str | None
    id: str | None
    attempt: int | None
    details: dict[str, Any]
    digest: str


class Line(NamedTuple):
    """An entry as the file holds it: `Entry`, but that its details are JSON that is read when it is asked for."""

    sequence: int
    kind: str
    budget: str | None
    id: str | None
    attempt: int | None
    written: str
    digest: str

    @property
    def details(self) -> dict[str, Any]:
        """The details; a ValueError where they are none, which nothing that `Rows` appends can cause."""
        details, end = _DECODER.raw_decode(self.written)
        if end != len(self.written) or not isinstance(details, dict):
            raise ValueError
        return details

    @property
    def entry(self) -> Entry:
        """The same with its details."""
        return Entry(*self[:5], self.details, self.digest)


class Rows:
    """The entries of an open file, within a transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def since(self, sequence: int, digest: str) -> Iterator[Line]:
        """Lines after the one of this number and digest, each checked against the one before.

        Raises
        ------
        LedgerDamaged
            The chain is broken.
        """
        query = f"SELECT {_COLUMNS} FROM entries WHERE sequence >= ? ORDER BY sequence"
        rows = iter(self._connection.execute(query, (sequence,)))
        if sequence:
            known = next(rows, None)
            if known is None or known[0] != sequence or known[-1] != digest:
                raise LedgerDamaged(f"{self._path}: entry {sequence} is gone or changed since it was read")
        for line in map(Line._make, rows):
            sequence += 1
            if line.sequence != sequence or not _as_written(line) or line.digest != _seal_of(digest, line):
                raise LedgerDamaged(f"{self._path}: entry {sequence} is not what was written: the ledger was changed")
            digest = line.digest
            yield line

    def append(self, after: Line | None, kind: str, budget: str | None, name: str | None, attempt: int | None,
               details: Mapping[str, Any]) -> Line:  # fmt: skip
        """Add an entry after the last one; its time is added to `details`."""
        sequence, digest = (after.sequence, after.digest) if after else (0, "")
        written = canonical({**details, "time": datetime.now(UTC).isoformat(timespec="seconds")})
        line = Line(sequence + 1, kind, budget, name, attempt, written, "")
        line = line._replace(digest=_seal_of(digest, line))
        self._connection.execute(f"INSERT INTO entries ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", line)
        return line

    def check_pages(self) -> None:
        """Raise a LedgerDamaged where SQLite finds the file's pages or indexes damaged."""
        for (finding,) in self._connection.execute("PRAGMA integrity_check(1)"):
            if finding != "ok":
                raise LedgerDamaged(f"{self._path}: SQLite finds the file damaged")


def canonical(document: Any) -> str:
    """JSON that is the same for equal documents."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)


def checked_text(value: Any, name: str) -> str:
    """Text that an entry can hold and that says something."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {value!r} of type {type(value).__name__}")
    if problem := unfit(value):
        raise ValueError(f"{name} {problem}")
    return value


def unfit(text: str) -> str | None:
    """Why no entry can hold a text: "must not be empty"."""
    kinds = set(map(unicodedata.category, text))
    if not text.strip():
        return "must not be empty"
    if "Cc" in kinds:
        return f"must not have line breaks or other control characters, got {text!r}"
    if "Cs" in kinds:
        return f"must be text that UTF-8 can hold, got {text!r}"
    return None


def _as_written(line: Line) -> bool:
    number, kind, budget, name, attempt, written, _ = line
    return (
        type(number) is int
        and type(kind) is type(written) is str
        and type(budget) in _TEXT
        and type(name) in _TEXT
        and type(attempt) in _NUMBER
    )


def _seal_of(before: str, line: Line) -> str:
    """The digest of the one before, of the first five columns as `canonical` writes a list of them, and of the rest."""
    number, kind, budget, name, attempt, written, _ = line
    facts = f"[{number},{_json(kind)},{_json(budget)},{_json(name)},{'null' if attempt is None else attempt}]"
    return hashlib.sha256(f"{before}\n{facts}\n{written}".encode()).hexdigest()


def _json(text: str | None) -> str:
    return "null" if text is None else _json_text(text)


def open_or_create(path: Path, first: Mapping[str, Any]) -> None:
    """Check that the file is a ledger; where there is none make one, with a first entry.

    Raises
    ------
    LedgerDamaged
        The file is no ledger, or one of another version.
    LedgerUnavailable
        It cannot be opened, there is no folder for it, or the folder is on a network file system.
    """
    kind = network_file_system(path.parent)
    if kind is not None:
        raise LedgerUnavailable(
            f"the ledger {path} would be on a network file system ({kind}), whose locks cannot be relied on: two "
            "processes could spend the same; put it on a local disk"
        )
    if not os.path.lexists(path):
        _create(path, first)
    with transaction(path, write=False):
        pass


@contextlib.contextmanager
def transaction(path: Path, *, write: bool) -> Iterator[Rows]:
    """One transaction, committed at the end and rolled back on an exception.

    One that writes has the ledger to itself from the start, so that nothing that it read can have changed when it
    writes.
    """
    with _transactions, _told(path), contextlib.closing(_connected(path)) as connection:
        _check_kind(connection, path)
        connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            yield Rows(connection, path)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _connected(path: Path) -> sqlite3.Connection:
    # Never created here: a ledger appears whole or not at all. EXTRA is FULL, and what was committed also stays so when
    # the power fails right after.
    connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = EXTRA")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path) -> None:
    if path.stat().st_size == 0:
        raise LedgerDamaged(f"{path} is empty, which no ledger ever is: delete it if it never was one")
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise LedgerDamaged(f"{path} is an SQLite file, but no ledger")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version != _VERSION:
        raise LedgerDamaged(f"{path} is a ledger of version {version}; this package reads version {_VERSION}")
    asked = ("journal_mode", "page_count", "page_size")
    mode, pages, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked)
    if mode != "wal" and path.stat().st_size < pages * size:  # whoever changed the mode has pages in another file
        raise LedgerDamaged(f"{path} is damaged: its end is cut off")
    # A trigger more or an index less, and what is written would not be what is read.
    found = connection.execute("SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND sql IS NOT NULL")
    if sorted(sql for (sql,) in found) != sorted(_SCHEMA):
        raise LedgerDamaged(f"{path} is damaged: its tables, indexes and triggers are not those of a ledger")


def _create(path: Path, first: Mapping[str, Any]) -> None:
    with _transactions, _told(path):
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent)  # mode 0600
        os.close(handle)
        made = Path(name)
        try:
            with contextlib.closing(_connected(made)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                for statement in _SCHEMA:
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {_VERSION}")
                Rows(connection, path).append(None, "ledger", None, None, None, first)
                connection.execute("COMMIT")
            with contextlib.suppress(FileExistsError):  # another process was faster: then it is that one's
                os.link(made, path)
        finally:
            made.unlink(missing_ok=True)
        folder_to_disk(path.parent)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Failures of SQLite and of the system in words about the ledger."""
    try:
        yield
    except UnicodeDecodeError:  # text in the file, or a message of SQLite's that quotes it
        raise LedgerDamaged(f"{path} is damaged: it holds text that is none") from None
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", None) or ""
        if not name or name.startswith(
            ("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_CONSTRAINT", "SQLITE_ERROR", "SQLITE_MISMATCH")
        ):
            what = "is no SQLite file" if name == "SQLITE_NOTADB" else f"is damaged: SQLite reports {error}"
            raise LedgerDamaged(f"{path} {what}") from None
        reasons = {
            "SQLITE_BUSY": f"is locked: another process has held it for {BUSY_SECONDS:g} s",
            "SQLITE_READONLY": "cannot be written to: the file or its folder is read-only",
            "SQLITE_FULL": "cannot be written to: the disk is full",
            "SQLITE_CANTOPEN": "cannot be opened",
        }
        reason = next((words for start, words in reasons.items() if name.startswith(start)), None)
        if reason is None:
            reason = f"cannot be read or written to: SQLite reports {error} ({name or type(error).__name__})"
        raise LedgerUnavailable(f"the ledger {path} {reason}") from None
    except OSError as error:
        if isinstance(error, LedgerUnavailable):
            raise
        raise LedgerUnavailable(f"the ledger {path} cannot be opened: {error.strerror or error}") from None
