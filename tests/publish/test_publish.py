"""publish: charged once, published once, and what becomes of every failure on the way."""

from __future__ import annotations

import json
import os
import resource

import numpy as np
import pytest
from children import in_child, without_privileges
from publishing import CELLS, PRICE, budget_of, costs, files, never, noisy, publish_visits

from exactnoise import DiscreteLaplace, Gaussian, Laplace, PrivacyBudget, aggregates
from exactnoise.accounting import PrivacyCost
from exactnoise.errors import BudgetExceeded, IdConflict, LedgerUnavailable, SnapshotDamaged, SnapshotLost
from exactnoise.ledger import Ledger
from exactnoise.publish import Snapshot, publish

FINISHED = ["visits.csv", "visits.csv.release.json"]
SECRET = "4711"  # a value of the data, or part of one


@pytest.fixture
def budget(tmp_path):
    return budget_of(tmp_path)


def state(budget, name="day 1"):
    found = budget.ledger.reservation(name)
    return found and found.state


# What is published


def test_a_table_is_published(tmp_path, budget):
    snapshot = publish_visits(tmp_path)
    assert isinstance(snapshot, Snapshot)
    assert files(tmp_path) == FINISHED
    columns = snapshot.read()
    assert list(columns) == ["site", "visits"]
    assert columns["site"] == CELLS
    assert columns["visits"].dtype == np.int64
    assert budget.spent == costs(1)
    assert [spend.label for spend in budget.history] == ["day 1"]


def test_the_files_are_private_until_they_are_published(tmp_path):
    seen = {}

    def make(child):
        seen.update({name: (tmp_path / name).stat().st_mode & 0o777 for name in files(tmp_path)})
        return noisy(child)

    old = os.umask(0o022)
    try:
        publish_visits(tmp_path, make)
    finally:
        os.umask(old)
    assert set(seen.values()) == {0o600}
    assert all(name.startswith(".visits.csv.") and name.endswith(".partial") for name in seen)
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in FINISHED} == {0o644}


@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow", "sqlite"])
def test_formats(tmp_path, ending):
    """By the name's ending or by the parameter."""
    by_name = publish_visits(tmp_path, id="1", path=tmp_path / f"visits.{ending}")
    said = publish_visits(tmp_path, id="2", path=tmp_path / "visits.data", format=ending)
    assert by_name.path.read_bytes()[:4] == said.path.read_bytes()[:4]
    assert by_name.read()["site"] == said.read()["site"] == CELLS


def test_batches_are_written_as_they_come(tmp_path):
    """A table of any length needs memory for a batch."""
    drawn = []

    def make(child):
        mechanism = DiscreteLaplace(sensitivity=1, epsilon=PRICE)
        child.spend(mechanism, label="visits")
        for start in range(0, 100, 10):
            sizes = [(tmp_path / name).stat().st_size for name in files(tmp_path) if "json" not in name]
            drawn.append(sum(sizes))
            cells = np.arange(start, start + 10)
            yield {"cell": cells, "visits": mechanism.release(cells, budget=None)}

    snapshot = publish_visits(tmp_path, make)
    assert snapshot.read()["cell"].tolist() == list(range(100))
    assert snapshot.metadata["rows"] == 100
    assert len(drawn) == 10


def test_an_aggregate_is_published_as_it_is(tmp_path):
    sites = np.array(["a", "b"] * 50)

    def make(child):
        return aggregates.count(
            by=sites, keys=["a", "b", "never"], epsilon=PRICE, budget=child, rows_per_person=1, groups_per_person=1
        )

    snapshot = publish_visits(tmp_path, make)
    assert list(snapshot.read()) == ["key", "count", "std_error"]
    assert snapshot.read()["key"] == ["a", "b", "never"]
    (statistic,) = snapshot.metadata["statistics"]
    assert statistic["statistic"] == statistic["column"] == "count"
    assert statistic["noise"][0]["scale"] == {"decimal": "1000.0", "fraction": "1000"}
    low, high = snapshot.interval()["count"]
    assert (high - low == 2 * DiscreteLaplace(sensitivity=1, epsilon=PRICE).half_width()).all()


