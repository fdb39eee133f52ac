"""Jobs from end to end: counts are right, prices exact, and what is wrong is found before anything is paid."""

import datetime
import math
import sqlite3
import time
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jobs import ALMOST_EXACT, JOB, ledger, loaded, metadata

from exactnoise.accounting import PrivacyCost
from exactnoise.errors import JobError, SchemaError
from exactnoise.publish import Snapshot
from exactnoise.publish.files import open_table

EXACT = ("epsilon = 1", f"epsilon = {ALMOST_EXACT}")


def test_a_job_is_published_and_paid_for_once(tmp_path):
    budget = ledger(tmp_path).budget("visits")
    job = loaded(tmp_path, EXACT)
    told = []
    snapshot = job.run(tmp_path / "out.csv", tell=told.append)
    columns = snapshot.read()
    assert columns["site"] == ["c", "a", "b"]
    assert columns["count"].tolist() == [0, 2, 2]
    # 600 counts as 60, and what is missing as the lower bound; there is a little noise.
    assert columns["mean_minutes"][1:] == pytest.approx([15, 30], abs=0.1)
    assert list(columns) == ["site", "count", "count_std_error", "mean_minutes", "mean_minutes_std_error"]
    assert told == [len((tmp_path / "visits.csv").read_bytes())]
    assert budget.spent == PrivacyCost(epsilon=ALMOST_EXACT)

    before = snapshot.path.read_bytes()
    assert job.run(tmp_path / "out.csv").path.read_bytes() == before
    assert budget.spent == PrivacyCost(epsilon=ALMOST_EXACT)
    snapshot.verify(budget.ledger)


def test_what_is_published_needs_no_input_any_more(tmp_path):
    budget = ledger(tmp_path, epsilon=1).budget("visits")
    job = loaded(tmp_path)
    before = job.run(tmp_path / "out.csv").path.read_bytes()
    plan = job.plan()
    assert (plan.published, plan.refusal) == (True, None)
    assert "costs nothing again" in str(plan)
    (tmp_path / "visits.csv").unlink()
    assert job.run(tmp_path / "out.csv").path.read_bytes() == before
    assert budget.spent == PrivacyCost(epsilon=1)


def test_metadata_tell_all_that_is_public_and_nothing_else(tmp_path):
    ledger(tmp_path)
    visits = "site,minutes,user\n" + "a,48213977,u77310452\n" * 7
    job = loaded(tmp_path, visits=visits)
    job.run(tmp_path / "out.csv")
    document = metadata(tmp_path / "out.csv")
    assert document["id"] == "visits-2024-03-01"
    assert document["data_version"] == "2024-03-01"
    assert document["rows"] == 3
    assert document["query"]["keys"] == {"site": ["c", "a", "b"]}
    assert document["query"]["limits"] == {"rows_per_person": 2, "groups_per_person": 1}
    count, mean = document["statistics"]
    assert (count["column"], count["std_error"]) == ("count", "count_std_error")
    assert (mean["column"], mean["input"], mean["bounds"]) == ("mean_minutes", "minutes", ["0", "60"])
    assert (count["epsilon"], mean["epsilon"]) == ("0.25", "0.75")
    assert len(mean["noise"]) == 2
    text = (tmp_path / "out.csv.release.json").read_text() + "".join(map(str, job.query().items()))
    assert "48213977" not in text
    assert "77310452" not in text
    low, high = Snapshot.open(tmp_path / "out.csv").interval()["count"]
    assert (high - low).tolist() == [2 * ((high - low)[0] / 2)] * 3


def test_the_spends_add_up_to_the_price_exactly(tmp_path):
    ledger(tmp_path, epsilon=1, delta="1e-5", method="basic")
    weights = ("weight = 3", 'weight = "1/7"')
    job = loaded(tmp_path, ("epsilon = 1", 'epsilon = "1/3"\ndelta = "1e-6"'), weights)
    job.run(tmp_path / "out.csv")
    statistics = metadata(tmp_path / "out.csv")["statistics"]
    assert sum(Fraction(one["epsilon"]) for one in statistics) == Fraction(1, 3)
    document = metadata(tmp_path / "out.csv")
    assert (document["epsilon"], document["delta"]) == ("1/3", "1e-6")


