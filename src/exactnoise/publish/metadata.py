"""The ``*.release.json`` document: what was released and what may be promised about it."""

from __future__ import annotations

import platform
import secrets
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

import exactnoise
from exactnoise import _native
from exactnoise.accounting.amount import Number, exact, text
from exactnoise.mechanisms import AdditiveMechanism

__all__ = ["describe", "versions"]


def describe(
    mechanism: AdditiveMechanism,
    *,
    column: str,
    rows: int,
    missing: str | None = None,
    neighbors: str | None = None,
    unit: str | None = None,
    release_id: str | None = None,
    label: str | None = None,
) -> dict[str, Any]:
    """One release by one mechanism, in JSON's types.

    Nothing here depends on the exact numbers; `rows` is the length of the released table.
    """
    cost = mechanism.cost
    return {
        "format": "exactnoise-release/1",
        "id": release_id or secrets.token_hex(8),
        "label": label,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "mechanism": type(mechanism).__name__,
        "mechanism_repr": repr(mechanism),
        "scale": _exact_pair(mechanism.scale),
        "granularity": _exact_pair(mechanism.granularity),
        "sensitivity": _amount(mechanism.sensitivity),
        "epsilon": _amount(cost.epsilon),
        "delta": _amount(cost.delta),
        "rho": _amount(cost.rho),
        "composition": "single release",
        "neighbors": neighbors,
        "unit": unit,
        "column": column,
        "missing": missing,
        "rows": rows,
        "ledger": None,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """What made the numbers."""
    return {
        "exactnoise": exactnoise.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "instruction_set": _native.SIMD,
    }


def _amount(value: Number | None) -> str | None:
    return None if value is None else text(exact(value, "amount", positive=False, price=True))


def _exact_pair(value: int | float | Fraction) -> dict[str, str]:
    """A double as decimal text that reads back as the same double, and as the fraction it is."""
    return {"decimal": repr(float(value)), "fraction": str(Fraction(value))}
