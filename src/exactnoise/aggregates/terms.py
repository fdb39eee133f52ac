"""The terms of a release: its price, whose privacy the neighbours protect, and how much one of them contributes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypedDict, get_args

import numpy as np

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.cost import Neighbors
from exactnoise.aggregates.people import bounded_change
from exactnoise.mechanisms._parameters import check_budget

__all__ = ["Change", "Kind", "ReleaseTerms", "Terms", "check_names"]

Kind = Literal["laplace", "gaussian"]


class ReleaseTerms(TypedDict, total=False):
    """What every release takes, by keyword; `exactnoise.aggregates` describes them."""

    budget: PrivacyBudget | None
    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    mechanism: Kind | None
    neighbors: Neighbors | None
    rows_per_person: int | None
    groups_per_person: int | None
    label: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """How much one unit can change a vector of totals: exact bounds of its L1 norm and its squared L2 norm."""

    l1: Fraction
    l2_squared: Fraction

    def __mul__(self, factor: Fraction | int) -> Change:
        return Change(self.l1 * factor, self.l2_squared * factor**2)


@dataclass(frozen=True, slots=True)
class Terms:
    """Checked once, before any data is read.

    Attributes
    ----------
    price : dict
        Exact amounts: of epsilon, of epsilon and delta, or of rho.
    mechanism : {"laplace", "gaussian", None}
        What was asked for.
    budget : PrivacyBudget or None
    neighbors : {"add-remove", "replace-one"}
    unit : str
        "row", or whose rows the bounds on contributions are about.
    rows, groups : int
        How many rows one unit has in a group, and in how many groups.
    label : str or None
    enforced : bool
        Whether contributions are bounded by sampling here, and not by a promise of the caller's.
    """

    price: dict[str, Fraction]
    mechanism: Kind | None
    budget: PrivacyBudget | None
    neighbors: Neighbors
    unit: str
    rows: int
    groups: int
    label: str | None
    enforced: bool

    @classmethod
    def checked(cls, statistic: str, *, grouped: bool, enforced: bool = False, **given: Any) -> Terms:
        """Read what a caller passed as `ReleaseTerms`."""
        check_names(statistic, given)
        if "budget" not in given:
            raise TypeError(
                f"{statistic} needs budget: the PrivacyBudget that pays, or None to say that the accounting is done "
                "elsewhere"
            )
        budget = given["budget"]
        check_budget(budget)
        rows, groups = given.get("rows_per_person"), given.get("groups_per_person")
        neighbors, unit = _relation(statistic, budget, given.get("neighbors"), rows)
        checked_rows, checked_groups = _contributions(statistic, unit, rows, groups, grouped)
        price = _price(statistic, given.get("epsilon"), given.get("delta"), given.get("rho"))
        mechanism = given.get("mechanism")
        if mechanism is not None and mechanism not in get_args(Kind):
            raise ValueError(f"mechanism must be 'laplace' or 'gaussian', got {mechanism!r}")
        if mechanism == "gaussian" and set(price) == {"epsilon"}:
            raise TypeError("mechanism='gaussian' has no pure epsilon: give delta as well, such as 1e-6, or rho")
        return cls(
            price, mechanism, budget, neighbors, unit, checked_rows, checked_groups, given.get("label"), enforced
        )

    @property
    def size_is_public(self) -> bool:
        """Whether neighbours have the same number of rows."""
        return self.neighbors == "replace-one" and self.unit == "row"

    def change(self, low: Fraction, high: Fraction, *, bins: int, always_present: bool = False) -> Change:
        """How much one unit changes the sums over `bins` groups of values between low and high.

        `always_present` says that each row adds a value between them, whatever it is.
        """
        l1, l2_squared = bounded_change(
            low=low,
            high=high,
            neighbors=self.neighbors,
            rows=self.rows,
            groups=min(self.groups, bins),
            bins=bins,
            always_present=always_present and self.size_is_public and bins == 1,
        )
        return Change(l1, l2_squared)

    def cells_change(self, *, bins: int, cells: int) -> Change:
        """How much one unit changes counts in the disjoint cells of `bins` groups, `cells` in all.

        All rows of a unit in a group can be in one of its cells, which is the largest L2 norm, or in as many cells as
        there are rows: the L1 norm is the same.
        """
        groups = min(self.groups, bins)
        touched = groups if self.neighbors == "add-remove" else min(2 * groups, cells)
        return Change(Fraction(touched * self.rows), Fraction(touched * self.rows**2))

    def facts(self, *, grouped: bool) -> dict[str, Any]:
        """What a reader of a release must know, in JSON's types."""
        known: dict[str, Any] = {"neighbors": self.neighbors, "unit": self.unit}
        if self.unit != "row":
            known["rows_per_person"] = self.rows
            if grouped:
                known["groups_per_person"] = self.groups
            known["contributions"] = "enforced by sampling" if self.enforced else "declared"
        return known

    def check(self, cost: PrivacyCost) -> None:
        """Refuse before any data is read what the budget would refuse."""
        if self.budget is not None:
            self.budget.check(cost)

    def spend(self, cost: PrivacyCost) -> None:
        if self.budget is not None:
            self.budget.spend(cost, label=self.label)


