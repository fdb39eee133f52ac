"""What reads bytes that anybody may have made: each parser takes them in or raises what it documents, nothing else.

PARSERS maps a name to a `Parser`: examples to begin with, and a function of bytes and an empty folder that lets every
other exception through. Shared by test_parsers.py and atheris_parsers.py.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from exactnoise import (
    ExactNoiseError,
    LocalHashing,
    PrivacyBudget,
    PrivacyCost,
    RandomizedResponse,
    SymmetricUnaryEncoding,
)
from exactnoise.accounting.amount import exact
from exactnoise.cli.cells import parse_integers, parse_reals
from exactnoise.cli.errors import CommandError
from exactnoise.cli.table import Table
from exactnoise.errors import JobError, LedgerDamaged, LedgerUnavailable, SchemaError, SnapshotDamaged
from exactnoise.ledger import Ledger
from exactnoise.publish import Snapshot
from exactnoise.publish.files import open_table, read_columns
from exactnoise.publish.job import Job
from exactnoise.publish.metadata import FORMAT

COLUMNS = {
    "site": "texts",
    "minutes": "number",
    "visits": "exact",
    "age": "integers",
    "there": "booleans",
    "day": "dates",
    "at": "times",
    "user": "person",
}
HEADER = ",".join(COLUMNS).encode() + b"\n"
ROW = b'a,10.5,3,41,true,2024-02-29,2024-02-29T12:00:00+01:00,u1\n"b,""c",,x,,,\n'
TABLE = {"site": ["a", "b"], "minutes": [1.5, None], "visits": [3, 4], "age": [41, None], "there": [True, False]}


class Parser(NamedTuple):
    """Bytes that are taken in, and what does it."""

    examples: list[bytes]
    parse: Callable[[bytes, Path], None]


def _csv_of_a_job(data: bytes, folder: Path) -> None:
    """Behind a header no byte is an error: it would tell of a row after the price is paid."""
    path = folder / "table.csv"
    path.write_bytes(HEADER + data)
    with open_table(path, columns=COLUMNS, rows=3) as table:
        for chunk in table.chunks():
            assert set(chunk.columns) == set(COLUMNS)
            assert all(len(column) == chunk.rows for column in chunk.columns.values())


def _any_table(data: bytes, folder: Path) -> None:
    path = folder / "table.any"
    path.write_bytes(data)
    with contextlib.suppress(SchemaError), open_table(path, columns={"site": "texts", "minutes": "number"}) as table:
        for chunk in table.chunks():
            assert set(chunk.columns) == {"site", "minutes"}


def _csv_of_noise(data: bytes, folder: Path) -> None:
    path = folder / "table.csv"
    path.write_bytes(data)
    for parse in (parse_reals, lambda cells: parse_integers(cells, 0)):
        with contextlib.suppress(CommandError, SchemaError), Table(path, "visits") as table:
            for rows, values in table.chunks(3, parse):
                assert len(rows) == len(values)


def _released_csv(data: bytes, folder: Path) -> None:
    path = folder / "table.csv"
    path.write_bytes(data)
    with contextlib.suppress(SchemaError):
        read_columns(path)


def _snapshot(data: bytes, folder: Path) -> None:
    """Metadata of any content, of a table with the right digest where it is the metadata's."""
    table = folder / "out.csv"
    table.write_bytes(b"site,visits,mean,mean_std_error\na,3,1.5,0.25\n")
    digest = hashlib.sha256(table.read_bytes()).hexdigest().encode()
    Path(f"{table}.release.json").write_bytes(data.replace(b"DIGEST", digest))
    with contextlib.suppress(SnapshotDamaged):
        snapshot = Snapshot.open(table)
        assert isinstance(repr(snapshot), str)
        snapshot.read()
        snapshot.interval()


def _job(data: bytes, folder: Path) -> None:
    path = folder / "job.toml"
    path.write_bytes(data)
    with contextlib.suppress(JobError, FileNotFoundError):
        Job.load(path, date="2024-03-01")


