"""What one use of a mechanism costs, and how costs add up."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Literal, SupportsIndex

from exactnoise.accounting import profile
from exactnoise.accounting.amount import Number, approximately, exact, text
from exactnoise.accounting.convert import pure_rho
from exactnoise.accounting.interval import upper
from exactnoise.accounting.loss import PrivacyLoss, StatedLoss, shortened
from exactnoise.accounting.profile import Losses
from exactnoise.accounting.rdp import Order

__all__ = ["Neighbors", "PrivacyCost", "disjoint", "in_words"]

Neighbors = Literal["add-remove", "replace-one"]

_NONE = Fraction(0)

# The same few epsilons are typed again and again.
_pure_rho = lru_cache(maxsize=256)(pure_rho)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivacyCost:
    """The privacy price of one or several releases, as exact fractions.

    A cost can carry prices in two currencies, (epsilon, delta) and rho; each is a guarantee of
    its own, and a budget charges the one it counts in. A mechanism's cost knows more: the kind of
    its privacy loss, from which follow a Renyi curve, the mu of Gaussian noise and the profile
    (every epsilon with its least delta) of a whole plan of releases.

    Parameters
    ----------
    epsilon : number, optional
        The release is (epsilon, delta)-differentially private. Leave it out where the mechanism
        has no such price by itself: Gaussian noise given by its rho or scale has one for every
        delta.
    delta : number
        0, the default, for pure differential privacy; at most 1. Belongs to `epsilon`.
    rho : number, optional
        The release satisfies rho-zCDP.

    Attributes
    ----------
    epsilon, rho : Fraction or None
    delta : Fraction
    losses : tuple of (loss, count)
        The kinds of privacy loss (`exactnoise.accounting.loss`) that it is made of; those of a
        typed cost are no more than what was typed. Costs are equal when their prices are.

    Raises
    ------
    TypeError
        Neither `epsilon` nor `rho` is given, `delta` comes without `epsilon`, or one is not a
        number.
    ValueError
        An amount is negative, NaN or infinite, or `delta` is above 1.

    Notes
    -----
    ``a + b`` and ``k * a`` are basic composition: epsilons and deltas add up (Dwork & Roth 2014,
    "The Algorithmic Foundations of Differential Privacy", Theorem 3.16), and rhos add up (Bun &
    Steinke 2016, arXiv 1605.02065, Lemma 1.7). A currency that one side lacks is lost in the sum.
    A plan of releases with parameters fixed beforehand has a better price than this sum:
    `epsilon_at`.

    Examples
    --------
    >>> 3 * PrivacyCost(epsilon=0.1)
    PrivacyCost(epsilon='0.3')
    >>> PrivacyCost(epsilon="1/3", delta=1e-6) + PrivacyCost(epsilon=1)
    PrivacyCost(epsilon='4/3', delta='1e-6')
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    losses: Losses = field(compare=False)

    def __init__(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number = 0,
        rho: Number | None = None,
    ) -> None:
        exact_delta = exact(delta, "delta", positive=False, price=True)
        if exact_delta > 1:
            raise ValueError(f"delta must be at most 1, got {delta!r}")
        if epsilon is None and rho is None:
            raise TypeError("PrivacyCost needs epsilon, or rho, or both")
        if epsilon is None and exact_delta:
            raise TypeError("delta belongs to epsilon: give both, or rho alone")
        exact_epsilon = None if epsilon is None else exact(epsilon, "epsilon", positive=False, price=True)
        exact_rho = None if rho is None else exact(rho, "rho", positive=False, price=True)
        self._set(exact_epsilon, exact_delta, exact_rho, ((StatedLoss(exact_epsilon, exact_delta, exact_rho), 1),))

    @classmethod
    def from_exact(
        cls, epsilon: Fraction | None = None, delta: Fraction = _NONE, rho: Fraction | None = None
    ) -> PrivacyCost:
        """Return the cost of checked amounts, of any length: sums grow with every price added."""
        return cls._made(epsilon, delta, rho, ((StatedLoss(epsilon, delta, rho), 1),))

    @classmethod
    def _made(cls, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None, losses: Losses) -> PrivacyCost:
        cost = cls.__new__(cls)
        cost._set(epsilon, delta, rho, losses)
        return cost

    @classmethod
    def of(cls, loss: PrivacyLoss, *, epsilon: Fraction | None = None, delta: Fraction = _NONE) -> PrivacyCost:
        """Return the cost of one release of a known kind; `epsilon` and `delta` where the kind has no epsilon."""
        return cls._made(epsilon if loss.epsilon is None else loss.epsilon, delta, loss.rho, ((loss, 1),))

    def _set(self, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None, losses: Losses) -> None:
        for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho), ("losses", losses)):
            object.__setattr__(self, name, value)

    @property
    def implied_rho(self) -> Fraction | None:
        """The rho; of a pure cost without one, the `pure_rho` of its epsilon; None where neither is known."""
        if self.rho is not None or self.epsilon is None or self.delta:
            return self.rho
        return _pure_rho(shortened(self.epsilon)) if self.epsilon else _NONE

    @property
    def mu(self) -> Fraction | None:
        """The mu of Gaussian differential privacy, sqrt(2 rho) rounded up; None for any other noise.

        Dong, Roth & Su 2022, arXiv 1905.02383, Theorem 1 and Corollary 1.
        """
        rho = profile.gaussian_rho_of(self.losses)
        return None if rho is None else upper(lambda at: at(2 * rho).sqrt())

    def rdp(self, order: Order) -> Fraction | float:
        """Return a bound of the Renyi divergence of an order: a point of the curve.

        Parameters
        ----------
        order : number
            At least 1; ``math.inf`` gives the pure epsilon.

        Returns
        -------
        Fraction or float
            ``math.inf`` where there is no bound, as for Gaussian noise at infinity.

        Raises
        ------
        TypeError
            A part of the cost has no curve: an (epsilon, delta) without a rho.

        Notes
        -----
        Curves of releases add up (Mironov 2017, arXiv 1702.07476, Proposition 1).

        Examples
        --------
        >>> cost = PrivacyCost(epsilon=1)
        >>> round(float(cost.rdp(2)), 6), cost.rdp(float("inf"))
        (0.735326, Fraction(1, 1))
        """
        divergence = profile.rdp(self.losses, order)
        if divergence is None:
            raise TypeError(
                f"a cost of {in_words(self)} has no Renyi curve: a part of it is known by its epsilon and delta alone"
            )
        return divergence

    def epsilon_at(self, delta: Number) -> Fraction:
        """Return the least epsilon that is proved for a delta, for a plan of fixed parameters.

        Parameters
        ----------
        delta : number
            Between 0 and 1; 0 gives the pure epsilon.

        Returns
        -------
        Fraction
            Rounded up.

        Raises
        ------
        TypeError, ValueError
            `delta` is no such number, or nothing is known for it.

        Notes
        -----
        The least of the bounds that hold: the basic sum; the exact profile where all releases are
        Gaussian (`gaussian_epsilon`) or the same Laplace (`laplace_epsilon`); the optimum for pure
        mechanisms (`optimal_epsilon`); the Renyi curve (`rdp_epsilon`). `pld_epsilon` composes
        different kinds more tightly still. The mechanisms and their parameters must be fixed
        beforehand; for spending as one goes, see the methods of `PrivacyBudget`.

        Examples
        --------
        >>> from exactnoise import Laplace
        >>> plan = 30 * Laplace(sensitivity=1, scale=10).cost
        >>> plan.epsilon, round(float(plan.epsilon_at(1e-6)), 4)
        (Fraction(3, 1), 2.2978)
        """
        return profile.least_epsilon(
            self.losses, self._sums, exact(delta, "delta", positive=False, below=1, price=True)
        )

    def delta_at(self, epsilon: Number) -> Fraction:
        """Return the least delta that is proved for an epsilon, for a plan of fixed parameters.

        Parameters
        ----------
        epsilon : number
            Zero or more.

        Returns
        -------
        Fraction
            Rounded up; at most 1.

        Notes
        -----
        As `epsilon_at`.
        """
        return profile.least_delta(self.losses, self._sums, exact(epsilon, "epsilon", positive=False, price=True))

    @property
    def _sums(self) -> tuple[Fraction, Fraction] | None:
        """The basic sums of epsilon and delta; None where a part has no epsilon."""
        return None if self.epsilon is None else (self.epsilon, self.delta)

    def __add__(self, other: PrivacyCost) -> PrivacyCost:
        if not isinstance(other, PrivacyCost):
            return NotImplemented
        epsilon, rho = _sum(self.epsilon, other.epsilon), _sum(self.rho, other.rho)
        if epsilon is None and rho is None:
            raise TypeError(
                f"costs of {in_words(self)} and of {in_words(other)} have no currency in common, so their sum has no "
                "price"
            )
        # Every mechanism is (epsilon, 1)-differentially private.
        delta = min(self.delta + other.delta, Fraction(1)) if epsilon is not None else _NONE
        return PrivacyCost._made(epsilon, delta, rho, profile.joined(self.losses, other.losses))

    def __radd__(self, other: object) -> PrivacyCost:
        # The builtin sum starts from the integer 0.
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, times: SupportsIndex) -> PrivacyCost:
        if isinstance(times, bool) or not hasattr(times, "__index__"):
            return NotImplemented
        k = operator.index(times)
        if k < 0:
            raise ValueError(f"a cost can be multiplied by a number of uses >= 0, got {k}")
        return PrivacyCost._made(
            epsilon=None if self.epsilon is None else k * self.epsilon,
            delta=min(k * self.delta, Fraction(1)),
            rho=None if self.rho is None else k * self.rho,
            losses=tuple((loss, k * count) for loss, count in self.losses if k),
        )

    __rmul__ = __mul__

    def __repr__(self) -> str:
        amounts = (("epsilon", self.epsilon), ("delta", self.delta or None), ("rho", self.rho))
        shown = (f"{name}={text(value)!r}" for name, value in amounts if value is not None)
        return f"PrivacyCost({', '.join(shown)})"


