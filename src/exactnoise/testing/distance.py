"""How far apart the inputs of a release are on neighbouring data, in the norm that its mechanism's theorem is about."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.mechanisms import (
    AdditiveMechanism,
    DiscreteGaussian,
    Gaussian,
    LocalRandomizer,
    Mechanism,
    SelectionMechanism,
    Snapping,
)
from exactnoise.mechanisms._parameters import root_above
from exactnoise.testing.recording import Call

__all__ = ["Distance", "declared_sensitivity", "measured"]

Distance = Fraction | float  # a float is infinite

_IN_L2 = (Gaussian, DiscreteGaussian)


def declared_sensitivity(mechanism: Mechanism) -> Fraction:
    """What the mechanism allows; of a local randomiser one person's category, whatever it changes to."""
    if isinstance(mechanism, (AdditiveMechanism, Snapping, SelectionMechanism)):
        return mechanism.sensitivity
    return Fraction(1)


def measured(before: Call, after: Call) -> tuple[Distance, str | None]:
    """Return the exact distance of two calls of one mechanism, and what is wrong with it, in words."""
    mechanism, sensitivity = before.mechanism, declared_sensitivity(before.mechanism)
    where, changes = _changes(before.inputs, after.inputs)
    sizes = [abs(change) for change in changes]
    if isinstance(mechanism, SelectionMechanism):
        distance = _exact(max(sizes, default=0))
        if distance > sensitivity:
            return distance, f"a score changes by {_text(distance)}, and its sensitivity is {sensitivity}. {_SCORES}"
        return distance, _of_rows(mechanism, before, where, changes)
    if isinstance(mechanism, LocalRandomizer):
        distance = Fraction(len(changes))
        problem = f"{len(changes)} reports change, and one call takes one report of each person. A person who reports "
        return distance, f"{problem}twice pays twice" if distance > 1 else None
    if isinstance(mechanism, _IN_L2):
        norm = "L2"
        square = _exact(sum(size**2 for size in sizes))
        distance = square if isinstance(square, float) else root_above(square)
        exceeds = square > sensitivity**2
    else:
        norm = "L1"
        distance = _exact(sum(sizes))
        exceeds = distance > sensitivity
    if not exceeds:
        return distance, None
    return distance, (
        f"its inputs are {_text(distance)} apart in the {norm} norm, and its sensitivity is {sensitivity}. Bound what "
        "one row or person can change (clip, then use only the clipped values), add exactly (integers, not floats), "
        "or declare the true sensitivity"
    )


_SCORES = "Bound what one row or person can change in any one score, or declare the true sensitivity"


def _of_rows(mechanism: SelectionMechanism, call: Call, where: npt.NDArray[Any], changes: list[Any]) -> str | None:
    """What is wrong with how scores change: within a row, or in more rows than the call has paid for."""
    candidates = call.inputs.shape[-1]
    rows = (where // candidates).tolist()
    for row in set(rows) if mechanism.monotonic else ():
        signs = {change > 0 for own, change in zip(rows, changes, strict=True) if own == row}
        if len(signs) > 1:
            return "one score rises and another falls, and monotonic=True says that all move one way; leave it out"
    paid = {"add-remove": 1, "replace-one": 2}.get(call.options["neighbors"])
    if paid is not None and len(set(rows)) > paid:
        return f"{len(set(rows))} rows change, and disjoint=True says that no person is in two of them"
    return None


def _changes(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], list[Any]]:
    """Where two arrays of one shape differ, and b - a there: exact, or infinite."""
    a, b = a.reshape(-1), b.reshape(-1)
    where = np.flatnonzero(a != b)
    return where, [_change(x, y) for x, y in zip(a[where].tolist(), b[where].tolist(), strict=True)]


def _change(x: Any, y: Any) -> Fraction | float | int:
    if any(isinstance(value, float) and math.isinf(value) for value in (x, y)):
        return -math.inf if x > y else math.inf
    if isinstance(x, int) and isinstance(y, int):
        return y - x
    return Fraction(y) - Fraction(x)


def _exact(distance: Distance | int) -> Distance:
    return distance if isinstance(distance, float) else Fraction(distance)


def _text(distance: Distance) -> str:
    return "infinitely far" if isinstance(distance, float) else str(distance)
