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
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.convert import checked_whole, discrete_laplace_rho, laplace_rho, randomized_response_rho
from exactnoise.accounting.interval import Formula, Interval, Precision, enclose, upper

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

    def mixed(at: Precision) -> Interval:
        other, moved = (-at(eps)).exp(), (-at((a - 1) * eps)).exp()
        return (1 + other * moved * (k - 2 + moved)) / (1 + (k - 1) * other)

    return _divergence(a, eps, mixed) if a > 1 else randomized_response_rho(eps, k)


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
        Use the best of these orders instead of the best real one.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits; at most ``curve(math.inf)``, at least 0.

    Raises
    ------
    TypeError, ValueError
        `delta` is not a number between 0 and 1, or an order is not above 1.

    Notes
    -----
    min over a of r(a) + ln(1 - 1/a) - ln(a delta) / (a - 1) (Canonne, Kamath & Steinke 2020,
    arXiv 2004.00010, Proposition 12; Asoodeh, Liao, Calmon, Kosut & Sankar 2020, arXiv 2001.05990).
    Valid for parameters fixed beforehand: that the best order is chosen afterwards, from the curve,
    is what a budget spent adaptively must not do.

    Examples
    --------
    >>> round(float(rdp_epsilon(lambda a: 100 * laplace_rdp(a, "0.1"), 1e-6)), 6)
    4.984174
    """
    small = exact(delta, "delta", below=1, price=True)

    def bound(a: Fraction) -> Formula:
        divergence = curve(a)
        if divergence == math.inf:
            return _unbounded
        r = Fraction(divergence)
        return lambda at: r + at(1 - 1 / a).ln() - at(a * small).ln() / (a - 1)

    least = max(upper(bound(_best_order(bound, orders))), Fraction(0))
    pure = curve(math.inf)
    return least if pure == math.inf else min(least, Fraction(pure))


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
        Rounded up to 20 significant digits; 0 from the pure epsilon on, at most 1.

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
    if eps >= curve(math.inf):
        return Fraction(0)

    def logarithm(a: Fraction) -> Formula:
        divergence = curve(a)
        if divergence == math.inf:
            return _unbounded
        exponent = (a - 1) * (Fraction(divergence) - eps)
        return lambda at: exponent + a * at(1 - 1 / a).ln() - at(a - 1).ln()

    best = logarithm(_best_order(logarithm, orders))
    return min(upper(lambda at: best(at).exp()), Fraction(1))


def best_order(bound: Callable[[Fraction], Formula]) -> Fraction:
    """Return about the real order above 1 at which a bound is least.

    Parameters
    ----------
    bound : callable
        ``bound(order)`` is the formula of the bound.

    Returns
    -------
    Fraction
        A grid of orders whose distance from 1 grows fourfold, then golden section around the best
        of them. Near its minimum the bound is flat, so the last digits of the order do not matter.
    """

    def at_distance(logarithm: float) -> tuple[Decimal, Fraction]:
        a = 1 + Fraction(math.exp(logarithm))
        return enclose(bound(a), _SEARCH_DIGITS).high, a

    step = math.log(4)
    grid = [(*at_distance(j * step), j) for j in range(-8, 24)]
    best = min(grid)
    outwards = -1 if best is grid[0] else 1 if best is grid[-1] else 0
    while outwards and abs(best[2]) < _FARTHEST:
        j = best[2] + outwards
        further = (*at_distance(j * step), j)
        if further > best:
            break
        best = further
    middle = best[2] * step
    left, right = middle - step, middle + step
    inner = [right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)]
    values = [at_distance(x) for x in inner]
    candidates = [best[:2], *values]
    while right - left > _NARROW:
        if values[0] <= values[1]:
            right, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = right - _GOLDEN * (right - left)
            values[0] = at_distance(inner[0])
        else:
            left, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = left + _GOLDEN * (right - left)
            values[1] = at_distance(inner[1])
        candidates += values
    return min(candidates)[1]


# Enough to tell orders apart; the result is evaluated again, with more.
_SEARCH_DIGITS = 12
_GOLDEN = (math.sqrt(5) - 1) / 2
_NARROW = 1e-6
_FARTHEST = 500


def _best_order(bound: Callable[[Fraction], Formula], orders: Iterable[Order] | None) -> Fraction:
    if orders is None:
        return best_order(bound)
    allowed = [exact(a, "order", price=True) for a in orders]
    if not allowed or min(allowed) <= 1:
        raise ValueError("orders must be numbers above 1, at least one of them")
    return min(allowed, key=lambda a: enclose(bound(a), _SEARCH_DIGITS).high)


def _unbounded(at: Precision) -> Interval:
    return Interval(at, Decimal("Infinity"), Decimal("Infinity"))


def _divergence(a: Fraction, eps: Fraction, mixed: Formula) -> Fraction:
    """eps + ln(mixed) / (a - 1): the sum of P^a Q^(1-a) with its largest power, exp((a-1) eps), taken out."""
    return upper(lambda at: eps + mixed(at).ln() / (a - 1))


def _checked_order(order: Order) -> Fraction | None:
    """The order; None for infinity."""
    if order == math.inf:
        return None
    return exact(order, "order", least=Fraction(1), price=True)
