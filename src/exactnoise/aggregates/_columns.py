"""Columns of keys and of people's ids, of any library: read by their type, and mapped to integers.

A column's kind is public and decides what it can match: the integer 1, the boolean True and the text "1" are three
things. No value is converted to another kind, so that none can fail to be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from exactnoise.mechanisms import _arrow

__all__ = ["BLOCK", "Integers", "Kind", "Matcher", "blocks", "look_up", "mapped"]

#: "objects": Python objects of any type, as in a list, which are looked at one by one.
Kind: TypeAlias = Literal["integers", "booleans", "texts", "dates", "times", "objects"]
Integers: TypeAlias = npt.NDArray[np.int64]
_Missing: TypeAlias = npt.NDArray[np.bool_] | None

BLOCK = 1 << 15  # rows at a time: they stay in the cache

_ACCEPTED = (
    "one column of integers, booleans, texts, dates or times without a zone: a list, a NumPy array, or a pandas, "
    "Polars or Arrow column"
)
_KINDS: dict[str, Kind] = {
    "i": "integers",
    "u": "integers",
    "b": "booleans",
    "U": "texts",
    "T": "texts",
    "O": "objects",
}
_UNITS: dict[str, Kind] = {"D": "dates", "s": "times", "ms": "times", "us": "times", "ns": "times"}


class Matcher(Protocol):
    """What the rows of a column are mapped to. Codes are int64 arrays of the matcher's own; -1 stands for nothing."""

    def check(self, name: str, kind: Kind) -> None:
        """Raise a TypeError where a column of this kind can match nothing."""

    def numbers(self, values: npt.NDArray[Any], missing: _Missing) -> Integers:
        """Codes of a whole column of integers, booleans or datetime64; where they are the values, these themselves."""

    def entries(self, values: npt.NDArray[Any]) -> Integers:
        """Codes of such values in a dictionary, one of several in which equal values have equal codes."""

    def objects(self, values: list[Any]) -> Integers:
        """Codes of Python objects."""

    def texts(self, values: _arrow.Text) -> Integers:
        """Codes of texts in UTF-8."""


class _Part(NamedTuple):
    """Rows that lie together: an array, UTF-8 texts, or a list of objects; or positions in a dictionary."""

    values: npt.NDArray[Any] | _arrow.Text | list[Any]
    missing: _Missing
    dictionary: _Part | None = None


class _UnreadableError(Exception):
    """What a column is, and should not be."""


def mapped(x: Any, name: str, matcher: Matcher) -> Integers:
    """The code of each row; -1 where there is none.

    Raises
    ------
    TypeError
        The column is of a type that is not read, or that the matcher refuses; types are public, values are not.
    """
    try:
        if _arrow.is_table(x):
            raise _UnreadableError(f"a table of type {type(x).__name__}")
        if _goes_by_arrow(x):
            with _arrow.opened(x) as column:
                kind: Kind = "texts" if column.dtype is None else _kind_of(column.dtype)
                matcher.check(name, kind)
                if column.dtype is not None and not column.encoded:
                    return matcher.numbers(*column.gathered())
                codes = [_codes(_of_chunk(chunk), matcher) for chunk in column.chunks]
                return codes[0] if len(codes) == 1 else np.concatenate([np.zeros(0, np.int64), *codes])
        kind, part = _read(x)
    except (_UnreadableError, _arrow.UnsupportedFormatError) as error:
        raise TypeError(f"{name} must be {_ACCEPTED}; got {error}") from None
    matcher.check(name, kind)
    return _codes(part, matcher)


def blocks(values: npt.NDArray[Any]) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    """Rows, a block at a time."""
    for start in range(0, values.size, BLOCK):
        rows = slice(start, min(start + BLOCK, values.size))
        yield rows, values[rows]


