"""What a refusal says: the amounts, and the most accurate thing that would have fitted."""

from __future__ import annotations

import math
from decimal import ROUND_UP
from fractions import Fraction
from typing import Any, NamedTuple

from exactnoise.accounting.amount import approximately, decimal_context, exact, float_up
from exactnoise.accounting.convert import pure_rho
from exactnoise.accounting.cost import PrivacyCost
from exactnoise.accounting.fitting import fitted, pure_epsilon_about
from exactnoise.accounting.interval import upper
from exactnoise.accounting.search import largest_on_grid
from exactnoise.accounting.terms import Terms
from exactnoise.errors import BudgetExceeded

__all__ = ["refusal"]


_DIGITS = 12


class _Fit(NamedTuple):
    """The largest epsilon that fits, the least scale, and the words for it."""

    epsilon: Fraction | None
    scale: float | None
    noise: str


def refusal(
    terms: Terms, sums: tuple[Fraction, ...], price: tuple[Fraction, ...] | None = None, what: Any = None
) -> BudgetExceeded:
    """Build the refusal of a price, or of anything at all when nothing remains.

    Parameters
    ----------
    terms : Terms
    sums : tuple of Fraction
        What is spent.
    price : tuple of Fraction, optional
        What was asked for.
    what : mechanism or cost, optional
        Whose price it is.
    """
    left = tuple(total - spent for total, spent in zip(terms.cap, sums, strict=True))
    lines = []
    for i, name in enumerate(terms.currency):
        asked = "" if price is None else f"{approximately(price[i], ROUND_UP)} requested, "
        spent = f"{approximately(sums[i], ROUND_UP)} of {approximately(terms.cap[i])} spent"
        lines.append(f"{name} {asked}{spent}, {approximately(left[i])} remaining")
    fit = _fit(terms, left, price, what) if left[0] else None
    return BudgetExceeded(
        f"over budget: {'; '.join(lines)}; {_advice(terms, left, fit)}",
        requested=None if price is None else terms.as_cost(price),
        spent=terms.as_cost(sums),
        remaining=terms.as_cost(left),
        largest_epsilon=fit.epsilon if fit else None,
        scale=fit.scale if fit else None,
    )


def _advice(terms: Terms, left: tuple[Fraction, ...], fit: _Fit | None) -> str:
    if fit is None:
        return "nothing more fits"
    name, amount = (terms.currency[0], left[0]) if fit.epsilon is None else ("epsilon", fit.epsilon)
    advice = f"the largest {name} that fits is {approximately(amount)}"
    if "delta" in terms.currency:
        advice += f", with a delta of at most {approximately(left[1])}"
    if fit.scale is None:
        return advice
    scale = Fraction(
        decimal_context(4, ROUND_UP).create_decimal_from_float(fit.scale)
    )  # up, so that it fits when typed
    return f"{advice}, {fit.noise.format(approximately(scale))}"


def _fit(terms: Terms, left: tuple[Fraction, ...], price: tuple[Fraction, ...] | None, what: Any) -> _Fit:
    without_price = getattr(what, "without_price", None)
    if without_price is None:
        return _fit_of_bare_cost(terms.currency[0], left[0], what)
    share = dict(zip(terms.currency, left, strict=True))
    if price is not None and "delta" in share and price[1]:
        share["delta"] = min(share["delta"], price[1])
    try:
        mechanism = fitted(type(what), without_price(), share)
    except (ArithmeticError, TypeError, ValueError):  # so little is left that its noise has no scale
        mechanism = None
    if mechanism is None:
        return _Fit(None, None, "")
    scale = getattr(mechanism, "scale", None)
    words = type(what).__name__ + " of scale {}"
    return _Fit(mechanism.cost.epsilon, None if scale is None else _typable(Fraction(scale)), words)


def _fit_of_bare_cost(currency: str, left: Fraction, what: Any) -> _Fit:
    """What the rest would be as noise, for a sensitivity of 1."""
    try:
        if currency == "rho" and not (isinstance(what, PrivacyCost) and what.rho is None):
            return _Fit(
                None,
                _typable(upper(lambda at: (1 / at(2 * left)).sqrt())),
                "Gaussian noise of scale {} for a sensitivity of 1",
            )
        epsilon = left
        if currency == "rho":
            epsilon = largest_on_grid(lambda amount: pure_rho(amount) <= left, pure_epsilon_about(left), _DIGITS)
        return _Fit(epsilon, _typable(1 / epsilon), "Laplace noise of scale {} for a sensitivity of 1")
    except ValueError:  # beyond the largest double
        return _Fit(left if currency == "epsilon" else None, None, "")


def _typable(scale: Fraction) -> float:
    """The least double whose decimal text, by which it counts when typed, is not below the scale."""
    rounded = float_up(scale)
    return rounded if exact(rounded, "scale") >= scale else math.nextafter(rounded, math.inf)