def _budget_state(data: bytes, folder: Path) -> None:
    try:
        saved = json.loads(data)
    except (ValueError, RecursionError):
        return
    with contextlib.suppress(ValueError):
        PrivacyBudget.from_state(saved)


def _ledger(data: bytes, folder: Path) -> None:
    path = folder / "privacy.db"
    path.write_bytes(data)
    with contextlib.suppress(LedgerDamaged, LedgerUnavailable):
        ledger = Ledger(path)
        ledger.verify()
        ledger.history()
        ledger.export(io.StringIO())


def _amount(data: bytes, folder: Path) -> None:
    with contextlib.suppress(ValueError):
        exact(data.decode("utf-8", "replace"), "epsilon")


def _reports(data: bytes, folder: Path) -> None:
    """A server takes any bytes of the right length for reports."""
    for mechanism in MECHANISMS:
        size = mechanism.report_dtype.itemsize * int(np.prod(mechanism.report_shape, dtype=int))
        whole = data[: len(data) // size * size]
        reports = np.frombuffer(whole, mechanism.report_dtype).reshape(-1, *mechanism.report_shape)
        estimate = mechanism.estimate(reports)
        assert np.isfinite(estimate.counts).all()
        assert np.isfinite(estimate.std_error).all()


MECHANISMS = [
    RandomizedResponse(epsilon=1, categories=20),
    RandomizedResponse(epsilon=1, categories=300),
    SymmetricUnaryEncoding(epsilon=1, categories=19),
    LocalHashing(epsilon=1, categories=40),
]

JOB = b"""id = "visits-{date}"
data_version = "1"
[input]
path = "visits.csv"
person = "user"
[privacy]
epsilon = 0.5
ledger = "privacy.db"
budget = "visits"
[limits]
rows_per_person = 2
groups_per_person = 1
[keys]
site = ["a", "b"]
year = { from = 2020, to = 2024 }
[[statistic]]
kind = "count"
by = ["site", "year"]
[[statistic]]
kind = "quantile"
column = "minutes"
bounds = [0, 60.5]
q = 0.5
by = ["site", "year"]
weight = 3
[output]
path = "out.csv"
"""

_STATISTIC = {"column": "visits", "std_error": "mean_std_error", "mechanism": ["Laplace(sensitivity=1, epsilon=1)"]}
METADATA = {"format": FORMAT, "id": "day", "sha256": "DIGEST", "statistics": [_STATISTIC]}


def _arrow_examples() -> list[bytes]:
    table, ipc, parquet = pa.table(TABLE), io.BytesIO(), io.BytesIO()
    with pyarrow.ipc.new_file(ipc, table.schema) as writer:
        writer.write_table(table)
    pyarrow.parquet.write_table(table, parquet)
    return [ipc.getvalue(), parquet.getvalue()]


def _budget_example() -> bytes:
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1, delta="1e-6", method="zcdp")
    budget.spend(PrivacyCost(rho="0.001"), label="a")
    return json.dumps(budget.to_state()).encode()


def _ledger_example() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "privacy.db"
        Ledger(path).create("visits", epsilon=3, neighbors="add-remove", unit="person")
        return path.read_bytes()


PARSERS = {
    "csv of a job": Parser([ROW, b"a\r\n\xff\xfe\0,1\n"], _csv_of_a_job),
    "any table": Parser([*_arrow_examples(), HEADER + ROW, b"SQLite format 3\0" + bytes(84)], _any_table),
    "csv of noise": Parser([b"name,visits\na,3\n", b'\xef\xbb\xbf"visits"\r\n1e3\r\n'], _csv_of_noise),
    "released csv": Parser([b"site,visits\na,3\n", b'"a\nb",c\n1,0x1\n'], _released_csv),
    "snapshot": Parser([json.dumps(METADATA).encode()], _snapshot),
    "job": Parser([JOB], _job),
    "budget state": Parser([_budget_example()], _budget_state),
    "ledger": Parser([_ledger_example()], _ledger),
    "amount": Parser([b"1e-6", b"3/7", b"0.10"], _amount),
    "reports": Parser([bytes(range(60))], _reports),
}

__all__ = ["PARSERS", "ExactNoiseError", "Parser"]
