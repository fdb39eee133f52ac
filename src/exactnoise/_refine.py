"""Exact decisions at arbitrary precision: lanes that the fast path declined, and calibrations.

Refinement gets a lane's random words, which fix the first bits of its uniform variables, and computes an enclosure of
(x + Z) / g with directed rounding. As long as the enclosure holds a boundary between two integers, 64 fresh bits are
appended to each word and the precision rises by 64 bits. The words already drawn stay: redrawing a lane because it is
near a boundary would condition the noise on the data (Haney, Desfontaines, Hartman, Shrestha, Hay 2022,
arXiv 2207.13793).

Every operation names its own context (precision and rounding direction), so threads and callers that change gmpy2's
current context do not matter. This is the only module that imports gmpy2.
"""

from __future__ import annotations

import itertools
import math
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from exactnoise._native import PENDING, fill_entropy

__all__ = [
    "Extension",
    "Family",
    "Form",
    "Ideal",
    "discrete_offset",
    "fresh_extension",
    "gaussian_epsilon",
    "gaussian_sigma",
    "grid_value",
    "refine",
]

Family = Literal["laplace", "gaussian", "discrete-laplace"]
Form = Literal["float64", "float32", "int64-float64", "int64"]
#: The j-th additional 64-bit word of a lane. One lane's words are asked for in order, and the two samples of a Gaussian
#: pair share them.
Extension = Callable[[int, int], int]
Mpfr = Any
Interval = tuple[Mpfr, Mpfr]

_FIRST_PRECISION = 128


class _OnFirstUse:
    """Stands for gmpy2 until it is needed: importing it takes as long as importing the rest of the package."""

    def __getattr__(self, name: str) -> Any:
        global gmpy2
        import gmpy2

        return getattr(gmpy2, name)


gmpy2: Any = _OnFirstUse()


class _Directed:
    """Arithmetic at one precision, rounded down or up. No operators: they would round to the current context."""

    def __init__(self, precision: int) -> None:
        self.down = gmpy2.context(precision=precision, round=gmpy2.RoundDown)
        self.up = gmpy2.context(precision=precision, round=gmpy2.RoundUp)

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

    def negative_log(self, cell: _Cell) -> Interval:
        """-ln of a cell of (0, 1): an infinite end where the cell touches 0."""
        low, high = _exact(cell.index, -cell.bits), _exact(cell.index + 1, -cell.bits)
        return self.negated((self.down.log(low), self.up.log(high)))


def _exact(numerator: int, exponent: int = 0) -> Mpfr:
    """numerator * 2^exponent, with as many bits as that takes."""
    bits = max(numerator.bit_length(), 2)
    context = gmpy2.context(precision=bits)
    return context.mul(gmpy2.mpfr(numerator, bits, context), context.exp2(exponent))


def _exact_double(value: float) -> Mpfr:
    return gmpy2.mpfr(value, 53, gmpy2.context(precision=53))


@dataclass(slots=True)
class _Cell:
    """The numbers in [index, index + 1] * 2^-bits: all that begin with the bits drawn so far."""

    index: int
    bits: int

    def append(self, word: int) -> None:
        self.index = self.index << 64 | word
        self.bits += 64


class _Laplace:
    """+-s (-ln U): native/laplace.h."""

    def __init__(self, s: float, word: int) -> None:
        self.s = _exact_double(s)
        self.negative = bool(word >> 13 & 1)
        self.cells = (_Cell(word >> 14, 50),)

    def enclosure(self, at: _Directed) -> Interval:
        low, high = at.scaled(self.s, at.negative_log(self.cells[0]))
        return at.negated((low, high)) if self.negative else (low, high)


class _DiscreteLaplace:
    """c - 1/2 - s ln U, whose rounding is the magnitude floor(c - s ln U): native/laplace.h."""

    def __init__(self, s: float, word: int) -> None:
        self.s = _exact_double(s)
        self.cells = (_Cell(word >> 14, 50),)

    def enclosure(self, at: _Directed) -> Interval:
        low, high = at.scaled(self.s, at.negative_log(self.cells[0]))
        offset_low, offset_high = _offset(self.s, at)
        return at.down.add(low, offset_low), at.up.add(high, offset_high)


