"""Which results count as the same: equal in value, whatever they are."""

from __future__ import annotations

import copy
import datetime
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from exactnoise import PrivacyBudget, PrivacyCost
from exactnoise.testing import ReplayError, replay


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


class Frame:
    """As the frames of several libraries: a comparison gives a frame, and `equals` an answer."""

    def __init__(self, *values: int) -> None:
        self.values = np.array(values)

    def __eq__(self, other: object) -> Any:
        return self.values == getattr(other, "values", None)

    def equals(self, other: Frame) -> bool:
        return bool(np.array_equal(self.values, other.values))

    __hash__ = None  # type: ignore[assignment]


class Unclear(Frame):
    """Without that: what cannot be asked is compared as it is pickled."""

    equals = None  # type: ignore[assignment]


class Labels:
    """As pandas' indexes, checked against pandas 3.1: `equals` looks at values and dtypes, not at names."""

    def __init__(self, values: list[Any], names: list[Any], dtype: Any) -> None:
        self.values, self.names, self.dtype, self.name = values, names, dtype, names[0]

    def equals(self, other: Labels) -> bool:
        return self.values == other.values and self.dtype == other.dtype

    def tolist(self) -> list[Any]:
        return self.values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)


class Kind:
    """As pandas' categorical dtype: where no order is meant, the order of the categories does not count."""

    def __init__(self, *categories: str) -> None:
        self.categories = list(categories)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kind) and set(self.categories) == set(other.categories)

    __hash__ = None  # type: ignore[assignment]


class Column:
    """As Polars' series, checked against Polars 2.1, and with another name of `to_list` pandas' own arrays."""

    def __init__(self, values: list[Any], name: str = "", dtype: str = "Float64") -> None:
        self.values, self.name, self.dtype = values, name, dtype

    def equals(self, other: Column) -> bool:
        return self.values == other.values

    def to_list(self) -> list[Any]:
        return self.values


class Columns:
    """As Polars' frames."""

    def __init__(self, *columns: Column) -> None:
        self.columns = columns

    def equals(self, other: Columns) -> bool:
        return all(a.equals(b) for a, b in zip(self.columns, other.columns, strict=True))

    def get_columns(self) -> list[Column]:
        return list(self.columns)


class Series(Labels):
    """As pandas' series."""

    iloc = None

    def __init__(self, values: list[Any], name: Any, dtype: Any, index: Labels, attrs: dict[str, Any]) -> None:
        super().__init__(values, [name], dtype)
        self.index, self.attrs = index, attrs


class Table:
    """As pandas' frames."""

    def __init__(self, series: list[Series], columns: Labels) -> None:
        self.series, self.columns, self.index = series, columns, labels([0])
        self.attrs: dict[str, Any] = {}

    @property
    def iloc(self) -> Table:
        return self

    def __getitem__(self, place: tuple[slice, int]) -> Series:
        return self.series[place[1]]

    def equals(self, other: Table) -> bool:
        return all(a.equals(b) for a, b in zip(self.series, other.series, strict=True))


def labels(values: list[Any], names: list[Any] | None = None) -> Labels:
    return Labels(values, names or [None], "int64")


def series(values: list[Any], name: Any = None, dtype: Any = "int64", index: Labels | None = None,
           attrs: dict[str, Any] | None = None) -> Series:  # fmt: skip
    return Series(values, name, dtype, index or labels([0]), attrs or {})


def budget(epsilon: int = 1) -> PrivacyBudget:
    return PrivacyBudget(neighbors="add-remove", unit="row", epsilon=epsilon)


