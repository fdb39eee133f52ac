"""The runner of atheris finds a parser that fails: see atheris_parsers.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("atheris_parsers.py")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def test_help_needs_nothing() -> None:
    assert run("--help").returncode == 0


needs_atheris = pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="needs atheris")


@needs_atheris
def test_a_planted_exception_is_found(tmp_path: Path) -> None:
    done = run("--planted", "--seconds", "60", "--corpus", str(tmp_path))
    assert done.returncode == 1
    assert "KeyError" in done.stdout, done.stdout + done.stderr
    assert "crash-" in done.stdout  # with the input that shows it
    assert list(tmp_path.glob("planted/crash-*"))


@needs_atheris
def test_nothing_is_found(tmp_path: Path) -> None:
    done = run("--seconds", "1", "--corpus", str(tmp_path), "amount")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Done" in done.stdout
