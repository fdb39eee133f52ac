"""Slow, readable oracle: the exact result of a release, from its random words alone.

It knows nothing of the engine. Every random quantity is an interval: a word stands for a cell of
the unit interval, the noise over the cell is enclosed with outward rounding (MPFR), and the
integer is returned once the whole enclosure rounds to it; otherwise extension words are appended
to the same cell and it is tried again.

Fixed point: positions on the grid are Python integers in units of 2^-fraction grid steps, so that
adding x to the noise is an exact integer addition. x/g itself is an exact dyadic rational, kept as
(mantissa, exponent).

To be quick where nothing is at stake, a lane is first evaluated in the middle of its cell, with a
slack that covers the rest of the cell and all rounding; only lanes within the slack of a boundary
are enclosed at 300 bits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpfr

Extension = Callable[[int, int], int]  # (lane, j) -> the lane's j-th extension word
GridPosition = tuple[int, int]  # (mantissa, exponent): mantissa * 2^exponent grid steps

WORD_BITS = 64
WORD = 1 << WORD_BITS


# ---------------------------------------------------------------------------------------------
# The three mechanisms


def laplace(
    x: np.ndarray,
    words: np.ndarray,
    *,
    scale: float,
    granularity: float,
    nan: float = 0.0,
    extension: Extension,
) -> np.ndarray:
    """The array that a Laplace release of ``x`` must return for these words."""
    grid = Grid(granularity, x.dtype)
    steps = scale_in_steps(scale, granularity)
    ks = _laplace_integers(grid.positions(x, nan), words.tolist(), steps, extension)
    return grid.values(ks).reshape(x.shape)


def discrete_laplace(x: np.ndarray, words: np.ndarray, *, scale: float, extension: Extension) -> np.ndarray:
    """The int64 array that a discrete Laplace release of integers ``x`` must return."""
    grid = Grid(1.0, np.dtype(np.int64))
    noise = discrete_laplace_noise(words, scale=scale, extension=extension)
    ks = (int(value) + k for value, k in zip(x.ravel().tolist(), noise, strict=True))
    return grid.values(ks).reshape(x.shape)


def discrete_laplace_noise(words: np.ndarray, *, scale: float, extension: Extension) -> Iterator[int]:
    """The integers X that the words stand for."""
    steps = scale_in_steps(scale, 1.0)
    # |X| = floor(c - s ln U) is the rounding of (c - 1/2) + |Z|: a Laplace lane of positive sign.
    starts = itertools.repeat(DiscreteOffset(steps), words.size)
    magnitudes = _laplace_integers(starts, [w & ~(1 << 13) for w in words.tolist()], steps, extension)
    return (-k if w >> 13 & 1 else k for w, k in zip(words.tolist(), magnitudes, strict=True))


def gaussian(
    x: np.ndarray,
    words: np.ndarray,
    *,
    scale: float,
    granularity: float,
    block: int,
    nan: float = 0.0,
    extension: Extension,
) -> np.ndarray:
    """The array that a Gaussian release of ``x`` must return for these words."""
    grid = Grid(granularity, x.dtype)
    steps = scale_in_steps(scale, granularity)
    positions = list(grid.positions(x, nan))
    ks = [0] * x.size
    word_list = words.tolist()
    for pair in gaussian_pairs(x.size, block):
        lanes = [lane for lane in (pair.cosine_lane, pair.sine_lane) if lane is not None]
        decided = _gaussian_integers(
            [positions[lane] for lane in lanes],
            word_list[pair.radius_word],
            word_list[pair.angle_word],
            steps,
            pair.cosine_lane,
            extension,
        )
        for lane, k in zip(lanes, decided, strict=True):
            ks[lane] = k
    return grid.values(ks).reshape(x.shape)


class Pair(NamedTuple):
    """Where a Box-Muller pair finds its words and puts its samples."""

    cosine_lane: int
    sine_lane: int | None
    radius_word: int
    angle_word: int


def gaussian_pairs(samples: int, block: int) -> Iterator[Pair]:
    """The pairs of a Gaussian call, in order of their cosine lanes."""
    for start in range(0, samples, block):
        size = min(block, samples - start)
        half = (size + 1) // 2
        for p in range(half):
            sine_lane = start + half + p if half + p < size else None
            yield Pair(start + p, sine_lane, start + p, start + half + p)


# ---------------------------------------------------------------------------------------------
# The grid: from x to exact positions, from integers to released values


# Type -> digits, exponent of the smallest step, exponent just above the largest value.
FORMATS = {np.dtype(np.float32): (24, -149, 128), np.dtype(np.float64): (53, -1074, 1024)}


class Grid:
    """Multiples of ``granularity`` in the output type that belongs to an input type."""

    def __init__(self, granularity: float, input_type: np.dtype) -> None:
        mantissa, exponent = math.frexp(granularity)
        assert mantissa == 0.5, "granularity is a power of two"
        self.log2_step = exponent - 1
        if input_type.kind in "iu":
            integral = self.log2_step >= 0
            self.output_type = np.dtype(np.int64 if integral else np.float64)
        else:
            self.output_type = np.dtype(np.float32 if input_type == np.float32 else np.float64)

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest k whose g*k the output type can hold."""
        if self.output_type.kind == "i":
            return -((1 << 63) >> self.log2_step), ((1 << 63) - 1) >> self.log2_step
        digits, _, top = FORMATS[self.output_type]
        largest = _shifted((1 << digits) - 1, top - digits - self.log2_step)
        return -largest, largest

    def positions(self, x: np.ndarray, nan: float) -> Iterator[GridPosition]:
        """x/g, exactly; NaN replaced and infinities clamped first."""
        if x.dtype.kind in "iu":
            return ((value, -self.log2_step) for value in x.ravel().tolist())
        values = x.ravel().astype(np.float64)
        values[np.isnan(values)] = nan
        lowest, highest = self.limits
        infinite = {math.inf: (highest, 0), -math.inf: (lowest, 0)}
        fractions, exponents = np.frexp(np.where(np.isinf(values), 0.0, values))
        mantissas = np.ldexp(fractions, 53).astype(np.int64).tolist()
        shifts = (exponents.astype(np.int64) - 53 - self.log2_step).tolist()
        finite = zip(mantissas, shifts, strict=True)
        if not np.isinf(values).any():
            return iter(finite)
        return iter([infinite.get(v, p) for v, p in zip(values.tolist(), finite, strict=True)])

    def values(self, ks: Iterable[int]) -> np.ndarray:
        """g*k, rounded once to the output type and saturated."""
        lowest, highest = self.limits
        clamped = (min(max(k, lowest), highest) for k in ks)
        if self.output_type.kind == "i":
            return np.array([k << self.log2_step for k in clamped], dtype=np.int64)
        digits, smallest, _ = FORMATS[self.output_type]
        floats = [_nearest_float(k, self.log2_step, digits, smallest) for k in clamped]
        return np.array(floats, dtype=self.output_type)


