"""A process killed at any moment: one spend, one answer, and a record of everything that was spent."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from children import Child, at_once, die, in_child
from publishing import FINISHED, PRICE, TERMS, budget_of, costs, files, never, noisy, publish_visits

from exactnoise.errors import BudgetExceeded, IdConflict
from exactnoise.ledger import Ledger, LedgerBudget
from exactnoise.ledger.store import Rows
from exactnoise.publish.durable import sha256_of


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory where there is such a place: a process that is killed leaves there what it leaves on a disk."""
    made = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    yield made
    shutil.rmtree(made)


@pytest.fixture(autouse=True, scope="module")
def what_a_child_finds_loaded(tmp_path_factory):
    """Parts that are imported when they are needed, so that not every child has to."""
    publish_visits(tmp_path_factory.mktemp("first"))


def dying_before(owner: Any, name: str, call: int = 1) -> None:
    """Be killed when a function is called for the so many-th time."""
    _dying(owner, name, call, before=True)


def dying_after(owner: Any, name: str, call: int = 1) -> None:
    """Be killed when its so many-th call has done its work."""
    _dying(owner, name, call, before=False)


def _dying(owner: Any, name: str, call: int, *, before: bool) -> None:
    real, calls = getattr(owner, name), itertools.count(1)

    def dying(*args: Any, **options: Any) -> Any:
        last = next(calls) == call
        if last and before:
            die()
        result = real(*args, **options)
        if last:
            die()
        return result

    setattr(owner, name, dying)  # in a child: nobody has to put it back


def noisy_then_dies(child: Any) -> Any:
    noisy(child)
    die()


def dies_between_batches(child: Any) -> Any:
    yield noisy(child)
    die()


STEPS: dict[str, Callable[[], Any]] = {
    "while the reservation is written": lambda: dying_after(Rows, "append"),
    "after reserve": lambda: dying_after(LedgerBudget, "_reserve"),
    "during make": lambda: noisy_then_dies,
    "while the table is written": lambda: dies_between_batches,
    "before fsync": lambda: dying_before(os, "fsync"),
    "between the fsyncs": lambda: dying_before(os, "fsync", 2),
    "before commit": lambda: dying_before(LedgerBudget, "_commit"),
    "while the commit is written": lambda: dying_after(Rows, "append", 2),
    "between commit and rename": lambda: dying_before(os, "link"),
    "between the renames": lambda: dying_before(os, "link", 2),
    "after rename": lambda: dying_after(os, "link", 2),
}
BEFORE_THE_RESERVATION = ["while the reservation is written"]
AFTER_THE_COMMIT = ["between commit and rename", "between the renames", "after rename"]


def crash(folder: Path, step: str) -> bool:
    """Publish in a process that is killed at that step, if it comes there."""

    def task() -> None:
        make = STEPS[step]()
        publish_visits(folder, make or noisy)

    return in_child(task).killed


def answer_of(folder: Path) -> str:
    return str(publish_visits(folder).metadata["sha256"])


def ledger_of(folder: Path) -> str:
    return budget_of(folder).ledger.id


def published(folder: Path) -> str | None:
    return sha256_of(folder / "visits.csv")


def committed(folder: Path) -> str | None:
    reservation = Ledger(folder / "privacy.db").reservation("day 1")
    return reservation.outcome["sha256"] if reservation and reservation.state == "committed" else None


def check_after_a_crash(folder: Path, answer: str | None) -> str | None:
    """Nothing but what is committed can be seen, and what was committed stays. Returns what is committed."""
    ledger = Ledger(folder / "privacy.db")
    ledger.verify()
    assert published(folder) in (None, committed(folder))
    assert answer in (None, committed(folder))
    if published(folder) is not None:
        assert (folder / "visits.csv.release.json").exists()
    reserved = ledger.reservation("day 1") is not None
    assert ledger.budget("visits").spent == costs(1 if reserved else 0)
    return committed(folder)


def check_finished(folder: Path, answer: str | None) -> None:
    """One spend, one answer, nothing left over; the same again draws nothing."""
    snapshot = in_child(lambda: publish_visits(folder).metadata).result()
    assert files(folder) == FINISHED
    assert answer in (None, published(folder))
    assert published(folder) == committed(folder) == snapshot["sha256"]
    budget = budget_of(folder)
    assert budget.spent == costs(1)
    kinds = [entry.kind for entry in budget.ledger.history("visits")]
    assert kinds.count("committed") == kinds.count("reserved") == 1
    again = publish_visits(folder, never)
    again.verify(budget.ledger)
    assert again.metadata == snapshot
    assert budget.spent == costs(1)


