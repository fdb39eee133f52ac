"""Budgets that outlive a process, in one SQLite file."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TextIO

from exactnoise.accounting import PrivacyBudget, PrivacyCost, Spend
from exactnoise.accounting.amount import Number
from exactnoise.accounting.cost import Neighbors, in_words
from exactnoise.accounting.terms import Method
from exactnoise.errors import IdConflict, LedgerDamaged
from exactnoise.ledger.book import Account, Book, Reservation, terms_of
from exactnoise.ledger.budget import LedgerBudget
from exactnoise.ledger.holder import Holder
from exactnoise.ledger.store import Entry, Line, Rows, checked_text, open_or_create, transaction
from exactnoise.ledger.words import ANOTHER_ID, named

__all__ = ["Ledger"]

_FORMAT = "exactnoise-ledger/1"

Policy = Literal["charge", "void", "resume"]
_KINDS: dict[str, str] = {"charge": "charged", "void": "voided", "resume": "held"}


class Ledger:
    """A file of budgets, which every process that publishes from the same data shares.

    Parameters
    ----------
    path : path
        The file; it is made, readable for its owner alone, where there is none.

    Raises
    ------
    LedgerDamaged
        The file is no ledger, or is not what was written.
    LedgerUnavailable
        It cannot be opened, there is no folder for it, or it would be on a network file system.

    Notes
    -----
    *What is kept.* Terms, costs as exact text, ids, digests of queries, paths and digests of released files, times and
    processes. Nothing that is computed from data, but for the released files' digests.

    *Only added to.* Every entry carries the sha256 of itself and of the entry before, so that what was once written
    cannot be changed unnoticed: each use checks the entries that it has not checked yet, and replays them through
    `PrivacyBudget`, which is the filter in memory as well. Who can write to the file can write a whole new one: keep
    the digest that `verify` returns elsewhere, to find that out.

    *Guarantee.* That of `PrivacyBudget`, by the same filters (Rogers, Roth, Ullman & Vadhan 2016, arXiv 1605.08294;
    Feldman & Zrnic 2021, arXiv 2008.11193), for everything that all processes publish. What is reserved counts before
    it is drawn.

    *Processes, threads, forks.* Any number may use one file at a time. A transaction that writes has the file to
    itself, and is on the disk (SQLite's ``synchronous=EXTRA``) when it returns. The file must be on a local disk:
    network file systems do not lock reliably, and are refused where the system names them.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(folder + "/privacy.db")
    ...     budget = ledger.create("visits", epsilon=1, neighbors="add-remove", unit="person")
    ...     Ledger(folder + "/privacy.db").budget("visits").remaining
    PrivacyCost(epsilon='1')
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.abspath(path))  # noqa: PTH100 - the name that was given, not what a link points to
        self._book = Book()
        self._first: dict[str, Any] = {}
        self._damage: str | None = None
        open_or_create(self.path, {"format": _FORMAT, "ledger": secrets.token_hex(16)})
        with self._reading():
            pass

    @property
    def id(self) -> str:
        """The random name that the ledger got when it was made, in the metadata of what is published."""
        with self._reading():
            return str(self._first["ledger"])

    def create(
        self,
        name: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: Method | None = None,
        neighbors: Neighbors | None = None,
        unit: str | None = None,
    ) -> LedgerBudget:
        """Create a budget, or return the one that was created with the same terms, though its cap was raised since.

        Parameters
        ----------
        name : str
        epsilon, delta, rho, method, neighbors, unit
            As for `PrivacyBudget`.

        Raises
        ------
        TypeError, ValueError
            As `PrivacyBudget`; or the budget exists with other terms.
        """
        checked_text(name, "name")
        new = PrivacyBudget(neighbors=neighbors, unit=unit, epsilon=epsilon, delta=delta, rho=rho, method=method)
        terms = terms_of(new)
        with self._writing() as write:
            account = self._book.accounts.get(name)
            if account is None:
                write("budget", name, None, None, {"terms": terms})
            elif terms not in (account.created, account.terms):
                raise ValueError(
                    f"the ledger has a budget {name!r} with other terms: {_in_words(account.filter())}; its cap is "
                    "raised by exactnoise ledger raise-cap (in Python raise_cap), and nothing else about it is changed"
                )
        return LedgerBudget(self, name)

    def budget(self, name: str) -> LedgerBudget:
        """Return the budget of this name; a ValueError where there is none."""
        with self._reading():
            self._account(name)
        return LedgerBudget(self, name)

    def budgets(self) -> tuple[LedgerBudget, ...]:
        """Return all budgets, in the order of their creation."""
        with self._reading():
            return tuple(LedgerBudget(self, name) for name in self._book.accounts)

    def raise_cap(
        self,
        name: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        reason: str,
    ) -> LedgerBudget:
        """Promise less privacy than before, for a reason that is kept.

        Parameters
        ----------
        name : str
        epsilon, delta, rho : number
            The new guarantee, in what the old one was given; no part of it is less than before.
        reason : str

        Raises
        ------
        TypeError, ValueError
            There is no such budget, the guarantee is given in something else, or is not larger.
        """
        checked_text(reason, "reason")
        with self._writing() as write:
            old = self._account(name).filter()
            method = old.method if delta is not None else None
            if (delta is None) != (not old.guarantee.delta) or (rho is None) != (old.guarantee.rho is None):
                raise TypeError(
                    f"the budget {name!r} is one of {in_words(old.guarantee)}: say the new one in the same terms"
                )
            new = PrivacyBudget(
                neighbors=old.neighbors, unit=old.unit, epsilon=epsilon, delta=delta, rho=rho, method=method
            )
            if not _above(new.guarantee, old.guarantee) or not _above(new.total, old.total):
                raise ValueError(
                    f"a cap is only raised: {in_words(new.guarantee)} is not above {in_words(old.guarantee)}"
                )
            write("cap", name, None, None, {"terms": terms_of(new), "reason": reason})
        return LedgerBudget(self, name)

    def pending(self) -> tuple[Reservation, ...]:
        """Return what is reserved and neither committed, charged nor voided yet, oldest first."""
        with self._reading():
            return self._book.reservations(pending=True)

    def reservations(self, name: str | None = None) -> tuple[Reservation, ...]:
        """Return what became of every id, or of those of one budget, oldest first; of its attempts the last."""
        with self._reading():
            if name is not None:
                self._account(name)
            return self._book.reservations(name)

    def recover(
        self, policy: Policy = "charge", *, ids: Iterable[str] | None = None, reason: str | None = None
    ) -> tuple[Reservation, ...]:
        """Close reservations that nobody is at work on any more.

        Parameters
        ----------
        policy : {"charge", "void", "resume"}
            "charge": it stays spent, and nothing can be published under the id. "void": it is no longer spent, which
            is right only if no output of the process was seen, of which `reason` is the record. "resume": it stays
            spent, and publishing the same again under the same id takes it up at no new charge; where the process was
            one of this system that is so without recovery.
        ids : iterable of str, optional
            Which; by default all whose process is known to be gone. Naming one asserts that its process is gone, on
            another host, say. One at work in this system is refused.
        reason : str
            Needed to void.

        Returns
        -------
        tuple of Reservation
            What was closed, as it is now.
        """
        if policy not in _KINDS:
            raise ValueError(f"policy must be 'charge', 'void' or 'resume', got {policy!r}")
        if policy == "void" or reason is not None:
            checked_text(reason, "reason")
        named = None if ids is None else [ids] if isinstance(ids, str) else list(ids)
        with self._writing() as write:
            chosen = self._to_recover(named)
            details = {"policy": policy, "reason": reason, "holder": None}
            for reservation in chosen:
                write(_KINDS[policy], reservation.budget, reservation.id, reservation.attempt, details)
        with self._reading():
            return tuple(filter(None, (self._book.reservation(reservation.id) for reservation in chosen)))

    def reservation(self, id: str) -> Reservation | None:  # noqa: A002 - the word for it
        """Return what became of an id, or None where it was never reserved."""
        with self._reading():
            return self._book.reservation(id)

    def history(self, name: str | None = None) -> tuple[Entry, ...]:
        """Return all entries, or those of one budget, oldest first."""
        with transaction(self.path, write=False) as rows:
            self._catch_up(rows)
            if name is not None:
                self._account(name)
            return tuple(line.entry for line in rows.since(0, "") if name in (None, line.budget))

    def verify(self, known: str | None = None) -> str:
        """Check the file, every entry's digest, and that what was spent fitted the caps at every moment.

        Parameters
        ----------
        known : str, optional
            A digest that this method returned earlier and that was kept elsewhere: it must still be in the chain, or
            entries were removed, or the whole file was replaced.

        Returns
        -------
        str
            The digest of the last entry, which depends on all.

        Raises
        ------
        LedgerDamaged
            Something is not as it was written.
        """
        if known is not None:
            checked_text(known, "known")
        with transaction(self.path, write=False) as rows:
            rows.check_pages()
            book, met = Book(), known is None
            for line in rows.since(0, ""):
                book.read(line)
                met = met or line.digest == known
            last = self._checked(book)
        if not met:
            raise LedgerDamaged(f"{self.path}: the entry of the digest given is not in the ledger any more")
        return last.digest

    def export(self, stream: TextIO) -> None:
        """Write all entries, a JSON object a line, from which the digests can be computed again."""
        if not callable(getattr(stream, "write", None)):
            raise TypeError(f"stream must be a file that is open for text, got {type(stream).__name__}")
        for entry in self.history():
            stream.write(json.dumps(entry._asdict(), ensure_ascii=False) + "\n")

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    # For LedgerBudget

    def _filter(self, name: str) -> PrivacyBudget:
        with self._reading():
            return self._account(name).filter()

    def _check(self, name: str, cost: PrivacyCost) -> None:
        with self._reading():
            self._account(name).check(cost)

    def _history(self, name: str) -> tuple[Spend, ...]:
        with self._reading():
            return self._account(name).history

    def _reserve(
        self, name: str, id: str, query: str, cost: PrivacyCost, description: dict[str, Any], path: str | None  # noqa: A002
    ) -> Reservation:  # fmt: skip
        holder = Holder.current()
        try:
            with self._writing() as write:
                before = self._book.reservation(id)
                if before is not None and before.state != "voided":
                    if before.query != query or before.budget != name:
                        raise IdConflict(_another_query(before))
                    if before.state == "committed":
                        holder.done()
                        return before
                    _refuse_if_taken(before)
                    write("held", name, id, before.attempt, {"holder": holder.written(), "path": path})
                else:
                    spend = self._account(name).spend(cost, id)
                    details = {
                        "query": query,
                        "spend": spend,
                        "description": description,
                        "holder": holder.written(),
                        "path": path,
                    }
                    write("reserved", name, id, before.attempt + 1 if before else 1, details)
            with self._reading():
                ours = self._book.reservation(id)
            if ours is None or ours.holder != holder:
                raise IdConflict(f"the reservation of {id!r} was taken from this process by a recovery")
            return ours
        except BaseException:
            holder.done()
            raise

    def _end(self, reservation: Reservation, kind: str, details: dict[str, Any]) -> None:
        """Write what became of a reservation, unless it has been taken from its holder."""
        with self._writing() as write:
            now = self._book.reservation(reservation.id)
            if now is None or now.state != "reserved" or now.turn != reservation.turn:
                raise IdConflict(
                    f"the reservation of {reservation.id!r} was taken from this process by a recovery: what it made "
                    "is thrown away"
                )
            write(kind, reservation.budget, reservation.id, reservation.attempt, details)
        if reservation.holder is not None:
            reservation.holder.done()

    # Reading and writing

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        with transaction(self.path, write=False) as rows:
            self._catch_up(rows)
            yield

    @contextlib.contextmanager
    def _writing(self) -> Iterator[Callable[..., None]]:
        """A transaction: what is written with the function that it gives is there for all or for nobody."""
        with transaction(self.path, write=True) as rows:
            self._catch_up(rows)
            last = self._book.last

            def write(
                kind: str, budget: str | None, id: str | None, attempt: int | None, details: dict[str, Any]  # noqa: A002
            ) -> None:  # fmt: skip
                nonlocal last
                last = rows.append(last, kind, budget, id, attempt, details)

            yield write

    def _catch_up(self, rows: Rows) -> None:
        """Read what this or another process has written since."""
        if self._damage is not None:
            raise LedgerDamaged(self._damage)
        book, last = self._book, self._book.last
        try:
            for line in rows.since(last.sequence, last.digest) if last else rows.since(0, ""):
                book.read(line)
                if line.sequence == 1:
                    self._first = line.details
            self._checked(book)
        except LedgerDamaged as error:
            self._damage = str(error)  # also when it is used again: then less is known that it could be compared with
            raise
        except BaseException:
            self._book = Book()  # half an entry may have been taken in
            raise

    def _checked(self, book: Book) -> Line:
        if book.last is None:
            raise LedgerDamaged(f"{self.path} has no entry, which no ledger lacks")
        return book.last

    def _account(self, name: str) -> Account:
        account = self._book.accounts.get(name)
        if account is None:
            way_out = ": check the path, or create it by exactnoise ledger create (in Python Ledger.create)"
            told = named(self._book.accounts) + ("" if self._book.accounts else way_out)
            raise ValueError(f"the ledger {self.path} has no budget {name!r}; it has {told}")
        return account

    def _to_recover(self, named: list[str] | None) -> list[Reservation]:
        pending = {reservation.id: reservation for reservation in self._book.reservations(pending=True)}
        if named is None:
            return [r for r in pending.values() if r.holder is None or r.holder.alive() is False]
        for name in named:
            if name not in pending:
                raise ValueError(f"there is no open reservation of {name!r}")
            holder = pending[name].holder
            if holder is not None and holder.alive():
                raise IdConflict(f"{holder} is still at work on {name!r}")
        return [pending[name] for name in dict.fromkeys(named)]