def _nearest_float(k: int, exponent: int, digits: int, smallest: int) -> float:
    """k * 2^exponent to the nearest number of a binary format, ties to even."""
    dropped = max(k.bit_length() - digits, smallest - exponent, 0)
    if dropped:
        quotient, remainder = k >> dropped, k & ((1 << dropped) - 1)
        half = 1 << (dropped - 1)
        k = quotient + (remainder > half or (remainder == half and quotient & 1))
    return math.ldexp(k, exponent + dropped)


# ---------------------------------------------------------------------------------------------
# Laplace: U in [J, J+1] * 2^-bits, |Z|/g = -s ln U


def scale_in_steps(scale: float, granularity: float) -> float:
    """scale/g: exact, as g is a power of two and the quotient is moderate."""
    mantissa, exponent = math.frexp(scale)
    steps = math.ldexp(mantissa, exponent - math.frexp(granularity)[1] + 1)
    assert 2.0**-40 <= steps <= 2.0**40
    return steps


# The middle evaluation: 2^42 grid steps of noise at most, in units of 2^-80, with 128 bits.
_MIDDLE_BITS = 128
_MIDDLE_FRACTION = 80
_MIDDLE_ONE = 1 << _MIDDLE_FRACTION
# The start is up to 2 units low, the noise truncated by up to 1; 128-bit rounding is below 2^-4.
_MIDDLE_TRUNCATION = 4