@pytest.mark.parametrize(
    ("terms", "price"),
    [
        ({"rho": 1}, "rho = 0.5"),
        ({"epsilon": 1, "delta": "1e-6", "method": "zcdp"}, "rho = 0.001"),
        ({"rho": 1}, "epsilon = 0.5"),
        ({"epsilon": 1, "neighbors": "replace-one"}, "epsilon = 1"),
    ],
)
def test_budgets_of_every_currency(tmp_path, terms, price):
    budget = ledger(tmp_path, **{"epsilon": None, **terms}).budget("visits")
    loaded(tmp_path, ("epsilon = 1", price)).run(tmp_path / "out.csv")
    assert any((budget.spent.epsilon, budget.spent.rho))


def rows_of(n, seed):
    """Visits of some people, with gaps and strangers."""
    draw = np.random.default_rng(seed)
    sites = draw.choice(np.array(["a", "b", "c", "elsewhere"]), n)
    minutes = draw.normal(30, 20, n).round(2)
    missing = draw.random(n) < 0.1
    return sites, minutes, missing, draw.integers(0, 7, n), draw.random(n) < 0.5


def put(path, sites, minutes, missing, hours, long):
    minutes = [None if gap else value for value, gap in zip(minutes.tolist(), missing, strict=True)]
    if path.suffix == ".csv":
        lines = zip(sites, minutes, hours, long, strict=True)
        text = "".join(f"{s},{'' if m is None else m},{h},{'true' if x else 'false'}\n" for s, m, h, x in lines)
        path.write_text("site,minutes,hour,long\n" + text)
    elif path.suffix == ".db":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE visits (site TEXT, minutes REAL, hour INTEGER, long BOOLEAN)")
            rows = zip(sites.tolist(), minutes, hours.tolist(), long.tolist(), strict=True)
            connection.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
        connection.close()
    else:
        table = pa.table({"site": sites, "minutes": pa.array(minutes, pa.float64()), "hour": hours, "long": long})
        if path.suffix == ".parquet":
            pq.write_table(table.set_column(0, "site", table["site"].dictionary_encode()), path, row_group_size=300)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=300)


ALL_KINDS = """\
id = "all"
data_version = "1"
[input]
path = "visits.csv"
[privacy]
epsilon = 1
ledger = "privacy.db"
budget = "visits"
[keys]
site = ["b", "nobody", "a"]
hour = {from = 0, to = 6}
[[statistic]]
kind = "count"
by = ["site", "hour"]
[[statistic]]
kind = "count"
column = "long"
by = ["site", "hour"]
[[statistic]]
kind = "sum"
column = "minutes"
bounds = [0, 60]
nan = 30
by = ["site", "hour"]
[[statistic]]
kind = "mean"
column = "minutes"
bounds = [0, 60]
nan = "drop"
by = ["site", "hour"]
[[statistic]]
kind = "variance"
column = "minutes"
bounds = [0, 60]
nan = "drop"
by = ["site", "hour"]
[[statistic]]
kind = "quantile"
column = "minutes"
bounds = [0, 64]
granularity = 1
nan = "drop"
q = [0.25, 0.5]
by = ["site", "hour"]
[[statistic]]
kind = "histogram"
column = "minutes"
edges = [0, 12.5, 50]
by = ["site", "hour"]
[[statistic]]
kind = "histogram"
name = "place"
column = "site"
categories = ["a", "b"]
other = true
by = ["site", "hour"]
[[statistic]]
kind = "sum"
column = "hour"
bounds = [0, 6]
by = ["site", "hour"]
"""


def is_best(selected, values, q):
    """Whether no candidate scores much better; a value in the middle of two is rounded to either."""
    rounded, candidates = np.round(values), np.arange(65)[:, None]
    below, above = (rounded < candidates).sum(axis=1), (rounded > candidates).sum(axis=1)
    scores = -np.abs((1 - q) * below - q * above)
    return scores[int(selected)] >= scores.max() - 1.5


