"""``exactnoise utility``: its table, its documents, its pictures, and what it refuses."""

import csv
import io
import re
import shlex
import sys

import numpy as np
import pytest

from exactnoise.cli import utility as command
from exactnoise.utility import epsilon_for, table

LAPLACE = ["utility", "--mechanism=laplace", "--sensitivity=1"]
MEAN = ["utility", "--statistic=mean", "--bounds=0,60", "--rows=1000", "--neighbors=add-remove"]
ROWS = ["--rows=1000", "--neighbors=add-remove"]
HISTOGRAM = ["utility", "--statistic=histogram", *ROWS, "--edges=0,10,20,60"]
VECTORS = ["utility", "--statistic=vector-sum", "--norm=l2", "--bound=3", *ROWS, "--delta=1e-6", "--dimensions=4"]


def test_table(run):
    outcome = run(*LAPLACE, "--epsilon=0.1, 1/2,2", "--trials=0")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "Laplace: error against epsilon\n"
        "\n"
        "epsilon  scale     std  mean error  95 % within\n"
        "    0.1     10   14.14          10        29.96\n"
        "    0.5      2   2.828           2        5.991\n"
        "      2    0.5  0.7071         0.5        1.498\n"
    )


def test_simulated_beside_closed_form(run):
    lines = run(*LAPLACE, "--epsilon=0.1,1", "--exact=120,4,38").out.splitlines()
    assert lines[2].split("  ")[0] == "epsilon"
    assert lines[2].count("simulated") == 3
    assert all(line.count(" +- ") == 3 for line in lines[3:])
    assert lines[3].endswith("33.3 %")


def test_documents(run):
    options = [*MEAN, "--epsilon=0.5,1", "--trials=50", "--alpha=0.1"]
    document = run(*options, "--json", "--target-error=0.2", "--measure=std").json
    assert document["what"] == "mean"
    assert document["target"]["error"] == "0.2"
    assert document["target"]["measure"] == "std"
    assert [row["epsilon"] for row in document["rows"]] == ["0.5", "1", document["target"]["epsilon"]]
    assert document["rows"][2]["std"] <= 0.2
    data = [60 * (i + 0.5) / 1000 for i in range(1000)]
    given = {"data": data, "bounds": (0, 60), "neighbors": "add-remove"}
    assert float(document["target"]["epsilon"]) == float(epsilon_for("mean", "0.2", measure="std", **given))
    expected = table("mean", ["0.5", 1], trials=0, alpha=0.1, **given)
    assert [row["half_width"] for row in document["rows"][:2]] == [row.half_width for row in expected]
    first, second = csv.DictReader(io.StringIO(run(*options, "--csv").out))
    assert (first["epsilon"], float(first["std"])) == ("0.5", expected[0].std)
    assert (second["trials"], float(second["std"])) == ("50", expected[1].std)


def test_histograms_and_vectors(run):
    values = (np.arange(1000) + 0.5) * 0.06
    expected = table("histogram", [1], data=values, edges=[0, 10, 20, 60], neighbors="add-remove", trials=0)
    row = run(*HISTOGRAM, "--epsilon=1", "--trials=50", "--json").json["rows"][0]
    assert (row["std"], row["relative_error"]) == (expected[0].std, expected[0].relative_error)
    vectors = np.tile(np.eye(4) * 3, (250, 1))
    given = {"norm": "l2", "bound": 3, "delta": "1e-6", "neighbors": "add-remove"}
    expected = table("vector_sum", [1], data=vectors, trials=0, **given)
    row = run(*VECTORS, "--epsilon=1", "--trials=50", "--json").json["rows"][0]
    assert (row["std"], row["relative_error"]) == (expected[0].std, expected[0].relative_error)


def test_a_selection(run, folder):
    """Its half width is for any scores; of these, candidates that are never selected have no part in the error."""
    options = ["utility", "--mechanism=exponential", "--sensitivity=1", "--epsilon=0.1,0.5"]
    lines = run(*options, "--exact=52,31,60,44").out.splitlines()
    assert "95 % promised" in lines[2]
    far = run(*options, "--exact=5200,3100,8700,2400", "--json", "--plot=error.png", "--band=band.png").json
    assert [row["std"] for row in far["rows"]] == [row["mean_error"] for row in far["rows"]] == [0, 0]


