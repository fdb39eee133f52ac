"""The terms of a budget: whose privacy it protects, what it promises, and in which currency it counts."""

from __future__ import annotations

import operator
import unicodedata
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Literal, get_args

from exactnoise.accounting.amount import Number, decimal_context, exact
from exactnoise.accounting.cost import Neighbors, PrivacyCost, in_words
from exactnoise.accounting.zcdp import zcdp_rho

__all__ = ["Method", "Terms"]

Method = Literal["basic", "zcdp"]

_MEANINGS: dict[Neighbors, str] = {
    "add-remove": "one unit more or fewer, so that the number of units is secret",
    "replace-one": "one unit replaced by another, so that the number of units is public",
}
_METHODS = "'basic', which adds epsilons and deltas up, or 'zcdp', which adds rhos up"


@dataclass(frozen=True, slots=True)
class Terms:
    """Checked once, at the construction of a budget, and never changed.

    Attributes
    ----------
    neighbors, unit, method
        As `PrivacyBudget` says.
    guarantee : PrivacyCost
        What the budget promises: (epsilon, delta) or rho.
    currency : tuple of str
        What is counted: "epsilon" with or without "delta", or "rho".
    cap : tuple of Fraction
        How much of it there is. Not always the guarantee: "zcdp" counts in rho.
    """

    neighbors: Neighbors
    unit: str
    method: Method
    guarantee: PrivacyCost
    currency: tuple[str, ...]
    cap: tuple[Fraction, ...]

    @classmethod
    def checked(
        cls,
        neighbors: Neighbors | None,
        unit: str | None,
        epsilon: Number | None,
        delta: Number | None,
        rho: Number | None,
        method: Method | None,
    ) -> Terms:
        neighbors, unit = _checked_neighbors(neighbors), _checked_unit(unit)
        promised = _checked_promise(epsilon, delta, rho)
        method = _checked_method(method, promised)
        counted = promised
        if method == "zcdp" and "epsilon" in promised:
            counted = {"rho": _stable(zcdp_rho(promised["epsilon"], promised["delta"]))}
        guarantee = PrivacyCost.from_exact(**promised)
        return cls(neighbors, unit, method, guarantee, tuple(counted), tuple(counted.values()))

    @classmethod
    def restored(
        cls, neighbors: Neighbors, unit: str, method: Method, guarantee: PrivacyCost, counted: PrivacyCost
    ) -> Terms:
        """The terms that were written down; a cap above what proves the guarantee is refused."""
        names = [name for name in ("epsilon", "delta", "rho") if getattr(counted, name)]
        terms = cls(
            _checked_neighbors(neighbors),
            _checked_unit(unit),
            method,
            guarantee,
            tuple(names),
            tuple(getattr(counted, name) for name in names),
        )
        # A part of a budget can have an epsilon longer than any typed one, so it is not checked as one.
        promised = {name: value for name in ("epsilon", "delta", "rho") if (value := getattr(guarantee, name))}
        if list(promised) not in (["epsilon"], ["epsilon", "delta"], ["rho"]) or (guarantee.epsilon == 0):
            raise ValueError("the state of the budget is damaged: its guarantee is none that a budget can give")
        if _checked_method(method, promised) == "zcdp" and "epsilon" in promised:
            allowed = {"rho": zcdp_rho(promised["epsilon"], promised["delta"])}
        else:
            allowed = promised
        if names != list(allowed) or any(getattr(counted, name) > allowed[name] for name in names):
            raise ValueError("the state of the budget is damaged: its cap does not prove its guarantee")
        return terms

    def part(self, amounts: tuple[Fraction, ...]) -> Terms:
        """The terms of a part of the budget: it promises what it counts, and no delta where it has none."""
        counted = {name: amount for name, amount in zip(self.currency, amounts, strict=True) if amount}
        guarantee = PrivacyCost.from_exact(**counted)
        return Terms(self.neighbors, self.unit, self.method, guarantee, tuple(counted), tuple(counted.values()))

    def as_cost(self, amounts: tuple[Fraction, ...]) -> PrivacyCost:
        """Amounts of the currency, as a cost."""
        return PrivacyCost.from_exact(**dict(zip(self.currency, amounts, strict=True)))

    def price(self, cost: PrivacyCost) -> tuple[Fraction, ...]:
        """Return the cost in the budget's currency, or say why it has no price there."""
        if self.currency == ("rho",):
            rho = cost.implied_rho
            if rho is None:
                raise TypeError(
                    f"a cost of {in_words(cost)} has no rho, in which this budget counts, and an epsilon with a delta "
                    "implies none; spend the mechanism itself, or use a budget of method 'basic'"
                )
            price: tuple[Fraction, ...] = (rho,)
        elif cost.epsilon is None:
            raise TypeError(
                f"a cost of {in_words(cost)} has no epsilon, in which this budget counts: Gaussian noise given by "
                "rho or scale has one only for a stated delta; give it epsilon and delta, or "
                "use a budget of method 'zcdp' or one in rho"
            )
        elif "delta" in self.currency:
            price = (cost.epsilon, cost.delta)
        elif cost.delta:
            raise TypeError(
                f"a cost of {in_words(cost)} has a delta, but this budget is one of pure differential privacy, where "
                "no delta is small enough; give the budget a delta, or use a pure mechanism"
            )
        else:
            price = (cost.epsilon,)
        if not any(price):
            raise ValueError(f"a spend must cost something, got {in_words(cost)}")
        return price

    def paid(self, cost: PrivacyCost, charged: PrivacyCost) -> tuple[Fraction, ...]:
        """What was charged once for a cost, or a ValueError: more may have been than it is known to be today."""
        try:
            price, paid = self.price(cost), self.price(charged)
        except (TypeError, ValueError) as error:
            raise ValueError(f"a saved spend has no price in this budget: {error}") from None
        if any(map(operator.lt, paid, price)):
            raise ValueError("a saved spend is charged below its cost")
        return paid

    def added(self, sums: tuple[Fraction, ...], paid: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        """What is spent after one spend more, or a ValueError where that is above the cap."""
        after = tuple(map(operator.add, sums, paid))
        if any(map(operator.gt, after, self.cap)):
            raise ValueError("a saved spend exceeds the budget")
        return after


def _stable(cap: Fraction) -> Fraction:
    """A little less than the cap, in 9 digits, so that a saved budget does not hang on the last digits of a search."""
    context = decimal_context(9, ROUND_FLOOR)
    return Fraction(context.divide(Decimal(cap.numerator * (10**9 - 1)), Decimal(cap.denominator * 10**9)))


def _checked_neighbors(neighbors: Neighbors | None) -> Neighbors:
    if isinstance(neighbors, str) and neighbors in get_args(Neighbors):
        return neighbors
    allowed = " or ".join(f"{name!r} ({meaning})" for name, meaning in _MEANINGS.items())
    if neighbors is None:
        raise TypeError(f"PrivacyBudget needs neighbors: {allowed}")
    raise ValueError(f"neighbors must be {allowed}, got {neighbors!r}")


def _checked_unit(unit: str | None) -> str:
    if unit is None:
        raise TypeError("PrivacyBudget needs unit: whose data it protects, 'person' or 'row' say")
    if not isinstance(unit, str):
        raise TypeError(f"unit must be a name such as 'person' or 'row', got {unit!r}")
    if not unit.strip() or any(unicodedata.category(character) in ("Cc", "Cs") for character in unit):
        raise ValueError(
            f"unit must be a name such as 'person' or 'row', in text that UTF-8 can hold and of one line, got {unit!r}"
        )
    return unit


def _checked_promise(epsilon: Number | None, delta: Number | None, rho: Number | None) -> dict[str, Fraction]:
    """The promised amounts, by name."""
    if (epsilon is None) == (rho is None):
        raise TypeError("PrivacyBudget needs either epsilon (with or without delta) or rho")
    if rho is not None:
        if delta is not None:
            raise TypeError("delta belongs to epsilon; a budget counted in rho has none")
        return {"rho": exact(rho, "rho", price=True)}
    assert epsilon is not None
    promise = {"epsilon": exact(epsilon, "epsilon", price=True)}
    if delta is not None:
        promise["delta"] = exact(delta, "delta", below=1, price=True)
    return promise


def _checked_method(method: Method | None, promise: dict[str, Fraction]) -> Method:
    allowed: tuple[Method, ...] = ("zcdp",) if "rho" in promise else ("basic",)
    if "delta" in promise:
        allowed = ("basic", "zcdp")
        if method is None:
            raise TypeError(f"a budget with a delta needs method: {_METHODS}")
    if method is None or method in allowed:
        return method or allowed[0]
    if method == "zcdp":
        raise ValueError("method 'zcdp' needs a delta beside the epsilon, or a budget in rho")
    names = " or ".join(map(repr, allowed))
    raise ValueError(f"method must be {names} for a budget in {' and '.join(promise)}, got {method!r}")