@pytest.mark.parametrize("name", ["visits.csv", "visits.db", "visits.parquet", "visits.arrow"])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet"])
def test_every_statistic_of_every_format_against_numpy(tmp_path, name, output):
    data = rows_of(1500, 5)
    put(tmp_path / name, *data)
    ledger(tmp_path, unit="row", epsilon=1e9)
    replaced = [("visits.csv", name), ("epsilon = 1", "epsilon = 1e8")]
    snapshot = loaded(tmp_path, *replaced, text=ALL_KINDS, visits=None).run(tmp_path / output)
    columns = snapshot.read()
    sites, minutes, missing, hours, long = data
    row = 0
    for site in ("b", "nobody", "a"):
        for hour in range(7):
            mine = (sites == site) & (hours == hour)
            known = np.clip(minutes[mine & ~missing], 0, 60)
            assert (columns["site"][row], columns["hour"][row]) == (site, hour)
            assert columns["count"][row] == mine.sum()
            assert columns["count_long"][row] == (mine & long).sum()
            gaps = int((mine & missing).sum())
            assert columns["sum_minutes"][row] == pytest.approx(known.sum() + 30 * gaps, abs=1e-3)
            if known.size:
                assert columns["mean_minutes"][row] == pytest.approx(known.mean(), abs=1e-3)
                assert columns["variance_minutes"][row] == pytest.approx(known.var(), abs=1e-2)
                for q in (0.25, 0.5):
                    assert is_best(columns[f"quantile_minutes_{q}"][row], np.clip(minutes[mine & ~missing], 0, 64), q)
            raw = minutes[mine & ~missing]
            assert columns["histogram_minutes_0_12.5"][row] == ((raw >= 0) & (raw < 12.5)).sum()
            assert columns["histogram_minutes_12.5_50"][row] == ((raw >= 12.5) & (raw <= 50)).sum()
            assert columns["place_a"][row] == (mine.sum() if site == "a" else 0)
            assert columns["place_other"][row] == 0
            assert columns["sum_hour"][row] == hour * mine.sum()
            row += 1
    assert row == len(columns["count"])


@pytest.mark.parametrize("grouped", [False, True])
def test_a_histogram_with_a_bin_of_all_other_values(tmp_path, grouped):
    """A row a group, and a column for each bin and for the others."""
    ledger(tmp_path, unit="row")
    text = JOB[: JOB.index("[limits]")] + '[keys]\nsite = ["c", "a", "b"]\n' * grouped
    text += '[[statistic]]\nkind = "histogram"\ncolumn = "minutes"\nedges = [0, 15]\nother = true\n'
    text += 'by = ["site"]\n' * grouped
    columns = loaded(tmp_path, EXACT, text=text).run(tmp_path / "out.csv").read()
    inside, other = columns["histogram_minutes_0_15"].tolist(), columns["histogram_minutes_other"].tolist()
    assert (inside, other) == (([0, 1, 0], [0, 1, 2]) if grouped else ([2], [3]))


def test_dates_and_times_as_keys(tmp_path):
    ledger(tmp_path)
    visits = "site,minutes\n2024-01-02,1\n2024-01-02,2\n2024-01-03,3\nnot a day,4\n2024-02-30,5\n"
    job = loaded(tmp_path, EXACT, ('["c", "a", "b"]', "[2024-01-03, 2024-01-02]"), visits=visits)
    columns = job.run(tmp_path / "out.parquet").read()
    assert columns["site"] == [datetime.date(2024, 1, 3), datetime.date(2024, 1, 2)]
    assert columns["count"].tolist() == [1, 2]


def test_without_keys_the_output_is_one_row(tmp_path):
    ledger(tmp_path)
    text = (
        JOB.replace('by = ["site"]\n', "")
        .replace('[keys]\nsite = ["c", "a", "b"]\n', "")
        .replace("groups_per_person = 1\n", "")
    )
    job = loaded(tmp_path, EXACT, text=text)
    columns = job.run(tmp_path / "out.csv").read()
    assert columns["count"].tolist() == [5]
    assert next(iter(columns)) == "count"
    person = loaded(tmp_path, EXACT, ('"visits.csv"', '"visits.csv"\nperson = "user"'), ("{date}", "p"), text=text)
    assert person.run(tmp_path / "person.csv").read()["count"].tolist() == [5]


