"""Every report is the one that the contract's integers give for its words, on every instruction set."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import oracle_response as oracle
import pytest
from support import random_words

from exactnoise import LocalHashing, OptimizedUnaryEncoding, RandomizedResponse, SymmetricUnaryEncoding
from exactnoise._native import simd_available
from exactnoise.mechanisms.response import LocalRandomizer
from exactnoise.testing import respond_from_words

CATEGORIES = [*range(2, 41), 255, 256, 257, 266, 65535, 65536]
EPSILONS = ["1e-9", "0.1", "1", "3", "40", "64", "1e300"]
LENGTHS = [0, 1, 2, 7, 8, 15, 16, 31, 33, 63, 64, 65, 127, 129, 511, 512, 513, 1023, 1025, 1100]
UNARY = [SymmetricUnaryEncoding, OptimizedUnaryEncoding]
LOWEST, HIGHEST = 0, 2**64 - 1


def codes_of(n: int, categories: int, seed: int = 1) -> np.ndarray:
    """Codes of every kind: valid ones, the ends, and those that do not exist."""
    codes = np.random.default_rng(seed).integers(0, categories, n)
    edges = [0, categories - 1, categories, -1, -(2**63), 2**63 - 1, 2**32, 2**32 + 1, 65536]
    codes[: len(edges)] = edges[:n]
    return codes


def shares(mechanism: LocalRandomizer) -> tuple[int, int]:
    p, q = mechanism.truth_probability * 2**64, mechanism.other_probability * 2**64
    assert p.denominator == q.denominator == 1
    return p.numerator, q.numerator


def wanted(mechanism: LocalRandomizer, codes: np.ndarray, words: Sequence[int]) -> bytes:
    """The oracle's reports, byte by byte."""
    codes = codes.tolist()
    words = [int(word) for word in words]
    domain = {"categories": mechanism.categories, "missing": mechanism.missing}
    if isinstance(mechanism, RandomizedResponse):
        reports = oracle.randomized_response(codes, words, **domain, other=shares(mechanism)[1])
        return b"".join(r.to_bytes(1 if mechanism.categories <= 256 else 2, "little") for r in reports)
    if isinstance(mechanism, LocalHashing):
        g = mechanism.buckets
        reports = oracle.local_hashing(
            codes, words, **domain, buckets=g, other=oracle.other_share(min(mechanism.epsilon, Fraction(100)), g)
        )
        return b"".join(
            a.to_bytes(4, "little") + b.to_bytes(4, "little") + y.to_bytes(2, "little") for a, b, y in reports
        )
    truth, other = shares(mechanism)
    return b"".join(oracle.unary(codes, words, **domain, truth=truth, other=other))