def _codes(part: _Part, matcher: Matcher, *, is_dictionary: bool = False) -> Integers:
    values, missing = part.values, part.missing
    if part.dictionary is not None:
        return _decoded(values, missing, _codes(part.dictionary, matcher, is_dictionary=True))
    if isinstance(values, np.ndarray) and values.dtype.kind in "iubM":
        if not is_dictionary:
            return matcher.numbers(values, missing)
        codes = matcher.entries(values)
    elif isinstance(values, np.ndarray):  # of texts or objects
        codes = np.empty(values.size, np.int64)
        for rows, block in blocks(values):
            codes[rows] = matcher.objects(block.tolist())
    else:
        codes = matcher.texts(values) if isinstance(values, _arrow.Text) else matcher.objects(values)
    return codes if missing is None else np.where(missing, -1, codes)


def look_up(table: Integers, first: int, values: npt.NDArray[Any], missing: _Missing = None) -> Integers:
    """table[value - first], the table's first entry for what is missing, its first or last one for what is outside.

    Modulo 2^64, in which a difference that overflows is still outside.
    """
    out = np.empty(values.size, np.int64)
    shift = np.int64((first + 2**63) % 2**64 - 2**63)
    for rows, block in blocks(values):
        if block.dtype.itemsize == 8 and block.dtype.isnative:
            places = block.view(np.int64) - shift
        else:
            places = block.astype(np.int64)
            places -= shift
        if missing is not None:
            places[missing[rows]] = 0
        np.take(table, places, out=out[rows], mode="clip")
    return out


def _decoded(positions: Any, missing: _Missing, dictionary: Integers) -> Integers:
    """What lies before the dictionary's first entry, or after its last, is missing."""
    return look_up(np.concatenate([[-1], dictionary, [-1]]), -1, positions, missing)


def _kind_of(dtype: np.dtype[Any]) -> Kind:
    if dtype.kind == "M":
        kind = _UNITS.get(np.datetime_data(dtype)[0]) if np.datetime_data(dtype)[1] == 1 else None
    else:
        kind = _KINDS.get(dtype.kind)
    if kind is None:
        hint = ", which pandas makes of integers where some are missing: .astype('Int64') undoes it"
        raise _UnreadableError(f"dtype {dtype}{hint if dtype.kind == 'f' else ''}")
    return kind


def _goes_by_arrow(x: Any) -> bool:
    """What exports Arrow, except pandas' columns: they can do so only where pyarrow is installed."""
    if isinstance(x, (np.ndarray, list, tuple)) or not _arrow.exports(x):
        return False
    return not hasattr(x, "isna") or hasattr(getattr(x, "dtype", None), "pyarrow_dtype")


def _of_chunk(chunk: _arrow.Chunk) -> _Part:
    dictionary = None if chunk.dictionary is None else _of_chunk(chunk.dictionary)
    return _Part(chunk.values, chunk.missing, dictionary)


def _read(x: Any) -> tuple[Kind, _Part]:
    if isinstance(x, np.ma.MaskedArray):
        kind, part = _read(np.asarray(x.data))
        return kind, part._replace(missing=np.ma.getmaskarray(x))
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes, bytearray, memoryview)):
        return "objects", _Part(list(x), None)
    categorical: Any = x if hasattr(x, "categories") else getattr(x, "cat", None)
    if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
        kind, categories = _read(categorical.categories)
        return kind, _Part(np.asarray(categorical.codes), None, categories)
    dtype = getattr(x, "dtype", None)
    if hasattr(x, "isna") and not isinstance(dtype, np.dtype):  # pandas' own types
        return _read_nullable(x, dtype)
    values = np.asarray(x)
    if values.ndim != 1:
        raise _UnreadableError(f"{type(x).__name__} of {values.ndim} dimensions")
    return _kind_of(values.dtype), _Part(values, None)


def _read_nullable(x: Any, dtype: Any) -> tuple[Kind, _Part]:
    if getattr(dtype, "name", None) in ("str", "string"):
        return "texts", _Part(np.asarray(x.to_numpy(dtype=object)), None)
    plain = getattr(dtype, "numpy_dtype", None)
    if not isinstance(plain, np.dtype) or plain.kind not in "iub":
        raise _UnreadableError(f"a column of type {dtype}")
    values = np.asarray(x.to_numpy(dtype=plain, na_value=plain.type(0)))
    return _kind_of(plain), _Part(values, np.asarray(x.isna(), dtype=np.bool_))
