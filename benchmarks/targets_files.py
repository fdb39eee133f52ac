"""Targets of whole commands on files: see targets.py.

    python benchmarks/targets_files.py [SECONDS]

measures these alone.
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from target_result import Result, measure_alone
from timing import least_seconds

from exactnoise.cli import main
from exactnoise.ledger import Ledger
from exactnoise.publish.job import Job

COUNTS = 20_000_000
#: Against reading and writing the same file with pyarrow alone, in real time on two cores.
NOISE_FACTOR = 1.3
SMALL_JOB_SECONDS = 0.5

_JOB = """\
id = "small-{date}"
data_version = "{date}"
[input]
path = "visits.csv"
[privacy]
epsilon = "1e-6"
ledger = "privacy.db"
budget = "visits"
[keys]
site = ["a", "b"]
[[statistic]]
kind = "count"
by = ["site"]
[[statistic]]
kind = "mean"
column = "minutes"
bounds = [0, 60]
by = ["site"]
"""


def noise_on_parquet(seconds: float) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        exact, copy, noisy = (str(folder / f"{part}.parquet") for part in ("exact", "copy", "noisy"))
        counts = np.random.default_rng(1).zipf(1.5, COUNTS).clip(0, 10**6)
        pq.write_table(pa.table({"visits": counts.astype(np.int64)}), exact)
        command = ["noise", exact, "-o", noisy, "--column=visits", "--sensitivity=1", "--epsilon=0.5", "--force"]

        def run() -> None:
            with contextlib.redirect_stdout(io.StringIO()):
                assert main(command) == 0

        least = least_seconds(
            {"noise": run, "pyarrow": lambda: pq.write_table(pq.read_table(exact), copy)}, seconds, clock=perf_counter
        )
        yield Result(
            f"exactnoise noise, {COUNTS:.0e} int64 of Parquet: pyarrow alone, times",
            least["noise"] / least["pyarrow"],
            NOISE_FACTOR,
            False,
            "",
            ", ".join(f"{part} {time:.2f}" for part, time in least.items()) + " s",
        )


def small_job(seconds: float) -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "job.toml").write_text(_JOB)
        (folder / "visits.csv").write_text("site,minutes\na,1\na,2\nb,3\nb,4\nb,5\n")
        Ledger(folder / "privacy.db").create("visits", epsilon=1, neighbors="add-remove", unit="row")
        runs = iter(range(10**6))

        def run() -> None:
            number = str(next(runs))
            Job.load(folder / "job.toml", id=number).run(folder / f"{number}.csv")

        least = least_seconds({"job": run}, min(seconds, 1), clock=perf_counter)["job"]
        yield Result(
            "a job of 5 rows, from file to verified snapshot", least, SMALL_JOB_SECONDS, False, "s", "real time"
        )


def commands(seconds: float) -> Iterator[Result]:
    """All of them."""
    yield from noise_on_parquet(seconds)
    yield from small_job(seconds)


if __name__ == "__main__":
    sys.exit(measure_alone(commands, seconds=10))
