"""Lanes aimed at the boundaries, where an error of the fast path would show.

A random lane comes within the certified window w of a boundary with a probability of about 2^-25,
so random words alone have no power. Here x (or, for the discrete Laplace, the word) is chosen so
that x/g + Z/g lies a distance d from a half-integer, |d| log-uniform in [w/2^13, 2w].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import gmpy2
import numpy as np
import oracle
import pytest
from support import (
    Mechanism,
    assert_exact,
    expected,
    extension,
    in_steps,
    wrong_lanes,
)

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise._native import BLOCK, simd_available
from exactnoise._refine import fresh_extension
from exactnoise.testing import ambiguous_lanes, release_from_words, window

GRANULARITY = 2.0**-20
STEPS = [2.0**-30, 1.1 * 2.0**-10, 0.3, 1.0, 1000.3, 2.0**20, 1.9 * 2.0**19, 1.3 * 2.0**30, 2.0**36]
CASES = [(kind, s) for kind in (Laplace, Gaussian, DiscreteLaplace) for s in STEPS]
# The noise of a discrete Laplace of a tiny scale never reaches its first boundary.
CASES = [(kind, s) for kind, s in CASES if kind is not DiscreteLaplace or s > 0.1]
FEW_CASES = [(kind, s) for kind, s in CASES if s in (2.0**-30, 1.0, 2.0**20, 2.0**36)]
FEW_LANES = 600
LANES = [pytest.param(1600, id="1.6e3"), pytest.param(10**5, id="1e5", marks=pytest.mark.slow)]

ONE = 1 << oracle.FIRST_ATTEMPT.fraction
HALF = ONE >> 1

Targets = tuple[Mechanism, np.ndarray, np.ndarray]  # mechanism, x, words


@cache
def targets(kind: type[Mechanism], steps: float, lanes: int, reach: tuple[float, float] = (-13, 1)) -> Targets:
    """Lanes whose distance from a boundary is w times 2 to a power in ``reach``."""
    rng = np.random.Generator(np.random.PCG64([lanes, int(steps * 2**31)]))
    if kind is DiscreteLaplace:
        return _discrete_targets(steps, lanes, rng, reach)
    mechanism = in_steps(kind, steps, GRANULARITY)
    if kind is Gaussian:
        words, noise = _gaussian_words(rng, steps, lanes)
    else:
        words, noise = _laplace_words(rng, steps, lanes)
    distances = _distances(rng, window(mechanism, words), reach)
    positions = [_position(z, d) for z, d in zip(noise, distances, strict=True)]
    return mechanism, np.array(positions) * GRANULARITY, words


def _distances(rng: np.random.Generator, window: np.ndarray, reach: tuple[float, float]) -> np.ndarray:
    """Signed; a lane whose window is over an eighth of a step is hardly ever accepted."""
    signs = rng.choice([-1.0, 1.0], window.size)
    return signs * np.minimum(window, 1 / 8) * np.exp2(rng.uniform(*reach, window.size))


def _position(noise: int, distance: float) -> float:
    """The double r, |r| <= 1/2, for which r + noise is nearest to a half-integer + distance."""
    r = (HALF + int(distance * ONE) - noise + HALF) % ONE - HALF
    return r / ONE


def _of_any_magnitude(rng: np.random.Generator, bits: int, count: int) -> np.ndarray:
    """Integers of ``bits`` bits: a third uniform, a third near 0, a third near the top.

    Near means that the logarithm of the distance is uniform.
    """
    length = rng.integers(1, bits + 1, count).astype(np.uint64)
    raw = rng.integers(0, 2**64, count, dtype=np.uint64)
    uniform = raw >> np.uint64(64 - bits)
    small = (raw | np.uint64(2**63)) >> (np.uint64(64) - length)
    top = np.uint64(2**bits - 1)
    return np.choose(rng.integers(0, 3, count), [uniform, small, top - small + np.uint64(1)])


def _laplace_words(rng: np.random.Generator, steps: float, lanes: int) -> tuple[np.ndarray, list[int]]:
    words = np.maximum(_of_any_magnitude(rng, 50, lanes), np.uint64(1)) << np.uint64(14)
    words |= rng.integers(0, 2**14, lanes, dtype=np.uint64)
    noise = []
    for word in words.tolist():
        low, high = oracle.laplace_enclosure(word >> 14, 50, steps, oracle.FIRST_ATTEMPT)
        middle = (low + high) // 2
        noise.append(-middle if word >> 13 & 1 else middle)
    return words, noise


def _gaussian_words(rng: np.random.Generator, steps: float, lanes: int) -> tuple[np.ndarray, list[int]]:
    """Any radius; angles at the middle and the ends of the quadrants: f about 0, 1/2, -1/2."""
    assert lanes % 2 == 0
    words = np.maximum(_of_any_magnitude(rng, 51, lanes), np.uint64(1)) << np.uint64(13)
    noise = [0] * lanes
    for pair in oracle.gaussian_pairs(lanes, BLOCK):
        octant = int(rng.integers(0, 8)) << 61
        words[pair.angle_word] = octant + (int(_of_any_magnitude(rng, 48, 1)[0]) << 13)
        quadrant, cell = oracle.split_angle(int(words[pair.angle_word]))
        both = oracle.gaussian_enclosure(
            int(words[pair.radius_word]) >> 13, 51, cell, 49, quadrant, steps, oracle.FIRST_ATTEMPT
        )
        for lane, (low, high) in zip((pair.cosine_lane, pair.sine_lane), both, strict=True):
            noise[lane] = (low + high) // 2
    return words, noise


def _discrete_targets(steps: float, lanes: int, rng: np.random.Generator, reach: tuple[float, float]) -> Targets:
    """Words for which c - s ln U lies a distance d from an integer of at least 1."""
    mechanism = in_steps(DiscreteLaplace, steps)
    anywhere = np.maximum(_of_any_magnitude(rng, 50, lanes), np.uint64(1)) << np.uint64(14)
    distances = _distances(rng, window(mechanism, anywhere), reach)
    words = []
    with gmpy2.context(precision=300):
        s = gmpy2.mpfr(steps)
        c = s * gmpy2.log(2 / (1 + gmpy2.exp(-1 / s)))
        for word, d in zip(anywhere.tolist(), distances.tolist(), strict=True):
            boundary = gmpy2.rint(c - s * gmpy2.log((gmpy2.mpfr(word) + 2**13) / 2**64))
            cell = int(gmpy2.exp((c - max(boundary, 1) - d) / s) * 2**50)
            words.append(min(max(cell, 1), 2**50 - 1) << 14)
    signed = np.array(words, np.uint64) | rng.integers(0, 2**14, lanes, dtype=np.uint64)
    return mechanism, rng.integers(-(2**40), 2**40, lanes), signed


class Recorder:
    """Extension words that remember which lane asked for which."""

    def __init__(self, words: oracle.Extension = extension) -> None:
        self._words = words
        self.asked: dict[int, list[int]] = {}

    def __call__(self, lane: int, j: int) -> int:
        self.asked.setdefault(lane, []).append(j)
        return self._words(lane, j)


def refined_under(kind: type[Mechanism], lanes: np.ndarray, samples: int) -> set[int]:
    """The lane under which each ambiguous lane is refined: for a Gaussian its pair's cosine."""
    if kind is not Gaussian:
        return set(lanes.tolist())
    cosine = {}
    for pair in oracle.gaussian_pairs(samples, BLOCK):
        cosine[pair.cosine_lane] = cosine[pair.sine_lane] = pair.cosine_lane
    return {cosine[lane] for lane in lanes.tolist()}


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize(("kind", "steps"), CASES)
def test_exact_at_the_boundaries(kind: type[Mechanism], steps: float, lanes: int) -> None:
    mechanism, x, words = targets(kind, steps, lanes)
    assert_exact(mechanism, x, words)


