"""What the entries of a ledger amount to: its budgets, and what became of every reservation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import from_text, text
from exactnoise.errors import LedgerDamaged
from exactnoise.ledger.holder import Holder
from exactnoise.ledger.store import Entry

__all__ = ["Account", "Book", "Reservation", "terms_of"]

_ENDS = ("committed", "charged", "voided")


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
    outcome: dict[str, Any] = field(default_factory=dict)


class Account:
    """One budget of a ledger: its terms, and what counts against them."""

    def __init__(self, name: str, terms: Mapping[str, Any]) -> None:
        self.name = name
        self._counted: dict[tuple[str, int], dict[str, Any]] = {}  # spends, oldest first
        self._sums: dict[str, Fraction] = {}
        self.change_terms(terms)

    def change_terms(self, terms: Mapping[str, Any]) -> None:
        """The cap is another from now on."""
        self.terms = dict(terms)
        self._sums = {name: self._sums.get(name, Fraction(0)) for name in terms["cap"]}
        self._known: tuple[int, PrivacyBudget] | None = None

    def count(self, reservation: Reservation) -> None:
        """Count a reservation from now on."""
        self._counted[reservation.id, reservation.attempt] = reservation.spend
        self._add(reservation, 1)

    def discount(self, reservation: Reservation) -> None:
        """No longer count a reservation, which was voided."""
        del self._counted[reservation.id, reservation.attempt]
        self._add(reservation, -1)

    def _add(self, reservation: Reservation, sign: int) -> None:
        for name in self._sums:
            self._sums[name] += sign * from_text(reservation.spend["charged"].get(name, "0"), name)
        self._known = None

    def filter(self) -> PrivacyBudget:
        """The budget in memory with the same terms and spends, to be read; it has checked every one of them.

        Raises
        ------
        ValueError
            They do not fit the terms.
        """
        pid = os.getpid()  # a budget in memory is its process's
        if self._known is None or self._known[0] != pid:
            self._known = pid, self._filtered()
        return self._known[1]

    def spend(self, cost: PrivacyCost, label: str) -> dict[str, Any]:
        """What spending a cost would add, in JSON's types; nothing is counted yet.

        Raises
        ------
        BudgetExceeded, TypeError, ValueError
            As `PrivacyBudget.spend`.
        """
        self.filter().check(cost)  # a refusal needs no other copy
        filtered = self._filtered()
        filtered.spend(cost, label=label)
        spend: dict[str, Any] = filtered.to_state()["history"][-1]
        return spend

    def _filtered(self) -> PrivacyBudget:
        spent = {name: text(amount) for name, amount in self._sums.items()}
        return PrivacyBudget.from_state({**self.terms, "spent": spent, "history": list(self._counted.values())})


class Book:
    """Entries read so far, in the order of their numbers.

    Attributes
    ----------
    last : Entry or None
    accounts : dict of str to Account
        In the order of their creation.
    reservations : dict of str to Reservation
        By id; the last attempt at each.
    """

    def __init__(self) -> None:
        self.last: Entry | None = None
        self.accounts: dict[str, Account] = {}
        self.reservations: dict[str, Reservation] = {}

    def read(self, entry: Entry) -> None:
        """Take in the next entry.

        Raises
        ------
        LedgerDamaged
            It cannot follow the ones before: they were not written by this package.
        """
        try:
            self._read(entry)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise LedgerDamaged(f"entry {entry.sequence} of the ledger cannot follow the ones before it") from None
        self.last = entry

    def _read(self, entry: Entry) -> None:
        budget, details = entry.budget or "", entry.details
        match entry.kind:
            case "ledger":
                _need(entry.sequence == 1)
            case "budget":
                _need(budget not in self.accounts)
                self.accounts[budget] = Account(budget, details["terms"])
                self.accounts[budget].filter()
            case "cap":
                self.accounts[budget].filter()  # what was spent did fit before
                self.accounts[budget].change_terms(details["terms"])
            case "reserved":
                before = self.reservations.get(entry.id or "")
                _need(before is None or before.state == "voided")
                _need(entry.attempt == (before.attempt + 1 if before else 1))
                new = _reserved(entry)
                self.accounts[budget].count(new)
                self.reservations[new.id] = new
            case "held":
                held = self._open(entry)
                holder = Holder.read(details["holder"]) if details["holder"] else None
                self.reservations[held.id] = replace(held, holder=holder, turn=entry.sequence, outcome=details)
            case kind:
                _need(kind in _ENDS)
                ended = self._open(entry)
                if kind == "voided":
                    self.accounts[budget].filter()
                    self.accounts[budget].discount(ended)
                self.reservations[ended.id] = replace(ended, state=kind, outcome=details)

    def _open(self, entry: Entry) -> Reservation:
        reservation = self.reservations[entry.id or ""]
        _need(reservation.state == "reserved")
        _need((reservation.attempt, reservation.budget) == (entry.attempt, entry.budget))
        return reservation


def _reserved(entry: Entry) -> Reservation:
    return Reservation(
        id=entry.id or "",
        budget=entry.budget or "",
        attempt=entry.attempt or 0,
        query=entry.details["query"],
        state="reserved",
        spend=entry.details["spend"],
        description=entry.details["description"],
        holder=Holder.read(entry.details["holder"]),
        entry=entry.sequence,
        seal=entry.digest,
        turn=entry.sequence,
    )


def _need(holds: bool) -> None:
    if not holds:
        raise ValueError


def terms_of(budget: PrivacyBudget) -> dict[str, Any]:
    """The terms of a budget without spends, in JSON's types."""
    return {name: value for name, value in budget.to_state().items() if name not in ("spent", "history")}
