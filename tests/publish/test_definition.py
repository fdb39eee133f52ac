"""Job files: what is read from a good one, and what is said about a bad one."""

import datetime
import re
from fractions import Fraction

import pytest
from jobs import JOB, loaded, write_job

from exactnoise.errors import JobError
from exactnoise.publish.job import Job


def test_a_job_is_read(tmp_path):
    job = loaded(tmp_path)
    assert (job.id, job.data_version) == ("visits-2024-03-01", "2024-03-01")
    assert job.input == tmp_path / "visits.csv"
    assert job.ledger == tmp_path / "privacy.db"
    assert job.groups.keys == ("c", "a", "b")
    assert job.columns == {"site": "texts", "minutes": "number"}
    assert [spec.name for spec in job.statistics] == ["count", "mean_minutes"]
    assert [job.share(spec) for spec in job.statistics] == [{"epsilon": Fraction(1, 4)}, {"epsilon": Fraction(3, 4)}]


def test_the_date_is_today_unless_it_is_said(tmp_path):
    path = write_job(tmp_path, JOB, ('"visits.csv"', '"visits-{date}.csv"'))
    today = datetime.date.today().isoformat()
    assert Job.load(path).id == f"visits-{today}"
    assert Job.load(path, id="mine").id == "mine"
    assert Job.load(path, date=datetime.date(2024, 5, 6)).input.name == "visits-2024-05-06.csv"
    with pytest.raises(JobError, match="2026-12-31"):
        Job.load(path, date="yesterday")


def test_prices_are_divided_exactly(tmp_path):
    for typed, total in [('"1/3"', Fraction(1, 3)), ("0.1", Fraction(1, 10)), ("1e-3", Fraction(1, 1000))]:
        weights = ("weight = 3", "weight = 0.7")
        job = loaded(tmp_path, ("epsilon = 1", f"epsilon = {typed}"), weights)
        shares = [job.share(spec)["epsilon"] for spec in job.statistics]
        assert sum(shares) == job.cost.epsilon == total
        assert shares[1] == Fraction(7, 17) * total
    job = loaded(tmp_path, ("epsilon = 1", "epsilon = 1\ndelta = 1e-6"))
    assert sum(job.share(spec)["delta"] for spec in job.statistics) == Fraction(1, 10**6)
    assert loaded(tmp_path, ("epsilon = 1", "rho = 0.5")).price == {"rho": Fraction(1, 2)}


def test_keys_of_every_kind(tmp_path):
    (tmp_path / "sites.csv").write_bytes('\ufeffname,site\r\nx,c\r\n\r\ny,"a, b"\r\n'.encode())
    (tmp_path / "days.csv").write_text("day\n2024-01-02\n2024-01-01\n")
    for typed, expected, kind in [
        ('{file = "sites.csv"}', ("c", "a, b"), "texts"),
        ('{file = "sites.csv", column = "name"}', ("x", "y"), "texts"),
        (
            '{file = "days.csv", column = "day", type = "date"}',
            (datetime.date(2024, 1, 2), datetime.date(2024, 1, 1)),
            "dates",
        ),
        ("{from = -1, to = 1}", (-1, 0, 1), "integers"),
        ("[2024-01-01, 2024-01-02]", (datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)), "dates"),
        ("[true, false]", (True, False), "booleans"),
        ("[2024-01-01T00:00:00]", (datetime.datetime(2024, 1, 1),), "times"),
    ]:
        job = loaded(tmp_path, ('["c", "a", "b"]', typed))
        assert job.groups.keys == expected
        assert job.columns["site"] == kind


def test_what_is_asked_is_public_and_short(tmp_path):
    query = loaded(tmp_path).query()
    assert query["keys"] == {"site": ["c", "a", "b"]}
    assert query["statistics"][1]["bounds"] == [0, 60]
    many = loaded(tmp_path, ('["c", "a", "b"]', "{from = 1, to = 100000}")).query()["keys"]["site"]
    assert many["count"] == 100_000
    assert many != loaded(tmp_path, ('["c", "a", "b"]', "{from = 0, to = 99999}")).query()["keys"]["site"]


SECOND_BY = '[[statistic]]\nkind = "count"\nname = "all"\n'