class DiscreteOffset:
    """Where every discrete Laplace lane starts: c - 1/2, c = s ln(2/(1 + e^(-1/s))).

    Irrational, so not a GridPosition: it is enclosed anew for each fraction.
    """

    def __init__(self, steps: float) -> None:
        self.steps = steps
        self._known: dict[int, tuple[int, int]] = {}

    def enclosure(self, fraction: int) -> tuple[int, int]:
        if fraction not in self._known:
            with gmpy2.context(precision=2 * fraction + 256):
                s = mpfr(self.steps)
                c = s * (gmpy2.log(mpfr(2)) - gmpy2.log1p(gmpy2.exp(-1 / s)))
                nearest = int(gmpy2.rint((c - 0.5) * mpfr(2) ** fraction))
            self._known[fraction] = (nearest - 1, nearest + 1)
        return self._known[fraction]


def _enclose_position(position: GridPosition | DiscreteOffset, fraction: int) -> tuple[int, int]:
    """Floor and ceiling (or one above) of a position in units of 2^-fraction."""
    if isinstance(position, DiscreteOffset):
        return position.enclosure(fraction)
    mantissa, exponent = position
    below = _shifted(mantissa, exponent + fraction)
    return below, below if exponent + fraction >= 0 else below + 1


def _laplace_integers(
    positions: Iterable[GridPosition | DiscreteOffset],
    words: list[int],
    steps: float,
    extension: Extension,
) -> list[int]:
    ks = []
    with gmpy2.context(precision=_MIDDLE_BITS):
        units = mpfr(steps) * _MIDDLE_ONE
        half_cell = mpfr(2) ** -51
        half, mask = _MIDDLE_ONE >> 1, _MIDDLE_ONE - 1
        log = gmpy2.log
        for lane, (word, position) in enumerate(zip(words, positions, strict=True)):
            cell = word >> 14
            # |ln U - ln middle| <= 1/(2 cell); the slack is twice that.
            spread = steps / cell * _MIDDLE_ONE if cell else _MIDDLE_ONE
            slack = int(spread) + _MIDDLE_TRUNCATION
            magnitude = int(units * -log((2 * cell + 1) * half_cell))
            start = _enclose_position(position, _MIDDLE_FRACTION)[0]
            shifted = (start - magnitude if word >> 13 & 1 else start + magnitude) + half
            if slack < (shifted & mask) < _MIDDLE_ONE - slack:
                ks.append(shifted >> _MIDDLE_FRACTION)
            else:
                ks.append(_laplace_by_enclosure(position, word, steps, lane, extension))
    return ks


def _laplace_by_enclosure(
    position: GridPosition | DiscreteOffset,
    word: int,
    steps: float,
    lane: int,
    extension: Extension,
) -> int:
    cell, bits = word >> 14, 50
    for attempt in _attempts():
        if cell:  # a cell that touches U = 0 has no upper end
            low, high = laplace_enclosure(cell, bits, steps, attempt)
            if word >> 13 & 1:
                low, high = -high, -low
            k = _decided(position, low, high, attempt.fraction)
            if k is not None:
                return k
        cell, bits = cell * WORD + extension(lane, attempt.number), bits + WORD_BITS
    raise AssertionError("unreachable")


