"""Run the command line in this process, on tables in a temporary folder."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from exactnoise.cli import main

# Noise of scale 1/1000 on whole numbers is 0 but for a chance of 2 e^-1000 a cell, so a table
# released with this epsilon shows what the command does to everything else.
ALMOST_EXACT = "1000"


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    files: list[str]  # in the current folder afterwards

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    def run(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        files = sorted(path.as_posix() for path in Path().rglob("*") if path.is_file())
        return Outcome(code, *capsys.readouterr(), files)

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def noise(run: Callable[..., Outcome], folder: Path) -> Callable[..., Outcome]:
    """``exactnoise noise`` on the bytes given, as in.csv, to out.csv; options override."""

    def noise(table: bytes | None, *more: object, **options: object) -> Outcome:
        if table is not None:
            Path("in.csv").write_bytes(table)
        settings = {
            "column": "visits",
            "sensitivity": 1,
            "epsilon": ALMOST_EXACT,
            "output": "out.csv",
        }
        settings |= options
        pairs = [f"--{name}={value}" for name, value in settings.items() if value is not None]
        return run("noise", "in.csv", *pairs, *more)

    return noise