@pytest.mark.parametrize("name", ["visits.csv", "visits.db", "visits.parquet"])
def test_limits_are_enforced_where_people_are_told_apart(tmp_path, name):
    """One person has most of the rows; what counts of it is what the limits say, however the rows come."""
    n = 5_000
    draw = np.random.default_rng(3)
    sites = draw.choice(np.array(["a", "b", "c"]), n)
    users = np.where(draw.random(n) < 0.9, "glutton", draw.integers(0, 100, n).astype(str))
    if name == "visits.csv":
        text = "".join(f"{site},1,{user}\n" for site, user in zip(sites, users, strict=True)) + "a,1,\n" * 50
        (tmp_path / name).write_text("site,minutes,user\n" + text)
    elif name == "visits.db":
        with sqlite3.connect(tmp_path / name) as connection:
            connection.execute("CREATE TABLE visits (site TEXT, minutes REAL, user)")
            rows = [*zip(sites.tolist(), [1] * n, users.tolist(), strict=True), *[("a", 1, None)] * 50]
            connection.executemany("INSERT INTO visits VALUES (?, ?, ?)", rows)
        connection.close()
    else:
        table = pa.table(
            {"site": [*sites, *["a"] * 50], "minutes": [1] * (n + 50), "user": [*users.tolist(), *[None] * 50]}
        )
        pq.write_table(table, tmp_path / name, row_group_size=1000)
    ledger(tmp_path)
    person = ('path = "visits.csv"', f'path = "{name}"\nperson = "user"')
    job = loaded(tmp_path, EXACT, person, ("groups_per_person = 1", "groups_per_person = 2"), visits=None)
    counts = job.run(tmp_path / "out.csv").read()["count"]
    least = most = 0
    for user in np.unique(users):
        per_site = sorted(min(int(((users == user) & (sites == site)).sum()), 2) for site in "abc")
        per_site = [rows for rows in per_site if rows]  # which two sites are kept is drawn
        least, most = least + sum(per_site[:2]), most + sum(per_site[-2:])
    assert least <= counts.sum() <= most < n / 5


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.timestamp("us"), pa.int16()])
def test_people_are_the_same_in_every_chunk(tmp_path, monkeypatch, kind, gaps):
    """Each person once in each chunk, whose ids start elsewhere, with gaps in some of the chunks only."""
    chunks = [list(range(1, 201)), [*range(1, 401, 2), *([None] * 3 if gaps else [])], list(range(-50, 201))]
    users = [user for chunk in chunks for user in chunk]
    if kind == pa.string():
        column = pa.array([None if user is None else f"user {user}" for user in users])
    else:
        column = pa.array(users, pa.int16()).cast(pa.int64()).cast(kind)
    table = pa.table({"site": ["a"] * len(users), "minutes": [1] * len(users), "user": column})
    pq.write_table(table, tmp_path / "visits.parquet")
    monkeypatch.setattr("exactnoise.publish.files.arrow_files._ROWS", 200)
    with open_table(tmp_path / "visits.parquet", columns={"user": "person"}) as opened:
        assert len(list(opened.chunks())) == 4
    ledger(tmp_path)
    person = ('path = "visits.csv"', 'path = "visits.parquet"\nperson = "user"')
    job = loaded(tmp_path, EXACT, person, ("rows_per_person = 2", "rows_per_person = 1"), visits=None)
    people = {user for user in users if user is not None}
    assert job.run(tmp_path / "out.csv").read()["count"].tolist() == [0, len(people), 0]


BAD_ROWS = (
    "site,minutes,user\n"
    "a,10,u\n"
    "a,ten,u\n"
    "a\n"
    'a,"20,u\n'  # an open quote: the rest of the file is one cell
    "b,30,u\n"
)


