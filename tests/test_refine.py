"""Refinement decides every lane as if with infinitely many bits, at any depth, in any thread."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import numpy as np
import oracle
import pytest
from gmpy2 import mpfr
from hypothesis import given, settings
from hypothesis import strategies as st
from support import (
    assert_exact,
    expected,
    extension,
    fraction,
    in_steps,
    pending_of,
    precise,
    random_words,
    real,
    with_scale,
    word_count,
)

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise._native import BLOCK, simd_available
from exactnoise._refine import (
    discrete_offset,
    fresh_extension,
    gaussian_epsilon,
    gaussian_sigma,
    refine,
)
from exactnoise._refine.directed import Directed
from exactnoise._refine.noise import DiscreteLaplaceNoise, GaussianNoise, LaplaceNoise
from exactnoise.testing import ambiguous_lanes, release_from_words

STEPS = [2.0**-30, 0.3, 1.0, 1000.3, 2.0**20, 1.3 * 2.0**30, 2.0**36]
BITS = 500
HALF = Fraction(1, 2)
ZERO, ONES = 0, 2**64 - 1


# Enclosures

ROUNDING = Fraction(1, 2 ** (BITS - 20))


def enclosure(noise: object, precision: int) -> tuple[Fraction, Fraction] | None:
    low, high = noise.enclosure(Directed(precision))
    if not (gmpy2.is_finite(low) and gmpy2.is_finite(high)):
        return None
    return fraction(low), fraction(high)


def assert_encloses(noise, value_at, draw) -> None:
    """The enclosure holds the noise at any point of the cells, ends included, and shrinks as bits are appended."""
    enclosures = []
    for precision in (128, 192, 256):
        points = [[Fraction(draw(2**32), 2**32 - 1) for _ in noise.cells] for _ in range(3)]
        points += itertools.product((Fraction(0), Fraction(1)), repeat=len(noise.cells))
        held = enclosure(noise, precision)
        if held is not None:
            low, high = held
            assert low <= high
            enclosures.append(held)
            for point in points:
                cells = [(cell.index + t) / 2**cell.bits for cell, t in zip(noise.cells, point, strict=True)]
                value = value_at(*cells)
                slack = abs(value) * ROUNDING
                assert low - slack <= value <= high + slack
        for cell in noise.cells:
            cell.append(draw(2**64))
    assert_nested(enclosures)


def assert_nested(enclosures: list[tuple[Fraction, Fraction]]) -> None:
    for (low, high), (inner_low, inner_high) in itertools.pairwise(enclosures):
        assert low <= inner_low <= inner_high <= high
        assert inner_high - inner_low <= (high - low) / 2**55


small_words, large_words = st.integers(0, 2**16).map(lambda w: w << 14), st.integers(0, 2**30).map(lambda d: ONES - d)
words = st.integers(0, 2**64 - 1) | small_words | large_words
steps = st.sampled_from(STEPS) | st.floats(2.0**-30, 2.0**36)
seeds = st.integers(0, 2**32)


def drawing(seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    return lambda limit: int(generator.integers(0, limit, dtype=np.uint64, endpoint=False) if limit < 2**64
                             else generator.bit_generator.random_raw())  # fmt: skip


@settings(deadline=None)
@given(steps, words, seeds)
def test_laplace_enclosure(s, word, seed):
    noise = LaplaceNoise(s, word)
    sign = -1 if noise.negative else 1
    if noise.cells[0].index:
        assert_encloses(noise, lambda u: sign * precise(lambda: -gmpy2.log(real(u)) * mpfr(s)), drawing(seed))


@settings(deadline=None)
@given(steps, words, seeds)
def test_discrete_laplace_enclosure(s, word, seed):
    def value_at(u):
        def value():
            centre = mpfr(s) * gmpy2.log(2 / (1 + gmpy2.exp(-1 / mpfr(s))))
            return centre - mpfr(0.5) - mpfr(s) * gmpy2.log(real(u))

        return precise(value, 2 * BITS)

    noise = DiscreteLaplaceNoise(s, word)
    if noise.cells[0].index:
        assert_encloses(noise, value_at, drawing(seed))


@settings(deadline=None)
@given(steps, words, words, seeds, st.booleans())
def test_gaussian_enclosure(s, word1, word2, seed, sine):
    noise = GaussianNoise(s, word1, word2, sine=sine)
    quadrant = noise.quadrant

    def value_at(u, f):
        def value():
            radius = mpfr(s) * gmpy2.sqrt(-2 * gmpy2.log(real(u))) if u != 1 else mpfr(0)
            angle = gmpy2.const_pi() / 2 * real(quadrant + f)
            return radius * (gmpy2.sin(angle) if sine else gmpy2.cos(angle))

        return precise(value, 2 * BITS)

    if noise.cells[0].index:
        assert -HALF <= Fraction(noise.cells[1].index, 2 ** noise.cells[1].bits) < HALF
        assert_encloses(noise, value_at, drawing(seed))


def test_control_words_drawn_again_are_not_inside():
    """Noise of other first words, as narrow as the refined one would be."""
    for word in random_words(12, 50).tolist():
        again = LaplaceNoise(1.0, word ^ 1 << 40)
        again.cells[0].append(ZERO)
        with pytest.raises(AssertionError):
            assert_nested([enclosure(LaplaceNoise(1.0, word), 128), enclosure(again, 192)])


@pytest.mark.parametrize("sine", [False, True])
@pytest.mark.parametrize("quadrant", range(4))
def test_directions_are_rounded_outwards(quadrant, sine):
    """Cosine and sine at the very ends of a cell, where one operation rounded the wrong way would show."""
    function = gmpy2.sin if sine else gmpy2.cos
    for word in (random_words(quadrant, 200) >> np.uint64(2)).tolist():
        noise = GaussianNoise(1.0, 1 << 40, quadrant << 62 | word, sine=sine)
        low, high = map(fraction, noise._direction(Directed(64)))
        cell = noise.cells[1]
        for end in (cell.index, cell.index + 1):
            angle = quadrant + Fraction(end, 2**cell.bits)
            value = precise(lambda angle=angle: function(gmpy2.const_pi() / 2 * real(angle)))
            assert low <= value + ROUNDING
            assert value - ROUNDING <= high


@pytest.mark.parametrize("s", STEPS)
def test_a_cell_that_touches_zero_has_no_upper_end(s):
    laplace = LaplaceNoise(s, ZERO)
    low, high = laplace.enclosure(Directed(128))
    assert gmpy2.is_infinite(high)
    assert low >= 30 * s
    assert gmpy2.is_infinite(DiscreteLaplaceNoise(s, ZERO).enclosure(Directed(128))[1])
    for sine, angle in itertools.product((False, True), (0, 1 << 62, 2**63, 3 << 62, ONES)):
        low, high = GaussianNoise(s, ZERO, angle, sine=sine).enclosure(Directed(128))
        assert gmpy2.is_infinite(low)
        assert gmpy2.is_infinite(high)


# Whole lanes, without the fast path


def refined(mechanism, x: np.ndarray, words: np.ndarray, extension=extension) -> np.ndarray:
    form = mechanism._form(x.dtype.kind == "i", x.dtype == np.float32)
    out = np.zeros(x.size, {"float64": "f8", "float32": "f4", "int64": "i8", "int64-float64": "f8"}[form])
    for index, value in refine(mechanism._ideal(), form, pending_of(mechanism, x, words), extension):
        out[index] = value
    return out


def assert_refined(mechanism, x, words, extension=extension, nan=0.0):
    want = expected(mechanism, x, words, extension, nan)
    got = refined(mechanism, x, words, extension)
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("s", STEPS)
@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace])
def test_lanes_agree_with_the_oracle(kind, s):
    lanes = 301
    rng = np.random.Generator(np.random.PCG64(3))
    words = random_words(int(s * 2**31) % 1000, word_count(kind, lanes))
    wide = rng.integers(-(2**62), 2**62, lanes) >> rng.integers(0, 62, lanes)
    if kind is DiscreteLaplace:
        assert_refined(in_steps(kind, s), wide, words)
        return
    for granularity in (2.0**-20, 1.0, 2.0**3):
        mechanism = in_steps(kind, s, granularity)
        assert_refined(mechanism, wide, words)
        assert_refined(mechanism, wide * 2.0**-40, words)
        assert_refined(mechanism, (wide * 2.0**-40).astype("f4"), words)


INF, NAN = math.inf, math.nan
SPECIAL = np.array([0, -0.0, 0.5, -0.5, 1.5, 5e-324, -5e-324, 1e300, -1e300, INF, -INF, NAN, 2.0**53 + 2])


@pytest.mark.parametrize("granularity", [2.0**-1050, 2.0**-1000, 2.0**-149, 2.0**-20, 1.0, 2.0**62, 2.0**100, 2.0**980])
@pytest.mark.parametrize("nan", [0.0, -3.5, 1e308])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_special_data_agrees_with_the_oracle(kind, nan, granularity):
    mechanism = with_scale(kind, granularity * 2.0**30 * 1.25, granularity, nan)
    words = random_words(8, word_count(kind, SPECIAL.size))
    assert_refined(mechanism, SPECIAL, words, nan=nan)
    if 2.0**-149 <= granularity <= 2.0**127:
        with np.errstate(over="ignore"):
            narrow = SPECIAL.astype("f4")
        assert_refined(mechanism, narrow, words, nan=nan)
    if granularity <= 2.0**62:
        integers = np.array([0, 1, -1, 2**53 + 1, -(2**63), 2**63 - 1, 2**62] + 6 * [7])
        assert_refined(mechanism, integers, words)


# Any depth: extension words under which the cell holds a boundary again and again

WORD = 1 << 64


class Target:
    """Words for which noise of `s` steps lies exactly at `distance`, and the digits that follow them.

    The digits are the noise's uniform variable in base 2^64, so that every further cell holds that point.
    """

    def __init__(self, kind, s: float, distance: Fraction, depth: int, rng: np.random.Generator) -> None:
        self.kind = kind
        digits = 64 * (depth + 3)
        if kind is Gaussian:
            # Any angle but with a cosine of the right sign and no small one; then the radius that it needs.
            quadrant = 0 if distance > 0 else 2
            self.angle = rng.bit_generator.random_raw(depth + 3).tolist()
            cell = int(rng.integers(-(2**47), 2**47))
            self.second = quadrant << 62 | (cell & (2**49 - 1)) << 13
            f = Fraction(cell) + sum(Fraction(digit, WORD ** (j + 1)) for j, digit in enumerate(self.angle))
            f /= 2**49

            def uniform():
                cosine = gmpy2.cos(gmpy2.const_pi() / 2 * real(quadrant + f))
                return gmpy2.exp(-((real(distance) / mpfr(s) / cosine) ** 2) / 2)

            bits, shift, sign = 51, 13, 0
        elif kind is Laplace:

            def uniform():
                return gmpy2.exp(-real(abs(distance)) / mpfr(s))

            bits, shift, sign = 50, 14, int(distance < 0)
        else:

            def uniform():
                centre = mpfr(s) * gmpy2.log(2 / (1 + gmpy2.exp(-1 / mpfr(s))))
                return gmpy2.exp((centre - mpfr(0.5) - real(abs(distance))) / mpfr(s))

            bits, shift, sign = 50, 14, int(distance < 0)
        whole = math.floor(precise(uniform, bits + digits + 200) * 2 ** (bits + digits))
        self.first = whole >> digits << shift | (sign << 13 if kind is not Gaussian else 0)
        self.digits = [whole >> (digits - 64 * (j + 1)) & ONES for j in range(depth + 2)]

    def extension(self, depth: int, *, larger: bool) -> Callable[[int, int], int]:
        """Follow the point for `depth` words, then turn away: to larger or smaller uniform variables."""
        calls: list[tuple[int, int]] = []

        def extension(lane: int, j: int) -> int:
            calls.append((lane, j))
            if self.kind is Gaussian and j % 2:
                return self.angle[min(j // 2, len(self.angle) - 1)]
            j //= 2 if self.kind is Gaussian else 1
            assert j <= depth, "asked for more words than it takes"
            if j < depth:
                return self.digits[j]
            return (self.digits[j] + ONES) // 2 if larger else self.digits[j] // 2

        extension.calls = calls
        return extension


@pytest.mark.parametrize("depth", [0, 1, 2, 10, 40])
@pytest.mark.parametrize("s", [0.3, 1000.3, 2.0**20, 2.0**36])
@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace])
def test_a_lane_that_needs_many_words(kind, s, depth):
    rng = np.random.Generator(np.random.PCG64([depth, int(s)]))
    mechanism = in_steps(kind, s)
    for sign in (1, -1):
        boundary = (Fraction(math.floor(s * 1.5)) + HALF) * sign
        # The discrete noise c - 1/2 - s ln U is rounded by itself.
        lanes = np.zeros(1, dtype="i8") if kind is DiscreteLaplace else rng.uniform(-0.25, 0.25, 1)
        distance = boundary - Fraction(lanes[0].item())
        target = Target(kind, s, distance, depth, rng)
        given = [target.first] + ([target.second] if kind is Gaussian else [])
        words = np.array(given, dtype=np.uint64)
        for larger in (False, True):
            # A larger U means noise of smaller magnitude.
            magnitude = math.floor(abs(boundary)) + (not larger)
            k = sign * magnitude
            for simd in simd_available():
                words_asked = target.extension(depth, larger=larger)
                y = release_from_words(mechanism, lanes, words, extension=words_asked, simd=simd)
                assert y[0] == k
                per_word = 2 if kind is Gaussian else 1
                # Settling asks for the first ones too.
                assert list(dict.fromkeys(words_asked.calls)) == [(0, j) for j in range(per_word * (depth + 1))]
            assert expected(mechanism, lanes, words, target.extension(depth, larger=larger))[0] == k


@pytest.mark.parametrize("zeros", [0, 1, 5, 30])
@pytest.mark.parametrize("s", [2.0**-30, 1.0, 2.0**36])
@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace])
def test_words_of_zeros(kind, s, zeros):
    """No smallest uniform variable: zeros only make the noise larger, and nothing infinite is ever rounded."""
    mechanism = in_steps(kind, s)
    x = np.zeros(3, dtype="i8" if kind is DiscreteLaplace else "f8")

    def zeros_first(lane, j):
        word = j // 2 if kind is Gaussian else j
        return ZERO if word < zeros else extension(lane, j)

    words = np.zeros(word_count(kind, 3), dtype=np.uint64)
    words[1:] = random_words(4, words.size - 1)
    assert_refined(mechanism, x, words, zeros_first)
    assert_exact(mechanism, x, words, zeros_first)
    magnitude = abs(float(refined(mechanism, x, words, zeros_first)[0]))
    lost = (50 + 64 * zeros) * math.log(2)
    if kind is not Gaussian:
        assert s * lost - 1 <= magnitude <= s * (lost + 40) + 1


def test_words_of_ones():
    for kind in (Laplace, Gaussian, DiscreteLaplace):
        for s in STEPS:
            mechanism = in_steps(kind, s)
            x = np.zeros(4, dtype="i8" if kind is DiscreteLaplace else "f8")
            words = np.full(4, ONES, dtype=np.uint64)
            assert_refined(mechanism, x, words, lambda lane, j: ONES if j < 20 else extension(lane, j))


# Both samples of a pair


def test_a_pair_shares_its_words():
    """Both samples near a boundary: the same words are asked for under the cosine sample's name, from the first on."""
    s, samples = 2.0**20, 2 * BLOCK
    mechanism = in_steps(Gaussian, s)
    words = random_words(11, samples)
    x = np.zeros(samples)
    chosen = [pair for pair in oracle.gaussian_pairs(samples, BLOCK) if pair.cosine_lane % 23 == 0]
    for pair in chosen:
        quadrant, cell = oracle.split_angle(int(words[pair.angle_word]))
        noise = GaussianNoise(s, int(words[pair.radius_word]), int(words[pair.angle_word]), sine=False)
        u = Fraction(2 * noise.cells[0].index + 1, 2 ** (noise.cells[0].bits + 1))
        f = Fraction(2 * cell + 1, 2 ** (noise.cells[1].bits + 1))
        radius = precise(lambda u=u: mpfr(s) * gmpy2.sqrt(-2 * gmpy2.log(real(u))))
        for lane, function in ((pair.cosine_lane, gmpy2.cos), (pair.sine_lane, gmpy2.sin)):
            z = radius * precise(lambda a=quadrant + f, function=function: function(gmpy2.const_pi() / 2 * real(a)))
            x[lane] = float(math.floor(z) + HALF - z)  # x + z is a half-integer, but for the rounding of x
    calls: list[tuple[int, int]] = []

    def recorded(lane, j):
        calls.append((lane, j))
        return extension(lane, j)

    y = release_from_words(mechanism, x, words, extension=recorded)
    np.testing.assert_array_equal(y, expected(mechanism, x, words))
    declined = set(ambiguous_lanes(mechanism, x, words).tolist())
    both = [pair for pair in chosen if {pair.cosine_lane, pair.sine_lane} <= declined]
    assert len(both) == len(chosen) > 20
    assert {lane for lane, _ in calls} <= {pair.cosine_lane for pair in oracle.gaussian_pairs(samples, BLOCK)}
    for pair in both:
        asked = [j for lane, j in calls if lane == pair.cosine_lane]
        assert set(asked) >= {0, 1}
        assert asked[0] == 0
        assert all(later == earlier + 1 or later == 0 for earlier, later in itertools.pairwise(asked))
    # Other words for one sample than for the other change results: the recorded words are what decides.
    flipped = release_from_words(mechanism, x, words, extension=lambda lane, j: extension(lane, j) ^ ONES)
    assert np.any(flipped != y)


