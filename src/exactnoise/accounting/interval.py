"""Interval arithmetic: real numbers that are known to lie between two decimals.

Every bound in this package is a formula written once, in these numbers. Each operation rounds its
lower end down and its upper end up, so the upper end of the result is proved to be at least the
true value, and the lower end at most. `upper` and `lower` repeat a formula with more digits until
both ends agree to the digits asked for: cancellation and extreme parameters cost time, never
correctness.

The basis is the standard library's `decimal`: its sum, product and quotient are rounded in the
context's direction, and its exp, ln and sqrt are correct to half a unit in the last place (General
Decimal Arithmetic Specification), so one step to the neighbouring decimal encloses them.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache

from exactnoise.accounting.amount import decimal_context

__all__ = ["DIGITS", "Formula", "Interval", "Precision", "at_most", "enclose", "lower", "upper"]

#: Significant digits of the package's irrational results.
DIGITS = 20
_SPARE_DIGITS = 10
# The ends agree beyond the digits that are kept, so that two ways to one value seldom differ in the last.
_MARGIN = 5
# Formulas whose value is exactly 0 never agree in relative terms; this ends the search for more digits.
_MOST_DIGITS = 4000
# Smaller than any price of parameters that can be typed.
_LEAST_EXPONENT = -20_000
_LEAST = Fraction(1, 10**20_000)

_ZERO, _ONE = Decimal(0), Decimal(1)
_INFINITY, _MINUS_INFINITY = Decimal("Infinity"), Decimal("-Infinity")


class Precision:
    """A number of significant digits; called with an exact number, it gives the interval around it."""

    __slots__ = ("digits", "down", "up")

    def __init__(self, digits: int) -> None:
        self.digits = digits
        self.down = decimal_context(digits, ROUND_FLOOR)
        self.up = decimal_context(digits, ROUND_CEILING)

    def __call__(self, value: Fraction | Decimal | int) -> Interval:
        if isinstance(value, Fraction) and value.denominator != 1:
            numerator, denominator = Decimal(value.numerator), Decimal(value.denominator)
            return Interval(self, self.down.divide(numerator, denominator), self.up.divide(numerator, denominator))
        decimal = value if isinstance(value, Decimal) else Decimal(int(value))
        return Interval(self, self.down.plus(decimal), self.up.plus(decimal))

    @property
    def pi(self) -> Interval:
        """The circle's number, for the normal distribution and factorials."""
        return self(_pi(self.digits + _SPARE_DIGITS)) + Interval(self, _ZERO, Decimal((0, (1,), -self.digits)))


