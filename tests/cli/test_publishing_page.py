"""The commands of docs/publishing.md, in its order, print what the page says."""

from __future__ import annotations

import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "publishing.md").read_text(encoding="utf-8")
NIGHTS = [f"2026-11-{day:02}" for day in range(1, 31)]
PUBLISH = "exactnoise publish visits.toml --date {0} -o public/visits-{0}.csv"


def commands() -> Iterator[tuple[str, str]]:
    """Each command of a console block, with what is printed below it."""
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL):
        for command in block.split("$ ")[1:]:
            first, _, printed = command.partition("\n")
            yield first, printed


def matches(expected: str, printed: str) -> bool:
    return doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)


def prepare(folder: Path) -> None:
    (folder / "visits.toml").write_text(re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)[1], encoding="utf-8")
    rows = re.search(r"```text\n(user,.*?)```", PAGE, re.DOTALL)[1]
    for night in NIGHTS:
        (folder / f"visits-{night}.csv").write_text(rows, encoding="utf-8")
    (folder / "public").mkdir()


def test_the_page(folder, run) -> None:
    """The other nights are published before the refusal."""
    prepare(Path())

    def shown(command: str) -> tuple[int, str]:
        outcome = run(*shlex.split(command)[1:])
        return outcome.code, (outcome.out + outcome.err).replace(str(Path().resolve()), "/srv/visits")

    codes = []
    for command, expected in commands():
        if "again.csv" in command:
            for night in NIGHTS[:-1]:
                assert shown(PUBLISH.format(night))[0] == 0
        code, printed = shown(command)
        codes.append(code)
        assert matches(expected, printed), f"{command}\n{printed}"
        if code == 3:
            assert not Path("public/visits-2026-11-30.csv").exists()
    assert codes == [0] * 7 + [3, 0, 0]
    header = re.search(r"```text\n(site,.*?)```", PAGE, re.DOTALL)[1].splitlines()[0]
    assert Path("public/visits-2026-11-29.csv").read_text().splitlines()[0] == header


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
    run(*shlex.split(next(commands())[0])[1:])
    run(*shlex.split(PUBLISH.format("2026-11-29"))[1:])
    run(*shlex.split(PUBLISH.format("2026-11-01"))[1:], "--id", "taken")
    Path("public/visits-2026-11-29.csv").unlink()
    Path("visits-2026-11-28.csv").unlink()
    Path("visits-2026-11-27.csv").write_text("user,where\nu1,a\n")
    output = f"public/visits-{arguments[1]}.csv"
    assert run("publish", "visits.toml", "-o", output, *arguments).code == code


def test_control_another_output_is_found() -> None:
    (_, expected), *_ = commands()
    assert matches(expected, expected)
    assert not matches(expected, expected.replace("epsilon 3 remains", "epsilon 2 remains"))