@pytest.mark.parametrize(("kind", "steps"), FEW_CASES)
def test_every_undecided_cell_is_declined(kind: type[Mechanism], steps: float) -> None:
    """Where the cell straddles a boundary the oracle needs more words, and so must the engine."""
    mechanism, x, words = targets(kind, steps, FEW_LANES)
    needed = Recorder()
    expected(mechanism, x, words, needed)
    for simd in simd_available():
        declined = ambiguous_lanes(mechanism, x, words, simd=simd)
        assert needed.asked.keys() <= refined_under(kind, declined, x.size)
        assert 0.5 < declined.size / x.size < 0.99  # the targets lie on both sides of the window's edge


@pytest.mark.parametrize(("kind", "steps"), FEW_CASES)
def test_refinement_appends(kind: type[Mechanism], steps: float) -> None:
    """Only declined lanes read extension words, from the first on; the others do not change."""
    mechanism, x, words = targets(kind, steps, FEW_LANES)
    declined = ambiguous_lanes(mechanism, x, words)
    accepted = np.setdiff1d(np.arange(x.size), declined)
    sources: list[Callable[[int, int], int]] = [
        extension,
        lambda lane, j: extension(lane + 10**6, j),
        lambda lane, j: 2**64 - 1 if j < 4 else extension(lane, j),
        lambda lane, j: 0 if j < 4 else extension(lane, j),
    ]
    results = []
    for source in sources:
        recorder, needed = Recorder(source), Recorder(source)
        results.append(release_from_words(mechanism, x, words, extension=recorder))
        want = expected(mechanism, x, words, needed)
        assert wrong_lanes(results[-1], want).size == 0
        assert recorder.asked.keys() <= refined_under(kind, declined, x.size)
        assert needed.asked.keys() <= recorder.asked.keys()
        assert all(set(js) == set(range(max(js) + 1)) for js in recorder.asked.values())
    changed = [wrong_lanes(results[0], other) for other in results[1:]]
    assert all(np.intersect1d(lanes, accepted).size == 0 for lanes in changed)
    if steps >= 0.3:  # below, next to no cell is wide enough to leave a lane undecided
        assert all(lanes.size > 0 for lanes in changed)


