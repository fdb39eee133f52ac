"""The command as a whole: help, version, failures that no command expects."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import exactnoise
from exactnoise.cli import demo, noise
from exactnoise.errors import BudgetExceeded, EntropyError, ExactNoiseError


def shell(*arguments, **options):
    return subprocess.run([sys.executable, "-m", "exactnoise", *arguments], capture_output=True, text=True, **options)


@pytest.mark.parametrize("arguments", [["info"], ["info", "--nonsense"], ["noise", "missing.csv"]])
@pytest.mark.parametrize("before", [signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler])
def test_a_command_leaves_the_handler_of_sigterm_as_it_was(before, arguments, capsys):
    """Left behind, Python's handler let workers forked by a pool outlive its SIGTERM, and the pool wait for ever."""
    original = signal.signal(signal.SIGTERM, before)
    try:
        exactnoise.cli.main(arguments)
        assert signal.getsignal(signal.SIGTERM) is before
    finally:
        signal.signal(signal.SIGTERM, original)


@pytest.mark.parametrize("command", [[], ["noise"], ["demo"], ["info"]])
def test_help_teaches(command, capsys):
    with pytest.raises(SystemExit) as stop:
        exactnoise.cli.main([*command, "--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert "exactnoise" in out
    if command == ["noise"]:
        assert out.count("    exactnoise noise ") == 6
        assert "exit code 4" in out


def test_examples_in_the_help_work(run, folder):
    Path("visits.csv").write_text("site,visits\nHarbour,12\n")
    Path("sums.csv").write_text("site,total\nHarbour,12.75\n")
    pq.write_table(pa.table({"site": ["Harbour"], "visits": [12]}), "visits.parquet")
    examples = noise._EPILOG.replace("\\\n", " ").splitlines()
    commands = [line.split() for line in examples if line.startswith("    exactnoise ")]
    assert len(commands) == 7
    for words in commands:
        outcome = run(*words[1:], *([] if "--budget" in words else ["--force"]))
        assert (outcome.code, outcome.err) == (0, "")


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        exactnoise.cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"exactnoise {exactnoise.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["publish-everything"], ["--colour"], ["info", "more"]])
def test_bad_command_line(run, arguments):
    outcome = run(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("exactnoise: ")
    assert "--help" in outcome.err
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], ["demo, noise, plan, publish", "try: exactnoise demo"]),
        ([""], ["try: exactnoise demo"]),
        (["publsh", "visits.toml"], ["'publsh'", "did you mean publish?"]),
        (["ledgers"], ["did you mean ledger?"]),
        (["frobnicate"], ["'frobnicate'", "demo, noise, plan, publish"]),
        (["x" * 10**5], ["'" + "x" * 40 + "'"]),
    ],
)
def test_what_is_no_command_is_told_which_there_are(run, arguments, words):
    outcome = run(*arguments)
    assert outcome.code == 2
    assert all(word in outcome.err for word in words)
    assert len(outcome.err) < 200


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--verison"], "--verison; did you mean --version? (see exactnoise --help)"),
        (["noise", "in.csv", "--columns=visits"], "--columns; did you mean --column? (see exactnoise noise --help)"),
        (["noise", "--col", "visits"], "--col; did you mean --column? (see exactnoise noise --help)"),
        (["utility", "--eps=1"], "--eps; did you mean --epsilon? (see exactnoise utility --help)"),
        (["ledger", "create", "--unt=row"], "--unt; did you mean --unit? (see exactnoise ledger create --help)"),
        (["publish", "--frobnicate"], "--frobnicate (see exactnoise publish --help)"),
        (["info", "--" + "x" * 10**5], f"--{'x' * 38} (see exactnoise info --help)"),
    ],
)
def test_an_option_that_there_is_not_is_told_before_those_that_are_missing(run, arguments, told):
    outcome = run(*arguments)
    assert (outcome.code, outcome.err) == (2, f"exactnoise: there is no option {told}\n")


