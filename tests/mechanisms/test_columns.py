"""Columns of pandas, Arrow and Polars, by classes that behave like theirs where the engine touches them.

The behaviour was checked against pandas 3.1, pyarrow 26 and Polars 2.1; the package imports none of them.
"""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import numpy as np
import pytest

from exactnoise import DiscreteGaussian, DiscreteLaplace, Laplace, PrivacyBudget
from exactnoise.mechanisms._data import DECIMALS

QUIET = Laplace(sensitivity=1, scale=2.0**-30, granularity=1, nan=7)


class ForeignError(Exception):
    """An error of a library's own, no TypeError."""


class PandasDtype:
    """A nullable extension dtype; `numpy_dtype` is missing for types that NumPy lacks."""

    def __init__(self, numpy_dtype):
        if numpy_dtype is not None:
            self.numpy_dtype = np.dtype(numpy_dtype)


class PandasSeries:
    """A nullable column: NumPy reads it as objects, unless told what a missing value is."""

    def __init__(self, values, numpy_dtype):
        self.values = values
        self.dtype = PandasDtype(numpy_dtype)

    def isna(self):
        return np.array([value is None for value in self.values], dtype=bool)

    def to_numpy(self, dtype, na_value):
        if na_value is None:
            raise ForeignError("missing values")
        return np.array([na_value if value is None else value for value in self.values], dtype=dtype)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=object)


class PlainPandasSeries:
    """A column on top of a NumPy array: float64 with NaN for what is missing."""

    def __init__(self, values, dtype):
        self.array = np.array(values, dtype=dtype)
        self.dtype = self.array.dtype

    def isna(self):
        return np.isnan(self.array)

    def __array__(self, dtype=None, copy=None):
        return self.array


class ArrowArray:
    """An Arrow array: nulls become NaN, and so integers floats, unless they are filled first."""

    def __init__(self, values, type_name, numpy_dtype):
        self.values = values
        self.type = type_name
        self.numpy_dtype = numpy_dtype

    def is_null(self):
        return ArrowArray([value is None for value in self.values], "bool", bool)

    def fill_null(self, fill):
        self.check(fill)
        return type(self)([fill if value is None else value for value in self.values], self.type, self.numpy_dtype)

    def check(self, fill):
        if self.type == "bool" and not isinstance(fill, bool):
            raise ForeignError("a bool is needed")
        if not isinstance(self.numpy_dtype, (str, type)):
            raise ForeignError(f"cannot fill {self.type} with {fill}")

    def __array__(self, dtype=None, copy=None):
        if None in self.values:
            return np.array([np.nan if value is None else value for value in self.values], dtype=float)
        return np.array(self.values, dtype=self.numpy_dtype)


class PolarsSeries(ArrowArray):
    """A Polars series: the same, but the type is its `dtype`."""

    def __init__(self, values, type_name, numpy_dtype):
        super().__init__(values, type_name, numpy_dtype)
        del self.type
        self.dtype = type_name

    def is_null(self):
        return PolarsSeries([value is None for value in self.values], "Boolean", bool)

    def fill_null(self, fill):
        if self.dtype == "Boolean" and not isinstance(fill, bool):
            raise ForeignError("a bool is needed")
        if not isinstance(self.numpy_dtype, (str, type)):
            raise ForeignError(f"got invalid or ambiguous dtypes: [{self.dtype}, dyn int]")
        return PolarsSeries([fill if value is None else value for value in self.values], self.dtype, self.numpy_dtype)


COLUMNS = {
    "pandas": lambda values, dtype: PandasSeries(values, dtype),
    "arrow": lambda values, dtype: ArrowArray(values, np.dtype(dtype).name, dtype),
    "polars": lambda values, dtype: PolarsSeries(values, np.dtype(dtype).name.capitalize(), dtype),
}
BY_LIBRARY = pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)


@BY_LIBRARY
@pytest.mark.parametrize("dtype", ["i8", "i4", "i1", "u1", "u8"])
def test_integers(column, dtype):
    """With or without missing values, an integer column gives int64."""
    for values, expected in (([1, None, 3], [1, 7, 3]), ([1, 2, 3], [1, 2, 3]), ([None, None], [7, 7]), ([], [])):
        y = QUIET.release(column(values, dtype), budget=None)
        assert type(y) is np.ndarray
        assert y.dtype == np.int64
        assert y.tolist() == expected


@BY_LIBRARY
def test_integers_stay_exact(column):
    largest = 2**63 - 1
    y = QUIET.release(column([largest, None, -largest - 1, 2**53 + 1], "i8"), budget=None)
    assert y.tolist() == [largest, 7, -largest - 1, 2**53 + 1]
    y = QUIET.release(column([2**64 - 1, None, 2**63], "u8"), budget=None)
    assert y.tolist() == [largest, 7, largest]


