"""The progress bar: on a terminal only, within its width, erased at the end."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from exactnoise.cli import progress
from exactnoise.cli.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_line(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    with Progress("visits.csv", 80_000_000, terminal) as bar:
        clock[0] += 4
        bar.update(20_000_000)
        line = terminal.getvalue().removeprefix("\r\x1b[K")
        assert line == "visits.csv [" + "#" * 8 + "-" * 26 + "]  25 %     5.0 MB/s  0:12 left"
    assert terminal.getvalue().endswith(line + "\r\x1b[K")


def test_line_of_steps(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    terminal = Terminal()
    with Progress("simulating", 4, terminal, steps=True) as bar:
        clock[0] += 4
        bar.update(1)
        assert (
            terminal.getvalue().removeprefix("\r\x1b[K") == "simulating [" + "#" * 6 + "-" * 21 + "]  25 %  0:12 left"
        )


def test_closed_standard_error_shows_nothing(clock, monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    with Progress("visits.csv", 80) as bar:
        clock[0] += 4
        bar.update(20)


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
@pytest.mark.parametrize("done", [0, 1, 10**9, 10**12, 2 * 10**12])
def test_line_fits(clock, monkeypatch, columns, done):
    monkeypatch.setenv("COLUMNS", str(columns))
    terminal = Terminal()
    with Progress("a-rather-long-file-name.csv", 10**12, terminal) as bar:
        clock[0] += 3
        bar.update(done)
        assert 0 < len(terminal.getvalue().removeprefix("\r\x1b[K")) < columns


def test_redraws_are_rare(clock):
    terminal = Terminal()
    with Progress("visits.csv", 1000, terminal) as bar:
        for done in range(1000):
            clock[0] += 0.001
            bar.update(done)
        assert terminal.getvalue().count("%") in (9, 10)


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_short_runs_show_nothing(clock, seconds):
    terminal = Terminal()
    with Progress("visits.csv", 1000, terminal) as bar:
        clock[0] += seconds
        bar.update(1000)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize(("total", "stream"), [(1000, io.StringIO()), (None, Terminal()), (0, Terminal())])
def test_quiet_without_terminal_or_size(clock, total, stream):
    with Progress("visits.csv", total, stream) as bar:
        clock[0] += 10
        bar.update(500)
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00")])
def test_clock(seconds, shown):
    assert progress._clock(seconds) == shown


@pytest.fixture
def slow_noise(tmp_path):
    """A command that takes some tenths of a second, in a process of its own."""
    table = tmp_path / "in.csv"
    table.write_bytes(b"visits\n" + b"1\n" * 40_000)
    script = (
        "import sys, time, exactnoise.cli as cli\n"
        "from exactnoise.cli.table import Table\n"
        "chunks = Table.chunks\n"
        "def slow(self, size, parse):\n"
        "    for chunk in chunks(self, size, parse):\n"
        "        time.sleep(0.04)\n"
        "        yield chunk\n"
        "Table.chunks = slow\n"
        "sys.exit(cli.main(sys.argv[1:]))\n"
    )
    options = ["--column=visits", "--sensitivity=1", "--epsilon=1", "-o", str(tmp_path / "out.csv")]
    return [sys.executable, "-c", script, "noise", str(table), *options]


def on_a_terminal(command):
    """What a process that succeeds writes to standard error when that is a terminal."""
    import pty  # absent on Windows

    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 4096):
            seen += data
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0
    return seen


def test_process_on_a_terminal_shows_progress(slow_noise):
    seen = on_a_terminal(slow_noise)
    assert re.search(rb"in\.csv \[#+-*\] +[0-9]+ % +[0-9.]+ MB/s +0:0[0-9] left", seen)
    assert seen.endswith(b"\r\x1b[K")


def test_long_checks_and_simulations_show_it_too(tmp_path):
    from exactnoise.publish.durable import _CHUNK

    table = tmp_path / "in.csv"
    table.write_bytes(b"visits\n" + b"1\n" * (2 * _CHUNK))  # several chunks
    noise = ["--column=visits", "--sensitivity=1", "--epsilon=1", "-o", str(tmp_path / "out.csv")]
    assert subprocess.run([sys.executable, "-m", "exactnoise", "noise", str(table), *noise]).returncode == 0
    always = "import sys, exactnoise.cli as cli; from exactnoise.cli import progress; progress._INTERVAL = 0; "
    command = [sys.executable, "-c", always + "sys.exit(cli.main(sys.argv[1:]))"]
    seen = on_a_terminal([*command, "verify", str(tmp_path / "out.csv")])
    assert re.search(rb"out\.csv \[#+-*\] +[0-9]+ % +[0-9.]+ MB/s", seen)
    assert seen.endswith(b"\r\x1b[K")
    laplace = ["--mechanism=laplace", "--sensitivity=1", "--epsilon=0.1,0.5,1", "--trials=10"]
    seen = on_a_terminal([*command, "utility", *laplace])
    assert re.search(rb"simulating \[#+-*\]  33 %  0:0[0-9] left", seen)
    assert seen.endswith(b"\r\x1b[K")


def test_process_without_a_terminal_is_quiet(slow_noise):
    result = subprocess.run(slow_noise, capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")
    assert Path(slow_noise[-1]).exists()
