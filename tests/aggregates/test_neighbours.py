"""Random data, bounds, neighbours and options: replays find no leak, and totals do not depend on how rows are given."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from exactnoise import DiscreteGaussian, Exponential, Gaussian, PrivacyBudget, aggregates
from exactnoise.testing import Replay, recorded, replay

KEYS = ("a", "b", "c")
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int8", "uint64", "bool", ">f8", ">i4")
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


class Table(NamedTuple):
    x: list[Any]
    by: list[str]
    person: list[int]
    dtype: str

    def rows(self, order: list[int]) -> Table:
        return Table(*([column[i] for i in order] for column in self[:3]), self.dtype)

    @property
    def column(self) -> np.ndarray:
        return np.array(self.x, self.dtype) if self.x else np.empty(0, self.dtype)


@st.composite
def bounds(draw: st.DrawFn) -> tuple[Any, Any]:
    """Of any width and place; some of them equal, which is a public refusal or no change at all."""
    ends = draw(
        st.one_of(
            st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1)),
            st.tuples(st.integers(-9, 9), st.integers(-9, 9)),
            st.tuples(st.decimals(-100, 100, places=3), st.decimals(-100, 100, places=3)),
            st.tuples(st.floats(-1e280, 1e280), st.floats(-1e280, 1e280)),
            st.sampled_from([(0, 1e-280), (-1e290, 1e290), (2.0**50, 2.0**50 + 1), ("0.1", "0.3"), (-5, -2)]),
        )
    )
    low, high = sorted(ends, key=Fraction)
    assume(all(not end or Fraction(1, 10**280) <= abs(Fraction(end)) for end in ends))
    return low, high


def values(dtype: str, low: Any, high: Any) -> st.SearchStrategy[Any]:
    """Anything that the type holds, often near the bounds."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return st.booleans()
    low, high = Fraction(low), Fraction(high)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        near = [math.floor(low), math.ceil(low), math.floor(high), math.ceil(high), round((low + high) / 2)]
        fitting = [min(max(value + i, limits.min), limits.max) for value in near for i in (-1, 0, 1)]
        return st.integers(int(limits.min), int(limits.max)) | st.sampled_from(fitting)
    with np.errstate(over="ignore"):
        near = [float(kind.type(float(value))) for value in (low, high, (low + high) / 2, (3 * low + high) / 4)]
    special = [math.nan, math.inf, -math.inf, 0.0, -0.0, *near, *(-value for value in near)]
    return st.floats(width=8 * kind.itemsize) | st.sampled_from(special)


def rows(x: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, str, int]]:
    return st.tuples(x, st.sampled_from((*KEYS, "d")), st.integers(0, 3))


@st.composite
def neighbouring(draw: st.DrawFn) -> tuple[tuple[Any, Any], Table, Table, str, str]:
    """Bounds, two tables, the relation, and whose rows differ: one row, or one person's."""
    limits = draw(bounds())
    dtype = draw(st.sampled_from(DTYPES))
    row = rows(values(dtype, *limits))
    relation, unit = draw(st.sampled_from(["add-remove", "replace-one"])), draw(st.sampled_from(["row", "person"]))
    others = draw(st.lists(row, max_size=8))
    whole = others
    if unit == "person":
        others = [(x, by, person + 1) for x, by, person in others]
        own = [[(x, by, 0) for x, by, _ in draw(st.lists(row, min_size=1, max_size=8))] for _ in range(2)]
        place = draw(st.lists(st.integers(0, len(others)), min_size=8, max_size=8))
        tables = [_inserted(others, rows, place) for rows in own]
    else:
        place = [draw(st.integers(0, len(others)))]
        tables = [_inserted(others, [draw(row)], place) for _ in range(2)]
    if relation == "add-remove":
        tables[1] = whole if unit == "row" else others
    if draw(st.booleans()):
        tables.reverse()
    a, b = (Table(*(map(list, zip(*table, strict=True)) if table else ([], [], [])), dtype) for table in tables)
    return limits, a, b, relation, unit


def _inserted(rows: list[Any], own: list[Any], places: list[int]) -> list[Any]:
    table = list(rows)
    for row, place in zip(own, sorted(places[: len(own)], reverse=True), strict=True):
        table.insert(place, row)
    return table


PRICES: list[dict[str, Any]] = [{"epsilon": 1}, {"rho": "0.1"}, {"epsilon": "0.3", "delta": "1e-6"}]


