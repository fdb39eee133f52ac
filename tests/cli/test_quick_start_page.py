"""The commands of docs/quick-start.md run in its order, on the files that it shows, and print what it says."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

from pages import blocks, commands, matches, page

PAGE = page("quick-start.md")


def show(language: str, begin: str, path: str) -> None:
    (text,) = blocks(PAGE, language, begin)
    Path(path).write_text(text, encoding="utf-8")


def without_counts(table: str) -> list[tuple[str, str]]:
    """The columns of the published table that are not random."""
    return [(site, std_error) for site, _, std_error in csv.reader(table.splitlines())]


def test_the_page(folder, run) -> None:
    show("text", "site,minutes\n", "rows.csv")
    show("toml", "id =", "visits.toml")
    ran = []
    for command, expected in commands(PAGE):
        program, *arguments = shlex.split(command, comments=True)
        if program == "exactnoise":
            outcome = run(*arguments)
            assert outcome.code == 0, f"{command}\n{outcome.err}"
            ran.append(arguments[0])
            if arguments[0] != "demo":  # of which only the command is shown
                assert matches(expected, outcome.out), f"{command}\n{outcome.out}"
    assert ran == ["demo", "noise", "ledger", "plan", "publish", "verify"]
    (table,) = blocks(PAGE, "text", "site,count")
    assert without_counts(table) == without_counts(Path("visits.csv").read_text(encoding="utf-8"))


def test_control_without_its_files_the_page_fails(folder, run) -> None:
    for command, _ in commands(PAGE):
        if "exactnoise noise" in command or "exactnoise publish" in command:
            assert run(*shlex.split(command, comments=True)[1:]).code != 0
