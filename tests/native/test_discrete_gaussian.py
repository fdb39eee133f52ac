"""Discrete Gaussian lanes where an error would show: at the boundaries, and where words run out."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable
from functools import cache

import gmpy2
import numpy as np
import oracle_discrete_gaussian as oracle
import pytest
from gmpy2 import mpfr
from support import assert_exact, extension, in_steps, random_words, words_for, wrong_lanes

from exactnoise import DiscreteGaussian
from exactnoise._native import BLOCK, simd_available
from exactnoise.testing import ambiguous_lanes, release_from_words, window, word_count

known = importlib.import_module("exactnoise._native.self_check")  # the package has a function of this name
ONES = 2**64 - 1
REJECTING = [4.0, 4.01, 5.0, 8.0, 50.0, 1000.3, 2.0**20, 1.3 * 2.0**27, 2.0**36]
TABULATED = [0.07, 0.3, 1.0, 1.7, 3.99]
SLOW = pytest.mark.slow
LANES = 300  # less than a block: the words of a trial are one third radii, angles and uniform variables each


def zeros(samples: int) -> np.ndarray:
    return np.zeros(samples, np.int64)


# ---------------------------------------------------------------------------------------------
# Trials


@pytest.mark.parametrize("trials", [1, 2, 3, 5, 64, 66])
@pytest.mark.parametrize("scale", [4.0, 5.0])
def test_any_number_of_trials(scale: float, trials: int) -> None:
    """Samples that are still rejected when the words run out take words of their own."""
    mechanism = in_steps(DiscreteGaussian, scale)
    for samples in (1, 2, 7, BLOCK + 3, 3 * BLOCK):
        assert_exact(mechanism, zeros(samples), words_for(mechanism, samples, [samples, trials], trials))


def test_rejected_samples_are_declined_when_the_words_run_out() -> None:
    mechanism = in_steps(DiscreteGaussian, 4.0)
    samples = 100 * BLOCK
    words = words_for(mechanism, samples, 3, trials=6)
    left = []
    for trials in range(1, 7):
        some = words[: trials * word_count(mechanism, samples)]
        left.append(ambiguous_lanes(mechanism, zeros(samples), some).size)
    # The share of proposals that are rejected: 0.8 %.
    assert 0.007 < left[0] / samples < 0.009
    assert left[1] / samples < 4e-4
    assert left[-1] == 0


@pytest.mark.parametrize("scale", [4.0, 5.0, 8.0, 50.0])
def test_acceptance(scale: float) -> None:
    """e^(-1 / (8 s^2)) of all proposals are accepted."""
    mechanism = in_steps(DiscreteGaussian, scale)
    samples = 10**5
    rejected = ambiguous_lanes(mechanism, zeros(samples), words_for(mechanism, samples, 1, 1)).size
    wanted = -samples * math.expm1(-1 / (8 * scale**2))
    assert abs(rejected - wanted) < 6.1 * math.sqrt(wanted)


@pytest.mark.parametrize("scale", [0.3, 3.9, 4.0, 4.7, 2.0**20, 2.0**36])
def test_words_at_the_ends(scale: float) -> None:
    """Zeros, ones and their neighbours in all three positions."""
    mechanism = in_steps(DiscreteGaussian, scale)
    ends = [0, 1, 1 << 13, 1 << 14, 2**62, 2**63, 2**64 - 2**13, ONES, 2**32 - 1, 2**32, ONES - 2**32 + 1, 2**61 - 1]
    if scale < 4:
        assert_exact(mechanism, zeros(len(ends)), np.array(ends, np.uint64))
        return
    triples = np.array(list(itertools.product(ends, ends, ends[-6:])), np.uint64)
    for some in np.array_split(triples, -(-triples.shape[0] // (BLOCK // 2))):
        assert_exact(mechanism, zeros(2 * len(some)), np.concatenate(some.T))


@pytest.mark.parametrize("word", [0, 1, ONES, ONES - 1, 2**63])
@pytest.mark.parametrize("scale", [1.7, 4.5])
def test_constant_words(scale: float, word: int) -> None:
    mechanism = in_steps(DiscreteGaussian, scale)
    for samples in (1, 2, 63):
        assert_exact(mechanism, zeros(samples), np.full(2 * word_count(mechanism, samples), word, np.uint64)[
            : None if scale >= 4 else samples
        ])  # fmt: skip


def test_saturation() -> None:
    for scale in (3.0, 5.0, 2.0**36):
        mechanism = in_steps(DiscreteGaussian, scale)
        x = np.resize(np.array([2**63 - 1, -(2**63), 2**63 - 3, 0]), 999)
        assert_exact(mechanism, x, words_for(mechanism, x.size, 5))


# ---------------------------------------------------------------------------------------------
# Lanes aimed at the boundaries of K and of T, from scale 4 on


def _uniform_angles(seed: object, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    return random_words([*seed, 1], pairs), random_words([*seed, 2], pairs)


def _y(radius: int, angle: int, scale: float) -> tuple[mpfr, mpfr]:
    return oracle._middle_pair(radius >> 13, angle, scale)


@cache
def near_a_rounding(scale: float, reach: tuple[float, float] = (-6.0, 1.0)) -> np.ndarray:
    """Words whose cosine sample has a Y that lies w times 2 to a power in `reach` from a half-integer."""
    rng = np.random.Generator(np.random.PCG64([7, int(scale)]))
    mechanism, half = in_steps(DiscreteGaussian, scale), LANES // 2
    radii, angles = _uniform_angles([int(scale)], half)
    third = random_words([int(scale), 3], half)
    widths = window(mechanism, np.concatenate([radii, angles, third]))[:half]
    with gmpy2.context(precision=200):
        for i in range(half):
            y = _y(int(radii[i]), int(angles[i]), scale)[0]
            distance = widths[i] * 2 ** rng.uniform(*reach) * rng.choice([-1, 1])
            target = gmpy2.floor(y) + mpfr(0.5) + distance
            if gmpy2.sign(target) != gmpy2.sign(y) or abs(y) < 0.75:
                continue
            # The radius that it takes, by the square of the ratio: -2 ln U = (Y / (s cos))^2.
            u = gmpy2.div_2exp(mpfr(2 * (int(radii[i]) >> 13) + 1), 52)
            cell = int(gmpy2.exp(gmpy2.log(u) * (target / y) ** 2) * 2**51)
            radii[i] = min(max(cell, 1), 2**51 - 1) << 13
    return np.concatenate([radii, angles, third])


@cache
def near_acceptance(scale: float, furthest: int = 16) -> np.ndarray:
    """Words whose samples have T within a few cells of V from 1: from 2^-34 to 2^-28."""
    rng = np.random.Generator(np.random.PCG64([8, int(scale)]))
    half = LANES // 2
    radii, angles = _uniform_angles([int(scale), 9], half)
    third = []
    with gmpy2.context(precision=200):
        square = mpfr(scale) ** 2
        for i in range(half):
            word = 0
            for y in _y(int(radii[i]), int(angles[i]), scale):
                k = gmpy2.rint(y)
                f = y - k
                needed = 2**32 * gmpy2.exp((f * f - 0.25) / (2 * square)) / gmpy2.cosh(k * f / square)
                cell = int(needed) + int(rng.integers(-furthest, furthest, endpoint=True))
                word = word << 32 | min(max(cell, 0), 2**32 - 1)
            third.append(word)
    return np.concatenate([radii, angles, np.array(third, np.uint64)])


AIMS = [near_a_rounding, near_acceptance]


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("scale", REJECTING)
def test_exact_at_the_boundaries(scale: float, aim: Callable[[float], np.ndarray]) -> None:
    """With words for one trial and, after other words, for several."""
    mechanism = in_steps(DiscreteGaussian, scale)
    words = aim(scale)
    assert_exact(mechanism, zeros(LANES), words)
    assert_exact(mechanism, zeros(LANES), np.concatenate([words, random_words(4, 3 * words.size)]))
    undecided = [
        lambda lane, j: 0 if j < 3 and lane >= 0 else extension(lane, j),
        lambda lane, j: ONES if j < 3 and lane >= 0 else extension(lane, j),
        lambda lane, j: 0 if j < 2 and lane < 0 else extension(lane, j),
        lambda lane, j: ONES if j < 2 and lane < 0 else extension(lane, j),
    ]
    for words_after in undecided:
        assert_exact(mechanism, zeros(LANES), words, words_after)


@pytest.mark.parametrize("aim", AIMS)
@pytest.mark.parametrize("scale", [4.0, 8.0, 1000.3, 2.0**20])
def test_the_aim_is_good(scale: float, aim: Callable[[float], np.ndarray]) -> None:
    """The targets lie on both sides of the window's edge: some are declined, some decided."""
    mechanism = in_steps(DiscreteGaussian, scale)
    words = np.concatenate([aim(scale), random_words(4, 6 * LANES)])
    declined = ambiguous_lanes(mechanism, zeros(LANES), words).size
    aimed_at = LANES // 2 if aim is near_a_rounding else LANES
    assert (0.4 if aim is near_a_rounding else 0.05) < declined / aimed_at < 0.97


