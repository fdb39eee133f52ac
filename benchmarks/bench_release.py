"""One release of n values, exactnoise against each naive way.

python -m pytest benchmarks/bench_release.py --benchmark-disable-gc
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from naive import NAIVE
from workload import SCALE, data, mechanism

SIZES = (1, 10, 1_000, 100_000, 1_000_000, 10_000_000)
PURE_PYTHON_LIMIT = 100_000  # beyond, a second and more a call would say nothing new
# The discrete Gaussian is drawn from a table below a scale of 4, and by rejection from there on.
SCALES = {"DiscreteGaussian": (1.0, 10.0, 1e6)}
OURS = ("exactnoise", "exactnoise out=")


def cases():
    for name, ways in NAIVE.items():
        for n, scale in itertools.product(SIZES, SCALES.get(name, (SCALE,))):
            what = f"{name} scale={scale:g}" if name in SCALES else name
            for impl in (*OURS, *ways):
                if impl != "pure Python" or n <= PURE_PYTHON_LIMIT:
                    group = pytest.mark.benchmark(group=f"{what} n={n}")
                    yield pytest.param(name, n, scale, impl, id=f"{what}-{n}-{impl}", marks=group)


@pytest.mark.parametrize(("name", "n", "scale", "impl"), list(cases()))
def test_release(run, name, n, scale, impl):
    x = data(name, n)
    if impl in OURS:
        noise, out = mechanism(name, scale), np.empty_like(x) if impl.endswith("out=") else None
        run(impl, lambda: noise.release(x, budget=None, out=out))
    else:
        naive = NAIVE[name][impl]
        run(impl, lambda: naive(x, scale))