@pytest.mark.parametrize(
    ("cap", "price", "mechanism"),
    [
        ({"epsilon": 1, "delta": 1e-5, "method": "basic"}, {"epsilon": "0.5", "delta": 1e-6}, Gaussian),
        ({"epsilon": 1, "delta": 1e-5, "method": "zcdp"}, {"rho": "0.001"}, Gaussian),
        ({"epsilon": 1, "delta": 1e-5, "method": "zcdp"}, {"epsilon": "0.1"}, Laplace),
        ({"rho": 1}, {"rho": "0.1"}, Gaussian),
    ],
)
def test_every_currency(tmp_path, cap, price, mechanism):
    budget = Ledger(tmp_path / "other.db").create("b", neighbors="replace-one", unit="row", **cap)

    def make(child):
        assert (child.neighbors, child.unit) == ("replace-one", "row")
        return {"x": mechanism(sensitivity=1, **price).release(np.zeros(3), budget=child, label="x")}

    snapshot = publish(tmp_path / "x.csv", make, id="1", data_version="1", budget=budget, **price)
    memory = PrivacyBudget(neighbors="replace-one", unit="row", **cap)
    memory.spend(PrivacyCost(**price))
    assert budget.spent == memory.spent
    assert snapshot.metadata["composition"] == cap.get("method", "zcdp")
    snapshot.verify(budget.ledger)


def test_what_the_metadata_says(tmp_path, budget):
    snapshot = publish_visits(tmp_path)
    document = json.loads((tmp_path / "visits.csv.release.json").read_bytes())
    assert document == snapshot.metadata
    entry = budget.ledger.reservation("day 1")
    assert document | {"created": "", "versions": "", "sha256": "", "statistics": ""} == {
        "format": "exactnoise-release/1",
        "id": "day 1",
        "data_version": "1",
        "query": {"table": "visits"},
        "created": "",
        "columns": ["site", "visits"],
        "rows": 3,
        "statistics": "",
        "epsilon": PRICE,
        "delta": "0",
        "rho": None,
        "composition": "basic",
        "neighbors": "add-remove",
        "unit": "person",
        "ledger": {"id": budget.ledger.id, "budget": "visits", "entry": entry.entry, "digest": entry.seal},
        "versions": "",
        "sha256": "",
    }
    (statistic,) = document["statistics"]
    assert statistic["column"] == "visits"
    assert statistic["noise"] == [
        {
            "mechanism": "DiscreteLaplace",
            "mechanism_repr": f"DiscreteLaplace(sensitivity=1, epsilon='{PRICE}')",
            "scale": {"decimal": "1000.0", "fraction": "1000"},
            "granularity": {"decimal": "1.0", "fraction": "1"},
            "sensitivity": "1",
        }
    ]
    assert set(document["versions"]) == {"exactnoise", "numpy", "python", "instruction_set"}


# The same again


def test_the_same_again_draws_nothing(tmp_path, budget):
    first = publish_visits(tmp_path)
    content = first.path.read_bytes()
    again = publish_visits(tmp_path, never)
    assert again.metadata == first.metadata
    assert again.path.read_bytes() == content
    assert budget.spent == costs(1)
    assert len(budget.ledger.history()) == 4


def test_the_same_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    publish_visits(tmp_path, path="visits.csv")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    assert publish_visits(tmp_path, never, path="../visits.csv").id == "day 1"


@pytest.mark.parametrize(
    "other",
    [
        {"data_version": "2"},
        {"query": {"table": "sales"}},
        {"query": None},
        {"epsilon": "0.002"},
        {"epsilon": PRICE, "rho": "0.1"},
    ],
    ids=str,
)
def test_an_id_stands_for_one_query(tmp_path, budget, other):
    publish_visits(tmp_path)
    with pytest.raises((IdConflict, TypeError)):
        publish_visits(tmp_path, never, **other)
    assert budget.spent == costs(1)


