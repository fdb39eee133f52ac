"""Which parameters make a mechanism cost what remains of a budget."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

from exactnoise.accounting.amount import decimal_context
from exactnoise.accounting.cost import PrivacyCost
from exactnoise.accounting.search import largest_on_grid

__all__ = ["Mechanism", "Priced", "fitted", "pure_epsilon_about"]

_DIGITS = 12


class Priced(Protocol):
    """Anything that a budget can be charged for: its ``cost`` is the price of one release."""

    @property
    def cost(self) -> PrivacyCost: ...


class Mechanism(Priced, Protocol):
    """A mechanism that can be built at a price.

    Attributes
    ----------
    priced_by : tuple of tuple of str
        The constructor's parameters that set the price, one tuple for each way of saying it:
        ``(("epsilon",),)`` for Laplace, ``(("epsilon", "delta"), ("rho",))`` for Gaussian.
    """

    priced_by: ClassVar[tuple[tuple[str, ...], ...]]

    def __init__(self, **params: Any) -> None: ...


M = TypeVar("M", bound=Mechanism)


def _choose_parameters(
    mechanism: type[Mechanism], currency: tuple[str, ...], params: Mapping[str, Any]
) -> tuple[str, ...]:
    """Name the constructor's parameters that set the price and are still open.

    Parameters
    ----------
    mechanism : type
        The class, with its ``priced_by``.
    currency : tuple of str
        What the budget counts: "epsilon" with or without "delta", or "rho".
    params : mapping
        What the caller has set already. A delta may be among it.

    Returns
    -------
    tuple of str
        Names in `currency`; or ("epsilon",) in a budget counted in rho, for a mechanism that
        takes epsilon alone.

    Raises
    ------
    TypeError
        No way of pricing the mechanism belongs to the currency, or `params` sets the price.
    """
    ways = getattr(mechanism, "priced_by", None)
    if ways is None:
        raise TypeError(
            "fit needs a mechanism's class, such as Laplace, whose priced_by names the parameters "
            f"that set its price, got {mechanism!r}"
        )
    for name in ("epsilon", "rho", "scale"):
        if name in params:
            raise TypeError(f"fit chooses the price itself: leave out {name}")
    for way in ways:
        if set(way) <= set(currency):
            return tuple(name for name in way if name not in params)
    if currency == ("rho",) and ("epsilon",) in ways:
        return ("epsilon",)
    raise TypeError(
        f"a budget counted in {' and '.join(currency)} cannot price {mechanism.__name__}, which "
        f"is priced by {' or '.join(' and '.join(way) for way in ways)}"
    )


def fitted(mechanism: type[M], params: Mapping[str, Any], share: Mapping[str, Fraction]) -> M | None:
    """Build the most accurate mechanism that a share of a budget pays for.

    Parameters
    ----------
    mechanism : type
    params : mapping
        What the caller has set, as for `PrivacyBudget.fit`.
    share : mapping
        The amount of each currency of the budget.

    Returns
    -------
    mechanism or None
        None where the share of a currency that the mechanism needs is 0. In a budget counted in
        rho a mechanism priced by epsilon alone gets the largest epsilon, of 12 significant digits,
        whose rho is within the share.

    Raises
    ------
    TypeError
        As `PrivacyBudget.fit`, or the mechanism has no rho.
    """
    chosen = _choose_parameters(mechanism, tuple(share), params)
    by_search = "rho" in share and chosen == ("epsilon",)
    if not all(share[name] for name in (("rho",) if by_search else chosen)):
        return None
    if not by_search:
        return mechanism(**params, **{name: share[name] for name in chosen})
    limit = share["rho"]

    def fits(epsilon: Fraction) -> bool:
        rho = mechanism(**params, epsilon=epsilon).cost.implied_rho
        if rho is None:
            raise TypeError(f"{mechanism.__name__} has no rho, so a budget counted in rho cannot price it")
        return rho <= limit

    return mechanism(**params, epsilon=largest_on_grid(fits, pure_epsilon_about(limit), _DIGITS))


def pure_epsilon_about(rho: Fraction) -> Fraction:
    """sqrt(2 rho): no larger than the largest epsilon whose rho that is, for rho <= epsilon^2 / 2."""
    context = decimal_context(_DIGITS, ROUND_DOWN)
    return Fraction(context.sqrt(context.divide(Decimal(2 * rho.numerator), Decimal(rho.denominator))))