def laplace_enclosure(cell: int, bits: int, steps: float, attempt: Attempt) -> tuple[int, int]:
    """-s ln U over U in [cell, cell+1] * 2^-bits, in units of 2^-attempt.fraction."""
    down, up = attempt.down, attempt.up
    with down:
        scale = mpfr(steps) * (1 << attempt.fraction)
        least = -up.log(gmpy2.div_2exp(mpfr(cell + 1), bits))
        most = -down.log(gmpy2.div_2exp(mpfr(cell), bits))
        return int(gmpy2.floor(down.mul(scale, least))), int(gmpy2.ceil(up.mul(scale, most)))


class Attempt:
    """One try to decide a lane: how many words were appended, and contexts to match.

    Cells have at most 64 bits and the appended ones, so they, negation and doubling are exact at
    this precision under either rounding; only what goes through ``down`` and ``up`` is rounded.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.fraction = 192 + WORD_BITS * number
        bits = 300 + WORD_BITS * number
        self.down = gmpy2.context(precision=bits, round=gmpy2.RoundDown)
        self.up = gmpy2.context(precision=bits, round=gmpy2.RoundUp)


FIRST_ATTEMPT = Attempt(0)


def _attempts() -> Iterator[Attempt]:
    yield FIRST_ATTEMPT
    yield from map(Attempt, itertools.count(1))


def _decided(position: GridPosition | DiscreteOffset, low: int, high: int, fraction: int) -> int | None:
    """The integer that all of position + [low, high] rounds to, if there is one.

    Boundaries have measure 0: an interval may touch them.
    """
    start_low, start_high = _enclose_position(position, fraction)
    half = 1 << (fraction - 1)
    k_low = (start_low + low + half) >> fraction
    k_high = -((half - start_high - high) >> fraction)
    return k_low if k_low == k_high else None


# ---------------------------------------------------------------------------------------------
# Gaussian: Box-Muller


def _gaussian_integers(
    positions: list[GridPosition],
    radius_word: int,
    angle_word: int,
    steps: float,
    lane: int,
    extension: Extension,
) -> list[int]:
    """The integers of a pair: cosine sample, then sine sample if there is one."""
    if 1 << 11 <= radius_word >> 13 <= (1 << 51) - (1 << 27):
        middle = _gaussian_by_middle(positions, radius_word, angle_word, steps)
    else:
        middle = [None] * len(positions)
    if None not in middle:
        return middle
    return _gaussian_by_enclosure(positions, radius_word, angle_word, steps, lane, extension)


def split_angle(angle_word: int) -> tuple[int, int]:
    """Quadrant q and cell t: f in [t, t+1] * 2^-49, angle (pi/2)(q + f)."""
    t = angle_word >> 13 & ((1 << 49) - 1)
    return angle_word >> 62, t - (1 << 49) if t >> 48 else t


# Quadrant -> (cos, sin) of the whole angle out of (cos, sin) of its fraction: index and sign.
_QUADRANTS = (((0, 1), (1, 1)), ((1, -1), (0, 1)), ((0, -1), (1, -1)), ((1, 1), (0, -1)))


def _gaussian_by_middle(
    positions: list[GridPosition], radius_word: int, angle_word: int, steps: float
) -> list[int | None]:
    quadrant, t = split_angle(angle_word)
    with gmpy2.context(precision=_MIDDLE_BITS):
        u = gmpy2.div_2exp(mpfr(2 * (radius_word >> 13) + 1), 52)
        radius = gmpy2.sqrt(-2 * gmpy2.log(u))
        sine, cosine = gmpy2.sin_cos(gmpy2.const_pi() * gmpy2.div_2exp(mpfr(2 * t + 1), 51))
        units = radius * steps * _MIDDLE_ONE
        noise = [int(sign * units * (cosine, sine)[index]) for index, sign in _QUADRANTS[quadrant]]
    # Half a cell of u is 2^-52, the slope of the radius 1/(u radius); half a cell of f turns the
    # angle by (pi/2) 2^-50. The slack is over 5/4 times that, which covers curvature and rounding.
    spread = (1 / (float(u) * float(radius)) + 4 * float(radius)) * 2.0**-51
    slack = int(spread * steps * _MIDDLE_ONE) + _MIDDLE_TRUNCATION
    half, mask = _MIDDLE_ONE >> 1, _MIDDLE_ONE - 1
    ks: list[int | None] = []
    for position, offset in zip(positions, noise, strict=False):
        shifted = _enclose_position(position, _MIDDLE_FRACTION)[0] + offset + half
        certain = slack < (shifted & mask) < _MIDDLE_ONE - slack
        ks.append(shifted >> _MIDDLE_FRACTION if certain else None)
    return ks


def _gaussian_by_enclosure(
    positions: list[GridPosition],
    radius_word: int,
    angle_word: int,
    steps: float,
    lane: int,
    extension: Extension,
) -> list[int]:
    quadrant, angle_cell = split_angle(angle_word)
    radius_cell, radius_bits, angle_bits = radius_word >> 13, 51, 49
    ks: list[int | None] = [None] * len(positions)
    for attempt in _attempts():
        if radius_cell:
            cells = (radius_cell, radius_bits, angle_cell, angle_bits)
            noise = gaussian_enclosure(*cells, quadrant, steps, attempt)
            for i, position in enumerate(positions):
                if ks[i] is None:
                    ks[i] = _decided(position, *noise[i], attempt.fraction)
        if None not in ks:
            return ks
        j = 2 * attempt.number
        radius_cell, radius_bits = radius_cell * WORD + extension(lane, j), radius_bits + WORD_BITS
        angle_cell, angle_bits = angle_cell * WORD + extension(lane, j + 1), angle_bits + WORD_BITS
    raise AssertionError("unreachable")


def gaussian_enclosure(
    radius_cell: int,
    radius_bits: int,
    angle_cell: int,
    angle_bits: int,
    quadrant: int,
    steps: float,
    attempt: Attempt,
) -> list[tuple[int, int]]:
    """R cos and R sin of a pair over its cells, in units of 2^-attempt.fraction."""
    down, up = attempt.down, attempt.up
    with down:
        scale = mpfr(steps) * (1 << attempt.fraction)
        least = down.sqrt(-2 * up.log(gmpy2.div_2exp(mpfr(radius_cell + 1), radius_bits)))
        most = up.sqrt(-2 * down.log(gmpy2.div_2exp(mpfr(radius_cell), radius_bits)))
        radius = down.mul(least, scale), up.mul(most, scale)

        first = _angle(angle_cell, angle_bits, attempt)
        last = _angle(angle_cell + 1, angle_bits, attempt)
        sine = down.sin(first[0]), up.sin(last[1])
        # The cosine rises up to f = 0 and falls from there.
        least, most = (first[0], last[1]) if angle_cell < 0 else (last[1], first[0])
        cosine = down.cos(least), up.cos(most)

        pair = []
        for index, sign in _QUADRANTS[quadrant]:
            low, high = (cosine, sine)[index]
            low, high = (low, high) if sign > 0 else (-high, -low)
            # The radius is positive: a negative low end is lowest at the longer radius.
            lowest = down.mul(low, radius[low < 0])
            highest = up.mul(high, radius[high > 0])
            pair.append((int(gmpy2.floor(lowest)), int(gmpy2.ceil(highest))))
        return pair


def _angle(t: int, bits: int, attempt: Attempt) -> tuple[mpfr, mpfr]:
    """(pi/2) t 2^-bits from below and from above; exactly 0 for t = 0."""
    down, up = attempt.down, attempt.up
    half_t = gmpy2.div_2exp(mpfr(t), bits + 1)
    pi = down.const_pi(), up.const_pi()
    return down.mul(half_t, pi[t < 0]), up.mul(half_t, pi[t >= 0])


# ---------------------------------------------------------------------------------------------


def _shifted(value: int, places: int) -> int:
    """floor(value * 2^places)."""
    return value << places if places >= 0 else value >> -places
