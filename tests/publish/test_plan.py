"""Plans: the numbers are those of the mechanisms, nothing is spent, and no row is read."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from jobs import JOB, ledger, loaded

from exactnoise import DiscreteLaplace, Laplace
from exactnoise.cli import main
from exactnoise.errors import BudgetExceeded, JobError, SchemaError
from exactnoise.publish.plan import Expectation

SAID = ('budget = "visits"', 'budget = "visits"\nneighbors = "add-remove"\nunit = "person"')


def test_the_numbers_are_the_mechanisms(tmp_path):
    plan = loaded(tmp_path, SAID).plan()
    count, mean = plan.rows
    quarter = DiscreteLaplace(sensitivity=2, epsilon="1/4")
    assert count.mechanisms == (repr(quarter),)
    assert (count.std_error, count.half_width) == (quarter.std, quarter.half_width())
    assert (count.sensitivity, count.price) == ((2,), {"epsilon": Fraction(1, 4)})
    # Each of two rows moves the sum of x - 30 by 30 at most; the parts have half of 3/4 each.
    sums, counts = Laplace(sensitivity=60, epsilon="3/8"), DiscreteLaplace(sensitivity=2, epsilon="3/8")
    assert mean.error_times_rows == pytest.approx(math.hypot(sums.std, 30 * counts.std), rel=1e-3)
    assert mean.std_error is mean.expected_error is count.below_noise is None
    assert (plan.cells, plan.remaining, plan.refusal) == (3, None, None)


def test_expected_errors_bound_those_that_are_released(tmp_path):
    """Values at a bound, where the error is largest; the released standard error varies with the noisy size."""
    visits = "site,minutes,user\n" + "a,60,u\n" * 100_000
    ledger(tmp_path)
    job = loaded(tmp_path, visits=visits)
    promised = job.plan(expected=Expectation(rows=100_000)).rows[1].expected_error
    released = job.run(tmp_path / "out.csv").read()["mean_minutes_std_error"][1]
    assert released == pytest.approx(promised, rel=0.05)


@pytest.mark.parametrize(
    ("statistic", "error"),
    [
        ('kind = "sum"\ncolumn = "minutes"\nbounds = [0, 60]', "Laplace"),
        ('kind = "variance"\ncolumn = "minutes"\nbounds = [0, 60]', "Laplace + Laplace + DiscreteLaplace"),
        ('kind = "quantile"\ncolumn = "minutes"\nbounds = [0, 60]\nq = [0.1, 0.5]', "Exponential + Exponential"),
        ('kind = "histogram"\ncolumn = "minutes"\nedges = [0, 10, 60]', "DiscreteLaplace"),
    ],
)
def test_every_kind_is_planned(tmp_path, statistic, error):
    text = JOB[: JOB.index("[[statistic]]")] + f'[[statistic]]\n{statistic}\nby = ["site"]\n'
    plan = loaded(tmp_path, SAID, text=text).plan(expected=Expectation(rows=50))
    (row,) = plan.rows
    text, document = str(plan), plan.document()
    assert error in text
    assert "nothing is spent" in text
    assert len(document["statistics"]) == 1
    known = (row.std_error, row.error_times_rows, row.rank_error)
    assert all(value > 0 for value in known if value is not None)
    assert any(value is not None for value in known)


@pytest.mark.parametrize(
    ("statistic", "largest"),
    [('kind = "mean"', 60), ('kind = "variance"', 900), ('kind = "variance"\nddof = 1', 1800)],
)
def test_no_error_is_expected_beyond_what_the_bounds_allow(tmp_path, statistic, largest):
    text = JOB[: JOB.index("[[statistic]]")]
    text += f'[[statistic]]\n{statistic}\ncolumn = "minutes"\nbounds = [0, 60]\nby = ["site"]\n'
    job = loaded(tmp_path, SAID, text=text)
    plan = job.plan(expected=Expectation(rows=1e-3))
    assert plan.rows[0].expected_error == plan.document()["statistics"][0]["expected_error"] == largest
    assert f"at most {largest} as expected" in str(plan)
    (row,) = job.plan(expected=Expectation(rows=10**6)).rows
    assert row.expected_error == row.error_times_rows / 10**6 < largest


def test_the_rank_error_counts_rows(tmp_path):
    text = JOB[: JOB.index("[[statistic]]")] + (
        '[[statistic]]\nkind = "quantile"\ncolumn = "minutes"\n'
        'bounds = [0, 64]\ngranularity = 1\nq = 0.5\nby = ["site"]\n'
    )
    (row,) = loaded(tmp_path, SAID, text=text).plan().rows
    # A row moves |below - above| / 2 by 1/2, two rows by 1; 65 candidates: t = 2 (ln 64 + ln(0.95 / 0.05)).
    assert row.rank_error == pytest.approx(2 * (math.log(64) + math.log(19)), rel=0.01)


def test_the_share_of_cells_below_the_noise(tmp_path):
    job = loaded(tmp_path, SAID)
    half_width = job.plan().rows[0].half_width
    assert job.plan(expected=Expectation(rows=half_width - 1)).rows[0].below_noise == 1
    assert job.plan(expected=Expectation(rows=half_width)).rows[0].below_noise == 0
    cells = {"count": np.array([0, half_width - 1, half_width, 1000]), "mean_minutes": np.array([1.0] * 4)}
    plan = job.plan(expected=Expectation(cells=cells))
    assert plan.rows[0].below_noise == 0.5
    assert "50 % of the cells are below the noise" in str(plan)


def test_an_earlier_snapshot_tells_the_rows_of_a_cell(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    job = loaded(tmp_path, SAID)
    (tmp_path / "earlier.csv").write_text("site,count,mean_minutes\na,90,1\nb,100,2\nc,110,x\n")
    command = ["plan", "job.toml", "--date=2024-03-01", "--json", "--expect"]
    assert main([*command, "earlier.csv"]) == 4
    assert "column 'mean_minutes': not of numbers only" in capsys.readouterr().err
    (tmp_path / "earlier.csv").write_text("site,count,mean_minutes\na,90,1\nb,100,2\nc,110,3\n")
    assert main([*command, "earlier.csv"]) == 0
    told = json.loads(capsys.readouterr().out)["statistics"][1]
    assert told["expected_error"] == job.plan().rows[1].error_times_rows / 100
    assert main([*command, "visits.csv"]) == 4
    assert "none of the columns that the job makes: count, mean_minutes" in capsys.readouterr().err
    (tmp_path / "empty.csv").write_text("")
    assert main([*command, "empty.csv"]) == 4


def test_nothing_is_spent_and_no_row_is_read(tmp_path):
    budget = ledger(tmp_path, epsilon=1).budget("visits")
    job = loaded(tmp_path, visits="site,minutes,user\n" + "a,48213977,u\n" * 9)
    before = len(budget.ledger.history())
    first, second = job.plan(), job.plan()
    assert first.document() == second.document()
    assert len(budget.ledger.history()) == before
    assert first.remaining.epsilon == 1
    assert "48213977" not in str(first)
    (tmp_path / "visits.csv").write_text("site,minutes,user\n")
    assert job.plan().document() == first.document()


def test_a_price_that_does_not_fit(tmp_path):
    ledger(tmp_path, epsilon=0.5)
    plan = loaded(tmp_path).plan()
    assert isinstance(plan.refusal, BudgetExceeded)
    assert plan.document()["fits"] is False
    assert "too little" in str(plan)


def test_what_is_expected_is_an_expectation(tmp_path):
    ledger(tmp_path)
    with pytest.raises(TypeError, match=r"^expected must be an Expectation, got float"):
        loaded(tmp_path).plan(expected=9.0)


def test_without_a_ledger_the_relation_must_be_said(tmp_path):
    with pytest.raises(JobError, match=r"line 5: privacy: there is no ledger .*; to plan without it, say neighbors"):
        loaded(tmp_path).plan()
    assert not (tmp_path / "privacy.db").exists()


def test_the_schema_is_checked(tmp_path):
    with pytest.raises(SchemaError, match="'minutes' is not in the header"):
        loaded(tmp_path, SAID, visits="site,minute\n").plan()