def first_verdicts(scale: float, words: np.ndarray) -> list[object]:
    """What is true of each lane's first proposal, its cells extended until that is decided: K, or rejection."""
    half = words.size // 3
    radii, angles, third = (part.tolist() for part in np.split(words, 3))
    verdicts = []
    for lane in range(2 * half):
        pair, sine = lane % half, lane >= half
        v = third[pair] & 0xFFFFFFFF if sine else third[pair] >> 32
        cells = oracle._Cells(oracle.Proposal(radii[pair], angles[pair], v, sine), scale)
        for number in itertools.count():
            verdict = cells.verdict(oracle.Attempt(number))
            if verdict is not None:
                break
            cells.append(*(extension(pair, 2 * number + i) for i in (0, 1)), extension(-1 - lane, number))
        verdicts.append(verdict)
    return verdicts


@pytest.mark.parametrize(
    ("aim", "scale", "factor"),
    [
        (lambda scale: near_a_rounding(scale, (-4.0, 0.0)), 2.0**20, 1 / 16),
        (lambda scale: near_a_rounding(scale, (-7.0, -3.0)), 50.0, 1 / 128),
        (lambda scale: near_acceptance(scale, 1), 4.0, 1 / 8),
        (lambda scale: near_acceptance(scale, 1), 50.0, 1 / 8),
    ],
    ids=["K-2^20", "K-50", "T-4", "T-50"],
)
def test_mutation_of_the_window_is_found(aim: Callable[[float], np.ndarray], scale: float, factor: float) -> None:
    """With too narrow a window, proposals are accepted that are not the sample."""
    mechanism, words = in_steps(DiscreteGaussian, scale), aim(scale)
    truth = first_verdicts(scale, words)
    for simd in simd_available():
        for window_factor in (1.0, factor):
            options = {"simd": simd, "window_factor": window_factor}
            got = release_from_words(mechanism, zeros(LANES), words, extension=extension, **options)
            declined = set(ambiguous_lanes(mechanism, zeros(LANES), words, **options).tolist())
            # There are words for one trial: what is not declined has been accepted.
            wrong = [lane for lane in range(LANES) if lane not in declined and got[lane] != truth[lane]]
            assert bool(wrong) == (window_factor < 1), (simd, window_factor, len(wrong))


