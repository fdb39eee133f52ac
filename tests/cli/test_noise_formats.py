"""``exactnoise noise`` on Parquet, Arrow IPC and SQLite, and paid for from a ledger."""

import hashlib
import os
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exactnoise.publish.files import open_writer, read_columns

SITES = ["Harbour", "Ferry, old", "ünicode"]
VISITS = [12, -3, 2**40]
ENDINGS = ["csv", "db", "parquet", "arrow"]
EXACT = ["--column=visits", "--sensitivity=1", "--epsilon=1000"]
REAL = ["--mechanism=laplace", "--granularity=1/1024", *EXACT]


def put(path, columns=None):
    writer = open_writer(Path(path))
    writer.write(columns or {"site": SITES, "visits": np.array(VISITS), "x": np.array([0.5, 1.5, 2.5])})
    writer.close()
    return path


@pytest.mark.parametrize("given", ENDINGS)
@pytest.mark.parametrize("wanted", ENDINGS)
def test_every_format_to_every_other(run, folder, given, wanted):
    put(f"in.{given}")
    outcome = run("noise", f"in.{given}", "-o", f"out.{wanted}", *EXACT, "--json")
    assert (outcome.code, outcome.err) == (0, "")
    columns = read_columns(Path(f"out.{wanted}"))
    assert list(columns) == ["site", "visits", "x"]
    assert columns["site"] == SITES
    assert [int(value) for value in columns["visits"]] == VISITS
    assert [float(value) for value in columns["x"]] == [0.5, 1.5, 2.5]
    assert outcome.json["sha256"] == hashlib.sha256(Path(f"out.{wanted}").read_bytes()).hexdigest()
    assert outcome.json["rows"] == 3


@pytest.mark.parametrize("given", ["db", "parquet", "arrow"])
def test_missing_values_count_as_said(run, folder, given):
    columns = {"visits": [5, None, 7], "x": [0.5, None, 2.5]}
    put(f"in.{given}", columns)
    assert run("noise", f"in.{given}", "-o", "out.csv", *EXACT, "--nan=3").code == 0
    assert read_columns(Path("out.csv"))["visits"].tolist() == [5, 3, 7]
    options = [option.replace("visits", "x") for option in REAL]
    assert run("noise", f"in.{given}", "-o", "out.csv", *options, "--nan=-1", "--force").code == 0
    assert read_columns(Path("out.csv"))["x"] == pytest.approx([0.5, -1, 2.5], abs=0.1)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (pa.int8(), "int64"),
        (pa.uint32(), "int64"),
        (pa.int64(), "int64"),
        (pa.float32(), "float"),
        (pa.float64(), "double"),
    ],
)
def test_types_of_parquet(run, folder, kind, expected):
    pq.write_table(pa.table({"visits": pa.array([1, 2], kind), "s": pa.array(["a", "a"]).dictionary_encode()}), "in.pq")
    options = EXACT if "int" in str(kind) else REAL
    assert run("noise", "in.pq", "-o", "out.pq", *options).code == 0
    schema = pq.read_schema("out.pq")
    assert str(schema.field("visits").type) == expected
    assert schema.field("s").type == pa.dictionary(pa.int32(), pa.string())
    assert pq.read_table("out.pq")["visits"].to_pylist() == pytest.approx([1, 2], abs=0.1)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.uint64(), pa.int64()])
@pytest.mark.parametrize("missing", [-1, 2**53 + 1])
def test_missing_whole_numbers_count_exactly(run, folder, kind, missing):
    pq.write_table(pa.table({"visits": pa.array([1, None, 100], kind)}), "in.parquet")
    assert run("noise", "in.parquet", "-o", "out.csv", *EXACT, f"--nan={missing}").code == 0
    assert read_columns(Path("out.csv"))["visits"].tolist() == [1, missing, 100]


def test_a_pipe_is_read_once(run, folder):
    os.mkfifo("pipe")
    outcome = run("noise", "pipe", "-o", "out.parquet", *EXACT)
    assert (outcome.code, "pipe is no file" in outcome.err) == (2, True)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pa.array([1.5]), "of type float64 (for real numbers say --mechanism laplace)"),
        (pa.array(["73195264"]), "must be of whole numbers, and is of type string"),
        (pa.array([True]), "is of type bool"),
        (pa.array([Decimal("73195264.5")]), "is of type decimal128(9, 1); convert decimals to floats (double), or to "),
    ],
)
def test_wrong_types(run, folder, column, words):
    pq.write_table(pa.table({"visits": column}), "in.parquet")
    outcome = run("noise", "in.parquet", "-o", "out.parquet", *EXACT)
    assert (outcome.code, outcome.out, outcome.files) == (4, "", ["in.parquet"])
    assert words in outcome.err
    assert "73195264" not in outcome.err


def test_wrong_tables(run, folder):
    put("in.parquet", {"site": ["a"]})
    outcome = run("noise", "in.parquet", "-o", "out.csv", *EXACT)
    assert "'visits' is not in the schema (case matters); there are 'site'" in outcome.err
    with sqlite3.connect("in.db") as connection:
        connection.execute("CREATE TABLE a (visits INTEGER)")
        connection.execute("CREATE TABLE b (visits REAL)")
        connection.execute("INSERT INTO a VALUES (7)")
    connection.close()
    for options, code, words in [
        ([], 4, "2 tables: say which one (--table NAME; in a job "),
        (["--table=c"], 4, "no table 'c'"),
        (["--table=b"], 4, "declared REAL"),
        (["--table=a"], 0, ""),
    ]:
        outcome = run("noise", "in.db", "-o", "out.csv", *EXACT, *options)
        assert (outcome.code, words in outcome.err) == (code, True)
    Path("in.csv").write_text("a,a,visits\n1,2,3\n")
    outcome = run("noise", "in.csv", "-o", "out.parquet", *EXACT)
    assert (outcome.code, "two columns have one name" in outcome.err) == (4, True)