def test_negative_numbers(run):
    both = [
        run("utility", "--mechanism=laplace", "--sensitivity=1", "--epsilon=1", *more, "--json", "--trials=0").json
        for more in (["--exact", "-1,2"], ["--exact=-1,2"])
    ]
    assert both[0] == both[1]
    assert run(*LAPLACE, "--epsilon=1", "--exact", "-.5", "--trials=0").code == 0


def test_where_the_first_order_is_far_off(run):
    few = ["utility", "--statistic=mean", "--bounds=0,60", "--rows=3", "--neighbors=add-remove", "--epsilon=0.5"]
    assert "believe them" in run(*few, "--trials=3000").out
    assert "believe them" not in run(*LAPLACE, "--epsilon=1").out


def test_target_alone(run):
    out = run("utility", "--mechanism=discrete-laplace", "--sensitivity=1", "--target-error=10", "--trials=0").out
    assert "\n 0.2844  " in out
    assert out.endswith("\nFor a 95 % half width of at most 10: --epsilon 0.2844\n")


@pytest.mark.parametrize(
    "options",
    [
        ["--mechanism=gaussian", "--sensitivity=1", "--delta=1e-6"],
        ["--mechanism=discrete-gaussian", "--sensitivity=1", "--delta=1e-6"],
        ["--mechanism=snapping", "--sensitivity=1", "--bounds=-5,5"],
        ["--mechanism=exponential", "--sensitivity=1", "--exact=1,2.5,-3"],
        ["--mechanism=permute-and-flip", "--sensitivity=1", "--exact=1,2", "--monotonic"],
        ["--statistic=count", "--rows=100", "--neighbors=add-remove", "--rows-per-person=3"],
        ["--statistic=sum", "--rows=100", "--neighbors=replace-one", "--bounds=-1/2,0.5", "--delta=1e-6"],
        ["--statistic=variance", "--rows=100", "--neighbors=replace-one", "--bounds=0,1"],
        ["--statistic=quantile", "--q=0.5", "--rows=100", "--neighbors=add-remove", "--bounds=0,1"],
    ],
    ids=lambda options: options[0],
)
def test_each_kind(run, options):
    document = run("utility", *options, "--epsilon=1", "--trials=20", "--json").json
    assert document["rows"][0]["std"] > 0
    assert document["rows"][0]["simulated_std_se"] is not None


def test_pictures(run, folder):
    outcome = run(*MEAN, "--epsilon=1,2", "--trials=30", "--plot=error.svg", "--band=band.png", "--unit=minutes")
    assert (outcome.code, outcome.files) == (0, ["band.png", "error.svg"])
    assert outcome.out.endswith("\nerror.svg: drawn\nband.png: drawn\n")


