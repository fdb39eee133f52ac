"""The attacks in the example find naive noise, are of no use against exactnoise, and print what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from math import exp
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scripts import load

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "attack_demo.py"
PAGE = ROOT / "docs" / "floating-point-attacks.md"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load(EXAMPLE)


def test_what_it_prints() -> None:
    """Each share is of 20 000 or 40 000 values: 3 % are more than eight standard deviations, and 1 % of rounding."""
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    fine, guesses = tables(done.stdout)
    assert fine[0][0] > 20
    assert [fine[0][1], *fine[1]] == [0, 0, 0]
    for (naive, ours, allowed), epsilon in zip(guesses, (1, 0.1, 0.01), strict=True):
        assert allowed == round(100 * (1 - exp(-epsilon / 2) / 2))
        assert naive > 78 > allowed + 5
        assert ours <= allowed + 3

    said = re.search(r"```text\n(Values.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)[1]
    for printed, shown in zip(tables(done.stdout), tables(said), strict=True):
        assert np.abs(np.array(printed) - np.array(shown)).max() <= 3


def tables(text: str) -> list[list[list[int]]]:
    """The percentages of each row, of both tables."""
    return [
        [[int(share) for share in re.findall(r"(\d+)%", row)] for row in part.splitlines() if "%" in row]
        for part in text.split("\n\n")
    ]


@pytest.mark.parametrize("scale", [1 / 3, 1.0, 100.0])
@pytest.mark.parametrize("secret", [0.0, 1.0, -7.3])
def test_the_truth_is_never_called_impossible(example: ModuleType, secret: float, scale: float) -> None:
    y = example.naive(secret, scale, 20_000, np.random.default_rng(7))
    assert example.can_come_from(y, secret, scale).all()


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_control_what_lies_beside_an_output_is_mostly_impossible(example: ModuleType, scale: float) -> None:
    """A search that calls everything possible would pass the test above."""
    beside = np.nextafter(example.naive(0.0, scale, 20_000, np.random.default_rng(7)), np.inf)
    assert example.can_come_from(beside, 0.0, scale).mean() < 0.6


def test_one_has_no_fine_digits(example: ModuleType) -> None:
    """Neither has 1 + noise for the noise at the ends and in the middle of what there is."""
    noise = -np.log(np.arange(1, 100_000) * 2.0**-53)
    noise = np.concatenate([noise, -np.log1p(-np.arange(100_000) * 2.0**-53), np.linspace(0, 40, 100_001)])
    assert not example.has_fine_digits(np.concatenate([1 + noise, 1 - noise])).any()
    assert example.has_fine_digits(np.array([2.0**-54, 3 * 2.0**-54, 0.1 * 0.1])).all()
