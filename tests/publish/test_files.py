"""Tables as they are read and written: types known beforehand, no cell raises, nothing is lost."""

import contextlib
import csv
import datetime
import errno
import functools
import math
import sqlite3

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exactnoise.errors import MissingExtra, SchemaError
from exactnoise.publish.files import format_for, format_inside, open_table, open_writer, read_columns

FORMATS = ("csv", "sqlite", "parquet", "arrow")
ENDING = {"csv": "csv", "sqlite": "db", "parquet": "parquet", "arrow": "arrow"}


def all_rows(path, columns, **options):
    with open_table(path, columns=columns, **options) as table:
        empty = table.empty()
        assert empty.rows == 0
        assert list(empty.columns) == list(columns)
        chunks = list(table.chunks())
    assert (
        sum(chunk.rows for chunk in chunks)
        == max((len(listed(chunk.columns[c])) for chunk in chunks for c in columns), default=0)
        or len(chunks) > 1
        or not columns
    )
    return {name: [value for chunk in chunks for value in listed(chunk.columns[name])] for name in columns}


def listed(column):
    return (
        column.to_pylist()
        if hasattr(column, "to_pylist")
        else column.tolist()
        if hasattr(column, "tolist")
        else list(column)
    )


def csv_file(tmp_path, data):
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        pytest.param('site,minutes\nÖst,12.5\n"a, ""b""",3\n"two\nlines",\n'.encode(), id="plain"),
        pytest.param(
            '\ufeffsite,minutes\r\nÖst,12.5\r\n"a, ""b""",3\r\n"two\nlines",\r\n'.encode(), id="mark and CRLF"
        ),
        pytest.param(
            'minutes,x,site\n12.5,,Öst\n3,1,"a, ""b"""\n,2,"two\nlines"'.encode(), id="other order, no last line break"
        ),
        pytest.param('site,minutes\n\nÖst,12.5\n\n"a, ""b""",3\n"two\nlines",\n\n'.encode(), id="blank lines"),
    ],
)
def test_csv_is_read(tmp_path, data):
    read = all_rows(csv_file(tmp_path, data), {"site": "texts", "minutes": "number"})
    assert read["site"] == ["Öst", 'a, "b"', "two\nlines"]
    assert read["minutes"][:2] == [12.5, 3.0]
    assert math.isnan(read["minutes"][2])


def test_no_cell_of_a_csv_raises(tmp_path):
    kinds = {
        "n": "number",
        "i": "integers",
        "e": "exact",
        "b": "booleans",
        "t": "texts",
        "d": "dates",
        "m": "times",
        "p": "person",
    }
    rows = [
        ["1.5", "7", "7", "true", "x", "2024-02-29", "2024-02-29 12:00:01", "p1"],
        ["no", "1.5", "", "yes", "", "2023-02-29", "noon", ""],
        ["1e999", "9" * 5000, "9" * 30, "0", "\0", "", "2024-01-01T00:00:00+01:00", "2"],
        [],
        ["1"],
        ["2", "2", "2", "1", "y", "2024-01-01", "2024-01-01", "3", "beyond", "the header"],
    ]
    text = "\n".join(",".join(row) for row in [list(kinds), *rows])
    data = text.encode() + b'\n\xff\xfe\xe9,\xff,\xff,\xff,\xff,\xff,\xff,\xff\n"unclosed'
    read = all_rows(csv_file(tmp_path, data), kinds)
    assert [None if math.isnan(x) else x for x in read["n"]] == [1.5, None, math.inf, 1, 2, None, None]
    assert read["i"] == [7, None, None, None, 2, None, None]
    assert read["e"][:5] == [7, None, 2**63 - 1, None, 2]
    assert read["b"] == [True, None, False, None, True, None, None]
    assert read["t"] == ["x", "", "\0", "", "y", "\ufffd", ""]
    assert read["d"] == [datetime.date(2024, 2, 29), None, None, None, datetime.date(2024, 1, 1), None, None]
    assert read["m"][:4] == [datetime.datetime(2024, 2, 29, 12, 0, 1), None, None, None]
    assert read["p"] == ["p1", None, "2", None, "3", "\ufffd", None]