@pytest.mark.parametrize("ledger", [[], ["--ledger=privacy.db", "--budget=visits", "--id=x"]])
@pytest.mark.parametrize("wanted", ["csv", "db", "parquet"])
@pytest.mark.parametrize("given", ENDINGS)
def test_a_table_without_rows_costs_nothing(run, folder, given, wanted, ledger):
    create = ["--epsilon=1000", "--neighbors=add-remove", "--unit=person"]
    assert run("ledger", "create", "privacy.db", "--budget=visits", *create).code == 0
    put(f"in.{given}", {"site": [], "visits": np.array([], np.int64)})
    outcome = run("noise", f"in.{given}", "-o", f"out.{wanted}", *EXACT, *ledger)
    assert (outcome.code, outcome.out, outcome.files) == (4, "", sorted([f"in.{given}", "privacy.db"]))
    assert outcome.err == f"exactnoise: in.{given} has no rows: nothing was released, nothing was spent\n"
    (budget,) = run("ledger", "show", "privacy.db", "--json").json["budgets"]
    assert (budget["spent"], budget["history"]) == ({"epsilon": "0"}, [])


def test_every_batch_gets_its_own_noise_in_order(run, folder, monkeypatch):
    monkeypatch.setattr("exactnoise.cli.noise_source._ROWS", 64)
    put("in.parquet", {"n": np.arange(640), "visits": np.zeros(640, np.int64)})
    assert (
        run("noise", "in.parquet", "-o", "out.parquet", "--column=visits", "--sensitivity=1", "--epsilon=0.001").code
        == 0
    )
    columns = read_columns(Path("out.parquet"))
    assert columns["n"].tolist() == list(range(640))
    assert len({tuple(row) for row in columns["visits"].reshape(10, 64).tolist()}) == 10


@pytest.mark.parametrize("wanted", ENDINGS)
def test_dictionaries_that_change_from_batch_to_batch(run, folder, monkeypatch, wanted):
    monkeypatch.setattr("exactnoise.cli.noise_source._ROWS", 64)
    names = [f"site {n // 50}" for n in range(1000)]
    table = pa.table({"site": pa.array(names).dictionary_encode(), "visits": np.arange(1000)})
    pq.write_table(table, "in.parquet", row_group_size=100)
    assert run("noise", "in.parquet", "-o", f"out.{wanted}", *EXACT).code == 0
    columns = read_columns(Path(f"out.{wanted}"))
    assert columns["site"] == names
    assert columns["visits"].tolist() == list(range(1000))


@pytest.mark.parametrize("failing", ["release", "write", "interrupt"])
def test_what_fails_in_the_middle_leaves_nothing(run, folder, monkeypatch, failing):
    from exactnoise import DiscreteLaplace
    from exactnoise.publish.files.arrow_files import ArrowWriter

    monkeypatch.setattr("exactnoise.cli.noise_source._ROWS", 64)
    put("in.parquet", {"visits": np.zeros(6400, np.int64)})
    owner, method = (DiscreteLaplace, "release") if failing == "release" else (ArrowWriter, "write")
    error, code = {
        "release": (RuntimeError("73195264"), 1),
        "write": (OSError(28, "No space left on device"), 5),
        "interrupt": (KeyboardInterrupt(), 130),
    }[failing]
    real, calls = getattr(owner, method), []

    def fail(*args, **kwargs):
        calls.append(1)
        if len(calls) == 5:
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, method, fail)
    outcome = run("noise", "in.parquet", "-o", "out.parquet", *EXACT)
    assert (outcome.code, outcome.files) == (code, ["in.parquet"])
    assert "73195264" not in outcome.err


@pytest.mark.parametrize("kind", ["uint8", "uint64", "int8"])
@pytest.mark.parametrize("missing", ["-1", "9223372036854775807"])
def test_missing_whole_numbers_of_any_width(run, folder, kind, missing):
    pq.write_table(pa.table({"visits": pa.array([7, None], kind)}), "in.parquet")
    assert run("noise", "in.parquet", "-o", "out.csv", *EXACT, f"--nan={missing}").code == 0
    assert read_columns(Path("out.csv"))["visits"].tolist() == [7, int(missing)]
    assert run("noise", "in.parquet", "-o", "real.csv", *REAL, f"--nan={missing}").code == 0


def peak_megabytes(folder, rows):
    """The most memory of a process that adds noise to so many counts in one row group."""
    counts = np.random.default_rng(1).integers(0, 1000, rows)
    pq.write_table(pa.table({"visits": counts}), folder / "in.parquet", row_group_size=rows)
    script = (
        "import sys, exactnoise.cli as cli\n"
        "assert cli.main(sys.argv[1:]) == 0\n"
        # Not ru_maxrss, which a process inherits from the one that started it.
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    command = ["noise", "in.parquet", "-o", "out.parquet", "--column=visits", "--sensitivity=1", "--epsilon=0.5"]
    command += ["--force"]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
    assert pq.ParquetFile(folder / "out.parquet").metadata.num_rows == rows
    return int(done.stdout.splitlines()[-1]) / 1024


def test_memory_does_not_grow_with_the_file(folder):
    """Eight million counts more are 64 MB, and noisy ones as much; by chance the threads hold a few batches of 4 MB."""
    small, large = peak_megabytes(folder, 4_000_000), peak_megabytes(folder, 12_000_000)
    assert large < small + 40


@pytest.mark.slow
def test_125_million_counts_in_less_than_a_gigabyte(folder):
    assert peak_megabytes(folder, 125_000_000) < 1000
