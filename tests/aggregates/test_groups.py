"""Declared groups, and the codes of rows from columns of every type: exact by kind, and total on data."""

from __future__ import annotations

import datetime
import enum
import math
import pickle
from array import array

import numpy as np
import pytest
from arrow_producer import Node, Producer, booleans, encoded, numbers, texts, views
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.aggregates.groups import Groups, declared

DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12)
NAN = float("nan")


class Colour(enum.StrEnum):
    RED = "r"
    GREEN = "g"


class Index:
    """Labels of pandas, or an array of Arrow."""

    def __init__(self, values, convert="tolist"):
        self.values = values
        setattr(self, convert, lambda: self.values)

    def __len__(self):
        return len(self.values)


class Categorical:
    """A categorical column: -1 is missing."""

    def __init__(self, codes, categories):
        self.codes, self.categories = np.array(codes, "i1"), categories


class CategoricalSeries:
    """A series of it; Arrow is not installed."""

    def __init__(self, codes, categories):
        self.cat = Categorical(codes, categories)

    def isna(self):
        raise AssertionError("not needed")

    def __arrow_c_stream__(self, requested_schema=None):
        raise ImportError


class Series:
    """A column of an extension type."""

    def __init__(self, values, name, numpy_dtype=None):
        self.values = values
        self.dtype = type("Dtype", (), {"name": name})()
        if numpy_dtype is not None:
            self.dtype.numpy_dtype = np.dtype(numpy_dtype)

    def __len__(self):
        return len(self.values)

    def isna(self):
        return np.array([value is None for value in self.values], bool)

    def to_numpy(self, dtype, na_value=None):
        return np.array([na_value if value is None else value for value in self.values], dtype)

    def __arrow_c_stream__(self, requested_schema=None):
        raise ImportError


class ArrowSeries(Producer):
    """A pandas column that is an Arrow array inside."""

    def __init__(self, *chunks):
        super().__init__(*chunks)
        self.dtype = type("ArrowDtype", (), {"pyarrow_dtype": None, "name": "int64[pyarrow]"})()

    def isna(self):
        raise AssertionError("not needed")


class Frame(Producer):
    """A table, also of one column."""

    columns = ("a",)

    def __array__(self, dtype=None, copy=None):
        return np.zeros((1, 1))


def codes(keys, by, n=None):
    """The codes, where no number in the data raises a warning; from 0 to K-1 or -1."""
    groups = declared(keys)
    with np.errstate(all="raise"):
        found = groups.codes(by, len(by) if n is None else n)
    assert found.dtype == np.int64
    assert found.flags.c_contiguous
    return np.where((found >= 0) & (found < len(groups)), found, -1).tolist()


# Declaring


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["b", "a"], ("b", "a")),
        (("b", "a"), ("b", "a")),
        (range(3), (0, 1, 2)),
        (range(10, 0, -4), (10, 6, 2)),
        ([2**64 - 1, -(2**63)], (2**64 - 1, -(2**63))),
        ([True, False], (True, False)),
        (np.array([3, 1], "u1"), (3, 1)),
        (np.array(["b", "a"]), ("b", "a")),
        (np.array([True]), (True,)),
        (np.array(["2024-02-29"], "M8[D]"), (DAY,)),
        (np.array(["2024-02-29T12"], "M8[ns]"), (NOON,)),
        ([np.int8(3), np.int64(4), 5], (3, 4, 5)),
        ([np.str_("a"), "b"], ("a", "b")),
        (list(Colour), ("r", "g")),
        ([DAY, datetime.date(1, 1, 1)], (DAY, datetime.date(1, 1, 1))),
        ([NOON], (NOON,)),
        (Index(["b", "a"]), ("b", "a")),
        (Index(["b", "a"], "to_pylist"), ("b", "a")),
        (Categorical([0, 0], Index(["b", "a"])), ("b", "a")),
        (array("q", [5, 6]), (5, 6)),
    ],
    ids=repr,
)
def test_keys(keys, expected):
    groups = declared(keys)
    assert groups.keys == expected
    assert groups.columns == (expected,)
    assert list(map(type, groups.keys)) == list(map(type, expected))
    assert len(groups) == len(expected)
    assert declared(groups) is groups