def test_fresh_words_are_remembered():
    ask = fresh_extension()
    first = {(lane, j): ask(lane, j) for lane in range(20) for j in range(20)}
    assert len(set(first.values())) == 400
    assert all(0 <= word < WORD for word in first.values())
    assert {key: ask(*key) for key in reversed(first)} == first
    other = fresh_extension()
    assert all(other(*key) != word for key, word in first.items())
    assert max(first.values()) >> 60 == 15
    assert min(first.values()) >> 60 == 0


# Threads, and callers who use gmpy2 themselves


def hostile_context(i: int) -> gmpy2.context:
    """Contexts in which nearly every operation would be wrong or raise."""
    roundings = [gmpy2.RoundUp, gmpy2.RoundDown, gmpy2.RoundToZero, gmpy2.RoundToNearest]
    traps = {f"trap_{name}": True for name in ("inexact", "underflow", "overflow", "invalid", "divzero", "erange")}
    return gmpy2.context(precision=2 + i, round=roundings[i % 4], emax=10, emin=-10, subnormalize=bool(i % 2), **traps)


CALCULATIONS = {
    "laplace": lambda: refined(in_steps(Laplace, 1000.3), np.linspace(-3, 3, 40), random_words(1, 40)).tolist(),
    "gaussian": lambda: refined(in_steps(Gaussian, 1000.3), np.linspace(-3, 3, 40), random_words(2, 40)).tolist(),
    "discrete": lambda: refined(in_steps(DiscreteLaplace, 1000.3), np.arange(40), random_words(3, 40)).tolist(),
    "zeros": lambda: refined(in_steps(Gaussian, 1.5), np.zeros(4), np.zeros(4, dtype=np.uint64)).tolist(),
    "offset": lambda: [discrete_offset(s) for s in (2.0**-30, 0.1, 1.0, 7.3, 2.0**36)],
    "sigma": lambda: gaussian_sigma(Fraction(1), Fraction(1, 10**6), Fraction(3)),
    "epsilon": lambda: gaussian_epsilon(5.0, Fraction(1, 10**6), Fraction(3)),
    "constructor": lambda: [DiscreteLaplace(sensitivity=1, scale="7.7"), DiscreteLaplace(sensitivity=3, epsilon=1).rho],
}


def test_the_current_context_does_not_matter():
    plain = {name: calculate() for name, calculate in CALCULATIONS.items()}
    for i in range(8):
        with hostile_context(i):
            before = str(gmpy2.get_context())
            assert {name: calculate() for name, calculate in CALCULATIONS.items()} == plain
            assert str(gmpy2.get_context()) == before


def test_a_calculation_in_the_callers_context_would_be_seen():
    for i in range(8):
        with hostile_context(i), pytest.raises(gmpy2.InexactResultError):
            gmpy2.log(3)


def test_threads():
    """Eight threads refine at once, each under a context of its own."""
    plain = {name: calculate() for name, calculate in CALCULATIONS.items()}
    wrong: list[object] = []
    together = threading.Barrier(8)

    def run(i):
        try:
            gmpy2.set_context(hostile_context(i))
            together.wait(20)
            for _ in range(3):
                for name, calculate in CALCULATIONS.items():
                    if calculate() != plain[name]:
                        wrong.append((i, name))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
