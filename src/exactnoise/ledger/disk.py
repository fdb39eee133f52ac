"""Where a ledger may be: on a disk whose locks can be relied on."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

__all__ = ["folder_to_disk", "network_file_system"]

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {"afs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}


def network_file_system(folder: Path) -> str | None:
    """The kind of network file system that a folder is on; None for a local one, or where the system does not tell."""
    try:
        device = folder.stat().st_dev
        mounts = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return None
    number = f"{os.major(device)}:{os.minor(device)}"
    for mount in mounts:
        place, _, what = mount.partition(" - ")
        if place.split()[2:3] == [number]:
            kind = what.split()[:1]
            return kind[0] if kind and kind[0] in _NETWORK else None
    return None


def folder_to_disk(folder: Path) -> None:
    """Make names in a folder durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
