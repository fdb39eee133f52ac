"""Arrays that hold the same items in other places of memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np


def layouts(x: np.ndarray) -> Iterator[np.ndarray]:
    """The same items elsewhere: next to each other, spread, backwards, not aligned, a field of a record."""
    yield x
    spread = np.zeros((len(x), 3), x.dtype)
    spread[:, 1] = x
    yield spread[:, 1]
    yield x[::-1].copy()[::-1]
    raw = np.zeros(x.nbytes + 1, "u1")
    odd = raw[1:].view(x.dtype)
    odd[:] = x
    yield odd
    record = np.zeros(len(x), [("a", "u1"), ("x", x.dtype)])
    record["x"] = x
    yield record["x"]
    x.flags.writeable = False
    yield x
