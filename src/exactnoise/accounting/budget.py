"""A budget in memory: exact composition with a hard cap, safe between threads."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, Self, SupportsIndex

from exactnoise.accounting import state
from exactnoise.accounting.amount import Number, approximately, exact
from exactnoise.accounting.convert import checked_whole
from exactnoise.accounting.cost import Neighbors, PrivacyCost
from exactnoise.accounting.fitting import M, Priced, fitted
from exactnoise.accounting.interval import lower
from exactnoise.accounting.refusal import refusal
from exactnoise.accounting.terms import Method, Terms

__all__ = ["PrivacyBudget", "Spend"]


@dataclass(frozen=True, slots=True)
class Spend:
    """One entry of a budget's history.

    Attributes
    ----------
    label : str or None
        What the caller said about it.
    cost : PrivacyCost
        What was charged for, in all its currencies.
    mechanism : str or None
        The repr of the mechanism; None when a bare cost was spent.
    """

    label: str | None
    cost: PrivacyCost
    mechanism: str | None


_Entry = tuple[Spend, tuple[Fraction, ...], "tuple[PrivacyBudget, ...] | None"]


class PrivacyBudget:
    """A cap on the total privacy loss, spent in exact arithmetic.

    Parameters
    ----------
    neighbors : {"add-remove", "replace-one"}
        The neighbouring relation: what two data sets that must look alike differ in.
    unit : str
        Whose data that is: "row", "person", or any other name.
    epsilon, delta : number
        The cap, when it is counted in epsilon. Leave `delta` out for pure differential privacy.
    rho : number
        The cap, when it is counted in zCDP. Exactly one of `epsilon` and `rho` must be given.
    method : {"basic", "zcdp"}, optional
        The composition rule: "basic" adds epsilons and deltas up; "zcdp" adds rhos up, in a budget
        of `epsilon` and `delta` to the largest rho that proves them (`zcdp_rho`, less one part in
        10^9, so that a saved budget stays provable). It must be said
        when `delta` is given; otherwise it follows from the other parameters.

    Raises
    ------
    TypeError
        A parameter is missing, excludes another, or has the wrong type.
    ValueError
        An amount is not positive, `delta` is not below 1, or a name is unknown.

    Notes
    -----
    *Guarantee.* Everything released against the budget is together (epsilon, delta)-differentially
    private, or rho-zCDP, also when each next mechanism and its parameters are chosen after seeing
    the earlier results: stopping before the sum of epsilons or of deltas exceeds its cap is a
    valid privacy filter (Rogers, Roth, Ullman & Vadhan 2016, arXiv 1605.08294), and so is stopping
    before the sum of rhos does (Feldman & Zrnic 2021, arXiv 2008.11193, Remark 4.4). What costs a
    bare epsilon counts in rho as `pure_rho` says.

    *Exactness.* Amounts are fractions of the typed decimal text: ten spends of 0.1 fit in 1, seven
    of "1/7" too, and after that not even 5e-324.

    *One budget, one process.* Any number of threads, and signal handlers too, may spend from it at
    once: the sum each one checked is the sum it adds to, or it starts again. A copy could be spent
    twice, so a budget cannot be copied or pickled, nor spent in a forked process; use `split` to
    hand out parts, and create a budget in each process from such a part.

    Examples
    --------
    >>> budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    >>> budget.spend(PrivacyCost(epsilon=0.7), label="visits a day")
    >>> budget.remaining
    PrivacyCost(epsilon='0.3')
    """

    __slots__ = ("__weakref__", "_log", "_pid", "_terms")

    def __init__(
        self,
        *,
        neighbors: Neighbors | None = None,
        unit: str | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        method: Method | None = None,
    ) -> None:
        self._start(Terms.checked(neighbors, unit, epsilon, delta, rho, method))

    def _start(self, terms: Terms) -> None:
        self._terms = terms
        # Each entry with the sums after it, by its number: see `_record`. The last is None for a spend; a split has its
        # parts there, and a closing, of which nothing is spent either, ().
        self._log: dict[int, _Entry] = {}
        self._pid = os.getpid()

    @classmethod
    def _on(cls, terms: Terms) -> Self:
        budget = cls.__new__(cls)
        budget._start(terms)
        return budget

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self._terms.neighbors

    @property
    def unit(self) -> str:
        """Whose data the budget protects."""
        return self._terms.unit

    @property
    def method(self) -> Method:
        """The composition rule."""
        return self._terms.method

    @property
    def guarantee(self) -> PrivacyCost:
        """What holds for everything released against the budget: (epsilon, delta), or rho."""
        return self._terms.guarantee

    @property
    def total(self) -> PrivacyCost:
        """The cap in the currency that is counted; always exactly ``spent + remaining``."""
        return self._terms.as_cost(self._terms.cap)

    @property
    def spent(self) -> PrivacyCost:
        """The exact sum of what was charged, in the currency that is counted."""
        return self._terms.as_cost(self._sums())

    @property
    def remaining(self) -> PrivacyCost:
        """What is left, exactly, in the currency that is counted."""
        return self._terms.as_cost(self._left(self._sums()))

    @property
    def history(self) -> tuple[Spend, ...]:
        """Every spend, oldest first."""
        return tuple(spend for spend, _, _ in self._entries())

    def spend(self, what: PrivacyCost | Priced, *, label: str | None = None) -> None:
        """Charge the budget, or refuse and change nothing.

        Parameters
        ----------
        what : PrivacyCost or mechanism
            A cost, or an object whose ``cost`` is one. The mechanisms' ``release`` does this by
            itself; calling `spend` as well would pay twice.
        label : str, optional
            For the history.

        Raises
        ------
        BudgetExceeded
            It does not fit in what remains.
        TypeError
            `what` has no price in the budget's currency: no amount left would make it fit. That
            is Gaussian noise given by rho or scale in an epsilon budget, any delta in a budget
            without one, a cost without rho in a rho budget, or something that is no cost at all.
        ValueError
            The price is zero.
        """
        if label is not None and not isinstance(label, str):
            raise TypeError(f"label must be text or None, got {label!r} of type {type(label).__name__}")
        cost, mechanism = _cost_of(what)
        price = self._terms.price(cost)
        entry = Spend(label, cost, mechanism)
        self._check_process()
        while True:
            number = len(self._log)
            after = self._sums_with(price, number, what)
            if self._record(number, entry, after):
                return

    def check(self, what: PrivacyCost | Priced) -> None:
        """Refuse what `spend` would refuse now, and change nothing.

        Parameters
        ----------
        what : PrivacyCost or mechanism
            As for `spend`.

        Raises
        ------
        BudgetExceeded, TypeError, ValueError
            As `spend`. Another thread may spend what remains before it can be spent here.
        """
        price = self._terms.price(_cost_of(what)[0])
        self._check_process()
        self._sums_with(price, len(self._log), what)

    def _sums_with(self, price: tuple[Fraction, ...], number: int, what: PrivacyCost | Priced) -> tuple[Fraction, ...]:
        """What is spent after the first `number` entries and this price, if it fits."""
        before = self._sums(number)
        after = tuple(map(operator.add, before, price))
        if not all(map(operator.le, after, self._terms.cap)):
            raise refusal(self._terms, before, price, what)
        return after

    def fit(self, mechanism: type[M], /, *, times: int = 1, **params: Any) -> M:
        """Build the most accurate mechanism of which `times` uses fit; spend nothing.

        Parameters
        ----------
        mechanism : type
            A mechanism's class; its ``priced_by`` says which parameters set the price.
        times : int
            How many releases shall fit in what remains now.
        **params
            The other parameters of the constructor, such as ``sensitivity=1``. With ``delta=``
            given, only epsilon is divided; otherwise the remaining delta is divided as well.

        Returns
        -------
        mechanism
            Priced exactly at ``remaining / times``. In a budget that counts rho a mechanism that is
            priced by epsilon alone gets the largest epsilon, of 12 significant digits, whose rho
            fits; of the budget about one part in 10^12 is then left.

        Raises
        ------
        BudgetExceeded
            Nothing remains, or the given delta does not fit `times` times.
        TypeError
            The mechanism cannot be priced in the budget's currency, or `params` sets the price
            that this method has to choose.
        ValueError
            `times` is not a whole number >= 1.
        """
        times = checked_whole(times, "times")
        sums = self._sums()
        left = zip(self._terms.currency, self._left(sums), strict=True)
        share = {name: _typable(amount / times) for name, amount in left}
        fit = fitted(mechanism, params, share)
        if fit is None:
            raise refusal(self._terms, sums)
        price = self._terms.price(fit.cost)
        if any(map(operator.gt, price, share.values())):
            raise refusal(self._terms, sums, tuple(times * amount for amount in price))
        return fit

    def split(self, *weights: Number) -> tuple[PrivacyBudget, ...]:
        """Divide what remains among new budgets and charge all of it here at once.

        Parameters
        ----------
        *weights : number
            Positive; the shares are proportional to them.

        Returns
        -------
        tuple of PrivacyBudget
            One for each weight, with the same neighbours, unit and method. Their caps add up
            exactly to what remained. Where no delta remained, they are pure.

        Raises
        ------
        BudgetExceeded
            Nothing remains.
        TypeError, ValueError
            No weight is given, or one is not a positive number.

        Notes
        -----
        Spending from the parts is spending from the whole: every filter of the parts stops before
        its cap, and the caps add up (basic composition, Rogers, Roth, Ullman & Vadhan 2016).
        """
        if not weights:
            raise TypeError("split needs at least one weight, such as split(1, 1) for halves")
        parts = [exact(weight, f"weight {i}") for i, weight in enumerate(weights, 1)]
        whole = sum(parts)
        self._check_process()
        while True:
            number = len(self._log)
            sums = self._sums(number)
            left = self._left(sums)
            if not left[0]:
                raise refusal(self._terms, sums)
            shares = (tuple(amount * part / whole for amount in left) for part in parts)
            children = tuple(self._on(self._terms.part(share)) for share in shares)
            entry = Spend(f"split into {len(parts)}", self._terms.as_cost(left), None)
            if self._record(number, entry, self._terms.cap, children):
                return children

    def _entries(self) -> list[_Entry]:
        """Those that there are, by number and never by iteration: others may be adding some."""
        return [self._log[number] for number in range(len(self._log))]

    def _family(self) -> Iterator[PrivacyBudget]:
        """This budget and its parts, and theirs. What is split off one while the caller has it is not missed."""
        waiting: list[PrivacyBudget] = [self]
        while waiting:
            budget = waiting.pop(0)
            yield budget
            waiting += [part for _, _, parts in budget._entries() for part in parts or ()]

    def _spends(self) -> list[Spend]:
        """What was spent here and from the parts; splitting a budget spends nothing yet."""
        entries = [entry for budget in self._family() for entry in budget._entries()]
        return [spend for spend, _, parts in entries if parts is None]

    def _close(self) -> None:
        """Let nothing more be spent, neither here nor from the parts."""
        for budget in self._family():
            while any(left := budget._left(budget._sums(number := len(budget._log)))):
                if budget._record(number, Spend("closed", budget._terms.as_cost(left), None), budget._terms.cap, ()):
                    break

    def to_state(self) -> dict[str, Any]:
        """Return the terms and the history in JSON's types, so that they can be kept.

        Returns
        -------
        dict
            Amounts are exact decimal texts or ratios; ``"format"`` is the version of the layout.
        """
        terms, entries, before = self._terms, [], self._sums(0)
        for spend, after, _ in self._entries():
            charged = terms.as_cost(tuple(map(operator.sub, after, before)))
            entries.append(state.Entry(spend.label, spend.cost, spend.mechanism, charged))
            before = after
        return state.written(terms, entries, terms.as_cost(before))

    @classmethod
    def from_state(cls, saved: Mapping[str, Any]) -> Self:
        """Return the budget that `to_state` described, having checked it spend by spend.

        Parameters
        ----------
        saved : mapping
            What `to_state` returned, also after a way through JSON.

        Raises
        ------
        ValueError
            The layout is unknown or damaged, the spends do not add up to what is said to be
            spent, or they exceed the cap.

        Notes
        -----
        Two budgets from one state could be spent twice. Whoever keeps states, as a ledger does, must
        let one live at a time and write its state back before the next one is read.
        """
        terms, entries, spent = state.read(saved)
        budget = cls._on(terms)
        for number, entry in enumerate(entries):
            after = terms.added(budget._sums(), terms.paid(entry.cost, entry.charged))
            budget._record(number, Spend(entry.label, entry.cost, entry.mechanism), after)
        if budget.spent != spent:
            raise ValueError("the saved spends do not add up to what is said to be spent")
        return budget

    @classmethod
    def _resumed(cls, terms: Terms, sums: tuple[Fraction, ...]) -> Self:
        """A budget of which so much is spent; what for is known elsewhere."""
        budget = cls._on(terms)
        if any(sums):
            budget._record(0, Spend(None, terms.as_cost(sums), None), sums)
        return budget

    def _record(
        self, number: int, entry: Spend, after: tuple[Fraction, ...], parts: tuple[PrivacyBudget, ...] | None = None
    ) -> bool:
        """Make the entry the log's next, unless another one has become entry `number` meanwhile."""
        # Compare and append in one. dict.setdefault with an integer key is a single atomic step, also
        # without the GIL: one contender gets the number, and every other one has to check again against
        # the sums that include it. So nothing can be overspent, and nobody waits: a lock would hang a
        # signal handler or finalizer that interrupts its own thread's spend to spend as well, and a
        # reentrant lock would let the outer spend record sums that lack the inner one.
        ours = (entry, after, parts)
        return self._log.setdefault(number, ours) is ours

    def _sums(self, number: int | None = None) -> tuple[Fraction, ...]:
        """What is spent after that many entries, by default all, in the order of the terms' currency."""
        # Entries are never changed nor removed, so those counted are there.
        number = len(self._log) if number is None else number
        return self._log[number - 1][1] if number else (Fraction(0),) * len(self._terms.cap)

    def _left(self, sums: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        return tuple(map(operator.sub, self._terms.cap, sums))

    def _check_process(self) -> None:
        if os.getpid() != self._pid:
            raise RuntimeError(
                "this budget was created in another process, before a fork, and could be spent in "
                "both; split it there and create a budget from each part in its own process"
            )

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(
            "a PrivacyBudget cannot be copied or pickled, because both copies could be spent; "
            "hand out parts of it with split"
        )

    def __repr__(self) -> str:
        terms = self._terms
        amounts = zip(terms.currency, self._left(self._sums()), terms.cap, strict=True)
        left = ", ".join(f"{name} {approximately(left)} of {approximately(total)}" for name, left, total in amounts)
        return f"<PrivacyBudget: {left} remaining, neighbors={terms.neighbors!r}, unit={terms.unit!r}>"


def _typable(share: Fraction) -> Fraction:
    """The share, rounded down if it is longer than what a mechanism takes for a parameter."""
    return share if share.denominator.bit_length() < 4000 else lower(lambda at: at(share))


def _cost_of(what: object) -> tuple[PrivacyCost, str | None]:
    if isinstance(what, PrivacyCost):
        return what, None
    cost = getattr(what, "cost", None)
    if not isinstance(cost, PrivacyCost):
        raise TypeError(
            "spend takes a mechanism or a cost such as PrivacyCost(epsilon=0.1), "
            f"got {what!r} of type {type(what).__name__}"
        )
    return cost, repr(what)
