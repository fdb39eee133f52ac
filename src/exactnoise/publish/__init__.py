"""From a table to a frozen, accounted snapshot.

`publish` reserves the price in a ledger, makes the table, and commits it once; the file that it leaves is a `Snapshot`.
A `Job` is a publication written down in TOML: from a file of rows to a snapshot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exactnoise.publish.publish import publish
from exactnoise.publish.snapshot import Snapshot

if TYPE_CHECKING:
    from exactnoise.publish.job import Job

__all__ = ["Job", "Snapshot", "publish"]


def __getattr__(name: str) -> Any:
    """Import jobs, and all statistics with them, when they are first used."""
    if name != "Job":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from exactnoise.publish.job import Job

    return Job