@pytest.mark.parametrize(
    ("visits", "counts"),
    [
        ("site,minutes,user\n", [0, 0, 0]),
        ("site,minutes,user", [0, 0, 0]),
        (BAD_ROWS, [0, 4, 0]),
        ('site,minutes,user\r\n"a",,\r\n\n"b",x,\n', [0, 1, 1]),
        ("site,minutes,user\n,,\n,,\n", [0, 0, 0]),
        (b"site,minutes,user\na\xff,1,u\nb,\xfe,u\n", [0, 0, 1]),
    ],
)
def test_no_row_stops_a_job(tmp_path, visits, counts):
    ledger(tmp_path)
    job = loaded(tmp_path, EXACT, visits="")
    (tmp_path / "visits.csv").write_bytes(visits if isinstance(visits, bytes) else visits.encode())
    assert job.run(tmp_path / "out.csv").read()["count"].tolist() == counts


def test_columns_of_nulls_and_empty_tables(tmp_path):
    ledger(tmp_path)
    typed = {"site": pa.array([None] * 4, pa.string()), "minutes": pa.array([None] * 4, pa.int32())}
    untyped = {"site": pa.nulls(4), "minutes": pa.nulls(4)}  # as pandas writes them
    for table, n, name in [(typed, 4, "nulls.parquet"), (typed, 0, "none.parquet"), (untyped, 4, "untyped.parquet")]:
        pq.write_table(pa.table(table).slice(0, n), tmp_path / name)
        job = loaded(tmp_path, EXACT, ("visits.csv", name), ("visits-{date}", name), visits=None)
        columns = job.run(tmp_path / f"{name}.csv").read()
        assert columns["count"].tolist() == [0, 0, 0]


def test_a_file_that_breaks_off_is_told_and_not_paid_again(tmp_path):
    budget = ledger(tmp_path).budget("visits")
    table = pa.table({"site": ["a"] * 5000, "minutes": np.random.default_rng(1).random(5000)})
    pq.write_table(table, tmp_path / "visits.parquet", compression="none")
    good = (tmp_path / "visits.parquet").read_bytes()
    (tmp_path / "visits.parquet").write_bytes(good[:4] + b"\xff" * 60 + good[64:])
    job = loaded(tmp_path, EXACT, ("visits.csv", "visits.parquet"), visits=None)
    with pytest.raises((SchemaError, OSError)):
        job.run(tmp_path / "out.csv")
    (tmp_path / "visits.parquet").write_bytes(good)
    assert job.run(tmp_path / "out.csv").read()["count"].tolist() == [0, 5000, 0]
    assert budget.spent == PrivacyCost(epsilon=ALMOST_EXACT)


def test_the_job_names_its_output(tmp_path):
    ledger(tmp_path)
    output = ("weight = 3", 'weight = 3\n[output]\npath = "out-{date}"\nformat = "parquet"')
    snapshot = loaded(tmp_path, output).run()
    assert snapshot.path == tmp_path / "out-2024-03-01"
    assert snapshot.path.read_bytes()[:4] == b"PAR1"
    with pytest.raises(JobError, match="there is no output"):
        loaded(tmp_path, ("visits-{date}", "x")).run()


def test_two_releases_differ(tmp_path):
    """Counts of three sites at epsilon 1/400: all noise is the same with a chance below 1e-9."""
    ledger(tmp_path)
    noisy = [("epsilon = 1", "epsilon = 0.0025")]
    first = loaded(tmp_path, *noisy).run(tmp_path / "1.csv").read()
    second = loaded(tmp_path, *noisy, ("visits-{date}", "again")).run(tmp_path / "2.csv").read()
    assert (
        first["mean_minutes"].tolist() + first["count"].tolist()
        != second["mean_minutes"].tolist() + second["count"].tolist()
    )


def test_a_small_job_is_quick(tmp_path):
    ledger(tmp_path)
    loaded(tmp_path, ("visits-{date}", "warm")).run(tmp_path / "warm.csv")
    start = time.process_time()
    loaded(tmp_path).run(tmp_path / "out.csv")
    assert time.process_time() - start < 0.5


def test_missing_values_of_a_mean_without_rows_are_noise_within_bounds(tmp_path):
    ledger(tmp_path)
    columns = loaded(tmp_path).run(tmp_path / "out.csv").read()
    assert all(0 <= value <= 60 and math.isfinite(value) for value in columns["mean_minutes"])
