"""What the wheels are made and tested with is there: see wheels.py and .github/workflows/release.yml."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pytest
import wheels

SETTINGS = tomllib.loads((wheels.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]


def test_the_wheels_are_tested_with_files_that_exist() -> None:
    files = re.findall(r"tests/\S+", SETTINGS["test-command"])
    assert len(files) > 5
    for name in [*files, *SETTINGS["test-sources"]]:
        assert (wheels.ROOT / name).exists(), name


def test_what_is_not_a_python_is_no_python(tmp_path: Path) -> None:
    this = wheels.ask(Path(sys.executable))
    assert this is not None
    assert this.version == sys.version_info[:3]
    assert wheels.ask(tmp_path) is None
    assert wheels.ask(tmp_path / "python") is None


@pytest.mark.skipif(sys.platform == "win32", reason="makes a program by Unix rules")
def test_a_compiler_in_reach_is_seen(tmp_path: Path) -> None:
    """The control of the runs without a compiler."""
    (tmp_path / "gcc").write_text("#!/bin/sh\n")
    (tmp_path / "gcc").chmod(0o755)
    with pytest.raises(AssertionError, match="gcc"):
        wheels.test(tmp_path, tmp_path, [])
