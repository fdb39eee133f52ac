"""An output made range by range, each under a ChaCha20 key of its own, and zeroed if anything goes wrong.

All keys are drawn before the first value is written. Ranges are independent, so that threads may share them out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from exactnoise import _native
from exactnoise.mechanisms._options import Randomness
from exactnoise.mechanisms._threads import for_each, surely

__all__ = ["SYSTEM_WORDS", "Task", "ZeroedUnlessComplete", "run_in_ranges"]

#: Does samples start .. stop with the words of a key, or with those of the operating system.
Task = Callable[[int, int, bytearray | None], None]

SYSTEM_WORDS = 32  # calls of up to so many words take them from the system, with no cipher at all


class ZeroedUnlessComplete:
    """Sets all of an array to 0 if the block ends by an exception of any kind: no exact value stays behind."""

    def __init__(self, out: npt.NDArray[Any] | None) -> None:
        self._out = out

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        out = self._out
        if kind is not None and out is not None:
            surely(lambda: out.fill(0))


def run_in_ranges(task: Task, n: int, size: int, *, words: int, workers: int, randomness: Randomness) -> None:
    """Do n samples in ranges of `size`. They take about `words` words in total.

    Raises
    ------
    BaseException
        Whatever stops it.
    """
    count = -(-n // size)
    keys = bytearray()
    try:
        if randomness == "chacha20" and words > SYSTEM_WORDS:
            keys = bytearray(_native.KEY_BYTES * count)
            _native.fill_entropy(keys)

        def run(i: int) -> None:
            key = keys[_native.KEY_BYTES * i : _native.KEY_BYTES * (i + 1)] or None  # a copy that nobody else wipes
            try:
                task(i * size, min((i + 1) * size, n), key)
            finally:
                if key:
                    key[:] = bytes(len(key))

        for_each(run, count, workers)
    finally:
        surely(lambda: keys.__setitem__(slice(None), bytes(len(keys))))
