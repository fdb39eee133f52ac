"""The files under examples/ run and say what their README says."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest
from scripts import load

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def births():
    return load(EXAMPLES / "births.py")


def test_noisy_counts():
    result = subprocess.run([sys.executable, EXAMPLES / "noisy_counts.py"], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        "planned:", "released:", "spent:", "remaining:", "refused:",
    ]  # fmt: skip
    assert "0.8" in lines[2]
    assert "0.2" in lines[3]


def test_births_end_to_end(births, run, folder):
    """The example's own table and command, from a source of the real one's shape."""
    states = ["AK", "WY"]
    rows = [
        (state, day.year, day.month, day.day, 14 + number % 9)
        for number, day in enumerate(births.DAYS)
        for state in states
        if day.toordinal() % 100  # some days are absent
    ]
    count = births.write_births([*rows, ("AK", 1969, 2, 29, 6)], Path("births.csv"))
    assert count == 2 * 7305
    command = births.noise_command(Path("births.csv"))
    assert command[0] == "exactnoise"
    assert run(*command[1:]).code == 0
    exact, noisy = (
        list(csv.DictReader(Path(name).read_text().splitlines())) for name in ("births.csv", "births-noisy.csv")
    )
    assert len(exact) == len(noisy) == count
    key = ("state", "year", "month", "day")
    assert [[row[k] for k in key] for row in exact] == [[row[k] for k in key] for row in noisy]
    assert {row["births"] for row in exact if row["day"] != "29"} > {"0", "14"}
    assert not any((row["year"], row["month"], row["day"]) == ("1969", "2", "29") for row in exact)
    # Scale 4, variance 31.8: the mean of 14 610 differences has standard deviation 0.047, and
    # 0.3 is beyond six of them (chance below 1e-9).
    differences = [int(b["births"]) - int(a["births"]) for a, b in zip(exact, noisy, strict=True)]
    assert abs(sum(differences) / count) < 0.3
    assert 25 < sum(d * d for d in differences) / count < 39


def test_every_example_is_described():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    scripts = [path.name for path in EXAMPLES.glob("*.py")]
    assert len(scripts) >= 6
    for name in scripts:
        assert f"[{name}]({name})" in readme
