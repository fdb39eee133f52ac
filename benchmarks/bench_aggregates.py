"""Exact sums, counts and bins, exactnoise against the naive ways.

python -m pytest benchmarks/bench_aggregates.py --benchmark-disable-gc
"""

from __future__ import annotations

import aggregates
import naive_aggregates as naive
import numpy as np
import pytest
from aggregates import HIGH, LOW

SIZES = (1_000, 100_000, 10_000_000)
IMPLS = ("exactnoise", "NumPy")


def sizes(name: str, *parameters: object):
    for n in SIZES:
        for impl in IMPLS:
            group = " ".join(map(str, [name, *parameters])) + f" n={n}"
            mark = pytest.mark.benchmark(group=group)
            yield pytest.param(*parameters, n, impl, id=f"{group}-{impl}", marks=mark)


def cases(name: str, choices: tuple[object, ...]):
    return [case for choice in choices for case in sizes(name, choice)]


@pytest.mark.parametrize(("dtype", "n", "impl"), cases("sum", ("float64", "float32", "int64")))
def test_sum(run, dtype, n, impl):
    x = aggregates.values(n, dtype)
    run(impl, aggregates.clipped_sum(x) if impl == IMPLS[0] else lambda: naive.clipped_sum(x, LOW, HIGH))


@pytest.mark.parametrize(("groups", "n", "impl"), cases("grouped sum", (10, 10_000)))
def test_grouped_sum(run, groups, n, impl):
    x, codes = aggregates.values(n), aggregates.codes(n, groups)
    ours = aggregates.clipped_sum(x, codes, groups)
    run(impl, ours if impl == IMPLS[0] else lambda: naive.grouped_sum(x, codes, LOW, HIGH))


@pytest.mark.parametrize(("n", "impl"), list(sizes("moments")))
def test_moments(run, n, impl):
    x = aggregates.values(n)
    run(impl, aggregates.moments(x) if impl == IMPLS[0] else lambda: naive.moments(x, LOW, HIGH))


@pytest.mark.parametrize(("groups", "n", "impl"), cases("count", (10, 1_000, 100_000)))
def test_count(run, groups, n, impl):
    codes = aggregates.codes(n, groups)
    run(impl, aggregates.count(codes, groups) if impl == IMPLS[0] else lambda: naive.count(codes))


@pytest.mark.parametrize(("edges", "n", "impl"), cases("bins", (20, 1_000)))
def test_bins(run, edges, n, impl):
    x, bounds = aggregates.values(min(n, 1_000_000)), aggregates.edges(edges)
    run(impl, aggregates.bins(x, bounds) if impl == IMPLS[0] else lambda: naive.bins(x, bounds))


@pytest.mark.parametrize(("dtype", "n", "impl"), cases("rows of 100,", ("float64", "float32")))
def test_rows(run, dtype, n, impl):
    rows = np.random.default_rng(1).standard_normal((n // 100, 100)).astype(dtype)
    run(impl, aggregates.row_sum(rows) if impl == IMPLS[0] else lambda: naive.row_sum(rows))
