"""The oracle against plain evaluations of its definitions, without the engine."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import oracle
import pytest
from oracle import FIRST_ATTEMPT, Grid

STEPS = [2.0**-30, 0.3, 1.0, 1e6 + 0.1, 2.0**36]


def _words(seed: int, count: int) -> np.ndarray:
    return np.random.PCG64(seed).random_raw(count)


def _extension(lane: int, j: int) -> int:
    return int(_words(1000 * lane + j, 1)[0])


def _to_the_middle(lane: int, j: int) -> int:
    """Extension words that shrink a cell (of either word of a pair) to its middle."""
    return 2**63 if j < 2 else 0


def _middle_noise(words: np.ndarray, steps: float) -> list[Fraction]:
    """Laplace noise in steps at the middle of each cell, at 1000 bits: 50 bits of U, then the sign."""
    noise = []
    with gmpy2.context(precision=1000):
        for word in words.tolist():
            u = (gmpy2.mpfr(word // 2**14) + 0.5) / 2**50
            noise.append(Fraction(gmpy2.mpq(gmpy2.log(u) * (steps if _negative(word) else -steps))))
    return noise


def _negative(word: int) -> bool:
    return word // 2**13 % 2 == 1


@pytest.mark.parametrize("steps", STEPS)
def test_laplace_is_the_rounded_sum(steps: float) -> None:
    words = _words(1, 3000)
    x = np.random.Generator(np.random.PCG64(2)).normal(0, 3, words.size)
    got = oracle.laplace(x, words, scale=steps, granularity=1.0, extension=_to_the_middle)
    want = [math.floor(Fraction(v) + z + Fraction(1, 2)) for v, z in zip(x, _middle_noise(words, steps), strict=True)]
    assert got.tolist() == want


@pytest.mark.parametrize("steps", STEPS)
def test_discrete_laplace_is_the_floor(steps: float) -> None:
    words = _words(3, 3000)
    got = list(oracle.discrete_laplace_noise(words, scale=steps, extension=_to_the_middle))
    with gmpy2.context(precision=1000):
        s = gmpy2.mpfr(steps)
        c = Fraction(gmpy2.mpq(s * gmpy2.log(2 / (1 + gmpy2.exp(-1 / s)))))
    magnitudes = [math.floor(c + abs(z)) for z in _middle_noise(words, steps)]
    assert got == [-k if _negative(w) else k for w, k in zip(words.tolist(), magnitudes, strict=True)]


@pytest.mark.parametrize("samples", [1, 2, 7, 16, 17, 40])
@pytest.mark.parametrize("steps", STEPS)
def test_gaussian_is_box_muller(steps: float, samples: int) -> None:
    """Sample p of a block of m takes words p and h+p, h = ceil(m/2); sample h+p the sine."""
    block = 16
    words = _words(samples, samples + (samples & 1))
    x = np.linspace(-2, 2, samples)
    got = oracle.gaussian(x, words, scale=steps, granularity=1.0, block=block, extension=_to_the_middle)
    for start in range(0, samples, block):
        m = min(block, samples - start)
        h = -(-m // 2)
        for p in range(m):
            w1, w2 = (int(words[start + i]) for i in (p % h, h + p % h))
            with gmpy2.context(precision=500):
                radius = steps * gmpy2.sqrt(-2 * gmpy2.log((w1 // 2**13 + gmpy2.mpfr("0.5")) / 2**51))
                # Two bits of quadrant, 49 of fraction: a fraction of 1/2 and above belongs to f - 1.
                quadrant, fraction = divmod(w2 // 2**13, 2**49)
                f = (fraction + gmpy2.mpfr("0.5")) / 2**49 - (fraction >= 2**48)
                angle = gmpy2.const_pi() / 2 * (quadrant + f)
                part = gmpy2.cos(angle) if p < h else gmpy2.sin(angle)
                position = Fraction(x[start + p]) + Fraction(gmpy2.mpq(radius * part))
            assert got[start + p] == math.floor(position + Fraction(1, 2))


@pytest.mark.parametrize("steps", STEPS)
def test_quick_way_agrees_with_enclosure(steps: float) -> None:
    words = _words(5, 500).tolist()
    position = (3, -3)
    quick = oracle._laplace_integers([position] * 500, words, steps, _extension)
    slow = [oracle._laplace_by_enclosure(position, w, steps, lane, _extension) for lane, w in enumerate(words)]
    assert quick == slow
    for w1, w2 in zip(words[:250], words[250:], strict=True):
        pair = oracle._gaussian_by_middle([position] * 2, w1, w2, steps)
        enclosed = oracle._gaussian_by_enclosure([position] * 2, w1, w2, steps, 0, _extension)
        assert all(k in (None, want) for k, want in zip(pair, enclosed, strict=True))


@pytest.mark.parametrize("word", [2, 3, 2**40, 2**64 - 1, 2**64 - 2, 2**63 + 12345])
def test_enclosure_shrinks_inside_the_first_cell(word: int) -> None:
    cell, bits, first = word >> 1, 63, oracle.laplace_enclosure(word >> 1, 63, 1e6, FIRST_ATTEMPT)
    for number in range(1, 4):
        cell, bits = cell * 2**64 + _extension(word, number), bits + 64
        attempt = oracle.Attempt(number)
        low, high = oracle.laplace_enclosure(cell, bits, 1e6, attempt)
        shift = attempt.fraction - FIRST_ATTEMPT.fraction
        assert first[0] << shift <= low < high <= first[1] << shift


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-1074, -160, -149, -140, -20, 0, 5, 100, 971, 1000])
def test_values_are_rounded_once(dtype: type, exponent: int) -> None:
    grid = Grid(math.ldexp(1.0, exponent), np.dtype(dtype))
    limits = np.finfo(dtype)
    rng = np.random.Generator(np.random.PCG64(exponent + 2000))
    ks = [int(k) << int(s) for k, s in zip(rng.integers(-(2**62), 2**62, 300), rng.integers(0, 60, 300), strict=True)]
    ks += [k >> 61 for k in ks] + [2**24 + 1, 2**24 + 3, 2**53 + 1, 2**53 + 3, 3, -3, 0]
    largest = Fraction(float(limits.max)) // Fraction(2) ** exponent
    for k, y in zip(ks, grid.values(ks).tolist(), strict=True):
        exact = Fraction(min(max(k, -largest), largest)) * Fraction(2) ** exponent
        even = dtype(y).view(f"u{dtype().itemsize}") % 2 == 0
        for end in (-limits.max, limits.max):
            other = Fraction(float(np.nextafter(dtype(y), end)))
            difference = abs(other - exact) - abs(Fraction(y) - exact)
            assert difference > 0 or (difference == 0 and even) or other == y
        assert math.copysign(1.0, y) == (1.0 if y == 0 else math.copysign(1.0, k))


def test_positions_are_exact() -> None:
    x = np.array([0.1, -5e-324, 1.7e308, 0.0, -0.0, 3.0])
    for exponent in (-1074, -20, 0, 1000):
        grid = Grid(math.ldexp(1.0, exponent), x.dtype)
        for value, (mantissa, power) in zip(x.tolist(), grid.positions(x, 0.0), strict=True):
            assert mantissa * Fraction(2) ** power == Fraction(value) / Fraction(2) ** exponent


def test_integers_saturate_at_multiples() -> None:
    for step, low, high in [(0, -(2**63), 2**63 - 1), (3, -(2**63), 2**63 - 8), (63, -(2**63), 0)]:
        grid = Grid(2.0**step, np.dtype(np.int64))
        assert grid.values([-(2**70), 2**70]).tolist() == [low, high]
