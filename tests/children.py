"""Run something in a forked process that may be killed, and learn what became of it."""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn


@dataclass(frozen=True)
class Outcome:
    """`value` of what returned, `error` of what raised; neither of what was killed."""

    value: Any = None
    error: BaseException | None = None
    killed: bool = False

    def result(self) -> Any:
        if self.error is not None:
            raise self.error
        assert not self.killed
        return self.value


class Child:
    """A process that is carrying out a task."""

    def __init__(self, task: Callable[[], Any]) -> None:
        self._read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._read)
            _carry_out(task, write)
        os.close(write)

    def outcome(self) -> Outcome:
        """Wait for its end."""
        with os.fdopen(self._read, "rb") as pipe:
            told = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status):
            assert os.WTERMSIG(status) == signal.SIGKILL, f"killed by signal {os.WTERMSIG(status)}"
            return Outcome(killed=True)
        return pickle.loads(told)


def _carry_out(task: Callable[[], Any], write: int) -> NoReturn:
    try:
        try:
            outcome = Outcome(value=task())
        except BaseException as error:
            error.add_note(traceback.format_exc())
            outcome = Outcome(error=error)
        with os.fdopen(write, "wb") as pipe:
            pipe.write(_pickled(outcome))
    finally:
        os._exit(0)


def _pickled(outcome: Outcome) -> bytes:
    try:
        return pickle.dumps(outcome)
    except Exception:  # a failed assertion, most of all
        return pickle.dumps(Outcome(error=AssertionError(f"{outcome}, {getattr(outcome.error, '__notes__', '')}")))


def in_child(task: Callable[[], Any]) -> Outcome:
    """Run one task and wait."""
    return Child(task).outcome()


def at_once(tasks: Sequence[Callable[[], Any]]) -> list[Outcome]:
    """Run tasks in a process each, that all begin together."""
    start, go = os.pipe()

    def waiting(task: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            os.close(go)
            os.read(start, 1)
            return task()

        return run

    children = [Child(waiting(task)) for task in tasks]
    os.close(start)
    os.close(go)
    return [child.outcome() for child in children]


def die() -> NoReturn:
    """As after kill -9."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """In a child: be nobody, to whom permissions apply."""
    if os.geteuid() == 0:
        os.setegid(65534)
        os.seteuid(65534)
    yield
