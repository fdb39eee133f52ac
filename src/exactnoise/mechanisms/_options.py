"""Checks of what every release is asked for besides its data: randomness, threads, and where to write."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from exactnoise.mechanisms._data import Lanes

__all__ = ["Randomness", "check_out", "check_randomness", "check_workers"]

Randomness = Literal["chacha20", "os"]

_RANDOMNESS = get_args(Randomness)


def check_randomness(randomness: object) -> None:
    if randomness not in _RANDOMNESS:
        raise ValueError(f"randomness must be 'chacha20' or 'os', got {randomness!r}")


def check_workers(workers: object) -> None:
    if isinstance(workers, (bool, np.timedelta64)) or not isinstance(workers, (int, np.integer)):
        raise TypeError(f"workers must be a whole number of threads, got {workers!r}")
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers!r}")


def check_out(out: object, lanes: Lanes, dtype: np.dtype[Any]) -> None:
    """An array of the result's shape that holds its dtype without loss: a cast would round off the grid or overflow."""
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
    if out.shape != lanes.values.shape:
        raise ValueError(f"out must have x's shape {lanes.values.shape}, got {out.shape}")
    if out.dtype.kind not in "if" or out.dtype.itemsize > 8 or not np.can_cast(dtype, out.dtype, "safe"):
        raise TypeError(f"out must have dtype {dtype}, the result's for this x, got {out.dtype}: convert x or out")
    if not out.flags.writeable:
        raise ValueError("out must be writeable")
