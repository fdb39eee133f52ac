"""The ``*.release.json`` document: what was released and what may be promised about it."""

from __future__ import annotations

import ast
import platform
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import exactnoise
from exactnoise import _native, mechanisms
from exactnoise.accounting import PrivacyCost, Spend
from exactnoise.accounting.amount import Number, exact, text
from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism

__all__ = ["FORMAT", "amounts", "describe", "mechanism_of", "metadata_path", "noise_of", "statistics_of", "versions"]

FORMAT = "exactnoise-release/1"

_CURRENCIES = ("epsilon", "delta", "rho")


def metadata_path(table: Path) -> Path:
    """``visits.csv`` -> ``visits.csv.release.json``, so that the two sort side by side."""
    return table.with_name(table.name + ".release.json")


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
    return {
        "format": FORMAT,
        "id": release_id or secrets.token_hex(8),
        "label": label,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **noise_of(mechanism),
        **amounts(mechanism.cost),
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


def noise_of(mechanism: Mechanism) -> dict[str, Any]:
    """What the noise of a mechanism is, exactly."""
    noise: dict[str, Any] = {"mechanism": type(mechanism).__name__, "mechanism_repr": repr(mechanism)}
    for name, written in (("scale", _exact_pair), ("granularity", _exact_pair), ("sensitivity", _amount)):
        value = getattr(mechanism, name, None)
        if value is not None:
            noise[name] = written(value)
    return noise


def mechanism_of(pasted: str | None) -> Mechanism | None:
    """The mechanism that a repr describes; None where it is none of this package."""
    try:
        call = ast.parse(pasted or "", mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
            return None
        kind = getattr(mechanisms, call.func.id, None)
        if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
            return None
        made = kind(**{str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords})
    except (SyntaxError, TypeError, ValueError):
        return None
    return made


def statistics_of(made: Any, history: Sequence[Spend], columns: Sequence[str]) -> list[dict[str, Any]]:
    """How the columns of a table were made: what `made` says of itself, or else what was spent.

    Each statistic has its noise exactly, and the name of its column where it is known.
    """
    if callable(getattr(made, "metadata", None)):
        said = made.metadata()
        statistics = [dict(one) for one in ([said] if isinstance(said, Mapping) else said)]
    else:
        statistics = [
            {"label": spend.label, "mechanism": [spend.mechanism], **amounts(spend.cost), "column": spend.label}
            for spend in history
        ]
    for statistic in statistics:
        described = map(mechanism_of, statistic.get("mechanism") or ())
        statistic["noise"] = [noise_of(mechanism) for mechanism in described if mechanism is not None]
        for role, default in (("column", statistic.get("statistic")), ("std_error", "std_error")):
            named = statistic.get(role, default)
            statistic[role] = named if named in columns else None
    return statistics


def amounts(cost: PrivacyCost) -> dict[str, str | None]:
    """A price in all its currencies."""
    return {name: None if (value := getattr(cost, name)) is None else text(value) for name in _CURRENCIES}


def _amount(value: Number | None) -> str | None:
    return None if value is None else text(exact(value, "amount", positive=False, price=True))


def _exact_pair(value: int | float | Fraction) -> dict[str, str]:
    """A double as decimal text that reads back as the same double, and as the fraction it is."""
    return {"decimal": repr(float(value)), "fraction": str(Fraction(value))}
