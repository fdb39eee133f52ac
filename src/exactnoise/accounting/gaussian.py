"""The exact privacy of Gaussian noise: its profile, and the profile's inverses.

Everything is a function of rho = mu^2 / 2 = sensitivity^2 / (2 sigma^2), with the L2 sensitivity.
Several Gaussian releases with fixed parameters are together as private as one of the sum of their
rhos (Dong, Roth & Su 2022, arXiv 1905.02383, Corollary 1).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.interval import Formula, Interval, Precision, at_most, lower, upper
from exactnoise.accounting.search import least_argument

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_rho"]


def gaussian_delta(rho: Number, epsilon: Number) -> Fraction:
    """Return the least delta of Gaussian noise for an epsilon.

    Parameters
    ----------
    rho : number
        sensitivity^2 / (2 sigma^2); the sum of them for several releases.
    epsilon : number
        Zero or more.

    Returns
    -------
    Fraction
        Exact but for rounding up to 20 significant digits.

    Raises
    ------
    TypeError, ValueError
        A parameter is not a number in its range.

    Notes
    -----
    Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu) with mu = sqrt(2 rho): Balle &
    Wang 2018, arXiv 1805.06530, Theorem 8. It holds for Gaussian noise on real numbers, and so for
    such sums rounded to a grid. Discrete Gaussian noise of the same rho is less private.

    Examples
    --------
    >>> round(float(gaussian_delta("0.125", 1)), 12)
    0.006829594983
    """
    amount = exact(rho, "rho", price=True)
    eps = exact(epsilon, "epsilon", positive=False, price=True)
    return min(upper(_delta(amount, eps)), Fraction(1))


def gaussian_epsilon(rho: Number, delta: Number) -> Fraction:
    """Return the least epsilon of Gaussian noise for a delta.

    Parameters
    ----------
    rho : number
        As in `gaussian_delta`.
    delta : number
        Between 0 and 1.

    Returns
    -------
    Fraction
        Exact but for rounding up, by a few units of the 20th significant digit; 0 where delta
        alone suffices.

    Raises
    ------
    TypeError, ValueError
        A parameter is not a number in its range.

    Notes
    -----
    The zero of `gaussian_delta`.

    Examples
    --------
    >>> round(float(gaussian_epsilon("0.5", 1e-5)), 9)
    4.377178096
    """
    amount, small = exact(rho, "rho", price=True), exact(delta, "delta", below=1, price=True)
    if at_most(_delta(amount, Fraction(0)), small):
        return Fraction(0)
    # Bun & Steinke 2016, arXiv 1605.02065, Proposition 1.3.
    enough = upper(lambda at: amount + 2 * (-amount * at(small).ln()).sqrt())
    return least_argument(lambda eps: _delta(amount, eps), small, Fraction(0), enough)


def gaussian_rho(epsilon: Number, delta: Number) -> Fraction:
    """Return the largest rho at which Gaussian noise is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon : number
    delta : number
        Between 0 and 1.

    Returns
    -------
    Fraction
        Exact but for rounding down, by a few units of the 20th significant digit. The standard
        deviation of the noise is sensitivity / sqrt(2 rho).

    Raises
    ------
    TypeError, ValueError
        A parameter is not a number in its range.

    Notes
    -----
    `gaussian_delta` solved for rho, in which it increases. Also the cap on the sum of rhos at
    which spending on Gaussian noise alone must stop, with parameters chosen as one goes (Smith &
    Thakurta 2022, arXiv 2210.17520).

    Examples
    --------
    >>> rho = gaussian_rho(1, 1e-6)
    >>> round(float(1 / (2 * rho)) ** 0.5, 9)
    4.224678889
    """
    eps, small = exact(epsilon, "epsilon", price=True), exact(delta, "delta", below=1, price=True)

    def enough(at: Precision) -> Interval:  # the inverse of Bun & Steinke's bound, written without cancellation
        needed = -at(small).ln()
        return eps * eps / ((needed + eps).sqrt() + needed.sqrt()) / ((needed + eps).sqrt() + needed.sqrt())

    low = lower(enough)
    factor = Fraction(2)
    high = low * factor
    while upper(_delta(high, eps)) <= small:
        factor *= factor
        high *= factor
    # In 1 / rho, which is proportional to the variance, delta decreases.
    spread = least_argument(lambda inverse: _delta(1 / inverse, eps), small, 1 / high, 1 / low)
    return lower(lambda at: 1 / at(spread))


def _delta(rho: Fraction, eps: Fraction) -> Formula:
    """Balle & Wang's formula in Mills ratios: exp(epsilon) phi(b) = phi(a), which leaves nothing to overflow."""

    def delta(at: Precision) -> Interval:
        mu = at(2 * rho).sqrt()
        a, b = abs(eps - rho) / mu, (eps + rho) / mu
        density = (-at((eps - rho) ** 2 / (4 * rho))).exp() / (2 * at.pi).sqrt()
        if eps >= rho:
            return density * (_mills_ratio(a) - _mills_ratio(b))
        return 1 - density * (_mills_ratio(a) + _mills_ratio(b))

    return delta


# Up to here the power series, beyond the continued fraction: about where both take as long.
_FAR = 4
_MOST_FRACTIONS = 10**6


def _mills_ratio(x: Interval) -> Interval:
    """The upper tail of the normal distribution divided by its density, for x >= 0."""
    if x.low < _FAR:
        return (x.at.pi / 2).sqrt() * (x * x / 2).exp() - _series(x)
    # Laplace's continued fraction 1 / (x + 1 / (x + 2 / (x + ...))): its convergents alternate around the value.
    depth = 8
    while True:
        one, next_one = _convergent(x, depth), _convergent(x, depth + 1)
        between = Interval(x.at, min(one.low, next_one.low), max(one.high, next_one.high))
        if between.agrees_to(x.at.digits - 4) or depth > _MOST_FRACTIONS:
            return between
        depth *= 2


def _convergent(x: Interval, depth: int) -> Interval:
    below = x
    for j in range(depth, 0, -1):
        below = x + j / below
    return 1 / below


def _series(x: Interval) -> Interval:
    """x + x^3/3 + x^5/(3 5) + ..., the probability between 0 and x divided by the density at x."""
    at, square = x.at, x * x
    smallest = Decimal((0, (1,), -at.digits))
    term, total, n = x, x, 1
    while True:
        n += 2
        term = term * square / n
        total = total + term
        ratio = square / (n + 2)
        if term.high <= smallest and ratio.high < 1:
            rest = term * ratio / (1 - ratio)  # the ratios of later terms are smaller
            return total + Interval(at, Decimal(0), rest.high)
