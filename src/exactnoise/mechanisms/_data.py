"""What users pass as data, read without loss and without ever depending on a value.

The form in which data is released, and the result's dtype, follow from the input's type and the mechanism alone. Python
lists are read element by element, since NumPy would choose a dtype by the values in them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._refine import Form
from exactnoise.mechanisms import _arrow

__all__ = ["DECIMALS", "KERNEL_DTYPES", "Lanes", "is_untyped", "read"]

_NUMERIC = re.compile("u?int(8|16|32|64)|float(16|32|64)?|double|halffloat|bool(ean)?")

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_ACCEPTED = (
    "numbers: integers, booleans or floats of up to 64 bits, as a NumPy array, a list, a pandas, Polars or "
    "Arrow column, or a single number"
)
_LISTS = "a list of numbers, or nested lists of one shape"

#: What to do with decimals, which neither integers nor doubles hold.
DECIMALS = "convert decimals to floats (double), or to whole numbers of a smaller unit, such as cents"
_WAYS_OUT = {
    "a column of type decimal": DECIMALS,
    "a list with Decimal in it": DECIMALS,
    "dtype object": "convert it with astype(float), or with astype(int) where all are whole",
}


class Lanes(NamedTuple):
    """Data as the engine reads it.

    Attributes
    ----------
    values : ndarray
        Of any shape, layout and byte order; bool, integer or floating.
    missing : ndarray of bool or None
        Lanes without a value, which count as the mechanism's public replacement.
    scalar : {"python", "numpy", None}
        Whether the result is a Python number, a NumPy scalar, or an array.
    """

    values: npt.NDArray[Any]
    missing: npt.NDArray[np.bool_] | None
    scalar: str | None

    @property
    def is_integer(self) -> bool:
        return self.values.dtype.kind in "iub"

    @property
    def is_float32(self) -> bool:
        return self.values.dtype.kind == "f" and self.values.dtype.itemsize == 4

    def piece(self, start: int, stop: int, dtype: np.dtype[Any], nan: float) -> npt.NDArray[Any]:
        """Samples start..stop in C order, converted without loss: a contiguous copy of the engine's own.

        A missing float is a NaN, which the kernels replace; a missing integer is `nan`, rounded and saturated.
        """
        values = _flat(self.values, start, stop)
        if values.dtype.kind == "u" and values.dtype.itemsize == 8:
            values = np.minimum(values, np.uint64(_INT64_MAX))
        with np.errstate(all="ignore"):  # signalling NaNs
            piece = np.array(values, dtype=dtype, order="C")
        if self.missing is not None:
            piece[_flat(self.missing, start, stop)] = np.nan if dtype.kind == "f" else _saturated(round(nan))
        return piece

    def ranked(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Samples start..stop in C order as int64 or float64 of the same order and differences.

        A view where the layout allows it; what stands for a missing value means nothing.
        """
        values = _flat(self.values, start, stop)
        if values.dtype.kind == "u" and values.dtype.itemsize == 8:
            return np.asarray(values ^ np.uint64(2**63)).view(np.int64)
        dtype = np.dtype("f8" if values.dtype.kind == "f" else "i8")
        if values.dtype == dtype and values.flags.c_contiguous and values.flags.aligned:
            return values
        if values.dtype.kind == "f" and values.dtype.itemsize == 4:
            return _widened(values)
        with np.errstate(all="ignore"):  # signalling NaNs
            return np.array(values, dtype)

    def missing_piece(self, start: int, stop: int) -> npt.NDArray[np.bool_] | None:
        """Which of the samples start..stop are missing; None where none can be."""
        return None if self.missing is None else _flat(self.missing, start, stop)