def loss_is_paid(passed: Replay, price: dict[str, Any]) -> bool:
    """Whether the distances of all parts, over the scales of their noise, are together within the price.

    Whatever the mechanisms declare: Laplace noise costs distance / scale, Gaussian noise distance^2 / (2 scale^2) of
    rho, or in (epsilon, delta) what one Gaussian on the vector of all parts may have.
    """
    noise = [call.mechanism for call in passed.calls]
    steps = [distance / Fraction(m.scale) for m, distance in zip(noise, passed.distances, strict=True)]
    if isinstance(noise[0], Exponential):  # a score's change counts twice
        return "rho" in price or 2 * sum(steps) <= Fraction(price["epsilon"])
    gaussian = isinstance(noise[0], (Gaussian, DiscreteGaussian))
    if "rho" in price:
        costs = [step**2 / 2 if gaussian else step + Fraction(math.expm1(-step)) for step in steps]
        return sum(costs) <= Fraction(price["rho"]) * (1 + Fraction(1, 10**12))
    if isinstance(noise[0], DiscreteGaussian):  # alone, with a calibration of its own
        return len(noise) == 1 and (noise[0].epsilon, noise[0].delta) == (Fraction("0.3"), Fraction("1e-6"))
    if gaussian:
        allowed = 1 / Fraction(Gaussian(sensitivity=1, **price).scale) ** 2
        return sum(step**2 for step in steps) <= allowed * (1 + Fraction(1, 2**50))
    return sum(steps) <= Fraction(price["epsilon"])


def statistic(name: str, limits: tuple[Any, Any], nan: Any) -> Callable[..., Any]:
    """A function of a column and the terms of a release."""
    low, high = limits
    middle = (Fraction(low) + Fraction(high)) / 2
    named: dict[str, Callable[..., Any]] = {
        "count": lambda x, **said: aggregates.count(x > x.dtype.type(0), **said),
        "count of rows": lambda x, **said: aggregates.count(n=len(x), **said),
        "sum": lambda x, **said: aggregates.sum(x, bounds=limits, nan=nan, **said),
        "mean": lambda x, **said: aggregates.mean(x, bounds=limits, nan=nan, **said),
        "variance": lambda x, **said: aggregates.variance(x, bounds=limits, nan=nan, ddof=1, **said),
        "histogram": lambda x, **said: aggregates.histogram(x, edges=[low, middle, high], other=nan is None, **said),
        "histogram of two axes": lambda x, **said: aggregates.histogram(
            (x, x > x.dtype.type(0)), edges=([low, high], None), categories=(None, [True, False]), **said
        ),
        "quantile": lambda x, **said: aggregates.quantile(x, [0.5, "0.9"], bounds=limits, nan=nan, **said),
        "vector_sum": lambda x, **said: aggregates.vector_sum(
            np.stack([x, x, x[::-1]], axis=1)[:, :2], norm="l1" if nan is None else "l2", bound=7, **said
        ),
    }
    return named[name]


REFUSALS = ("nobody can change", "must ascend", "the price is too small", "the noise would be too", "apart")


@contextmanager
def public_refusals() -> Iterator[None]:
    """Bounds and prices for which there is no noise are another example's."""
    try:
        yield
    except ValueError as refusal:
        assume(not any(words in str(refusal) for words in REFUSALS))
        raise


