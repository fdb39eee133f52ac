"""Exit codes and messages of ``exactnoise noise`` that does not succeed.

SECRET stands in every bad cell, and no output may hold it.
"""

import gzip
import json
import lzma
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

SECRET = "73195264"
GOOD = b"site,visits\nHarbour,12\n"
NO_NUMBER = "not a number (written as 1200 or 12.5; empty, NA or NaN where it is missing)"


def refused(outcome, code, *words):
    assert outcome.code == code
    assert outcome.out == ""
    assert outcome.err.startswith("exactnoise: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err
    assert SECRET not in outcome.err
    assert outcome.files in (["in.csv"], [])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": "0"}, ["epsilon", "'0'"]),
        ({"epsilon": "-1"}, ["epsilon", "'-1'"]),
        ({"epsilon": "nan"}, ["epsilon", "'nan'"]),
        ({"epsilon": "inf"}, ["epsilon"]),
        ({"epsilon": "much"}, ["epsilon", "'much'"]),
        ({"epsilon": None}, ["--epsilon"]),
        ({"sensitivity": "0"}, ["sensitivity", "'0'"]),
        ({"sensitivity": "1.5"}, ["'1.5'; for real numbers use Laplace (on the command line --mechanism laplace)"]),
        ({"epsilon": "0,5"}, ["epsilon", "'0,5'", "a comma is no decimal point"]),
        ({"sensitivity": None}, ["--sensitivity: how much one person can change", "1 for a count"]),
        ({"column": None}, ["--column"]),
        ({"output": None}, ["--output"]),
        ({"delta": "1e-6"}, ["--delta", "gaussian"]),
        ({"mechanism": "laplace", "delta": "1e-6"}, ["--delta", "gaussian"]),
        ({"mechanism": "gaussian"}, ["--delta: gaussian needs one"]),
        ({"mechanism": "gaussian", "delta": "1"}, ["delta"]),
        ({"mechanism": "discrete-gaussian"}, ["--delta: discrete-gaussian needs one"]),
        ({"mechanism": "discrete-gaussian", "delta": "1e-6", "granularity": "1"}, ["--granularity"]),
        ({"mechanism": "discrete-gaussian", "delta": "1e-6", "nan": "0.5"}, ["--nan: discrete-gaussian"]),
        ({"mechanism": "cauchy"}, ["cauchy", "laplace"]),
        ({"granularity": "2"}, ["--granularity"]),
        ({"mechanism": "laplace", "granularity": "0.3"}, ["granularity", "power of two"]),
        ({"mechanism": "laplace", "nan": "nan"}, ["nan"]),
        ({"nan": "0.5"}, ["--nan", "'0.5'"]),
        ({"nan": str(2**63)}, ["--nan"]),
        ({"mechanism": "laplace", "nan": "none"}, ["nan", "'none'"]),
        ({"neighbors": "some"}, ["some", "add-remove"]),
        ({"colour": "red"}, ["--colour"]),
        ({"eps": "1", "column": None}, ["there is no option --eps; did you mean --epsilon?"]),
        ({"output": "-"}, ["argument -o/--output: - does not stand for standard output"]),
        ({"output": "out.xlsx"}, ["out.xlsx: .xlsx is a format that is not written; take .csv, "]),
        ({"output": "out.csv.GZ"}, ["out.csv.GZ: .GZ is a format that is not written"]),
        ({"sensitivity": None, "epsilon": None}, ["--sensitivity: how much", "; --epsilon: say the privacy loss"]),
        (
            {"sensitivity": None, "epsilon": None, "mechanism": "gaussian"},
            ["--sensitivity: ", "; --epsilon: ", "; --delta: gaussian needs one"],
        ),
        ({"output": "."}, ["folder"]),
        ({"output": ""}, ["folder"]),
        ({"output": ".."}, ["folder"]),
        ({"output": "/"}, ["folder"]),
        ({"label": "\udcff"}, ["--label", "UTF-8"]),  # how Python passes the byte 0xff on
        ({"unit": "\udcff"}, ["--unit", "UTF-8"]),
        ({"id": "\udcff"}, ["--id", "UTF-8"]),
        ({"id": "a\nb"}, ["--id", "line breaks"]),
        ({"output": "in.csv"}, ["OUT is IN"]),
        ({"output": "./../" + "{here}" + "/in.csv"}, ["OUT is IN"]),
    ],
)
def test_usage(noise, folder, options, words):
    options = {name: text.format(here=folder.name) if isinstance(text, str) else text for name, text in options.items()}
    refused(noise(GOOD, **options), 2, *words)
    assert Path("in.csv").read_bytes() == GOOD


