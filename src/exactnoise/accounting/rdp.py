"""Renyi differential privacy: the curves of mechanisms, and from curves to (epsilon, delta).

A curve maps an order a > 1 to a bound r(a) of the Renyi divergence of that order. Curves add up
under composition (Mironov 2017, arXiv 1702.07476, Proposition 1), so a plan's curve is the sum of
its releases'. Every order proves an (epsilon, delta) of its own; the functions here search for the
best real order, and whatever order they stop at is valid. The value that they return is evaluated
at that order with directed rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, approximately, exact, is_infinity
from exactnoise.accounting.convert import checked_whole, discrete_laplace_rho, laplace_rho
from exactnoise.accounting.interval import Formula, Interval, Precision, enclose, upper
from exactnoise.accounting.response import response_divergence

__all__ = [
    "Curve",
    "Order",
    "best_order",
    "discrete_laplace_rdp",
    "gaussian_rdp",
    "laplace_rdp",
    "pure_rdp",
    "randomized_response_rdp",
    "rdp_delta",
    "rdp_epsilon",
]

Order = Number
Curve = Callable[[Fraction | float], Fraction | float]


def gaussian_rdp(order: Order, rho: Number) -> Fraction | float:
    """Return the Renyi divergence of Gaussian noise: order * rho, exactly.

    Parameters
    ----------
    order : number
        At least 1; ``math.inf`` gives ``math.inf``.
    rho : number
        sensitivity^2 / (2 sigma^2), with the L2 sensitivity.

    Returns
    -------
    Fraction or float

    Notes
    -----
    Mironov 2017, arXiv 1702.07476, Proposition 7. It bounds discrete Gaussian noise as well
    (Canonne, Kamath & Steinke 2020, arXiv 2004.00010, Theorem 4), and is the definition of
    rho-zCDP (Bun & Steinke 2016, arXiv 1605.02065, Definition 1.1).

    Examples
    --------
    >>> gaussian_rdp(8, "0.125")
    Fraction(1, 1)
    """
    a, amount = _checked_order(order), exact(rho, "rho", price=True)
    return math.inf if a is None else a * amount


def laplace_rdp(order: Order, epsilon: Number) -> Fraction:
    """Return the Renyi divergence of Laplace noise of scale sensitivity / epsilon.

    Parameters
    ----------
    order : number
        At least 1. Order 1 is the limit, `laplace_rho`; ``math.inf`` gives epsilon.
    epsilon : number

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits.

    Notes
    -----
    Mironov 2017, arXiv 1702.07476, Proposition 6: 1/(a-1) ln(a/(2a-1) exp((a-1) epsilon) +
    (a-1)/(2a-1) exp(-a epsilon)). As a logarithm of a sum of exponentials it is convex in epsilon
    and 0 at 0, hence the worst change of a bounded L1 norm is one in a single coordinate.

    Examples
    --------
    >>> round(float(laplace_rdp(2, 1)), 12)
    0.619123629999
    """
    a, eps = _checked_order(order), exact(epsilon, "epsilon", price=True)
    if a is not None and a > 1:
        front, back = a / (2 * a - 1), (a - 1) / (2 * a - 1)
        return _divergence(a, eps, lambda at: front + back * (-at((2 * a - 1) * eps)).exp())
    return eps if a is None else laplace_rho(eps)


def discrete_laplace_rdp(order: Order, epsilon: Number, sensitivity: SupportsIndex) -> Fraction:
    """Return the Renyi divergence of two-sided geometric noise of scale sensitivity / epsilon.

    Parameters
    ----------
    order : number
        At least 1; ``math.inf`` gives epsilon.
    epsilon : number
    sensitivity : int
        At least 1.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits.

    Notes
    -----
    Summing P^a Q^(1-a) over the integers gives K1 exp((a-1) epsilon) + K2 exp(-a epsilon) with
    t = exp(-epsilon / sensitivity), K1 = (1 - t^(2a)) / ((1 + t)(1 - t^(2a-1))) and
    K2 = (t - t^(2a-1)) / ((1 + t)(1 - t^(2a-1))), both positive: convex as `laplace_rdp`.

    Examples
    --------
    >>> round(float(discrete_laplace_rdp(2, 1, 1)), 12)
    0.735325664056
    """
    a, eps = _checked_order(order), exact(epsilon, "epsilon", price=True)
    shift = checked_whole(sensitivity, "sensitivity")
    if a is None:
        return eps

    def mixed(at: Precision) -> Interval:
        step = at(eps / shift)
        t = (-step).exp()
        nearly, twice = (-step * (2 * a - 1)).exp(), (-step * (2 * a)).exp()
        both = (1 - twice) + (t - nearly) * (-at((2 * a - 1) * eps)).exp()
        return both / ((1 + t) * (1 - nearly))

    return _divergence(a, eps, mixed) if a > 1 else discrete_laplace_rho(eps, shift)


def randomized_response_rdp(order: Order, epsilon: Number, categories: SupportsIndex) -> Fraction:
    """Return the Renyi divergence of randomised response among several categories.

    Parameters
    ----------
    order : number
        At least 1; ``math.inf`` gives epsilon.
    epsilon : number
    categories : int
        At least 2.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits.

    Notes
    -----
    1/(a-1) ln(p^a q^(1-a) + q^a p^(1-a) + (categories - 2) q), where p is the probability of the
    true category and q = exp(-epsilon) p that of each other one.

    Examples
    --------
    >>> round(float(randomized_response_rdp(2, 1, 10)), 12)
    0.296130448363
    """
    a, eps = _checked_order(order), exact(epsilon, "epsilon", price=True)
    k = checked_whole(categories, "categories", least=2)
    if a is None:
        return eps

    return response_divergence(a, eps, k)


def pure_rdp(order: Order, epsilon: Number) -> Fraction:
    """Return a bound of the Renyi divergence of every epsilon-differentially private mechanism.

    Parameters
    ----------
    order : number
        At least 1; ``math.inf`` gives epsilon.
    epsilon : number

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits.

    Notes
    -----
    Bun & Steinke 2016, arXiv 1605.02065, Proposition 3.3: binary randomised response is the worst.

    Examples
    --------
    >>> round(float(pure_rdp(2, 1)), 12)
    0.735325664056
    """
    return randomized_response_rdp(order, epsilon, 2)


def rdp_epsilon(curve: Curve, delta: Number, *, orders: Iterable[Order] | None = None) -> Fraction:
    """Return the least epsilon that a Renyi curve proves for a delta.

    Parameters
    ----------
    curve : callable
        ``curve(order)`` is a bound of the Renyi divergence of that order, an exact number; at
        ``math.inf`` it is the pure epsilon, or ``math.inf`` where there is none. The sum of the
        curves of all releases, for a plan.
    delta : number
        Between 0 and 1.
    orders : iterable of number, optional
        Use the best of these orders instead of the best real one and of the pure epsilon.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits; at least 0 and, without `orders`, at most
        ``curve(math.inf)``.

    Raises
    ------
    TypeError, ValueError
        `delta` is not a number between 0 and 1, or an order is not above 1.

    Notes
    -----
    min over a of r(a) + ln(1 - 1/a) - ln(a delta) / (a - 1) (Canonne, Kamath & Steinke 2020,
    arXiv 2004.00010, Proposition 12; Asoodeh, Liao, Calmon, Kosut & Sankar 2020, arXiv 2001.05990).
    Valid for parameters fixed beforehand: the best order, and whether the pure epsilon is smaller, are
    seen from the whole curve. With one order, given in `orders` before the first answer, it is a
    valid filter for spending as one goes (Feldman & Zrnic 2021, arXiv 2008.11193, Theorem 4.3).

    Examples
    --------
    >>> round(float(rdp_epsilon(lambda a: 100 * laplace_rdp(a, "0.1"), 1e-6)), 6)
    4.984174
    """
    small = exact(delta, "delta", below=1, price=True)

    def bound(a: Fraction) -> Formula:
        r = _value(curve, a)
        if r is None:
            return _unbounded
        return lambda at: r + at(1 - 1 / a).ln() - at(a * small).ln() / (a - 1)

    best = bound(_best_order(bound, orders))
    pure = _value(curve, math.inf) if orders is None else None
    if best is not _unbounded:
        least = max(upper(best), Fraction(0))
        return least if pure is None else min(least, pure)
    if pure is None:
        raise ValueError("the curve must be finite at some order; it is infinite at every one that was tried")
    return pure


def rdp_delta(curve: Curve, epsilon: Number, *, orders: Iterable[Order] | None = None) -> Fraction:
    """Return the least delta that a Renyi curve proves for an epsilon.

    Parameters
    ----------
    curve, orders
        As in `rdp_epsilon`.
    epsilon : number
        Zero or more.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits; at most 1 and, without `orders`, 0 from the pure epsilon
        on.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a number >= 0, or an order is not above 1.

    Notes
    -----
    min over a of exp((a - 1)(r(a) - epsilon)) (1 - 1/a)^a / (a - 1): Canonne, Kamath & Steinke
    2020, arXiv 2004.00010, Corollary 13.

    Examples
    --------
    >>> round(float(rdp_delta(lambda a: gaussian_rdp(a, "0.01"), 1)), 15)
    1.66e-13
    """
    eps = exact(epsilon, "epsilon", positive=False, price=True)
    pure = _value(curve, math.inf) if orders is None else None
    if pure is not None and eps >= pure:
        return Fraction(0)

    def logarithm(a: Fraction) -> Formula:
        r = _value(curve, a)
        if r is None:
            return _unbounded
        exponent = (a - 1) * (r - eps)
        return lambda at: exponent + a * at(1 - 1 / a).ln() - at(a - 1).ln()

    best = logarithm(_best_order(logarithm, orders))
    if best is _unbounded:
        return Fraction(1)
    return min(upper(lambda at: best(at).clipped(_NEGLIGIBLE, 0).exp()), Fraction(1))


def best_order(bound: Callable[[Fraction], Formula]) -> Fraction:
    """Return about the real order above 1 at which a bound is least.

    Parameters
    ----------
    bound : callable
        ``bound(order)`` is the formula of the bound.

    Returns
    -------
    Fraction
        The best that golden section finds around each local minimum on a grid of orders whose
        distance from 1 doubles: the smaller of two curves can have two minima. Near a minimum the
        bound is flat, so the last digits of the order do not matter. They are the same on every
        machine: only sums and products of floats decide.
    """

    def at_distance(power_of_two: int, factor: float = 1.0) -> tuple[Decimal, Fraction]:
        a = 1 + Fraction(factor) * Fraction(2) ** power_of_two
        return enclose(bound(a), _SEARCH_DIGITS).high, a

    first, last = _NEAREST, _FARTHEST
    values = {j: at_distance(j) for j in range(first, last + 1)}
    # Extreme parameters have their best order far from the usual ones.
    while values[first][0] < values[first + 1][0] and first > _NEAREST_LIMIT:
        first -= 1
        values[first] = at_distance(first)
    while values[last][0] < values[last - 1][0] and last < _LIMIT:
        last += 1
        values[last] = at_distance(last)
    candidates = list(values.values())
    for j in range(first + 1, last):
        if values[j - 1] >= values[j] <= values[j + 1]:
            candidates.append(_golden_section(partial(at_distance, j), 0.5, 2))
    return min(candidates)[1]


def _golden_section(
    value: Callable[[float], tuple[Decimal, Fraction]], left: float, right: float
) -> tuple[Decimal, Fraction]:
    inner = [right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)]
    values = [value(x) for x in inner]
    while right - left > _NARROW:
        if values[0] <= values[1]:
            right, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = right - _GOLDEN * (right - left)
            values[0] = value(inner[0])
        else:
            left, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = left + _GOLDEN * (right - left)
            values[1] = value(inner[1])
    return min(values)


# Enough to tell orders apart; the result is evaluated again, with more.
_SEARCH_DIGITS = 12
_GOLDEN = (math.sqrt(5) - 1) / 2
_NARROW = 1e-6
# Powers of 2: the usual distances of an order from 1, and the last ones that make a difference.
_NEAREST, _FARTHEST, _NEAREST_LIMIT, _LIMIT = -16, 48, -600, 3000
# Logarithms of deltas so small that it no longer matters.
_NEGLIGIBLE = -10_000


def _best_order(bound: Callable[[Fraction], Formula], orders: Iterable[Order] | None) -> Fraction:
    if orders is None:
        return best_order(bound)
    allowed = [exact(a, "order", price=True) for a in orders]
    if not allowed or min(allowed) <= 1:
        raise ValueError("orders must be numbers above 1, at least one of them")
    return min(allowed, key=lambda a: enclose(bound(a), _SEARCH_DIGITS).high)


def _value(curve: Curve, order: Fraction | float) -> Fraction | None:
    """The curve at an order, None for infinity; a ValueError for what no divergence can be."""
    value = curve(order)
    if value == math.inf:
        return None
    if not value >= 0:
        raise ValueError(f"curve must give numbers >= 0, got {value!r} at order {_shown(order)}")
    return Fraction(value)


def _shown(order: Fraction | float) -> str:
    return approximately(order) if isinstance(order, Fraction) else str(order)


def _unbounded(at: Precision) -> Interval:
    return Interval(at, Decimal("Infinity"), Decimal("Infinity"))


def _divergence(a: Fraction, eps: Fraction, mixed: Formula) -> Fraction:
    """eps + ln(mixed) / (a - 1): the sum of P^a Q^(1-a) with its largest power, exp((a-1) eps), taken out."""
    return upper(lambda at: eps + mixed(at).ln() / (a - 1))


def _checked_order(order: Order) -> Fraction | None:
    """The order; None for infinity."""
    if is_infinity(order):
        return None
    return exact(order, "order", least=Fraction(1), price=True)
