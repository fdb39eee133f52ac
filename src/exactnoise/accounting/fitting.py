"""Which parameters make a mechanism cost what remains of a budget."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeVar

from exactnoise.accounting.amount import decimal_context
from exactnoise.accounting.cost import PrivacyCost

__all__ = ["Mechanism", "Priced", "choose_parameters", "most_accurate_within"]

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


def choose_parameters(
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


def most_accurate_within(limit: Fraction, mechanism: type[M], params: Mapping[str, Any]) -> M:
    """Build the mechanism with the largest epsilon whose rho is at most `limit`.

    Parameters
    ----------
    limit : Fraction
        Positive.
    mechanism : type
        A class that takes ``epsilon`` and whose ``cost.rho`` grows with it.
    params : mapping
        The constructor's other parameters.

    Returns
    -------
    mechanism
        Its epsilon is the largest on the decimal grid of 12 significant digits.

    Raises
    ------
    TypeError
        The mechanism has no rho.
    """

    def build(epsilon: Fraction) -> M:
        return mechanism(**params, epsilon=epsilon)

    def fits(epsilon: Fraction) -> bool:
        rho = build(epsilon).cost.rho
        if rho is None:
            raise TypeError(f"{mechanism.__name__} has no rho, so a budget counted in rho cannot price it")
        return rho <= limit

    # rho <= epsilon^2 / 2 for every pure mechanism: this guess fits, or is one rounding too large.
    context = decimal_context(_DIGITS, ROUND_DOWN)
    low = Fraction(context.sqrt(context.divide(Decimal(2 * limit.numerator), Decimal(limit.denominator))))
    while not fits(low):
        low /= 2
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    leading = context.divide(Decimal(low.numerator), Decimal(low.denominator)).adjusted()
    step = Fraction(10) ** (leading + 1 - _DIGITS)
    below, above = low // step, high // step + 1  # in steps: fits, does not fit
    while above - below > 1:
        middle = (below + above) // 2
        if fits(middle * step):
            below = middle
        else:
            above = middle
    return build(below * step)