def test_output_exists(noise):
    Path("out.csv").write_text("precious")
    outcome = noise(GOOD)
    assert outcome.code == 2
    assert "out.csv" in outcome.err
    assert "--force" in outcome.err
    assert Path("out.csv").read_text() == "precious"
    assert noise(GOOD, "--force").code == 0
    assert Path("out.csv").read_bytes() == GOOD


@pytest.mark.parametrize("link", [None, os.link, os.symlink])
@pytest.mark.parametrize("place", ["out.csv", "out.csv.release.json"])
def test_force_does_not_replace_the_exact_table(run, folder, place, link):
    Path(place if link is None else "in.csv").write_bytes(GOOD)
    if link is not None:
        link("in.csv", place)
    source = place if link is None else "in.csv"
    options = ["--column=visits", "--sensitivity=1", "--epsilon=1", "--force", "-o", "out.csv"]
    outcome = run("noise", source, *options)
    assert (outcome.code, outcome.files) == (2, sorted({source, place}))
    assert "is IN" in outcome.err
    assert Path(place).read_bytes() == GOOD


@pytest.mark.parametrize("options", [(), ("--force",)])
@pytest.mark.parametrize("place", ["out.csv", "out.csv.release.json"])
@pytest.mark.parametrize("there", [True, False])
def test_no_link_is_replaced(noise, place, options, there):
    """A file instead of /dev/stdout would be found by every other program."""
    if there:
        Path("elsewhere").write_text("precious")
    Path(place).symlink_to("elsewhere")
    outcome = noise(GOOD, *options)
    assert outcome.code == 2
    assert "is a link" in outcome.err
    assert Path(place).is_symlink()
    assert not there or Path("elsewhere").read_text() == "precious"


def test_metadata_exists(noise):
    Path("out.csv.release.json").write_text("precious")
    outcome = noise(GOOD)
    assert outcome.code == 2
    assert "out.csv.release.json" in outcome.err
    assert Path("out.csv.release.json").read_text() == "precious"
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("options", [(), ("--force",)])
def test_output_is_a_folder(noise, options):
    Path("out.csv").mkdir()
    outcome = noise(GOOD, *options)
    assert (outcome.code, outcome.files) == (2, ["in.csv"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        pytest.param(b"", ["line"], id="empty"),
        pytest.param(b"\n", ["line", "header"], id="blank header"),
        pytest.param(b"\xef\xbb\xbf", ["header"], id="only a byte-order mark"),
        pytest.param(b"site,Visits\nHarbour,12\n", ["'visits'", "not in the header"], id="case"),
        pytest.param(b"site,73195264\nFerry,5\n", ["'visits'"], id="no header line"),
        pytest.param(b"visits,visits\n1,2\n", ["'visits'", "2 times"], id="column twice"),
        pytest.param(b"site,visits\na,1\nb,x73195264\n", ["line 3", "'visits'"], id="text"),
        pytest.param(b"site,visits\na,73195264.5\n", ["line 2", "'visits'"], id="not whole"),
        pytest.param(b"site,visits\na,73195264e1\n", ["line 2", "'visits'"], id="exponent"),
        pytest.param(b"site,visits\na,inf\n", ["line 2", "'visits'"], id="infinite"),
        pytest.param(b"site,visits\na,-\n", ["line 2", "'visits'"], id="dash"),
        pytest.param(b"site,visits\na,\nb,73195264x\n", ["line 3"], id="after a missing one"),
        pytest.param(b"site,visits\na,1\n73195264\n", ["line 3", "1 columns"], id="too narrow"),
        pytest.param(b"site,visits\na,1,73195264\n", ["line 2", "3 columns"], id="too wide"),
        pytest.param(b"site,visits\na,1\n\nb,2\n", ["line 3", "0 columns"], id="blank line"),
        pytest.param(b"site,visits\na,1\n\xff73195264,2\n", ["line 3 ", "UTF-8"], id="bytes"),
        pytest.param(b"v\xff,visits\na,1\n", ["line 1 ", "UTF-8"], id="bytes in the header"),
        pytest.param(b"visits\r\n1\r\n\xff\r\n", ["line 3 ", "UTF-8"], id="bytes after CRLF"),
        pytest.param(b"visits\n" + b"1\n" * 9000 + b"\xff\n", ["line 9002 ", "UTF-8"], id="bytes far down"),
        pytest.param(b"visits\n" + b"1\n" * 9000 + b"\xe6\xbc", ["line 9002 ", "UTF-8"], id="cut in a letter"),
        pytest.param(b"site,visits\n" + b"73195264" * 2**21 + b"0,1\n", ["line 2 ", "field"], id="huge field"),
        pytest.param(b"\xff\xfev\x00i\x00", ["UTF-8"], id="UTF-16"),
        pytest.param(b'site,visits\na,1\n"73195264,2\n', ["CSV", "line 3"], id="open quote"),
        pytest.param(b'site,visits\n"a"73195264,2\n', ["CSV", "line 2"], id="text after a quote"),
        pytest.param(b'"site,visits\n', ["CSV"], id="open quote in the header"),
        pytest.param(b'site,visits\n"a\nb\r\nc",1\n"\r",2\nd,73195264x\n', ["line 7"], id="lines in quotes"),
        pytest.param(b'site,visits\n"a\nb",1\n73195264\n', ["line 4", "1 columns"], id="lines before a width"),
        pytest.param(b"\xef\xbb\xbfsite,visits\r\na,1\r\nb,!\r\n", ["line 3"], id="mark, CRLF"),
        pytest.param(b"site,visits\n" + b"a,1\n" * 9000 + b"b,x\n", ["line 9002"], id="far down"),
    ],
)
def test_content(noise, table, words):
    refused(noise(table), 4, *words)


