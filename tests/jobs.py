"""What the tests of jobs share: a job file that works, and changes to it."""

import json
from pathlib import Path

from exactnoise.ledger import Ledger
from exactnoise.publish.job import Job

# At this price counts have no noise, but for a chance of e^-1000 a cell.
ALMOST_EXACT = 10_000

JOB = """\
id = "visits-{date}"
data_version = "{date}"
[input]
path = "visits.csv"
[privacy]
epsilon = 1
ledger = "privacy.db"
budget = "visits"
[limits]
rows_per_person = 2
groups_per_person = 1
[keys]
site = ["c", "a", "b"]
[[statistic]]
kind = "count"
by = ["site"]
[[statistic]]
kind = "mean"
column = "minutes"
bounds = [0, 60]
by = ["site"]
weight = 3
"""

VISITS = "site,minutes,user\na,10,u1\na,20,u2\nb,600,u3\nx,5,u4\nb,,u5\n"


def write_job(folder: Path, text: str = JOB, *replaced: tuple[str, str], visits: str | None = VISITS) -> Path:
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    path = folder / "job.toml"
    path.write_text(text)
    if visits is not None:
        (folder / "visits.csv").write_text(visits)
    return path


def loaded(folder: Path, *replaced: tuple[str, str], text: str = JOB, visits: str | None = VISITS) -> Job:
    return Job.load(write_job(folder, text, *replaced, visits=visits), date="2024-03-01")


def ledger(folder: Path, **terms: object) -> Ledger:
    kept = Ledger(folder / "privacy.db")
    kept.create("visits", **{"epsilon": 10 * ALMOST_EXACT, "neighbors": "add-remove", "unit": "person"} | terms)
    return kept


def metadata(path: Path) -> dict:
    return json.loads(Path(f"{path}.release.json").read_text())
