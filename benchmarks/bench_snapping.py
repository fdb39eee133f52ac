"""One release of n values by the snapping mechanism, exactnoise against each naive way.

python -m pytest benchmarks/bench_snapping.py --benchmark-disable-gc
"""

from __future__ import annotations

import numpy as np
import pytest
from naive_snapping import NAIVE_SNAPPING

from exactnoise import Snapping

SIZES = (1, 1_000, 100_000, 1_000_000)
OURS = ("exactnoise", "exactnoise out=")
SCALE, LOW, HIGH = 1.0, 0.0, 1000.0


def cases():
    for n in SIZES:
        for impl in (*OURS, *NAIVE_SNAPPING):
            yield pytest.param(n, impl, id=f"{n}-{impl}", marks=pytest.mark.benchmark(group=f"Snapping n={n}"))


@pytest.mark.parametrize(("n", "impl"), list(cases()))
def test_release(run, n, impl):
    x = np.random.default_rng(1).random(n) * 1000
    if impl in OURS:
        noise = Snapping(sensitivity=1, epsilon=1 / SCALE, bounds=(LOW, HIGH))
        out = np.empty_like(x) if impl.endswith("out=") else None
        run(impl, lambda: noise.release(x, budget=None, out=out))
    else:
        naive = NAIVE_SNAPPING[impl]
        run(impl, lambda: naive(x, SCALE, LOW, HIGH))
