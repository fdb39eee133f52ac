"""The jobs under examples/ from input to verified output, on smaller tables of the same shape."""

import collections
import csv
import itertools
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from scripts import load

from exactnoise.cli import main
from exactnoise.publish import Snapshot

JOBS = Path(__file__).parents[2] / "examples" / "jobs"


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The module that makes a job's input, and a function that runs the commands of its docstring."""

    def example(name):
        shutil.copy(JOBS / name / "job.toml", tmp_path)
        monkeypatch.chdir(tmp_path)
        return load(JOBS / name / "make_input.py")

    return example


def run_all(module):
    """Run what the docstring says; returns the columns of the output."""
    commands = [line.split() for line in module.__doc__.splitlines() if line.startswith("    exactnoise ")]
    assert [command[1] for command in commands] == ["ledger", "plan", "publish"]
    for command in commands:
        assert main(command[1:]) == 0
    output = commands[-1][commands[-1].index("-o") + 1]
    assert main(["verify", output, "--ledger", "privacy.db"]) == 0
    return Snapshot.open(output).read()


def test_military(example):
    make = example("military")
    branches = ("army", "navy", "air force", "marine corps")
    grades, genders = ("enlisted", "warrant officer", "officer"), ("female", "male")
    races = ("ami/aln", "asian", "black", "multi", "p/i", "unk", "white")
    cells = list(itertools.product(branches, grades, genders, races))
    sizes = [0 if i % 5 == 0 else i for i in range(len(cells))]
    people = [cell for cell, size in zip(cells, sizes, strict=True) for _ in range(size)]
    assert make.write_input(people, Path("military.csv")) == sum(sizes)
    columns = run_all(make)
    keys = list(zip(*(columns[name] for name in make.COLUMNS), strict=True))
    assert keys == cells
    # Noise of scale 1: beyond 40 in one of 168 cells with a chance of 168 e^-40.
    assert np.abs(columns["count"] - sizes).max() <= 40
    assert (columns["count"] != sizes).any()  # all noise 0: (tanh 1/2)^168 < 1e-56


def test_flights(example):
    make = example("flights")
    draw = np.random.default_rng(1)
    carriers = draw.choice(["UA", "B6", "EV", "ZZ"], 40_000, p=[0.5, 0.3, 0.15, 0.05])
    delays = np.where(draw.random(carriers.size) < 0.03, np.nan, draw.normal(7, 45, carriers.size).round())
    assert make.write_input(zip(carriers, ["JFK"] * carriers.size, delays, strict=True), Path("flights.csv")) == 40_000
    columns = run_all(make)
    assert columns["carrier"][:3] == ["9E", "AA", "AS"]
    assert len(columns["carrier"]) == 17
    for carrier in ("UA", "B6", "EV"):
        row, mine = columns["carrier"].index(carrier), carriers == carrier
        # Counts have scale 6; the parts of a mean 480 (sums) and 4 (sizes): each is off by 26 or 30 scales with a
        # chance below e^-26. A rank is off by 100 rows at most, likewise, and a minute has 50 flights or more.
        assert abs(columns["count"][row] - mine.sum()) <= 160
        known = np.clip(delays[mine & ~np.isnan(delays)], -60, 180)
        assert abs(columns["mean_delay"][row] - known.mean()) < 30 * (480 + 120 * 4) / known.size
        assert abs(columns["median_delay"][row] - np.median(known)) < 8
    assert abs(columns["count"][columns["carrier"].index("9E")]) <= 160


def test_page_views(example):
    make = example("page_views")
    make.write_input(Path(), 30_000, readers=8_000)
    columns = run_all(make)
    assert columns["page"] == make.PAGES
    assert columns["views"][0] + 800 > 0
    # Scale 15: a page has that many views at most, and noise beyond 25 scales in one of 1000 with a chance below 1e-7
    # of 1e-3.
    assert columns["views"].max() < 30_000 * 0.2 + 15 * 35
    assert ((columns["mean_seconds"] >= 0) & (columns["mean_seconds"] <= 120)).all()


def real_table(make, monkeypatch, tmp_path):
    """Run the script on the table it is for; returns its rows."""
    monkeypatch.setattr(make, "__file__", str(tmp_path / "make_input.py"))
    make.main()
    (path,) = tmp_path.glob("*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == make.COLUMNS
    return rows


@pytest.mark.real_tables
def test_the_keys_of_military_are_those_of_the_table(example, monkeypatch, tmp_path):
    make = example("military")
    exact = collections.Counter(map(tuple, real_table(make, monkeypatch, tmp_path)))
    assert sum(exact.values()) == 1_414_593
    columns = run_all(make)
    keys = list(zip(*(columns[name] for name in make.COLUMNS), strict=True))
    assert set(exact) <= set(keys)
    # Noise of scale 1, as in the smaller table.
    assert max(abs(count - exact[key]) for key, count in zip(keys, columns["count"].tolist(), strict=True)) <= 40


@pytest.mark.real_tables
def test_the_keys_of_flights_are_those_of_the_table(example, monkeypatch, tmp_path):
    make = example("flights")
    rows = real_table(make, monkeypatch, tmp_path)
    exact = collections.Counter(carrier for carrier, _, _ in rows)
    assert sum(exact.values()) == 336_776
    columns = run_all(make)
    assert set(exact) <= set(columns["carrier"])
    for carrier, count in zip(columns["carrier"], columns["count"].tolist(), strict=True):
        assert abs(count - exact[carrier]) <= 160
    delays = [min(max(float(delay), -60), 180) for carrier, _, delay in rows if carrier == "UA" and delay]
    mean = columns["mean_delay"][columns["carrier"].index("UA")]
    assert math.isclose(mean, sum(delays) / len(delays), abs_tol=1)


@pytest.mark.real_tables
def test_ten_million_page_views(example, monkeypatch, tmp_path):
    """The whole of it; two gigabytes and a minute."""
    make = example("page_views")
    make.write_input(tmp_path, 10_000_000)
    columns = run_all(make)
    assert columns["page"] == make.PAGES
    # Sampling leaves rows out and adds none; the first page has a seventh of all views.
    assert 10_000 < columns["views"][0] < 10_000_000 * 0.2


def test_the_readme_names_every_job():
    readme = (JOBS / "README.md").read_text(encoding="utf-8")
    for folder in JOBS.iterdir():
        if folder.is_dir() and (folder / "job.toml").exists():
            assert f"[{folder.name}]({folder.name}/job.toml)" in readme