def test_without_matplotlib(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    outcome = run(*LAPLACE, "--epsilon=1", "--plot=error.png")
    assert outcome.code == 2
    assert 'pip install "exactnoise[plot]"' in outcome.err
    assert outcome.files == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (LAPLACE, "--epsilon"),
        (["utility", "--mechanism=laplace", "--epsilon=1"], "--sensitivity"),
        (["utility", "--epsilon=1"], "--mechanism"),
        ([*LAPLACE, "--statistic=mean", "--epsilon=1"], "not allowed with"),
        ([*LAPLACE, "--epsilon=1,x"], "--epsilon must be a decimal number"),
        ([*LAPLACE, "--epsilon=1,,2"], "--epsilon must be a decimal number"),
        ([*LAPLACE, "--epsilon=0"], "--epsilon must be a positive number"),
        ([*LAPLACE, "--epsilon=1", "--delta=1e-6"], "--delta: laplace has no delta"),
        (["utility", "--mechanism=gaussian", "--sensitivity=1", "--epsilon=1"], "--delta: gaussian needs one"),
        ([*LAPLACE, "--epsilon=1", "--bounds=0,1"], "--bounds: it is for snapping"),
        (["utility", "--mechanism=snapping", "--sensitivity=1", "--epsilon=1"], "needs bounds"),
        (["utility", "--mechanism=exponential", "--sensitivity=1", "--epsilon=1"], "--exact"),
        ([*LAPLACE, "--epsilon=1", "--monotonic"], "--monotonic"),
        ([*LAPLACE, "--epsilon=1", "--rows=5"], "--rows: it is for --statistic"),
        ([*LAPLACE, "--epsilon=1", "--exact=1,y"], "--exact must be a decimal number"),
        ([*LAPLACE, "--epsilon=1", "--exact=0.5,1e400"], "--exact: a number is too large for a double"),
        ([*MEAN, "--epsilon=1", "--monotonic"], "--monotonic: it is for --mechanism exponential"),
        ([*MEAN[:1], "--statistic=count", *MEAN[2:], "--epsilon=1"], "--statistic count has none"),
        ([*LAPLACE, "--epsilon=1", "--alpha=2"], "alpha must lie between"),
        ([*LAPLACE, "--epsilon=1", "--trials=-1"], "--trials must be a whole number"),
        ([*LAPLACE, "--epsilon=1", "--trials=1e12"], "trials must be at most"),
        ([*LAPLACE, "--target-error=0"], "--target-error must be a positive number"),
        ([*LAPLACE, "--epsilon=1", "--plot=error.csv"], "--plot: the file's name must end in .png"),
        ([*LAPLACE, "--epsilon=1", "--trials=0", "--band=band.png"], "no simulated errors"),
        ([*LAPLACE, "--epsilon=1", "--csv", "--json"], "not allowed with"),
        (["utility", "--mechanism=discrete-laplace", "--sensitivity=1", "--epsilon=1", "--exact=0.5"], "whole numbers"),
        ([*MEAN, "--epsilon=1", "--sensitivity=1"], "--sensitivity: it is for --mechanism"),
        ([*MEAN, "--epsilon=1", "--q=0.5"], "--q"),
        ([*MEAN[:-1], "--epsilon=1"], "--neighbors"),
        ([*MEAN, "--epsilon=1", "--rows=1e9"], "--rows must be at most"),
        ([*MEAN, "--epsilon=1", "--edges=0,1"], "--edges"),
        ([*HISTOGRAM[:-1], "--epsilon=1"], "--edges: the bins' edges"),
        ([*HISTOGRAM, "--epsilon=1", "--edges=5"], "edges must have at least two"),
        ([*VECTORS, "--epsilon=1", "--dimensions=1e7"], "--rows must be at most"),
        ([*VECTORS[:-1], "--epsilon=1"], "--dimensions: how many numbers"),
        ([*LAPLACE, "--epsilon=1", "--norm=l2"], "--norm: it is for --statistic"),
        ([*MEAN, "--epsilon=1", "--bounds=0"], "--bounds: two numbers"),
        ([*MEAN, "--epsilon=1", "--bounds=1,0"], "bounds"),
        ([*MEAN, "--epsilon=1", "--rows-per-person=0"], "rows_per_person"),
    ],
)
def test_refusals(run, folder, options, message):
    outcome = run(*options)
    assert (outcome.code, outcome.out if "--json" not in options else "", outcome.files) == (2, "", [])
    assert message in outcome.err


def test_all_that_is_missing_is_told_at_once(run, folder):
    for options, told in [
        (
            ["--statistic=mean", "--epsilon=1"],
            "--rows: --statistic needs it; --neighbors: --statistic needs it; "
            "--bounds: what values are clipped to, such as 0,60; --statistic mean needs it",
        ),
        (
            ["--mechanism=gaussian"],
            "--sensitivity: how much one person can change the numbers in total; 1 for a count; --delta: gaussian "
            "needs one, such as 1e-6; --epsilon: say which, such as 0.1,0.5,1,2; or give --target-error",
        ),
    ]:
        outcome = run("utility", *options)
        assert (outcome.code, outcome.err) == (2, f"exactnoise: {told}\n")


def test_a_picture_that_cannot_be_written(run, folder):
    outcome = run(*LAPLACE, "--epsilon=1", "--plot=nowhere/error.png")
    assert (outcome.code, outcome.out) == (5, "")
    assert outcome.err.startswith("exactnoise: nowhere/error.png: ")


def test_the_examples_of_the_help_work(run, folder):
    commands = re.findall(r"^    exactnoise ((?:.*\\\n)*.*)$", command._EPILOG, re.MULTILINE)
    assert len(commands) == 5
    for typed in commands:
        outcome = run(*shlex.split(typed.replace("\\\n", " ")), "--trials=20")
        assert (outcome.code, outcome.err) == (0, "")
    assert outcome.files == ["band.png", "error.png"]
    told = run("utility", "--mechanism=discrete-laplace", "--sensitivity=1", "--target-error=10", "--json").json
    assert f'"target": {{"error": "10", "measure": "half-width", "epsilon": "{told["target"]["epsilon"]}"}}' in (
        command._EPILOG.replace("\n", " ")
    )
