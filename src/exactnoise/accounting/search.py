"""Where a monotone bound meets its limit: the searches behind every inverse."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from exactnoise.accounting.amount import decimal_context
from exactnoise.accounting.interval import DIGITS, Formula, at_most, enclose

__all__ = ["largest_on_grid", "largest_whole", "least_argument"]

_NEAREST = decimal_context(2 * DIGITS, ROUND_HALF_EVEN)
_HALF = Decimal("0.5")
_TOLERANCE = Decimal((0, (1,), -DIGITS - 2))
# Far more than any bracket of typed numbers takes; what is returned is certified in any case.
_MOST_STEPS = 300


def least_argument(value: Callable[[Fraction], Formula], limit: Fraction, low: Fraction, high: Fraction) -> Fraction:
    """Return the least x at which a decreasing function is at most a limit, rounded up.

    Parameters
    ----------
    value : callable
        ``value(x)`` is the formula of the function at x; it decreases between `low` and `high`.
    limit : Fraction
        Positive.
    low, high : Fraction
        The function is above the limit at `low` and at most the limit at `high`.

    Returns
    -------
    Fraction
        `value` of it is proved to be at most `limit`. It exceeds the least such x by a few units
        of its 20th significant digit.
    """
    root = _crossing(value, limit, low, high)
    up = decimal_context(DIGITS, ROUND_CEILING)
    unit = Decimal((0, (1,), root.adjusted() + 1 - DIGITS))
    candidate = up.plus(root)
    while Fraction(candidate) < high and not at_most(value(Fraction(candidate)), limit):
        candidate = up.add(candidate, unit)
        unit = up.multiply(unit, Decimal(2))
    return min(Fraction(candidate), high)


def _crossing(value: Callable[[Fraction], Formula], limit: Fraction, low: Fraction, high: Fraction) -> Decimal:
    """About where the function crosses the limit: false position on the logarithm, or halving where that is slow."""
    n = _NEAREST

    def excess(x: Decimal) -> Decimal:
        enclosure = enclose(value(Fraction(x)), DIGITS)
        middle = n.multiply(n.add(max(enclosure.low, Decimal(0)), enclosure.high), _HALF)
        ratio = n.divide(n.multiply(middle, Decimal(limit.denominator)), Decimal(limit.numerator))
        return n.ln(max(ratio, Decimal("1e-1000")))

    left, right = (n.divide(Decimal(x.numerator), Decimal(x.denominator)) for x in (low, high))
    at_left, at_right = excess(left), excess(right)
    side = 0
    for _ in range(_MOST_STEPS):
        width = n.subtract(right, left)
        if width <= n.multiply(_TOLERANCE, right):
            break
        if n.multiply(left, Decimal(4)) < right and left > 0:  # far apart: halve the logarithm
            middle = n.sqrt(n.multiply(left, right))
        elif at_left.is_finite() and at_right.is_finite() and at_left > 0 >= at_right:
            middle = n.add(left, n.multiply(width, n.divide(at_left, n.subtract(at_left, at_right))))
        else:
            middle = n.multiply(n.add(left, right), _HALF)
        if not left < middle < right:
            middle = n.multiply(n.add(left, right), _HALF)
        at_middle = excess(middle)
        if at_middle > 0:
            left, at_left = middle, at_middle
            if side == 1:  # the same end moved twice: halve the other's weight (the Illinois rule)
                at_right = n.multiply(at_right, _HALF)
            side = 1
        else:
            right, at_right = middle, at_middle
            if side == -1:
                at_left = n.multiply(at_left, _HALF)
            side = -1
    return right


def largest_on_grid(fits: Callable[[Fraction], bool], guess: Fraction, digits: int) -> Fraction:
    """Return the largest positive number of that many significant digits that fits.

    Parameters
    ----------
    fits : callable
        True up to some positive number, false above it.
    guess : Fraction
        Positive; the closer, the faster.
    digits : int
    """
    context = decimal_context(digits, ROUND_FLOOR)
    low = Fraction(context.divide(Decimal(guess.numerator), Decimal(guess.denominator)))
    while not fits(low):
        low /= 2
    high = 2 * low
    while fits(high):
        low, high = high, 2 * high
    step = Fraction(10) ** (context.divide(Decimal(low.numerator), Decimal(low.denominator)).adjusted() + 1 - digits)
    below, above = low // step, high // step + 1  # in steps: fits, does not fit
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if fits(middle * step) else (below, middle)
    found = below * step
    # One digit too long where a power of ten lies between `low` and what was found.
    return Fraction(context.divide(Decimal(found.numerator), Decimal(found.denominator)))


def largest_whole(fits: Callable[[int], bool], start: int = 1) -> int:
    """Return the largest whole number that fits.

    Parameters
    ----------
    fits : callable
        True up to some number, false above it.
    start : int
        At least 1; the closer, the faster.

    Returns
    -------
    int
        0 if 1 does not fit.
    """
    step = 1
    if fits(start):
        low = start
        while fits(low + step):
            low, step = low + step, 4 * step
        high = low + step
    else:
        high = start
        while high > step and not fits(high - step):
            high, step = high - step, 4 * step
        low = max(high - step, 0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
