"""Text cells of one column to an array: the only place that looks at a value.

A good column takes the fast line of each function; the slow one is there for missing values,
integers beyond int64 and cells that are not numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["CellError", "parse_integers", "parse_reals"]

_INT64 = np.iinfo(np.int64)
_MISSING = frozenset({"", "na", "nan"})  # an empty cell, and how R and pandas write one
# Zeros in front are left to lstrip: "0*" before "\d+" would try every way to share them out.
_WHOLE = re.compile(r"([+-]?)(\d+)(?:\.0*)?", re.ASCII)
_NUMBER = "a number (written as 1200 or 12.5; empty, NA or NaN where it is missing)"
_MOST_DIGITS = 19  # of an int64: whatever has more saturates


class CellError(Exception):
    """A cell that is not a number. Knows where it is, never what it says.

    Attributes
    ----------
    index : int
        Position among the cells that were being parsed.
    expected : str
        What the cell should have been, with its article.
    """

    def __init__(self, index: int, expected: str) -> None:
        super().__init__(index, expected)
        self.index = index
        self.expected = expected


def parse_integers(cells: Sequence[str], missing: int, instead: str = "laplace") -> NDArray[np.int64]:
    """Whole numbers to int64, saturating; missing cells become `missing`.

    ``12.0`` is a whole number too (a column that once had gaps is often written so).

    Raises
    ------
    CellError
        For the first cell that is not a whole number.
    """
    try:
        return np.fromiter(map(int, cells), np.int64, len(cells))
    except (ValueError, OverflowError):
        pass
    values = np.empty(len(cells), np.int64)
    for index, cell in enumerate(cells):
        value = missing if cell.strip().lower() in _MISSING else _whole_number(cell)
        if value is None:
            whole = f"a whole number (for real numbers say --mechanism {instead})"
            raise CellError(index, whole if _is_real(cell) else _NUMBER)
        values[index] = min(max(value, _INT64.min), _INT64.max)
    return values


def parse_reals(cells: Sequence[str]) -> NDArray[np.float64]:
    """Numbers to float64; missing cells become NaN, which the mechanism replaces.

    Raises
    ------
    CellError
        For the first cell that is not a number.
    """
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        pass
    values = np.empty(len(cells), np.float64)
    for index, cell in enumerate(cells):
        try:
            values[index] = np.nan if cell.strip().lower() in _MISSING else float(cell)
        except ValueError:
            raise CellError(index, _NUMBER) from None
    return values


def _is_real(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _whole_number(cell: str) -> int | None:
    try:
        return int(cell)
    except ValueError:
        pass  # not one, or of more digits than Python will parse
    match = _WHOLE.fullmatch(cell.strip())
    if match is None:
        return None
    sign, digits = match[1], match[2].lstrip("0") or "0"
    return int(sign + (digits if len(digits) <= _MOST_DIGITS else str(2**63)))
