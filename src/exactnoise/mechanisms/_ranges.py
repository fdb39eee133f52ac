"""An output written range by range, each under a ChaCha20 key of its own, and zeroed if anything goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from exactnoise import _native
from exactnoise.mechanisms._engine import Randomness
from exactnoise.mechanisms._threads import for_each, surely

__all__ = ["Write", "write_in_ranges"]

#: Writes samples start .. stop with the words of a key, or of the operating system.
Write = Callable[[int, int, bytearray | None], None]

_SYSTEM_WORDS = 32  # calls of up to so many words take them from the system, with no cipher at all


def write_in_ranges(
    write: Write,
    n: int,
    size: int,
    out: npt.NDArray[Any],
    *,
    words: int,
    workers: int,
    randomness: Randomness,
) -> None:
    """Write n samples in ranges of `size`; all keys are drawn first. They take about `words` words in total.

    Raises
    ------
    BaseException
        Whatever stops it; then all of `out` is 0.
    """
    count = -(-n // size)
    keys = bytearray()
    complete = False
    try:
        if randomness == "chacha20" and words > _SYSTEM_WORDS:
            keys = bytearray(_native.KEY_BYTES * count)
            _native.fill_entropy(keys)

        def write_range(i: int) -> None:
            key = keys[_native.KEY_BYTES * i : _native.KEY_BYTES * (i + 1)] or None  # a copy that nobody else wipes
            try:
                write(i * size, min((i + 1) * size, n), key)
            finally:
                if key:
                    key[:] = bytes(len(key))

        for_each(write_range, count, workers)
        complete = True
    finally:
        if not complete:
            surely(lambda: out.fill(0))
        surely(lambda: keys.__setitem__(slice(None), bytes(len(keys))))
