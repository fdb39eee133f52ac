"""``exactnoise noise``, paid for from a ledger."""

import datetime
import decimal
import json
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from exactnoise.publish.files import open_writer, read_columns

ENDINGS = ["csv", "db", "parquet", "arrow"]
EXACT = ["--column=visits", "--sensitivity=1", "--epsilon=1000"]


def put(path):
    writer = open_writer(Path(path))
    visits = np.array([12, -3, 2**40])
    writer.write({"site": ["Harbour", "Ferry, old", "\u00fcnicode"], "visits": visits, "x": np.array([0.5, 1.5, 2.5])})
    writer.close()
    return path


LEDGER = ["--ledger=privacy.db", "--budget=visits"]


@pytest.fixture
def paid(run, folder):
    create = ["--budget=visits", "--epsilon=1000.5", "--neighbors=add-remove", "--unit=person"]
    assert run("ledger", "create", "privacy.db", *create).code == 0
    return run


def spent(run):
    return run("ledger", "show", "privacy.db", "--json").json["budgets"][0]["spent"]["epsilon"]


@pytest.mark.parametrize("given", ENDINGS)
def test_a_ledger_pays_once(paid, given):
    put(f"in.{given}")
    options = [*EXACT, *LEDGER, "--id=2024-03-01", "-o", "out.parquet"]
    outcome = paid("noise", f"in.{given}", *options, "--json")
    assert outcome.code == 0
    document = json.loads(Path("out.parquet.release.json").read_text())
    assert outcome.json == document
    assert (document["neighbors"], document["unit"], document["rows"]) == ("add-remove", "person", 3)
    assert document["statistics"][0]["noise"][0]["mechanism"] == "DiscreteLaplace"
    assert document["data_version"] == "2024-03-01"
    before = Path("out.parquet").read_bytes()
    assert paid("noise", f"in.{given}", *options).code == 0
    assert Path("out.parquet").read_bytes() == before
    assert spent(paid) == "1000"
    assert paid("verify", "out.parquet", *LEDGER[:1]).code == 0
    refused = paid("noise", f"in.{given}", *EXACT, *LEDGER, "--id=again", "-o", "again.csv")
    assert (refused.code, "again.csv" in refused.files) == (3, False)
    other = paid("noise", f"in.{given}", *EXACT[:-1], "--epsilon=1", *LEDGER, "--id=2024-03-01", "-o", "out.parquet")
    assert other.code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--ledger=privacy.db"], "--budget"),
        (LEDGER, "--id"),
        (["--budget=visits"], "--ledger"),
        (["--data-version=1"], "--ledger"),
        ([*LEDGER, "--id=x", "--force"], "--force"),
        ([*LEDGER, "--id=x", "--unit=row"], "--unit: the budget 'visits' has 'person'"),
        (
            [*LEDGER[:1], "--budget=b", "--id=x"],
            "the ledger privacy.db has no budget 'b'; it has 'visits': check path and name, or make it by exactnoise "
            "ledger create privacy.db --budget b --epsilon E --neighbors NEIGHBORS --unit UNIT (",
        ),
        (
            ["--ledger=none.db", "--budget=b", "--id=x", "--unit=row"],
            "there is no ledger none.db: check the path, or make it by exactnoise ledger create none.db --budget b "
            "--epsilon E --neighbors NEIGHBORS --unit row (what is in capitals is yours to say",
        ),
    ],
)
def test_options_of_a_ledger(paid, options, words):
    put("in.csv")
    outcome = paid("noise", "in.csv", "-o", "out.csv", *EXACT, *options)
    assert (outcome.code, words in outcome.err, "out.csv" in outcome.files) == (2, True, False)
    assert spent(paid) == "0"


def test_prices_that_the_budget_has_no_currency_for(paid):
    put("in.csv")
    gaussian = ["--mechanism=gaussian", "--delta=1e-6", "--column=x", "--sensitivity=1", "--epsilon=1"]
    outcome = paid("noise", "in.csv", "-o", "out.csv", *gaussian, *LEDGER, "--id=x")
    assert (outcome.code, "delta" in outcome.err) == (2, True)
    assert spent(paid) == "0"


def test_a_bad_cell_costs_nothing(paid):
    Path("in.csv").write_text("site,visits\na,1\nb,73195264x\n")
    outcome = paid("noise", "in.csv", "-o", "out.csv", *EXACT, *LEDGER, "--id=x")
    assert (outcome.code, "line 3" in outcome.err) == (4, True)
    assert "73195264" not in outcome.err
    assert spent(paid) == "0"


