"""Columns of keys and of people's ids, of any library: read by their type, and mapped to integers.

A column's kind is public and decides what it can match: the integer 1, the boolean True and the text "1" are three
things. No value is converted to another kind, so that none can fail to be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from exactnoise.mechanisms import _arrow

__all__ = ["BLOCK", "Integers", "Kind", "Matcher", "blocks", "mapped"]

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
    """What the rows of a column are mapped to. -1 stands for nothing, except in what `numbers` returns."""

    def check(self, name: str, kind: Kind) -> None:
        """Raise a TypeError where a column of this kind can match nothing."""

    def numbers(self, values: npt.NDArray[Any]) -> Integers:
        """Of integers, booleans or datetime64."""

    def objects(self, values: list[Any]) -> Integers:
        """Of Python objects."""

    def texts(self, values: _arrow.Text) -> Integers:
        """Of texts in UTF-8."""


class _Part(NamedTuple):
    """Rows that lie together: an array, UTF-8 texts, or a list of objects; or positions in a dictionary."""

    values: npt.NDArray[Any] | _arrow.Text | list[Any]
    missing: _Missing
    dictionary: Iterable[_Part] | None = None


class _UnreadableError(Exception):
    """What a column is, and should not be."""


def mapped(x: Any, name: str, matcher: Matcher) -> tuple[Integers, _Missing]:
    """The integer of each row, and where there is none (None: everywhere there is one).

    Raises
    ------
    TypeError
        The column is of a type that is not read, or that the matcher refuses; types are public, values are not.
    """
    try:
        if _goes_by_arrow(x):
            with _arrow.opened(x) as column:
                kind: Kind = "texts" if column.dtype is None else _kind_of(column.dtype)
                matcher.check(name, kind)
                return _joined([_owned(_resolved(_of_chunk(chunk), matcher)) for chunk in column.chunks])
        kind, parts = _read(x)
    except (_UnreadableError, _arrow.UnsupportedFormatError) as error:
        raise TypeError(f"{name} must be {_ACCEPTED}; got {error}") from None
    matcher.check(name, kind)
    return _joined([_resolved(part, matcher) for part in parts])


def blocks(values: npt.NDArray[Any]) -> Iterator[tuple[slice, npt.NDArray[Any]]]:
    for start in range(0, values.size, BLOCK):
        rows = slice(start, min(start + BLOCK, values.size))
        yield rows, values[rows]


def _owned(part: tuple[Integers, _Missing]) -> tuple[Integers, _Missing]:
    """Copies of what may be a producer's memory."""
    codes, missing = part
    return codes if codes.flags.owndata else codes.copy(), missing


def _joined(parts: Sequence[tuple[Integers, _Missing]]) -> tuple[Integers, _Missing]:
    if len(parts) == 1:
        return parts[0]
    codes = np.concatenate([np.zeros(0, np.int64), *(codes for codes, _ in parts)])
    if all(missing is None for _, missing in parts):
        return codes, None
    masks = [np.zeros(codes.size, np.bool_) if missing is None else missing for codes, missing in parts]
    return codes, np.concatenate(masks)


def _resolved(part: _Part, matcher: Matcher) -> tuple[Integers, _Missing]:
    values, missing = part.values, part.missing
    if part.dictionary is not None:
        return _decoded(values, missing, _joined([_resolved(inner, matcher) for inner in part.dictionary]))
    if isinstance(values, np.ndarray) and values.dtype.kind in "iubM":
        codes = matcher.numbers(values)
        if values.dtype.kind == "M":
            absent = np.isnat(values)
            missing = absent if missing is None else missing | absent
        return codes, missing
    if isinstance(values, np.ndarray):  # of texts or objects
        codes = np.empty(values.size, np.int64)
        for rows, block in blocks(values):
            codes[rows] = matcher.objects(block.tolist())
    else:
        codes = matcher.texts(values) if isinstance(values, _arrow.Text) else matcher.objects(values)
    absent = codes < 0
    return codes, absent if missing is None else missing | absent


def _decoded(positions: Any, missing: _Missing, dictionary: tuple[Integers, _Missing]) -> tuple[Integers, _Missing]:
    """A position that is missing or none of the dictionary's leads to one more entry, which is missing."""
    table, absent = dictionary
    size = table.size
    table = np.append(table, -1)
    mask = np.append(np.zeros(size, np.bool_) if absent is None else absent, True)
    codes, lost = np.empty(positions.size, np.int64), np.empty(positions.size, np.bool_)
    for rows, block in blocks(positions):
        index = block.astype(np.int64).view(np.uint64)  # a negative position is a large one
        if missing is not None:
            index[missing[rows]] = size
        index = np.minimum(index, np.uint64(size)).view(np.int64)
        np.take(table, index, out=codes[rows], mode="clip")
        np.take(mask, index, out=lost[rows], mode="clip")
    return codes, lost


def _kind_of(dtype: np.dtype[Any]) -> Kind:
    if dtype.kind == "M":
        kind = _UNITS.get(np.datetime_data(dtype)[0]) if np.datetime_data(dtype)[1] == 1 else None
    else:
        kind = _KINDS.get(dtype.kind)
    if kind is None:
        raise _UnreadableError(f"dtype {dtype}")
    return kind


def _goes_by_arrow(x: Any) -> bool:
    """What exports Arrow, except pandas' columns: they can do so only where pyarrow is installed."""
    if isinstance(x, (np.ndarray, list, tuple)) or not _arrow.exports(x):
        return False
    return not hasattr(x, "isna") or hasattr(getattr(x, "dtype", None), "pyarrow_dtype")


def _of_chunk(chunk: _arrow.Chunk) -> _Part:
    dictionary = None if chunk.dictionary is None else [_of_chunk(chunk.dictionary)]
    return _Part(chunk.values, chunk.missing, dictionary)


def _read(x: Any) -> tuple[Kind, list[_Part]]:
    if isinstance(x, np.ma.MaskedArray):
        kind, (part,) = _read(np.asarray(x.data))
        return kind, [part._replace(missing=np.ma.getmaskarray(x))]
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes, bytearray, memoryview)):
        return "objects", [_Part(list(x), None)]
    if hasattr(x, "columns") or hasattr(x, "column_names"):
        raise _UnreadableError(f"a table of type {type(x).__name__}")
    categorical: Any = x if hasattr(x, "categories") else getattr(x, "cat", None)
    if hasattr(categorical, "categories") and hasattr(categorical, "codes"):
        kind, categories = _read(categorical.categories)
        return kind, [_Part(np.asarray(categorical.codes), None, categories)]
    dtype = getattr(x, "dtype", None)
    if hasattr(x, "isna") and not isinstance(dtype, np.dtype):  # pandas' own types
        return _read_nullable(x, dtype)
    values = np.asarray(x)
    if values.ndim != 1:
        raise _UnreadableError(f"{type(x).__name__} of {values.ndim} dimensions")
    return _kind_of(values.dtype), [_Part(values, None)]


def _read_nullable(x: Any, dtype: Any) -> tuple[Kind, list[_Part]]:
    if getattr(dtype, "name", None) in ("str", "string"):
        return "texts", [_Part(np.asarray(x.to_numpy(dtype=object)), None)]
    plain = getattr(dtype, "numpy_dtype", None)
    if not isinstance(plain, np.dtype) or plain.kind not in "iub":
        raise _UnreadableError(f"a column of type {dtype}")
    values = np.asarray(x.to_numpy(dtype=plain, na_value=plain.type(0)))
    return _kind_of(plain), [_Part(values, np.asarray(x.isna(), dtype=np.bool_))]