@pytest.mark.parametrize(
    ("replaced", "line", "words"),
    [
        ([('id = "visits-{date}"\n', "")], None, "id is missing"),
        ([("{date}", "{day}")], 1, "id: only {date} and {month} can stand in braces"),
        ([('"visits.csv"', "7")], 4, "input.path: must be text"),
        ([("[input]", "[inptu]")], 3, "inptu: there is no such key here; did you mean 'input'?"),
        ([("path =", "pth =")], 4, "input.pth: there is no such key here; did you mean 'path'?"),
        ([('path = "visits.csv"', "")], 3, "input: path is missing"),
        ([("epsilon = 1", "eps = 1")], 6, "privacy.eps: there is no such key here; did you mean 'epsilon'?"),
        ([("epsilon = 1", "")], 5, "privacy: say either epsilon"),
        ([("epsilon = 1", "epsilon = 0")], 6, "privacy.epsilon: must be positive"),
        ([("epsilon = 1", "epsilon = -1")], 6, "privacy.epsilon"),
        ([("epsilon = 1", "epsilon = nan")], 6, "privacy.epsilon"),
        ([("epsilon = 1", "epsilon = true")], 6, "privacy.epsilon"),
        ([("epsilon = 1", 'epsilon = "much"')], 6, "privacy.epsilon"),
        ([("epsilon = 1", "epsilon = 1\ndelta = 1")], 7, "privacy.delta: must be positive and below 1"),
        ([("epsilon = 1", "rho = 1\ndelta = 1e-6")], 7, "privacy.delta: belongs to epsilon"),
        ([("epsilon = 1", "rho = 1\nepsilon = 1")], 5, "privacy: say either epsilon"),
        ([('budget = "visits"', "")], 5, "privacy: budget is missing"),
        *[
            ([("rows_per_person = 2", f"rows_per_person = {typed}")], 10, "limits.rows_per_person: must be a whole")
            for typed in ("0", "-1", "1.5", "true", '"x"', '"2"', "[[1]]", "2147483648")
        ],
        ([("groups_per_person = 1", "groups_per_person = 0")], 11, "limits.groups_per_person: must be a whole number"),
        ([('"visits.csv"', '"a\\u0000b"')], 4, "input.path: must be without null characters"),
        ([('.csv"', '.csv"\nperson = "minutes"')], 20, "statistic[2].column: 'minutes' tells people apart"),
        ([("epsilon = 1", 'epsilon = 1\nneighbors = "both"')], 7, "privacy.neighbors: must be 'add-remove' or"),
        ([("weight = 3", 'weight = 3\n[output]\nformat = ["csv"]')], 24, "output.format: must be one of arrow, csv"),
        ([('["c", "a", "b"]', '{file = "s.csv", type = [1]}')], 13, "keys.site.type: must be one of text"),
        ([('kind = "mean"', 'kind = "histogram"'), ("bounds = [0, 60]", "edges = 9")], 20, "statistic[2].edges: must"),
        ([("weight = 3", "weight = -1.5")], 22, "statistic[2].weight: must be a positive number, got -1.5"),
        ([("rows_per_person", "rows_per_user")], 10, "limits.rows_per_user: there is no such key here"),
        ([('["c", "a", "b"]', '["c", "a", "c"]')], 13, "keys.site: must be distinct"),
        ([('["c", "a", "b"]', "[]")], 13, "keys.site: must have at least one key"),
        ([('["c", "a", "b"]', '["c", 1]')], 13, "keys.site: must be of one kind"),
        ([('["c", "a", "b"]', "[1.5]")], 13, "keys.site"),
        ([('["c", "a", "b"]', '"c"')], 13, "keys.site: must be a list of keys, or {file"),
        ([('["c", "a", "b"]', '{file = "sites.csv"}')], 13, "keys.site.file: "),
        ([('["c", "a", "b"]', "{from = 2, to = 1}")], 13, "keys.site: from and to must be whole numbers"),
        ([('["c", "a", "b"]', "{from = 2}")], 13, "keys.site: to is missing"),
        ([("site = [", "stie = [")], 13, "keys.stie: no statistic has it in its by = ['site']"),
        ([('site = ["c", "a", "b"]', "")], 12, "keys: site is missing"),
        ([('kind = "count"', "")], 14, "statistic[1]: kind is missing: one of count"),
        ([('kind = "count"', 'kind = "counts"')], 15, "statistic[1].kind: must be one of count, sum"),
        ([('kind = "mean"', 'kind = "count"')], 20, "statistic[2].bounds: there is no such key here"),
        ([('column = "minutes"', "")], 17, "statistic[2]: column is missing"),
        ([("bounds = [0, 60]", "")], 17, "statistic[2]: mean needs bounds"),
        ([("bounds = [0, 60]", "bounds = [60, 0]")], 20, "statistic[2].bounds: must be (lower, upper)"),
        ([("bounds = [0, 60]", "bounds = [0]")], 20, "statistic[2].bounds: must be a pair (lower, upper), got 1"),
        ([("bounds = [0, 60]", "bounds = [0, inf]")], 20, "statistic[2].bounds"),
        ([("bounds = [0, 60]", "bounds = [0, 60]\nnan = 61")], 21, "statistic[2].nan: must be a value within"),
        ([("weight = 3", "weight = 0")], 22, "statistic[2].weight: must be"),
        ([("weight = 3", "wieght = 3")], 22, "statistic[2].wieght: there is no such key here; did you mean 'weight'?"),
        ([("weight = 3", 'mechanism = "gauss"')], 22, "statistic[2].mechanism: must be 'laplace' or 'gaussian'"),
        ([("weight = 3", 'name = "count"')], 22, "statistic[2].name: the output has a column 'count' already"),
        ([("weight = 3", SECOND_BY)], 22, "statistic[3]: all statistics of a job have the same by"),
        ([('by = ["site"]\nweight', 'by = "site"\nweight')], 21, "statistic[2].by: must be a list"),
        ([('"minutes"', '"site"')], 19, "statistic[2].column: 'site' is read as texts elsewhere"),
        ([('.csv"', '.csv"\nperson = "user"'), ("rows_per_person = 2\n", "")], 5, "input.person: needs limits"),
        ([("weight = 3", 'weight = 3\n[output]\nformat = "xls"')], 24, "output.format: must be one of arrow, csv"),
        ([("weight = 3", 'weight = 3\n[output]\npath = "out.tsv"')], 24, "output.path: out.tsv: .tsv is a format that"),
        ([("[[statistic]]", "[[statistics]]")], 14, "statistics: there is no such key here"),
    ],
)  # fmt: skip
def test_errors_name_the_key_and_its_line(tmp_path, replaced, line, words):
    with pytest.raises(JobError) as refusal:
        loaded(tmp_path, *replaced)
    where = f"{tmp_path / 'job.toml'}{f', line {line}' if line else ''}: "
    assert str(refusal.value).startswith(where + words)
    assert "\n" not in str(refusal.value)