class _Gaussian:
    """R cos theta or R sin theta: native/gaussian.h."""

    def __init__(self, s: float, word1: int, word2: int, *, sine: bool) -> None:
        self.s = _exact_double(s)
        self.quadrant = word2 >> 62
        fraction = word2 >> 13 & (2**49 - 1)  # f, as a signed number of 49 bits
        self.cells = (_Cell(word1 >> 13, 51), _Cell(fraction - (fraction >> 48 << 49), 49))
        self.sine = sine

    def enclosure(self, at: _Directed) -> Interval:
        low, high = at.scaled(_exact(2), at.negative_log(self.cells[0]))
        radius = at.scaled(self.s, (at.down.sqrt(low), at.up.sqrt(high)))
        if gmpy2.is_infinite(radius[1]):
            return at.negated(radius)[0], radius[1]
        return at.product(radius, self._direction(at))

    def _direction(self, at: _Directed) -> Interval:
        """cos or sin of (pi/2)(quadrant + f): that of (pi/2) f, swapped and signed by the quadrant."""
        use_sine = self.sine != bool(self.quadrant & 1)
        negative = self.quadrant in ((2, 3) if self.sine else (1, 2))
        cell = self.cells[1]
        # |f| <= 1/2, and no cell has 0 inside.
        inner, outer = (cell.index, cell.index + 1) if cell.index >= 0 else (-cell.index - 1, -cell.index)
        low = at.down.mul(at.down.const_pi(), _exact(inner, -cell.bits - 1))
        high = at.up.mul(at.up.const_pi(), _exact(outer, -cell.bits - 1))
        if use_sine:
            direction = at.down.sin(low), at.up.sin(high)
            negative ^= cell.index < 0
        else:
            direction = at.down.cos(high), at.up.cos(low)
        return at.negated(direction) if negative else direction


@dataclass(frozen=True, slots=True)
class Ideal:
    """The ideal mechanism that the kernels round: public parameters only.

    Attributes
    ----------
    family : {"laplace", "gaussian", "discrete-laplace"}
    s : float
        scale / granularity.
    exponent : int
        The granularity is 2^exponent.
    nan : float
        What a NaN counts as.
    """

    family: Family
    s: float
    exponent: int
    nan: float


def fresh_extension() -> Extension:
    """Additional words from the operating system, kept so that both samples of a pair see the same."""
    drawn: dict[tuple[int, int], int] = {}

    def extension(lane: int, j: int) -> int:
        if (lane, j) not in drawn:
            word = bytearray(8)
            fill_entropy(word)
            drawn[lane, j] = int.from_bytes(word, "little")
        return drawn[lane, j]

    return extension


def refine(
    ideal: Ideal, form: Form, pending: np.ndarray[Any, Any], extension: Extension
) -> Iterator[tuple[int, float | int]]:
    """Decide declined lanes.

    Parameters
    ----------
    ideal : Ideal
    form : {"float64", "float32", "int64-float64", "int64"}
        How the lane's x is stored and what its value is.
    pending : ndarray of PENDING
    extension : callable
        (lane, j) -> additional 64-bit word j = 0, 1, .. of the lane.

    Yields
    ------
    index : int
        As in the record.
    value : float or int
        The exact rounding of x + Z to the grid, as a number of the form's output type.
    """
    assert pending.dtype == PENDING
    lowest, highest = _limits(form, ideal.exponent)
    for index, lane, words, x_bits in pending.tolist():
        word0, word1 = words.tolist()
        extra = (extension(lane, j) for j in itertools.count())
        if ideal.family == "discrete-laplace":
            magnitude = _decide(_DiscreteLaplace(ideal.s, word0), _exact(0), extra)
            k = _signed(x_bits) + (-magnitude if word0 >> 13 & 1 else magnitude)
        else:
            noise: _Noise = (
                _Laplace(ideal.s, word0)
                if ideal.family == "laplace"
                else _Gaussian(ideal.s, word0, word1, sine=lane != index)
            )
            whole, rest = _split(_input(x_bits, form, ideal, highest), ideal.exponent)
            k = whole + _decide(noise, rest, extra)
        yield index, grid_value(min(max(k, lowest), highest), ideal.exponent, form)


_Noise = _Laplace | _DiscreteLaplace | _Gaussian


