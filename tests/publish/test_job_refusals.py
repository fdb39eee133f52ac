"""What a job refuses: before anything is paid, and in words that quote no data."""

import datetime
import os
import sqlite3
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jobs import ledger, loaded

from exactnoise.accounting import PrivacyCost
from exactnoise.errors import BudgetExceeded, IdConflict, JobError, SchemaError


def refused_unpaid(tmp_path, error, words, *replaced, visits=None, path="out.csv"):
    budget = ledger(tmp_path).budget("visits")
    with pytest.raises(error, match=words) as refusal:
        loaded(tmp_path, *replaced, visits=visits).run(tmp_path / path)
    assert not budget.spent.epsilon
    assert not (tmp_path / path).exists()
    assert not [entry for entry in budget.ledger.history() if entry.kind == "reserved"]
    return str(refusal.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"place": ["a"], "minutes": [1.0]}, "column 'site' is not in the schema"),
        ({"site": [1], "minutes": [1.0]}, "column 'site' must be a column of texts, as its keys are; got integers"),
        ({"site": ["a"], "minutes": ["1"]}, "column 'minutes' must be numbers; got a column of type string"),
        ({"site": [b"a"], "minutes": [1.0]}, "column 'site' must be"),
        ({"site": [["a"]], "minutes": [1.0]}, "column 'site' must be"),
        (
            {"site": ["a"], "minutes": [Decimal("73195264.5")]},
            r"got a column of type decimal128\(9, 1\): convert decimals to floats \(double\), or to whole numbers",
        ),
        (
            {"site": pa.array([0], pa.timestamp("us", "UTC")), "minutes": [1.0]},
            r"dates or times without a zone; got a column of type timestamp\[us, tz=UTC\]$",
        ),
        ({"site": ["a"], "minutes": [datetime.date(2024, 1, 1)]}, "column 'minutes' must be numbers"),
    ],
)
def test_a_wrong_schema_costs_nothing(tmp_path, table, words):
    pq.write_table(pa.table(table), tmp_path / "visits.parquet")
    refused_unpaid(tmp_path, SchemaError, words, ("visits.csv", "visits.parquet"))


def test_wrong_columns_of_a_csv_cost_nothing(tmp_path):
    for visits, words in [("place,minutes\n", "'site' is not in the header"), ("", "first line is empty")]:
        (tmp_path / "visits.csv").write_text(visits)
        refused_unpaid(tmp_path, SchemaError, words)
    (tmp_path / "visits.csv").unlink()
    refused_unpaid(tmp_path, FileNotFoundError, "visits.csv")
    os.mkfifo(tmp_path / "visits.csv")
    refused_unpaid(tmp_path, JobError, "line 4: input.path: .* must be a file")


def test_columns_of_people_are_checked(tmp_path):
    pq.write_table(pa.table({"site": ["a"], "minutes": [1.0], "user": [1.5]}), tmp_path / "visits.parquet")
    person = ('"visits.csv"', '"visits.parquet"\nperson = "user"')
    refused_unpaid(tmp_path, SchemaError, "column 'user' must be", person)


@pytest.mark.parametrize(
    ("replaced", "words"),
    [
        (
            [("rows_per_person = 2\n", "")],
            r"line 9: limits: rows_per_person is missing: the budget protects each person",
        ),
        ([("groups_per_person = 1\n", "")], "line 9: limits: groups_per_person is missing"),
        ([("epsilon = 1", "epsilon = 1\ndelta = 1e-6")], "line 5: privacy: .*has a delta"),
        ([("epsilon = 1", "rho = 1")], "line 5: privacy"),
        (
            [('budget = "visits"', 'budget = "vists"')],
            "line 8: privacy.budget: .*it has 'visits': check .*ledger create",
        ),
        ([('"privacy.db"', '"other.db"')], "line 7: privacy.ledger: there is no .*exactnoise ledger create"),
        (
            [('budget = "visits"', 'budget = "visits"\nunit = "row"')],
            "line 9: privacy.unit: the budget 'visits' has 'person'",
        ),
        ([("weight = 3", 'mechanism = "gaussian"')], "line 17: .*gaussian.* has no pure epsilon"),
    ],
)
def test_what_does_not_fit_the_budget_costs_nothing(tmp_path, replaced, words):
    (tmp_path / "visits.csv").write_text("site,minutes\n")
    refused_unpaid(tmp_path, JobError, words, *replaced)


