"""What the entries of a ledger amount to: its budgets, and what became of every reservation."""

from __future__ import annotations

import contextlib
import heapq
import math
import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from exactnoise.accounting import PrivacyBudget, PrivacyCost, Spend, state
from exactnoise.accounting.cost import in_words
from exactnoise.errors import BudgetExceeded, LedgerDamaged, LedgerNote
from exactnoise.ledger.holder import Holder
from exactnoise.ledger.store import Line

__all__ = ["Account", "Book", "Reservation", "terms_of"]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What became of one attempt to publish an id.

    Attributes
    ----------
    id, budget : str
    attempt : int
        How many times the id was reserved, voided ones included.
    query : str
        The digest of what is published: the same id is for the same query only.
    state : str
        "reserved", "committed", "charged" or "voided"; all but the last count.
    spend : dict
        The cost and what was charged for it, as `PrivacyBudget.to_state` writes a spend.
    description : dict
        What is known of the release beforehand.
    holder : Holder or None
        Who is or was at work on it; None where it waits to be taken up.
    entry : int
        The number of the ledger's entry that reserved it.
    seal : str
        That entry's digest.
    turn : int
        The number of the entry that gave it to its holder.
    paths : tuple of str
        The files that were to be made, turn by turn: beside them unfinished ones may have been left.
    time : str
        When it was reserved, by the clock of whoever did.
    outcome : dict
        What the last entry about it says: path and sha256 of a committed release, the reason of the others.
    """

    id: str
    budget: str
    attempt: int
    query: str
    state: str
    spend: dict[str, Any]
    description: dict[str, Any]
    holder: Holder | None
    entry: int
    seal: str
    turn: int
    paths: tuple[str, ...]
    time: str
    outcome: dict[str, Any] = field(default_factory=dict)


class Account:
    """One budget of a ledger: its terms, and a running sum of what counts against them.

    Every spend is checked once, when it is counted, by the rules of `PrivacyBudget`: how long the next one takes does
    not depend on how many there were.
    """

    def __init__(self, name: str, terms: Mapping[str, Any]) -> None:
        self.name = name
        self._counted: dict[tuple[str | None, int | None], Line] = {}  # oldest first
        self._paid: dict[Any, tuple[int, ...]] = {}  # the same few prices are paid again and again
        # Amounts are whole numbers of one part in `_parts`: exact, and added up in a fraction of a fraction's time.
        self._parts = 1
        self._sums: tuple[int, ...] = ()
        self._cap: tuple[int, ...] = ()
        self._set_terms(terms)
        self.created = self.terms
        self._sums = (0,) * len(self._cap)

    def change_terms(self, terms: Mapping[str, Any]) -> None:
        """The cap is another from now on; a ValueError where what is spent does not fit."""
        currency = self._terms.currency
        self._set_terms(terms)
        _need(currency == self._terms.currency)
        self._sums = self._added(self._sums)

    def count(self, line: Line) -> None:
        """Count what was reserved from now on; a ValueError where it does not fit."""
        paid = self._paid_for(line.details["spend"])
        self._sums = self._added(tuple(map(operator.add, self._sums, paid)))
        self._counted[line.id, line.attempt] = line

    def discount(self, line: Line) -> None:
        """No longer count what was reserved, which was voided."""
        paid = self._paid_for(self._counted.pop((line.id, line.attempt)).details["spend"])
        self._sums = tuple(map(operator.sub, self._sums, paid))

    def filter(self) -> PrivacyBudget:
        """The budget in memory with the same terms and sums, to be read; its history is `history`."""
        return PrivacyBudget._resumed(self._terms, tuple(Fraction(amount, self._parts) for amount in self._sums))

    @property
    def history(self) -> tuple[Spend, ...]:
        """What counts, oldest first."""
        entries = (state.read_entry(line.details["spend"]) for line in self._counted.values())
        return tuple(Spend(entry.label, entry.cost, entry.mechanism) for entry in entries)

    def spend(self, cost: PrivacyCost, label: str) -> dict[str, Any]:
        """What spending a cost would add, in JSON's types; nothing is counted yet.

        Raises
        ------
        BudgetExceeded, TypeError, ValueError
            As `PrivacyBudget.spend`.
        """
        filtered = self.filter()
        with self._spenders_told():
            filtered.spend(cost, label=label)
        spend: dict[str, Any] = filtered.to_state()["history"][-1]
        return spend

    def check(self, cost: PrivacyCost) -> None:
        """Refuse what `spend` would refuse."""
        with self._spenders_told():
            self.filter().check(cost)

    @contextlib.contextmanager
    def _spenders_told(self) -> Iterator[None]:
        """With a refusal goes who spent most."""
        try:
            yield
        except BudgetExceeded as error:
            lines = heapq.nlargest(3, self._counted.values(), key=lambda line: self._paid_for(line.details["spend"]))
            if lines:
                spent = ((line.id, state.read_entry(line.details["spend"]).charged) for line in lines)
                most = ", ".join(f"{name!r} ({in_words(charged)})" for name, charged in spent)
                error.add_note(LedgerNote(f"of the {len(self._counted)} releases of {self.name!r} most went to {most}"))
            raise

    def _set_terms(self, terms: Mapping[str, Any]) -> None:
        self.terms, self._terms = dict(terms), state.read_terms(terms)
        self._cap = self._in_parts(self._terms.cap)

    def _added(self, sums: tuple[int, ...]) -> tuple[int, ...]:
        if any(map(operator.gt, sums, self._cap)):
            raise ValueError("what is spent exceeds the budget")
        return sums

    def _paid_for(self, spend: Mapping[str, Any]) -> tuple[int, ...]:
        amounts = (*spend["cost"].items(), None, *spend["charged"].items())
        paid = self._paid.get(amounts)
        if paid is None:
            entry = state.read_entry(spend)
            paid = self._in_parts(self._terms.paid(entry.cost, entry.charged))
            self._paid[amounts] = paid
        return paid

    def _in_parts(self, amounts: tuple[Fraction, ...]) -> tuple[int, ...]:
        """Amounts as whole numbers of parts, which become smaller where they have to."""
        parts = math.lcm(self._parts, *(amount.denominator for amount in amounts))
        if parts != self._parts:
            finer, self._parts = parts // self._parts, parts
            self._sums = tuple(finer * amount for amount in self._sums)
            self._cap = tuple(finer * amount for amount in self._cap)
            self._paid.clear()
        return tuple(amount.numerator * (parts // amount.denominator) for amount in amounts)


class _Attempt(NamedTuple):
    """The entries about one attempt that say what became of it."""

    state: str
    turns: tuple[Line, ...]  # the first is the one that reserved it
    last: Line

    @property
    def reserved(self) -> Line:
        return self.turns[0]


class Book:
    """Entries read so far, in the order of their numbers.

    Attributes
    ----------
    last : Line or None
    accounts : dict of str to Account
        In the order of their creation.
    """

    def __init__(self) -> None:
        self.last: Line | None = None
        self.accounts: dict[str, Account] = {}
        self._attempts: dict[str | None, _Attempt] = {}  # the last at each id

    def reservation(self, id: str) -> Reservation | None:  # noqa: A002 - the word for it
        """What became of an id; None where it was never reserved."""
        attempt = self._attempts.get(id)
        return None if attempt is None else _reservation(attempt)

    def reservations(self, budget: str | None = None, *, pending: bool = False) -> tuple[Reservation, ...]:
        """The last attempt at every id, by default of all budgets, and whatever became of it; oldest first."""
        chosen = (
            attempt
            for attempt in self._attempts.values()
            if budget in (None, attempt.reserved.budget) and (attempt.state == "reserved" or not pending)
        )
        return tuple(map(_reservation, sorted(chosen, key=lambda attempt: attempt.reserved.sequence)))

    def read(self, line: Line) -> None:
        """Take in the next entry.

        Raises
        ------
        LedgerDamaged
            It cannot follow the ones before: they were not written by this package.
        """
        try:
            self._read(line)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = f": {error}" if type(error) is ValueError and str(error) else ""
            raise LedgerDamaged(f"entry {line.sequence} of the ledger cannot follow the ones before it{what}") from None
        self.last = line

    def _read(self, line: Line) -> None:
        match line.kind:
            case "reserved":
                before = self._attempts.get(line.id)
                _need(line.id is not None and (before is None or before.state == "voided"))
                _need(line.attempt == (before.reserved.attempt or 0) + 1 if before else line.attempt == 1)
                self._account(line).count(line)
                self._attempts[line.id] = _Attempt("reserved", (line,), line)
            case "committed" | "charged" | "voided":
                open_ = self._open(line)
                if line.kind == "voided":
                    self._account(line).discount(line)
                self._attempts[line.id] = open_._replace(state=line.kind, last=line)
            case "held":
                held = self._open(line)
                self._attempts[line.id] = held._replace(turns=(*held.turns, line), last=line)
            case "budget":
                _need(line.budget is not None and line.budget not in self.accounts)
                self.accounts[line.budget or ""] = Account(line.budget or "", line.details["terms"])
            case "cap":
                self._account(line).change_terms(line.details["terms"])
            case kind:
                _need(kind == "ledger" and line.sequence == 1)

    def _account(self, line: Line) -> Account:
        return self.accounts[line.budget or ""]

    def _open(self, line: Line) -> _Attempt:
        attempt = self._attempts[line.id]
        _need(attempt.state == "reserved")
        _need((attempt.reserved.attempt, attempt.reserved.budget) == (line.attempt, line.budget))
        return attempt


def _reservation(attempt: _Attempt) -> Reservation:
    reserved, turns = attempt.reserved, [line.details for line in attempt.turns]
    details, holder = turns[0], turns[-1]["holder"]
    return Reservation(
        id=reserved.id or "",
        budget=reserved.budget or "",
        attempt=reserved.attempt or 0,
        query=details["query"],
        state=attempt.state,
        spend=details["spend"],
        description=details["description"],
        holder=Holder.read(holder) if holder else None,
        entry=reserved.sequence,
        seal=reserved.digest,
        turn=attempt.turns[-1].sequence,
        paths=tuple(dict.fromkeys(turn["path"] for turn in turns if turn.get("path"))),
        time=details["time"],
        outcome={} if attempt.last is reserved else attempt.last.details,
    )


def _need(holds: bool) -> None:
    if not holds:
        raise ValueError


def terms_of(budget: PrivacyBudget) -> dict[str, Any]:
    """The terms of a budget without spends, in JSON's types."""
    return {name: value for name, value in budget.to_state().items() if name not in ("spent", "history")}
