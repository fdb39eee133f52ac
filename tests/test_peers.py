"""The comparison with other libraries shows what was measured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_tables_are_those_of_the_results() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "peers" / "report.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
