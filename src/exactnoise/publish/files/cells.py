"""Text to columns of a declared kind, without ever raising: what is not of that kind is a missing value.

How a cell is understood depends on the declared kind and on the cell, never on the cells around it.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.publish.files.table import Kind

__all__ = ["Cells", "as_text", "cells_of"]

_MOST_REMEMBERED = 2**16
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def as_text(value: Any) -> str:
    """Any value as text: dates as ISO 8601 has them, bytes in hexadecimal digits."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    return value.hex() if isinstance(value, bytes) else str(value)


#: From cells of text to a column.
Cells = Callable[[Sequence[str]], Any]


def cells_of(kind: Kind) -> Cells:
    """What reads cells of this kind."""
    match kind:
        case "number":
            return numbers
        case "exact":
            return exact_integers
        case "texts":
            return list
        case "person":
            return lambda cells: [cell or None for cell in cells]
        case "integers":
            return _Converted(_integer)
        case "booleans":
            return _Converted(lambda cell: _BOOLEANS.get(cell.strip().lower()))
        case "dates":
            return _Converted(_date)
        case "times":
            return _Converted(_time)


def numbers(cells: Sequence[str]) -> npt.NDArray[np.float64]:
    """float64, a NaN for what is no number."""
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        return np.fromiter(map(_number, cells), np.float64, len(cells))


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return np.nan


def exact_integers(cells: Sequence[str]) -> np.ma.MaskedArray[Any, np.dtype[np.int64]]:
    """int64, saturating; masked where there is no whole number."""
    values = [_integer(cell) for cell in cells]
    limits = np.iinfo(np.int64)
    filled = [0 if value is None else min(max(value, limits.min), limits.max) for value in values]
    return np.ma.MaskedArray(np.array(filled, np.int64), mask=[value is None for value in values])


class _Converted(dict[str, Any]):
    """The objects that cells stand for, each worked out once: key columns repeat themselves."""

    def __init__(self, convert: Callable[[str], Any]) -> None:
        self._convert = convert

    def __missing__(self, cell: str) -> Any:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[cell] = value = self._convert(cell)
        return value

    def __call__(self, cells: Sequence[str]) -> list[Any]:
        return list(map(self.__getitem__, cells))


def _integer(cell: str) -> int | None:
    try:
        return int(cell)
    except ValueError:
        return None


def _date(cell: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(cell.strip())
    except ValueError:
        return None


def _time(cell: str) -> datetime.datetime | None:
    try:
        time = datetime.datetime.fromisoformat(cell.strip())
    except ValueError:
        return None
    return time if time.tzinfo is None else None