def test_several_columns():
    groups = declared((["x", "y"], range(3)))
    assert groups.columns == (("x", "y"), (0, 1, 2))
    assert groups.keys == (("x", 0), ("x", 1), ("x", 2), ("y", 0), ("y", 1), ("y", 2))
    assert len(groups) == 6
    assert groups.codes((["y", "x", "z", "y"], [0, 2, 1, 3]), 4).tolist() == [3, 2, -1, -1]
    assert groups.codes((np.array(["y", "x", None], object), np.array([2, 2**62, 1])), 3).tolist() == [5, -1, -1]
    single = declared((["x", "y"],))
    assert single.keys == ("x", "y")
    assert single == declared(["x", "y"])


def test_identity():
    assert declared([1, 2]) == declared(np.array([1, 2]))
    assert hash(declared([1, 2])) == hash(declared((1, 2)))
    assert declared([1, 2]) != declared([2, 1])
    assert declared([1, 0]) != declared([True, False])
    assert declared(["a"]) != "a"
    for groups in (declared([DAY]), declared((["x", "y"], range(3)))):
        groups.codes(([], []) if len(groups.columns) > 1 else [], 0)
        copy = pickle.loads(pickle.dumps(groups))
        assert copy == groups
        assert type(copy) is Groups
    assert repr(declared(("a", "b"))) == "declared(['a', 'b'])"
    assert repr(declared((["a"], range(2)))) == "declared((['a'], [0, 1]))"
    assert repr(declared(range(1000))) == "declared([0, 1, 2, 3, 4, 5, ... 1000 in all])"
    with pytest.raises(AttributeError):
        declared([1]).columns = ()


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        ([], ValueError, r"^keys must have at least one key$"),
        (range(2**64, 2**64 + 3), ValueError, r"^keys must be of 64 bits; got 18446744073709551616$"),
        (range(0), ValueError, r"^keys must have at least one key$"),
        ((), ValueError, r"^keys must have at least one key$"),
        (["a", "b", "c", "b"], ValueError, r"^keys must be distinct; keys\[1\] and keys\[3\] are both 'b'$"),
        (([1], [2, 2]), ValueError, r"^keys\[1\] must be distinct; keys\[1\]\[0\] and keys\[1\]\[1\] are both 2$"),
        ([np.int8(1), 1], ValueError, r"^keys must be distinct"),
        ([2**64], ValueError, r"^keys\[0\] must be of 64 bits; got 18446744073709551616$"),
        ([0, -(2**63) - 1], ValueError, r"^keys\[1\] must be of 64 bits"),
        ((range(2**16), range(2**16)), ValueError, r"^keys must be at most 2\*\*31, .*; got 65536 x 65536$"),
        (range(2**31 + 1), ValueError, r"^keys must be at most 2\*\*31; got 2147483649$"),
        (["a", None], TypeError, r"^keys must be integers, .*; keys\[1\] is None of type NoneType$"),
        ([1.0], TypeError, r"^keys must be integers.*: declare bins by their edges instead$"),
        (np.array([1.0]), TypeError, r"declare bins by their edges instead$"),
        (["a", math.nan], TypeError, r"keys\[1\] is nan of type float: leave what is missing out, and declare keys "),
        ([1, True], TypeError, r"^keys must be of one kind; keys\[0\] is 1 and keys\[1\] is True$"),
        (["1", 1], TypeError, r"^keys must be of one kind; keys\[0\] is '1' and keys\[1\] is 1$"),
        ([DAY, NOON], TypeError, r"^keys must be of one kind"),
        ([b"a"], TypeError, r"^keys must be integers"),
        ([["a"]], TypeError, r"keys\[0\] is \['a'\] of type list: the keys of several columns are a tuple of lists, "),
        ([("a", 1)], TypeError, r"of type tuple: the keys of several columns are a tuple of lists, one a column$"),
        ([["a"] * 30], TypeError, r"'a',\.\.\. of type list"),
        ("ab", TypeError, r"^keys must be a list, range, array or Index of keys, .*; got a str$"),
        ({"a", "b"}, TypeError, r"got a set, which has no order$"),
        ({"a": 1}, TypeError, r"got a dict$"),
        (iter(["a"]), TypeError, r"^keys must be a list"),
        (5, TypeError, r"^keys must be a list"),
        (None, TypeError, r"^keys must be a list"),
        (np.array([[1]]), TypeError, r"^keys must be one-dimensional; got an array of shape \(1, 1\)$"),
        ((["a"], "b"), TypeError, r"^keys\[1\] must be a list"),
        ([NOON.replace(tzinfo=datetime.UTC)], TypeError, r"^keys\[0\] must be a time without a zone"),
        (np.array([1], "M8[ns]"), ValueError, r"^keys must be whole microseconds"),
    ],
    ids=repr,
)
def test_wrong_keys(keys, error, message):
    with pytest.raises(error, match=message):
        declared(keys)


