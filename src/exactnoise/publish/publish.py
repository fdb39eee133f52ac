"""From exact numbers to a file of noisy ones that is paid for once: the only way to spend from a ledger."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import Number
from exactnoise.accounting.cost import in_words
from exactnoise.errors import ExactNoiseError, IdConflict, LedgerNote, SnapshotDamaged
from exactnoise.ledger import LedgerBudget, Reservation
from exactnoise.ledger.store import canonical, checked_text
from exactnoise.ledger.words import ANOTHER_ID, RESTORE
from exactnoise.publish.durable import sha256_of
from exactnoise.publish.files import Format, Writer, format_for, open_writer
from exactnoise.publish.metadata import FORMAT, amounts, metadata_path, statistics_of, versions
from exactnoise.publish.snapshot import Snapshot
from exactnoise.publish.staging import Digests, Staging, remove_leftovers

__all__ = ["publish"]

_QUERY = "exactnoise-query/1"

Make = Callable[[PrivacyBudget], Any]


def publish(
    path: str | os.PathLike[str],
    make: Make,
    *,
    id: str,  # noqa: A002 - the word for it
    data_version: str,
    budget: LedgerBudget,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    query: Any = None,
    format: Format | None = None,  # noqa: A002 - the word for it
) -> Snapshot:
    """Make a table of noisy numbers and put it under its name, charged once whatever happens on the way.

    Parameters
    ----------
    path : path
        The file to make; its metadata is put beside it, in ``NAME.release.json``.
    make : callable
        Takes a `PrivacyBudget` of the price, releases from it, and returns the table: a mapping of column names to
        columns, or something whose ``columns()`` is one, such as a `Release`; or an iterable of these, batches of rows
        that are written as they come. What it returns is published as it is. Its ``metadata()``, where it has one,
        says how the columns were made; without it, a column was made by the release that has its name for a label.
    id : str
        The name of the release in the ledger, such as "visits-2026-11-30". Publishing the same again under the same id
        returns what was published, and draws nothing.
    data_version : str
        What distinguishes the data from other data of the same query: public, such as a date.
    budget : LedgerBudget
        What pays.
    epsilon, delta, rho : number
        The price, reserved before `make` is called: `epsilon`, `epsilon` with `delta`, or `rho`.
    query : JSON's types, optional
        A public description of what is published. Together with the price, the data version and the budget it is what
        an id stands for: the same id with another query is refused.
    format : {"csv", "parquet", "arrow", "sqlite"}, optional
        By default what the name's ending says, else CSV; a name that ends in another format, such as .xlsx, is refused.

    Returns
    -------
    Snapshot

    Raises
    ------
    BudgetExceeded
        The price does not fit in what remains. Nothing was read.
    IdConflict
        The id is taken by another query or by a process at work, or was charged without having been published.
    FileExistsError
        There is a file under the name that is not this release.
    SnapshotLost, SnapshotDamaged
        The id was published, and its file is gone, or is no longer what it was. It is not drawn again.
    LedgerDamaged, LedgerUnavailable, OSError, MissingExtra
        The ledger or the file cannot be read or written.
    TypeError, ValueError
        A parameter is wrong, or `make` returned no table, or one that it spent nothing for.

    Notes
    -----
    *Order.* Reserve the price under the id; call `make`; write table and metadata under names that nobody reads, for
    the owner alone, and force them to the disk; commit the digests of both in the ledger; rename. Until the commit
    nothing has been published, and from then on it never changes. A process that dies, at any moment, leaves one of
    two things: a reservation, which the same call takes up at no new charge to make the table anew; or a committed
    release, which the same call puts in place as it is.

    *Failures.* Nothing is drawn again, at no new charge, that anybody may have seen. What fails before `make` is called
    is not charged. Once the purse has been spent from, whatever fails in `make`, in its batches, in their shape or
    values, or in ``metadata()``, and every interrupt, closes the reservation: it stays charged for good, and
    publishing is another release, under another id. Two failures leave it open, so that the same call takes it up at
    no new charge and draws anew: one before anything was spent from the purse, and an OSError of writing the files (a
    full disk), for their content is private until it is committed and has been removed. So does a process that dies
    on the spot. Nothing can be released from the purse any more after a failure. Each exception has a note
    (`LedgerNote`) that says which of these it was.

    *What `make` must not do.* Show what it drew before it returns it, or draw without its purse: `publish` cannot see
    it.

    Examples
    --------
    >>> import tempfile
    >>> from exactnoise import DiscreteLaplace
    >>> from exactnoise.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(f"{folder.name}/privacy.db")
    >>> budget = ledger.create("visits", epsilon=1, neighbors="add-remove", unit="person")
    >>> def make(purse):
    ...     noise = DiscreteLaplace(sensitivity=1, epsilon=0.4)
    ...     return {"site": ["a", "b"], "visits": noise.release([1203, 871], budget=purse, label="visits")}
    >>> tonight = dict(id="visits-1", data_version="1", budget=budget, epsilon=0.4)
    >>> for _ in range(2):
    ...     snapshot = publish(f"{folder.name}/visits.csv", make, **tonight)
    >>> snapshot.id, budget.spent
    ('visits-1', PrivacyCost(epsilon='0.4'))
    >>> folder.cleanup()
    """
    if not isinstance(budget, LedgerBudget):
        raise TypeError(f"publish spends from a budget of a Ledger, got {budget!r}")
    if not callable(make):
        raise TypeError(f"make must be a function that takes a budget and returns the table, got {type(make).__name__}")
    target = Path(os.path.abspath(path))  # noqa: PTH100 - the name that was given, not what a link points to
    form = format_for(target, format)
    limits = budget._filter()
    terms: dict[str, Any] = {"neighbors": limits.neighbors, "unit": limits.unit}
    cost = PrivacyCost(epsilon=epsilon, delta=0 if delta is None else delta, rho=rho)
    purse = PrivacyBudget(**terms, epsilon=epsilon, delta=delta, rho=rho, method=None if delta is None else "basic")
    public = {"data_version": checked_text(data_version, "data_version"), "query": query}
    digest = _digest({**terms, **public, **amounts(cost)})
    _refuse_names_of_the_ledger(target, budget.ledger.path)
    reservation = budget._reserve(checked_text(id, "id"), digest, cost, public, path=str(target))
    attempt = None
    try:
        staging = Staging(target, budget.ledger.id, id, reservation.turn)
        if reservation.state == "committed":
            return _finish(staging, reservation)
        attempt = _Attempt(budget, reservation, staging, purse)
        said = {"id": id, **public}, {**amounts(cost), "composition": limits.method, **terms}
        return attempt.publish(make, form, *said)
    finally:
        if reservation.holder is not None and not (attempt and attempt.untold):
            reservation.holder.done()


def _digest(query: dict[str, Any]) -> str:
    """What the same id must be published for again."""
    try:
        json.dumps(query, ensure_ascii=False).encode()  # as it is written to the metadata
        return hashlib.sha256(canonical({"format": _QUERY, **query}).encode()).hexdigest()
    except (TypeError, ValueError, RecursionError) as error:
        raise TypeError(
            f"query must be of JSON's types, without NaN and infinities, and in text that UTF-8 can hold: {error}"
        ) from None


def _refuse_names_of_the_ledger(target: Path, ledger: Path) -> None:
    """SQLite deletes what it finds under these names, or takes it for its own."""
    target, named = (path.parent.resolve() / path.name for path in (target, ledger))
    names = (named, ledger.resolve())  # of a link, SQLite's own files are beside what it points to
    if target in [name.with_name(name.name + ending) for name in names for ending in ("", "-journal", "-wal", "-shm")]:
        raise FileExistsError(errno.EEXIST, "is a name of the ledger's own files: take another", str(target))


def _finish(staging: Staging, committed: Reservation) -> Snapshot:
    """Put what was committed in place, which it may be already."""
    outcome, target = committed.outcome, staging.target
    digests = Digests(outcome["sha256"], outcome["metadata_sha256"])
    if str(target) == outcome["path"]:
        staging.put_in_place(digests)
    elif sha256_of(target) != digests.table:  # it may have been moved, and its folder with it
        raise IdConflict(
            f"the id {committed.id!r} was published as {outcome['path']}: it is not made again for {target}; "
            f"{ANOTHER_ID}"
        )
    elif sha256_of(metadata_path(target)) != digests.metadata:
        raise SnapshotDamaged(
            f"{metadata_path(target)} is not what was committed with the table that was moved here: {RESTORE}"
        )
    return Snapshot.open(target)


class _Attempt:
    """One turn at a reservation, and what becomes of it if something fails.

    Attributes
    ----------
    untold : bool
        It is to be charged for good, and the ledger could not be told: nobody must take it up.
    """

    def __init__(self, budget: LedgerBudget, reservation: Reservation, staging: Staging, purse: PrivacyBudget) -> None:
        self._budget = budget
        self._reservation = reservation
        self._staging = staging
        self._purse = purse
        self._made: Any = None
        self._unwritten: OSError | None = None
        self.untold = False

    def publish(self, make: Make, form: Format, name: Mapping[str, Any], price: Mapping[str, Any]) -> Snapshot:
        """Carry it out; `name` and `price` are what the metadata says before and after the table."""
        staging = self._staging
        with self._before_the_data():
            for path in self._reservation.paths:  # earlier turns may have been for other names
                with contextlib.suppress(OSError):
                    remove_leftovers(Path(path), self._budget.ledger.id, self._reservation.id)
            staging.create()
            writer = open_writer(staging.table, form)
        with self._with_the_data():
            columns, rows = self._write(writer, self._batches(make))
            if not self._purse._spends():
                raise ValueError(
                    "make returned a table without spending from its budget: exact numbers are not published"
                )
            document = {
                "format": FORMAT,
                **name,
                "created": datetime.now(UTC).isoformat(timespec="seconds"),
                "columns": columns,
                "rows": rows,
                "statistics": statistics_of(self._made, self._purse._spends(), columns),
                **price,
                "ledger": {
                    "id": self._budget.ledger.id,
                    "budget": self._budget.name,
                    "entry": self._reservation.entry,
                    "digest": self._reservation.seal,
                },
                "versions": versions(),
            }
            with self._writing():
                digests = staging.seal(document)
                staging.refuse_foreign()
        self._commit(digests)
        with _noted(f"the release is committed under the id {self._reservation.id!r}: the same again puts it in place"):
            staging.put_in_place(digests, sealed=True)
        return Snapshot.open(staging.target)

    @contextlib.contextmanager
    def _before_the_data(self) -> Iterator[None]:
        """A failure in here is not charged; but what an earlier turn may have read stays so."""
        try:
            yield
        except BaseException as error:
            first = self._reservation.turn == self._reservation.entry
            self._give_up("void" if first else "release", error)
            raise

    @contextlib.contextmanager
    def _with_the_data(self) -> Iterator[None]:
        """A failure in here stays charged: for good if anything was drawn, and it was not only not written."""
        try:
            yield
        except BaseException as error:
            if self._is_fork():
                raise
            drawn = self._close_purse()
            self._give_up("charge" if drawn and error is not self._unwritten else "release", error)
            raise

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        """An OSError in here is about the files: no part of the table was seen, whatever had been drawn."""
        try:
            yield
        except OSError as error:
            self._unwritten = error
            if error.strerror is not None and error.filename in (None, str(self._staging.table)):
                error.filename = str(self._staging.target)  # the name that the user knows
            raise

    def _is_fork(self) -> bool:
        """Whether `make` forked, and this is the other process: the reservation and the files are not its."""
        holder = self._reservation.holder
        return holder is not None and holder.pid != os.getpid()

    def _close_purse(self) -> bool:
        """Let nothing more be released from the purse, wherever `make` may have left it; returns whether it was."""
        self._purse._close()
        return bool(self._purse._spends())

    def _write(self, writer: Writer, batches: Iterator[Mapping[str, Any]]) -> tuple[list[str], int]:
        """Write all batches; returns the names of the columns and the number of rows."""
        names: list[str] | None = None
        rows = 0
        try:
            for batch in batches:
                lengths = {len(column) for column in batch.values()}
                if len(lengths) != 1 or not all(isinstance(name, str) for name in batch):
                    raise ValueError("make must return columns of one length, with text for names, and at least one")
                if names is None:
                    names = list(batch)
                elif names != list(batch):
                    raise ValueError("make must return the same columns in every batch")
                with self._writing():
                    writer.write(batch)
                rows += lengths.pop()
        except BaseException:
            if not self._is_fork():
                with contextlib.suppress(Exception):
                    writer.close()
            raise
        with self._writing():
            writer.close()
        if names is None:
            raise ValueError("make returned no batch, so that the columns are not known: return one of no rows")
        return names, rows

    def _batches(self, make: Make) -> Iterator[Mapping[str, Any]]:
        """What `make` returns, as mappings."""
        self._made = make(self._purse)
        made = self._made
        whole = isinstance(made, (Mapping, str)) or hasattr(made, "columns") or not isinstance(made, Iterable)
        for batch in (made,) if whole else made:
            columns = batch.columns() if callable(getattr(batch, "columns", None)) else batch
            if self._is_fork():
                raise RuntimeError("make came back in a process that it forked; only the one that called it publishes")
            if not isinstance(columns, Mapping):
                got = "None: does it lack a return?" if made is None else type(made).__name__
                got += "" if whole else f" of {type(columns).__name__}"
                raise TypeError(
                    "make must return a mapping of names to columns, something whose columns() is one, or an iterable "
                    f"of these, got {got}"
                )
            yield columns

    def _commit(self, digests: Digests) -> None:
        """Commit the digests. What waits is removed only if it is certain that they are not committed."""
        try:
            with _noted(
                f"whether {self._reservation.id!r} is committed is not known: the same again finds out at no charge"
            ):
                self._budget._commit(
                    self._reservation,
                    path=str(self._staging.target),
                    sha256=digests.table,
                    metadata_sha256=digests.metadata,
                )
        except IdConflict:
            self._staging.discard()
            raise

    def _give_up(self, end: Literal["void", "release", "charge"], error: BaseException) -> None:
        """Write down what is left of the reservation, and tell it with the error."""
        self._staging.discard()
        price, name = in_words(self._purse.total), repr(self._reservation.id)
        again = f"{price} stays reserved under the id {name}: the same again takes it up at no new charge"
        note = {
            "void": "nothing was charged",
            "release": again,
            "charge": (
                f"{price} stays charged under the id {name}, for what was drawn may have been seen: drawing again is "
                "another release, under another id"
            ),
        }[end]
        write = {"void": self._budget._void, "release": self._budget._release, "charge": self._budget._charge}[end]
        self.untold = end == "charge"
        try:
            write(self._reservation, type(error).__name__)  # its words may quote data
            self.untold = False
        except IdConflict:
            note = f"the id {name} was taken from this process by a recovery"
            self.untold = False
        except ExactNoiseError:  # the ledger cannot be written to
            note = note if self.untold else again
        error.add_note(LedgerNote(note))


@contextlib.contextmanager
def _noted(note: str) -> Iterator[None]:
    """What fails in here leaves the ledger in the state that the note tells."""
    try:
        yield
    except IdConflict:
        raise
    except BaseException as error:
        error.add_note(LedgerNote(note))
        raise