def test_a_field_without_end_is_a_row_of_missing_values(tmp_path):
    data = b"t,n\na,1\n" + b'"' + b"x" * (2**24 + 10) + b"\nb,2\n"
    read = all_rows(csv_file(tmp_path, data), {"n": "number"})
    assert read["n"][0] == 1
    assert all(math.isnan(x) or x == 2 for x in read["n"][1:])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "first line is empty"),
        (b"\xef\xbb\xbf", "first line is empty"),
        (b"\n1\n", "first line is empty"),
        (b"a,b\n1,2\n", "column 'minutes' is not in the header"),
        (b"minutes,minutes\n1,2\n", "'minutes' is in the header 2 times"),
        ("minutes\n1\n".encode("utf-16"), "not UTF-8"),
        ("minutes,gr\xf6\xdfe\n1\n".encode("latin-1"), "not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_header_is_said_without_quoting_it(tmp_path, data, words):
    with pytest.raises(SchemaError, match=words) as refusal:
        open_table(csv_file(tmp_path, data), columns={"minutes": "number"})
    assert "größe" not in str(refusal.value)


def test_ten_thousand_columns(tmp_path):
    names = [f"c{i}" for i in range(10_000)]
    rows = [[str(i + j) for i in range(10_000)] for j in range(3)]
    data = "\n".join(",".join(row) for row in [names, *rows]).encode()
    assert all_rows(csv_file(tmp_path, data), {"c9999": "number", "c0": "number"}) == {
        "c9999": [9999, 10000, 10001],
        "c0": [0, 1, 2],
    }
    with pytest.raises(SchemaError) as refusal:
        open_table(csv_file(tmp_path, data), columns={"c10000": "number"})
    assert len(str(refusal.value)) < 200
    columns = {name: np.arange(2) for name in names}
    for form in ("csv", "parquet"):  # SQLite has at most 2000 columns
        path = tmp_path / f"out.{ENDING[form]}"
        write(path, form, columns)
        assert list(read_columns(path)) == names


def database(tmp_path, *statements):
    path = tmp_path / "in.db"
    with sqlite3.connect(path) as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    return path


def test_later_batches_of_arrow_keep_the_types_of_the_first(tmp_path):
    """What is of another type is missing; a first batch of several types is text."""
    with contextlib.closing(open_writer(tmp_path / "out.parquet", "parquet")) as writer:
        writer.write({"n": [1, 2], "mixed": [1, "a"]})
        writer.write({"n": ["x", 3], "mixed": [2.5, None]})
    table = pq.read_table(tmp_path / "out.parquet")
    assert table.schema.field("n").type == pa.int64()
    assert table.to_pydict() == {"n": [1, 2, None, 3], "mixed": ["1", "a", "2.5", None]}


def test_a_header_that_no_csv_reader_takes(tmp_path):
    (tmp_path / "in.csv").write_bytes(b'"' + b"a" * 200_000 + b'"\n1\n')  # longer than the csv module allows
    with pytest.raises(SchemaError, match="column 'n' is not in the header"):
        open_table(tmp_path / "in.csv", columns={"n": "number"})


def test_sqlite_is_read(tmp_path):
    path = database(
        tmp_path,
        'CREATE TABLE "vi""sits" (site TEXT, minutes REAL, n INTEGER, any_, day TEXT, id)',
        "INSERT INTO \"vi\"\"sits\" VALUES ('a', 1.5, 3, 7, '2024-01-02', 1), "
        "('b', NULL, NULL, 'x', 'no', NULL), (NULL, 'x', 'x', x'00', 3, 'q')",
    )
    kinds = {"site": "texts", "minutes": "number", "n": "number", "any_": "number", "day": "dates", "id": "person"}
    read = all_rows(path, kinds)
    assert read["site"] == ["a", "b", None]
    assert [x for x in read["minutes"] if not math.isnan(x)] == [1.5]
    assert read["n"] == [3, None, None]
    assert [x for x in read["any_"] if not math.isnan(x)] == [7]
    assert read["day"] == [datetime.date(2024, 1, 2), None, None]
    assert read["id"] == [1, None, "q"]
    assert all_rows(path, {"any_": "booleans"})["any_"] == [None, None, None]
    assert all_rows(path, {"any_": "integers"})["any_"] == [7, None, None]


@pytest.mark.parametrize(
    ("columns", "table", "words"),
    [
        ({"n": "number"}, None, "has 2 tables"),
        ({"n": "number"}, "c", "no table 'c'"),
        ({"m": "number"}, "a", "column 'm' is not in table 'a'"),
        ({"n": "texts"}, "a", "declared INTEGER"),
        ({"t": "exact"}, "a", "declared TEXT"),
    ],
)
def test_refused_tables_of_sqlite(tmp_path, columns, table, words):
    path = database(tmp_path, "CREATE TABLE a (n INTEGER, t TEXT)", "CREATE VIEW b AS SELECT n FROM a")
    with pytest.raises(SchemaError, match=words):
        open_table(path, table=table, columns=columns)


@pytest.mark.parametrize("content", [b"SQLite format 3\0" + b"x" * 200, b"PAR1" + b"x" * 200, b"ARROW1" + b"x" * 200])
def test_damaged_files(tmp_path, content):
    path = tmp_path / "in"
    path.write_bytes(content)
    with pytest.raises(SchemaError, match="cannot be read"):
        open_table(path, columns={"a": "number"})


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_typed_files_keep_their_types(tmp_path, form):
    path = tmp_path / "in"  # recognised by its first bytes
    table = pa.table(
        {
            "n": pa.array([1, None, 3], pa.int32()),
            "m": pa.array([1, 2, 3], pa.int64()),
            "s": pa.array(["a", None, "c"]).dictionary_encode(),
            "d": pa.array([datetime.date(2024, 1, 1)] * 3),
        }
    )
    if form == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    assert format_inside(path) == form
    assert all_rows(path, dict.fromkeys(table.column_names, "number")) == table.to_pydict()
    with open_table(path, columns={"m": "number"}) as opened:
        (chunk,) = opened.chunks()
        assert chunk.columns["m"].dtype == np.int64
    with open_table(path, columns={}) as opened:
        assert [chunk.rows for chunk in opened.chunks()] == [3]
    with pytest.raises(SchemaError, match="not in the schema"):
        open_table(path, columns={"x": "number"})


def test_formats_are_told_apart(tmp_path):
    for name, expected in [
        ("a.csv", "csv"),
        ("a.PARQUET", "parquet"),
        ("a.db", "sqlite"),
        ("a.arrow", "arrow"),
        ("a", "csv"),
    ]:
        (tmp_path / name).write_bytes(b"")
        assert format_inside(tmp_path / name) == expected


def test_names_of_formats_that_are_not_written_are_refused(tmp_path):
    for name, expected in [("o", "csv"), ("o.txt", "csv"), ("o.2024", "csv"), ("o.gz.csv", "csv"), ("o.DB", "sqlite")]:
        assert format_for(tmp_path / name) == expected
    for name in (
        "o.xlsx",
        "o.XLS",
        "o.ods",
        "o.json",
        "o.jsonl",
        "o.csv.gz",
        "o.zip",
        "o.zst",
        "o.tsv",
        "o.avro",
        "o.h5",
    ):
        with pytest.raises(ValueError, match="is a format that is not written"):
            format_for(tmp_path / name)
        with pytest.raises(ValueError, match="is a format that is not written"):
            open_writer(tmp_path / name)
        assert not (tmp_path / name).exists()
        assert format_for(tmp_path / name, "csv") == "csv"  # who says it means it


CONTENT = {
    "site": ["a", 'b,"c"', "d\re\nf"],
    "day": [datetime.date(2024, 1, i) for i in (1, 2, 3)],
    "count": np.array([-3, 2**53 + 1, 0]),
    "mean": np.array([0.1, -1e300, 5.0]),
    "plain": [1, 2, 3],
}


def write(path, form, *chunks):
    writer = open_writer(path, form)
    for chunk in chunks:
        writer.write(chunk)
    writer.close()


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_written_is_read_back(tmp_path, form):
    path = tmp_path / f"out.{ENDING[form]}"
    write(path, form, CONTENT, {name: column[:1] for name, column in CONTENT.items()})
    read = read_columns(path)
    assert list(read) == list(CONTENT)
    typed = form in ("parquet", "arrow")
    days = CONTENT["day"] if typed else [day.isoformat() for day in CONTENT["day"]]
    assert read["day"] == [*days, days[0]]
    assert read["site"] == [*CONTENT["site"], "a"]
    assert read["count"].dtype == read["plain"].dtype == np.int64
    assert read["mean"].dtype == np.float64
    assert read["count"].tolist() == [-3, 2**53 + 1, 0, -3]
    assert read["mean"].tolist() == [0.1, -1e300, 5.0, 0.1]


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_columns_make_the_same_bytes(tmp_path, form):
    first, second = tmp_path / "1", tmp_path / "2"
    write(first, form, CONTENT)
    second.write_bytes(b"something that was there before")
    second.unlink()
    write(second, form, CONTENT)
    assert first.read_bytes() == second.read_bytes()


def test_csv_is_what_other_readers_read(tmp_path):
    write(tmp_path / "out.csv", "csv", {"a": [True, None, 1.5], "b": ["x", "", "y"]})
    with (tmp_path / "out.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["a", "b"], ["true", "x"], ["", ""], ["1.5", "y"]]


def test_errors_of_libraries_are_told_in_our_words(tmp_path):
    """Their texts may quote what is in a file."""
    path = tmp_path / "in.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (j TEXT)")
        connection.execute("INSERT INTO t VALUES ('SECRET-4711')")
        connection.execute("CREATE VIEW v AS SELECT json_extract('{}', j) AS v, abs(-9223372036854775808) AS o FROM t")
        connection.execute("CREATE VIEW release AS SELECT json_extract('{}', j) AS v FROM t")
    connection.close()
    for columns in ({"v": "number"}, {"o": "number"}):
        with open_table(path, table="v", columns=columns) as table, pytest.raises(SchemaError) as refusal:
            list(table.chunks())
        assert str(refusal.value) == "in.db (table 'v') cannot be read as an SQLite database (SQLITE_ERROR)"
    with pytest.raises(SchemaError) as refusal:
        read_columns(path)
    assert "SECRET" not in str(refusal.value)
    (tmp_path / "out.csv").write_bytes(b"a,b\n1\xff\n")
    with pytest.raises(SchemaError, match="no table in CSV"):
        read_columns(tmp_path / "out.csv")


def test_a_locked_database_is_no_matter_of_its_content(tmp_path, monkeypatch):
    path = database(tmp_path, "CREATE TABLE a (n INTEGER)")
    monkeypatch.setattr(sqlite3, "connect", functools.partial(sqlite3.connect, timeout=0))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(OSError, match=r"in\.db") as refusal:
            open_table(path, columns={"n": "number"})
    assert refusal.value.errno == errno.EBUSY


def test_the_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match="files"):
        open_writer(tmp_path / "out.parquet")
    (tmp_path / "in.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingExtra, match="files"):
        open_table(tmp_path / "in.parquet", columns={"a": "number"})