# Integers


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", ">i8", "u1", "u2", "u4", "u8", ">u4", ">u8"])
@pytest.mark.parametrize(
    "keys",
    [range(5), range(3, 9), [4, 2, 0], [-1, 1], [-128, 127], [0, 2**40, 3], [2**63 - 1, -(2**63)], [2**64 - 1, 5]],
    ids=repr,
)
def test_integer_columns(keys, dtype):
    """All values of a type of 8 bits, and those near every key and both ends of wider ones."""
    limits = np.iinfo(dtype)
    near = [key + step for key in (*keys, limits.min, limits.max, 0, 2**16, 2**63) for step in range(-3, 4)]
    values = [value for value in near if limits.min <= value <= limits.max]
    if limits.bits == 8:
        values = list(range(limits.min, limits.max + 1))
    by = np.array(values, dtype)
    expected = [list(keys).index(value) if value in keys else -1 for value in values]
    assert codes(keys, by) == expected
    assert codes(keys, np.repeat(by, 3)[::3]) == expected
    assert codes(keys, by[::-1]) == expected[::-1]
    assert codes(keys, values) == expected


@given(keys=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9), min_size=1, unique=True), data=st.data())
def test_random_integers(keys, data):
    values = data.draw(st.lists(st.sampled_from(keys) | st.integers(-(2**63), 2**63 - 1)))
    expected = [keys.index(value) if value in keys else -1 for value in values]
    assert codes(keys, np.array(values, np.int64)) == expected


def test_more_than_a_block():
    generator = np.random.Generator(np.random.PCG64(5))
    by = generator.integers(-5, 1005, 10**5)
    for keys in (list(range(1, 1001)), [key * 10**9 for key in range(1000)]):
        scale = keys[1] - keys[0]
        expected = np.where((by >= 0) & (by < 1000), by, -1)
        np.testing.assert_array_equal(declared(keys).codes(by * scale + keys[0], by.size), expected)


def test_codes_are_not_copied():
    by = np.array([0, 2, 7, -3, 1])
    assert declared(range(3)).codes(by, 5) is by
    assert declared([0, 1, 2]).codes(by, 5) is by
    for other in (by[::-1], by.astype("i4"), by.astype("u8"), by.astype(">i8")):
        assert not np.may_share_memory(declared(range(3)).codes(other, 5), other)
    masked = np.ma.array(by, mask=[1, 0, 0, 0, 0])
    assert declared(range(3)).codes(masked, 5).tolist() == [-1, 2, -1, -1, 1]
    assert by.tolist() == [0, 2, 7, -3, 1]


def test_booleans():
    by = np.array([True, False])
    assert codes([True, False], by) == [0, 1]
    assert codes([False], by) == [-1, 0]
    assert codes([False, True], [True, False, None, 1, 0, 1.0, "True", np.True_]) == [1, 0, -1, -1, -1, -1, -1, 1]
    assert codes([True, False], Series([True, None, False], "boolean", "?")) == [0, -1, 1]
    assert codes([False, True], Producer(booleans([True, None, False])), 3) == [1, -1, 0]


# Texts

WORDS = ["b", "a", "", "zwölf", "a\0", "more than twelve letters", "\ud800"]


@pytest.mark.parametrize("missing", [None, NAN], ids=repr)
def test_texts(missing):
    rows = ["a", "B", "a ", missing, "zwölf", "", "\ud800", "more than twelve letters", "a\0"]
    expected = [1, -1, -1, -1, 3, 2, 6, 5, 4]
    assert codes(WORDS, rows) == expected
    assert codes(WORDS, np.array(rows, object)) == expected
    assert codes(WORDS, Series(rows, "str")) == expected
    plain = [row for row in rows if isinstance(row, str) and "\0" not in row]
    assert codes(WORDS, np.array(plain)) == [1, -1, -1, 3, 2, 6, 5]
    assert codes(WORDS, np.array(plain, ">U30")[::-1]) == [1, -1, -1, 3, 2, 6, 5][::-1]
    if hasattr(np.dtypes, "StringDType"):
        kept = [row for row in rows if row != "\ud800"]
        by = np.array(kept, np.dtypes.StringDType(na_object=missing))
        assert codes(WORDS, by) == [1, -1, -1, -1, 3, 2, 5, 4]


