"""``exactnoise demo``: what it shows, what it leaves, what it does not touch."""

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from exactnoise.cli import demo
from exactnoise.cli.errors import CommandError

FILES = ["privacy.db", "visits-noisy.csv", "visits-noisy.csv.release.json", "visits.csv"]


def test_demo_tells_the_whole_story(run, folder):
    outcome = run("demo")
    assert (outcome.code, outcome.err) == (0, "")
    headings = re.findall(r"^[A-Z][A-Z ?]+(?=  |$| \S )", outcome.out, re.MULTILINE)
    assert [heading.strip() for heading in headings] == [
        "THE TABLE", "THE PLAN", "THE RELEASE", "ONCE MORE?", "THE FILES", "NEXT",
    ]  # fmt: skip
    for words in ("scale            1\n", "1.36 visits", "95 % half width  3 visits", "epsilon 1"):
        assert words in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert outcome.files == [f"exactnoise-demo/{name}" for name in FILES]


def test_the_plan_comes_before_the_release(run, folder, monkeypatch):
    """The accuracy is a function of the parameters: it is known if the draw fails."""

    def fail(*args, **kwargs):
        raise RuntimeError

    monkeypatch.setattr("exactnoise.DiscreteLaplace.release", fail)
    outcome = run("demo")
    assert outcome.code == 1
    assert "95 % half width" in outcome.out
    assert "THE RELEASE" not in outcome.out


def test_chart_shows_what_was_released(run, folder):
    chart = run("demo").out.split("THE RELEASE")[1].split("ONCE MORE?")[0]
    shown = re.findall(r"^  (\w[\w ]*?) +(\d+) +(-?\d+)(?:  (\S+))?$", chart, re.MULTILINE)
    exact, noisy = (
        list(csv.reader(io.StringIO(Path("exactnoise-demo", name).read_text())))[1:]
        for name in ("visits.csv", "visits-noisy.csv")
    )
    assert [[site, count] for site, count, _, _ in shown] == exact
    assert [[site, count] for site, _, count, _ in shown] == noisy
    for _, before, after, bar in shown:
        exact_count, shown_count = int(before), max(0, int(after))
        full = "\u2587" * min(exact_count, shown_count)
        change = "+" * (shown_count - exact_count) + "-" * (exact_count - shown_count)
        assert bar == (full + change)[:52]


def test_refusal_is_the_budgets_own(run, folder):
    from exactnoise import BudgetExceeded, PrivacyBudget, PrivacyCost

    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    budget.spend(PrivacyCost(epsilon=1))
    with pytest.raises(BudgetExceeded) as refusal:
        budget.spend(PrivacyCost(epsilon=1))
    shown = run("demo").out.split("ONCE MORE?")[1].split("THE FILES")[0]
    assert " ".join(str(refusal.value).split()) in " ".join(shown.split())


@pytest.mark.parametrize(("same", "words"), [(False, "gave another table"), (True, "let a second release pass")])
def test_a_demo_that_goes_wrong_says_to_release_nothing(same, words):
    with pytest.raises(CommandError, match=f"{words}; do not release anything"):
        demo._once_more(same, lambda: None)


def test_the_next_command_works(run, folder):
    out = run("demo").out
    command = re.search(r"^  (exactnoise utility .*\\\n.*)$", out, re.MULTILINE).group(1)
    words = shlex.split(command.replace("\\\n", " "))
    outcome = run(*words[1:])
    assert outcome.code == 0
    assert re.findall(r"^ +(0\.1|0\.5|1|2)  ", outcome.out, re.MULTILINE) == ["0.1", "0.5", "1", "2"]
    for command in re.findall(r"^  exactnoise (\w+) --help", out, re.MULTILINE):
        with pytest.raises(SystemExit):
            run(command, "--help")


def test_the_other_next_command_verifies(run, folder):
    command = re.search(r"^  (exactnoise verify .*\\\n.*)$", run("demo").out, re.MULTILINE).group(1)
    words = shlex.split(command.replace("\\\n", " "))
    assert run(*words[1:]).code == 0
    Path("exactnoise-demo/visits-noisy.csv").write_text("site,visits\n")
    assert run(*words[1:]).code == 4


def test_folder_of_another_name(run, folder):
    outcome = run("demo", "a folder/within")
    assert outcome.code == 0
    assert outcome.files == [f"a folder/within/{name}" for name in FILES]
    assert "'a folder/within/visits-noisy.csv'" in outcome.out


def test_again_replaces_only_its_own(run, folder):
    run("demo", ".")
    Path("other.txt").write_text("precious")
    assert run("demo", ".").code == 0
    assert Path("other.txt").read_text() == "precious"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("after_a_demo", [False, True])
def test_foreign_files_are_left_alone(run, folder, name, after_a_demo):
    if after_a_demo:
        run("demo", ".")
    Path(name).write_text('{"id": "precious"}')
    before = {path: path.read_bytes() for path in Path().iterdir()}
    outcome = run("demo", ".")
    assert outcome.code == 2
    assert "not the demo's" in outcome.err
    assert "another folder" in outcome.err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_folder_is_a_file(run, folder):
    Path("taken").write_text("precious")
    assert run("demo", "taken").code == 5
    assert Path("taken").read_text() == "precious"


def test_json(run, folder):
    outcome = run("demo", "--json")
    document = json.loads(Path("exactnoise-demo/visits-noisy.csv.release.json").read_bytes())
    assert outcome.json == document
    assert (document["epsilon"], document["neighbors"], document["unit"]) == (
        "1", "add-remove", "person",
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_fresh_process_in_any_encoding_within_two_seconds(folder, encoding):
    start = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-m", "exactnoise", "demo"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert time.perf_counter() - start < 2
    assert (result.returncode, result.stderr) == (0, b"")
    assert ("\u2587" in result.stdout.decode(encoding)) == (encoding == "utf-8")
    assert ("####" in result.stdout.decode(encoding)) == (encoding != "utf-8")
