"""Sharing tasks out to threads, so that none is still running when it is over, however it ends.

The standard pools lose a thread if Ctrl-C comes while they start or join it. Here that thread would go on writing
to the caller's array with a key that is being wiped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

__all__ = ["for_each"]


def for_each(task: Callable[[int], None], count: int, workers: int) -> None:
    """Run task(0) .. task(count - 1) on up to `workers` threads.

    Raises
    ------
    BaseException
        The first exception of a task, or what interrupts the caller; no task is started after it, and all have
        ended when it is raised.
    """
    if workers == 1 or count <= 1:
        for i in range(count):
            task(i)
        return
    crew = _Crew(task, count)
    try:
        for _ in range(min(workers, count)):
            threading.Thread(target=crew.work, daemon=True).start()
        crew.wait_for_end()
    finally:
        crew.dismiss()
    if crew.failure is not None:
        raise crew.failure


class _Crew:
    """Tasks, and the threads at work on them, counted by themselves: a thread that starts late finds nothing to do."""

    def __init__(self, task: Callable[[int], None], count: int) -> None:
        self.failure: BaseException | None = None
        self._task = task
        self._count = count
        self._next = 0
        self._finished = 0
        self._at_work = 0
        self._stopped = False
        self._changed = threading.Condition()

    def work(self) -> None:
        while (i := self._take()) is not None:
            try:
                self._task(i)
            except BaseException as error:
                self._put_down(error)
            else:
                self._put_down(None)

    def wait_for_end(self) -> None:
        with self._changed:
            while not self._stopped and self._finished < self._count:
                self._changed.wait()

    def dismiss(self) -> None:
        """Let nobody begin another task, and wait for those at work; they need milliseconds."""
        while True:
            try:
                with self._changed:
                    self._stopped = True
                    while self._at_work:
                        self._changed.wait()
                return
            except KeyboardInterrupt:
                continue  # the interrupt that is already on its way out will do

    def _take(self) -> int | None:
        with self._changed:
            if self._stopped or self._next == self._count:
                return None
            self._next += 1
            self._at_work += 1
            return self._next - 1

    def _put_down(self, error: BaseException | None) -> None:
        with self._changed:
            self._at_work -= 1
            self._finished += 1
            if error is not None:
                self.failure = self.failure or error
                self._stopped = True
            self._changed.notify_all()
