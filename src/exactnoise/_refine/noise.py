"""Enclosures of the ideal noise, in grid units, over the cells that a lane's words stand for."""

from __future__ import annotations

import itertools
from functools import lru_cache

from exactnoise._refine.directed import FIRST_PRECISION, Directed, Interval, Mpfr, directed, exact, exact_double, gmpy2
from exactnoise._refine.words import Cell

__all__ = ["DiscreteLaplaceNoise", "GaussianNoise", "LaplaceNoise", "Noise", "discrete_offset", "discrete_shortfall"]


class LaplaceNoise:
    """+-s (-ln U): native/laplace.h."""

    def __init__(self, s: float, word: int) -> None:
        self.s = exact_double(s)
        self.negative = bool(word >> 13 & 1)
        self.cells = (Cell(word >> 14, 50),)

    def enclosure(self, at: Directed) -> Interval:
        low, high = at.scaled(self.s, at.negative_log(*self.cells[0].ends))
        return at.negated((low, high)) if self.negative else (low, high)


class DiscreteLaplaceNoise:
    """c - 1/2 - s ln U, whose rounding is the magnitude floor(c - s ln U): native/laplace.h."""

    def __init__(self, s: float, word: int) -> None:
        self.s = exact_double(s)
        self.cells = (Cell(word >> 14, 50),)

    def enclosure(self, at: Directed) -> Interval:
        low, high = at.scaled(self.s, at.negative_log(*self.cells[0].ends))
        offset_low, offset_high = _known_offset(self.s, at)
        return at.down.add(low, offset_low), at.up.add(high, offset_high)


class GaussianNoise:
    """R cos theta or R sin theta: native/gaussian.h."""

    def __init__(self, s: float, word1: int, word2: int, *, sine: bool) -> None:
        self.s = exact_double(s)
        self.quadrant = word2 >> 62
        fraction = word2 >> 13 & (2**49 - 1)  # f, as a signed number of 49 bits
        self.cells = (Cell(word1 >> 13, 51), Cell(fraction - (fraction >> 48 << 49), 49))
        self.sine = sine

    def enclosure(self, at: Directed) -> Interval:
        low, high = at.scaled(exact(2), at.negative_log(*self.cells[0].ends))
        radius = at.scaled(self.s, (at.down.sqrt(low), at.up.sqrt(high)))
        if gmpy2.is_infinite(radius[1]):
            return at.negated(radius)[0], radius[1]
        return at.product(radius, self._direction(at))

    def _direction(self, at: Directed) -> Interval:
        """cos or sin of (pi/2)(quadrant + f): that of (pi/2) f, swapped and signed by the quadrant."""
        use_sine = self.sine != bool(self.quadrant & 1)
        negative = self.quadrant in ((2, 3) if self.sine else (1, 2))
        cell = self.cells[1]
        # |f| <= 1/2, and no cell has 0 inside.
        inner, outer = (cell.index, cell.index + 1) if cell.index >= 0 else (-cell.index - 1, -cell.index)
        low = at.down.mul(at.down.const_pi(), exact(inner, -cell.bits - 1))
        high = at.up.mul(at.up.const_pi(), exact(outer, -cell.bits - 1))
        if use_sine:
            direction = at.down.sin(low), at.up.sin(high)
            negative ^= cell.index < 0
        else:
            direction = at.down.cos(high), at.up.cos(low)
        return at.negated(direction) if negative else direction


Noise = LaplaceNoise | DiscreteLaplaceNoise | GaussianNoise


def _offset(s: Mpfr, at: Directed) -> Interval:
    """c - 1/2, c = s ln(2 / (1 + e^(-1/s))): between -1/2 and 0."""
    half = exact(1, -1)
    # e^(-1/s) rounded up makes c smaller, and the other way round.
    power_low = at.down.exp(at.down.minus(at.up.div(exact(1), s)))
    power_high = at.up.exp(at.up.minus(at.down.div(exact(1), s)))
    ratio_low = at.down.div(exact(2), at.up.add(exact(1), power_high))
    ratio_high = at.up.div(exact(2), at.down.add(exact(1), power_low))
    low = at.down.mul(s, at.down.log(ratio_low))
    high = at.up.mul(s, at.up.log(ratio_high))
    return at.down.sub(low, half), at.up.sub(high, half)


_known_offset = lru_cache(maxsize=256)(_offset)  # by the scale and the arithmetic of each precision


def discrete_offset(s: float) -> float:
    """The double nearest to c - 1/2, for the kernel of the discrete Laplace: native/laplace.h."""
    nearest = gmpy2.context(precision=53, round=gmpy2.RoundToNearest)
    for precision in itertools.count(FIRST_PRECISION, 64):
        low, high = (nearest.plus(end) for end in _offset(exact_double(s), directed(precision)))
        if low == high:
            return float(low)
    raise AssertionError("unreachable: the precisions do not end")


def discrete_shortfall(s: float) -> int:
    """1/2 - c in units of 2^-64, rounded down: the same for native/settle.h."""
    for precision in itertools.count(FIRST_PRECISION, 64):
        at = directed(precision)
        ends = at.negated(_offset(exact_double(s), at))
        low, high = (int(at.down.floor(at.down.mul_2exp(end, 64))) for end in ends)
        if low == high:
            return low
    raise AssertionError("unreachable: the precisions do not end")
