"""examples/favourite_site.py runs, and what it prints as observed is what it prints as promised."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "favourite_site.py"
REPETITIONS = 40_000


@pytest.fixture(scope="module")
def lines() -> list[str]:
    command = [sys.executable, str(EXAMPLE), str(REPETITIONS)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_it_tells_the_accuracy(lines: list[str]) -> None:
    assert lines[0] == "Exponential, epsilon 0.5: within 8.1 visits of the favourite in 95 % of all cases"
    assert lines[12] == "PermuteAndFlip, epsilon 0.5: within 6.8 visits of the favourite in 95 % of all cases"
    assert lines[11] == "  released: video; remaining: PrivacyCost(epsilon='0.5')"
    assert lines[23] == "  released: video; remaining: PrivacyCost(epsilon='0')"
    assert len(lines) == 24


def test_observed_is_promised(lines: list[str]) -> None:
    rows = [line.split() for line in lines if line.startswith("    ")]
    assert len(rows) == 16
    for _, _, promised, observed in rows:
        p = float(promised)
        # Seven standard deviations of the share, and the rounding of what is printed: chance below 1e-10 a row.
        assert abs(float(observed) - p) < 7 * (p * (1 - p) / REPETITIONS) ** 0.5 + 1e-4
    assert [row[2] for row in rows if row[0] == "video"][::2] == ["1.0000", "1.0000"]
    nearly = [float(row[2]) for row in rows[4:8]]
    assert max(nearly) < 0.8
    assert sum(nearly) == pytest.approx(1, abs=3e-4)
