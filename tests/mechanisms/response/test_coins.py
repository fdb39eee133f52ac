"""Coins of rational probability: exact for every word, however long a coin stays undecided."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracle_response as oracle
import pytest
from goodness import ALARM, chi_square, count_tail
from support import extension, random_words

from exactnoise import EntropyError, _native
from exactnoise._native import simd_available
from exactnoise.mechanisms.response import bernoulli
from exactnoise.mechanisms.response.coins import _RANGE
from exactnoise.testing import coins_from_words

ONES = 2**64 - 1
PROBABILITIES = [
    Fraction(1, 3), Fraction(1, 2), Fraction(1, 4), Fraction(3, 4), Fraction(1, 10), Fraction(999, 1000),
    Fraction(1, 2**8), Fraction(2**8 - 1, 2**8), Fraction(1, 2**9), Fraction(12345, 2**64), Fraction(1, 2**70),
    Fraction(1, 2**72), Fraction(1, 2**73), 1 - Fraction(1, 2**73), Fraction(1, 3 * 2**64), 1 - Fraction(1, 10**60),
]  # fmt: skip
LENGTHS = [0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000, 8191, 8192, 8193, 8192 + 65, 2 * 8192 + 1]


def expansion(p: Fraction, bits: int) -> int:
    return p.numerator * 2**bits // p.denominator


def like(p: Fraction, n: int) -> np.ndarray:
    """Level words that equal p in all n coins."""
    levels = oracle.level_count(p)
    head = expansion(p, levels)
    groups = -(-n // 64)
    return np.repeat(np.array([ONES if head >> (levels - 1 - i) & 1 else 0 for i in range(levels)], np.uint64), groups)


def whole(n: int) -> int:
    """Coins are drawn in whole bytes."""
    return -(-n // 8) * 8


def assert_exact(p: Fraction, n: int, words: np.ndarray, more=extension) -> None:
    first = oracle.level_words(p, whole(n))
    given = [int(word) for word in words]
    want = oracle.coins(p, whole(n), given[:first], given[first:], more)[:n]
    for simd in simd_available():
        got = coins_from_words(p, n, words, extension=more, simd=simd)
        assert got.dtype == np.bool_
        assert got.astype(int).tolist() == want, f"{p} with {simd}"


@pytest.mark.parametrize("p", PROBABILITIES, ids=str)
def test_random_words(p: Fraction) -> None:
    n = 3000
    assert_exact(p, n, random_words(1, oracle.level_words(p, n) + 300))


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int) -> None:
    for p in (Fraction(1, 3), Fraction(3, 8)):
        assert_exact(p, n, random_words(n, oracle.level_words(p, n) + n // 20 + 100))


@pytest.mark.parametrize("p", PROBABILITIES, ids=str)
def test_zeros_are_below_and_ones_above(p: Fraction) -> None:
    n = 300
    count = oracle.level_words(p, whole(n)) + whole(n)
    for word, want in ((0, True), (ONES, False)):
        words = np.full(count, word, np.uint64)
        assert_exact(p, n, words, lambda coin, j, word=word: word)
        assert np.all(coins_from_words(p, n, words, extension=lambda coin, j, word=word: word) == want)


@pytest.mark.parametrize("bits", [8, 72, 136, 200, 264])
@pytest.mark.parametrize("p", PROBABILITIES, ids=str)
def test_undecided_for_long(p: Fraction, bits: int) -> None:
    """Coins that equal p in 8, 72, ... bits; the next word is just below, at or just above that of p."""
    n, levels = 64 + 8, oracle.level_count(p)
    whole_words = (bits - oracle.LEVELS) // 64

    def word(j: int, shift: int = 0) -> int:
        """The j-th word of p after the levels, moved by a little."""
        return max(0, min(ONES, expansion(p, levels + 64 * (j + 1)) % 2**64 + shift))

    def shift(coin: int) -> int:
        return coin % 3 - 1

    spare = [word(0, shift(coin) if whole_words == 0 else 0) for coin in range(n)]

    def more(coin: int, j: int) -> int:
        if j + 1 < whole_words:
            return word(j + 1)
        return word(j + 1, shift(coin)) if j + 1 == whole_words else extension(coin, j)

    assert_exact(p, n, np.concatenate([like(p, n), np.array(spare, np.uint64)]), more)


def test_a_third_that_is_cut_after_72_bits_would_be_seen() -> None:
    """The control: words that equal 1/3 and then are a little below."""
    p = Fraction(1, 3)
    cut = Fraction(expansion(p, 72), 2**72)
    n = 64
    spare = np.full(n, expansion(p, 72) % 2**64, np.uint64)
    words = np.concatenate([like(p, n), spare])
    assert coins_from_words(p, n, words, extension=lambda coin, j: 0).all()
    assert not coins_from_words(cut, n, words, extension=lambda coin, j: 0).any()


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(3, 256)])
def test_short_expansions_take_no_spare_words(p: Fraction) -> None:
    n = 640
    words = like(p, n)
    assert words.size == 10 * oracle.level_count(p)
    assert not coins_from_words(p, n, words).any()


# From the outside


@pytest.mark.parametrize("randomness", ["chacha20", "os"])
@pytest.mark.parametrize("workers", [1, 3])
def test_shares(randomness: str, workers: int) -> None:
    n = 300_001
    for p in (Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000), Fraction(1, 2**70), Fraction(99, 100)):
        coins = bernoulli(p, n, randomness=randomness, workers=workers)
        assert coins.shape == (n,)
        assert coins.dtype == np.bool_
        assert count_tail(int(coins.sum()), n, float(p)) > ALARM
    assert count_tail(int(bernoulli("0.36", n).sum()), n, 1 / 3) < ALARM  # the control


def test_neighbours_are_independent() -> None:
    coins = coins_from_words(Fraction(1, 3), 640_000, random_words(3, 640_000 // 64 * 8 + 5000))
    for apart in (1, 8, 64, 8192):
        pairs = 2 * coins[:-apart] + coins[apart:]
        pairs = pairs.reshape(-1)[: pairs.size // (2 * apart) * 2 * apart].reshape(-1, 2, apart)[:, 0].ravel()
        assert chi_square(np.bincount(pairs, minlength=4), np.array([4, 2, 2, 1]) / 9) > ALARM


def test_certain_coins_draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_bytes(buffer: bytearray) -> None:
        raise EntropyError("no bytes")

    monkeypatch.setattr(_native, "fill_entropy", no_bytes)
    for certain in (0, 0.0, "0"):
        assert not bernoulli(certain, 1000).any()
    for certain in (1, 1.0, "1"):
        assert bernoulli(certain, 1000).all()
    assert bernoulli("1/3", 0).shape == (0,)
    with pytest.raises(EntropyError):
        bernoulli("1/3", 1000)


def test_ranges_and_calls_are_independent() -> None:
    n = _RANGE + 1000
    first, second = bernoulli("1/2", n), bernoulli("1/2", n)
    assert np.any(first[:1000] != first[_RANGE:])
    assert np.any(first[:1000] != second[:1000])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("1.5", 3), ValueError, "probability must lie between 0 and 1, got '1.5'"),
        ((-0.1, 3), ValueError, "probability must be zero or a positive number"),
        ((float("nan"), 3), ValueError, "probability must be finite"),
        ((True, 3), TypeError, "probability must be a number"),
        ((0.5, -1), ValueError, "n must be a whole number >= 0"),
        ((0.5, 2.0), TypeError, "n must be a whole number >= 0"),
        ((0.5, True), TypeError, "n must be a whole number >= 0"),
    ],
)
def test_refusals(arguments: tuple, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        bernoulli(*arguments)


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="randomness must be"):
        bernoulli(0.5, 3, randomness="seed")
    with pytest.raises(ValueError, match="workers must be"):
        bernoulli(0.5, 3, workers=0)
