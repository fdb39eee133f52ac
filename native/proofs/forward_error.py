"""Rigorous rounding-error bounds for straight-line double-precision code.

The functions of elementary.py are written once, against the operations of a machine. `ErrorMachine`
computes with sets: a `Quantity` encloses every value the variable can hold and bounds its distance
from the ideal value, the one that the same steps give in real arithmetic. `DoubleMachine` computes
with numbers, bit for bit as the processor does, so that a test can check that the steps proved here
are those that were compiled.

Everything is rounded outwards (MPFR, directed rounding), so each bound is a theorem about IEEE 754
doubles, rounded to nearest, in either order of operations that EN_FMA can take.
"""

from __future__ import annotations

from dataclasses import dataclass

import gmpy2
from gmpy2 import mpfr

PRECISION = 100  # bits of the enclosures; only their tightness depends on it
# Python's own operators round to 53 bits, even the unary minus: all arithmetic goes through these.
DOWN = gmpy2.context(precision=PRECISION, round=gmpy2.RoundDown)
UP = gmpy2.context(precision=PRECISION, round=gmpy2.RoundUp)
ZERO = mpfr(0)
SMALLEST_HALF_ULP = gmpy2.exp2(-1075)


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval of real numbers; every operation encloses the exact result."""

    low: mpfr
    high: mpfr

    def __add__(self, other: Interval) -> Interval:
        return Interval(DOWN.add(self.low, other.low), UP.add(self.high, other.high))

    def __neg__(self) -> Interval:
        return Interval(DOWN.minus(self.high), UP.minus(self.low))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(DOWN.sub(self.low, other.high), UP.sub(self.high, other.low))

    def __mul__(self, other: Interval) -> Interval:
        if self.low >= 0 and other.low >= 0:
            return Interval(DOWN.mul(self.low, other.low), UP.mul(self.high, other.high))
        pairs = [(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(DOWN.mul(a, b) for a, b in pairs), max(UP.mul(a, b) for a, b in pairs))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low <= 0:
            raise ArithmeticError("the divisor must be positive")
        ends = (other.low, other.high)
        return Interval(min(DOWN.div(self.low, b) for b in ends), max(UP.div(self.high, b) for b in ends))

    def widened(self, margin: mpfr) -> Interval:
        return Interval(DOWN.sub(self.low, margin), UP.add(self.high, margin))

    @property
    def magnitude(self) -> mpfr:
        """The largest absolute value."""
        return max(UP.minus(self.low), self.high)

    @property
    def least_magnitude(self) -> mpfr:
        """The smallest absolute value."""
        return max(self.low, DOWN.minus(self.high), ZERO)


def point(value: float | mpfr) -> Interval:
    number = value if isinstance(value, type(ZERO)) else mpfr(value)
    return Interval(number, number)


def half_ulp(magnitude: mpfr) -> mpfr:
    """The largest rounding error of a real number up to `magnitude` in absolute value."""
    if magnitude == 0:
        return ZERO
    exponent = gmpy2.get_exp(magnitude) - 1  # 2^exponent <= magnitude < 2^(exponent + 1)
    if magnitude == gmpy2.exp2(exponent):  # itself a double; what is below it has the finer ulp
        exponent -= 1
    return max(gmpy2.exp2(exponent - 53), SMALLEST_HALF_ULP)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A variable: an enclosure of the doubles it can hold, and |double - ideal value| <= error."""

    values: Interval
    error: mpfr = ZERO


def exact(value: float | mpfr | Interval) -> Quantity:
    return Quantity(value if isinstance(value, Interval) else point(value))


def _rounded(result: Interval, error: mpfr) -> Quantity:
    rounding = half_ulp(result.magnitude)
    return Quantity(result.widened(rounding), UP.add(error, rounding))


class ErrorMachine:
    """The operations on quantities: error carried over, plus half an ulp for each rounding."""

    def __init__(self, *, fma: bool) -> None:
        self.fma = fma

    def constant(self, value: float) -> Quantity:
        return exact(value)

    def add(self, a: Quantity, b: Quantity) -> Quantity:
        return _rounded(a.values + b.values, UP.add(a.error, b.error))

    def sub(self, a: Quantity, b: Quantity) -> Quantity:
        return _rounded(a.values - b.values, UP.add(a.error, b.error))

    @staticmethod
    def _product_error(a: Quantity, b: Quantity) -> mpfr:
        # ab - AB = a (b - B) + (a - A) B, and |B| <= |b| + error
        ideal_b = UP.add(b.values.magnitude, b.error)
        return UP.add(UP.mul(a.values.magnitude, b.error), UP.mul(a.error, ideal_b))

    def mul(self, a: Quantity, b: Quantity) -> Quantity:
        return _rounded(a.values * b.values, self._product_error(a, b))

    def div(self, a: Quantity, b: Quantity) -> Quantity:
        # a/b - A/B = ((a - A) - (A/B) (b - B)) / b
        ideal_a = UP.add(a.values.magnitude, a.error)
        least_b = DOWN.sub(b.values.least_magnitude, b.error)
        quotient = UP.div(ideal_a, least_b)
        carried = UP.div(UP.add(a.error, UP.mul(quotient, b.error)), least_b)
        return _rounded(a.values / b.values, carried)

    def multiply_add(self, a: Quantity, b: Quantity, c: Quantity) -> Quantity:
        """EN_FMA: one rounding with the instruction, two without."""
        if not self.fma:
            return self.add(self.mul(a, b), c)
        return _rounded(a.values * b.values + c.values, UP.add(self._product_error(a, b), c.error))

    def exact_multiple(self, integer: int, b: float) -> Quantity:
        """integer * b, where that needs no rounding."""
        product = gmpy2.mpq(integer) * gmpy2.mpq(b)
        if gmpy2.mpq(float(product)) != product:
            raise ArithmeticError(f"{integer} * {b.hex()} is not a double")
        return exact(float(product))


class DoubleMachine:
    """The same operations on doubles, as the processor does them."""

    _NEAREST = gmpy2.context(precision=53, emax=1024, emin=-1073, subnormalize=True)

    def __init__(self, *, fma: bool) -> None:
        self.fma = fma

    def constant(self, value: float) -> float:
        return value

    def add(self, a: float, b: float) -> float:
        return a + b

    def sub(self, a: float, b: float) -> float:
        return a - b

    def mul(self, a: float, b: float) -> float:
        return a * b

    def div(self, a: float, b: float) -> float:
        return a / b

    def multiply_add(self, a: float, b: float, c: float) -> float:
        return float(self._NEAREST.fma(a, b, c)) if self.fma else a * b + c

    def exact_multiple(self, integer: int, b: float) -> float:
        return integer * b
