"""One budget of a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exactnoise.accounting import PrivacyBudget, PrivacyCost, Spend
from exactnoise.accounting.cost import Neighbors
from exactnoise.accounting.terms import Method

if TYPE_CHECKING:
    from exactnoise.ledger.book import Reservation
    from exactnoise.ledger.ledger import Ledger

__all__ = ["LedgerBudget"]


class LedgerBudget:
    """A budget kept in a ledger: read here, and spent by `exactnoise.publish.publish` alone.

    Every attribute is read from the file, and so is what other processes have spent meanwhile.

    Attributes
    ----------
    ledger : Ledger
    name : str
    """

    __slots__ = ("ledger", "name")

    def __init__(self, ledger: Ledger, name: str) -> None:
        self.ledger = ledger
        self.name = name

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self._filter().neighbors

    @property
    def unit(self) -> str:
        """Whose data the budget protects."""
        return self._filter().unit

    @property
    def method(self) -> Method:
        """The composition rule."""
        return self._filter().method

    @property
    def guarantee(self) -> PrivacyCost:
        """What holds for everything released against the budget: (epsilon, delta), or rho."""
        return self._filter().guarantee

    @property
    def total(self) -> PrivacyCost:
        """The cap in the currency that is counted; always exactly ``spent + remaining``."""
        return self._filter().total

    @property
    def spent(self) -> PrivacyCost:
        """The exact sum of what is reserved, committed and charged."""
        return self._filter().spent

    @property
    def remaining(self) -> PrivacyCost:
        """What is left, exactly, in the currency that is counted."""
        return self._filter().remaining

    @property
    def history(self) -> tuple[Spend, ...]:
        """Everything that counts, oldest first; the labels are the releases' ids."""
        return self.ledger._history(self.name)

    def check(self, cost: PrivacyCost) -> None:
        """Refuse what could not be published now, and change nothing.

        Raises
        ------
        BudgetExceeded, TypeError, ValueError
            As `PrivacyBudget.spend`. Another process may spend what remains before it can be spent here.
        """
        self.ledger._check(self.name, cost)

    def _filter(self) -> PrivacyBudget:
        """The same budget in memory, as it is now."""
        return self.ledger._filter(self.name)

    def _reserve(
        self, id: str, digest: str, cost: PrivacyCost, description: dict[str, Any], *, path: str | None = None  # noqa: A002
    ) -> Reservation:  # fmt: skip
        """Charge for a release that is to be made; what was reserved, or committed, before costs nothing again.

        Raises
        ------
        BudgetExceeded, TypeError, ValueError
            As `check`; nothing is written.
        IdConflict
            The id is one of another query, was charged without a release, or a process is at work on it.
        """
        return self.ledger._reserve(self.name, id, digest, cost, description, path)

    def _commit(self, reservation: Reservation, path: str, sha256: str, **more: Any) -> None:
        """Record the released file, after which it is never made again.

        Raises
        ------
        IdConflict
            The reservation was taken from this process.
        LedgerUnavailable
            It may have been recorded, or not.
        """
        self.ledger._end(reservation, "committed", {"path": path, "sha256": sha256, **more})

    def _charge(self, reservation: Reservation, reason: str) -> None:
        """Close it: it stays spent, and nothing is published under its id."""
        self.ledger._end(reservation, "charged", {"reason": reason})

    def _void(self, reservation: Reservation, reason: str) -> None:
        """Close it, the data not having been touched: it is no longer spent."""
        self.ledger._end(reservation, "voided", {"reason": reason})

    def _release(self, reservation: Reservation, reason: str) -> None:
        """Leave it to whoever publishes the same under the same id: it stays spent."""
        self.ledger._end(reservation, "held", {"holder": None, "reason": reason})

    def __repr__(self) -> str:
        return f"<LedgerBudget {self.name!r} in {self.ledger.path.name}: {self._filter()!r}>"