NAMES = [
    "count", "count of rows", "sum", "mean", "variance", "histogram", "histogram of two axes", "quantile", "vector_sum",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@given(case=neighbouring(), nan=st.sampled_from([None, "drop"]), price=st.sampled_from(PRICES), data=st.data())
@settings(RELAXED, max_examples=25)
def test_neighbours_are_told_apart_by_noise_alone(name, case, nan, price, data):
    limits, a, b, neighbors, unit = case
    function = statistic(name, limits, nan)
    grouped = data.draw(st.booleans())
    said: dict[str, Any] = dict(price)
    if name != "quantile":
        said["mechanism"] = data.draw(st.sampled_from([None, "laplace", "gaussian"]))
        assume(said["mechanism"] != "gaussian" or price.keys() != {"epsilon"})
    if grouped:
        said["keys"] = KEYS
    if unit == "person":
        said["rows_per_person"] = data.draw(st.integers(1, 3))
        if grouped:
            said["groups_per_person"] = data.draw(st.integers(1, 4))

    def pipeline(table: Table) -> Any:
        own = {"by": table.by} if grouped else {}
        if unit == "person":
            own["person"] = np.array(table.person, np.int64)
        method = {"method": "basic"} if "delta" in price else {}
        budget = PrivacyBudget(neighbors=neighbors, unit=unit, **price, **method)
        return function(table.column, budget=budget, **said, **own), budget

    with public_refusals():
        passed = replay(pipeline, a, b)  # a refusal is of both runs, in the same words
    assert loss_is_paid(passed, price)
    assert len(passed.spent) == 1


@pytest.mark.parametrize("name", NAMES)
@given(case=neighbouring(), nan=st.sampled_from([None, "drop"]), data=st.data())
@settings(RELAXED, max_examples=12)
def test_the_order_of_rows_does_not_matter(name, case, nan, data):
    limits, table, *_ = case
    function = statistic(name, limits, nan)
    order = data.draw(st.permutations(range(len(table.x))))

    def pipeline(rows: Table) -> Any:
        return function(rows.column, by=rows.by, keys=KEYS, budget=None, neighbors="add-remove", epsilon=1)

    with public_refusals():
        passed = replay(pipeline, table, table.rows(order))
    assert not any(passed.distances)


def totals(release: Callable[[], Any]) -> list[list[Fraction]]:
    """What the mechanisms of a release were given, exactly."""
    calls = recorded(lambda _: release(), None)
    return [[Fraction(value) for value in call.inputs.ravel().tolist()] for call in calls]


@pytest.mark.parametrize("name", ["Sum", "Mean", "Variance", "Quantile", "Histogram", "Count"])
@given(case=neighbouring(), nan=st.sampled_from([None, "drop"]), data=st.data())
@settings(RELAXED, max_examples=12)
def test_chunks_merges_and_workers_do_not_matter(name, case, nan, data):
    limits, table, *_ = case
    low, high = limits
    assume(Fraction(low) < Fraction(high))
    make: dict[str, Callable[[], Any]] = {
        "Sum": lambda: aggregates.Sum(bounds=limits, nan=nan, keys=KEYS),
        "Mean": lambda: aggregates.Mean(bounds=limits, nan=nan, keys=KEYS),
        "Variance": lambda: aggregates.Variance(bounds=limits, nan=nan, keys=KEYS),
        "Quantile": lambda: aggregates.Quantile(q=0.25, bounds=limits, nan=nan, keys=KEYS),
        "Histogram": lambda: aggregates.Histogram(edges=[low, high], keys=KEYS),
        "Count": lambda: aggregates.Count(keys=KEYS, masked=True),
    }
    n = len(table.x)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, n), max_size=3))), n]

    def column(rows: Table) -> np.ndarray:
        return rows.column > 0 if name == "Count" else rows.column

    def released(pieces: list[Table], workers: int) -> list[list[Fraction]]:
        parts = []
        for piece in pieces:
            parts.append(make[name]())
            parts[-1].add(column(piece), by=piece.by, workers=workers)
        while len(parts) > 1:
            parts.append(parts.pop(0).merge(parts.pop(0)))
        return totals(lambda: parts[0].release(budget=None, neighbors="add-remove", epsilon=1))

    pieces = [table.rows(list(range(a, b))) for a, b in itertools.pairwise(cuts)]
    with public_refusals():
        whole = released([table], 1)
    assert released(pieces, 1) == released(pieces[::-1], 3) == whole


@given(
    x=st.lists(st.integers(0, 100), max_size=20),
    low=st.integers(-3, 50),
    width=st.integers(1, 60),
    dtypes=st.lists(st.sampled_from(["i1", "u1", "i8", "u8", ">i4", "f8", "f4", "f2", ">f8"]), min_size=2, max_size=2),
)
@settings(RELAXED, max_examples=25)
@pytest.mark.parametrize("function", [aggregates.sum, aggregates.mean, aggregates.variance])
def test_the_type_of_a_column_does_not_matter(function, x, low, width, dtypes):
    """Whole numbers between whole bounds have the same totals in every type that holds them."""
    said = {"bounds": (low, low + width), "budget": None, "neighbors": "add-remove", "epsilon": 1}
    columns = [x, *(np.array(x, dtype) for dtype in dtypes), np.repeat(np.array(x, "f8"), 3)[::3]]
    found = [totals(lambda column=column: function(column, **said)) for column in columns]
    assert all(each == found[0] for each in found)
    clipped = [min(max(value, low), low + width) for value in x]
    if function is aggregates.sum:
        assert found[0] == [[sum(clipped)]]