def check_names(statistic: str, given: Collection[str]) -> None:
    """Refuse a keyword that no release takes, before anything is said about those that are missing."""
    unknown = sorted(set(given) - ReleaseTerms.__annotations__.keys())
    if unknown:
        raise TypeError(f"{statistic} got an unexpected keyword argument {unknown[0]!r}")


def _relation(
    statistic: str, budget: PrivacyBudget | None, neighbors: Neighbors | None, rows: int | None
) -> tuple[Neighbors, str]:
    if budget is not None:
        if neighbors is not None and neighbors != budget.neighbors:
            raise ValueError(f"neighbors are the budget's, {budget.neighbors!r}: leave neighbors={neighbors!r} out")
        return budget.neighbors, budget.unit
    if neighbors is None:
        raise TypeError(f"{statistic} with budget=None needs neighbors: 'add-remove' or 'replace-one'")
    if neighbors not in get_args(Neighbors):
        raise ValueError(f"neighbors must be 'add-remove' or 'replace-one', got {neighbors!r}")
    return neighbors, "row" if rows is None else "person"


def _contributions(statistic: str, unit: str, rows: int | None, groups: int | None, grouped: bool) -> tuple[int, int]:
    """How many rows one unit has in a group, and in how many groups."""
    if unit == "row":
        for name, value in (("rows_per_person", rows), ("groups_per_person", groups)):
            if value is not None:
                raise ValueError(f"{name} is for a budget whose unit is a person; a row is one row of one group")
        return 1, 1
    if rows is None:
        raise TypeError(
            f"{statistic} under a budget of unit {unit!r} needs rows_per_person: how many rows one {unit} has at most"
            f"{' in each group' if grouped else ''}; pass person= as well to enforce it by sampling"
        )
    if grouped and groups is None:
        raise TypeError(
            f"{statistic} with by= under a budget of unit {unit!r} needs groups_per_person: in how many groups one "
            f"{unit} has rows at most"
        )
    if not grouped and groups is not None:
        raise TypeError("groups_per_person is for grouped statistics: pass by= and keys=, or leave it out")
    return _whole(rows, "rows_per_person"), _whole(groups, "groups_per_person") if groups is not None else 1


def _whole(value: object, name: str) -> int:
    if isinstance(value, (bool, np.timedelta64)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if not 1 <= value < 2**31:
        raise ValueError(f"{name} must be between 1 and 2**31 - 1, got {value!r}")
    return int(value)


def _price(statistic: str, epsilon: Number | None, delta: Number | None, rho: Number | None) -> dict[str, Fraction]:
    if (epsilon is None) == (rho is None):
        raise TypeError(f"{statistic} needs its price: epsilon, with or without delta, or rho")
    if rho is not None:
        if delta is not None:
            raise TypeError("delta belongs to epsilon: leave it out with rho")
        return {"rho": exact(rho, "rho")}
    assert epsilon is not None
    price = {"epsilon": exact(epsilon, "epsilon")}
    if delta is not None:
        price["delta"] = exact(delta, "delta", below=1)
    return price