@pytest.mark.parametrize(
    ("output", "code", "told"),
    [
        ("nowhere/out.csv", 5, "nowhere: there is no such folder; nothing was spent\n"),
        ("out.ods", 2, "out.ods: .ods is a format that is not written; take .csv, .parquet, .arrow or .db\n"),
    ],
)
@pytest.mark.parametrize("given", ["csv", "parquet"])
def test_an_output_that_cannot_be_costs_nothing(paid, given, output, code, told):
    put(f"in.{given}")
    outcome = paid("noise", f"in.{given}", *EXACT, *LEDGER, "--id=x", "-o", output)
    assert (outcome.code, outcome.out, outcome.err) == (code, "", f"exactnoise: {told}")
    assert outcome.files == [f"in.{given}", "privacy.db"]
    assert paid("ledger", "show", "privacy.db", "--json").json["budgets"][0]["history"] == []


def test_gaussian_noise_is_paid_in_rho(run, folder):
    put("in.csv")
    create = ["--rho=1", "--budget=visits", "--neighbors=add-remove", "--unit=person"]
    assert run("ledger", "create", "privacy.db", *create).code == 0
    options = ["-o", "out.csv", "--column=visits", "--sensitivity=1", *LEDGER, "--id=x"]
    wrong = run("noise", "in.csv", *options, "--mechanism=discrete-gaussian", "--epsilon=1", "--delta=1e-6")
    assert (wrong.code, "the budget counts in rho: say --rho" in wrong.err) == (2, True)
    outcome = run("noise", "in.csv", *options, "--mechanism=discrete-gaussian", "--rho=1/2", "--json")
    assert (outcome.code, outcome.json["rho"]) == (0, "0.5")
    assert run("ledger", "show", "privacy.db", "--json").json["budgets"][0]["spent"] == {"rho": "0.5"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rho=1"], "--rho: discrete-laplace has no rho"),
        (["--mechanism=gaussian", "--rho=1", "--epsilon=1"], "--epsilon: say the privacy loss, or --rho"),
        (["--mechanism=gaussian", "--rho=1", "--delta=1e-6"], "--delta: it belongs to --epsilon"),
        (["--mechanism=gaussian", "--rho=0"], "rho"),
        ([], "--epsilon: say the privacy loss"),
        (["--epsilon=1", "--id="], "must not be empty"),
        (["--epsilon=1", "--ledger=privacy.db"], "--ledger: needs --budget and --id as well"),
        (["--epsilon=1", "--ledger=privacy.db", "--id=x"], "--ledger: needs --budget as well"),
    ],
)
def test_prices_that_are_none(run, folder, options, words):
    put("in.csv")
    outcome = run("noise", "in.csv", "-o", "out.csv", "--column=visits", "--sensitivity=1", *options)
    assert (outcome.code, words in outcome.err, outcome.files) == (2, True, ["in.csv"])


def test_what_is_published_needs_its_input_no_more(paid):
    put("in.csv")
    command = ["noise", "in.csv", "-o", "out.csv", *EXACT, *LEDGER, "--id=x"]
    assert "before" not in paid(*command).out
    Path("in.csv").unlink()
    again = paid(*command)
    assert (again.code, "nothing was spent" in again.out) == (0, True)


def test_force_replaces_neither_a_ledger_nor_what_one_paid_for(paid):
    put("in.csv")
    before = Path("privacy.db").read_bytes()
    outcome = paid("noise", "in.csv", "-o", "privacy.db", *EXACT, "--force")
    assert (outcome.code, "is a ledger" in outcome.err) == (2, True)
    assert Path("privacy.db").read_bytes() == before
    assert paid("noise", "in.csv", "-o", "out.csv", *EXACT, *LEDGER, "--id=x").code == 0
    before = Path("out.csv").read_bytes()
    outcome = paid("noise", "in.csv", "-o", "out.csv", *EXACT, "--force")
    assert (outcome.code, "was paid for" in outcome.err) == (2, True)
    assert Path("out.csv").read_bytes() == before


@pytest.mark.parametrize("wanted", ENDINGS)
def test_other_columns_may_be_of_any_values(paid, wanted):
    """Of no one type in SQLite, and of types in Parquet that another format lacks."""
    with sqlite3.connect("in.db") as connection:
        connection.execute("CREATE TABLE t (visits INTEGER, other)")
        rows = [(1, None), (2, 5), (3, "x"), (4, b"\x01\xff"), (5, 2.5)]
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    assert paid("noise", "in.db", "-o", f"1.{wanted}", *EXACT[:2], "--epsilon=100", *LEDGER, "--id=1").code == 0
    values = {
        "visits": pa.array([1], pa.uint8()),
        "decimal": pa.array([decimal.Decimal("1.50")]),
        "time": pa.array([datetime.time(1, 2)]),
        "list": pa.array([[1, 2]]),
        "large": pa.array([2**64 - 1], pa.uint64()),
    }
    pq.write_table(pa.table(values), "in.parquet")
    assert paid("noise", "in.parquet", "-o", f"2.{wanted}", *EXACT[:2], "--epsilon=100", *LEDGER, "--id=2").code == 0
    columns = read_columns(Path(f"1.{wanted}"))
    assert columns["visits"].tolist() == [1, 2, 3, 4, 5]
    assert len(read_columns(Path(f"2.{wanted}"))["large"]) == 1
