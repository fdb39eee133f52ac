"""publish: charged once, published once."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from publishing import CELLS, FINISHED, PRICE, budget_of, costs, files, never, noisy, publish_visits, state

from exactnoise import DiscreteLaplace, Gaussian, Laplace, PrivacyBudget, aggregates
from exactnoise.accounting import PrivacyCost
from exactnoise.errors import BudgetExceeded, IdConflict, SnapshotDamaged, SnapshotLost
from exactnoise.ledger import Ledger
from exactnoise.publish import Snapshot, publish


@pytest.fixture
def budget(tmp_path):
    return budget_of(tmp_path)


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


def test_a_name_of_another_format_costs_nothing(tmp_path, budget):
    with pytest.raises(ValueError, match=r"visits\.json: \.json is a format that is not written"):
        publish_visits(tmp_path, never, path=tmp_path / "visits.json")
    assert not budget.spent.epsilon
    assert not [entry for entry in budget.ledger.history() if entry.kind == "reserved"]


def test_a_published_folder_can_be_moved(tmp_path):
    (tmp_path / "old").mkdir()
    first = publish_visits(tmp_path, path=tmp_path / "old" / "visits.csv")
    (tmp_path / "old").rename(tmp_path / "new")
    moved = publish_visits(tmp_path, never, path=tmp_path / "new" / "visits.csv")
    assert moved.metadata == first.metadata
    (tmp_path / "new" / FINISHED[1]).write_text(json.dumps({**first.metadata, "epsilon": "0.0001"}))
    with pytest.raises(SnapshotDamaged, match="not what was committed"):
        publish_visits(tmp_path, never, path=tmp_path / "new" / "visits.csv")


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
    with pytest.raises(SnapshotDamaged, match=r"not what was released.*; restore it from a copy"):
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
        (TypeError, {"make": {"visits": [1]}}),
        (ValueError, {"format": "xlsx"}),
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
        (TypeError, {"query": "\ud800"}),
    ],
    ids=str,
)
def test_wrong_parameters(tmp_path, budget, error, wrong):
    with pytest.raises(error):
        publish_visits(tmp_path, **({"make": never} | wrong))
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
