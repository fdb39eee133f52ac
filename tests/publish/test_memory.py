"""The memory of a job: with people a number of bytes a row, without them none."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jobs import ledger, write_job

RUN = (
    "import sys\n"
    "from exactnoise.publish import Job\n"
    "Job.load(sys.argv[1], id=sys.argv[2]).run(sys.argv[2] + '.csv')\n"
    # Not ru_maxrss, which a process inherits from the one that started it.
    "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
)


def peak_bytes(folder, rows, *replaced):
    """The most memory of a process that runs a job over so many rows."""
    draw = np.random.default_rng(1)
    sites = pa.DictionaryArray.from_arrays(draw.integers(0, 3, rows, np.int32), pa.array(["a", "b", "c"]))
    columns = {"site": sites, "minutes": draw.random(rows) * 60, "user": draw.integers(0, rows // 20, rows)}
    pq.write_table(pa.table(columns), folder / "visits.parquet", row_group_size=2**17)
    job = write_job(folder)
    text = job.read_text().replace("visits.csv", "visits.parquet")
    for old, new in replaced:
        assert old in text
        text = text.replace(old, new)
    job.write_text(text)
    ledger(folder)
    command = [sys.executable, "-c", RUN, str(job), f"n{rows}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return 1024 * int(done.stdout)


def test_without_people_memory_does_not_grow(tmp_path):
    """1.5 million rows more are 30 MB in their three columns; what threads and pages hold by chance is less."""
    small, large = peak_bytes(tmp_path, 300_000), peak_bytes(tmp_path, 1_800_000)
    assert large - small < 20e6


@pytest.mark.slow
def test_with_people_it_is_as_documented(tmp_path):
    """About 150 bytes a row beside the columns that are read, 24 bytes here and 8 for the group."""
    person = ('visits.parquet"', 'visits.parquet"\nperson = "user"')
    small, large = peak_bytes(tmp_path, 1_000_000, person), peak_bytes(tmp_path, 4_000_000, person)
    assert (large - small) / 3_000_000 < 220
