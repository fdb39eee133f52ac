"""Clipping the rows of a matrix, exactnoise against the naive way.

python -m pytest benchmarks/bench_clip.py --benchmark-disable-gc
"""

from __future__ import annotations

import numpy as np
import pytest
from naive_clip import NAIVE_CLIP

import exactnoise

SHAPES = ((1, 1_000), (100, 100), (10_000, 1_000), (10, 1_000_000))
OURS = ("exactnoise", "exactnoise out=")


def cases():
    for name in NAIVE_CLIP:
        for dtype in ("float32", "float64"):
            for shape in SHAPES:
                for impl in (*OURS, "NumPy"):
                    group = f"{name} {dtype} n={shape[0]}x{shape[1]}"
                    mark = pytest.mark.benchmark(group=group)
                    yield pytest.param(name, dtype, shape, impl, id=f"{group}-{impl}", marks=mark)


@pytest.mark.parametrize(("name", "dtype", "shape", "impl"), list(cases()))
def test_clip(run, name, dtype, shape, impl):
    rows = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    bound = shape[1] ** 0.5  # about every second row is scaled
    if impl in OURS:
        clip, out = getattr(exactnoise, name), np.empty_like(rows) if impl.endswith("out=") else None
        run(impl, lambda: clip(rows, bound, out=out))
    else:
        naive = NAIVE_CLIP[name]
        run(impl, lambda: naive(rows, bound))