def test_limits_belong_to_people(tmp_path):
    ledger(tmp_path, unit="row")
    with pytest.raises(JobError, match="line 9: limits: the budget protects single rows"):
        loaded(tmp_path).run(tmp_path / "out.csv")


def test_too_little_budget(tmp_path):
    budget = ledger(tmp_path, epsilon=1.5).budget("visits")
    loaded(tmp_path).run(tmp_path / "out.csv")
    with pytest.raises(BudgetExceeded, match=r"0\.5 remaining"):
        loaded(tmp_path, ("visits-{date}", "again")).run(tmp_path / "again.csv")
    assert budget.spent == PrivacyCost(epsilon=1)
    # What is paid for already is not refused.
    loaded(tmp_path).run(tmp_path / "out.csv")


@pytest.mark.parametrize(
    "replaced",
    [
        ("bounds = [0, 60]", "bounds = [0, 61]"),
        ("epsilon = 1", "epsilon = 2"),
        ('["c", "a", "b"]', '["a", "c", "b"]'),
        ('data_version = "{date}"', 'data_version = "2"'),
        ("weight = 3", "weight = 4"),
        ("rows_per_person = 2", "rows_per_person = 3"),
    ],
)
def test_an_id_stands_for_one_job(tmp_path, replaced):
    budget = ledger(tmp_path).budget("visits")
    loaded(tmp_path).run(tmp_path / "out.csv")
    with pytest.raises(IdConflict):
        loaded(tmp_path, replaced).run(tmp_path / "out.csv")
    assert budget.spent == PrivacyCost(epsilon=1)


SECRET = "SECRET-4711"


def test_what_sqlite_says_of_a_value_is_not_passed_on(tmp_path):
    """A view may compute, and the errors of its functions quote what they were given."""
    with sqlite3.connect(tmp_path / "visits.db") as connection:
        connection.execute("CREATE TABLE t (site TEXT, p TEXT)")
        connection.execute("INSERT INTO t VALUES ('a', ?)", (SECRET,))
        connection.execute("CREATE VIEW v AS SELECT site, json_extract('{}', p) AS minutes FROM t")
    connection.close()
    ledger(tmp_path)
    job = loaded(tmp_path, ('"visits.csv"', '"visits.db"\ntable = "v"'), visits=None)
    with pytest.raises(SchemaError, match=r"table 'v'\) cannot be read .*SQLITE_ERROR") as refusal:
        job.run(tmp_path / "out.csv")
    assert SECRET not in repr(refusal.getrepr(style="native")).replace(str(tmp_path), "")
    assert refusal.value.__cause__ is None
    assert refusal.value.__suppress_context__


@pytest.mark.parametrize(
    ("output", "replaced"),
    [
        ("out.db", [('name = "n"', 'name = "Site"')]),
        ("out.db", [('name = "n"', 'name = "MEAN_minutes"')]),
        ("out.db", [('name = "n"', 'name = "a\\u0000b"')]),
    ],
)
def test_names_and_keys_that_the_output_cannot_hold_cost_nothing(tmp_path, output, replaced):
    (tmp_path / "visits.csv").write_text("site,minutes\n")
    named = ('kind = "count"', 'kind = "count"\nname = "n"')
    refused_unpaid(
        tmp_path, SchemaError, "sqlite cannot hold these columns|cannot be written", named, *replaced, path=output
    )
