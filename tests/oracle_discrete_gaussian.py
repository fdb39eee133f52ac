"""Slow, readable oracle of the discrete Gaussian: the exact integers that random words stand for.

Like `oracle`, it knows nothing of the engine but the meaning of the words. From scale 4 on a sample is a rounded normal
variable that is accepted or replaced; every comparison is made with enclosures over the cells that the words begin, and
where they do not decide, extension words are appended.

One thing is the engine's own choice: a proposal that it sets aside, because it lies near a boundary, is replaced (if it
is rejected) by words of its own and not by those of the next trial. So the oracle is told which lanes were set aside.
It believes this only of proposals near a boundary, or rejected when the given words have run out, and it asks for every
proposal whose cell does hold a boundary.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator
from functools import cache
from typing import NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpfr
from oracle import FIRST_ATTEMPT, WORD, WORD_BITS, Attempt, Extension, Grid, gaussian_enclosure, split_angle

TABULATED_BELOW = 4
MOST_TRIALS = 64
TRIAL = 1 << 48  # what each earlier trial adds to the name of a pair

_REJECTED = object()


def word_count(samples: int, scale: float) -> int:
    """How many words one trial of so many samples takes."""
    return samples if scale < TABULATED_BELOW else 3 * ((samples + 1) // 2)


def discrete_gaussian(
    x: np.ndarray, words: np.ndarray, *, scale: float, block: int, set_aside: Collection[int], extension: Extension
) -> np.ndarray:
    """The int64 array that a discrete Gaussian release of integers must return."""
    noise = discrete_gaussian_noise(words, x.size, scale=scale, block=block, set_aside=set_aside, extension=extension)
    ks = (int(value) + k for value, k in zip(x.ravel().tolist(), noise, strict=True))
    return Grid(1.0, np.dtype(np.int64)).values(ks).reshape(x.shape)


def discrete_gaussian_noise(
    words: np.ndarray, samples: int, *, scale: float, block: int, set_aside: Collection[int], extension: Extension
) -> list[int]:
    """The integers X that the words stand for."""
    if scale < TABULATED_BELOW:
        return _tabulated(words.tolist(), scale, set_aside, extension)
    return _Trials(words.tolist(), samples, scale, block, set_aside, extension).run()


# ---------------------------------------------------------------------------------------------
# Scales below 4: |X| is the number of k >= 1 with U < P(|X| >= k)


def _tabulated(words: list[int], scale: float, set_aside: Collection[int], extension: Extension) -> list[int]:
    thresholds = [int(low * 2**50) for low, _ in tails(scale, FIRST_ATTEMPT.fraction)]
    noise = []
    for lane, word in enumerate(words):
        cell = word >> 14
        if cell == 0 or cell in thresholds:
            assert lane in set_aside, f"lane {lane} is open"
            magnitude = _rank_by_enclosure(cell, scale, lane, extension)
        else:
            assert lane not in set_aside, f"lane {lane} was decided by its first word"
            magnitude = sum(cell < threshold for threshold in thresholds)
        noise.append(-magnitude if word >> 13 & 1 else magnitude)
    return noise


def _rank_by_enclosure(cell: int, scale: float, lane: int, extension: Extension) -> int:
    bits = 50
    for number in itertools.count():
        magnitude = _rank(cell, bits, scale, FIRST_ATTEMPT.fraction + WORD_BITS * number)
        if magnitude is not None:
            return magnitude
        cell, bits = cell * WORD + extension(lane, number), bits + WORD_BITS
    raise AssertionError("unreachable")


def _rank(cell: int, bits: int, scale: float, precision: int) -> int | None:
    low, high = gmpy2.mpq(cell, 2**bits), gmpy2.mpq(cell + 1, 2**bits)
    enclosures = tails(scale, precision)
    for k, (least, most) in enumerate(enclosures):
        if high > least:
            return k if low >= most else None
    return len(enclosures) if low >= gmpy2.mpq(1, 2**precision) else None


@cache
def tails(scale: float, bits: int) -> list[tuple[gmpy2.mpq, gmpy2.mpq]]:
    """Enclosures of P(|X| >= k) for k = 1, 2, .. as long as it exceeds 2^-bits; narrower than 2^-(bits + 50)."""
    with gmpy2.context(precision=2 * bits + 200):
        rate = 1 / (2 * mpfr(scale) ** 2)
        weights = [mpfr(1)]
        while weights[-1] > mpfr(2) ** (-bits - 100):
            weights.append(gmpy2.exp(-rate * len(weights) ** 2))
        beyond = list(itertools.accumulate(reversed(weights[1:])))[
            ::-1
        ]  # sums from k on; the rest is below 2^-(bits+90)
        total = 1 + 2 * beyond[0]
        slack = gmpy2.mpq(1, 2 ** (bits + 60))
        probabilities = [gmpy2.mpq(2 * b / total) for b in beyond]
    return [(p - slack, p + slack) for p in probabilities if p > gmpy2.mpq(1, 2**bits)]


# ---------------------------------------------------------------------------------------------
# Scales from 4 on: K = round(Y), Y normal, if V exp((1/4 - F^2) / (2 s^2)) cosh(K F / s^2) < 1, F = Y - K


class Proposal(NamedTuple):
    """Three words (of the third its half, as an integer below 2^32), and which sample of the pair it is."""

    radius: int
    angle: int
    uniform: int
    sine: bool


class _Trials:
    """All proposals of a release, block by block and trial by trial."""

    def __init__(
        self,
        words: list[int],
        samples: int,
        scale: float,
        block: int,
        set_aside: Collection[int],
        extension: Extension,
    ) -> None:
        self.words, self.samples, self.scale, self.block = words, samples, scale, block
        self.set_aside, self.extension = frozenset(set_aside), extension
        self.per_trial = word_count(samples, scale)
        self.trials = min(MOST_TRIALS, len(words) // self.per_trial) if samples else 1
        self.noise = [0] * samples
        self.believed: set[int] = set()

    def run(self) -> list[int]:
        with gmpy2.context(precision=_MIDDLE_BITS):
            for start in range(0, self.samples, self.block):
                self._block(start, list(range(start, min(start + self.block, self.samples))))
        assert self.believed == self.set_aside, "lanes set aside that were near no boundary"
        return self.noise

    def _block(self, start: int, lanes: list[int]) -> None:
        for trial in range(self.trials):
            rejected = []
            last = trial == self.trials - 1
            first = trial * self.per_trial + 3 * self.block // 2 * (start // self.block)
            for lane, cosine, proposal in self._proposals(first, lanes):
                decided = middle(proposal, self.scale)
                if decided is None and lane in self.set_aside:
                    self._replace(lane, cosine + trial * TRIAL, proposal)
                    continue
                if decided is None:
                    decided = self._given(lane, proposal)
                if decided is not _REJECTED:
                    self.noise[lane] = decided
                elif last:
                    self._replace(lane, cosine + trial * TRIAL, proposal)
                else:
                    rejected.append(lane)
            lanes = sorted(rejected)

    def _proposals(self, first: int, lanes: list[int]) -> Iterator[tuple[int, int, Proposal]]:
        """Each lane with its pair's cosine lane and its words, which begin at `first`."""
        half = (len(lanes) + 1) // 2
        for j in range(half):
            radius, angle, third = (self.words[first + i * half + j] for i in range(3))
            yield lanes[j], lanes[j], Proposal(radius, angle, third >> 32, sine=False)
            if half + j < len(lanes):
                yield lanes[half + j], lanes[j], Proposal(radius, angle, third & 0xFFFFFFFF, sine=True)

    def _given(self, lane: int, proposal: Proposal) -> object:
        """The verdict on a proposal near a boundary that the engine says it decided."""
        verdict = _Cells(proposal, self.scale).verdict(FIRST_ATTEMPT)
        assert verdict is not None, f"lane {lane} is open: it had to be set aside"
        return verdict

    def _replace(self, lane: int, pair: int, proposal: Proposal) -> None:
        assert lane in self.set_aside, f"lane {lane} was rejected with no words left: it had to be set aside"
        self.believed.add(lane)
        self.noise[lane] = decide(proposal, self.scale, index=lane, pair=pair, extension=self.extension)


