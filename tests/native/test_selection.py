"""On the same words every selection is the oracle's, on every instruction set."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import numpy as np
import oracle_selection as oracle
import pytest
from gmpy2 import mpfr
from support import extension, random_words

from exactnoise import Exponential, PermuteAndFlip
from exactnoise._native import BLOCK, simd_available
from exactnoise.testing import refined_rows, select_from_words

DBL_MAX = sys.float_info.max
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
ONES = 2**64 - 1
SPECIAL = [0.0, -0.0, math.nan, math.inf, -math.inf, DBL_MAX, -DBL_MAX, 5e-324, -5e-324, 1e300, -1e300, 1.0, 1.5]

kinds = pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])


def with_scale(kind: type, scale: float):
    """A mechanism of exactly this scale."""
    return kind(sensitivity=Fraction(scale), epsilon=1, monotonic=True)


def assert_exact(mechanism, scores, words, mask=None, extension: oracle.Extension = extension) -> list[int]:
    scores = np.asarray(scores) if not isinstance(scores, np.ma.MaskedArray) else scores
    rows = scores.reshape(-1, scores.shape[-1])
    want = oracle.select(
        rows.tolist(),  # None where a masked array has no value
        words,
        scale=mechanism.scale,
        gumbel=isinstance(mechanism, Exponential),
        mask=mask,
        extension=extension,
    )
    for simd in simd_available():
        got = select_from_words(mechanism, scores, words, mask=mask, extension=extension, simd=simd)
        assert got.dtype == np.int64
        assert got.shape == scores.shape[:-1]
        assert got.ravel().tolist() == want, f"{simd}: {np.flatnonzero(got.ravel() != want)[:5]}"
    return want


@kinds
@pytest.mark.parametrize("candidates", [1, 2, 3, 7, 8, 9, 16, 31, 100, 213, 319, 320, 321, 512, 513, 639, 640])
def test_random_words_and_scores(kind, candidates):
    rng = np.random.default_rng(candidates)
    rows = max(3, min(2 * (BLOCK // candidates) + 1, 1500 // candidates))
    words = random_words(candidates, rows * candidates)
    for scale in (0.3, 7.0, 1e-300, 1e300):
        scores = rng.normal(size=(rows, candidates)) * scale * rng.choice([1e-3, 1, 100], (rows, 1))
        assert_exact(with_scale(kind, scale), scores, words)


@kinds
@pytest.mark.parametrize("candidates", [641, 1280, 3001])
def test_long_rows(kind, candidates):
    rng = np.random.default_rng(candidates)
    for rows in (1, 2):
        scores = rng.normal(size=(rows, candidates)) * 3
        assert_exact(with_scale(kind, 1.0), scores, random_words(rows, scores.size))
        assert_exact(with_scale(kind, 1.0), np.sort(scores), random_words(rows, scores.size))


@kinds
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u4", "i8", "u8", ">i4", ">u8", "?", "f2", "f4", "f8", ">f8"])
def test_every_dtype(kind, dtype):
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 2 if dtype == "?" else 100, (60, 7)).astype(dtype)
    assert_exact(with_scale(kind, 20.0), scores, random_words(1, scores.size))
    assert_exact(with_scale(kind, 20.0), scores[:, ::2], random_words(2, 60 * 4))
    assert_exact(with_scale(kind, 20.0), scores.T, random_words(3, scores.size))


@kinds
@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_64_bit_integers_count_exactly(kind, dtype):
    """At the ends of the type neighbours differ by 1, which a double does not see."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(7)
    ends = np.array([info.min, info.min + 1, info.max, info.max - 1, info.max - 2], dtype)
    near = np.array([info.max - i for i in range(12)], dtype)
    wide = rng.integers(info.min, info.max, (40, 9), dtype=dtype, endpoint=True)
    assert_exact(with_scale(kind, 1.0), np.tile(near, (100, 1)), random_words(1, 1200))
    for scale in (3e-308, 0.1, 3.0, 1e18, 1e300):
        mixed = rng.choice(ends, (40, 5))
        assert_exact(with_scale(kind, scale), mixed, random_words(2, mixed.size))
        assert_exact(with_scale(kind, scale), wide, random_words(3, wide.size))


