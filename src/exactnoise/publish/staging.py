"""A table and its metadata on the way to their names: unfinished and private, then committed, then in place."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from exactnoise.errors import LedgerDamaged, SnapshotDamaged, SnapshotLost
from exactnoise.ledger.words import RESTORE
from exactnoise.publish.durable import folder_to_disk, give_usual_permissions, make_private, sha256_of, to_disk
from exactnoise.publish.metadata import metadata_path

__all__ = ["Digests", "Staging", "release_named_in", "remove_leftovers"]


class Digests(NamedTuple):
    """The sha256 of a table and of its metadata."""

    table: str
    metadata: str


class Staging:
    """Where the two files of one attempt wait for the commit.

    Parameters
    ----------
    target : Path
        The table's name in the end.
    ledger, id : str
        The ledger's and the release's.
    turn : int
        Whose attempt it is: a later one has other names, so that nothing of an earlier one can get into it.
    """

    def __init__(self, target: Path, ledger: str, id: str, turn: int) -> None:  # noqa: A002 - the word for it
        self._names = {"ledger": ledger, "id": id}
        self._prefix = _prefix(target, ledger, id)
        self._final = {"table": target, "metadata": metadata_path(target)}
        self._waiting = {
            "table": target.with_name(f"{self._prefix}{turn}.partial"),
            "metadata": target.with_name(f"{self._prefix}{turn}.json.partial"),
        }

    @property
    def target(self) -> Path:
        """The table's name in the end."""
        return self._final["table"]

    @property
    def table(self) -> Path:
        """The unfinished table."""
        return self._waiting["table"]

    def create(self) -> None:
        """Make both files, for their owner alone; what earlier attempts at the release left is removed unread."""
        self.refuse_foreign()
        try:
            remove_leftovers(self.target, **self._names)
            for path in self._waiting.values():
                make_private(path)
        except OSError as error:  # with the name that the user knows
            raise type(error)(error.errno, error.strerror, str(self.target)) from None

    def refuse_foreign(self) -> None:
        """Raise a FileExistsError where a file has one of the names, and a LedgerDamaged if it is this very release."""
        for path in self._final.values():
            if os.path.lexists(path):
                if release_named_in(self._final["metadata"]) == self._names:
                    raise LedgerDamaged(
                        f"{self.target} is the release {self._names['id']!r} of this ledger, which has forgotten it: "
                        "an older copy of the ledger was put in its place; restore the latest one, which has all spends"
                    )
                raise _foreign(path)

    def seal(self, document: Mapping[str, Any]) -> Digests:
        """Write the metadata, the table's sha256 with it; force all to the disk; return the digests to be committed."""
        table = sha256_of(self.table)
        written = json.dumps({**document, "sha256": table}, indent=2, ensure_ascii=False, default=_jsonable)
        # What no UTF-8 can hold, in a label say, is written as JSON's escape: the table has been paid for.
        self._waiting["metadata"].write_bytes(written.encode(errors="backslashreplace") + b"\n")
        for path in self._waiting.values():
            to_disk(path)
        folder_to_disk(self.table.parent)
        metadata = sha256_of(self._waiting["metadata"])
        if table is None or metadata is None:
            raise FileNotFoundError(errno.ENOENT, "was removed while it was being made", str(self.target))
        return Digests(table, metadata)

    def discard(self) -> None:
        """Remove what waits. Not for what may have been committed."""
        for path in self._waiting.values():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)

    def put_in_place(self, digests: Digests, *, sealed: bool = False) -> None:
        """Rename what was committed, the table last, so that a table always has its metadata; or find it done.

        Parameters
        ----------
        digests : Digests
            What was committed.
        sealed : bool
            The files have just been sealed by this process, and need no second look.

        Raises
        ------
        SnapshotLost, SnapshotDamaged
            A file is gone, or is not what was committed.
        FileExistsError
            Another file is under the name.
        """
        for role in ("metadata", "table"):
            waiting, final, digest = self._waiting[role], self._final[role], getattr(digests, role)
            if os.path.lexists(waiting):
                if not sealed and sha256_of(waiting) != digest:
                    raise SnapshotDamaged(f"{waiting} is not what was committed in the ledger")
                with contextlib.suppress(FileNotFoundError):  # another process was faster
                    give_usual_permissions(waiting)
                    _name(waiting, final, digest)
        folder_to_disk(self.table.parent)
        for role, final in self._final.items():
            if not os.path.lexists(final):
                raise SnapshotLost(f"{final} was released and is gone; it is not drawn again: {RESTORE}")
            if not sealed and sha256_of(final) != getattr(digests, role):
                raise SnapshotDamaged(
                    f"{final} is not what was released: its sha256 is not the one in the ledger; {RESTORE}"
                )


def remove_leftovers(target: Path, ledger: str, id: str) -> None:  # noqa: A002 - the word for it
    """Remove, unread, what unfinished attempts at a release left beside a target."""
    prefix = _prefix(target, ledger, id)
    for name in os.listdir(target.parent):  # noqa: PTH208 - one scan
        if name.startswith(prefix) and name.endswith(".partial"):
            (target.parent / name).unlink(missing_ok=True)


def release_named_in(metadata: Path) -> dict[str, Any] | None:
    """The ledger's and the release's names in a file of metadata; None where it is none of a ledger's release."""
    try:
        document = json.loads(metadata.read_bytes()) if metadata.is_file() else None
        return {"ledger": document["ledger"]["id"], "id": document["id"]} if document else None
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _prefix(target: Path, ledger: str, id: str) -> str:  # noqa: A002 - the word for it
    return f".{target.name}.{hashlib.sha256(f'{ledger} {id}'.encode()).hexdigest()[:12]}."


def _name(waiting: Path, final: Path, digest: str) -> None:
    """Rename, but never replace another file: not even one that appears at this moment."""
    try:
        os.link(waiting, final)
    except FileNotFoundError:
        raise
    except FileExistsError:
        if sha256_of(final) != digest:
            raise _foreign(final) from None
    except OSError:  # a file system without links
        if os.path.lexists(final) and sha256_of(final) != digest:
            raise _foreign(final) from None
        os.replace(waiting, final)  # noqa: PTH105 - tests stop the process here
        return
    waiting.unlink(missing_ok=True)


def _foreign(path: Path) -> FileExistsError:
    return FileExistsError(errno.EEXIST, "exists already and is not this release: move it away", str(path))


def _jsonable(value: Any) -> Any:
    """Dates and NumPy's numbers in the description of a statistic; what else there may be, as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)
