"""The commands of docs/publishing.md, in its order, print what the page says."""

from __future__ import annotations

import csv
import os
import re
import shlex
import stat
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from pages import blocks, commands, matches, page

PAGE = page("publishing.md")
NIGHTS = [f"2026-11-{day:02}" for day in range(1, 31)]
PUBLISH = "exactnoise publish visits.toml --date {0} -o public/visits-{0}.csv"


def prepare(folder: Path) -> None:
    (job,) = blocks(PAGE, "toml")
    (folder / "visits.toml").write_text(job, encoding="utf-8")
    (rows,) = blocks(PAGE, "text", "user,")
    for night in NIGHTS:
        (folder / f"visits-{night}.csv").write_text(rows, encoding="utf-8")


def make_up_rows() -> None:
    """As the page does, but fewer of them: what is printed does not depend on the rows."""
    (program,) = blocks(PAGE, "python", "from random")
    assert "22_000" in program
    exec(program.replace("22_000", "220"), {})


def share_kept(path: str, rows: int, groups: int) -> float:
    """Of the rows of people who have rows in some groups, as many as the limits keep on average over all samples."""
    with Path(path).open(newline="") as file:
        sites = defaultdict(Counter)
        for row in csv.DictReader(file):
            sites[row["user"]][row["site"]] += 1
    kept = sum(min(1, groups / len(own)) * sum(min(rows, n) for n in own.values()) for own in sites.values())
    return kept / sum(own.total() for own in sites.values())


def test_what_the_limits_keep(folder) -> None:
    """Of one of the page's nights, of full size."""
    (program,) = blocks(PAGE, "python", "from random")
    assert "range(1, 31)" in program
    exec(program.replace("range(1, 31)", "range(1, 2)"), {})
    (job,) = blocks(PAGE, "toml")
    limits = tomllib.loads(job)["limits"]
    kept = share_kept("visits-2026-11-01.csv", limits["rows_per_person"], limits["groups_per_person"])
    (said,) = re.findall(r"they keep (\d+) % of the made-up rows", PAGE)
    assert said == f"{100 * kept:.0f}"
    assert share_kept("visits-2026-11-01.csv", 22_000, 4) == 1


def test_the_check_before_paying(folder, capsys) -> None:
    """The shares are those of the cells that the job understands."""
    (check,) = blocks(PAGE, "python", "import csv")
    shares = re.findall(r"^print\(.*# (.*)$", check, re.MULTILINE)
    prepare(Path())
    exec(check, {})
    assert capsys.readouterr().out.split() == shares == ["1.0", "1.0"]
    rows = 'user,site,minutes\nu1,a,"12,5"\nu1,A,7 min\nu2,b,nan\nu3,c, 7\nu4\n'
    Path("visits-2026-11-29.csv").write_text(rows, encoding="utf-8")
    exec(check, {})
    assert capsys.readouterr().out.split() == ["0.2", "0.6"]


def test_the_page(folder, run) -> None:
    """The other nights are published before the refusal, as the page says in passing."""
    prepare(Path())
    (header,) = {line for night in NIGHTS for line in Path(f"visits-{night}.csv").read_text().splitlines()[:1]}
    make_up_rows()
    for night in NIGHTS:
        made_up = Path(f"visits-{night}.csv").read_text().splitlines()
        assert (made_up[0], len(made_up)) == (header, 221)
    assert PUBLISH.format("2026-11-$day") in PAGE

    def shown(command: str) -> tuple[int, str]:
        outcome = run(*shlex.split(command)[1:])
        return outcome.code, (outcome.out + outcome.err).replace(str(Path().resolve()), "/srv/visits")

    codes = []
    for command, expected in commands(PAGE):
        if command.startswith("mkdir "):
            Path(command.removeprefix("mkdir ")).mkdir()
            continue
        if "again.csv" in command:
            for night in NIGHTS[:-1]:
                assert shown(PUBLISH.format(night))[0] == 0
        code, printed = shown(command)
        codes.append(code)
        assert matches(expected, printed), f"{command}\n{printed}"
        if code == 3:
            assert not Path("public/visits-2026-11-30.csv").exists()
    assert codes == [0] * 7 + [3, 0, 0]
    (table,) = blocks(PAGE, "text", "site,")
    assert Path("public/visits-2026-11-29.csv").read_text().splitlines()[0] == table.splitlines()[0]


@pytest.mark.skipif(sys.platform == "win32", reason="the page's script is for a Unix shell")
def test_the_script(folder) -> None:
    """From an empty folder, and once more an hour later."""
    prepare(Path())
    (script,) = blocks(PAGE, "sh")
    assert "cd /srv/visits\n" in script
    programs = {
        "publish-night": script.replace("/srv/visits", str(folder)),
        "export-rows": 'cat "visits-$1.csv"',
        "programs/date": "echo 2026-11-30",
        "programs/exactnoise": f'exec {shlex.quote(sys.executable)} -m exactnoise "$@"',
    }
    Path("programs").mkdir()
    for name, text in programs.items():
        Path(name).write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
        Path(name).chmod(stat.S_IRWXU)
    environment = {**os.environ, "PATH": f"{folder / 'programs'}{os.pathsep}{os.environ['PATH']}"}
    printed = [
        subprocess.run(["./publish-night"], env=environment, text=True, capture_output=True, check=True).stdout
        for _ in range(2)
    ]
    assert "price: epsilon 0.1, from visits-2026-11 in privacy.db" in printed[0]
    assert "paid before: nothing was spent or drawn" in printed[1]
    assert matches("visits-2026-11: epsilon 2.9 remains of epsilon 3\n...", printed[1])


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ["--date", "2026-12-01"]),  # a month without a budget
        (2, ["--date", "2026-11-30", "--id", "taken"]),
        (5, ["--date", "2026-11-28"]),  # no input
        (5, ["--date", "2026-11-29"]),  # published, and lost
        (4, ["--date", "2026-11-27"]),  # a column is missing
    ],
)
def test_exit_codes(folder, run, code: int, arguments: list[str]) -> None:
    prepare(Path())
    Path("public").mkdir()
    run(*shlex.split(next(commands(PAGE))[0])[1:])
    run(*shlex.split(PUBLISH.format("2026-11-29"))[1:])
    run(*shlex.split(PUBLISH.format("2026-11-01"))[1:], "--id", "taken")
    Path("public/visits-2026-11-29.csv").unlink()
    Path("visits-2026-11-28.csv").unlink()
    Path("visits-2026-11-27.csv").write_text("user,where\nu1,a\n")
    output = f"public/visits-{arguments[1]}.csv"
    assert run("publish", "visits.toml", "-o", output, *arguments).code == code


def test_control_another_output_is_found() -> None:
    (_, expected), *_ = commands(PAGE)
    assert matches(expected, expected)
    assert not matches(expected, expected.replace("epsilon 3 remains", "epsilon 2 remains"))
