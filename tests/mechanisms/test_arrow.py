"""Columns that are exported by the Arrow C data interface: every layout, missing values, and no struct left behind."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from arrow_producer import Node, Producer, booleans, encoded, numbers, texts, views

from exactnoise import Laplace, PrivacyBudget
from exactnoise.mechanisms import _arrow
from exactnoise.mechanisms._data import read

QUIET = Laplace(sensitivity=1, scale=2.0**-30, granularity=1, nan=7)
CODES = dict(zip("cCsSiIlLefg", ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"), strict=True))
SHORT_AND_LONG = ["a", "", "zwölf", "exactly 12 b", "more than twelve", "another one of many letters", "é" * 40]


def list_of(producer: Producer) -> list:
    """What is read, as Python values."""
    found = []
    with _arrow.opened(producer) as column:
        for chunk in column.chunks:
            found += list_of_chunk(chunk)
    return found


def list_of_chunk(chunk: _arrow.Chunk) -> list:
    if isinstance(chunk.values, _arrow.Text):
        bounds = zip(chunk.values.starts, chunk.values.stops, strict=True)
        values = [chunk.values.data[start:stop].decode() for start, stop in bounds]
    else:
        values = chunk.values.tolist()
    missing = np.zeros(len(values), bool) if chunk.missing is None else chunk.missing
    if chunk.dictionary is not None:
        entries = list_of_chunk(chunk.dictionary)
        values = [None if lost else entries[value] for value, lost in zip(values, missing, strict=True)]
    return [None if lost else value for value, lost in zip(values, missing, strict=True)]


@pytest.mark.parametrize("as_array", [True, False], ids=["array", "stream"])
@pytest.mark.parametrize("offset", [0, 3, 8, 13])
@pytest.mark.parametrize("code", CODES)
def test_numbers(code, offset, as_array):
    for values in ([1, 2, 3], [1, None, 3], [None] * 9, [], [5] * 17):
        producer = Producer(numbers(values, code, CODES[code], offset), as_array=as_array)
        lanes = read(producer)
        assert lanes.values.dtype == np.dtype(CODES[code])
        missing = np.zeros(len(values), bool) if lanes.missing is None else lanes.missing
        found = [None if lost else value for value, lost in zip(lanes.values.tolist(), missing, strict=True)]
        assert found == values
        assert producer.live == 0
        assert producer.handed_out == (2 if as_array else 3)


@pytest.mark.parametrize("offset", [0, 3, 8, 13])
def test_booleans(offset):
    values = [True, None, False, False, True, None, True, False, True, True, None]
    producer = Producer(booleans(values, offset))
    lanes = read(producer)
    assert lanes.values.dtype == np.bool_
    assert [None if lost else bool(v) for v, lost in zip(lanes.values, lanes.missing, strict=True)] == values
    assert producer.live == 0


def test_chunks():
    """Missing values in one chunk only; and no chunk at all, of a type nevertheless."""
    producer = Producer(*(numbers(values, "s", "i2") for values in ([1, 2], [], [None, 4], [5])))
    lanes = read(producer)
    assert lanes.values.tolist()[:2] + lanes.values.tolist()[3:] == [1, 2, 4, 5]
    assert lanes.missing.tolist() == [False, False, True, False, False]
    assert producer.live == 0
    assert producer.handed_out == 6
    empty = Producer(Node("s", -1, []))
    lanes = read(empty)
    assert lanes.values.dtype == np.int16
    assert lanes.values.size == 0
    assert empty.live == 0


def test_a_table_of_one_column():
    inner = numbers([10, None, 30, 40], "i", "i4", offset=2)
    inner.offset, inner.length = 1, 5  # the column starts a row earlier than the table
    table = Node("+s", 3, [b"\x0b"], offset=1, children=[inner])  # rows 1 to 3, of which row 2 is missing
    assert list_of(Producer(table)) == [10, None, 30]
    producer = Producer(Node("+s", 1, [None], children=[inner, inner]))
    with pytest.raises(TypeError, match=r"^x must be numbers.*got a table of 2 columns"):
        read(producer)
    assert producer.live == 0


@pytest.mark.parametrize("code", ["u", "U"])
@pytest.mark.parametrize("offset", [0, 3])
def test_texts(code, offset):
    for values in ([*SHORT_AND_LONG, None], SHORT_AND_LONG, [], [None]):
        producer = Producer(texts(values, code, offset), texts(values, code))
        assert list_of(producer) == values * 2
        assert producer.live == 0


def test_text_views():
    for values in ([*SHORT_AND_LONG, None, *SHORT_AND_LONG], ["short"], [None, None], []):
        producer = Producer(views(values))
        assert list_of(producer) == values
        assert producer.live == 0


def test_dictionaries():
    """Each chunk has its own; a position and an entry may be missing."""
    first = encoded([0, 1, None, 1], texts(["a", "b"]))
    second = encoded([0, 1, 0], views(["b", None]))
    assert list_of(Producer(first, encoded([1, 0], texts(["x", "y"])))) == ["a", "b", None, "b", "y", "x"]
    assert list_of(Producer(second)) == ["b", None, "b"]
    assert list_of(Producer(encoded([2, 0], numbers([5, 6, 7], "l", "i8"), "S", "u2"))) == [7, 5]


def test_dates_and_times():
    assert list_of(Producer(numbers([0, None, 19000], "tdD", "i4"))) == [
        np.datetime64(0, "D").item(),
        None,
        np.datetime64(19000, "D").item(),
    ]
    assert list_of(Producer(numbers([86_400_000, -1], "tdm", "i8"))) == [
        datetime.date(1970, 1, 2),
        datetime.date(1969, 12, 31),
    ]
    for code, unit in (("tss:", "s"), ("tsm:", "ms"), ("tsu:", "us")):
        (found,) = list_of(Producer(numbers([86_400_000], code, "i8")))
        assert np.datetime64(found) == np.datetime64(86_400_000, unit)
    with _arrow.opened(Producer(numbers([1], "tsn:", "i8"))) as column:
        assert column.dtype == np.dtype("M8[ns]")


@pytest.mark.parametrize(
    "node",
    [
        texts(["a"]),
        views(["a"]),
        encoded([0], texts(["a"])),
        encoded([0], numbers([1], "i", "i4")),
        numbers([1], "tdD", "i4"),
        numbers([1], "tsu:", "i8"),
        numbers([1], "tsu:UTC", "i8"),
        Node("n", 1, []),
        Node("d:10,2", 1, [None, bytes(16)]),
        Node("+l", 1, [None, bytes(8)], children=[numbers([], "i", "i4")]),
        Node("z", 1, [None, bytes(8), None]),
        Node("+r", 1, [], children=[numbers([1], "i", "i4"), numbers([1], "i", "i4")]),
    ],
    ids=lambda node: node.format,
)
@pytest.mark.parametrize("as_array", [True, False], ids=["array", "stream"])
def test_other_types(node, as_array):
    """A TypeError by type, before anything is spent, and everything is released."""
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=10)
    producer = Producer(node, as_array=as_array)
    with pytest.raises(TypeError, match=r"^x must be numbers"):
        Laplace(sensitivity=1, epsilon=1).release(producer, budget=budget)
    assert budget.history == ()
    assert producer.live == 0


@pytest.mark.parametrize("fails_at", [-1, 0, 1, 2])
def test_failing_producers(fails_at):
    """Its own error, which does not quote it; what was handed out before is released."""
    producer = Producer(numbers([1], "i", "i4"), numbers([2], "i", "i4"), fails_at=fails_at)
    with pytest.raises(OSError, match="the producer of an Arrow stream failed"):
        read(producer)
    assert producer.live == 0
    assert producer.handed_out == max(1, fails_at + 2)


def test_an_exception_inside():
    producer = Producer(numbers([1], "i", "i4"), numbers([2], "i", "i4"))

    def interrupted():
        with _arrow.opened(producer) as column:
            next(column.chunks)
            raise KeyError

    with pytest.raises(KeyError):
        interrupted()
    assert producer.live == 0


def test_release():
    """As any other column: exact, total, and of a dtype by type."""
    largest = 2**63 - 1
    y = QUIET.release(Producer(numbers([largest, None, -largest - 1], "l", "i8")), budget=None)
    assert y.tolist() == [largest, 7, -largest - 1]
    y = QUIET.release(Producer(numbers([1.25, None, np.nan], "f", "f4")), budget=None)
    assert y.dtype == np.float32
    assert y.tolist() == [1, 7, 7]
    assert QUIET.release(Producer(booleans([True, None])), budget=None).tolist() == [1, 7]


class Query(Producer):
    """What a database returns: a table with columns' names, which NumPy cannot read."""

    columns = ("a",)