def test_bad_files_of_keys(tmp_path):
    for content, words in [
        (b"", "must have a column 'site' in its first line"),
        (b"place\na\n", "must have a column 'site'"),
        (b"site\n\xff\n", "no CSV file in UTF-8"),
        (b"site\n", "must have at least one key"),
        (b"site\nb\na\nc\na\n", r"line 13: keys.site.file: .*sites\.csv: keys 2 and 4 are the same$"),
    ]:
        (tmp_path / "sites.csv").write_bytes(content)
        with pytest.raises(JobError, match=words):
            loaded(tmp_path, ('["c", "a", "b"]', '{file = "sites.csv"}'))
    (tmp_path / "sites.csv").write_text("site\n1\n2.5\n")
    with pytest.raises(JobError, match=r"key 2 is no integer$"):
        loaded(tmp_path, ('["c", "a", "b"]', '{file = "sites.csv", type = "integer"}'))


@pytest.mark.parametrize("name", ["visits.csv", "./visits.csv", "link.csv"])
def test_keys_are_not_those_of_the_data(tmp_path, name):
    """Which keys there are would be published exactly."""
    (tmp_path / "link.csv").symlink_to("visits.csv")
    with pytest.raises(JobError, match=r"keys\.site\.file: .*csv is the input: keys are declared without looking at"):
        loaded(tmp_path, ('["c", "a", "b"]', f'{{file = "{name}"}}'))


@pytest.mark.parametrize("name", ["", " ", "\ud800", "a\nb", "\x1b"])
def test_ids_that_no_ledger_can_hold(tmp_path, name):
    with pytest.raises(JobError, match=r"the id must (not be empty|not have line breaks|be text that UTF-8 can hold)"):
        Job.load(write_job(tmp_path), id=name)


@pytest.mark.parametrize("key", ["id", "data_version", "budget"])
def test_names_that_no_ledger_can_hold(tmp_path, key):
    """Said by the plan, and not when it is published."""
    text = re.sub(f"^{key} = .*$", f'{key} = "a\\\\nb"', JOB, flags=re.MULTILINE)
    with pytest.raises(JobError, match=f"line [0-9]+: .*{key}: must not have line breaks"):
        loaded(tmp_path, text=text)


def test_a_unit_that_no_budget_can_have(tmp_path):
    with pytest.raises(JobError, match=r"line 6: privacy\.unit: must not have line breaks"):
        loaded(tmp_path, ("epsilon = 1", 'unit = "a\\nb"\nepsilon = 1'))


def test_too_many_combinations_of_keys(tmp_path):
    two = [('["c", "a", "b"]', "{from = 0, to = 9999}\nday = {from = 0, to = 9999}")]
    with pytest.raises(JobError, match="100000000 combinations are too many for one table"):
        loaded(tmp_path, *two, text=JOB.replace('by = ["site"]', 'by = ["site", "day"]'))


def test_a_job_without_statistics(tmp_path):
    (tmp_path / "job.toml").write_text(JOB[: JOB.index("[[statistic]]")])
    with pytest.raises(JobError, match="statistic is missing: what to publish"):
        Job.load(tmp_path / "job.toml")
    with pytest.raises(FileNotFoundError):
        Job.load(tmp_path / "other.toml")