@pytest.mark.parametrize(
    ("header", "column", "words"),
    [
        ("site,Visits", "visits", ["did you mean 'Visits'? there are 'site', 'Visits'"]),
        ("site,Visits", "VISITS", ["did you mean 'Visits'?"]),
        ("site,visit_count", "minutes", ["; there are 'site', 'visit_count'"]),
        ("site;visits", "visits", ["is the table separated by ';'?"]),
        ("site\tvisits", "visits", ["is the table separated by tabs?"]),
        ('"si\nte",b', "visits", [r"'si\nte', 'b'"]),
        (",".join(f"day_{i}" for i in range(5000)), "day", ["'day_7' and 4992 more"]),
        ("x" * 10**6, "visits", ["'" + "x" * 40 + "...'"]),
    ],
)
def test_a_wrong_column_is_told_which_there_are(noise, header, column, words):
    outcome = noise(f"{header}\n".encode(), column=column)
    refused(outcome, 4, f"{column!r} is not in the header", *words)
    assert len(outcome.err) < 400


@pytest.mark.parametrize(
    "row",
    [
        "{},12",
        "{},$12",
        '{},"(12)"',
        "{},#12",
        "{},-",
        "{},-.5",
        "{},1e3",
        "{},",
        "{}, NA",
        "{},NaN",
        "{},inf",
        "{},NULL",
        "{},n/a",
        "{},None",
        "{},\u0663",
        "{};12",
        "{} 12",
        "{} NA",
        "{}:12:London",
        "{};salt, pepper;",
        "{},EUR 12",
        "{};salt, pepper;12",
        "{}\tsalt, pepper\t12",
    ],
)
def test_a_first_line_that_may_be_data_is_not_told(noise, row):
    secret = "Ms Green"
    outcome = noise(row.format(secret).encode() + b"\n")
    refused(outcome, 4, "'visits' is not in the header")
    assert secret not in outcome.err


