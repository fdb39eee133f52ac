"""What becomes of every failure on the way to a published table."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest
from children import in_child, without_privileges
from publishing import FINISHED, budget_of, costs, files, never, noisy, publish_visits, state

from exactnoise import DiscreteLaplace
from exactnoise.accounting import PrivacyCost
from exactnoise.errors import (
    BudgetExceeded,
    IdConflict,
    LedgerDamaged,
    LedgerNote,
    LedgerUnavailable,
    SchemaError,
    SnapshotDamaged,
)
from exactnoise.ledger import Ledger
from exactnoise.publish import Snapshot
from exactnoise.publish.files.csv_files import CsvWriter

SECRET = "4711"  # a value of the data, or part of one


@pytest.fixture
def budget(tmp_path):
    return budget_of(tmp_path)


def notes(error):
    """What the exception says about the ledger."""
    return [note for note in getattr(error.value, "__notes__", ()) if isinstance(note, LedgerNote)]


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


TABLES = {
    "lengths": (lambda: {"x": [1], "y": [1, 2]}, "of one length"),
    "empty": (lambda: {}, "at least one"),
    "names": (lambda: {1: [1]}, "text for names"),
    "no lengths": (lambda: {"x": 1}, "has no len"),
    "batches": (lambda: [{"x": [1]}, {"y": [1]}], "the same columns in every batch"),
    "none": (lambda: iter(()), "returned no batch"),
    "numbers": (lambda: [1], "must return a mapping"),
    "text": (lambda: "site", "must return a mapping"),
    "nothing": (lambda: None, "not iterable"),
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
    assert "takes it up at no new charge" in error.__notes__[0]
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


def test_a_charge_that_cannot_be_written_down(tmp_path, budget, monkeypatch):
    """As long as this process lives nobody takes it up; after that it is one that ended on the spot."""

    def make(child):
        noisy(child)
        monkeypatch.setattr(Ledger, "_writing", unavailable)
        raise OSError("full")

    def unavailable(*_):
        raise LedgerUnavailable("full")

    with pytest.raises(OSError, match="full") as error:
        publish_visits(tmp_path, make)
    assert "stays charged" in notes(error)[0]
    monkeypatch.undo()
    assert state(budget) == "reserved"
    with pytest.raises(IdConflict, match="at work"):
        publish_visits(tmp_path, never)


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
    def fails(*_):
        raise OSError("the disk failed")

    monkeypatch.setattr(os, "link", fails)
    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError, match="failed") as error:
        publish_visits(tmp_path)
    assert notes(error) == ["the release is committed under the id 'day 1': the same again puts it in place"]
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


def test_a_file_system_without_links(tmp_path, budget, monkeypatch):
    def none(*_):
        raise PermissionError("no links")

    monkeypatch.setattr(os, "link", none)
    publish_visits(tmp_path)
    assert files(tmp_path) == FINISHED


def test_another_file_that_appears_on_a_file_system_without_links(tmp_path, budget, monkeypatch):
    """It is not replaced, and what was drawn waits until there is room."""

    def none(_, final):
        final.write_bytes(b"of somebody else")
        raise PermissionError("no links")

    monkeypatch.setattr(os, "link", none)
    with pytest.raises(FileExistsError, match="is not this release: move it away") as error:
        publish_visits(tmp_path)
    monkeypatch.undo()
    theirs = Path(error.value.filename)
    assert theirs.read_bytes() == b"of somebody else"
    assert budget.spent == costs(1)
    theirs.unlink()
    publish_visits(tmp_path, never).verify(budget.ledger)
    assert budget.spent == costs(1)


@pytest.mark.parametrize("moment", ["before the metadata", "before the table"])
def test_another_release_that_is_put_under_the_same_name_meanwhile(tmp_path, budget, monkeypatch, moment):
    """Neither replaces a file of the other; the one that was slower waits until there is room."""
    real, names = os.link, iter(["metadata", "table"])

    def slow(waiting, final):
        if moment.endswith(next(names)):
            monkeypatch.setattr(os, "link", real)
            other = in_child(lambda: publish_visits(tmp_path, id="day 2"))
            assert (other.error is None) == (moment == "before the metadata")
        real(waiting, final)

    monkeypatch.setattr(os, "link", slow)
    if moment == "before the metadata":
        with pytest.raises(FileExistsError):
            publish_visits(tmp_path)
    else:
        publish_visits(tmp_path)
    monkeypatch.undo()
    if moment == "before the metadata":
        publish_visits(tmp_path, never, id="day 2").verify(budget.ledger)
        for name in FINISHED:
            (tmp_path / name).unlink()
    publish_visits(tmp_path, never).verify(budget.ledger)
    assert (state(budget), state(budget, "day 2")) == (
        "committed",
        "committed" if moment == "before the metadata" else "voided",
    )


def test_an_older_copy_of_the_ledger(tmp_path, budget):
    """What it has forgotten is not published a second time beside what is there."""
    before = budget.ledger.path.read_bytes()
    publish_visits(tmp_path)
    budget.ledger.path.write_bytes(before)
    for missing in ((), FINISHED[:1]):
        for name in missing:
            (tmp_path / name).unlink()
        with pytest.raises(LedgerDamaged, match="an older copy of the ledger was put in its place"):
            publish_visits(tmp_path, never)


def test_two_ledgers_and_one_name(tmp_path, budget):
    """What one has committed is no leftover of the other's release of the same id."""

    def killed():
        from children import die

        os.link = lambda *_: die()
        publish_visits(tmp_path)

    assert in_child(killed).killed
    waiting = files(tmp_path)
    other = Ledger(tmp_path / "other.db").create("visits", epsilon=1, neighbors="add-remove", unit="person")
    second = publish_visits(tmp_path, budget=other)
    assert set(waiting) < set(files(tmp_path))
    for path in (second.path, tmp_path / FINISHED[1]):
        path.unlink()
    publish_visits(tmp_path, never).verify(budget.ledger)


