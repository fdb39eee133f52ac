"""What one use of a mechanism costs, and the basic composition of costs."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, exact, text

__all__ = ["PrivacyCost"]

_NONE = Fraction(0)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivacyCost:
    """The privacy price of one or several releases, as exact fractions.

    A cost can carry prices in two currencies, (epsilon, delta) and rho; each is a guarantee of
    its own, and a budget charges the one it counts in.

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
        self._set(exact_epsilon, exact_delta, exact_rho)

    @classmethod
    def from_exact(
        cls, epsilon: Fraction | None = None, delta: Fraction = _NONE, rho: Fraction | None = None
    ) -> PrivacyCost:
        """Return the cost of checked amounts, of any length: sums grow with every price added."""
        cost = cls.__new__(cls)
        cost._set(epsilon, delta, rho)
        return cost

    def _set(self, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> None:
        for name, value in (("epsilon", epsilon), ("delta", delta), ("rho", rho)):
            object.__setattr__(self, name, value)

    def __add__(self, other: PrivacyCost) -> PrivacyCost:
        if not isinstance(other, PrivacyCost):
            return NotImplemented
        epsilon, rho = _sum(self.epsilon, other.epsilon), _sum(self.rho, other.rho)
        if epsilon is None and rho is None:
            raise TypeError(f"{self!r} and {other!r} have no currency in common, so their sum has no price")
        # Every mechanism is (epsilon, 1)-differentially private.
        delta = min(self.delta + other.delta, Fraction(1)) if epsilon is not None else _NONE
        return PrivacyCost.from_exact(epsilon, delta, rho)

    def __radd__(self, other: object) -> PrivacyCost:
        # The builtin sum starts from the integer 0.
        return self if type(other) is int and other == 0 else NotImplemented

    def __mul__(self, times: SupportsIndex) -> PrivacyCost:
        if isinstance(times, bool) or not hasattr(times, "__index__"):
            return NotImplemented
        k = operator.index(times)
        if k < 0:
            raise ValueError(f"a cost can be multiplied by a number of uses >= 0, got {k}")
        return PrivacyCost.from_exact(
            epsilon=None if self.epsilon is None else k * self.epsilon,
            delta=min(k * self.delta, Fraction(1)),
            rho=None if self.rho is None else k * self.rho,
        )

    __rmul__ = __mul__

    def __repr__(self) -> str:
        amounts = (("epsilon", self.epsilon), ("delta", self.delta or None), ("rho", self.rho))
        shown = (f"{name}={text(value)!r}" for name, value in amounts if value is not None)
        return f"PrivacyCost({', '.join(shown)})"


def _sum(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b