def test_what_is_no_text():
    """Any object may be in a column of objects, and none raises."""

    class Hostile:
        def __hash__(self):
            raise RuntimeError

        def __eq__(self, other):
            raise RuntimeError

    class Hashed(Hostile):
        def __hash__(self):
            return hash("a")

    rows = ["a", b"a", 1, ["a"], {}, Hostile(), Hashed(), np.array(["a", "b"]), np.str_("a"), ("a",), NAN, None, "b"]
    expected = [0, -1, -1, -1, -1, -1, -1, -1, 0, -1, -1, -1, 1]
    assert codes(["a", "b"], rows) == expected
    by = np.empty(len(rows), object)
    by[:] = rows
    assert codes(["a", "b"], by) == expected
    assert codes([1], [1, True, 1.0, "1", np.int8(1), np.float64(1), 1 + 0j, [1], 2**100]) == [
        0,
        *[-1] * 3,
        0,
        *[-1] * 4,
    ]


def test_categories():
    for column in (Categorical, CategoricalSeries):
        by = column([1, 0, -1, 2], np.array(["b", "a", "c"], object))
        assert codes(["a", "b"], by, 4) == [0, 1, -1, -1]
        assert codes(["a", "b"], column([], np.array([], object)), 0) == []
        assert codes([7, 8], column([1, 0, -1], np.array([7, 9])), 3) == [-1, 0, -1]
        assert codes([DAY], column([1, 0], np.array([NAN, DAY], object)), 2) == [0, -1]
        with pytest.raises(TypeError, match=r"^by must be a column of texts, as its keys are; got integers$"):
            codes(["a"], column([0], np.array([7])), 1)


def test_arrow():
    for column in (Producer, ArrowSeries):
        for words in (texts, views):
            rows = ["a", None, "zwölf", "", "other", "more than twelve letters"]
            by = column(words(rows[:2]), words(rows[2:]))
            assert codes(WORDS[:-1], by, 6) == [1, -1, 3, 2, -1, 5]
            assert by.live == 0
        by = column(encoded([0, 1, None, 2], texts(["b", "x", None])), encoded([1, 0], texts(["x", "a"])))
        assert codes(["b", "a"], by, 6) == [0, -1, -1, -1, 1, -1]
        assert by.live == 0
        by = column(encoded([1, 0, 99, None], numbers([5, 6], "l", "i8"), "C", "u1"))
        assert codes([6, 5], by, 4) == [0, 1, -1, -1]
        by = column(encoded([1, 0], numbers([None, 0], "l", "i8")))  # where there is a 77
        assert codes([0, 77], by, 2) == [0, -1]
        by = column(numbers([0, None, 2, 5], "l", "i8"), numbers([1], "l", "i8"))
        assert codes(range(3), by, 5) == [0, -1, 2, -1, 1]
        found = declared(range(3)).codes(column(numbers([0, 1], "l", "i8")), 2)
        assert found.flags.writeable, "the producer's memory"
        assert codes(["a"], column(Node("u", -1, [])), 0) == []
        by = column(texts(["a"]))
        with pytest.raises(TypeError, match=r"^by must be a column of integers, as its keys are; got texts$"):
            codes([1], by, 1)
        assert by.live == 0


def test_nullable():
    assert codes([0, 6], Series([6, None, 0], "Int64", "i8"), 3) == [1, -1, 0]
    assert codes([0, 6], Series([6, None, 0], "UInt8", "u1"), 3) == [1, -1, 0]
    assert codes(["a"], np.ma.array(["a", "a"], mask=[0, 1])) == [0, -1]
    with pytest.raises(TypeError, match="got a column of type"):
        codes([0], Series([0.5], "Float64", "f8"), 1)


# Dates and times


