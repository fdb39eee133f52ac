"""Declined lanes that need no arbitrary precision, which are nearly all: native/settle.h."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from exactnoise._native import Plan
from exactnoise._refine.words import Extension

__all__ = ["settle"]


def settle(plan: Plan, pending: np.ndarray[Any, Any], out: np.ndarray[Any, Any], extension: Extension) -> int:
    """Decide lanes from their words, or from those and the first that extend them, and write their values to `out`.

    Returns
    -------
    int
        How many stay open: they move to the front of `pending`, and refinement starts them anew, with the same words.
    """
    left = plan.settle(pending, out)
    if left == 0 or plan.extension_count == 0:
        return left
    pending = pending[:left]
    words = [extension(lane, j) for lane in pending["lane"].tolist() for j in range(plan.extension_count)]
    return plan.settle(pending, out, array("Q", words))
