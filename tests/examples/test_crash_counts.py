"""The example of crash counts runs, its devices stop when their budget does, and its errors are true."""

from __future__ import annotations

import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scripts import load

EXAMPLE = Path(__file__).parents[2] / "examples" / "crash_counts.py"


@pytest.fixture
def example() -> ModuleType:
    return load(EXAMPLE)


def test_what_it_prints() -> None:
    done = subprocess.run([sys.executable, EXAMPLE, "5000"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    days = re.findall(r"^  day (\d): sends ([^,:]+)", done.stdout, re.MULTILINE)
    assert [day for day, _ in days] == list("123456789")
    assert all(re.fullmatch("[0-9a-f]{16}", sent) for _, sent in days[:7])
    assert [sent for _, sent in days[7:]] == ["nothing", "nothing"]
    estimated, error = map(int, re.search(r"estimated +(-?\d+), standard error (\d+)", done.stdout).groups())
    true = int(re.search(r"true sum +(\d+)", done.stdout)[1])
    assert abs(estimated - true) < 7 * error


def test_a_device_stops_when_its_budget_does(example: ModuleType) -> None:
    device = example.Device()
    reports = [device.report(3, f"day {day}") for day in range(10)]
    assert [report is None for report in reports] == [False] * example.DAYS + [True] * (10 - example.DAYS)
    assert all(len(report) == 8 for report in reports[: example.DAYS])
    assert len(device.budget.history) == example.DAYS
    assert device.budget.remaining.epsilon == 0
    assert [spend.label for spend in device.budget.history][:2] == ["day 0", "day 1"]


@pytest.mark.parametrize("crashes", [-5, 0, 3, np.int64(3), 10, 11, 10**30])
def test_counts_are_clipped(example: ModuleType, crashes: int | np.integer) -> None:
    """Over many reports the mean is that of the clipped count, within 7 standard errors."""
    n = 300
    server = example.Server()
    for _ in range(n):
        server.receive(example.Device().report(crashes, "day 1"))
    assert server.reports == n
    assert server.std_error == pytest.approx(n**0.5 * example.MECHANISM.std)
    assert abs(server.total - n * min(max(crashes, 0), example.BOUND)) < 7 * server.std_error
    low, high = server.interval(alpha=0.05)
    assert high - server.total == pytest.approx(1.959964 * server.std_error, rel=1e-6)
    assert low + high == pytest.approx(2 * server.total)


def test_reports_at_once_are_the_same_bytes(example: ModuleType) -> None:
    values = [0, 1, -1, 2**40, -(2**62)]
    one, many = example.Server(), example.Server()
    for value in values:
        one.receive(value.to_bytes(8, "little", signed=True))
    many.receive_many(np.array(values, "<i8").tobytes())
    assert (one.total, one.reports) == (many.total, many.reports) == (sum(values), 5)


def test_the_price_of_a_day(example: ModuleType) -> None:
    assert example.MECHANISM.epsilon == Fraction(example.EPSILON)
    assert example.MECHANISM.sensitivity == example.BOUND
