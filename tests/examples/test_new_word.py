"""The example of a new word's popularity runs, and its two ways of reporting agree."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scripts import load

from exactnoise import LocalHashing

EXAMPLE = Path(__file__).parents[2] / "examples" / "new_word.py"


@pytest.fixture
def example() -> ModuleType:
    return load(EXAMPLE)


def test_what_it_prints() -> None:
    done = subprocess.run([sys.executable, EXAMPLE, "20000"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    rows = re.findall(r"^(\S+|\(another word\)) +(\d+) +(-?\d+) +(\d+) +(-?\d+) to (-?\d+)$", done.stdout, re.MULTILINE)
    assert len(rows) == 10
    for _, true, estimate, error, low, high in rows:
        assert abs(int(true) - int(estimate)) < 7 * int(error)  # beyond with a chance of 1e-12
        assert int(low) < int(estimate) < int(high)
    assert "20000 phones, epsilon 2" in done.stdout


def test_devices_and_the_simulation_send_the_same(example: ModuleType) -> None:
    """Reports made one by one, and those made at once, are of one kind: both give the right counts."""
    m = LocalHashing(epsilon=example.EPSILON, categories=len(example.WORDS))
    words = ["vote", "rizz", "a word that nobody knows", "vote"] * 500
    data = b"".join(example.device_report(word) for word in words)
    single = m.tally(np.frombuffer(data, m.report_dtype))
    bulk = m.tally(example.simulated_reports(np.array([5, 7, 0, 5] * 500)))
    true = np.zeros(10)
    true[[5, 7, 0]] = 1000, 500, 500
    for tally in (single, bulk):
        estimate = m.estimate(tally)
        assert np.max(np.abs(estimate.counts - true) / estimate.std_error) < 7


def test_shares_add_up(example: ModuleType) -> None:
    assert sum(example.SHARES) == pytest.approx(1)
    assert len(example.SHARES) == len(example.WORDS)
