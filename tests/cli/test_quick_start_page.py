"""The commands of docs/quick-start.md run in its order, on the files that it shows."""

from __future__ import annotations

import csv
import shlex
from pathlib import Path

from pages import blocks, commands, page

PAGE = page("quick-start.md")


def show(language: str, begin: str, path: str) -> None:
    (text,) = blocks(PAGE, language, begin)
    Path(path).write_text(text, encoding="utf-8")


def test_the_page(folder, run) -> None:
    show("text", "site,", "rows.csv")
    show("toml", "id =", "visits.toml")
    ran = []
    for command, _ in commands(PAGE):
        program, *arguments = shlex.split(command, comments=True)
        if program == "exactnoise":
            outcome = run(*arguments)
            assert outcome.code == 0, f"{command}\n{outcome.err}"
            ran.append(arguments[0])
    assert ran == ["demo", "noise", "ledger", "plan", "publish", "verify"]
    with Path("visits.csv").open(newline="") as file:
        assert [row["site"] for row in csv.DictReader(file)] == ["Harbour", "Market", "Station"]


def test_control_without_its_files_the_page_fails(folder, run) -> None:
    for command, _ in commands(PAGE):
        if "exactnoise noise" in command or "exactnoise publish" in command:
            assert run(*shlex.split(command, comments=True)[1:]).code != 0
