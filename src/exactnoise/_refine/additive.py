"""Lanes that the kernels declined and fixed point left open: the exact rounding of x + Z to the grid.

Refinement gets a lane's random words, which fix the first bits of its uniform variables, and computes an enclosure of
(x + Z) / g with directed rounding. As long as the enclosure holds a boundary between two integers, 64 fresh bits are
appended to each word and the precision rises by 64 bits.
"""

from __future__ import annotations

import itertools
import math
import struct
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from exactnoise._native import PENDING
from exactnoise._refine.directed import FIRST_PRECISION, Mpfr, directed, double, exact
from exactnoise._refine.integers import decide_proposals, decide_tabulated
from exactnoise._refine.noise import DiscreteLaplaceNoise, GaussianNoise, LaplaceNoise, Noise
from exactnoise._refine.words import Extension

__all__ = ["Family", "Form", "Ideal", "grid_value", "refine"]

Family = Literal["laplace", "gaussian", "discrete-laplace", "discrete-gaussian", "tabulated"]
Form = Literal["float64", "float32", "int64-float64", "int64"]

_LANES = 2**48 - 1  # the sample in a record's lane; above it the number of the proposal


class Ideal(NamedTuple):
    """The ideal mechanism that the kernels round: public parameters only.

    Attributes
    ----------
    family : {"laplace", "gaussian", "discrete-laplace", "discrete-gaussian", "tabulated"}
        The last one is the discrete Gaussian with s < 4.
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
        x = _input(x_bits, form, ideal, highest)
        k = _noisy(ideal, x, words.tolist(), index, lane, extension)
        yield index, grid_value(min(max(k, lowest), highest), ideal.exponent, form)


def _noisy(ideal: Ideal, x: Fraction, words: list[int], index: int, lane: int, extension: Extension) -> int:
    """The rounding of x + Z, in units of the granularity."""
    extra = _words(extension, lane)
    sine = lane & _LANES != index
    match ideal.family:
        case "discrete-laplace":
            magnitude = _decide(DiscreteLaplaceNoise(ideal.s, words[0]), exact(0), extra)
            return int(x) + (-magnitude if words[0] >> 13 & 1 else magnitude)
        case "tabulated":
            return int(x) + decide_tabulated(ideal.s, words[0], extra)
        case "discrete-gaussian":
            own = _words(extension, -1 - index)
            return int(x) + decide_proposals(ideal.s, (words[0], words[1], words[2]), sine=sine, pair=extra, own=own)
        case "laplace":
            noise: Noise = LaplaceNoise(ideal.s, words[0])
        case "gaussian":
            noise = GaussianNoise(ideal.s, words[0], words[1], sine=sine)
    whole, rest = _split(x, ideal.exponent)
    return whole + _decide(noise, rest, extra)


def _words(extension: Extension, lane: int) -> Iterator[int]:
    return (extension(lane, j) for j in itertools.count())


def _decide(noise: Noise, rest: Mpfr, extra: Iterator[int]) -> int:
    """The integer nearest to rest + noise. An exact tie has probability 0: the enclosure then never closes on it."""
    for precision in itertools.count(FIRST_PRECISION, 64):
        at = directed(precision)
        low, high = noise.enclosure(at)
        k = at.nearest_integer((at.down.add(rest, low), at.up.add(rest, high)))
        if k is not None:
            return k
        for cell in noise.cells:
            cell.append(next(extra))
    raise AssertionError("unreachable: the precisions do not end")


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
    if exponent == 0 and x.denominator == 1:
        return int(x), exact(0)
    scaled = x / Fraction(2) ** exponent
    whole = round(scaled)
    rest = scaled - whole
    return whole, exact(rest.numerator, 1 - rest.denominator.bit_length())


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
    return math.copysign(double(abs(mantissa) << exponent + 1074), mantissa)