_MIDDLE_BITS = 128
# The fast path's windows are some 2^-45 s, more where U1's cell is wide, and 2^-31; near is a good deal more than that.
_NEAR_CELLS = 64
_NEAR_T = 2.0**-29


def middle(proposal: Proposal, scale: float) -> object | None:
    """The verdict at the middle of the cells: None near a boundary, so near that the cells could hold one."""
    cell = proposal.radius >> 13
    if not 1 << 11 <= cell <= (1 << 51) - (1 << 27):
        return None
    y = _middle_pair(cell, proposal.angle, scale)[proposal.sine]
    k = gmpy2.rint(y)
    f = y - k
    u = (2 * cell + 1) / 2**52
    radius = math.sqrt(-2 * math.log(u))
    near = _NEAR_CELLS * scale * (1 / (u * radius) + 4 * radius) * 2.0**-51 + 2.0**-50
    if 0.5 - abs(f) <= near:
        return None
    square = mpfr(scale) ** 2
    t = (proposal.uniform + 0.5) * gmpy2.exp((0.25 - f * f) / (2 * square)) * gmpy2.cosh(k * f / square) - 2**32
    if abs(t) <= 2**32 * (_NEAR_T + 8 * near * (8.6 * scale + 1) / scale**2):
        return None
    return int(k) if t < 0 else _REJECTED