def test_dates():
    days = np.array([DAY, "NaT", "2024-03-01", "0001-01-01"], "M8[D]")
    assert codes([DAY, datetime.date(1, 1, 1)], days) == [0, -1, -1, 1]
    assert codes([DAY], days.astype(">M8[D]")) == [0, -1, -1, -1]
    assert codes([DAY], [DAY, NOON, None, "2024-02-29", datetime.datetime(2024, 2, 29)]) == [0, -1, -1, -1, -1]
    days_since = (DAY - datetime.date(1970, 1, 1)).days
    assert codes([DAY], Producer(numbers([days_since, None, 0], "tdD", "i4")), 3) == [0, -1, -1]
    assert codes([DAY], Producer(numbers([days_since * 86_400_000, None, 0], "tdm", "i8")), 3) == [0, -1, -1]
    with pytest.raises(TypeError, match=r"^by must be a column of dates, as its keys are; got times$"):
        codes([DAY], days.astype("M8[us]"))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times(unit):
    between = NOON + datetime.timedelta(microseconds=1)
    by = np.array([NOON, "NaT", "2024-02-29T12:00:01", between], f"M8[{unit}]")
    expected = [0, -1, -1, 0 if unit in ("s", "ms") else 1]  # which the column has as noon
    assert codes([NOON, between], by) == expected
    assert codes([NOON], [NOON, DAY, None, NOON.replace(tzinfo=datetime.UTC)]) == [0, -1, -1, -1]
    with pytest.raises(TypeError, match=r"^by must be a column of times"):
        codes([NOON], by.astype("M8[D]"))


# Types and lengths


@pytest.mark.parametrize(
    ("keys", "by", "message"),
    [
        (
            ["a"],
            np.array([1.5]),
            r"^by must be one column .*; got dtype float64, which pandas makes of integers",
        ),
        (["a"], np.array([1]), r"^by must be a column of texts, as its keys are; got integers$"),
        ([1], np.array(["a"]), r"^by must be a column of integers, as its keys are; got texts$"),
        ([1], np.array([True]), r"got booleans$"),
        ([True], np.array([1]), r"^by must be a column of booleans, as its keys are; got integers$"),
        ([1], np.array([], float), r"got dtype float64, which pandas makes of integers"),
        (["a"], np.array([b"a"]), r"got dtype \|S1$"),
        ([1], np.array([1], "m8[s]"), r"got dtype timedelta64"),
        ([DAY], np.array([1], "M8[M]"), r"got dtype datetime64\[M\]$"),
        ([DAY], np.array([1], "M8[7D]"), r"got dtype datetime64\[7D\]$"),
        ([1], np.array([[1]]), r"got ndarray of 2 dimensions$"),
        ([1], 1, r"got int of 0 dimensions$"),
        ([1], None, r"got NoneType of 0 dimensions$"),
        (["a"], "a", r"got str of 0 dimensions$"),
        ([1], {1}, r"got set of 0 dimensions$"),
        (
            [1],
            Producer(numbers([1.5], "g", "f8")),
            r"got dtype float64, which pandas makes of integers",
        ),
        ([1], Producer(Node("n", 1, [])), r"got Arrow format 'n'$"),
        ([DAY], Producer(Node("tss:Europe/Paris", 1, [])), r"got a column of type timestamp\[s, tz=Europe/Paris\]$"),
        ([DAY], Producer(Node("tsn:UTC", 1, [])), r"got a column of type timestamp\[ns, tz=UTC\]$"),
        ([1], Producer(Node("d:10,2", 1, [])), r"got a column of type decimal128\(10, 2\)$"),
        ([1], Producer(Node("d:60,-2,256", 1, [])), r"got a column of type decimal256\(60, -2\)$"),
        ([1], type("Table", (), {"columns": ["a"]})(), r"got a table of type Table$"),
        ([1], Frame(numbers([1], "l", "i8")), r"got a table of type Frame$"),
        ([1], Series([None], "period[D]"), r"got a column of type"),
    ],
    ids=repr,
)
def test_wrong_columns(keys, by, message):
    with pytest.raises(TypeError, match=message):
        declared(keys).codes(by, 1)


def test_wrong_lengths():
    with pytest.raises(ValueError, match=r"^by must have the length of the other columns: 3 rows, not 2$"):
        declared([1]).codes([1, 2], 3)
    groups = declared(([1], ["a"]))
    with pytest.raises(ValueError, match=r"^by\[1\] must have the length of the other columns: 2 rows, not 1$"):
        groups.codes(([1, 2], ["a"]), 2)
    for by, got in ((([1],), "1 columns"), (np.array([1]), "ndarray"), (([1], [2], [3]), "3 columns")):
        with pytest.raises(ValueError, match=f"^by must be a tuple of 2 columns, as keys were declared; got {got}$"):
            groups.codes(by, 1)
    with pytest.raises(TypeError, match=r"^by\[1\] must be a column of texts"):
        groups.codes(([1], np.array([1])), 1)
