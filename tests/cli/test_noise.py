"""What ``exactnoise noise`` does to a good table."""

import csv
import hashlib
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import exactnoise

TABLE = b"site,visits\nHarbour,12\nMarket,-3\nFerry,0\n"


def column(path="out.csv", name="visits"):
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        return [row[name] for row in csv.DictReader(file)]


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(TABLE, id="plain"),
        pytest.param(b"\xef\xbb\xbf" + TABLE, id="byte-order mark"),
        pytest.param(TABLE.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + TABLE.replace(b"\n", b"\r\n"), id="mark and CRLF"),
        pytest.param("größe,visits,ort\nß,7,Zürich\n漢字,8,\U0001f600\n".encode(), id="UTF-8"),
        pytest.param(b'site,visits\n"Bath, Spa",7\n"the ""Old"" one",8\n', id="quotes"),
        pytest.param(b'site,visits\n"two\nlines",7\n"two\r\nlines",8\nx,9\n', id="line breaks"),
        pytest.param(b'site,visits\n"x\ry",7\nz,8\n', id="carriage return"),
        pytest.param(b'\xef\xbb\xbf"si\rte",visits\nx,7\n', id="carriage return in the header"),
        pytest.param(b'site,visits\r\n"x\ry",7\r\nz,8\r\n', id="carriage return and CRLF"),
        pytest.param(b'site,visits\n"' + b"x" * 2**22 + b'\n",7\n', id="long field"),
        pytest.param(b"visits\n1\n2\n", id="one column"),
        pytest.param(b"visits,,\n1,,\n2,a,\n", id="columns without a name"),
        pytest.param(b"a,visits,a\n1,2,3\n", id="another column twice"),
        pytest.param(b"visits\n9223372036854775807\n-9223372036854775808\n", id="int64 extremes"),
    ],
)
def test_everything_else_stays_as_it_was(noise, table):
    assert noise(table).code == 0
    assert Path("out.csv").read_bytes() == table


def test_missing_newline_at_the_end_is_added(noise):
    assert noise(b"visits\n5").code == 0
    assert Path("out.csv").read_bytes() == b"visits\n5\n"


def test_the_column_gets_noise_and_nothing_else_does(noise):
    table = b"n,visits\n" + b"".join(b"%d,1000\n" % n for n in range(200))
    assert noise(table, epsilon="0.001").code == 0
    noisy = [int(cell) for cell in column()]
    assert column(name="n") == [str(n) for n in range(200)]
    # Of 200 draws of scale 1000: the same cell as the first in all of them has chance 2000^-199,
    # and one beyond 100 scales 200 e^-100.
    assert len(set(noisy)) > 1
    assert max(abs(value - 1000) for value in noisy) < 100_000


def test_every_chunk_gets_its_own_noise(noise, monkeypatch):
    monkeypatch.setattr("exactnoise.cli.noise._CHUNK", 64)
    assert noise(b"visits\n" + b"0\n" * 256, epsilon="0.001").code == 0
    noisy = np.array([int(cell) for cell in column()]).reshape(4, 64)
    assert len({tuple(chunk) for chunk in noisy}) == 4  # equal chunks: chance 2000^-64


def test_two_runs_differ(noise):
    table = b"visits\n" + b"0\n" * 64
    noise(table, epsilon="0.001")
    first = column()
    noise(table, "--force", epsilon="0.001")
    assert column() != first


@pytest.mark.parametrize("rows", [1, 4095, 4096, 4097, 9000])
def test_row_counts_about_the_chunk(noise, rows):
    table = b"n,visits\n" + b"".join(b"%d,%d\n" % (n, n % 97) for n in range(rows))
    outcome = noise(table, "--json")
    assert outcome.json["rows"] == rows
    assert Path("out.csv").read_bytes() == table


@pytest.mark.parametrize(
    ("cell", "released"),
    [
        ("", "7"),
        ("  ", "7"),
        ("NA", "7"),
        ("NaN", "7"),
        ("nan", "7"),
        ("12.0", "12"),
        (" 12 ", "12"),
        ("+12", "12"),
        ("9007199254740993.0", "9007199254740993"),  # 2^53 + 1, no double
        ("9223372036854775808", "9223372036854775807"),
        ("-9223372036854775809", "-9223372036854775808"),
        ("1" * 5000, "9223372036854775807"),
        ("-" + "1" * 5000, "-9223372036854775808"),
        ("0" * 5000 + "3", "3"),
        ("0" * 5000 + ".0", "0"),
        ("-" + "0" * 5000, "0"),
    ],
)
def test_whole_number_cells(noise, cell, released):
    assert noise(f"visits,x\n1,\n{cell},\n2,\n".encode(), nan=7).code == 0
    assert column() == ["1", released, "2"]


