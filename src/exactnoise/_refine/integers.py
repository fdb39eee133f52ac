"""Discrete Gaussian lanes that the kernels declined: native/discrete_gaussian.h."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

from exactnoise._refine.directed import FIRST_PRECISION, Directed, Interval, Mpfr, directed, exact
from exactnoise._refine.discrete_gaussian import Sums
from exactnoise._refine.noise import GaussianNoise
from exactnoise._refine.words import Cell

__all__ = ["decide_proposals", "decide_tabulated"]


def decide_tabulated(sigma: float, word: int, extra: Iterator[int]) -> int:
    """The integer that a word stands for: the signed number of k >= 1 with U < P(|X| >= k)."""
    cell = Cell(word >> 14, 50)
    for precision in itertools.count(FIRST_PRECISION, 64):
        magnitude = _rank(cell, Sums(Fraction(sigma), directed(precision)))
        if magnitude is not None:
            return -magnitude if word >> 13 & 1 else magnitude
        cell.append(next(extra))
    raise AssertionError("unreachable: the precisions do not end")


def _rank(cell: Cell, sums: Sums) -> int | None:
    low, high = cell.ends
    for k in itertools.count(1):
        least, most = sums.probability_beyond(k)
        if high > least:
            return k - 1 if low >= most else None
    raise AssertionError("unreachable: the tails vanish")


def decide_proposals(
    sigma: float, words: tuple[int, int, int], *, sine: bool, pair: Iterator[int], own: Iterator[int]
) -> int:
    """The first proposal that is accepted: the one in `words`, or one of fresh words.

    Parameters
    ----------
    words : tuple of int
        Of the pair, and of V in the upper half.
    sine : bool
        Whether the proposal is the pair's second sample.
    pair, own : iterator of int
        Additional words of the pair, which both of its samples see, and of this sample alone: for V, and for fresh
        proposals, of which each takes three words before any is extended.
    """
    proposal = _Proposal(sigma, words, sine=sine)
    while True:
        k = proposal.decide(pair, own)
        if k is not None:
            return k
        proposal, pair = _Proposal(sigma, (next(own), next(own), next(own)), sine=False), own


class _Proposal:
    """Y, whose rounding K is accepted if V exp((1/4 - F^2) / (2 sigma^2)) cosh(K F / sigma^2) < 1, F = Y - K."""

    def __init__(self, sigma: float, words: tuple[int, int, int], *, sine: bool) -> None:
        self._noise = GaussianNoise(sigma, words[0], words[1], sine=sine)
        self._uniform = Cell(words[2] >> 32, 32)
        self._square = _square(sigma)

    def decide(self, pair: Iterator[int], own: Iterator[int]) -> int | None:
        """K, or None if it is rejected."""
        for precision in itertools.count(FIRST_PRECISION, 64):
            at = directed(precision)
            y = self._noise.enclosure(at)
            k = at.nearest_integer(y)
            if k is not None:
                if self._is_far_below(k, at):
                    return k
                least, most = self._test(k, y, at)
                if most < 1:
                    return k
                if least >= 1:
                    return None
            for cell in self._noise.cells:
                cell.append(next(pair))
            self._uniform.append(next(own))
        raise AssertionError("unreachable: the precisions do not end")

    def _is_far_below(self, k: int, at: Directed) -> bool:
        """Whether V < 1 - p - |u| with p = 1 / (8 sigma^2) and u = K / (2 sigma^2), as it nearly always is.

        Then V exp(p) cosh(u) <= V exp(p + |u|) < 1, since exp(-t) >= 1 - t.
        """
        most = at.up.div(exact(4 * abs(k) + 1, -3), self._square)
        return bool(self._uniform.ends[1] < at.down.sub(exact(1), most))

    def _test(self, k: int, y: Interval, at: Directed) -> Interval:
        """The number that is compared with 1: it depends on |F| and, by the product K F, on no sign."""
        down, up, square = at.down, at.up, self._square
        low, high = down.sub(y[0], exact(k)), up.sub(y[1], exact(k))
        if low < 0 < high:
            near, far = exact(0), max(at.negated((low, low))[0], high)
        else:
            near, far = (low, high) if low >= 0 else at.negated((low, high))
        # Decreasing in |F|, and increasing in it.
        exponent_low = down.div(down.sub(exact(1, -2), up.mul(far, far)), up.mul(exact(2), square))
        exponent_high = up.div(up.sub(exact(1, -2), down.mul(near, near)), down.mul(exact(2), square))
        cosh_low = down.cosh(down.div(down.mul(exact(abs(k)), near), square))
        cosh_high = up.cosh(up.div(up.mul(exact(abs(k)), far), square))
        v_low, v_high = self._uniform.ends
        return (
            down.mul(down.mul(v_low, down.exp(exponent_low)), cosh_low),
            up.mul(up.mul(v_high, up.exp(exponent_high)), cosh_high),
        )


def _square(sigma: float) -> Mpfr:
    """sigma^2, exactly."""
    numerator, denominator = sigma.as_integer_ratio()
    return exact(numerator * numerator, -2 * (denominator.bit_length() - 1))
