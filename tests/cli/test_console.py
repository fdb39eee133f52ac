"""Standard output and standard error that are closed, full, broken or of a small encoding.

A release that is in place has been paid for: from there on nothing may look like a failure, or
whoever started it would start it again.
"""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exactnoise.cli import main
from exactnoise.cli import noise as noise_module

NOISE = ["--column=visits", "--sensitivity=1", "--epsilon=1000"]
RELEASED = b"exactnoise: released; could not print the summary\n"
TABLE = b"visits\n12\n"


def shell(redirection, *arguments, **variables):
    """The command with its streams redirected by a shell."""
    return subprocess.run(
        ["sh", "-c", f'exec "$0" -m exactnoise "$@" {redirection}', sys.executable, *arguments],
        capture_output=True,
        env={**os.environ, **variables},
    )


@pytest.fixture(autouse=True)
def table(folder):
    Path("in.csv").write_bytes(TABLE)


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize(
    ("redirection", "out", "err"),
    [
        (">&-", b"", RELEASED),
        (">/dev/full", b"", RELEASED),
        (">&- 2>&-", b"", b""),
        (">/dev/full 2>/dev/full", b"", b""),
        ("2>&-", b"12", b""),
        ("2>/dev/full", b"12", b""),
    ],
)
def test_a_release_in_place_is_no_failure(redirection, out, err, more):
    result = shell(redirection, "noise", "in.csv", "-o", "out.csv", *NOISE, *more)
    assert (result.returncode, result.stderr) == (0, err)
    assert bool(result.stdout) == bool(out)
    assert Path("out.csv").read_bytes() == TABLE
    assert json.loads(Path("out.csv.release.json").read_bytes())["rows"] == 1


def test_nobody_reads_the_summary():
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "exactnoise", "noise", "in.csv", "-o", "out.csv", *NOISE]
    result = subprocess.run(command, stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (result.returncode, result.stderr) == (0, RELEASED)
    assert Path("out.csv").read_bytes() == TABLE


def test_interrupted_while_printing_the_summary(run, monkeypatch):
    def interrupt(text):
        raise KeyboardInterrupt

    monkeypatch.setattr(noise_module, "say", interrupt)
    outcome = run("noise", "in.csv", "-o", "out.csv", *NOISE)
    assert (outcome.code, outcome.err.encode()) == (0, RELEASED)


def test_folder_that_cannot_be_made_durable(run, monkeypatch):
    """It may be written to but not read, so it cannot be opened: both files are there all the same."""
    open_ = os.open

    def refuse(path, flags, *more, **options):
        if Path(path).is_dir():
            raise PermissionError(13, "Permission denied", str(path))
        return open_(path, flags, *more, **options)

    monkeypatch.setattr("os.open", refuse)
    outcome = run("noise", "in.csv", "-o", "out.csv", *NOISE)
    assert (outcome.code, outcome.err) == (0, "")


@pytest.mark.parametrize("name", ["größe.csv", "gr\udcf6\udcdfe.csv"])  # the second is not UTF-8
@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_names_that_standard_output_cannot_show(name, encoding):
    result = shell("", "noise", "in.csv", "-o", name, *NOISE, PYTHONIOENCODING=encoding, PYTHONUTF8="1")
    assert (result.returncode, result.stderr) == (0, b"")
    shown = name.encode(encoding, "backslashreplace")
    assert result.stdout.startswith(shown + b": 1 rows")
    assert Path(name).read_bytes() == TABLE


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_errors_stay_off_standard_output(redirection):
    plain = shell(redirection, "noise", "in.csv", "-o", ".", *NOISE)
    assert (plain.returncode, plain.stdout) == (2, b"")
    machine = shell(redirection, "noise", "in.csv", "-o", ".", *NOISE, "--json")
    assert machine.returncode == json.loads(machine.stdout)["exit_code"] == 2


@pytest.mark.parametrize("redirection", [">&-", ">/dev/full"])
@pytest.mark.parametrize("arguments", [["info"], ["info", "--json"], ["demo"], ["demo", "--json"]])
def test_nowhere_to_print(redirection, arguments):
    result = shell(redirection, *arguments)
    assert result.returncode == 5
    assert result.stderr.startswith(b"exactnoise: ")
    assert result.stderr.count(b"\n") == 1


def test_stream_closed_by_python(monkeypatch, capsys):
    stream = io.StringIO()
    stream.close()
    monkeypatch.setattr("sys.stdout", stream)
    assert main(["info"]) == 5
    assert capsys.readouterr().err == "exactnoise: standard output is closed\n"