class Interval:
    """A real number between `low` and `high`; operations enclose all their possible results.

    Operands may be intervals or exact numbers. Where a result has no bound, as after a division by
    an interval around zero, its end is infinite: more digits may then help.
    """

    __slots__ = ("at", "high", "low")

    def __init__(self, at: Precision, low: Decimal, high: Decimal) -> None:
        self.at = at
        self.low = _MINUS_INFINITY if low.is_nan() else low
        self.high = _INFINITY if high.is_nan() else high

    def _of(self, other: object) -> Interval:
        if isinstance(other, Interval):
            return other
        assert isinstance(other, Fraction | Decimal | int)
        return self.at(other)

    def __add__(self, other: Interval | Fraction | Decimal | int) -> Interval:
        right = self._of(other)
        return Interval(self.at, self.at.down.add(self.low, right.low), self.at.up.add(self.high, right.high))

    __radd__ = __add__

    def __neg__(self) -> Interval:
        # copy_negate is exact; the operator would round to the thread's context.
        return Interval(self.at, self.high.copy_negate(), self.low.copy_negate())

    def __sub__(self, other: Interval | Fraction | Decimal | int) -> Interval:
        right = self._of(other)
        return Interval(self.at, self.at.down.subtract(self.low, right.high), self.at.up.subtract(self.high, right.low))

    def __rsub__(self, other: Fraction | Decimal | int) -> Interval:
        return self._of(other) - self

    def __mul__(self, other: Interval | Fraction | Decimal | int) -> Interval:
        right = self._of(other)
        down, up = self.at.down.multiply, self.at.up.multiply
        if self.low >= 0 and right.low >= 0:
            return Interval(self.at, down(self.low, right.low), up(self.high, right.high))
        pairs = [(a, b) for a in (self.low, self.high) for b in (right.low, right.high)]
        if any(not a.is_finite() or not b.is_finite() for a, b in pairs):
            return Interval(self.at, _MINUS_INFINITY, _INFINITY)
        return Interval(self.at, min(down(a, b) for a, b in pairs), max(up(a, b) for a, b in pairs))

    __rmul__ = __mul__

    def __truediv__(self, other: Interval | Fraction | Decimal | int) -> Interval:
        right = self._of(other)
        if right.low <= 0 <= right.high:
            return Interval(self.at, _MINUS_INFINITY, _INFINITY)
        return self * Interval(self.at, self.at.down.divide(_ONE, right.high), self.at.up.divide(_ONE, right.low))

    def __rtruediv__(self, other: Fraction | Decimal | int) -> Interval:
        return self._of(other) / self

    def exp(self) -> Interval:
        """e to this power."""
        down, up = self.at.down, self.at.up
        return Interval(self.at, max(_ZERO, down.next_minus(down.exp(self.low))), up.next_plus(up.exp(self.high)))

    def ln(self) -> Interval:
        """The natural logarithm; what is not positive counts as 0 and has the logarithm minus infinity."""
        down, up = self.at.down, self.at.up
        low = down.next_minus(down.ln(self.low)) if self.low > 0 else _MINUS_INFINITY
        high = up.next_plus(up.ln(self.high)) if self.high > 0 else _MINUS_INFINITY
        return Interval(self.at, low, high)

    def sqrt(self) -> Interval:
        """The square root; what is negative counts as 0."""
        down, up = self.at.down, self.at.up
        low, high = (up.sqrt(max(end, _ZERO)) for end in (self.low, self.high))  # to the nearest
        if up.multiply(low, low) > self.low:
            low = max(_ZERO, down.next_minus(low))
        if down.multiply(high, high) < self.high:
            high = up.next_plus(high)
        return Interval(self.at, low, high)

    def clipped(self, least: int, most: int | None = None) -> Interval:
        """The same number where it is known to lie between two bounds."""
        low, high = max(self.low, Decimal(least)), max(self.high, Decimal(least))
        if most is not None:
            low, high = min(low, Decimal(most)), min(high, Decimal(most))
        return Interval(self.at, low, high)

    def agrees_to(self, digits: int) -> bool:
        """Whether both ends are equal up to a relative difference of 10^-digits."""
        if not (self.low.is_finite() and self.high.is_finite()):
            return self.low == self.high
        up = self.at.up
        allowed = up.multiply(max(self.low.copy_abs(), self.high.copy_abs()), Decimal((0, (1,), -digits)))
        return up.subtract(self.high, self.low) <= allowed

    def __repr__(self) -> str:
        return f"<{self.low} .. {self.high}>"


#: What `upper` and `lower` evaluate: a value at any precision.
Formula = Callable[[Precision], Interval]


def enclose(formula: Formula, digits: int = DIGITS) -> Interval:
    """Evaluate a formula with as many digits as it takes for both ends to agree to `digits` digits.

    Parameters
    ----------
    formula : callable
        Takes the `Precision` to work with.
    digits : int
        The agreement asked for, in relative terms.

    Returns
    -------
    Interval
        It holds the true value whatever its width. Where the ends do not agree with 4000 digits
        either, as for a formula whose value is exactly 0, it is the last and narrowest one.
    """
    working = digits + _SPARE_DIGITS
    while True:
        result = formula(Precision(working))
        if result.agrees_to(digits) or working >= _MOST_DIGITS:
            return result
        working = min(2 * working, _MOST_DIGITS)


def upper(formula: Formula, digits: int = DIGITS) -> Fraction:
    """The value of a formula, rounded up to `digits` significant digits: never below the true one."""
    value = decimal_context(digits, ROUND_CEILING).plus(enclose(formula, digits + _MARGIN).high)
    if value.is_zero() or value.adjusted() >= _LEAST_EXPONENT:
        return Fraction(value)
    return _LEAST if value > 0 else Fraction(0)  # the fraction would not fit in memory


def lower(formula: Formula, digits: int = DIGITS) -> Fraction:
    """The value of a formula, rounded down to `digits` significant digits: never above the true one."""
    return -upper(lambda at: -formula(at), digits)


def at_most(formula: Formula, limit: Fraction) -> bool:
    """Whether the value of a formula is proved to be at most `limit`; undecided counts as no."""
    working = DIGITS + _SPARE_DIGITS
    while True:
        excess = formula(Precision(working)) - limit
        if excess.high <= 0:
            return True
        if excess.low > 0 or working >= _MOST_DIGITS:
            return False
        working = min(2 * working, _MOST_DIGITS)


@lru_cache(maxsize=16)
def _pi(digits: int) -> Decimal:
    """Pi, cut after `digits` decimals (Machin's formula, in integers)."""
    guard = digits + 10
    one = 10**guard

    def arctan_of_inverse(n: int) -> int:
        power, total, k = one // n, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power //= n * n
            k += 2
        return total

    # Each of the truncated terms is wrong by at most one unit: the ten guard digits hold all of them.
    scaled = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239)) // 10**10
    return Decimal(scaled).scaleb(-digits, decimal_context(digits + 5, ROUND_FLOOR))
