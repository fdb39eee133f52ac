"""Who is at work on a reservation, and whether they still live."""

from __future__ import annotations

import os
import platform
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

__all__ = ["Holder"]

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Holder:
    """A process, described so that no later process is taken for it.

    Attributes
    ----------
    host : str
    boot : str or None
        The system's start: after another one no earlier process lives.
    namespace : str or None
        The container's process ids, where the system has such.
    pid : int
    started : str or None
        When the process began, in the kernel's ticks: a process that got the same id later began later.
    token : str
        Which of the process's reservations it is.
    """

    host: str
    boot: str | None
    namespace: str | None
    pid: int
    started: str | None
    token: str

    @classmethod
    def current(cls) -> Holder:
        """This process, at work from now on, until it says `done`."""
        pid = os.getpid()
        holder = cls(platform.node(), _boot(), _namespace(), pid, _start_of(pid), secrets.token_hex(8))
        _at_work.add(holder.token)
        return holder

    @classmethod
    def read(cls, written: Mapping[str, Any]) -> Holder:
        """The holder that `written` described; a TypeError where it is none."""
        return cls(**written)

    def written(self) -> dict[str, Any]:
        """In JSON's types."""
        return asdict(self)

    def done(self) -> None:
        """Say that the process is no longer at work on it, whatever became of it."""
        _at_work.discard(self.token)

    def alive(self) -> bool | None:
        """Whether the holder is still at work; None where that cannot be seen from here."""
        if self.host != platform.node():
            return None
        if self.boot != _boot():
            return False
        if self.namespace != _namespace():
            return None
        if self.pid == os.getpid() and self.started == _start_of(self.pid):
            return self.token in _at_work
        if self.started is None:
            return _exists(self.pid)
        return self.started == _start_of(self.pid)

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


# What this process is at work on. A forked child has another process id, so what it inherits here is never asked for.
_at_work: set[str] = set()


def _boot() -> str | None:
    return _first_line(_PROC / "sys/kernel/random/boot_id")


def _namespace() -> str | None:
    try:
        return str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return None


def _start_of(pid: int) -> str | None:
    """When a process began; None where there is none, or only what is left of one that ended."""
    stat = _first_line(_PROC / str(pid) / "stat")
    if stat is None:
        return None
    state, *rest = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if state in "ZX" else rest[18]


def _exists(pid: int) -> bool | None:
    """Whether some process has this id, for systems that tell no more; it may be a later one."""
    if os.name != "posix":
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _first_line(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").split("\n", 1)[0]
    except OSError:
        return None
