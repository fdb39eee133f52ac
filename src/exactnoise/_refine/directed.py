"""Interval arithmetic at any precision: every operation names its precision and its direction of rounding.

Threads and callers that change gmpy2's current context do not matter. The rest of this package gets gmpy2 from here.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from functools import lru_cache
from typing import Any

__all__ = [
    "FIRST_PRECISION",
    "Directed",
    "Interval",
    "Mpfr",
    "directed",
    "double",
    "exact",
    "exact_double",
    "fraction",
    "gmpy2",
    "pattern",
    "rounded",
]

Mpfr = Any
Interval = tuple[Mpfr, Mpfr]

FIRST_PRECISION = 128


class _OnFirstUse:
    """Stands for gmpy2 until it is needed: importing it takes as long as importing the rest of the package."""

    def __getattr__(self, name: str) -> Any:
        global gmpy2
        import gmpy2

        return getattr(gmpy2, name)


gmpy2: Any = _OnFirstUse()


class Directed:
    """Arithmetic at one precision, rounded down or up. No operators: they would round to the current context."""

    def __init__(self, precision: int) -> None:
        self.down = gmpy2.context(precision=precision, round=gmpy2.RoundDown)
        self.up = gmpy2.context(precision=precision, round=gmpy2.RoundUp)

    def nearest_integer(self, interval: Interval) -> int | None:
        """The integer that all of an interval rounds to; None if there is none, or an end is infinite."""
        if not (gmpy2.is_finite(interval[0]) and gmpy2.is_finite(interval[1])):
            return None
        # The directed roundings do not pass an integer of fewer bits than the precision.
        k = int(self.down.floor(self.down.add(interval[0], 0.5)))
        return k if self.up.sub(interval[1], 0.5) <= k else None

    def negated(self, interval: Interval) -> Interval:
        return self.down.minus(interval[1]), self.up.minus(interval[0])

    def scaled(self, factor: Mpfr, interval: Interval) -> Interval:
        """A non-negative exact number times an interval."""
        return self.down.mul(factor, interval[0]), self.up.mul(factor, interval[1])

    def product(self, positive: Interval, other: Interval) -> Interval:
        """An interval of non-negative numbers times any interval."""
        low = positive[0] if other[0] >= 0 else positive[1]
        high = positive[1] if other[1] >= 0 else positive[0]
        return self.down.mul(low, other[0]), self.up.mul(high, other[1])

    def negative_log(self, low: Mpfr, high: Mpfr) -> Interval:
        """-ln of all numbers from low to high: an infinite end where low is 0."""
        return self.negated((self.down.log(low), self.up.log(high)))


def exact(numerator: int, exponent: int = 0) -> Mpfr:
    """numerator * 2^exponent, with as many bits as that takes."""
    context = _wide(numerator.bit_length() >> 6)
    number = gmpy2.mpfr(numerator, 0, context)
    return context.mul_2exp(number, exponent) if exponent >= 0 else context.div_2exp(number, -exponent)


@lru_cache(maxsize=256)
def exact_double(value: float) -> Mpfr:
    return gmpy2.mpfr(value, 53, gmpy2.context(precision=53))


@lru_cache(maxsize=256)
def _wide(words: int) -> Any:
    """A context in which numbers of so many whole words of bits, and one more, are exact."""
    return gmpy2.context(precision=64 * words + 64)


@lru_cache(maxsize=64)
def directed(precision: int) -> Directed:
    """The arithmetic of a precision; nothing but its own operations ever changes it."""
    return Directed(precision)


def rounded(x: Fraction, direction: Any) -> Mpfr:
    return direction.div(exact(x.numerator), exact(x.denominator))


def fraction(number: Mpfr) -> Fraction:
    return Fraction(*map(int, number.as_integer_ratio()))


def pattern(x: float) -> int:
    return int.from_bytes(struct.pack("<d", x), "little")


def double(pattern: int) -> float:
    (x,) = struct.unpack("<d", pattern.to_bytes(8, "little"))
    return float(x)
