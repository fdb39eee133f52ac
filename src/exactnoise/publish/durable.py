"""Files that are on the disk, and under their name only when they are finished."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from exactnoise.ledger.disk import folder_to_disk

__all__ = ["check_folder", "folder_to_disk", "give_usual_permissions", "make_private", "sha256_of", "to_disk"]

_CHUNK = 2**20

_asking = threading.Lock()


def check_folder(path: Path) -> None:
    """Find out that there is a folder to put a file in, before anything is paid for."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder; nothing was spent", str(path.parent))


def make_private(path: Path) -> None:
    """Create an empty file that only its owner can read; what exists under the name is an OSError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def to_disk(path: Path) -> None:
    """Force a file's bytes to the disk."""
    handle = os.open(path, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def give_usual_permissions(*paths: Path) -> None:
    """Those of any new file: what was private while it was unfinished is made to be handed on."""
    with _asking:  # the system tells it only by changing it
        umask = os.umask(0o077)
        os.umask(umask)
    for path in paths:
        path.chmod(0o666 & ~umask)


def sha256_of(path: Path, tell: Callable[[int], object] = lambda read: None) -> str | None:
    """The digest of a file's bytes; None where there is no regular file, from a pipe for one, which would never end.

    `tell` is called with the number of bytes read so far.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb", buffering=0) as file:
            digest = hashlib.sha256()
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
                tell(file.tell())
            return digest.hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
