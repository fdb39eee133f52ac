"""The Renyi divergences of randomised response, and their largest ratio to the order: its rho.

Between the reports of two of k categories the divergence D(a) of order a is (F(u) - F(1/4)) / (a - 1)
with u = (a - 1/2)^2 and F(u) = ln(beta + cosh(epsilon sqrt u)), beta = (k - 2) exp(-epsilon/2) / 2. So
D(a) / a is the slope of a secant of F from u = 1/4 on, and the rho is the steepest one.

F is convex at u where beta > R(epsilon sqrt u), concave elsewhere, for R(x) = (sinh x cosh x - x) /
(x cosh x - sinh x). R increases (the quotient of the derivatives, 2 sinh x / x, does) from R(0) = 2.
So if beta <= R(epsilon / 2), as it is for all k <= 6, F is concave from 1/4 on, and order 1 is the
worst: the Kullback-Leibler divergence. Otherwise F is first convex and then concave, and the secants
become steeper up to the one that is a tangent. A tangent at a point before, where F is concave
already, is steeper than all secants.
"""

from __future__ import annotations

from fractions import Fraction
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.convert import checked_whole
from exactnoise.accounting.interval import Interval, Precision, at_most, upper
from exactnoise.accounting.search import largest_on_grid

__all__ = ["randomized_response_rho", "response_divergence"]

_DIGITS = 15


def randomized_response_rho(epsilon: Number, categories: SupportsIndex) -> Fraction:
    """Return the rho of randomised response among several categories.

    Parameters
    ----------
    epsilon : number
    categories : int
        At least 2. The true one is reported exp(epsilon) times as often as any other.

    Returns
    -------
    Fraction
        Up to six categories epsilon (exp(epsilon) - 1) / (exp(epsilon) + categories - 1), rounded up
        to 20 significant digits; for more the largest D(a) / a over all orders a, D(a) the Renyi
        divergence, rounded up by about one part in 10^14.

    Raises
    ------
    TypeError, ValueError
        `categories` is not a whole number >= 2, or `epsilon` is not a positive number.

    Notes
    -----
    Rho-zCDP is D(a) <= rho a for all a > 1 (Bun & Steinke 2016, arXiv 1605.02065, Definition 1.1).
    For few categories order 1 is the worst, as for other mechanisms (Harrison & Manurangsi, FORC
    2026, arXiv 2510.25746); for many it is not. The proof is in the module's docstring.

    Examples
    --------
    >>> round(float(randomized_response_rho(1, 3)), 9), round(float(randomized_response_rho(1, 100)), 9)
    (0.364175327, 0.061138212)
    """
    eps = exact(epsilon, "epsilon", price=True)
    k = checked_whole(categories, "categories", least=2)
    if at_most(lambda at: _convexity(at(eps / 2), eps, k), Fraction(0)):
        return response_divergence(Fraction(1), eps, k)

    def before_the_steepest(x: Fraction) -> bool:
        return x <= eps / 2 or at_most(lambda at: _secant(at(x), eps, k) - _tangent(at(x), eps, k), Fraction(0))

    x = largest_on_grid(before_the_steepest, eps, _DIGITS)
    assert at_most(lambda at: _convexity(at(x), eps, k), Fraction(0))
    return upper(lambda at: _tangent(at(x), eps, k))


def response_divergence(order: Fraction, epsilon: Fraction, categories: int) -> Fraction:
    """The Renyi divergence of an order >= 1, rounded up."""
    a, k = order, categories
    if a == 1:
        return upper(lambda at: epsilon * (1 - (-at(epsilon)).exp()) / (1 + (k - 1) * (-at(epsilon)).exp()))

    def mixed(at: Precision) -> Interval:
        other, moved = (-at(epsilon)).exp(), (-at((a - 1) * epsilon)).exp()
        return (1 + other * moved * (k - 2 + moved)) / (1 + (k - 1) * other)

    # exp((a - 1) epsilon), the largest power, is taken out of the sum of P^a Q^(1-a).
    return upper(lambda at: epsilon + mixed(at).ln() / (a - 1))


# All as functions of x = epsilon sqrt u, with the largest exponentials divided out.


def _weight(eps: Fraction, k: int, at: Precision) -> Interval:
    """2 beta."""
    return (k - 2) * (-at(eps / 2)).exp()


def _convexity(x: Interval, eps: Fraction, k: int) -> Interval:
    """Of the sign of beta - R(x), which is that of the second derivative of F."""
    once = (-x).exp()
    twice = once * once
    return _weight(eps, k, x.at) * once * (x * (1 + twice) - (1 - twice)) - (1 - twice * twice - 4 * x * twice)


def _tangent(x: Interval, eps: Fraction, k: int) -> Interval:
    """The derivative of F."""
    once = (-x).exp()
    twice = once * once
    return eps * eps / (2 * x) * (1 - twice) / (_weight(eps, k, x.at) * once + 1 + twice)


def _secant(x: Interval, eps: Fraction, k: int) -> Interval:
    """The slope from u = 1/4 to where x is."""

    def scaled(y: Interval) -> Interval:  # beta + cosh y, times 2 exp(-y)
        once = (-y).exp()
        return _weight(eps, k, x.at) * once + 1 + once * once

    start = x.at(eps / 2)
    return (x - start + scaled(x).ln() - scaled(start).ln()) / (x * x / (eps * eps) - Fraction(1, 4))