@kinds
@pytest.mark.parametrize("scale", [2.3e-308, 1e-3, 1.0, 1.99, 2.0, 1e10, 1.7e308])
def test_special_values(kind, scale):
    """Infinities, NaN, the largest and the smallest numbers side by side; nothing overflows."""
    rng = np.random.default_rng(3)
    scores = rng.choice(SPECIAL, (300, 5))
    words = random_words(4, scores.size)
    edge = rng.random(words.size) < 0.2
    words[edge] = rng.choice(np.array([0, ONES, 1 << 13, ONES - (1 << 13)], np.uint64), edge.sum())
    assert_exact(with_scale(kind, scale), scores, words)
    assert_exact(with_scale(kind, scale), np.tile(SPECIAL, (40, 1)), random_words(5, 40 * len(SPECIAL)))


@kinds
@pytest.mark.parametrize("fill", [math.nan, -math.inf, math.inf])
def test_nothing_finite_counts_as_equal(kind, fill):
    words = random_words(6, 6 * 5)
    got = assert_exact(with_scale(kind, 1.0), np.full((6, 5), fill), words)
    assert got == assert_exact(with_scale(kind, 1.0), np.zeros((6, 5)), words)


@kinds
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float64])
def test_missing_scores_count_as_the_lowest(kind, dtype):
    rng = np.random.default_rng(8)
    scores = np.ma.masked_array(rng.integers(0, 9, (200, 6)).astype(dtype), rng.random((200, 6)) < 0.4)
    assert_exact(with_scale(kind, 2.0), scores, random_words(9, scores.size))