def test_fresh_extension_words_are_drawn_once() -> None:
    """Both samples of a pair, refined one after the other, see the same appended words."""
    words = fresh_extension()
    first = [words(lane, j) for lane in (0, 7) for j in range(4)]
    assert first == [words(lane, j) for lane in (0, 7) for j in range(4)]
    assert len(set(first)) == len(first)
    assert set(first).isdisjoint({fresh_extension()(0, j) for j in range(4)})


@pytest.mark.parametrize(("kind", "factor"), [(Laplace, 1 / 2), (DiscreteLaplace, 1 / 2), (Gaussian, 1 / 16)])
def test_mutation_of_the_window_is_found(kind: type[Mechanism], factor: float) -> None:
    """With too narrow a window, lanes aimed between it and the right one show wrong results."""
    mechanism, x, words = targets(kind, 2.0**20, 1200, (math.log2(factor), 0.0))
    want = expected(mechanism, x, words)
    for simd in simd_available():
        got = release_from_words(mechanism, x, words, extension=extension, simd=simd, window_factor=factor)
        assert wrong_lanes(got, want).size > 0


@pytest.mark.parametrize("kind", [Laplace, Gaussian, DiscreteLaplace])
def test_wider_windows_change_nothing(kind: type[Mechanism]) -> None:
    """Refinement of lanes that the fast path could have decided gives the same integers."""
    mechanism, x, words = targets(kind, 1000.3, FEW_LANES)
    narrow = release_from_words(mechanism, x, words, extension=extension)
    wide = release_from_words(mechanism, x, words, extension=extension, window_factor=2.0**20)
    assert wrong_lanes(narrow, wide).size == 0
