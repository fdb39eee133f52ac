"""Which lines and branches of the Python code the tests run; exit 1 below the bars.

    python tests/cover.py [PYTEST_ARGUMENT ...]

Runs pytest, with what it is told to, under coverage.py: threads, forked processes and commands count. The settings are
in pyproject.toml. What is compiled is measured by native/c/cover.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import coverage

ROOT = Path(__file__).resolve().parents[1]
LEAST = {"lines": 95.0, "branches": 90.0}
# A promise about time that no tracer keeps.
TIMED = "tests/accounting/test_budget.py::test_a_spend_takes_less_than_20_microseconds"


def measure(arguments: list[str], data: Path) -> int:
    """Run tests, each process writing data of its own; their exit code."""
    command = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", f"--deselect={TIMED}", *arguments]
    return subprocess.run(command, env=os.environ | {"COVERAGE_FILE": str(data)}, cwd=ROOT, check=False).returncode


def table(data: Path) -> bool:
    """Print what did not run; whether everything is above its bar."""
    found = coverage.Coverage(str(data), config_file=str(ROOT / "pyproject.toml"))
    found.combine()
    found.report(show_missing=True, skip_covered=True)
    summary = data.with_name("summary.json")
    found.json_report(outfile=str(summary))
    totals = json.loads(summary.read_text())["totals"]
    shares = {
        "lines": 100 * totals["covered_lines"] / totals["num_statements"],
        "branches": 100 * totals["covered_branches"] / totals["num_branches"],
    }
    for name, share in shares.items():
        print(f"{share:.2f} % of {name}; at least {LEAST[name]} %")
    return all(share >= LEAST[name] for name, share in shares.items())


def main() -> int:
    """Run and print; 0 if the tests pass and run enough."""
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory, "coverage")
        failed = measure(sys.argv[1:], data)
        enough = table(data)
    return 1 if failed or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