@kinds
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("candidates", [5, 1500])
def test_masks(kind, dtype, candidates):
    """Excluded candidates are neither selected nor part of their row's range."""
    rng = np.random.default_rng(10)
    rows = 3000 // candidates
    scores = rng.integers(-20, 20, (rows, candidates)).astype(dtype)
    words = random_words(11, scores.size)
    mechanism = with_scale(kind, 2.0)
    common = rng.random(candidates) < 0.6
    common[-1] = False
    own = rng.random(scores.shape) < 0.6
    own[:, 0] = False
    leaving_one = np.ones(candidates, bool)
    leaving_one[candidates // 2] = False
    for mask in (common, own, leaving_one):
        got = assert_exact(mechanism, scores, words, mask)
        assert not any(np.broadcast_to(mask, scores.shape)[range(rows), got])
        missing = np.ma.masked_array(scores, rng.random(scores.shape) < 0.3)
        assert_exact(mechanism, missing, words, mask)
    assert set(got) == {candidates // 2}
    if dtype is np.float64:
        scores[:, 1] = rng.choice([math.nan, math.inf, -math.inf, 1e300], rows)
        assert_exact(mechanism, scores, words, common)


EQUAL_WORDS = [0, ONES, 1 << 13, ONES - (1 << 13), 2**63, 0x12345 << 40]


@kinds
@pytest.mark.parametrize(
    ("candidates", "word"),
    [(candidates, word) for candidates in (1, 2, 9) for word in EQUAL_WORDS]
    + [pytest.param(700, word, marks=[pytest.mark.slow] if word in EQUAL_WORDS[2:] else []) for word in EQUAL_WORDS],
)
def test_equal_words_are_decided_by_their_extensions(kind, word, candidates):
    words = np.full(2 * candidates, word, np.uint64)
    mechanism = with_scale(kind, 1.0)
    equal = assert_exact(mechanism, np.zeros((2, candidates)), words)
    assert candidates < 9 or len(set(equal)) == 2
    assert_exact(mechanism, np.arange(2.0 * candidates).reshape(2, -1) * 1e-17, words)
    expected = [] if candidates == 1 else [0, 1]
    assert refined_rows(mechanism, np.zeros((2, candidates)), words).tolist() == expected


# Ties


def tied(kind: type, seed: int, bits: int) -> tuple[np.ndarray, np.ndarray, dict[int, list[int]]]:
    """Scores (a row of three), words and extension words of two noisy scores that differ by about 2^-bits.

    The third candidate is far below. Scale 1.
    """
    rng = np.random.default_rng(seed)
    d = float(rng.uniform(-3, -1e-3))
    share = int.from_bytes(rng.bytes(40), "little")
    sign = int(rng.choice([-1, 1]))

    def first() -> mpfr:
        u = (mpfr(share) + 1) / mpfr(2) ** 320
        return u if kind is Exponential else u * gmpy2.exp(mpfr(d))  # so that d + E > 0

    def second() -> mpfr:
        e = -gmpy2.log(first())
        e = e * gmpy2.exp(-mpfr(d)) if kind is Exponential else e + mpfr(d)  # d + noise = 0 + noise
        return gmpy2.exp(-e) * (1 + sign * mpfr(2) ** -bits)

    def digits_of(u: Callable[[], mpfr]) -> int:
        with gmpy2.context(precision=400):
            return int(gmpy2.floor(u() * mpfr(2) ** (51 + 64 * 4)))

    digits = [digits_of(first), digits_of(second)]
    cells = [n >> 64 * 4 for n in digits]
    more = {lane: [n >> 64 * (3 - j) & ONES for j in range(4)] for lane, n in enumerate(digits)}
    return np.array([d, 0.0, -50.0]), np.array([*(c << 13 for c in cells), 1 << 62], np.uint64), more


@kinds
@pytest.mark.parametrize("bits", [20, 40, 50, 55, 60, 100, 150, 250])
def test_ties(kind, bits):
    """Two candidates within 2^-bits: decided as the oracle does, with as many words as that takes."""
    seen = set()
    for seed in range(25):
        scores, words, more = tied(kind, seed, bits)
        asked: set[tuple[int, int]] = set()

        def extend(lane: int, j: int, more=more, asked=asked) -> int:
            asked.add((lane, j))
            return more[lane][j] if j < 4 else extension(lane, j)

        seen.update(assert_exact(with_scale(kind, 1.0), scores, words, extension=extend))
        assert {lane for lane, _ in asked} <= {0, 1}
        if bits > 60:
            assert (0, (bits - 60) // 64) in asked
        if bits == 20 and ((words[:2] > 2**57) & (words[:2] < 2**64 - 2**57)).all():
            assert refined_rows(with_scale(kind, 1.0), scores, words).size == 0
    assert seen == {0, 1}


@kinds
def test_intervals_too_small_would_be_noticed(kind):
    """Positive control: decided by the middle of the cells, many ties come out wrong."""
    wrong = 0
    for seed in range(60):
        scores, words, more = tied(kind, seed, 54)

        def extend(lane: int, j: int, more=more) -> int:
            return more[lane][j]

        mechanism = with_scale(kind, 1.0)
        right = select_from_words(mechanism, scores, words, extension=extend)
        shrunk = select_from_words(mechanism, scores, words, extension=extend, window_factor=0.0)
        wrong += int(right != shrunk)
    assert wrong > 5


@kinds
def test_the_cells_own_width_is_needed(kind):
    """Where U is small or next to 1 the cell is far wider than the fixed part of the window."""
    mechanism = with_scale(kind, 1.0)
    edge = 5 << 13 if kind is PermuteAndFlip else ONES - (5 << 13)
    words = np.array([edge, edge ^ 1], np.uint64)  # one cell
    found = set()
    for gap in (1e-9, 0.01, 0.05, 0.1):
        found |= {refined_rows(mechanism, [0.0, gap], words).size}
        for low, high in ((0, ONES), (ONES, 0)):
            assert_exact(mechanism, np.array([0.0, gap]), words, extension=lambda lane, j, w=(low, high): w[lane])
    assert found == {1}


@kinds
def test_everybody_can_be_selected(kind):
    """Even 400 scales below the best, by words."""
    scores = np.array([0.0, -400.0, -100.0, -1.0])
    winning = ONES if kind is Exponential else 0
    losing = 1 << 63
    for i in range(4):
        words = np.full(4, losing, np.uint64)
        words[i] = winning
        got = assert_exact(
            with_scale(kind, 1.0), scores, words, extension=lambda lane, j, i=i: winning if lane == i else losing
        )
        assert got == [i]


@kinds
def test_mutants_of_the_order_of_words_are_noticed(kind):
    """Positive control of the oracle: with the words of its neighbour a row comes out differently."""
    scores, words = np.zeros((50, 8)), random_words(12, 400)
    right = select_from_words(with_scale(kind, 1.0), scores, words)
    shifted = select_from_words(with_scale(kind, 1.0), scores, np.roll(words, 1))
    assert (right != shifted).sum() > 20


@pytest.mark.slow
@kinds
def test_many_rows(kind):
    rng = np.random.default_rng(20)
    scores = rng.normal(size=(20_000, 10)) * 2
    assert_exact(with_scale(kind, 1.0), scores, random_words(21, scores.size))
