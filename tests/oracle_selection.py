"""Slow, readable oracle of selections: who has the highest noisy score, from the random words alone.

It knows nothing of the engine. The upper 51 bits of a word begin the binary digits of a uniform U; E = -ln U, and the
noise is E (permute-and-flip) or -ln E (exponential mechanism). Every noisy score is an interval over all U that begin
so, with outward rounding at 300 bits and more; whoever lies below another's lower end is out, and while several are
left each of those gets 64 digits more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq

Extension = Callable[[int, int], int]  # (flat candidate, j) -> its j-th extension word
Score = float | int | None  # None: missing

CELL_BITS = 51
PRECISION = 300


def select(
    scores: np.ndarray | Sequence[Sequence[Score]],
    words: np.ndarray,
    *,
    scale: float,
    gumbel: bool,
    extension: Extension,
    mask: np.ndarray | None = None,
) -> list[int]:
    """The selected index of every row."""
    rows = scores.tolist() if isinstance(scores, np.ndarray) else scores
    k = len(rows[0])
    excluded = np.broadcast_to(np.zeros(k, bool) if mask is None else mask, (len(rows), k)).tolist()
    given = words.tolist()
    return [
        select_row(row, out, given[i * k : (i + 1) * k], i * k, Fraction(scale), gumbel, extension)
        for i, (row, out) in enumerate(zip(rows, excluded, strict=True))
    ]


def counted(row: Sequence[Score], excluded: Sequence[bool]) -> list[Fraction]:
    """The scores as they count: NaN, -inf and missing as the lowest finite one, +inf as the highest."""
    finite = [
        Fraction(s) for s, out in zip(row, excluded, strict=True) if not out and s is not None and math.isfinite(s)
    ]
    if not finite:
        return [Fraction(0)] * len(row)
    low, high = min(finite), max(finite)
    return [Fraction(s) if s is not None and math.isfinite(s) else high if s == math.inf else low for s in row]


def select_row(
    row: Sequence[Score],
    excluded: Sequence[bool],
    words: Sequence[int],
    first_lane: int,
    scale: Fraction,
    gumbel: bool,
    extension: Extension,
) -> int:
    scores = counted(row, excluded)
    cells = {i: words[i] >> 64 - CELL_BITS for i, out in enumerate(excluded) if not out}
    origin = max(scores[i] for i in cells)
    for more in itertools.count():
        bits = CELL_BITS + 64 * more
        ends = {
            i: noisy((scores[i] - origin) / scale, cell, bits, gumbel, PRECISION + 64 * more)
            for i, cell in cells.items()
        }
        floor = max(low for low, _ in ends.values())
        cells = {i: cells[i] for i, (_, high) in ends.items() if high >= floor}
        if len(cells) == 1:
            return next(iter(cells))
        cells = {i: cell << 64 | extension(first_lane + i, more) for i, cell in cells.items()}
    raise AssertionError


def noisy(t: Fraction, cell: int, bits: int, gumbel: bool, precision: int) -> tuple[mpfr, mpfr]:
    """Lower and upper end of t + noise for U in [cell, cell + 1] 2^-bits."""
    down = gmpy2.context(precision=precision, round=gmpy2.RoundDown)
    up = gmpy2.context(precision=precision, round=gmpy2.RoundUp)
    power = gmpy2.mpz(1) << bits
    low_u, high_u = down.div(gmpy2.mpz(cell), power), up.div(gmpy2.mpz(cell + 1), power)
    low, high = down.minus(up.log(high_u)), up.minus(down.log(low_u))
    if gumbel:
        low, high = down.minus(up.log(high)), up.minus(down.log(low))
    exact = mpq(t.numerator, t.denominator)
    return down.add(low, exact), up.add(high, exact)