def _decide(noise: _Noise, rest: Mpfr, extra: Iterator[int]) -> int:
    """The integer nearest to rest + noise. An exact tie has probability 0: the enclosure then never closes on it."""
    for precision in itertools.count(_FIRST_PRECISION, 64):
        at = _Directed(precision)
        low, high = noise.enclosure(at)
        low, high = at.down.add(rest, low), at.up.add(rest, high)
        if gmpy2.is_finite(low) and gmpy2.is_finite(high):
            k = math.floor(_fraction(low) + Fraction(1, 2))
            if _fraction(high) <= k + Fraction(1, 2):
                return k
        for cell in noise.cells:
            cell.append(next(extra))
    raise AssertionError("unreachable: the precisions do not end")


def _fraction(number: Mpfr) -> Fraction:
    return Fraction(*map(int, number.as_integer_ratio()))


def _input(bits: int, form: Form, ideal: Ideal, highest: int) -> Fraction:
    """A lane's x, with the values that stand for NaN and the infinities."""
    if form in ("int64", "int64-float64"):
        return Fraction(_signed(bits))
    (x,) = struct.unpack("<d", bits.to_bytes(8, "little"))
    if math.isnan(x):
        x = ideal.nan
    if math.isinf(x):
        return (highest if x > 0 else -highest) * Fraction(2) ** ideal.exponent
    return Fraction(x)


def _signed(bits: int) -> int:
    return bits - (bits >> 63 << 64)


def _split(x: Fraction, exponent: int) -> tuple[int, Mpfr]:
    """x / g as an integer and an exact rest."""
    scaled = x / Fraction(2) ** exponent
    whole = round(scaled)
    rest = scaled - whole
    return whole, _exact(rest.numerator, 1 - rest.denominator.bit_length())


def _limits(form: Form, exponent: int) -> tuple[int, int]:
    """The least and largest multiple of g = 2^exponent in the output type, in units of g."""
    if form == "int64":
        return -(2**63 >> exponent), (2**63 - 1) >> exponent
    largest = Fraction(sys.float_info.max) if form != "float32" else Fraction(2**128 - 2**104)
    highest = math.floor(largest / Fraction(2) ** exponent)
    return -highest, highest


def grid_value(k: int, exponent: int, form: Form) -> float | int:
    """k * 2^exponent rounded once to the form's output type."""
    if form == "int64":
        return k << exponent
    bits = 24 if form == "float32" else 53
    drop = max(k.bit_length() - bits, 0)
    # round() of a Fraction ties to even, as IEEE 754 does; the limits keep the result finite.
    mantissa, exponent = round(Fraction(k, 1 << drop)), exponent + drop
    if mantissa.bit_length() + exponent > -1022:
        return math.ldexp(mantissa, exponent)
    # A subnormal number, from its bits: arithmetic would lose it where a library sets flush-to-zero.
    return math.copysign(_double(abs(mantissa) << exponent + 1074), mantissa)


def _offset(s: Mpfr, at: _Directed) -> Interval:
    """c - 1/2, c = s ln(2 / (1 + e^(-1/s))): between -1/2 and 0."""
    half = _exact(1, -1)
    # e^(-1/s) rounded up makes c smaller, and the other way round.
    power_low = at.down.exp(at.down.minus(at.up.div(_exact(1), s)))
    power_high = at.up.exp(at.up.minus(at.down.div(_exact(1), s)))
    ratio_low = at.down.div(_exact(2), at.up.add(_exact(1), power_high))
    ratio_high = at.up.div(_exact(2), at.down.add(_exact(1), power_low))
    low = at.down.mul(s, at.down.log(ratio_low))
    high = at.up.mul(s, at.up.log(ratio_high))
    return at.down.sub(low, half), at.up.sub(high, half)


def discrete_offset(s: float) -> float:
    """The double nearest to c - 1/2, for the kernel of the discrete Laplace: native/laplace.h."""
    nearest = gmpy2.context(precision=53, round=gmpy2.RoundToNearest)
    for precision in itertools.count(_FIRST_PRECISION, 64):
        low, high = (nearest.plus(end) for end in _offset(_exact_double(s), _Directed(precision)))
        if low == high:
            return float(low)
    raise AssertionError("unreachable: the precisions do not end")


