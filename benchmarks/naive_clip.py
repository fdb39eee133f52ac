"""Clipping the rows of a matrix, naively: the line that suggests itself. It overshoots the bound by rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def clip_l2(rows: Array, bound: float) -> Array:
    """Scale each row by min(1, bound / Euclidean norm)."""
    return rows * np.minimum(1, bound / np.linalg.norm(rows, axis=1, keepdims=True))


def clip_l1(rows: Array, bound: float) -> Array:
    """Scale each row by min(1, bound / L1 norm)."""
    return rows * np.minimum(1, bound / np.abs(rows).sum(axis=1, keepdims=True))


#: Our function's name -> the naive one.
NAIVE_CLIP = {"clip_l1": clip_l1, "clip_l2": clip_l2}
