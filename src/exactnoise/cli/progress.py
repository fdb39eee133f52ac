"""A progress bar for a file or for steps of equal length, on a terminal and nowhere else."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType
from typing import TextIO

__all__ = ["Progress"]

_INTERVAL = 0.1  # seconds between redraws, and before the first: short runs show nothing
_CLEAR_LINE = "\r\x1b[K"


class Progress:
    """How much of a known total is done, with the time left; erased at the end.

    Parameters
    ----------
    name : str
        What is being read or done.
    total : int or None
        Its size in bytes, or the number of steps; None or 0 (a pipe) shows nothing.
    stream : text stream, optional
        Standard error by default. Nothing is written unless it is a terminal
        (it can be closed).
    steps : bool
        The total is of steps, not of bytes: there is no rate to show.
    """

    def __init__(self, name: str, total: int | None, stream: TextIO | None = None, *, steps: bool = False) -> None:
        self._stream: TextIO | None = sys.stderr if stream is None else stream
        self._name = name
        self._steps = steps
        self._total = total or 0
        self._enabled = self._total > 0 and self._stream is not None and self._stream.isatty()
        self._start = self._redrawn = time.monotonic()
        self._visible = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._visible:
            self._write(_CLEAR_LINE)

    def update(self, done: int) -> None:
        """Redraw for `done` bytes or steps, at most ten times a second."""
        now = time.monotonic()
        if not self._enabled or now - self._redrawn < _INTERVAL:
            return
        self._redrawn = now
        width = shutil.get_terminal_size().columns
        line = _line(self._name, done, self._total, now - self._start, width - 3, self._steps)  # and ^C
        self._visible = True
        self._write(_CLEAR_LINE + line)

    def _write(self, text: str) -> None:
        assert self._stream is not None  # or the bar would not be enabled
        self._stream.write(text)
        self._stream.flush()


def _line(name: str, done: int, total: int, elapsed: float, width: int, steps: bool) -> str:
    """``visits.csv [#####-----]  50 %   12.3 MB/s  0:12 left``, cut to `width`."""
    done = min(done, total)
    rate = done / elapsed if elapsed > 0 else 0.0
    left = f"{_clock((total - done) / rate)} left" if rate > 0 else ""
    speed = "" if steps else f"{rate / 1e6:6.1f} MB/s  "
    tail = f" {done * 100 // total:3d} %  {speed}{left}"
    cells = max(10, min(40, width - len(name) - len(tail) - 3))
    full = done * cells // total
    return f"{name} [{'#' * full}{'-' * (cells - full)}]{tail}"[:width]


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
