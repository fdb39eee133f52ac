"""From a table to a frozen, accounted snapshot.

`publish` reserves the price in a ledger, makes the table, and commits it once; the file that it leaves is a `Snapshot`.
A `Job` is a publication written down in TOML: from a file of rows to a snapshot.
"""

from exactnoise.publish.job import Job
from exactnoise.publish.publish import publish
from exactnoise.publish.snapshot import Snapshot

__all__ = ["Job", "Snapshot", "publish"]
