"""Coins that are 1 with exactly a rational probability, by the million.

A coin is 1 iff U < p, U uniform. Bits of U are drawn until they differ from those of p: the first eight for 64 coins at
a time in the core, then 64 more for one coin in 256, and further ones, against those of p by long division, for as
long as it takes. A coin is never drawn anew and never decided early.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._refine import Extension, fresh_extension
from exactnoise.accounting.amount import Number, exact, shown
from exactnoise.accounting.convert import checked_whole
from exactnoise.mechanisms._options import Randomness, check_randomness, check_workers
from exactnoise.mechanisms._ranges import run_in_ranges

__all__ = ["bernoulli", "binary_expansion", "checked_probability", "flip"]

_RANGE = 2**20
_WORD = 64

Bools = npt.NDArray[np.bool_]


def bernoulli(probability: Number, n: SupportsIndex, *, randomness: Randomness = "chacha20", workers: int = 1) -> Bools:
    """Return n independent coins that are True with exactly a rational probability.

    Parameters
    ----------
    probability : number
        Between 0 and 1, both allowed. Like every number here, a float counts as the decimal number that it prints as:
        0.1 is one tenth.
    n : int
    randomness : {"chacha20", "os"}
        As in `release`.
    workers : int
        Threads that share the work; the GIL is released.

    Returns
    -------
    ndarray of bool
        Of shape (n,).

    Raises
    ------
    TypeError, ValueError
        A parameter is not allowed.
    EntropyError
        The operating system gives no random bytes.

    Notes
    -----
    Exact: no probability is rounded to a multiple of anything. Probability 0 and 1 take no random words.

    Examples
    --------
    >>> bernoulli("1/3", 5).shape, bernoulli(1, 3).tolist()
    ((5,), [True, True, True])
    """
    p = checked_probability(probability)
    count = checked_whole(n, "n", least=0)
    check_randomness(randomness)
    check_workers(workers)
    coins = np.full(count, p == 1)
    if 0 < p < 1:
        coin = _native.Coin(*binary_expansion(p), _native.SIMD)

        def write(start: int, stop: int, key: bytearray | None) -> None:
            coins[start:stop] = flip(coin, p, stop - start, fresh_extension(), key=key)

        words = -(-count * _native.COIN_LEVELS // _WORD)
        run_in_ranges(write, count, _RANGE, words=words, workers=int(workers), randomness=randomness)
    return coins


def checked_probability(probability: Number) -> Fraction:
    """The exact probability, from 0 to 1."""
    p = exact(probability, "probability", positive=False)
    if p > 1:
        raise ValueError(f"probability must lie between 0 and 1, got {shown(probability)}")
    return p


def binary_expansion(p: Fraction) -> tuple[int, int, int, Literal["levels", "tail", "never"]]:
    """A probability as the core takes it: the number of levels, their bits, 64 more, and where they end."""
    places = p.denominator.bit_length() - 1
    dyadic = p.denominator == 1 << places
    levels = min(places, _native.COIN_LEVELS) if dyadic else _native.COIN_LEVELS
    bits = (p.numerator << levels + _WORD) // p.denominator
    ends: Literal["levels", "tail", "never"] = "never"
    if dyadic and places <= levels + _WORD:
        ends = "levels" if places <= levels else "tail"
    return levels, bits >> _WORD, bits & (1 << _WORD) - 1, ends


def flip(
    coin: _native.Coin,
    p: Fraction,
    n: int,
    extension: Extension,
    *,
    key: bytearray | None = None,
    words: npt.NDArray[np.uint64] | None = None,
) -> Bools:
    """One range of coins. `extension` gives the words that a coin takes beyond levels and tail."""
    ones, undecided = np.empty((2, -(-n // 8)), np.uint8)
    coin.flip(ones, undecided, key=key, words=words)
    coins = np.unpackbits(ones, count=n, bitorder="little").view(np.bool_)
    if undecided.any():
        known = _native.COIN_LEVELS + _WORD
        for i in np.flatnonzero(np.unpackbits(undecided, count=n, bitorder="little")).tolist():
            coins[i] = _is_below(p, known, partial(extension, i))
    return coins


def _is_below(p: Fraction, known: int, word: Callable[[int], int]) -> bool:
    """Whether U < p, where the first `known` bits of both are the same; word(j) is the j-th word of U after them."""
    rest, j = (p.numerator << known) % p.denominator, 0
    while rest:
        expected, rest = divmod(rest << _WORD, p.denominator)
        if (drawn := word(j)) != expected:
            return drawn < expected
        j += 1
    return False