@pytest.mark.parametrize(
    ("cell", "mechanism", "problem"),
    [
        ("12.5", "discrete-laplace", "not a whole number (for real numbers say --mechanism laplace)"),
        ("-1e-3", "discrete-gaussian", "not a whole number (for real numbers say --mechanism gaussian)"),
        *[(cell, "discrete-laplace", NO_NUMBER) for cell in ("x", '"1,200"', '"12,5"', "n/a", "NULL", "7 min", "5 %")],
        *[(cell, "laplace", NO_NUMBER) for cell in ("x", '"1,200"', "NULL")],
    ],
)
def test_another_mechanism_is_named_where_it_would_take_the_cell(noise, cell, mechanism, problem):
    delta = "1e-6" if "gaussian" in mechanism else None
    outcome = noise(f"site,visits\na,{cell}\n".encode(), mechanism=mechanism, delta=delta)
    refused(outcome, 4)
    assert outcome.err == f"exactnoise: line 2, column 'visits': {problem}\n"
    other = mechanism.removeprefix("discrete-")
    assert noise(None, mechanism=other, delta=delta).code == (0 if other in problem else 4)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (b"PK\x03\x04 73195264,73195264", "a zip archive, as an Excel file is"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel file"),
        (gzip.compress(GOOD), "compressed"),
        (lzma.compress(GOOD), "compressed"),
        (b'{"site": "73195264", "visits": 73195264}\n', "JSON"),
        (b'\xef\xbb\xbf\n [\n {"site": "73195264"}]', "JSON"),
        (b'["site", "visits"]\n["73195264", 1]\n', "JSON"),
        ("site,visits\n".encode("utf-16"), "UTF-16 or no text at all, not UTF-8"),
        ("site,visits\n".encode("utf-16-be"), "UTF-16 or no text at all, not UTF-8"),
    ],
)
def test_what_is_no_csv_is_named(noise, run, table, what):
    told = f"exactnoise: in.csv is {what}; save the file as CSV in UTF-8\n"
    outcome = noise(table)
    refused(outcome, 4)
    assert outcome.err == told
    Path("job.toml").write_text(
        'id = "x"\ndata_version = "1"\n[input]\npath = "in.csv"\n[privacy]\nepsilon = 1\nledger = "privacy.db"\n'
        'budget = "b"\nneighbors = "add-remove"\nunit = "row"\n[[statistic]]\nkind = "count"\n'
    )
    planned = run("plan", "job.toml")
    assert (planned.code, planned.out, planned.err) == (4, "", told)


def test_names_in_brackets_are_no_json(noise):
    assert noise(b"[site],{x},visits\n[1],{},5\n").code == 0


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_content_of_real_columns(noise, mechanism):
    delta = 1e-6 if mechanism == "gaussian" else None
    outcome = noise(b"site,visits\na,\nb,73195264x\n", mechanism=mechanism, delta=delta, epsilon=1)
    refused(outcome, 4, "line 3", "'visits'", "not a number")


def test_content_with_the_output_there_already(noise):
    Path("out.csv").write_text("precious")
    outcome = noise(b"visits\nx\n", "--force")
    assert (outcome.code, outcome.files) == (4, ["in.csv", "out.csv"])
    assert Path("out.csv").read_text() == "precious"


@pytest.mark.parametrize("cell", ["0" * 1_000_000 + "x", "0." + "0" * 1_000_000 + "x"])
def test_long_cells_take_linear_time(noise, cell):
    """Trying every split of the zeros would take hours; a thousandth of a second will do."""
    start = time.process_time()
    refused(noise(f"visits\n{cell}\n".encode()), 4, "line 2", "not a number")
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["-" * 50_000 + "a", " " * 50_000 + "a"])
def test_long_names_take_linear_time(noise, name):
    start = time.process_time()
    refused(noise(f"site,{name}\n".encode()), 4, "'visits' is not in the header")
    assert time.process_time() - start < 5


def test_input_missing(noise):
    refused(noise(None), 5, "in.csv", "No such file")


def test_input_is_a_folder(noise):
    Path("in.csv").mkdir()
    refused(noise(None), 5, "in.csv")


def test_output_folder_missing(noise):
    told = "exactnoise: nowhere: there is no such folder; nothing was spent\n"
    refused(noise(GOOD, output="nowhere/out.csv"), 5, told)


def test_output_folder_is_not_writable(noise, folder, monkeypatch):
    # Permissions do not stop every user (root), so the system's refusal is put in by hand.
    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    refused(noise(GOOD), 5, "Permission denied")