def test_leftovers_beside_another_name(tmp_path, budget):
    """A process that was killed had another file in mind: what it left there is noisy, too, and goes."""

    def killed():
        from children import die

        publish_visits(tmp_path, lambda child: noisy(child) and die(), path=tmp_path / "other.csv")

    assert in_child(killed).killed
    assert len(files(tmp_path)) == 2
    publish_visits(tmp_path)
    assert files(tmp_path) == FINISHED


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
def test_a_name_of_the_files_of_a_ledger_behind_a_link(tmp_path, ending):
    """SQLite's own files are beside what the link points to."""
    (tmp_path / "kept").mkdir()
    Ledger(tmp_path / "kept" / "real.db")
    (tmp_path / "privacy.db").symlink_to(tmp_path / "kept" / "real.db")
    budget = budget_of(tmp_path)
    for folder, name in (("kept", "real.db"), (".", "privacy.db")):
        with pytest.raises(FileExistsError, match="the ledger's own files"):
            publish_visits(tmp_path, never, path=tmp_path / folder / f"{name}{ending}")
    assert budget.spent == costs(0)


@pytest.mark.parametrize("ending", ["", "-journal", "-wal", "-shm"])
def test_a_name_of_the_ledgers_own_files(tmp_path, budget, ending):
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(FileExistsError, match="the ledger's own files"):
        publish_visits(tmp_path, never, path=tmp_path / "link" / f"privacy.db{ending}")
    assert budget.spent == costs(0)


def test_a_pipe_in_the_place_of_a_published_table(tmp_path, budget):
    snapshot = publish_visits(tmp_path)
    snapshot.path.unlink()
    os.mkfifo(snapshot.path)
    for use in (lambda: publish_visits(tmp_path, never), snapshot.verify, lambda: Snapshot.open(snapshot.path)):
        with pytest.raises(SnapshotDamaged):
            use()