def test_another_name_for_what_is_published(tmp_path):
    publish_visits(tmp_path)
    with pytest.raises(IdConflict, match=r"was published as .*visits\.csv"):
        publish_visits(tmp_path, never, path=tmp_path / "again.csv")
    assert files(tmp_path) == FINISHED


def test_a_published_folder_can_be_moved(tmp_path):
    (tmp_path / "old").mkdir()
    first = publish_visits(tmp_path, path=tmp_path / "old" / "visits.csv")
    (tmp_path / "old").rename(tmp_path / "new")
    moved = publish_visits(tmp_path, never, path=tmp_path / "new" / "visits.csv")
    assert moved.metadata == first.metadata


@pytest.mark.parametrize("name", FINISHED)
def test_a_lost_file_is_not_drawn_again(tmp_path, budget, name):
    publish_visits(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(SnapshotLost, match="not drawn again"):
        publish_visits(tmp_path, never)
    assert budget.spent == costs(1)


@pytest.mark.parametrize("name", FINISHED)
def test_a_changed_file_is_not_drawn_again(tmp_path, budget, name):
    publish_visits(tmp_path)
    with (tmp_path / name).open("ab") as file:
        file.write(b" ")
    with pytest.raises(SnapshotDamaged, match="not what was released"):
        publish_visits(tmp_path, never)
    assert budget.spent == costs(1)


# Refusals


def test_a_refusal_reads_nothing(tmp_path, budget):
    for day in range(3):
        publish_visits(tmp_path, id=f"day {day}", path=tmp_path / f"{day}.csv")
    before = files(tmp_path)
    with pytest.raises(BudgetExceeded, match="nothing more fits"):
        publish_visits(tmp_path, never, id="day 3", path=tmp_path / "3.csv")
    assert files(tmp_path) == before
    assert state(budget, "day 3") is None


@pytest.mark.parametrize(
    ("error", "wrong"),
    [
        (TypeError, {"budget": PrivacyBudget(epsilon=1, neighbors="add-remove", unit="person")}),
        (TypeError, {"epsilon": None}),
        (ValueError, {"epsilon": 0}),
        (ValueError, {"epsilon": "nan"}),
        (TypeError, {"epsilon": None, "rho": "0.1"}),
        (TypeError, {"delta": 1e-6}),
        (TypeError, {"id": 1}),
        (ValueError, {"id": ""}),
        (ValueError, {"id": "\ud800"}),
        (TypeError, {"data_version": None}),
        (ValueError, {"data_version": " "}),
        (TypeError, {"query": object()}),
        (TypeError, {"query": float("nan")}),
    ],
    ids=str,
)
def test_wrong_parameters(tmp_path, budget, error, wrong):
    with pytest.raises(error):
        publish_visits(tmp_path, never, **wrong)
    assert budget.ledger.history("visits")[1:] == ()
    assert files(tmp_path) == []


def test_a_file_in_the_way(tmp_path, budget):
    (tmp_path / "visits.csv").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match="move it away"):
        publish_visits(tmp_path, never)
    assert (tmp_path / "visits.csv").read_bytes() == b"mine"
    assert budget.spent == costs(0)
    assert state(budget) == "voided"
    (tmp_path / "visits.csv").unlink()
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


def test_a_file_that_appears_meanwhile(tmp_path, budget):
    def make(child):
        (tmp_path / "visits.csv").write_bytes(b"mine")
        return noisy(child)

    with pytest.raises(FileExistsError):
        publish_visits(tmp_path, make)
    assert (tmp_path / "visits.csv").read_bytes() == b"mine"
    assert files(tmp_path) == ["visits.csv"]
    (tmp_path / "visits.csv").unlink()
    publish_visits(tmp_path)
    assert budget.spent == costs(1)


def test_no_folder(tmp_path, budget):
    with pytest.raises(FileNotFoundError) as error:
        publish_visits(tmp_path, never, path=tmp_path / "nowhere" / "visits.csv")
    assert error.value.filename == str(tmp_path / "nowhere" / "visits.csv")
    assert budget.spent == costs(0)


# Failures


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
