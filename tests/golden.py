"""Reference values of tests/vectors, and what a result on the safe side of one is."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent / "vectors"

# The rows are rounded to 25 digits.
_ROUNDED = Fraction(1, 10**24)


def load(name: str) -> Any:
    return json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))


def is_just_above(result: Fraction, value: str | Fraction, tolerance: float = 1e-15) -> bool:
    """At least the exact value, and above it by no more than the tolerance, in relative terms."""
    exact = Fraction(value)
    return exact * (1 - _ROUNDED) <= result <= exact * (1 + Fraction(tolerance))


def is_just_below(result: Fraction, value: str, tolerance: float = 1e-15) -> bool:
    """At most the exact value, and below it by no more than the tolerance, in relative terms."""
    exact = Fraction(value)
    return exact * (1 - Fraction(tolerance)) <= result <= exact * (1 + _ROUNDED)


def encloses(low: Fraction, high: Fraction, value: str, width: float) -> bool:
    """The exact value lies between the bounds, and they are no farther apart than this part of it."""
    exact = Fraction(value)
    return low <= exact * (1 + _ROUNDED) and exact * (1 - _ROUNDED) <= high and high - low <= exact * Fraction(width)
