"""Snapshots: read, checked, and put into a database once."""

from __future__ import annotations

import json
import sqlite3
from functools import partial

import numpy as np
import pytest
from children import at_once, in_child
from publishing import CELLS, COUNTS, PRICE, budget_of, noisy, publish_visits

from exactnoise import DiscreteLaplace, Laplace, aggregates
from exactnoise.cli import main
from exactnoise.errors import SnapshotDamaged
from exactnoise.ledger import Ledger
from exactnoise.publish import Snapshot
from exactnoise.publish.metadata import mechanism_of


@pytest.fixture
def snapshot(tmp_path):
    return publish_visits(tmp_path)


def rows(db, table="visits"):
    connection = sqlite3.connect(db)
    found = connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
    connection.close()
    return found


def test_opening(snapshot):
    again = Snapshot.open(str(snapshot.path))
    assert again.metadata == snapshot.metadata
    assert again.id == "day 1"
    assert repr(again) == f"<Snapshot 'day 1': {snapshot.path}>"


def test_what_is_no_snapshot(snapshot, tmp_path):
    with pytest.raises(FileNotFoundError):
        Snapshot.open(tmp_path / "other.csv")
    with pytest.raises(SnapshotDamaged, match="is no file"):
        Snapshot.open(tmp_path)
    (tmp_path / "other.csv").write_bytes(b"x\n1\n")
    with pytest.raises(SnapshotDamaged, match=r"has no other\.csv\.release\.json beside it"):
        Snapshot.open(tmp_path / "other.csv")
    for content in (
        b"",
        b"[" * 10**5,
        b"[1]",
        b"{}",
        b"\xff",
        b'{"format": "exactnoise-release/1"}',
        b'{"format": "x", "id": "1"}',
    ):
        (tmp_path / "other.csv.release.json").write_bytes(content)
        with pytest.raises(SnapshotDamaged, match="not the metadata of a release"):
            Snapshot.open(tmp_path / "other.csv")


def test_a_tampered_table(snapshot, tmp_path):
    snapshot.path.write_bytes(snapshot.path.read_bytes().replace(b"a,", b"a,1"))
    for use in (snapshot.verify, snapshot.read, snapshot.interval, lambda: snapshot.to_sqlite(tmp_path / "x.db", "t")):
        with pytest.raises(SnapshotDamaged, match="sha256 is not the one in its metadata"):
            use()
    assert not (tmp_path / "x.db").exists()


def test_a_table_and_metadata_tampered_together(snapshot, tmp_path):
    """Only the ledger can tell."""
    ledger = Ledger(tmp_path / "privacy.db")
    snapshot.verify(ledger)
    other = publish_visits(tmp_path, id="day 2", path=tmp_path / "other.csv")
    snapshot.path.write_bytes(other.path.read_bytes())
    record = tmp_path / "visits.csv.release.json"
    forged = {**snapshot.metadata, "sha256": other.metadata["sha256"]}
    record.write_text(json.dumps(forged))
    Snapshot.open(snapshot.path).verify()
    with pytest.raises(SnapshotDamaged, match="its table is not what was committed"):
        Snapshot.open(snapshot.path).verify(ledger)


def test_tampered_metadata(snapshot, tmp_path):
    record = tmp_path / "visits.csv.release.json"
    record.write_text(json.dumps({**snapshot.metadata, "epsilon": "0.00001"}))
    with pytest.raises(SnapshotDamaged, match="its metadata is not what was committed"):
        Snapshot.open(snapshot.path).verify(Ledger(tmp_path / "privacy.db"))


def test_the_name_of_a_ledger_is_none(snapshot):
    with pytest.raises(TypeError, match=r"^ledger must be a Ledger, .*, got str$"):
        snapshot.verify("privacy.db")


def test_a_release_of_another_ledger(snapshot, tmp_path):
    other = Ledger(tmp_path / "other.db")
    with pytest.raises(SnapshotDamaged, match="nothing was committed under the id 'day 1'"):
        snapshot.verify(other)


# Intervals


def test_intervals_of_named_columns(snapshot):
    mechanism = DiscreteLaplace(sensitivity=1, epsilon=PRICE)
    visits = snapshot.read()["visits"]
    for alpha in (0.05, 0.5):
        (low, high) = snapshot.interval(alpha)["visits"]
        expected = mechanism.interval(visits, alpha)
        assert np.array_equal(low, expected[0])
        assert np.array_equal(high, expected[1])
    assert list(snapshot.interval()) == ["visits"]
    with pytest.raises(ValueError, match="alpha"):
        snapshot.interval(0)


