"""A released table and its metadata, put in place together or not at all.

Both are written to temporary files beside their destination (mode 0600, forced to disk). Then the
metadata is renamed first and the table last: **the table's name appears only when everything is
done**, so a table that exists always has the metadata it was released with. If the machine dies
between the two renames, what is left is metadata without a table (or, with ``force``, beside the
older table, whose sha256 it does not match), never a table nobody can account for. A process that
is killed outright leaves its ``.NAME.*.partial`` files: delete them unread, they are part of a
release that was never finished.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from exactnoise.cli.errors import UsageError
from exactnoise.cli.ledger_file import is_ledger
from exactnoise.publish.durable import check_folder, folder_to_disk, give_usual_permissions, sha256_of
from exactnoise.publish.metadata import metadata_path

__all__ = ["ReleaseFiles", "metadata_path"]


class ReleaseFiles:
    """Context manager: `write` the table, `commit` once; left without a commit, nothing remains.

    Parameters
    ----------
    path : Path
        The table's destination; `metadata_path` tells the other.
    force : bool
        Replace what exists, if it is neither a ledger nor paid for from one.
    source : os.stat_result, optional
        The file the table is made from, which is not replaced under any name.

    Raises
    ------
    UsageError
        A destination exists and `force` is false, or it is not a file, or it is `source`.
    OSError
        The folder is missing or cannot be written to.
    """

    def __init__(self, path: Path, *, force: bool, source: os.stat_result | None = None) -> None:
        if path.is_dir():
            raise UsageError(f"{path} is a folder: OUT is the name of a file")
        check_folder(path)
        self._path = path
        self._metadata = metadata_path(path)
        self._force = force
        self._source = source
        self._refuse_to_overwrite()
        self._temporary: list[Path] = []
        self._table = self._create()

    def __enter__(self) -> ReleaseFiles:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._table.close()
        for path in self._temporary:
            path.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """Append to the table."""
        self._table.write(data)

    @property
    def unfinished(self) -> Path:
        """Where the table is until it is put in place, for what writes it under a name."""
        return self._temporary[0]

    def commit(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Put both files in place; return `metadata` with the table's ``sha256``, as written."""
        self._table.flush()
        document = {**metadata, "sha256": sha256_of(self.unfinished)}
        with self._create() as description:
            description.write(json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n")
            _to_disk(description)
        _to_disk(self._table)
        self._table.close()
        self._refuse_to_overwrite()  # again: it may have appeared meanwhile
        table, released_metadata = self._temporary
        give_usual_permissions(table, released_metadata)
        released_metadata.replace(self._metadata)
        try:
            table.replace(self._path)
        except BaseException:
            if table.exists():  # an interrupt can also come when it has its name
                self._metadata.unlink()
            raise
        folder_to_disk(self._path.parent)
        return document

    def _create(self) -> BinaryIO:
        try:
            handle, name = tempfile.mkstemp(prefix=f".{self._path.name}.", suffix=".partial", dir=self._path.parent)
        except OSError as error:  # with the name that the user knows
            raise type(error)(error.errno, error.strerror, str(self._path)) from None
        self._temporary.append(Path(name))
        return os.fdopen(handle, "wb")

    def _refuse_to_overwrite(self) -> None:
        for path in (self._path, self._metadata):
            if not os.path.lexists(path):
                continue
            if self._source and path.exists() and os.path.samestat(path.stat(), self._source):
                name = "OUT" if path is self._path else "the metadata of OUT"
                raise UsageError(f"{name} is IN: the exact table would be lost")
            if path.is_symlink():  # such as /dev/stdout, or a name that others follow
                raise UsageError(f"{path} is a link, which a file would take the place of: name the file itself")
            if not self._force:
                raise UsageError(f"{path} exists already; --force replaces it")
            if not path.is_file():
                raise UsageError(f"{path} is not a file")
            if is_ledger(path):
                raise UsageError(f"{path} is a ledger: all that was spent from it would be forgotten")
            if path is self._metadata and _was_paid_for(path):
                raise UsageError(f"{self._path} was paid for from a ledger, and is never drawn again: move it away")


def _was_paid_for(metadata: Path) -> bool:
    try:
        document = json.loads(metadata.read_bytes())
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and document.get("ledger") is not None


def _to_disk(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