def test_disk_full(noise, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    refused(noise(GOOD), 5, "No space left")


@pytest.mark.parametrize(
    ("error", "code", "word"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError(f"bad value {SECRET}"), 1, "unexpected RuntimeError at "),
        (ValueError(f"invalid literal for int(): {SECRET}"), 1, "unexpected ValueError at "),
        (MemoryError(), 1, "MemoryError"),
        (OSError(5, "Input/output error"), 5, "Input/output error"),
    ],
)
def test_interrupted_in_the_middle(noise, monkeypatch, error, code, word):
    from exactnoise.cli import noise as module

    class Failing:
        """Fails at the third chunk, with two in the temporary file."""

        def __init__(self, **parameters):
            self.calls = 0

        def release(self, values, *, budget):
            self.calls += 1
            if self.calls == 3:
                temporary, table = sorted(path.name for path in Path().iterdir())
                assert temporary.startswith(".out.csv.")
                assert table == "in.csv"
                raise error
            return values

    monkeypatch.setitem(module._MECHANISMS, "discrete-laplace", Failing)
    monkeypatch.setattr(module, "_CHUNK", 10)
    refused(noise(b"visits\n" + b"1\n" * 100), code, word)


@pytest.mark.parametrize("failing", [1, 2])
def test_failing_renames_leave_nothing(noise, monkeypatch, failing):
    replace, calls = Path.replace, []

    def fail(source, target):
        calls.append(target.name)
        if len(calls) == failing:
            raise OSError(5, "Input/output error", str(target))
        replace(source, target)

    monkeypatch.setattr(Path, "replace", fail)
    refused(noise(GOOD), 5, "Input/output error")
    assert calls == ["out.csv.release.json", "out.csv"][:failing]  # the table comes last


def test_interrupt_right_after_the_last_rename_leaves_both(noise, monkeypatch):
    replace = Path.replace

    def late(source, target):
        replace(source, target)
        if target.name == "out.csv":
            raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", late)
    outcome = noise(GOOD)
    assert (outcome.code, outcome.files) == (130, ["in.csv", "out.csv", "out.csv.release.json"])


def test_parameters_are_checked_before_the_table_is_opened(noise):
    refused(noise(None, epsilon="0"), 2, "epsilon")


def test_nothing_is_drawn_before_the_output_is_known_to_be_possible(noise, monkeypatch):
    def draw(*args, **kwargs):
        raise AssertionError

    monkeypatch.setattr("exactnoise.DiscreteLaplace.release", draw)
    refused(noise(GOOD, output="nowhere/out.csv"), 5)
    refused(noise(b"site,count\na,1\n"), 4)
    assert noise(GOOD).code == 1  # the control: here it would have drawn


def test_json_errors(noise):
    outcome = noise(b"site,visits\na,73195264x\n", "--json")
    assert outcome.json == {
        "error": f"line 2, column 'visits': {NO_NUMBER}",
        "exit_code": 4,
    }
    assert noise(GOOD, "--json", epsilon="0").json["exit_code"] == 2
    assert noise(GOOD, "--json", colour="red").json["exit_code"] == 2
    Path("in.csv").unlink()
    assert noise(None, "--json").json["exit_code"] == 5


def test_finished_files_are_as_readable_as_any_new_file(noise):
    assert noise(GOOD).code == 0
    Path("ordinary").touch()
    for name in ("out.csv", "out.csv.release.json"):
        assert Path(name).stat().st_mode == Path("ordinary").stat().st_mode


def test_process_killed_by_a_signal_leaves_nothing(folder):
    """A real process, stopped in the middle by the signals of Ctrl-C and of a job scheduler."""
    script = (
        "import os, signal, sys, exactnoise.cli as cli\n"
        "from exactnoise.cli.table import Table\n"
        "chunks = Table.chunks\n"
        "def stopping(self, size, parse):\n"
        "    for number, chunk in enumerate(chunks(self, 10, parse)):\n"
        "        if number == 3:\n"
        "            os.kill(os.getpid(), int(sys.argv[1]))\n"
        "        yield chunk\n"
        "Table.chunks = stopping\n"
        "sys.exit(cli.main(sys.argv[2:]))\n"
    )
    Path("in.csv").write_bytes(b"visits\n" + b"1\n" * 1000)
    options = ["--column=visits", "--sensitivity=1", "--epsilon=1", "--output=out.csv"]
    for number in (2, 15):
        result = subprocess.run(
            [sys.executable, "-c", script, str(number), "noise", "in.csv", *options],
            capture_output=True,
            text=True,
        )
        assert (result.returncode, result.stderr) == (130, "exactnoise: interrupted\n")
        assert [path.name for path in folder.iterdir()] == ["in.csv"]


def test_json_is_one_line(noise):
    assert noise(GOOD, "--json").out.count("\n") == 1
    json.loads(noise(GOOD, "--json", "--force").out)
