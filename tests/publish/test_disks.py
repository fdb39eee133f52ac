"""What becomes of a table, and of its price, when the disk fails or other files are in the way."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import numpy as np
import pytest
from children import in_child, without_privileges
from publishing import FINISHED, budget_of, costs, files, never, noisy, notes, publish_visits, state

from exactnoise.errors import (
    IdConflict,
    LedgerDamaged,
    LedgerUnavailable,
    SnapshotDamaged,
)
from exactnoise.ledger import Ledger
from exactnoise.publish import Snapshot


@pytest.fixture
def budget(tmp_path):
    return budget_of(tmp_path)


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
