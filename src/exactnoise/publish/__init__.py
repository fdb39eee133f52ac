"""From a table to a frozen, accounted snapshot.

`publish` reserves the price in a ledger, makes the table, and commits it once; the file that it leaves is a `Snapshot`.
"""

from exactnoise.publish.publish import publish
from exactnoise.publish.snapshot import Snapshot

__all__ = ["Snapshot", "publish"]