class Frame(Query):
    """A data frame, which NumPy can."""

    def __array__(self, dtype=None, copy=None):
        return np.zeros((1, 1))


def test_tables():
    table = Node("+s", 2, [None], children=[numbers([1, 2], "i", "i4")])
    assert read(Query(table)).values.tolist() == [1, 2]
    with pytest.raises(TypeError, match=r"^x must be one column or an array; got a table of type Frame: ") as told:
        read(Frame(table))
    assert str(told.value).endswith(
        ": pass one of its columns, or all of its cells as one array, such as table.to_numpy()"
    )


class PlainColumn(Producer):
    """pandas' columns on top of NumPy export only where pyarrow is installed, and need not."""

    dtype = np.dtype("i8")

    def _stream(self, requested_schema=None):
        raise ImportError

    def __array__(self, dtype=None, copy=None):
        return np.array([1, 2])


def test_plain_columns_are_numpy():
    assert read(PlainColumn()).values.tolist() == [1, 2]


class Unreadable(Producer):
    """NumPy refuses it because of a value, and so must not be asked."""

    def __array__(self, dtype=None, copy=None):
        raise ValueError("nulls")


def test_numpy_is_not_asked():
    lanes = read(Unreadable(numbers([1, None], "i", "i4")))
    assert lanes.missing.tolist() == [False, True]


def test_the_count_of_live_structs_counts():
    producer = Producer(numbers([1], "i", "i4"))
    producer.__arrow_c_stream__()
    assert producer.live == 1