def _widened(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """float32 as float64 by the core: NumPy would take subnormal numbers for 0 where a library sets flush-to-zero."""
    narrow = np.ascontiguousarray(values, np.float32)
    wide = np.empty(values.size)
    _native.widen(narrow, wide, simd=_native.SIMD)
    if not np.may_share_memory(narrow, values):
        narrow.fill(0)
    return wide


#: The dtypes that each form reads and writes.
KERNEL_DTYPES: dict[Form, tuple[np.dtype[Any], np.dtype[Any]]] = {
    "float64": (np.dtype("f8"), np.dtype("f8")),
    "float32": (np.dtype("f4"), np.dtype("f4")),
    "int64-float64": (np.dtype("i8"), np.dtype("f8")),
    "int64": (np.dtype("i8"), np.dtype("i8")),
}


class _UnreadableError(Exception):
    """What the data is, and what it must be."""

    def __init__(self, got: str, accepted: str = _ACCEPTED) -> None:
        super().__init__(got)
        self.accepted = accepted


def read(x: Any, name: str = "x", *, accepted: str | None = None) -> Lanes:
    """Turn what a user passes, as a parameter of this name, into lanes.

    `accepted` says in the message what it must be, for a parameter that takes less than any numbers.

    Raises
    ------
    TypeError
        The type is not one of numbers; types are public, values are not.
    """
    scalar = None
    if isinstance(x, (bool, int, float)) and not isinstance(x, np.generic):
        scalar = "python"
        x = [x]
    elif isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        scalar = "numpy"
    try:
        values, missing = _columns(x)
        if values.dtype.kind not in "iubf" or values.dtype.itemsize > 8:
            raise _UnreadableError(f"dtype {values.dtype}")
    except _UnreadableError as error:
        ways_out = (f": {way_out}" for got, way_out in _WAYS_OUT.items() if str(error).startswith(got))
        way_out = "" if accepted else next(ways_out, "")
        raise TypeError(f"{name} must be {accepted or error.accepted}; got {error}{way_out}") from None
    return Lanes(values.reshape(()) if scalar else values, missing, scalar)


def _columns(x: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """Values and mask of any column type, by what it can do and not by importing its library.

    A column's type decides before its values are looked at: conversions of the libraries' own choose a dtype by whether
    there are missing values.
    """
    if isinstance(x, np.ma.MaskedArray):
        return np.asarray(x.data), np.ma.getmaskarray(x)
    if isinstance(x, np.ndarray):
        return np.asarray(x), None
    if isinstance(x, range) or is_untyped(x):
        return _from_list(x if isinstance(x, (list, tuple, range)) else list(x))
    if _arrow.is_table(x):
        raise _UnreadableError(
            f"a table of type {type(x).__name__}: pass one of its columns, or all of its cells as one array, such as "
            "table.to_numpy()",
            "one column or an array",
        )
    if isinstance(x, Mapping):
        raise _UnreadableError(
            f"a {type(x).__name__}: pass [counts[key] for key in keys], for keys that are declared without looking at "
            "the data"
        )
    if hasattr(x, "is_null") and hasattr(x, "fill_null"):  # Arrow arrays and Polars series
        kind = str(getattr(x, "type", None) or getattr(x, "dtype", None)).lower()
        if not _NUMERIC.fullmatch(kind):
            raise _UnreadableError(f"a column of type {kind}")
        missing = np.asarray(x.is_null(), dtype=np.bool_)
        return np.asarray(x.fill_null(False if kind.startswith("bool") else 0)), missing
    if hasattr(x, "isna") and not isinstance(getattr(x, "dtype", None), np.dtype):  # pandas' own types
        numpy_dtype = getattr(x.dtype, "numpy_dtype", None)
        if not isinstance(numpy_dtype, np.dtype) or numpy_dtype.kind not in "iubf":
            raise _UnreadableError(f"a column of type {x.dtype}")
        missing = np.asarray(x.isna(), dtype=np.bool_)
        return np.asarray(x.to_numpy(dtype=numpy_dtype, na_value=numpy_dtype.type(0))), missing
    if _arrow.exports(x) and not isinstance(getattr(x, "dtype", None), np.dtype):
        return _from_arrow(x)
    with suppress(ValueError):  # of a nest of sequences, such as what groupby returns; NumPy's words tell their lengths
        values = np.asarray(x)
        if values.ndim or values.dtype.kind != "O":  # else no array has come of it
            return values, None
    way_out = ": pass a list or an array" if isinstance(x, Iterable) else ""
    raise _UnreadableError(f"an object of type {type(x).__name__}{way_out}")


def _from_arrow(x: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    try:
        with _arrow.opened(x) as column:
            if column.encoded or column.dtype is None or column.dtype.kind not in "iubf":
                kind = "dictionary" if column.encoded else column.dtype or "text"
                raise _UnreadableError(f"a column of type {kind}")
            return column.gathered()
    except _arrow.UnsupportedFormatError as error:
        raise _UnreadableError(str(error)) from None


def is_untyped(x: Any) -> bool:
    """Whether x is a sequence of Python objects: what types they have is only known from all of them."""
    if isinstance(x, (list, tuple)):
        return True
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes, range)) and not _is_buffer(x)


def _is_buffer(x: Any) -> bool:
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def _from_list(x: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """All integers: int64, saturating. Otherwise float64. None is a missing value of either."""
    shape = _shape_of(x)
    flat = list(_elements(x, len(shape)))
    if all(element is None or isinstance(element, (int, np.integer, np.bool_)) for element in flat):
        values = np.array([_saturated(element) for element in flat], dtype=np.int64)
    else:
        values = np.array([_as_float(element) for element in flat], dtype=np.float64)
    missing = np.array([element is None for element in flat], dtype=np.bool_)
    return values.reshape(shape), missing.reshape(shape)


def _shape_of(x: Any) -> tuple[int, ...]:
    shape: list[int] = []
    while isinstance(x, (list, tuple, range)):
        shape.append(len(x))
        if not len(x):
            break
        if len(shape) > 64:
            raise _UnreadableError("lists nested without end", _LISTS)
        x = x[0]
    return tuple(shape)


def _elements(x: Any, depth: int) -> Iterator[Any]:
    if depth == 0:
        number = isinstance(x, (int, float, np.integer, np.floating, np.bool_))
        number = number and not isinstance(x, (np.longdouble, np.timedelta64))
        if type(x).__name__ == "NAType":  # what pandas calls missing
            x = None
        if not (x is None or number):
            raise _UnreadableError(f"a list with {type(x).__name__} in it")
        yield x
        return
    for element in x:
        if depth > 1 and _shape_of(element) != _shape_of(x[0]):
            raise _UnreadableError("lists of several shapes", _LISTS)
        yield from _elements(element, depth - 1)


def _saturated(element: Any) -> int:
    return min(max(int(element or 0), _INT64_MIN), _INT64_MAX)


def _as_float(element: Any) -> float:
    try:
        return float(element or 0)
    except OverflowError:  # an integer beyond the doubles counts as infinite
        return math.inf if element > 0 else -math.inf


def _flat(array: npt.NDArray[Any], start: int, stop: int) -> npt.NDArray[Any]:
    """Elements start..stop in C order; a view where the layout allows it."""
    if array.flags.c_contiguous:
        return array.reshape(-1)[start:stop]
    if array.ndim == 1:
        return array[start:stop]
    return array.flat[start:stop]