def _sum(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def in_words(cost: PrivacyCost) -> str:
    """What a cost is in a message: "epsilon 0.1, delta 1e-6"."""
    amounts = (("epsilon", cost.epsilon), ("delta", cost.delta or None), ("rho", cost.rho))
    return ", ".join(f"{name} {approximately(amount)}" for name, amount in amounts if amount is not None)


def disjoint(costs: Iterable[PrivacyCost], *, neighbors: Neighbors) -> PrivacyCost:
    """Return the cost of releases about disjoint parts of the data: no unit is in two of them.

    Parameters
    ----------
    costs : iterable of PrivacyCost
        One a part, at least one. Each must hold for a unit that enters or leaves its part, and
        under "replace-one" also for one that is replaced within it.
    neighbors : {"add-remove", "replace-one"}
        The neighbouring relation of the whole.

    Returns
    -------
    PrivacyCost
        In every currency that all parts have. "add-remove": the largest amount, for one unit more
        or fewer changes one part (McSherry 2009, "Privacy Integrated Queries", Theorem 4).
        "replace-one": the two largest together, for the unit can leave one part and its
        replacement enter another.

    Raises
    ------
    TypeError, ValueError
        There is no part, the parts have no currency in common, or `neighbors` is unknown.

    Notes
    -----
    The parts must not depend on the data, and which releases are made about a part must not
    depend on the other parts.

    Examples
    --------
    >>> parts = [PrivacyCost(epsilon=0.5), PrivacyCost(epsilon=0.2), PrivacyCost(epsilon=0.1)]
    >>> disjoint(parts, neighbors="add-remove"), disjoint(parts, neighbors="replace-one")
    (PrivacyCost(epsilon='0.5'), PrivacyCost(epsilon='0.7'))
    """
    parts = list(costs)
    if not parts:
        raise ValueError("disjoint needs the cost of at least one part")
    if neighbors not in ("add-remove", "replace-one"):
        raise ValueError(f"neighbors must be 'add-remove' or 'replace-one', got {neighbors!r}")
    touched = 1 if neighbors == "add-remove" else min(2, len(parts))
    if all(part == parts[0] and part.losses == parts[0].losses for part in parts):
        return touched * parts[0]

    def largest(amounts: list[Fraction | None]) -> Fraction | None:
        known = [amount for amount in amounts if amount is not None]
        return sum(sorted(known)[-touched:], _NONE) if len(known) == len(parts) else None

    epsilon, rho = largest([part.epsilon for part in parts]), largest([part.rho for part in parts])
    if epsilon is None and rho is None:
        raise TypeError("the parts have no currency in common, so together they have no price")
    delta = largest([part.delta for part in parts]) if epsilon is not None else None
    return PrivacyCost.from_exact(epsilon, min(delta or _NONE, Fraction(1)), rho)
