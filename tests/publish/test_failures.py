"""What becomes of every failure on the way to a published table."""

from __future__ import annotations

import os
import resource

import numpy as np
import pytest
from children import in_child, without_privileges
from publishing import FINISHED, budget_of, costs, files, never, noisy, publish_visits, state

from exactnoise import DiscreteLaplace
from exactnoise.errors import BudgetExceeded, IdConflict, LedgerUnavailable, SnapshotDamaged
from exactnoise.ledger import Ledger

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
def test_an_interrupt_can_be_repeated(tmp_path, budget, interrupt):
    """As a process that was killed can be."""

    def interrupted(child):
        noisy(child)
        raise interrupt

    with pytest.raises(interrupt):
        publish_visits(tmp_path, interrupted)
    assert state(budget) == "reserved"
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (lambda child: {"x": [1]}, "without spending"),
        (lambda child: noisy(child) and {"x": [1], "y": [1, 2]}, "of one length"),
        (lambda child: noisy(child) and {}, "at least one"),
        (lambda child: noisy(child) and {1: [1]}, "text for names"),
        (lambda child: noisy(child) and [{"x": [1]}, {"y": [1]}], "the same columns in every batch"),
        (lambda child: noisy(child) and iter(()), "returned no batch"),
        (lambda child: noisy(child) and [1], "must return a mapping"),
        (lambda child: noisy(child) and "site", "must return a mapping"),
    ],
    ids=["free", "lengths", "empty", "names", "batches", "none", "numbers", "text"],
)
def test_what_is_no_table(tmp_path, budget, table, words):
    with pytest.raises((TypeError, ValueError), match=words):
        publish_visits(tmp_path, table)
    assert files(tmp_path) == []
    assert state(budget) == "reserved"
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


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


# Disks


def test_a_full_disk(tmp_path, budget):
    """Nothing is published, the reservation waits, and with room on the disk it is made anew at no new charge."""

    def large(child):
        return {"x": np.zeros(2 * 10**5, np.int64), "visits": np.resize(noisy(child)["visits"], 2 * 10**5)}

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2**19, 2**19))
        publish_visits(tmp_path, large)

    error = in_child(full).error
    assert isinstance(error, OSError)
    assert error.filename == str(tmp_path / "visits.csv")
    assert files(tmp_path) == []
    assert state(budget) == "reserved"
    assert budget.spent == costs(1)
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


def test_a_disk_that_is_full_for_the_ledger_too(tmp_path, budget, monkeypatch):
    """Nothing about the failure can be written down, and still it is no longer at work."""

    def unavailable(*_):
        raise LedgerUnavailable("full")

    def make(child):
        monkeypatch.setattr(Ledger, "_writing", unavailable)
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        publish_visits(tmp_path, make)
    monkeypatch.undo()
    assert state(budget) == "reserved"
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


@pytest.mark.parametrize("written", [True, False])
def test_a_commit_of_which_nobody_knows(tmp_path, budget, monkeypatch, written):
    """It failed, before or after it was written: what waits is kept until it is known."""
    real = type(budget)._commit

    def commit(self, *arguments, **options):
        if written:
            real(self, *arguments, **options)
        else:
            arguments[0].holder.done()
        raise LedgerUnavailable("the disk failed")

    monkeypatch.setattr(type(budget), "_commit", commit)
    with pytest.raises(LedgerUnavailable):
        publish_visits(tmp_path)
    waiting = [path.read_bytes() for path in tmp_path.glob(".visits.csv.*")]
    monkeypatch.undo()
    again = publish_visits(tmp_path, never if written else noisy)
    assert (again.path.read_bytes() in waiting) == written
    assert files(tmp_path) == FINISHED
    assert budget.spent == costs(1)


def test_what_waits_for_its_rename_was_changed(tmp_path, budget, monkeypatch):
    def replace(*_):
        raise OSError("the disk failed")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OSError, match="failed"):
        publish_visits(tmp_path)
    monkeypatch.undo()
    (waiting,) = [path for path in tmp_path.glob(".visits.csv.*") if "json" not in path.name]
    content = waiting.read_bytes()
    waiting.write_bytes(content + b"d,1\n")
    with pytest.raises(SnapshotDamaged, match="not what was committed"):
        publish_visits(tmp_path, never)
    waiting.write_bytes(content)
    assert publish_visits(tmp_path, never).path.read_bytes() == content


def test_a_read_only_folder(tmp_path, budget):
    folder = tmp_path / "published"
    folder.mkdir(0o555)
    for place in (tmp_path, *tmp_path.parents):
        if place.stat().st_uid == os.getuid() and not place.stat().st_mode & 0o001:
            place.chmod(0o755)
    tmp_path.chmod(0o777)
    budget.ledger.path.chmod(0o666)

    def nobody():
        with without_privileges(), pytest.raises(PermissionError) as error:
            publish_visits(tmp_path, never, path=folder / "visits.csv")
        return error.value.filename

    assert in_child(nobody).result() == str(folder / "visits.csv")
    assert state(budget) == "voided"
    assert budget.spent == costs(0)
