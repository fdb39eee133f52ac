"""examples/session_length.py runs, and what it simulates is what it has in closed form."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "session_length.py"
EPSILONS = [0.1, 0.5, 1.0, 2.0, 5.0]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    picture = tmp_path_factory.mktemp("session") / "error.png"
    result = subprocess.run(
        [sys.executable, str(EXAMPLE), str(picture)], capture_output=True, text=True, check=False, encoding="utf-8"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert picture.read_bytes()[:4] == b"\x89PNG"
    return result.stdout.splitlines()


def test_closed_forms(lines: list[str]) -> None:
    """Half of epsilon for the sum of deviations, of which one session is 30 at most: scale 60 / epsilon."""
    assert lines[0] == "Mean length of 10000 sessions of 0 to 60 minutes: 29.83 minutes"
    rows = [line.split() for line in lines[3:8]]
    assert [float(row[0]) for row in rows] == EPSILONS
    for row, epsilon in zip(rows, EPSILONS, strict=True):
        assert float(row[1]) == 60 / epsilon
        # The number of sessions adds 0.17 / 30 of the noise at most.
        assert float(row[2]) == pytest.approx(2**0.5 * 60 / epsilon / 10_000, rel=1e-3)
        assert float(row[6]) == pytest.approx(60 / epsilon / 10_000, rel=1e-3)
        assert float(row[10]) == pytest.approx(2.9957 * 60 / epsilon / 10_000, rel=2e-3)
    assert lines[9] == "Within 6 seconds of it, 19 times in 20: epsilon 0.1798"


def test_simulated_is_closed(lines: list[str]) -> None:
    """By chance 1000 exponential errors leave these limits less than once in 1e11 (Chernoff's bounds)."""
    for line in lines[3:8]:
        numbers = [float(number) for number in re.findall(r"[\d.e-]+(?= \+-)", line)]
        row = line.split()
        for simulated, closed, low, high in zip(
            numbers, (float(row[i]) for i in (2, 6, 10)), (0.6, 0.747, 0.6), (1.4, 1.253, 1.6), strict=True
        ):
            assert low < simulated / closed < high
