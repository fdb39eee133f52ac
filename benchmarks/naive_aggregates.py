"""Sums, counts and bins, naively: the lines that suggest themselves. Their sums round, so that order matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def clipped_sum(x: Array, low: float, high: float) -> Any:
    return np.clip(x, low, high).sum()


def grouped_sum(x: Array, codes: Array, low: float, high: float) -> Array:
    return np.bincount(codes, weights=np.clip(x, low, high))


def moments(x: Array, low: float, high: float) -> tuple[Any, Any]:
    y = np.clip(x, low, high) - (low + high) / 2
    return y.sum(), np.square(y).sum()


def count(codes: Array) -> Array:
    return np.bincount(codes)


def bins(x: Array, edges: Array) -> Array:
    return np.digitize(x, edges)


def row_sum(rows: Array) -> Array:
    return rows.sum(axis=0)