@pytest.mark.parametrize("rounds", [pytest.param(8, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)])
@pytest.mark.parametrize("step", STEPS)
def test_killed_once(folder, step, rounds):
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        budget_of(place)
        assert crash(place, step)
        answer = check_after_a_crash(place, None)
        assert (budget_of(place).spent == costs(0)) == (step in BEFORE_THE_RESERVATION)
        assert (answer is not None) == (step in AFTER_THE_COMMIT)
        check_finished(place, answer)


@pytest.mark.parametrize("rounds", [pytest.param(8, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)])
def test_killed_again_and_again(folder, rounds):
    """What a crash left, another one finds: any sequence of them, drawn at random."""
    chance = random.Random(20261130)
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        budget_of(place)
        answer = None
        for step in chance.choices(list(STEPS), k=chance.randint(2, 5)):
            crash(place, step)
            answer = check_after_a_crash(place, answer)
        check_finished(place, answer)


@pytest.mark.parametrize("rounds", [pytest.param(4, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)])
def test_killed_at_any_time(folder, rounds):
    """From outside, at moments that nobody chose."""
    chance = random.Random(6)
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        budget_of(place)
        answer = None
        for _ in range(3):
            child = Child(partial(answer_of, place))
            time.sleep(chance.uniform(0, 0.03))
            os.kill(child.pid, 9)
            child.outcome()
            answer = check_after_a_crash(place, answer)
        check_finished(place, answer)


def one_of_eight(place: Path, i: int) -> str:
    return publish_visits(place, id=f"day {i}", path=place / f"{i}.csv", budget=budget_of(place, epsilon=PRICE)).id


@pytest.mark.parametrize("rounds", [pytest.param(5, id="few"), pytest.param(200, id="many", marks=pytest.mark.slow)])
def test_eight_race_for_the_last_unit(folder, rounds):
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        budget = budget_of(place, epsilon=PRICE)

        outcomes = at_once([partial(one_of_eight, place, i) for i in range(8)])
        winners = [i for i, outcome in enumerate(outcomes) if outcome.value]
        assert len(winners) == 1
        assert all(isinstance(o.error, BudgetExceeded) for i, o in enumerate(outcomes) if i not in winners)
        assert files(place) == [f"{winners[0]}.csv", f"{winners[0]}.csv.release.json"]
        assert budget.spent == costs(1)
        budget.ledger.verify()


@pytest.mark.parametrize("rounds", [pytest.param(4, id="few"), pytest.param(100, id="many", marks=pytest.mark.slow)])
def test_eight_race_for_one_id(folder, rounds):
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        budget = budget_of(place)
        outcomes = at_once([partial(answer_of, place)] * 8)
        answers = {outcome.value for outcome in outcomes if outcome.value}
        assert answers == {committed(place)} == {published(place)}
        assert all(isinstance(outcome.error, IdConflict) for outcome in outcomes if not outcome.value)
        assert files(place) == FINISHED
        assert budget.spent == costs(1)


@pytest.mark.parametrize("rounds", [pytest.param(4, id="few"), pytest.param(100, id="many", marks=pytest.mark.slow)])
def test_eight_create_one_ledger(folder, rounds):
    for number in range(rounds):
        place = folder / str(number)
        place.mkdir()
        ids = {outcome.result() for outcome in at_once([partial(ledger_of, place)] * 8)}
        assert len(ids) == 1
        assert [budget.name for budget in Ledger(place / "privacy.db").budgets()] == ["visits"]
        assert files(place) == []


def test_the_check_would_find_a_second_answer(folder):
    """The controls: a redraw, and a lost record, are seen."""
    assert not crash(folder, "while the table is written") or committed(folder) is None
    publish_visits(folder)
    answer = committed(folder)
    (folder / "visits.csv").write_bytes(b"site,visits\na,1\n")
    with pytest.raises(AssertionError):
        check_after_a_crash(folder, answer)
    with pytest.raises(AssertionError):
        check_after_a_crash(folder, "another")
    assert TERMS["epsilon"] != PRICE