def words_for(mechanism: LocalRandomizer, n: int, seed: int = 2) -> np.ndarray:
    """Random words, for unary encodings with spare ones."""
    if isinstance(mechanism, RandomizedResponse):
        return random_words(seed, n)
    if isinstance(mechanism, LocalHashing):
        return random_words(seed, 2 * n)
    size = -(-mechanism.categories // 8)
    return random_words(seed, oracle.level_words(mechanism.other_probability, 8 * size * n) + n + 64 + size * n // 8)


def assert_exact(mechanism: LocalRandomizer, codes: np.ndarray, words: np.ndarray) -> None:
    want = wanted(mechanism, codes, words)
    for simd in simd_available():
        got = respond_from_words(mechanism, codes, words, simd=simd)
        assert got.dtype == mechanism.report_dtype
        assert got.shape == codes.shape + mechanism.report_shape
        assert got.tobytes() == want, f"{mechanism!r} with {simd}"


# Randomised response


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", CATEGORIES)
def test_responses(k: int, epsilon: str) -> None:
    n = 200
    mechanism = RandomizedResponse(epsilon=epsilon, categories=k, missing=k // 2)
    truth, other = shares(mechanism)
    assert other == oracle.other_share(min(Fraction(epsilon), Fraction(100)), k)
    assert truth == 2**64 - (k - 1) * other
    assert_exact(mechanism, codes_of(n, k), random_words(k, n))
    # Where the answer changes: P, and P + j Q for the first, the last and some other j.
    last = k - 2
    edges = [LOWEST, HIGHEST, truth - 1, truth, truth + 1]
    for j in sorted({0, 1, 2, last // 3, last // 2, last - 1, last, last + 1} | set(range(0, k, max(1, k // 50)))):
        if 0 <= j <= last + 1:
            edges += [truth + j * other + d for d in (-1, 0, 1)]
    words = np.array([word for word in edges if LOWEST <= word <= HIGHEST], np.uint64)
    for value in (0, 1, k // 2, k - 1):
        assert_exact(mechanism, np.full(words.size, value), words)


@pytest.mark.parametrize("k", [2, 3, 256, 257, 65536])
def test_a_response_whose_division_is_off_by_one_would_be_seen(k: int) -> None:
    """The control: words at the edge of one answer give another with a Q that is larger by 1."""
    mechanism = RandomizedResponse(epsilon=1, categories=k)
    truth, other = shares(mechanism)
    words = [truth + j * other + d for j in range(min(k - 1, 50)) for d in (-1, 0)]
    codes = [0] * len(words)
    domain = {"categories": k, "missing": 0}
    want = oracle.randomized_response(codes, words, **domain, other=other)
    assert oracle.randomized_response(codes, words, **domain, other=other + 1) != want
    assert oracle.randomized_response(codes, words, **domain, other=other - 1) != want


@pytest.mark.parametrize("k", [2, 17, 257])
@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_of_responses(n: int, k: int) -> None:
    mechanism = RandomizedResponse(epsilon=1, categories=k, missing=1)
    assert_exact(mechanism, codes_of(n, k), random_words(n, n))


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 5, 266, 65536])
def test_many_responses(k: int) -> None:
    n = 10**6
    for seed, epsilon in enumerate(EPSILONS):
        mechanism = RandomizedResponse(epsilon=epsilon, categories=k)
        assert_exact(mechanism, codes_of(n, k, seed), random_words(seed, n))


# Local hashing


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", [2, 3, 40, 257, 65536])
def test_hashed_reports(k: int, epsilon: str) -> None:
    mechanism = LocalHashing(epsilon=epsilon, categories=k, missing=k - 1)
    want = 1024 if Fraction(epsilon) > 7 else max(2, min(1024, oracle.nearest(Fraction(epsilon))))
    assert mechanism.buckets == want
    n = 700
    words = words_for(mechanism, n)
    words[n - 3 : n] = [LOWEST, HIGHEST, 1]
    words[-2:] = [LOWEST, HIGHEST]
    assert_exact(mechanism, codes_of(n, k), words)


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths_of_hashed_reports(n: int) -> None:
    mechanism = LocalHashing(epsilon=2, categories=1000)
    assert_exact(mechanism, codes_of(n, 1000), words_for(mechanism, n))


# Unary encodings


@pytest.mark.parametrize("kind", UNARY)
@pytest.mark.parametrize("k", [*range(2, 41, 3), 8, 16, 24, 255, 256, 257, 266, 2047, 2049])
def test_unary_reports(kind: type[LocalRandomizer], k: int) -> None:
    n = min(40, 1500 // k + 2)
    for epsilon in ("1e-9", "1", "1e300"):
        mechanism = kind(epsilon=epsilon, categories=k, missing=k // 3)
        assert_exact(mechanism, codes_of(n, k), words_for(mechanism, n))


@pytest.mark.parametrize(("kind", "k"), [(UNARY[0], 65535), (UNARY[1], 65536)])
def test_wide_unary_reports(kind: type[LocalRandomizer], k: int) -> None:
    mechanism = kind(epsilon=1, categories=k)
    assert_exact(mechanism, np.array([k - 1]), words_for(mechanism, 1))


@pytest.mark.parametrize("kind", UNARY)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, 9, 31, 63, 64, 65, 511, 512, 513, 600])
def test_lengths_of_unary_reports(kind: type[LocalRandomizer], n: int) -> None:
    """Rows lie across groups and blocks of coins: with 3 bytes a row in every position."""
    mechanism = kind(epsilon=2, categories=21)
    assert_exact(mechanism, codes_of(n, 21), words_for(mechanism, n))


@pytest.mark.parametrize("kind", UNARY)
def test_every_category_has_its_bit(kind: type[LocalRandomizer]) -> None:
    """With nearly no noise a report is the category's bit, in every byte of long rows, too."""
    for k in (2, 8, 9, 266, 2050, 5000):
        mechanism = kind(epsilon=80, categories=k)
        codes = np.unique(np.linspace(0, k - 1, 600).astype(int))
        size = -(-k // 8)
        count = oracle.level_words(mechanism.other_probability, 8 * size * codes.size)
        words = np.concatenate([np.full(count, HIGHEST, np.uint64), np.zeros(codes.size, np.uint64)])
        for simd in simd_available():
            rows = respond_from_words(mechanism, codes, words, simd=simd)
            bits = np.unpackbits(rows, axis=1, bitorder="little")
            np.testing.assert_array_equal(bits, np.eye(8 * size, dtype=np.uint8)[codes])


@pytest.mark.parametrize("kind", UNARY)
def test_words_of_zeros_and_ones(kind: type[LocalRandomizer]) -> None:
    """All zeros are below every probability, all ones above."""
    mechanism = kind(epsilon="0.7", categories=21)
    size, n = 3, 50
    count = oracle.level_words(mechanism.other_probability, 8 * size * n)
    codes = codes_of(n, 21)
    for simd in simd_available():
        zeros = respond_from_words(mechanism, codes, np.zeros(count + n, np.uint64), simd=simd)
        np.testing.assert_array_equal(zeros, np.full((n, 3), [255, 255, 31]))
        ones = respond_from_words(mechanism, codes, np.full(count + n, HIGHEST, np.uint64), simd=simd)
        np.testing.assert_array_equal(ones, np.zeros((n, 3)))


def equal_levels(q: Fraction) -> tuple[np.ndarray, int]:
    """A word for each level of 64 coins that equal q, and the next 64 bits of q."""
    bits = q.numerator * 2 ** (64 + oracle.LEVELS) // q.denominator
    head = bits >> 64
    level = [HIGHEST if head >> (oracle.LEVELS - 1 - i) & 1 else 0 for i in range(oracle.LEVELS)]
    return np.array(level, np.uint64), bits % 2**64


@pytest.mark.parametrize("kind", UNARY)
def test_coins_at_the_edge_of_their_probability(kind: type[LocalRandomizer]) -> None:
    """Levels that equal those of q, and then a word just below, at and just above the rest of q."""
    mechanism = kind(epsilon=1, categories=64)
    q = mechanism.other_probability
    n, size = 5, 8
    level, tail = equal_levels(q)
    levels = np.repeat(level, size * n // 8)
    spare = np.array([max(0, tail + d) % 2**64 for _ in range(64 * n) for d in (-1, 0, 1)][: 64 * n], np.uint64)
    truth = mechanism.truth_probability * 2**64
    truths = np.array([truth - 1, truth, min(truth + 1, HIGHEST), 0, HIGHEST], object).astype(np.uint64)
    assert_exact(mechanism, np.arange(n) * 13, np.concatenate([levels, truths, spare]))


def test_too_few_words_are_refused() -> None:
    mechanism = OptimizedUnaryEncoding(epsilon=1, categories=64)
    level, _ = equal_levels(mechanism.other_probability)
    with pytest.raises(ValueError, match="words must hold 64 spare ones"):
        respond_from_words(mechanism, [0], np.concatenate([level, [np.uint64(0)]]))
    for wrong in (random_words(1, 3), random_words(1, 5)):
        with pytest.raises(ValueError, match="words must hold 4 64-bit words"):
            respond_from_words(RandomizedResponse(epsilon=1, categories=3), [0] * 4, wrong)