def test_what_is_missing_is_told_where_all_options_are_known(run):
    assert "are required: IN, -o/--output (see" in run("noise", "--column=visits").err
    assert "are required: JOB.toml" in run("plan", "--date=2024-01-01").err
    assert "--columns: No such file" in run("verify", "--", "--columns").err  # a file's name, after the two dashes


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["noise", "-", "-o", "out.csv"], "argument IN: - does not stand for standard input: say /dev/stdin (./- is"),
        (["publish", "job.toml", "-o", "-"], "argument -o/--output: - does not stand for standard output: a table"),
        (["ledger", "export", "x.db", "-o", "-"], "argument -o/--output: for standard output leave it out"),
    ],
)
def test_a_dash_is_no_file(run, folder, arguments, told):
    outcome = run(*arguments, *(["--column=visits"] if arguments[0] == "noise" else []))
    assert (outcome.code, outcome.out, outcome.files) == (2, "", [])
    assert outcome.err.startswith(f"exactnoise: {told}")


def test_a_value_with_blanks_is_no_option(folder):
    Path("in.csv").write_text("site,visits\na,5\n")
    options = ["--column=visits", "--sensitivity=1", "--epsilon=1", "-o", "out.csv", "--label", "--about 5 percent"]
    assert shell("noise", "in.csv", *options).returncode == 0
    assert '"--about 5 percent"' in Path("out.csv.release.json").read_text()


@pytest.mark.parametrize("name", ["/dev/stdin", "./-"])
def test_what_is_said_instead_of_a_dash_works(folder, name):
    Path("-").write_text("site,visits\na,5\n")
    options = ["--column=visits", "--sensitivity=1", "--epsilon=1000", "-o", "out.csv"]
    done = shell("noise", name, *options, input="site,visits\na,5\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("out.csv").read_text() == "site,visits\na,5\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (BudgetExceeded("epsilon 1 asked, 0.5 left"), 3, "epsilon 1 asked, 0.5 left"),
        (EntropyError("no random bytes"), 5, "no random bytes"),
        (ExactNoiseError("core and package differ"), 1, "core and package differ"),
        (FileNotFoundError(2, "No such file or directory", "x.csv"), 5, "x.csv: No such file"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ZeroDivisionError("secret"), 1, "unexpected ZeroDivisionError at test_main.py:"),
    ],
)
def test_exit_codes(run, monkeypatch, error, code, message):
    def fail(args):
        raise error

    monkeypatch.setattr(demo, "run", fail)
    outcome = run("demo")
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.startswith(f"exactnoise: {message}")
    assert "secret" not in outcome.err
    assert run("demo", "--json").json["exit_code"] == code


def test_module_is_the_command():
    result = shell("--version")
    assert (result.returncode, result.stdout) == (0, f"exactnoise {exactnoise.__version__}\n")
    assert shell("nonsense").returncode == 2


def test_installed_command_is_the_same():
    command = Path(sys.executable).with_name("exactnoise")
    result = subprocess.run([command, "--version"], capture_output=True, text=True)
    assert result.stdout == f"exactnoise {exactnoise.__version__}\n"


def test_full_standard_output(run, monkeypatch):
    class FullDisk(io.StringIO):
        def flush(self):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("sys.stdout", FullDisk())
    outcome = run("info")
    assert (outcome.code, outcome.err) == (5, "exactnoise: No space left on device\n")


def test_closed_pipe_is_no_crash():
    read, write = os.pipe()
    os.close(read)
    result = subprocess.run([sys.executable, "-m", "exactnoise", "info"], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert (result.returncode, result.stderr) == (5, b"")


def test_the_package_does_not_load_the_command_line():
    script = (
        "import gmpy2, numpy, sys; before = set(sys.modules); import exactnoise\n"
        "print([m for m in ('argparse', 'csv', 'json', 'tempfile', 'exactnoise.cli')"
        " if m in set(sys.modules) - before])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout == "[]\n"