@pytest.mark.parametrize("aim", AIMS)
def test_wider_windows_change_no_accepted_sample(aim: Callable[[float], np.ndarray]) -> None:
    mechanism, words = in_steps(DiscreteGaussian, 50.0), aim(50.0)
    narrow = release_from_words(mechanism, zeros(LANES), words, extension=extension)
    wide = release_from_words(mechanism, zeros(LANES), words, extension=extension, window_factor=2.0**20)
    # With one trial every rejected sample takes words of its own, whichever way it was rejected.
    assert wrong_lanes(narrow, wide).size == 0


@pytest.mark.parametrize("depth", [0, 1, 5, 20])
@pytest.mark.parametrize("scale", [4.0, 8.0, 1000.3, 2.0**20])
def test_an_acceptance_that_needs_many_words(scale: float, depth: int) -> None:
    """V's further digits follow the exact point at which T is 1, for `depth` words; then they turn away."""
    rng = np.random.Generator(np.random.PCG64([depth, int(scale)]))
    radius, angle = (int(w) for w in rng.integers(2**62, 2**63, 2, dtype=np.uint64))
    tail = [int(w) for w in rng.integers(0, 2**63, 2 * depth + 60, dtype=np.uint64)]
    digits = 64 * (depth + 3)
    with gmpy2.context(precision=64 * (depth + 60)):
        # All digits of U1 and f that can matter: the words' own and those that follow, in turns.
        radius_cell, (quadrant, angle_cell), bits = radius >> 13, oracle.split_angle(angle), 0
        for first, second in zip(tail[::2], tail[1::2], strict=True):
            radius_cell, angle_cell, bits = radius_cell << 64 | first, angle_cell << 64 | second, bits + 64
        u, f = mpfr(radius_cell) / mpfr(2) ** (51 + bits), mpfr(angle_cell) / mpfr(2) ** (49 + bits)
        y = scale * gmpy2.sqrt(-2 * gmpy2.log(u)) * gmpy2.cos(gmpy2.const_pi() / 2 * (quadrant + f))
        k = gmpy2.rint(y)
        square, rest = mpfr(scale) ** 2, y - k
        v = gmpy2.exp((rest**2 - mpfr(0.25)) / (2 * square)) / gmpy2.cosh(k * rest / square)
        whole = int(gmpy2.floor(v * mpfr(2) ** (32 + digits)))
    first, further = whole >> digits, [whole >> digits - 64 * (j + 1) & ONES for j in range(depth + 2)]
    words = np.array([radius, angle, first << 32], np.uint64)
    mechanism = in_steps(DiscreteGaussian, scale)
    for larger in (False, True):

        def following(lane: int, j: int, larger: bool = larger) -> int:
            if lane == 0:
                return tail[j]
            if j < depth:
                return further[j]
            if j == depth:
                return (further[j] + ONES) // 2 if larger else further[j] // 2
            return extension(lane, j)

        assert_exact(mechanism, zeros(1), words, following)
        got = release_from_words(mechanism, zeros(1), words, extension=following)
        again = oracle.Proposal(*(extension(-1, depth + 1 + i) for i in (0, 1)), extension(-1, depth + 3) >> 32, False)
        fresh = oracle.decide(again, scale, index=0, pair=-1, extension=lambda lane, j: extension(-1, depth + 4 + j))
        assert got[0] == (fresh if larger else int(k))


