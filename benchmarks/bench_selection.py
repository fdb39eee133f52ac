"""One release of selections, exactnoise against the naive way.

python -m pytest benchmarks/bench_selection.py --benchmark-disable-gc
"""

from __future__ import annotations

import numpy as np
import pytest
from naive_selection import exponential_choice

from exactnoise import Exponential, PermuteAndFlip

EPSILON = 1.0
SHAPES = ((1, 4), (1, 1000), (1, 1_000_000), (100_000, 4), (100_000, 16), (10_000, 100))
IMPLEMENTATIONS = ("exactnoise", "exactnoise int64", "permute-and-flip", "naive")


def cases():
    for rows, candidates in SHAPES:
        for impl in IMPLEMENTATIONS:
            group = pytest.mark.benchmark(group=f"Exponential n={rows}x{candidates}")
            yield pytest.param(rows, candidates, impl, id=f"{rows}x{candidates}-{impl}", marks=group)


@pytest.mark.parametrize(("rows", "candidates", "impl"), list(cases()))
def test_selection(run, rows, candidates, impl):
    scores = np.random.default_rng(1).random((rows, candidates)) * 20
    if impl == "naive":
        run(impl, lambda: exponential_choice(scores, EPSILON, 1))
        return
    if impl.endswith("int64"):
        scores = scores.astype(np.int64)
    kind = PermuteAndFlip if impl == "permute-and-flip" else Exponential
    mechanism = kind(sensitivity=1, epsilon=EPSILON)
    run(impl, lambda: mechanism.release(scores, budget=None, disjoint=True))
