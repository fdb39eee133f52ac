"""Public bounds, and the power-of-two grid between them on which values are added exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from exactnoise import _native
from exactnoise._native import Quantizer
from exactnoise.accounting.amount import Number, exact, shown

__all__ = ["Bounds", "Grid", "MissingPolicy", "power_above"]

MissingPolicy = Number | Literal["drop"] | None

_LARGEST = Fraction(10) ** 290
_SMALLEST = Fraction(1, 10**280)
_FINEST_STEPS = 50  # binary digits of a quantised value: native/quantize.h


@dataclass(frozen=True, slots=True)
class Bounds:
    """The public interval that every value is clipped to.

    Attributes
    ----------
    lower, upper : Fraction
        As typed; lower <= upper.
    """

    lower: Fraction
    upper: Fraction

    @classmethod
    def checked(cls, bounds: Any, statistic: str) -> Bounds:
        """Read ``bounds=(lower, upper)``, or say what they are for."""
        if bounds is None:
            raise TypeError(
                f"{statistic} needs bounds=(lower, upper), fixed without looking at the data: values outside are "
                "clipped, and the noise grows with them"
            )
        if isinstance(bounds, (str, bytes, set, frozenset, dict)):
            raise TypeError(f"bounds must be a pair (lower, upper), got {bounds!r}")
        try:
            pair = tuple(bounds)
        except TypeError:
            raise TypeError(f"bounds must be a pair (lower, upper), got {shown(bounds)}") from None
        if len(pair) != 2:
            raise ValueError(f"bounds must be a pair (lower, upper), got {len(pair)} numbers")
        lower, upper = (exact(value, f"bounds[{i}]", signed=True) for i, value in enumerate(pair))
        if lower > upper:
            raise ValueError(f"bounds must be (lower, upper) with lower <= upper, got ({pair[0]!r}, {pair[1]!r})")
        for value in (lower, upper):
            if value and not _SMALLEST <= abs(value) <= _LARGEST:
                raise ValueError(f"bounds must be 0 or between 1e-280 and 1e290 in magnitude, got {bounds!r}")
        return cls(lower, upper)

    @property
    def width(self) -> Fraction:
        return self.upper - self.lower

    @property
    def magnitude(self) -> Fraction:
        return max(abs(self.lower), abs(self.upper))

    def replacement(self, nan: MissingPolicy) -> Fraction | None:
        """Read ``nan=``: a value within the bounds, None to say the lower bound, or "drop", for which this is None."""
        if nan is None:
            return self.lower
        if isinstance(nan, str) and nan == "drop":
            return None
        if isinstance(nan, str) and not any(character.isdigit() for character in nan):
            raise ValueError(f"nan must be a value within the bounds, or 'drop' to leave such rows out, got {nan!r}")
        value = exact(nan, "nan", signed=True)
        if not self.lower <= value <= self.upper:
            raise ValueError(
                f"nan must be a value within the bounds, or 'drop' to leave such rows out, got {shown(nan)}"
            )
        return value


@dataclass(frozen=True, slots=True)
class Grid:
    """The multiples of a power of two within bounds: what values are rounded to before they are added.

    Attributes
    ----------
    exponent : int
        The step is 2^exponent.
    low, high : int
        The least and the largest value, in steps.
    """

    exponent: int
    low: int
    high: int

    @classmethod
    def of_floats(cls, bounds: Bounds, bits: int) -> Grid:
        """At most 2^bits steps between the bounds, and at most 2^50 to either of them from 0.

        The bounds are rounded inwards, so that values on the grid are within them. Bounds that are closer together than
        a step are both rounded to nearest.
        """
        exponent = max(power_above(bounds.width) - bits, power_above(bounds.magnitude) - _FINEST_STEPS)
        step = Fraction(2) ** exponent
        low, high = -(-bounds.lower // step), bounds.upper // step
        if low > high:
            low = high = round(bounds.lower / step)
        return cls(exponent, low, high)

    @classmethod
    def of_integers(cls, bounds: Bounds) -> Grid | None:
        """Whole numbers, where the bounds are whole numbers of 64 bits: integers are then added as they are."""
        low, high = bounds.lower, bounds.upper
        if low.denominator != 1 or high.denominator != 1 or low < -(2**63) or high >= 2**63:
            return None
        return cls(0, int(low), int(high))

    @property
    def step(self) -> Fraction:
        return Fraction(2) ** self.exponent

    @property
    def lower(self) -> Fraction:
        """The least value that a row can add."""
        return self.low * self.step

    @property
    def upper(self) -> Fraction:
        """The largest value that a row can add."""
        return self.high * self.step

    def quantizer(self, missing: Fraction | None, simd: str | None = None) -> Quantizer:
        """The kernel that rounds to this grid."""
        nan = None
        if missing is not None:
            nan = min(max(round(missing / self.step), self.low), self.high)
        return Quantizer(self.exponent, self.low, self.high, nan, simd or _native.SIMD)


def power_above(x: Fraction) -> int:
    """The least e with 2^e >= x, far below every other for 0."""
    if not x:
        return -1000 + _FINEST_STEPS
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    while Fraction(2) ** exponent >= x:
        exponent -= 1
    while Fraction(2) ** exponent < x:
        exponent += 1
    return exponent
