"""How often the fast path declines a lane: predicted from its windows, and counted; and how much longer it takes then.

    python benchmarks/ambiguous.py [--lanes 10000000]

A lane is declined when the noisy value lies within its window w, in grid units, of a half-integer:
P = E[min(2w, 1)]. It takes hundreds of times as long as the others, and that is not hidden, so P is
the probability that a release of one value takes visibly longer.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import defaultdict

import numpy as np

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.testing import ambiguous_lanes, release_from_words, window, word_count

Mechanism = Laplace | Gaussian | DiscreteLaplace

STEPS = (10, 20, 30, 36)  # log2 of scale / granularity: 20 is the default grid, 36 the finest one that is allowed
PIECE = 1 << 20


def predicted(noise: Mechanism) -> float:
    """Return P, summed over the powers of two between which the uniform variable may lie.

    Small ones are rare and have wide windows: all count alike, and no sample would meet them all.
    """
    rng = np.random.default_rng(1)
    top_bit = np.uint64(1 << 63)
    total = 0.0
    for halvings in range(64):
        words = (rng.integers(0, 2**63, 2560, np.uint64) | top_bit) >> np.uint64(halvings)
        total += 2.0 ** -(halvings + 1) * np.minimum(2 * window(noise, words), 1).mean()
    return total


def counted(noise: Mechanism, lanes: int) -> int:
    rng = np.random.default_rng(1)
    count = 0
    for start in range(0, lanes, PIECE):
        n = min(PIECE, lanes - start)
        x = rng.random(n) * 1000
        if isinstance(noise, DiscreteLaplace):
            x = x.astype(np.int64)
        words = rng.integers(0, 2**64, word_count(noise, n), np.uint64)
        count += ambiguous_lanes(noise, x, words).size
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
            share = predicted(noise)
            print(
                f"{f'{name}, scale = 2^{bits} steps':<38}{f'2^{math.log2(share):.1f}':>9}"
                f"{share * lanes:>12.1f}{counted(noise, lanes):>10}"
            )
            if bits == STEPS[-1]:
                print("    a declined lane takes {:.0f} us longer, {:.0f} us at most".format(*delay(noise)))


if __name__ == "__main__":
    main()