# ---------------------------------------------------------------------------------------------
# Lanes aimed at the table, below scale 4


def table(scale: float) -> list[int]:
    """t_k = floor(2^50 P(|X| >= k)) as long as it is not 0, from the oracle's sums."""
    return [t for low, _ in oracle.tails(scale, 192) if (t := int(low * 2**50)) > 0]


@pytest.mark.parametrize("scale", [2.0**-30, *TABULATED])
def test_the_table(scale: float) -> None:
    got = in_steps(DiscreteGaussian, scale)._thresholds()
    assert list(got) == table(scale)
    assert len(got) <= 36


@pytest.mark.parametrize(
    ("scale", "every"), [(scale, 1 if scale < 3 else 7) for scale in TABULATED] + [pytest.param(3.99, 1, marks=SLOW)]
)
def test_exact_at_the_thresholds(scale: float, every: int) -> None:
    mechanism = in_steps(DiscreteGaussian, scale)
    cells = [t + d for t in [*table(scale)[::every], 0] for d in (-1, 0, 1) if 0 <= t + d < 2**50]
    words = np.array([cell << 14 | sign << 13 | 77 for cell in cells for sign in (0, 1)], np.uint64)
    declined = set(ambiguous_lanes(mechanism, zeros(words.size), words).tolist())
    open_cells = {*table(scale), 0}
    assert declined == {lane for lane in range(words.size) if cells[lane // 2] in open_cells}
    for words_after in (
        extension,
        lambda lane, j: 0 if j < 2 else extension(lane, j),
        lambda lane, j: ONES if j < 3 else extension(lane, j),
    ):
        assert_exact(mechanism, zeros(words.size), words, words_after)


@pytest.mark.parametrize("depth", [0, 1, 5, 20])
@pytest.mark.parametrize("scale", [0.3, 1.0, 3.99])
def test_a_threshold_that_needs_many_words(scale: float, depth: int) -> None:
    """U's digits follow P(|X| >= k) for `depth` words, then turn away."""
    mechanism = in_steps(DiscreteGaussian, scale)
    bits = 50 + 64 * (depth + 2)
    for k, (low, _) in enumerate(oracle.tails(scale, bits)[: len(table(scale))], 1):
        whole = int(low * 2**bits)
        further = [whole >> bits - 50 - 64 * (j + 1) & ONES for j in range(depth + 1)]
        for larger in (False, True) if k % 4 == 1 else ():
            turned = (further[depth] + ONES) // 2 if larger else further[depth] // 2
            given = [*further[:depth], turned]
            words = np.array([whole >> bits - 50 << 14], np.uint64)
            assert (
                release_from_words(mechanism, zeros(1), words, extension=lambda lane, j, given=given: given[j])[0]
                == k - larger
            )


# ---------------------------------------------------------------------------------------------
# The self-check


@pytest.mark.parametrize(("family", "scale"), [("discrete-gaussian", 16.0), ("tabulated", 1.0)])
def test_known_answers(family: str, scale: float) -> None:
    """They are the oracle's, and no lane is declined."""
    answers = known._ANSWERS[family]
    x = np.full(len(answers), 10)
    want = oracle.discrete_gaussian(x, known._WORDS, scale=scale, block=BLOCK, set_aside=(), extension=extension)
    assert answers == want.tolist()
    if family == "tabulated":
        assert list(known._TABLE) == table(scale)
