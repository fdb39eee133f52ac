"""One release of n values, exactnoise against each naive way.

python -m pytest benchmarks/bench_release.py --benchmark-disable-gc
"""

from __future__ import annotations

import numpy as np
import pytest
from naive import NAIVE
from workload import SCALE, data, mechanism

SIZES = (1, 10, 1_000, 100_000, 1_000_000, 10_000_000)
PURE_PYTHON_LIMIT = 100_000  # beyond, a second and more a call would say nothing new
OURS = ("exactnoise", "exactnoise out=")


def cases():
    for name, ways in NAIVE.items():
        for n in SIZES:
            for impl in (*OURS, *ways):
                if impl != "pure Python" or n <= PURE_PYTHON_LIMIT:
                    group = pytest.mark.benchmark(group=f"{name} n={n}")
                    yield pytest.param(name, n, impl, id=f"{name}-{n}-{impl}", marks=group)


@pytest.mark.parametrize(("name", "n", "impl"), list(cases()))
def test_release(run, name, n, impl):
    x = data(name, n)
    if impl in OURS:
        noise, out = mechanism(name), np.empty_like(x) if impl.endswith("out=") else None
        run(impl, lambda: noise.release(x, budget=None, out=out))
    else:
        naive = NAIVE[name][impl]
        run(impl, lambda: naive(x, SCALE))