_last: dict[str, object] = {}


def _middle_pair(cell: int, angle: int, scale: float) -> tuple[mpfr, mpfr]:
    """Y of both samples of a pair; the second one is asked for right after the first."""
    key = cell, angle, scale
    if _last.get("key") != key:
        quadrant, t = split_angle(angle)
        radius = scale * gmpy2.sqrt(-2 * gmpy2.log(gmpy2.div_2exp(mpfr(2 * cell + 1), 52)))
        sine, cosine = gmpy2.sin_cos(gmpy2.const_pi() * gmpy2.div_2exp(mpfr(2 * t + 1), 51))
        turned = ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))[quadrant]
        _last["key"], _last["pair"] = key, (radius * turned[0], radius * turned[1])
    pair: tuple[mpfr, mpfr] = _last["pair"]
    return pair


def decide(proposal: Proposal, scale: float, *, index: int, pair: int, extension: Extension) -> int:
    """The sample of a lane that was set aside with this proposal.

    The pair's words are extended from the pair's name, V and all fresh proposals from the sample's own.
    """
    own = (extension(-1 - index, j) for j in itertools.count())
    shared = (extension(pair, j) for j in itertools.count())
    while True:
        cells = _Cells(proposal, scale)
        for number in itertools.count():
            verdict = cells.verdict(Attempt(number))
            if verdict is not None:
                break
            cells.append(next(shared), next(shared), next(own))
        if verdict is not _REJECTED:
            assert isinstance(verdict, int)
            return verdict
        radius, angle, third = next(own), next(own), next(own)
        proposal, shared = Proposal(radius, angle, third >> 32, sine=False), own


class _Cells:
    """The cells of a proposal's three uniform variables, and what is certain of all their points."""

    def __init__(self, proposal: Proposal, scale: float) -> None:
        self.scale, self.sine = scale, proposal.sine
        self.quadrant, self.angle = split_angle(proposal.angle)
        self.radius, self.uniform = proposal.radius >> 13, proposal.uniform
        self.extended = 0

    def append(self, radius: int, angle: int, uniform: int) -> None:
        self.radius, self.angle = self.radius * WORD + radius, self.angle * WORD + angle
        self.uniform = self.uniform * WORD + uniform
        self.extended += WORD_BITS

    def verdict(self, attempt: Attempt) -> object | None:
        """K, or that it is rejected; None if that is open."""
        if self.radius == 0:  # a cell that touches U1 = 0 has no largest Y
            return None
        cells = self.radius, 51 + self.extended, self.angle, 49 + self.extended
        y = gaussian_enclosure(*cells, self.quadrant, self.scale, attempt)[self.sine]
        one, half = 1 << attempt.fraction, 1 << attempt.fraction - 1
        k = (y[0] + half) // one
        if y[1] > k * one + half:
            return None
        low, high = self._test(k, (y[0] - k * one, y[1] - k * one), attempt)
        return k if high < 1 else _REJECTED if low >= 1 else None

    def _test(self, k: int, f: tuple[int, int], attempt: Attempt) -> tuple[mpfr, mpfr]:
        """What is compared with 1, for F in units of 2^-fraction."""
        down, up = attempt.down, attempt.up
        least = 0 if f[0] <= 0 <= f[1] else min(abs(f[0]), abs(f[1]))
        most = max(abs(f[0]), abs(f[1]))
        with gmpy2.context(precision=5000):  # exact
            step = mpfr(2) ** -attempt.fraction
            near, far, square = least * step, most * step, mpfr(self.scale) ** 2
            v = [gmpy2.div_2exp(mpfr(self.uniform + end), 32 + self.extended) for end in (0, 1)]
            lowest, highest = 0.25 - far**2, 0.25 - near**2
            flat, steep, twice = abs(k) * near, abs(k) * far, 2 * square
        low = down.mul(down.exp(down.div(lowest, twice)), down.cosh(down.div(flat, square)))
        high = up.mul(up.exp(up.div(highest, twice)), up.cosh(up.div(steep, square)))
        return down.mul(v[0], low), up.mul(v[1], high)
