"""How often the fast path declines a lane: predicted from its windows, and counted; and how much longer it takes then.

    python benchmarks/ambiguous.py [--lanes 10000000]

A lane is declined when the noisy value lies within its window w, in grid units, of a half-integer:
P = E[min(2w, 1)]. It takes hundreds of times as long as the others, and that is not hidden, so P is
the probability that a release of one value takes visibly longer. The window grows with the noise, so P
is given for the smallest tenth of all noise, for the next one, and so on, as well.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict
from statistics import NormalDist

import numpy as np

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise._native import BLOCK
from exactnoise.testing import ambiguous_lanes, release_from_words, window, word_count

Mechanism = Laplace | Gaussian | DiscreteLaplace

STEPS = (10, 20, 30, 36)  # log2 of scale / granularity: 20 is the default grid, 36 the finest one that is allowed
PIECE = 1 << 20
TENTHS = 10


def predicted(noise: Mechanism) -> np.ndarray:
    """Return P in each tenth of |noise|, summed over the powers of two between which the uniform variable may lie.

    Small ones are rare and have wide windows: all count alike, and no sample would meet them all.
    """
    odd = np.arange(1, BLOCK, 2, dtype=np.uint64)  # the middles of equal cells between two powers
    cells = np.uint64(1 << 63) + odd * np.uint64(2**63 // BLOCK)
    total = np.zeros(TENTHS)
    for halvings in range(64):
        words = cells >> np.uint64(halvings)
        slow = np.minimum(2 * window(noise, np.tile(words, 2))[: words.size], 1)  # Gaussian: radii, then angles
        below = [np.zeros(words.size), *(share_below(noise, words, t) for t in edges(noise)), np.ones(words.size)]
        total += 2.0 ** -(halvings + 1) * (slow * np.diff(below, axis=0)).mean(axis=1)
    return total * TENTHS


def edges(noise: Mechanism) -> list[float]:
    """Return what |noise| / scale is below with probability 0.1, ..., 0.9."""
    shares = [i / TENTHS for i in range(1, TENTHS)]
    if isinstance(noise, Gaussian):
        return [NormalDist().inv_cdf((1 + share) / 2) for share in shares]
    return [-math.log1p(-share) for share in shares]


def share_below(noise: Mechanism, words: np.ndarray, t: float) -> np.ndarray:
    """Return the probability that |noise| / scale is below t, given the words of its uniform variable."""
    magnitude = -np.log(np.maximum(words, 1) / 2.0**64)
    if isinstance(noise, Gaussian):  # radius |cos angle|
        return 1 - np.arccos(np.minimum(t / np.sqrt(2 * magnitude), 1)) * 2 / math.pi
    return (magnitude < t).astype(float)


def counted(noise: Mechanism, lanes: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    count = np.zeros(TENTHS, int)
    for start in range(0, lanes, PIECE):
        n = min(PIECE, lanes - start)
        x = rng.random(n) * 1000
        if isinstance(noise, DiscreteLaplace):
            x = x.astype(np.int64)
        words = rng.integers(0, 2**64, word_count(noise, n), np.uint64)
        declined = ambiguous_lanes(noise, x, words)
        size = np.abs(release_from_words(noise, x, words) - x)[declined] / float(noise.scale)
        count += np.bincount(np.searchsorted(edges(noise), size), minlength=TENTHS)
    return count


def delay(noise: Mechanism, lanes: int = 30) -> tuple[float, float]:
    """Return by how many microseconds a release of one value takes longer if its lane is declined: median and most."""
    rng = np.random.default_rng(1)
    x = np.zeros(1, np.int64 if isinstance(noise, DiscreteLaplace) else np.float64)
    times = defaultdict(list)  # by whether the lane is declined
    while len(times[True]) < lanes:
        words = rng.integers(0, 2**64, word_count(noise, 1), np.uint64)
        declined = ambiguous_lanes(noise, x, words).size > 0
        if len(times[declined]) < lanes:
            times[declined].append(min(timed(noise, x, words) for _ in range(200)))
    usual = float(np.median(times[False]))
    return float(np.median(times[True])) - usual, max(times[True]) - usual


def timed(noise: Mechanism, x: np.ndarray, words: np.ndarray) -> float:
    start = time.perf_counter_ns()
    release_from_words(noise, x, words)
    return (time.perf_counter_ns() - start) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lanes", type=int, default=10_000_000)
    lanes = parser.parse_args().lanes
    print(f"{'':<38}{'P':>9}{'expected':>12}{'counted':>10}  of {lanes} lanes")
    for bits in STEPS:
        step = 2.0**-bits
        for name, noise in {
            "Laplace": Laplace(sensitivity=1, scale=1, granularity=step),
            "Gaussian": Gaussian(sensitivity=1, scale=1, granularity=step),
            "DiscreteLaplace": DiscreteLaplace(sensitivity=1, scale=2**bits),
        }.items():
            shares, counts = predicted(noise), counted(noise, lanes)
            share = shares.mean()
            print(
                f"{f'{name}, scale = 2^{bits} steps':<38}{f'2^{math.log2(share):.1f}':>9}"
                f"{share * lanes:>12.1f}{counts.sum():>10}"
            )
            print("    in the tenths of |noise|: P = 2^", ", ".join(f"{power:.1f}" for power in np.log2(shares)))
            print("    counted in them:", *counts)
            if bits == STEPS[-1]:
                print("    a declined lane takes {:.0f} us longer, {:.0f} us at most".format(*delay(noise)))


if __name__ == "__main__":
    main()
