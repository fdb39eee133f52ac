"""What becomes of every failure on the way to a published table."""

from __future__ import annotations

import os

import numpy as np
import pytest
from publishing import FINISHED, budget_of, costs, files, never, noisy, notes, publish_visits, state

from exactnoise import DiscreteLaplace
from exactnoise.accounting import PrivacyCost
from exactnoise.errors import (
    BudgetExceeded,
    IdConflict,
    SchemaError,
)
from exactnoise.publish.files.csv_files import CsvWriter

SECRET = "4711"  # a value of the data, or part of one


@pytest.fixture
def budget(tmp_path):
    return budget_of(tmp_path)


def test_a_failure_before_anything_is_drawn_can_be_repeated(tmp_path, budget):
    def fails(child):
        raise KeyError(SECRET)

    with pytest.raises(KeyError):
        publish_visits(tmp_path, fails)
    assert budget.spent == costs(1)
    assert files(tmp_path) == []
    publish_visits(tmp_path)
    assert budget.spent == costs(1)
    assert SECRET not in str([entry.details for entry in budget.ledger.history()])


@pytest.mark.parametrize("when", ["in make", "between batches"])
def test_a_failure_after_something_was_drawn_is_charged_for_good(tmp_path, budget, when):
    def fails(child):
        noisy(child)
        raise KeyError(SECRET)

    def fails_later(child):
        yield noisy(child)
        raise KeyError(SECRET)

    with pytest.raises(KeyError):
        publish_visits(tmp_path, fails if when == "in make" else fails_later)
    assert state(budget) == "charged"
    assert budget.spent == costs(1)
    assert files(tmp_path) == []
    with pytest.raises(IdConflict, match=r"charged without having been published \(KeyError\)"):
        publish_visits(tmp_path, never)
    assert SECRET not in str([entry.details for entry in budget.ledger.history()])
    publish_visits(tmp_path, id="day 1 again")
    assert budget.spent == costs(2)