def _in_words(terms: PrivacyBudget) -> str:
    return f"{in_words(terms.guarantee)} for each {terms.unit} under {terms.neighbors}, by the rule {terms.method}"


def _above(new: PrivacyCost, old: PrivacyCost) -> bool:
    amounts = [(getattr(new, name), getattr(old, name)) for name in ("epsilon", "delta", "rho")]
    known = [(a, b) for a, b in amounts if a is not None or b is not None]
    return all(a is not None and b is not None and a >= b for a, b in known) and any(a > b for a, b in known)


def _another_query(before: Reservation) -> str:
    words = {
        "committed": "is published already",
        "charged": "is charged already, without having been published,",
        "reserved": "is reserved already",
    }
    return (
        f"the id {before.id!r} {words[before.state]} for another query (another budget, price, data version or "
        f"description): {ANOTHER_ID}"
    )


def _refuse_if_taken(before: Reservation) -> None:
    if before.state == "charged" and "policy" in before.outcome:
        why = before.outcome["reason"]
        raise IdConflict(
            f"the id {before.id!r} was closed by hand without having been published{f' ({why})' if why else ''}: it "
            f"stays charged; {ANOTHER_ID}"
        )
    if before.state == "charged":
        raise IdConflict(
            f"the id {before.id!r} is charged without having been published ({before.outcome.get('reason')}): what was "
            f"drawn may have been seen, so that drawing again is another release; {ANOTHER_ID}"
        )
    alive = False if before.holder is None else before.holder.alive()
    if alive:
        raise IdConflict(f"{before.holder} is at work on {before.id!r}: wait for it, and then run this again")
    if alive is None:
        raise IdConflict(
            f"{before.holder}, whose end cannot be seen from here, has reserved {before.id!r}; if it is gone, recover "
            f"the id with the policy 'resume' (exactnoise ledger recover --policy resume --id {before.id}), and run "
            "this again"
        )