def test_intervals_of_a_public_mean_are_scaled(tmp_path):
    """One mechanism, divided by a public size: its standard error says by how much."""
    budget = Ledger(tmp_path / "n.db").create("b", epsilon=1, neighbors="replace-one", unit="row")
    x = np.linspace(0, 1, 1000)

    def make(child):
        return aggregates.mean(x, bounds=(0, 1), epsilon=1, budget=child)

    snapshot = publish_visits(tmp_path, make, budget=budget, epsilon=1)
    (low, high) = snapshot.interval()["mean"]
    direct = Laplace(sensitivity=1, epsilon=1).half_width() / 1000
    assert high[0] - low[0] == pytest.approx(2 * direct, rel=0.05)


def test_intervals_of_a_mean_hold(tmp_path):
    budget = budget_of(tmp_path, epsilon=100)
    x, sites = np.linspace(0, 60, 2000), np.array(["a", "b"] * 1000)

    def make(child):
        return aggregates.mean(
            x,
            bounds=(0, 60),
            by=sites,
            keys=CELLS[:2],
            epsilon=1,
            budget=child,
            rows_per_person=1,
            groups_per_person=1,
        )

    snapshot = publish_visits(tmp_path, make, budget=budget, epsilon=1)
    low, high = snapshot.interval(1e-4)["mean"]
    assert ((low < 30) & (high > 30)).all()
    width = high - low
    assert np.allclose(width, 2 * snapshot.read()["std_error"] / 1e-2)


@pytest.mark.parametrize("neighbors", ["replace-one", "add-remove"], ids=["public size", "noisy size"])
@pytest.mark.parametrize(
    ("statistic", "exact", "possible"),
    [
        (partial(aggregates.mean, bounds=(0, 60)), 40, (0, 60)),
        (partial(aggregates.variance, bounds=(0, 60)), 800, (0, 900)),
        (partial(aggregates.variance, bounds=(0, 60), ddof=1), 1200, (0, 1800)),
    ],
    ids=["mean", "variance", "variance of a sample"],
)
def test_intervals_stay_within_the_bounds_and_hold_there(tmp_path, statistic, exact, possible, neighbors):
    """Where noise is larger than the bounds allow, even a narrow interval is all that is possible."""
    budget = Ledger(tmp_path / "n.db").create("b", epsilon=1, neighbors=neighbors, unit="row")

    def make(child):
        return statistic([0, 60, 60], epsilon="0.00001", budget=child)

    snapshot = publish_visits(tmp_path, make, budget=budget, epsilon="0.00001")
    name = statistic.func.__name__
    for alpha in (1e-6, 0.05):
        (low, high) = snapshot.interval(alpha)[name]
        assert possible[0] <= low[0] <= high[0] <= possible[1]
    assert snapshot.read()["std_error"][0] <= possible[1]
    if neighbors == "replace-one":  # else the noisy size may by chance be large
        low, high = snapshot.interval(0.99)[name]
        assert (low[0], high[0]) == possible
        assert low[0] <= exact <= high[0]


def test_a_column_of_unknown_error_has_no_interval(tmp_path):
    def make(child):
        table = noisy(child)
        return {"site": table["site"], "unlabelled": table["visits"]}

    assert publish_visits(tmp_path, make).interval() == {}


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "1 +",
        "print(1)",
        "Laplace()",
        "Laplace(1, 2)",
        "exactnoise.Laplace(sensitivity=1, epsilon=1)",
        "Laplace(sensitivity=print(1), epsilon=1)",
        "Mechanism()",
        "__import__(name='os')",
        "Laplace(sensitivity=-1, epsilon=1)",
        "Laplace(**{'sensitivity': 1})",
    ],
)
def test_metadata_names_a_mechanism_and_runs_nothing(text, capsys):
    assert mechanism_of(text) is None
    assert capsys.readouterr().out == ""
    assert mechanism_of("Laplace(sensitivity=1, epsilon='0.5')") == Laplace(sensitivity=1, epsilon="0.5")


def test_the_command_lines_releases_are_snapshots_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.csv").write_text("site,visits\na,10\nb,20\n")
    options = ["--column", "visits", "--sensitivity", "1", "--epsilon", "1"]
    assert main(["noise", "in.csv", "-o", "out.csv", *options]) == 0
    snapshot = Snapshot.open("out.csv")
    snapshot.verify()
    assert list(snapshot.interval()) == ["visits"]