def gaussian_sigma(epsilon: Fraction, delta: Fraction, sensitivity: Fraction) -> float:
    """Return the smallest double sigma for which Gaussian noise is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon, delta, sensitivity : Fraction
        Positive; delta below 1; sensitivity in the L2 norm.

    Returns
    -------
    float
        The proof that it suffices is an upper bound of delta(sigma), computed with directed rounding.

    Raises
    ------
    OverflowError
        No double is large enough.

    Notes
    -----
    delta(sigma) = Phi(D/(2 sigma) - epsilon sigma/D) - e^epsilon Phi(-D/(2 sigma) - epsilon sigma/D) for sensitivity D
    (Balle & Wang 2018, arXiv 1805.06530, Theorem 8), decreasing in sigma.
    """
    is_private = _privacy_test(delta)
    return _least_double(lambda sigma: is_private(epsilon, Fraction(sigma) / sensitivity))


def gaussian_epsilon(sigma: float, delta: Fraction, sensitivity: Fraction) -> Fraction:
    """Return the smallest double epsilon for which Gaussian noise is (epsilon, delta)-differentially private.

    The inverse of `gaussian_sigma`, on the safe side likewise.
    """
    is_private = _privacy_test(delta)
    ratio = Fraction(sigma) / sensitivity
    return Fraction(_least_double(lambda epsilon: is_private(Fraction(epsilon), ratio)))


def _privacy_test(delta: Fraction) -> Callable[[Fraction, Fraction], bool]:
    """Whether epsilon and ratio = sigma / sensitivity keep to delta: by bounds, at the least precision that decides."""
    # At the last one the cancellation of two terms of the size of delta leaves enough; then undecided counts as no.
    last = _FIRST_PRECISION + 2 * max(0, delta.denominator.bit_length() - delta.numerator.bit_length())
    ladder = [_Directed(bits) for bits in (128, 256, 512, 1024) if bits < last] + [_Directed(last)]
    cap = _rounded(delta, ladder[-1].down)

    def is_private(epsilon: Fraction, ratio: Fraction) -> bool:
        for at in ladder:
            low, high = _gaussian_delta(epsilon, ratio, at)
            if high <= cap:
                return True
            if low > cap:
                return False
        return False

    return is_private


def _least_double(suffices: Callable[[float], bool]) -> float:
    """The smallest positive normal double from which on a monotone condition holds."""
    if not suffices(sys.float_info.max):
        raise OverflowError("no double is large enough")
    # Doubles in the order of their bit patterns: bisection ends at neighbours.
    low, high = _pattern(sys.float_info.min) - 1, _pattern(sys.float_info.max)
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(_double(middle)):
            high = middle
        else:
            low = middle
    return _double(high)


def _gaussian_delta(epsilon: Fraction, ratio: Fraction, at: _Directed) -> Interval:
    """Bounds of delta at ratio = sigma / sensitivity."""
    near = 1 / (2 * ratio)
    far = epsilon * ratio
    bounds = []
    for outwards, inwards in ((at.down, at.up), (at.up, at.down)):
        first = _phi(near - far, outwards, at)
        second = _phi(-near - far, inwards, at)
        power = inwards.exp(_rounded(epsilon, inwards))
        bounds.append(outwards.sub(first, inwards.mul(power, second)))
    return bounds[0], bounds[1]


def _phi(x: Fraction, direction: Any, at: _Directed) -> Mpfr:
    """The normal distribution function, erfc(-x / sqrt 2) / 2, rounded in one direction."""
    # erfc decreases: its argument is rounded the other way.
    opposite = at.down if direction is at.up else at.up
    argument = _rounded(-x, opposite)
    same = direction
    root = opposite.sqrt(_exact(2)) if argument < 0 else same.sqrt(_exact(2))
    return direction.div(direction.erfc(opposite.div(argument, root)), _exact(2))


def _rounded(x: Fraction, direction: Any) -> Mpfr:
    return direction.div(_exact(x.numerator), _exact(x.denominator))


def _pattern(x: float) -> int:
    return int.from_bytes(struct.pack("<d", x), "little")


def _double(pattern: int) -> float:
    (x,) = struct.unpack("<d", pattern.to_bytes(8, "little"))
    return float(x)