NOON = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
SAME = [
    math.nan,
    0.0,
    "a",
    None,
    {"a": [1, (2, 3)]},
    {1, 2},
    np.array([1, math.nan]),
    np.array([complex(1, math.nan)]),
    np.datetime64("NaT", "s"),
    np.array(["a", None], object),
    np.ma.masked_array([1, 2], [True, False]),
    np.zeros(2, "i4, f8"),
    [np.array(math.nan)],
    Fraction(1, 3),
    b"x",
    1j,
    int,
    len,
    PrivacyCost(epsilon=1),
    Plain([1]),
    Frame(1, 2),
    Unclear(1, 2),
    Decimal("nan"),
    NOON,
    series([1.0, math.nan], name="x"),
    Table([series([1]), series(["a"])], labels(["x", "x"])),
    pa.table({"x": [math.nan, None], "y": [[1.0], [2.0]]}),
    pa.array([1, None]),
    pa.schema({"x": pa.int64()}),
    pa.scalar(math.nan),
    series(["a"], dtype=Kind("a", "b")),
    Columns(Column([1.0, math.nan], "x"), Column([], "y")),
]
DIFFERENT = [
    (0.0, -0.0),
    (1, 1.0),
    (1, True),
    (np.zeros(2), np.zeros(3)),
    (np.zeros(2), np.zeros(2, "f4")),
    (np.zeros(2), -np.zeros(2)),
    (np.float64(1), 1.0),
    ([1, 2], [1, 3]),
    ([1, 2], [1, 2, 3]),
    ([1, 2], (1, 2)),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 2}),
    ({1}, {2}),
    ({1}, {True}),
    ({(0.0,)}, {(-0.0,)}),
    (Decimal("1.0"), Decimal("1.00")),
    (Decimal(0), Decimal("-0")),
    (NOON, NOON.astimezone(datetime.timezone(datetime.timedelta(hours=1)))),
    (datetime.time(1), datetime.time(1, fold=1)),
    (series([0.0]), series([-0.0])),
    (series([1], name="a"), series([1], name="b")),
    (series([1], index=labels(["a"])), series([1], index=labels(["b"]))),
    (series([1]), series([1], dtype="Int64")),
    (series([1]), series([1], attrs={"n": 7})),
    (series([1, True]), series([True, 1])),
    (labels(["a"]), labels(["a"], names=["i"])),
    (Table([series([0.0])], labels(["a"])), Table([series([-0.0])], labels(["a"]))),
    (Table([series([1])], labels(["a"])), Table([series([1])], labels(["b"]))),
    (pa.table({"a": [0.0]}), pa.table({"a": [-0.0]})),
    (pa.table({"a": [1]}), pa.table({"a": [1]}).replace_schema_metadata({"n": "7"})),
    (pa.array([1]), pa.array([1], pa.int8())),
    (pa.scalar(0.0), pa.scalar(-0.0)),
    (pa.scalar(1), pa.scalar(1, pa.int8())),
    (series(["a"], dtype=Kind("a", "b")), series(["a"], dtype=Kind("b", "a"))),
    (Column([0.0]), Column([-0.0])),
    (Column([1.0], "a"), Column([1.0], "b")),
    (Column([1.0]), Column([1.0], dtype="Float32")),
    (Columns(Column([0.0])), Columns(Column([-0.0]))),
    (np.array([complex(1, 0.0)]), np.array([complex(1, -0.0)])),
    (np.ma.masked_array([1, 2], [True, False]), np.ma.masked_array([3, 2], [True, False])),
    ({math.nan: 1}, {-math.nan: 2}),
    (Plain([1]), Plain([2])),
    (Frame(1, 2), Frame(1, 3)),
    (Unclear(1, 2), Unclear(1, 3)),
    (np.ma.masked_array([1, 2], [True, False]), np.ma.masked_array([1, 2], [False, False])),
    (np.array(["a", None], object), np.array(["a", "b"], object)),
    (np.array([(1, 2.0)], "i4, f8"), np.array([(1, 3.0)], "i4, f8")),
    (PrivacyCost(epsilon=1), PrivacyCost(epsilon=2)),
    (budget(1), budget(2)),
    ("a" * 1000, "b" * 1000),
    (lambda: 1, lambda: 2),
]


def returned(a: Any, b: Any) -> None:
    replay(lambda value: value, a, b)


@pytest.mark.parametrize("value", SAME, ids=lambda value: type(value).__name__)
def test_copies_are_the_same(value):
    returned(value, copy.deepcopy(value))


def test_one_nan_is_as_good_a_key_as_another():
    returned({math.nan: [1]}, {-math.nan: [1]})


def test_budgets_are_the_same_when_their_histories_are():
    a, b = budget(), budget()
    returned(a, b)
    b.spend(PrivacyCost(epsilon="0.1"))
    with pytest.raises(ReplayError):
        returned(a, b)
    a.spend(PrivacyCost(epsilon="0.1"))
    returned(a, b)


@pytest.mark.parametrize("pair", DIFFERENT, ids=lambda pair: type(pair[0]).__name__)
def test_others_are_not(pair):
    for a, b in (pair, pair[::-1]):
        with pytest.raises(ReplayError, match="returned something else"):
            returned(a, b)


def test_it_says_where():
    with pytest.raises(ReplayError, match=r"the returned value\['a'\]\[1\]\.value\[1, 0\]: 0\.0 and 5\.0"):
        returned({"a": [0, Plain(np.zeros((2, 2)))]}, {"a": [0, Plain(np.array([[0.0, 0.0], [5.0, 0.0]]))]})
