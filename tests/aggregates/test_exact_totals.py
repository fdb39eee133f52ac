"""The totals are the exact integers that the definition says, whatever the order, chunks, threads and types."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise import aggregates
from exactnoise.aggregates.bounds import Bounds, Grid

BOUNDS = [(0, 1), (0, 60), (-10, -5), (-3, 4), ("0.1", "0.7"), (5, 5), (-1e-3, 1e9), (0, 2**62), (-(2**63), 2**63 - 1)]
SPECIAL = [0.0, -0.0, 1.0, 0.5, 5e-324, -1e-320, 1e300, -1e300, math.inf, -math.inf, math.nan, 60.0, 59.99999999999999]

doubles = st.one_of(st.sampled_from(SPECIAL), st.floats(width=64), st.floats(-100, 100))


def quantised(x: float, grid: Grid, missing: Fraction | None) -> int | None:
    """The definition, in exact arithmetic: a value in steps of the grid."""
    if math.isnan(x):
        return None if missing is None else min(max(round(missing / grid.step), grid.low), grid.high)
    if math.isinf(x):
        return grid.high if x > 0 else grid.low
    return min(max(round(Fraction(x) / grid.step), grid.low), grid.high)


def totals(statistic) -> tuple[int, list[list[Fraction]]]:
    tally = statistic._tally
    return tally.counts.tolist(), [wide.fractions() for wide in tally.totals]


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
@pytest.mark.parametrize("nan", [None, "drop"])
def test_the_sum_is_that_of_the_definition(bounds, nan):
    rng = np.random.default_rng([1, BOUNDS.index(bounds)])
    lower, upper = (float(Fraction(bound)) for bound in bounds)
    x = np.concatenate([SPECIAL, rng.uniform(lower - 1, upper + 1, 500), [lower, upper]])
    checked = Bounds.checked(bounds, "sum")
    grid, missing = Grid.of_floats(checked, 40), checked.replacement(nan)
    steps = [quantised(value, grid, missing) for value in x.tolist()]
    statistic = aggregates.Sum(bounds=bounds, nan=nan)
    statistic.add(x)
    kept = [step for step in steps if step is not None]
    assert totals(statistic) == ([len(kept)], [[sum(kept) * grid.step]])


def test_the_grid_is_fine_and_within_the_bounds():
    for bounds in BOUNDS:
        checked = Bounds.checked(bounds, "sum")
        for bits in (12, 30, 40):
            grid = Grid.of_floats(checked, bits)
            assert grid.low <= grid.high
            assert grid.high - grid.low <= 2**bits
            assert max(abs(grid.low), abs(grid.high)) <= 2**50
            if checked.width:
                assert checked.lower <= grid.lower
                assert grid.upper <= checked.upper
                assert grid.high - grid.low >= 2 ** (bits - 1) - 2 or grid.exponent == _least(checked)


def _least(checked: Bounds) -> int:
    """Where the magnitude of the bounds, and not their width, sets the grid."""
    return math.ceil(math.log2(checked.magnitude)) - 50


@given(st.lists(doubles, max_size=40), st.randoms(use_true_random=False), st.sampled_from(BOUNDS), st.data())
@settings(max_examples=150, deadline=None)
def test_order_chunks_threads_and_merges_do_not_matter(values, random, bounds, data):
    for build in (aggregates.Sum, aggregates.Mean, aggregates.Variance):
        if build is aggregates.Variance and bounds[0] == bounds[1]:
            continue
        whole = build(bounds=bounds)
        whole.add(np.array(values, np.float64))
        shuffled = list(values)
        random.shuffle(shuffled)
        cuts = sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=3)))
        parts = [shuffled[a:b] for a, b in itertools.pairwise([0, *cuts, len(values)])]
        merged = build(bounds=bounds)
        for part in parts:
            piece = build(bounds=bounds)
            piece.add(np.array(part, np.float64), workers=data.draw(st.integers(1, 3)))
            merged.merge(pickle.loads(pickle.dumps(piece)))
        assert totals(merged) == totals(whole)


@given(
    st.lists(st.integers(-(2**24), 2**24), max_size=30),
    st.sampled_from([np.int32, np.int64, np.float32, np.float64, list, np.dtype(">i8"), np.dtype(">f4")]),
    st.sampled_from([(0, 60), (-(2**24), 2**24), (-3, 4), (0, 2**62)]),
)
@settings(max_examples=150, deadline=None)
def test_types_do_not_matter(values, kind, bounds):
    expected = sum(min(max(value, bounds[0]), bounds[1]) for value in values)
    x = list(values) if kind is list else np.array(values, kind)
    statistic = aggregates.Sum(bounds=bounds)
    statistic.add(x)
    if bounds[1] < 2**50 or (kind is not list and x.dtype.kind == "i"):  # numbers of a list count as floats
        assert totals(statistic) == ([len(values)], [[expected]])
    mixed = aggregates.Sum(bounds=bounds)
    mixed.add(np.array(values[::2], np.int16 if max(map(abs, values), default=0) < 2**15 else np.int64))
    mixed.add(np.array(values[1::2], np.float64))
    if bounds[1] < 2**50:
        assert totals(mixed) == totals(statistic)


def test_strides_and_missing_values():
    table = np.arange(60.0).reshape(20, 3)
    for x in (table[:, 1], table[::-2, 2], np.broadcast_to(7.5, 9), table[:, 0].astype(">f4")):
        statistic = aggregates.Sum(bounds=(0, 50))
        statistic.add(x)
        assert totals(statistic)[1] == [[Fraction(float(np.clip(x.astype(float), 0, 50).sum()))]]
    masked = np.ma.array([1, 2, 300, 4], mask=[0, 0, 0, 1])
    for nan, sums, count in ((None, 103, 4), (50, 153, 4), ("drop", 103, 3)):
        for x in (masked, masked.astype(float), [1, 2, 300, None], [1.0, 2, 300, None], [1.0, 2, 300, math.nan]):
            statistic = aggregates.Sum(bounds=(0, 100), nan=nan)
            statistic.add(x)
            assert totals(statistic) == ([count], [[sums]])


def test_moments_are_exact_about_the_middle():
    rng = np.random.default_rng(3)
    x = rng.normal(10, 4, 300)
    statistic = aggregates.Variance(bounds=(0, 21))
    statistic.add(x)
    grid = statistic._grid
    steps = [quantised(value, grid, Fraction(0)) for value in x.tolist()]
    sums, squares = statistic._deviations(statistic._tally)
    deviations = [2 * step - grid.low - grid.high for step in steps]
    assert (sums.ints(), squares.ints()) == ([sum(deviations)], [sum(d * d for d in deviations)])


def test_groups_partition_the_total():
    rng = np.random.default_rng(4)
    x, codes = rng.normal(0, 50, 5000), rng.integers(-1, 12, 5000)
    grouped = aggregates.Sum(bounds=(-40, 60), keys=range(10))
    grouped.add(x, by=codes, workers=2)
    counts, (sums,) = totals(grouped)
    for key in range(10):
        alone = aggregates.Sum(bounds=(-40, 60))
        alone.add(x[codes == key])
        assert totals(alone) == ([counts[key]], [[sums[key]]])


def test_many_equal_values_in_chunks():
    # 600 million rows of 5, where sums of 32 bits wrap; the chunks take no memory.
    chunk = np.broadcast_to(np.int32(5), 50_000_000)
    statistic = aggregates.Sum(bounds=(0, 10))
    statistic.add(chunk)
    twelve = aggregates.Sum(bounds=(0, 10))
    for _ in range(12):
        twelve.merge(pickle.loads(pickle.dumps(statistic)))
    assert totals(twelve) == ([600_000_000], [[3_000_000_000]])


def test_a_failed_add_adds_nothing():
    statistic = aggregates.Sum(bounds=(0, 10), keys=["a"])
    statistic.add([1.0], by=["a"])
    before = totals(statistic)
    for x, by in ((["text"], ["a"]), ([1.0, 2.0], ["a"]), ([[1.0]], ["a"]), ([1.0], None)):
        with pytest.raises((TypeError, ValueError)):
            statistic.add(x, by=by)
        assert totals(statistic) == before