@pytest.mark.parametrize(("sensitivity", "released"), [("1", "7"), ("1.4142136", "7")])
def test_discrete_gaussian(noise, sensitivity, released):
    outcome = noise(
        b"visits,x\n1,\n,\n2,\n", mechanism="discrete-gaussian", nan=7, delta="1e-6",
        epsilon=1000, sensitivity=sensitivity,
    )  # fmt: skip
    assert outcome.code == 0
    # The scale is below 0.04: another integer has a probability below 1e-100.
    assert column() == ["1", released, "2"]


@pytest.mark.parametrize(
    ("cell", "released"),
    [("", 7.25), ("NA", 7.25), ("nan", 7.25), ("12", 12), ("-1e3", -1000), (" 2.5 ", 2.5)],
)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_real_cells(noise, mechanism, cell, released):
    delta = 1e-6 if mechanism == "gaussian" else None
    outcome = noise(
        f"visits,x\n1,\n{cell},\n".encode(), mechanism=mechanism, nan=7.25, delta=delta,
        sensitivity=1e-3, epsilon=10,
    )  # fmt: skip
    assert outcome.code == 0
    # Beyond 0.05: 500 scales of the Laplace noise, over 100 of the Gaussian.
    assert [float(cell) for cell in column()] == pytest.approx([1, released], abs=0.05)


@pytest.mark.parametrize("cell", ["inf", "-inf", "1e999", "-Infinity"])
def test_infinite_cells_saturate(noise, cell):
    assert noise(f"visits\n{cell}\n".encode(), mechanism="laplace").code == 0
    value = float(column()[0])
    assert np.isfinite(value)
    assert abs(value) > 1e300
    assert (value < 0) == cell.startswith("-")


def test_real_numbers_are_written_so_that_they_read_back(noise):
    table = b"visits\n" + b"0\n" * 500
    assert noise(table, mechanism="laplace", epsilon=1, granularity="1/1024").code == 0
    cells = column()
    assert cells == [repr(float(cell)) for cell in cells]
    assert all((Fraction(cell) * 1024).denominator == 1 for cell in cells)
    assert "-0.0" not in cells


def test_metadata(noise):
    outcome = noise(
        b"visits\n1\n2\n", "--json",
        sensitivity="1", epsilon="1/3", neighbors="add-remove", unit="person",
        id="visits-2026-11", label="first",
    )  # fmt: skip
    document = json.loads(Path("out.csv.release.json").read_bytes())
    assert outcome.json == document
    scale = document.pop("scale")
    versions = document.pop("versions")
    assert Fraction(scale["fraction"]) == Fraction(float(scale["decimal"])) >= 3
    assert Fraction(scale["fraction"]) < 3 + Fraction(1, 10**12)
    assert versions["exactnoise"] == exactnoise.__version__
    assert set(versions) == {"exactnoise", "numpy", "python", "instruction_set"}
    assert document.pop("created").endswith("+00:00")
    mechanism = exactnoise.DiscreteLaplace(sensitivity=1, epsilon="1/3")
    assert document.pop("mechanism_repr") == repr(mechanism)
    rho = document.pop("rho")
    assert rho is None or 0 < Fraction(rho) < Fraction(1, 18)
    assert document == {
        "format": "exactnoise-release/1",
        "id": "visits-2026-11",
        "label": "first",
        "mechanism": "DiscreteLaplace",
        "granularity": {"decimal": "1.0", "fraction": "1"},
        "sensitivity": "1",
        "epsilon": "1/3",
        "delta": "0",
        "composition": "single release",
        "neighbors": "add-remove",
        "unit": "person",
        "column": "visits",
        "missing": "0",
        "rows": 2,
        "ledger": None,
        "sha256": hashlib.sha256(Path("out.csv").read_bytes()).hexdigest(),
    }


def test_metadata_says_null_for_what_was_not_said(noise):
    document = noise(TABLE, "--json").json
    assert document["neighbors"] is document["unit"] is document["label"] is None
    other = noise(TABLE, "--json", "--force").json
    assert len(document["id"]) == 16
    assert document["id"] != other["id"]


def test_metadata_keeps_typed_decimals(noise):
    outcome = noise(TABLE, "--json", mechanism="gaussian", sensitivity="0.3", epsilon="0.1", delta="1e-6")
    document = outcome.json
    assert document["sensitivity"], document["epsilon"] == ("0.3", "0.1")
    assert document["delta"] == "1e-6"
    assert Fraction(document["granularity"]["fraction"]).numerator == 1


def test_nothing_in_the_metadata_depends_on_the_numbers(noise):
    secret = "48213977"
    document = noise(f"visits\n{secret}\n".encode(), "--json", epsilon="0.001").json
    assert secret not in json.dumps(document)


def test_summary_names_files_and_accuracy(noise):
    outcome = noise(TABLE, epsilon=1)
    assert "out.csv: 3 rows" in outcome.out
    assert "within 3 of the exact number" in outcome.out
    assert "out.csv.release.json" in outcome.out
    assert outcome.err == ""


def test_output_in_another_folder(noise, folder):
    (folder / "released").mkdir()
    outcome = noise(TABLE, output="released/visits.csv")
    assert outcome.files == ["in.csv", "released/visits.csv", "released/visits.csv.release.json"]
