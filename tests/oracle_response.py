"""Local randomisers and coins from given words, written from native/response.h and response_kernels.h in integers.

One report, one coin at a time and nothing clever: a list of the other values is really made, a uniform number really
assembled bit by bit. It shares no code with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import gmpy2

REPORT_BLOCK, COIN_GROUPS, LEVELS = 512, 128, 8
ONE = 2**64

Extension = Callable[[int, int], int]


def other_share(epsilon: Fraction, choices: int) -> int:
    """ceil(2^64 / (e^epsilon + choices - 1)), from 500 bits."""
    with gmpy2.context(precision=500):
        exact = gmpy2.mpfr(gmpy2.mpq(epsilon.numerator, epsilon.denominator))
        return int(gmpy2.ceil(gmpy2.mpfr(ONE) / (gmpy2.exp(exact) + (choices - 1))))


def nearest(epsilon: Fraction) -> int:
    """e^epsilon + 1 to the nearest whole number."""
    with gmpy2.context(precision=500):
        return int(gmpy2.rint(gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(epsilon.numerator, epsilon.denominator))) + 1))


def read(code: int, categories: int, missing: int) -> int:
    return code if 0 <= code < categories else missing


def respond(value: int, word: int, choices: int, other: int) -> int:
    keep = ONE - (choices - 1) * other
    if word < keep:
        return value
    j = (word - keep) // other
    return j if j < value else j + 1


def randomized_response(
    codes: Sequence[int], words: Sequence[int], *, categories: int, missing: int, other: int
) -> list[int]:
    return [
        respond(read(code, categories, missing), word, categories, other)
        for code, word in zip(codes, words, strict=True)
    ]


def bucket(a: int, b: int, value: int, buckets: int) -> int:
    return ((a * value + b) % 2**32 // 2**16) * buckets // 2**16


def local_hashing(
    codes: Sequence[int], words: Sequence[int], *, categories: int, missing: int, buckets: int, other: int
) -> list[tuple[int, int, int]]:
    """(a, b, bucket) of each report."""
    reports, words = [], list(words)
    for start in range(0, len(codes), REPORT_BLOCK):
        block = codes[start : start + REPORT_BLOCK]
        hashes, responses = words[: len(block)], words[len(block) : 2 * len(block)]
        del words[: 2 * len(block)]
        for code, pair, word in zip(block, hashes, responses, strict=True):
            a, b = pair % 2**32, pair // 2**32
            truth = bucket(a, b, read(code, categories, missing), buckets)
            reports.append((a, b, respond(truth, word, buckets, other)))
    assert not words
    return reports


def level_count(p: Fraction) -> int:
    """As many levels as the expansion of p has bits, at most LEVELS."""
    return next((n for n in range(1, LEVELS) if (p * 2**n).denominator == 1), LEVELS)


def level_words(p: Fraction, coins: int) -> int:
    return -(-coins // 64) * level_count(p)


def coins(p: Fraction, n: int, words: Sequence[int], spare: Sequence[int], extension: Extension) -> list[int]:
    """n coins of probability p, for a whole number of bytes: words of stream 0, then what the undecided ones take."""
    levels, spare, drawn = level_count(p), iter(spare), []
    words = list(words)
    for start in range(0, n, 64 * COIN_GROUPS):
        here = min(n - start, 64 * COIN_GROUPS)
        groups = -(-here // 64)
        for c in range(here):
            u = Fraction(0)
            for level in range(levels):
                u += Fraction(words[level * groups + c // 64] >> c % 64 & 1, 2 ** (level + 1))
            width, j = Fraction(1, 2**levels), -1
            # U is somewhere in [u, u + width): as long as p is inside, more bits are needed.
            while u < p < u + width:
                word = next(spare) if j < 0 else extension(start + c, j)
                width /= ONE
                u += word * width
                j += 1
            drawn.append(int(u < p))
        del words[: levels * groups]
    assert not words
    return drawn


def packed(bits: Sequence[int]) -> bytes:
    """Bit c is bit c % 8 of byte c // 8."""
    return bytes(sum(bit << i for i, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8))


def unary(
    codes: Sequence[int], words: Sequence[int], *, categories: int, missing: int, truth: int, other: int
) -> list[bytes]:
    """The rows; truth and other are numerators over 2^64."""
    size = -(-categories // 8)
    q, total = Fraction(other, ONE), 8 * size * len(codes)
    first = level_words(q, total)
    levels, truths, spare = words[:first], words[first : first + len(codes)], words[first + len(codes) :]
    flat = coins(q, total, levels, spare, _never)
    rows = []
    for i, (code, word) in enumerate(zip(codes, truths, strict=True)):
        row = flat[8 * size * i : 8 * size * (i + 1)]
        row[read(code, categories, missing)] = int(word < truth)
        row[categories:] = [0] * (8 * size - categories)
        rows.append(packed(row))
    return rows


def _never(coin: int, j: int) -> int:
    raise AssertionError(f"coin {coin} asks for word {j} beyond a probability of 64 bits")