# SQLite


def test_rows_are_put_into_a_database_once(snapshot, tmp_path):
    db = tmp_path / "public.db"
    for _ in range(3):
        snapshot.to_sqlite(db, "visits")
    columns = snapshot.read()
    assert rows(db) == [("day 1", *row) for row in zip(columns["site"], columns["visits"].tolist(), strict=True)]
    publish_visits(tmp_path, id="day 2", path=tmp_path / "2.csv").to_sqlite(db, "visits")
    assert [row[0] for row in rows(db)] == ["day 1"] * 3 + ["day 2"] * 3


def test_processes_that_put_rows_at_once(snapshot, tmp_path):
    db = tmp_path / "public.db"
    for outcome in at_once([lambda: snapshot.to_sqlite(db, "visits")] * 4):
        outcome.result()
    assert len(rows(db)) == 3


def test_killed_while_rows_are_put(snapshot, tmp_path):
    """All or none."""
    db = tmp_path / "public.db"

    def dying():
        from children import die

        import exactnoise.publish.snapshot as module

        count = iter(range(100))
        real = module._storable
        module._storable = lambda value: real(value) if next(count) < 4 else die()
        snapshot.to_sqlite(db, "visits")

    assert in_child(dying).killed
    snapshot.to_sqlite(db, "visits")
    assert len(rows(db)) == 3


def test_a_table_that_is_another(snapshot, tmp_path):
    db = tmp_path / "public.db"
    connection = sqlite3.connect(db)
    connection.execute("CREATE TABLE visits (site, visits)")
    connection.close()
    with pytest.raises(ValueError, match="has other columns"):
        snapshot.to_sqlite(db, "visits")
    assert rows(db) == []
    snapshot.to_sqlite(db, 'the "visits"; DROP TABLE visits')
    assert rows(db, '"the ""visits""; DROP TABLE visits"')


@pytest.mark.parametrize(("error", "table"), [(ValueError, ""), (ValueError, " "), (TypeError, None)])
def test_a_table_without_a_name(snapshot, tmp_path, error, table):
    with pytest.raises(error, match=r"^table must "):
        snapshot.to_sqlite(tmp_path / "public.db", table)
    assert not (tmp_path / "public.db").exists()


def test_a_file_that_is_no_database(snapshot, tmp_path):
    (tmp_path / "x.db").write_bytes(b"no database at all, but longer than a hundred bytes" * 9)
    with pytest.raises(OSError, match=r"x\.db cannot be written to: SQLite reports file is not a database"):
        snapshot.to_sqlite(tmp_path / "x.db", "visits")
    with pytest.raises(OSError, match="unable to open"):
        snapshot.to_sqlite(tmp_path / "nowhere" / "x.db", "visits")


def test_a_file_that_a_table_more_would_damage(snapshot, tmp_path):
    """A ledger is not read any more with a table that is not its own; a released table is never changed."""
    ledger = Ledger(tmp_path / "privacy.db")
    with pytest.raises(FileExistsError, match=r"is a ledger, which a table more would damage.*privacy\.db"):
        snapshot.to_sqlite(ledger.path, "visits")
    ledger.verify()
    other = publish_visits(tmp_path, id="day 2", path=tmp_path / "other.db")
    link = tmp_path / "link.db"
    link.symlink_to(other.path)
    for db in (other.path, link, snapshot.path):
        with pytest.raises(FileExistsError, match="is a released table, which never changes"):
            snapshot.to_sqlite(db, "t")
    other.verify(ledger)


def test_a_label_that_utf8_cannot_hold(tmp_path):
    """What is paid for is published."""

    def make(child):
        visits = DiscreteLaplace(sensitivity=1, epsilon=PRICE).release(COUNTS, budget=child, label="\ud800")
        return {"visits": visits}

    snapshot = publish_visits(tmp_path, make)
    snapshot.verify(Ledger(tmp_path / "privacy.db"))
    assert snapshot.metadata["statistics"][0]["label"] == "\ud800"


def test_a_column_of_the_ids_name(tmp_path):
    def make(child):
        return {"release_id": ["x", "y", "z"], "visits": noisy(child)["visits"]}

    with pytest.raises(ValueError, match="has a column 'release_id'"):
        publish_visits(tmp_path, make).to_sqlite(tmp_path / "x.db", "t")
