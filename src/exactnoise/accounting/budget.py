"""A budget in memory: exact basic composition with a hard cap, safe between threads."""

from __future__ import annotations

import operator
import os
from dataclasses import dataclass
from decimal import ROUND_UP
from fractions import Fraction
from typing import Any, Literal, NoReturn, SupportsIndex

from exactnoise.accounting.amount import Number, approximately, exact
from exactnoise.accounting.cost import PrivacyCost
from exactnoise.accounting.fitting import M, Priced, choose_parameters, most_accurate_within
from exactnoise.errors import BudgetExceeded

__all__ = ["PrivacyBudget", "Spend"]

Neighbors = Literal["add-remove", "replace-one"]
Method = Literal["basic", "zcdp"]
_NEIGHBORS: dict[Neighbors, str] = {
    "add-remove": "one unit more or fewer, so that the number of units is secret",
    "replace-one": "one unit replaced by another, so that the number of units is public",
}


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
        The composition rule: "basic" adds epsilons and deltas up, "zcdp" adds rhos up. It must be
        said when `delta` is given, and is then "basic" in this version; otherwise it follows from
        the other parameters.

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
    before the sum of rhos does (Feldman & Zrnic 2021, arXiv 2008.11193).

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

    __slots__ = (
        "__weakref__",
        "_currency",
        "_log",
        "_method",
        "_neighbors",
        "_pid",
        "_total",
        "_unit",
    )

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
        self._neighbors = _checked_neighbors(neighbors)
        self._unit = _checked_unit(unit)
        cap = _checked_cap(epsilon, delta, rho)
        self._method = _checked_method(method, cap)
        self._currency = tuple(cap)
        self._total = tuple(cap.values())
        # Each entry with the sums after it, by its number: see `_record`.
        self._log: dict[int, tuple[Spend, tuple[Fraction, ...]]] = {}
        self._pid = os.getpid()

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self._neighbors

    @property
    def unit(self) -> str:
        """Whose data the budget protects."""
        return self._unit

    @property
    def method(self) -> Method:
        """The composition rule."""
        return self._method

    @property
    def total(self) -> PrivacyCost:
        """The cap; always exactly ``spent + remaining``."""
        return self._as_cost(self._total)

    @property
    def spent(self) -> PrivacyCost:
        """The exact sum of what was charged, in the budget's currency."""
        return self._as_cost(self._sums())

    @property
    def remaining(self) -> PrivacyCost:
        """What is left, exactly, in the budget's currency."""
        return self._as_cost(self._left(self._sums()))

    @property
    def history(self) -> tuple[Spend, ...]:
        """Every spend, oldest first."""
        return tuple(self._log[number][0] for number in range(len(self._log)))

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
        cost, mechanism = _cost_of(what)
        price = self._price(cost)
        entry = Spend(label, cost, mechanism)
        self._check_process()
        while True:
            number = len(self._log)
            before = self._sums(number)
            after = tuple(map(operator.add, before, price))
            if not all(map(operator.le, after, self._total)):
                raise self._exceeded(price, before)
            if self._record(number, entry, after):
                return

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
            Priced exactly at ``remaining / times``. In a rho budget a mechanism that is priced by
            epsilon alone gets the largest epsilon, of 12 significant digits, whose rho fits.

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
        times = _checked_times(times)
        chosen = choose_parameters(mechanism, self._currency, params)
        sums = self._sums()
        left = zip(self._currency, self._left(sums), strict=True)
        share = {name: amount / times for name, amount in left}
        convert = "rho" in share and chosen == ("epsilon",)
        if not all(share[name] for name in (("rho",) if convert else chosen)):
            raise self._exceeded(None, sums)
        if convert:
            return most_accurate_within(share["rho"], mechanism, params)
        fitted = mechanism(**params, **{name: share[name] for name in chosen})
        price = self._price(fitted.cost)
        if any(map(operator.gt, price, share.values())):
            raise self._exceeded(tuple(times * amount for amount in price), sums)
        return fitted

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
                raise self._exceeded(None, sums)
            children = tuple(self._child(tuple(amount * part / whole for amount in left)) for part in parts)
            entry = Spend(f"split into {len(parts)}", self._as_cost(left), None)
            if self._record(number, entry, self._total):
                return children

    def _child(self, amounts: tuple[Fraction, ...]) -> PrivacyBudget:
        cap = {n: amount for n, amount in zip(self._currency, amounts, strict=True) if amount}
        return PrivacyBudget(neighbors=self._neighbors, unit=self._unit, method=self._method, **cap)

    def _record(self, number: int, entry: Spend, after: tuple[Fraction, ...]) -> bool:
        """Make the entry the log's next, unless another one has become entry `number` meanwhile."""
        # Compare and append in one. dict.setdefault with an integer key is a single atomic step, also
        # without the GIL: one contender gets the number, and every other one has to check again against
        # the sums that include it. So nothing can be overspent, and nobody waits: a lock would hang a
        # signal handler or finalizer that interrupts its own thread's spend to spend as well, and a
        # reentrant lock would let the outer spend record sums that lack the inner one.
        ours = (entry, after)
        return self._log.setdefault(number, ours) is ours

    def _sums(self, number: int | None = None) -> tuple[Fraction, ...]:
        """What is spent after that many entries, by default all, in the order of `_currency`."""
        # Entries are never changed nor removed, so those counted are there.
        number = len(self._log) if number is None else number
        return self._log[number - 1][1] if number else (Fraction(0),) * len(self._total)

    def _left(self, sums: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        return tuple(map(operator.sub, self._total, sums))

    def _as_cost(self, amounts: tuple[Fraction, ...]) -> PrivacyCost:
        return PrivacyCost.from_exact(**dict(zip(self._currency, amounts, strict=True)))

    def _price(self, cost: PrivacyCost) -> tuple[Fraction, ...]:
        """Return the cost in the budget's currency, or say why it has no price there."""
        if self._currency == ("rho",):
            if cost.rho is None:
                raise TypeError(
                    f"{cost!r} has no rho, in which this budget counts; pure_rho(epsilon) of "
                    "exactnoise.accounting is one that holds for every pure mechanism"
                )
            price: tuple[Fraction, ...] = (cost.rho,)
        elif cost.epsilon is None:
            raise TypeError(
                f"{cost!r} has no epsilon, in which this budget counts: Gaussian noise given by "
                "rho or scale has one only for a stated delta; give it epsilon and delta, or "
                "count the budget in rho"
            )
        elif "delta" in self._currency:
            price = (cost.epsilon, cost.delta)
        elif cost.delta:
            raise TypeError(
                f"{cost!r} has a delta, but this budget is one of pure differential privacy, where "
                "no delta is small enough; give the budget a delta, or use a pure mechanism"
            )
        else:
            price = (cost.epsilon,)
        if not any(price):
            raise ValueError(f"a spend must cost something, got {cost!r}")
        return price

    def _exceeded(self, price: tuple[Fraction, ...] | None, sums: tuple[Fraction, ...]) -> BudgetExceeded:
        """Build the refusal of a price, or of anything at all when nothing remains."""
        left = self._left(sums)
        lines = []
        for i, name in enumerate(self._currency):
            asked = "" if price is None else f"{approximately(price[i], ROUND_UP)} requested, "
            spent = f"{approximately(sums[i], ROUND_UP)} of {approximately(self._total[i])} spent"
            lines.append(f"{name} {asked}{spent}, {approximately(left[i])} remaining")
        if left[0]:
            advice = f"the largest {self._currency[0]} that fits is {approximately(left[0])}"
            if "delta" in self._currency:
                advice += f", with a delta of at most {approximately(left[1])}"
        else:
            advice = "nothing more fits"
        return BudgetExceeded(
            f"over budget: {'; '.join(lines)}; {advice}",
            requested=None if price is None else self._as_cost(price),
            spent=self._as_cost(sums),
            remaining=self._as_cost(left),
            largest_epsilon=left[0] if self._currency[0] == "epsilon" else None,
        )

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
        amounts = zip(self._currency, self._left(self._sums()), self._total, strict=True)
        left = ", ".join(f"{name} {approximately(left)} of {approximately(total)}" for name, left, total in amounts)
        return f"<PrivacyBudget: {left} remaining, neighbors={self._neighbors!r}, unit={self._unit!r}>"


def _checked_neighbors(neighbors: Neighbors | None) -> Neighbors:
    if isinstance(neighbors, str) and neighbors in _NEIGHBORS:
        return neighbors
    allowed = " or ".join(f"{name!r} ({meaning})" for name, meaning in _NEIGHBORS.items())
    if neighbors is None:
        raise TypeError(f"PrivacyBudget needs neighbors: {allowed}")
    raise ValueError(f"neighbors must be {allowed}, got {neighbors!r}")


def _checked_unit(unit: str | None) -> str:
    if unit is None:
        raise TypeError("PrivacyBudget needs unit: whose data it protects, 'person' or 'row' say")
    if not isinstance(unit, str):
        raise TypeError(f"unit must be a name such as 'person' or 'row', got {unit!r}")
    if not unit.strip():
        raise ValueError(f"unit must be a name such as 'person' or 'row', got {unit!r}")
    return unit


def _checked_cap(epsilon: Number | None, delta: Number | None, rho: Number | None) -> dict[str, Fraction]:
    """The amounts that are counted, by name."""
    if (epsilon is None) == (rho is None):
        raise TypeError("PrivacyBudget needs either epsilon (with or without delta) or rho")
    if rho is not None:
        if delta is not None:
            raise TypeError("delta belongs to epsilon; a budget counted in rho has none")
        return {"rho": exact(rho, "rho", price=True)}
    assert epsilon is not None
    cap = {"epsilon": exact(epsilon, "epsilon", price=True)}
    if delta is not None:
        cap["delta"] = exact(delta, "delta", below=1, price=True)
    return cap


def _checked_method(method: Method | None, cap: dict[str, Fraction]) -> Method:
    natural: Method = "zcdp" if "rho" in cap else "basic"
    if method is None and "delta" in cap:
        raise TypeError("a budget with a delta needs method: 'basic', which adds epsilons and deltas up")
    if method is None or method == natural:
        return natural
    if method == "zcdp":
        raise ValueError(
            "method 'zcdp' is not available yet in this version for a budget in epsilon: use "
            "'basic', or count the budget in rho"
        )
    raise ValueError(f"method must be {natural!r} for a budget in {next(iter(cap))}, got {method!r}")


def _checked_times(times: SupportsIndex) -> int:
    if isinstance(times, bool) or not hasattr(times, "__index__") or operator.index(times) < 1:
        raise ValueError(f"times must be a whole number >= 1, got {times!r}")
    return operator.index(times)


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
