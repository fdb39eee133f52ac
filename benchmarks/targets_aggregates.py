"""Targets of exact sums, counts and bins: see targets.py.

    python benchmarks/targets_aggregates.py [SECONDS]

measures these alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import aggregates
import naive_aggregates as naive
import numpy as np
from aggregates import HIGH, LOW, Job
from target_result import Result, measure_alone
from timing import least_seconds

import exactnoise.aggregates

VALUES = 10_000_000
GROUPS = 10_000
#: A sum of rows against one of NumPy's over the same memory in one piece, which is as fast as memory is.
ROWS_FACTOR = 0.5


def clipped_sums(seconds: float) -> Iterator[Result]:
    x, codes = aggregates.values(VALUES), aggregates.codes(VALUES, GROUPS)
    yield _faster(
        f"sum of {VALUES:.0e} float64",
        "np.clip().sum()",
        aggregates.clipped_sum(x),
        lambda: naive.clipped_sum(x, LOW, HIGH),
        1.5,
        seconds,
    )
    yield _faster(
        f"sums of {GROUPS} groups",
        "np.bincount(weights=np.clip())",
        aggregates.clipped_sum(x, codes, GROUPS),
        lambda: naive.grouped_sum(x, codes, LOW, HIGH),
        1.0,
        seconds,
    )


def statistics(seconds: float) -> Iterator[Result]:
    """Whole statistics, with their noise, as users ask for them."""
    x, codes = aggregates.values(VALUES), aggregates.codes(VALUES, GROUPS)
    terms = {"epsilon": 1, "budget": None, "neighbors": "add-remove"}
    bounds, keys = (LOW, HIGH), range(GROUPS)
    statistics = exactnoise.aggregates
    yield _faster(
        f"sum() of {VALUES:.0e} float64",
        "np.clip().sum()",
        lambda: statistics.sum(x, bounds=bounds, **terms),
        lambda: naive.clipped_sum(x, LOW, HIGH),
        1.5,
        seconds,
    )
    yield _faster(
        f"sum() by {GROUPS} groups",
        "np.bincount(weights=np.clip())",
        lambda: statistics.sum(x, bounds=bounds, by=codes, keys=keys, **terms),
        lambda: naive.grouped_sum(x, codes, LOW, HIGH),
        1.0,
        seconds,
    )
    yield _faster(
        f"histogram() of {VALUES:.0e} codes",
        "np.bincount",
        lambda: statistics.histogram(codes, categories=keys, **terms),
        lambda: naive.count(codes),
        0.8,
        seconds,
    )
    yield _faster(
        f"mean() of {VALUES:.0e} float64",
        "its exact sum alone",
        lambda: statistics.mean(x, bounds=bounds, **terms),
        lambda: statistics.Mean(bounds=bounds).add(x),
        1 / 1.1,
        seconds,
    )


def counts(seconds: float) -> Iterator[Result]:
    for groups in (10, 1_000, 100_000):
        codes = aggregates.codes(VALUES, groups)
        ours = aggregates.count(codes, groups)
        yield _faster(
            f"counts of {groups} codes", "np.bincount", ours, lambda codes=codes: naive.count(codes), 0.8, seconds
        )


def bins(seconds: float) -> Iterator[Result]:
    x = aggregates.values(VALUES // 10)
    for count in (20, 1_000):
        edges = aggregates.edges(count)
        ours = aggregates.bins(x, edges)
        yield _faster(
            f"bins between {count} edges",
            "np.digitize",
            ours,
            lambda edges=edges: naive.bins(x, edges),
            1.0,
            seconds,
            len(x),
        )


def rows(seconds: float) -> Iterator[Result]:
    vectors = np.random.default_rng(1).standard_normal((VALUES // 100, 100)).astype(np.float32)
    yield _faster(
        "sum of 10^5 rows of 100 float32",
        "np.sum of all",
        aggregates.row_sum(vectors),
        lambda: vectors.sum(),
        ROWS_FACTOR,
        seconds,
    )


def _faster(what: str, way: str, ours: Job, theirs: Job, factor: float, seconds: float, count: int = VALUES) -> Result:
    least = least_seconds({"ours": ours, "theirs": theirs}, seconds)
    ns = {who: time / count * 1e9 for who, time in least.items()}
    detail = f"{ns['ours']:.2f} against {ns['theirs']:.2f} ns each"
    return Result(f"{what}: times faster than {way}", ns["theirs"] / ns["ours"], factor, True, "", detail)


def exact_aggregates(seconds: float) -> Iterator[Result]:
    """All of them."""
    for part in (clipped_sums, statistics, counts, bins, rows):
        yield from part(seconds)


if __name__ == "__main__":
    sys.exit(measure_alone(exact_aggregates, seconds=2))
