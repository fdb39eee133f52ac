"""What is read: chunks of a table's columns, of types that are known before any value is."""

from __future__ import annotations

import difflib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self

from exactnoise.errors import SchemaError

__all__ = ["Chunk", "Kind", "Table", "columns_told", "found", "separator_told"]

_MOST_SHOWN = 8  # names of columns in a message
_LONGEST_SHOWN = 40  # characters of each
_LIKENESS = 0.7  # of what may have been meant
_SEPARATORS = {";": "';'", "\t": "tabs", "|": "'|'"}

#: What a column is read for. A file of typed columns has types of its own; in text this says how cells are understood.
#: "exact" is a whole number that must not pass through a double; "person" is text, of which an empty one is missing.
Kind = Literal["number", "exact", "integers", "booleans", "texts", "dates", "times", "person"]


class Chunk(NamedTuple):
    """Consecutive rows.

    Attributes
    ----------
    rows : int
    columns : dict
        Of the columns that were asked for: NumPy arrays, lists, or Arrow arrays.
    """

    rows: int
    columns: dict[str, Any]


class Table(ABC):
    """An open table, read once from front to back; a context manager.

    Attributes
    ----------
    name : str
        Of the file, for messages.
    size : int
        What `position` will be at the end; 0 where that is not known.
    """

    name: str
    size: int

    def __init__(self, path: Path, size: int) -> None:
        self.name = path.name
        self.size = size

    @property
    @abstractmethod
    def position(self) -> int:
        """How far reading has come, in the unit of `size`."""

    @abstractmethod
    def empty(self) -> Chunk:
        """A chunk of no rows, of the types that all chunks have."""

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """All rows. No cell raises: what cannot be understood is a missing value."""

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def found(name: str, column: str, names: list[str], where: str, *, public: bool = True) -> int:
    """The place of a column, which must be there once.

    Names that are not known to be public are not quoted: the first line of a CSV file may be a row.
    """
    times = names.count(column)
    if times != 1:
        problem = f"is not in {where}" if times == 0 else f"is in {where} {times} times"
        told = "" if times else f"; {columns_told(column, names) if public else _columns_unquoted(column, names)}"
        raise SchemaError(f"{name}: column {column!r} {problem} (case matters){told}")
    return names.index(column)


def columns_told(column: str, names: Sequence[str]) -> str:
    """What there is instead of a column, for who asked for it."""
    near = _nearest(column, names)
    shown = [repr(name if len(name) <= _LONGEST_SHOWN else name[:_LONGEST_SHOWN] + "...") for name in names]
    more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
    listed = f"there are {', '.join(shown[:_MOST_SHOWN])}{more}"
    return listed if near is None else f"did you mean {near!r}? {listed}"


def separator_told(header: Sequence[str]) -> str | None:
    """What a header in one piece says of the separator, if it does."""
    separator = next((name for sign, name in _SEPARATORS.items() if sign in header[0]), None)
    if len(header) > 1 or separator is None:
        return None
    return f"is the table separated by {separator}? Columns are separated by commas"


def _columns_unquoted(column: str, names: Sequence[str]) -> str:
    """What can be told to the same end without a word of them."""
    near = _nearest(column, names) is not None
    some = f"{'one' if near else 'none'} of its {len(names)} columns is"
    if len(names) == 1:
        some = "its one column is" if near else "its one column is not"
    return separator_told(names) or f"{some} called nearly that"


def _nearest(column: str, names: Sequence[str]) -> str | None:
    folded = {name.casefold(): name for name in names}
    near = difflib.get_close_matches(column.casefold(), folded, 1, _LIKENESS)
    return folded[near[0]] if near else None