@BY_LIBRARY
@pytest.mark.parametrize(("dtype", "result"), [("f8", "f8"), ("f4", "f4"), ("f2", "f8")])
def test_floats(column, dtype, result):
    y = QUIET.release(column([1.25, None, np.nan, -3.0], dtype), budget=None)
    assert y.dtype == np.dtype(result)
    assert y.tolist() == [1, 7, 7, -3]
    assert QUIET.release(column([1.25], dtype), budget=None).dtype == np.dtype(result)


def test_booleans():
    values, expected = [True, None, False], [1, 7, 0]
    for column in (
        PandasSeries(values, bool),
        ArrowArray(values, "bool", bool),
        PolarsSeries(values, "Boolean", bool),
    ):
        y = QUIET.release(column, budget=None)
        assert y.dtype == np.int64
        assert y.tolist() == expected


@BY_LIBRARY
@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_discrete(kind, column):
    mechanism = kind(sensitivity=1, scale="0.01")
    assert mechanism.release(column([5, None], "i4"), budget=None).tolist() == [5, 0]
    with pytest.raises(TypeError, match=f"^{kind.__name__} takes integers"):
        mechanism.release(column([5.0], "f8"), budget=None)


def test_plain_pandas_columns():
    assert QUIET.release(PlainPandasSeries([1, 2], "i8"), budget=None).tolist() == [1, 2]
    assert QUIET.release(PlainPandasSeries([1, np.nan], "f8"), budget=None).tolist() == [1, 7]
    y = QUIET.release(PlainPandasSeries([1, np.nan], "f4"), budget=None)
    assert y.dtype == np.float32
    assert y.tolist() == [1, 7]


def test_out():
    out = np.empty(3)
    assert QUIET.release(ArrowArray([1.25, None, 3], "double", "f8"), budget=None, out=out) is out
    assert out.tolist() == [1, 7, 3]


OTHERS = {
    "pandas strings": PandasSeries(["a", None], None),
    "pandas timestamps": PandasSeries([None], "M8[us]"),
    "pandas timestamps without a unit": PandasSeries([None], "M8"),
    "pandas durations": PandasSeries([None], "m8"),
    "pandas objects": PandasSeries([1, None], object),
    "arrow strings": ArrowArray(["a", None], "string", None),
    "arrow timestamps": ArrowArray([0, None], "timestamp[us]", "M8[us]"),
    "arrow nulls": ArrowArray([None], "null", None),
    "arrow list<bool>": ArrowArray([[True], None], "list<item: bool>", None),
    "polars dates": PolarsSeries([0, None], "Date", None),
    "polars strings": PolarsSeries(["a", None], "String", "U1"),
    "polars categories": PolarsSeries(["a"], "Categorical", None),
    "polars 128-bit integers": PolarsSeries([1], "Int128", None),
    "polars objects": PolarsSeries([1], "Object", None),
}


@pytest.mark.parametrize("column", OTHERS.values(), ids=OTHERS)
def test_columns_of_other_types(column):
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=10)
    with pytest.raises(TypeError, match=r"^x must be numbers"):
        Laplace(sensitivity=1, epsilon=1).release(column, budget=budget)
    assert budget.history == ()


@pytest.mark.parametrize(
    ("x", "got"),
    [
        ({1, 2}, "an object of type set: pass a list or an array"),
        ((i for i in [1]), "an object of type generator: pass a list or an array"),
        ({}.values(), "an object of type dict_values: pass a list or an array"),
        (None, "an object of type NoneType"),
        (Decimal(1), "an object of type Decimal"),
        (
            np.array([Decimal(1)]),
            "dtype object: convert it with astype(float), or with astype(int) where all are whole",
        ),
        ([Decimal(1)], f"a list with Decimal in it: {DECIMALS}"),
        (PolarsSeries([None], "Decimal(precision=10, scale=2)", None), f"10, scale=2): {DECIMALS}"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_way_out_is_named(x, got):
    with pytest.raises(TypeError) as told:
        QUIET.release(x, budget=None)
    assert str(told.value).endswith(got)


@pytest.mark.parametrize("counts", [{"a": 1}, Counter("aab")], ids=["dict", "Counter"])
def test_the_keys_of_a_dictionary_are_declared(counts):
    """Which ones a Counter has would be told by the length of the result."""
    with pytest.raises(
        TypeError, match=rf"; got a {type(counts).__name__}: pass \[counts\[key\] for key in keys\], for"
    ):
        QUIET.release(counts, budget=None)
    assert QUIET.release([counts[key] for key in ["a"]], budget=None) == [counts["a"]]


@pytest.mark.parametrize("x", [[[1], [1, 2]], [[1, 2], [1]], [[1], [[1]]]], ids=str)
def test_lists_of_several_shapes(x):
    with pytest.raises(
        TypeError, match=r"^x must be a list of numbers, or nested lists of one shape; got lists of sev"
    ):
        QUIET.release(x, budget=None)