@pytest.mark.parametrize("interrupt", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_can_be_repeated_until_something_was_drawn(tmp_path, budget, interrupt):
    def early(child):
        raise interrupt

    def late(child):
        noisy(child)
        raise interrupt

    with pytest.raises(interrupt) as error:
        publish_visits(tmp_path, early)
    assert state(budget) == "reserved"
    assert notes(error) == [
        "epsilon 0.001 stays reserved under the id 'day 1': the same again takes it up at no new charge"
    ]
    with pytest.raises(interrupt) as error:
        publish_visits(tmp_path, late)
    assert state(budget) == "charged"
    assert "epsilon 0.001 stays charged under the id 'day 1'" in notes(error)[0]
    assert budget.spent == costs(1)


class Undescribed:
    """A table that cannot say how it was made."""

    def __init__(self, error):
        self.error = error

    def columns(self):
        return {"x": [1]}

    def metadata(self):
        raise self.error


class Frame(list):
    """Data frames are iterables of the names of their columns."""

    columns = ("site",)


TABLES = {
    "lengths": (lambda: {"x": [1], "y": [1, 2]}, "of one length"),
    "empty": (lambda: {}, "at least one"),
    "names": (lambda: {1: [1]}, "text for names"),
    "no lengths": (lambda: {"x": 1}, "has no len"),
    "batches": (lambda: [{"x": [1]}, {"y": [1]}], "the same columns in every batch"),
    "none": (lambda: iter(()), "returned no batch"),
    "numbers": (lambda: [1], "must return a mapping"),
    "text": (lambda: "site", "must return a mapping"),
    "numbers that come": (lambda: iter([1]), "iterable of these, got list_iterator of int"),
    "names alone": (lambda: ["site"], "iterable of these, got list of str"),
    "nothing": (lambda: None, r"must return a mapping .*, got None: does it lack a return\?"),
    "a number": (lambda: 7, "must return a mapping .*, got int"),
    "a frame": (lambda: Frame(), "must return a mapping .*, got Frame"),
    "metadata": (lambda: Undescribed(ValueError("undescribed")), "undescribed"),
    "metadata that cannot be read": (lambda: Undescribed(OSError("unread")), "unread"),
    "metadata that cannot be written": (lambda: type("", (Undescribed,), {"metadata": lambda _: 1})(None), "iterable"),
}


@pytest.mark.parametrize(("table", "words"), TABLES.values(), ids=TABLES)
def test_what_is_no_table_is_not_drawn_again(tmp_path, budget, table, words):
    """What is wrong with it may depend on what was drawn, or have been made to."""
    with pytest.raises((TypeError, ValueError, OSError), match=words):
        publish_visits(tmp_path, lambda child: noisy(child) and table())
    assert files(tmp_path) == []
    assert state(budget) == "charged"
    with pytest.raises(IdConflict):
        publish_visits(tmp_path, never)
    assert budget.spent == costs(1)


@pytest.mark.parametrize("step", ["write", "close"])
@pytest.mark.parametrize(
    "error", [OverflowError(), ValueError(), SchemaError(), KeyboardInterrupt(), OSError(5, "bad")]
)
def test_what_cannot_be_written(tmp_path, budget, monkeypatch, step, error):
    """Cells that a format cannot hold close the reservation, and a disk that fails leaves it open."""

    def fails(*_):
        raise error

    monkeypatch.setattr(CsvWriter, step, fails)
    with pytest.raises(type(error)):
        publish_visits(tmp_path)
    assert files(tmp_path) == []
    assert state(budget) == ("reserved" if isinstance(error, OSError) else "charged")
    assert budget.spent == costs(1)


@pytest.mark.parametrize("table", [lambda: {"x": [1]}, lambda: {"x": [1], "y": []}, lambda: None])
def test_what_is_no_table_can_be_repeated_where_nothing_was_drawn(tmp_path, budget, table):
    with pytest.raises((TypeError, ValueError)):
        publish_visits(tmp_path, lambda child: table())
    assert state(budget) == "reserved"
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


def test_a_purse_that_was_kept_is_worth_nothing_after_a_failure(tmp_path, budget):
    """Or the same price would pay for it and for the next attempt."""
    kept = []
    with pytest.raises(TypeError):
        publish_visits(tmp_path, kept.append)
    assert state(budget) == "reserved"
    with pytest.raises(BudgetExceeded):
        noisy(kept[0])
    publish_visits(tmp_path)


def test_a_part_of_the_purse_that_was_kept_is_worth_nothing_after_a_failure(tmp_path, budget, monkeypatch):
    """Nor is a part of a part."""
    kept = []

    def make(child):
        first, second = child.split(1, 1)
        kept.extend([first, second, *second.split(1, 1)])
        noise = DiscreteLaplace(sensitivity=1, epsilon=first.remaining.epsilon)
        return {"visits": noise.release([1], budget=first)}

    with monkeypatch.context() as patch:
        patch.setattr(CsvWriter, "write", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
        with pytest.raises(OSError, match="full"):
            publish_visits(tmp_path, make)
    assert state(budget) == "reserved"
    for part in kept:
        assert not part.remaining.epsilon
        with pytest.raises(BudgetExceeded):
            part.spend(PrivacyCost(epsilon="1e-300"))
    assert publish_visits(tmp_path, make).metadata["statistics"][0]["mechanism"] == [
        "DiscreteLaplace(sensitivity=1, epsilon='0.0005')"
    ]
    assert budget.spent == costs(1)


def test_a_purse_that_was_split_and_not_spent(tmp_path, budget):
    """A split is no release: what was returned is exact."""
    with pytest.raises(ValueError, match="exact numbers are not published"):
        publish_visits(tmp_path, lambda child: {"visits": [len(child.split(1, 1))]})
    assert state(budget) == "reserved"
    publish_visits(tmp_path)


def test_make_that_forks(tmp_path, budget):
    """The child of `make` that comes back is stopped, and what its parent publishes is whole."""

    def make(child):
        table = noisy(child)
        pid = os.fork()
        if pid:
            assert os.waitpid(pid, 0)[1] == 0
        return table

    parent = os.getpid()
    try:
        snapshot = publish_visits(tmp_path, make)
    except BaseException as error:
        if os.getpid() != parent:
            os._exit(not isinstance(error, RuntimeError))
        raise
    snapshot.verify(budget.ledger)
    assert budget.spent == costs(1)
    assert files(tmp_path) == FINISHED


def test_a_child_budget_is_all_there_is(tmp_path, budget):
    def make(child):
        DiscreteLaplace(sensitivity=1, epsilon=1).release(1, budget=child)

    with pytest.raises(BudgetExceeded):
        publish_visits(tmp_path, make)
    assert state(budget) == "reserved"


def test_a_table_of_no_rows(tmp_path):
    def make(child):
        noisy(child)
        return {"site": [], "visits": np.array([], np.int64)}

    assert publish_visits(tmp_path, make).metadata["rows"] == 0


def test_published_within_make_itself(tmp_path, budget):
    """The same id is at work; others are not disturbed."""

    def make(child):
        with pytest.raises(IdConflict, match="at work"):
            publish_visits(tmp_path, never)
        publish_visits(tmp_path, id="inner", path=tmp_path / "inner.csv")
        return noisy(child)

    publish_visits(tmp_path, make)
    assert budget.spent == costs(2)


def test_a_recovery_that_takes_the_reservation_away(tmp_path, budget):
    def make(child):
        table = noisy(child)
        budget.ledger.reservation("day 1").holder.done()
        budget.ledger.recover("charge", ids=["day 1"])
        return table

    with pytest.raises(IdConflict, match="thrown away"):
        publish_visits(tmp_path, make)
    assert files(tmp_path) == []
    assert state(budget) == "charged"
