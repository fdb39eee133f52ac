"""Sharing tasks out to threads, so that none is still running when it is over, however it ends.

The standard pools and threads wait in ways that a signal's exception can break out of, and then leave a thread
behind. Here that thread would go on writing to the caller's array with a key that is being wiped. So this module
keeps to operations that an exception cannot leave half done: counting, adding to a set or a list, and a bare lock.
"""

from __future__ import annotations

import itertools
import time
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable

__all__ = ["for_each", "surely"]


def for_each(task: Callable[[int], None], count: int, workers: int) -> None:
    """Run task(0) .. task(count - 1) on up to `workers` threads.

    Raises
    ------
    BaseException
        The first exception of a task, or what interrupts the caller; no task is started after it, and all have ended
        when it is raised.
    """
    if workers == 1 or count <= 1:
        for i in range(count):
            task(i)
        return
    crew = _Crew(task, count)
    try:
        for _ in range(min(workers, count)):
            start_new_thread(crew.work, ())
        crew.over.acquire()
    finally:
        surely(crew.dismiss)
    if crew.failures:
        raise crew.failures[0]


def surely(action: Callable[[], None]) -> None:
    """Carry an action through although signals raise exceptions meanwhile; for when one is already on its way out."""
    while True:
        try:
            action()
        except BaseException:
            continue
        return


class _Crew:
    """Tasks, and the threads at work on them. A thread that comes late, or is started late, finds nothing to do."""

    def __init__(self, task: Callable[[int], None], count: int) -> None:
        self.failures: list[BaseException] = []
        self.over = allocate_lock()  # held until all is done, or something failed
        self.over.acquire()
        self._task = task
        self._count = count
        self._numbers = itertools.count()
        self._done: set[int] = set()
        self._at_work: set[int] = set()
        self._dismissed = False

    def work(self) -> None:
        for i in self._numbers:
            if i >= self._count:
                return
            self._at_work.add(i)  # first, so that dismiss waits for whoever did not see it
            try:
                if self._dismissed:
                    return
                self._task(i)
                self._done.add(i)
            except BaseException as error:
                self.failures.append(error)
                self._dismissed = True
            finally:
                self._at_work.discard(i)
                if self.failures or len(self._done) == self._count:
                    self._end()

    def dismiss(self) -> None:
        """Let nobody begin another task, and wait for those at work; they need milliseconds."""
        self._dismissed = True
        while self._at_work:
            time.sleep(0.0002)

    def _end(self) -> None:
        try:
            self.over.release()
        except RuntimeError:
            return  # another thread was as fast
