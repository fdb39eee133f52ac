"""Rows as the kernels read them, block by block, and the exact totals that they come to."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from exactnoise.mechanisms._arrow import is_table
from exactnoise.mechanisms._data import Lanes, is_untyped, read
from exactnoise.mechanisms._wide import Wide

__all__ = ["Block", "Chunk", "Integers", "Tally", "as_floats", "column"]

Integers = npt.NDArray[np.int64]

#: Rows between two looks at pending signals, and those that are converted at a time.
_BLOCK = 2**20
_STAGED = 2**15


class Tally(NamedTuple):
    """Exact totals of some rows.

    Attributes
    ----------
    rows : int
        How many rows were seen, whatever is in them.
    counts : ndarray of int64
        Rows that count, for each cell.
    totals : tuple of Wide
        Sums of values, and of squares.
    integers : bool
        Whether all columns were of integer types.
    """

    rows: int
    counts: Integers
    totals: tuple[Wide, ...] = ()
    integers: bool = True

    def __add__(self, other: Any) -> Tally:
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        integers = self.integers and other.integers
        return Tally(self.rows + other.rows, self.counts + other.counts, totals, integers)


class Block(NamedTuple):
    """Consecutive rows, as the kernels read them.

    Attributes
    ----------
    columns : tuple of ndarray
        float64, float32 or int64, of any stride.
    codes : ndarray of int64 or None
        The group of each row, -1 for none; None where all are in the one group.
    """

    columns: tuple[npt.NDArray[Any], ...]
    codes: Integers | None


class Chunk(NamedTuple):
    """Rows whose types have been checked and whose values have not been looked at.

    Attributes
    ----------
    columns : tuple of Lanes
        One-dimensional, of one length.
    codes : ndarray of int64 or None
        As in `Block`.
    size : int
        How many rows.
    """

    columns: tuple[Lanes, ...]
    codes: Integers | None
    size: int

    @property
    def is_integer(self) -> bool:
        return all(lanes.is_integer for lanes in self.columns)

    def outline(self, empty: Tally) -> Tally:
        """What is public of the chunk's totals."""
        return empty._replace(rows=self.size, integers=self.is_integer)

    def blocks(self, start: int, stop: int, *, whole: bool, missing: Fraction | None = None) -> Iterator[Block]:
        """Rows start .. stop: as int64 if `whole`, else as floats.

        A missing float is a NaN, which the kernels replace; a missing integer counts as `missing`, or its row as none.
        """
        direct = all(_is_direct(lanes, whole) for lanes in self.columns)
        size = _BLOCK if direct else _STAGED
        for first in range(start, stop, size):
            last = min(first + size, stop)
            codes = None if self.codes is None else self.codes[first:last]
            columns = []
            for lanes in self.columns:
                values = lanes.values[first:last]
                if not _is_direct(lanes, whole):
                    absent = None if lanes.missing is None else lanes.missing[first:last]
                    values = _as_integers(values) if whole else _as_floats(values, absent)
                    if whole and absent is not None and missing is None:
                        codes = np.where(absent, -1, 0 if codes is None else codes)
                    elif whole and absent is not None and missing is not None:
                        values[absent] = round(missing)
                columns.append(values)
            yield Block(tuple(columns), codes)


def _is_direct(lanes: Lanes, whole: bool) -> bool:
    """Whether the kernels can read the column where it is."""
    kinds = ("i8",) if whole else ("f8", "f4")
    return lanes.missing is None and any(lanes.values.dtype == np.dtype(kind) for kind in kinds)


def _as_integers(values: npt.NDArray[Any]) -> Integers:
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64)


def as_floats(lanes: Lanes) -> npt.NDArray[Any]:
    """A column as float64 or float32, missing values as NaN."""
    return lanes.values if _is_direct(lanes, False) else _as_floats(lanes.values, lanes.missing)


def _as_floats(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> npt.NDArray[Any]:
    with np.errstate(all="ignore"):  # signalling NaNs
        converted = values.astype(np.float32 if values.dtype.kind == "f" and values.dtype.itemsize == 4 else np.float64)
    if missing is not None:
        converted[missing] = np.nan
    return converted


def column(x: Any, name: str, *, accepted: str | None = None) -> Lanes:
    """Data of one value a row.

    A list of numbers has no type of its own: whether all of them are whole is known from the data alone, and nothing
    that is released may tell it. So they count as floats.
    """
    if is_table(x):
        accepted = accepted or "one column, a value a row"
        raise TypeError(f"{name} must be {accepted}; got a table of type {type(x).__name__}: pass one of its columns")
    lanes = read(x, name, accepted=accepted)
    if lanes.values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, a value a row; got shape {lanes.values.shape}")
    if lanes.is_integer and is_untyped(x):
        return Lanes(lanes.values.astype(np.float64), lanes.missing, lanes.scalar)
    return lanes
