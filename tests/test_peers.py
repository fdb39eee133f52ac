"""The comparison with other libraries shows what was measured."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def check(root: Path) -> tuple[int, str]:
    command = [sys.executable, str(root / "benchmarks" / "peers" / "report.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_the_tables_are_those_of_the_results() -> None:
    assert check(ROOT) == (0, "")


def test_a_table_with_another_figure_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "benchmarks" / "peers", tmp_path / "benchmarks" / "peers")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    figure = next(line for line in readme.splitlines() if line.startswith("| exactnoise 0")).split(" | ")[1]
    (tmp_path / "README.md").write_text(readme.replace(figure, "999 M", 1), encoding="utf-8")
    code, said = check(tmp_path)
    assert code == 1
    assert said.startswith("README.md does not show results.json")
