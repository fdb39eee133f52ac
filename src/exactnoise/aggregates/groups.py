"""Groups that are declared before any data is seen, and the code of each row's group."""

from __future__ import annotations

import itertools
import math
from functools import cached_property
from typing import Any

import numpy as np

from exactnoise.aggregates._columns import Integers, blocks, mapped
from exactnoise.aggregates._keys import MOST, checked
from exactnoise.aggregates._matching import Keys

__all__ = ["Groups", "declared"]


class Groups:
    """The groups of a statistic: public, and complete whatever the data.

    Made by `declared`. Immutable and picklable; equal to what declares the same keys in the same order.

    Attributes
    ----------
    keys : tuple
        The key of each group in declared order: Python values, or tuples of them for several columns (every
        combination, the last column changing fastest).
    columns : tuple of tuples
        The declared keys of each column.
    """

    def __init__(self, columns: tuple[tuple[Any, ...], ...]) -> None:
        self._columns = columns
        self._matchers = tuple(Keys(keys) for keys in columns)

    @property
    def columns(self) -> tuple[tuple[Any, ...], ...]:
        """The declared keys of each column."""
        return self._columns

    @property
    def keys(self) -> tuple[Any, ...]:
        """The key of each group."""
        return self._columns[0] if len(self._columns) == 1 else self._combinations

    @cached_property
    def _combinations(self) -> tuple[Any, ...]:
        return tuple(itertools.product(*self._columns))

    def __len__(self) -> int:
        return math.prod(map(len, self.columns))

    def codes(self, by: Any, n: int | None = None, name: str = "by") -> Integers:
        """The code of each row's group: its place in `keys`.

        Parameters
        ----------
        by : column, or tuple of columns
            One column for each declared column. A column of integers matches integer keys, whatever its width and
            whether or not it can have missing values; a boolean one matches boolean keys; texts match texts, dates
            (datetime64[D], Arrow's date32 and date64) dates, times without a zone times. Categories and dictionaries
            are what they stand for. Lists and columns of Python objects are matched object by object, by the same rule:
            True and 1.0 are not the integer 1.
        n : int, optional
            How many rows there are; else the first column tells.
        name : str
            What the column is called in messages.

        Returns
        -------
        ndarray of int64, shape (n,)
            -1 where the value is missing or no declared key. Only where the keys are 0 .. K-1 and the column is already
            contiguous int64 is it returned as it is, and then any number outside 0 .. K-1 means that.

        Raises
        ------
        TypeError
            A column is of a type that cannot match; decided before a value is looked at. No value raises.
        ValueError
            A column has another length than n, or there are more or fewer columns than declared.
        """
        if len(self.columns) == 1:
            return _sized(mapped(by, name, self._matchers[0]), name, n)
        if not isinstance(by, (tuple, list)) or len(by) != len(self.columns):
            got = f"{len(by)} columns" if isinstance(by, (tuple, list)) else type(by).__name__
            raise ValueError(f"{name} must be a tuple of {len(self.columns)} columns, as keys were declared; got {got}")
        codes, outside = np.zeros(0, np.int64), np.zeros(0, np.bool_)
        for i, (column, matcher) in enumerate(zip(by, self._matchers, strict=True)):
            place = _sized(mapped(column, f"{name}[{i}]", matcher), f"{name}[{i}]", n)
            if i == 0:
                n = place.size
                codes, outside = np.zeros(n, np.int64), np.zeros(n, np.bool_)
            count = len(matcher.keys)
            for rows, block in blocks(place):
                outside[rows] |= block.view(np.uint64) >= np.uint64(count)
                codes[rows] *= count
                codes[rows] += block
        codes[outside] = -1
        return codes

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Groups):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        return tuple(matcher.kind for matcher in self._matchers), self.columns

    def __reduce__(self) -> tuple[Any, ...]:
        return Groups, (self.columns,)

    def __repr__(self) -> str:
        columns = [_shown(keys) for keys in self.columns]
        return f"declared({columns[0]})" if len(columns) == 1 else f"declared(({', '.join(columns)}))"


def declared(keys: Any, name: str = "keys") -> Groups:
    """Declare the groups of a statistic.

    Parameters
    ----------
    keys : list, range, array, Index or Arrow array of scalars, or tuple of such
        The keys of one column, or a tuple with those of several. They are published, all of them and in this order, so
        they must not come from the data. Integers of 64 bits, booleans, texts, dates or times without a zone; of one
        kind a column; each once. Of something with `categories` it is those.

    name : str
        What they are called in messages.

    Returns
    -------
    Groups

    Raises
    ------
    TypeError
        A key is of none of these types (None and floats are not: declare numbers as bins, by their edges), keys are of
        several, or have no order, as those of a set.
    ValueError
        There are no keys, or more than 2^31; a key is there twice, or beyond 64 bits.
    """
    if isinstance(keys, Groups):
        return keys
    if isinstance(keys, tuple) and any(map(_is_column, keys)):
        columns = [checked(column, f"{name}[{i}]") for i, column in enumerate(keys)]
    else:
        columns = [checked(keys, name)]
    if math.prod(map(len, columns)) > MOST:
        got = " x ".join(str(len(column)) for column in columns)
        raise ValueError(f"{name} must be at most 2**31, all combinations counted; got {got}")
    return Groups(tuple(columns))


def _sized(codes: Integers, name: str, n: int | None) -> Integers:
    if n is not None and codes.size != n:
        raise ValueError(f"{name} must have the length of the other columns: {n} rows, not {codes.size}")
    return codes


def _is_column(keys: Any) -> bool:
    return not isinstance(keys, (str, bytes)) and (hasattr(keys, "__len__") or hasattr(keys, "categories"))


def _shown(keys: tuple[Any, ...]) -> str:
    if len(keys) > 8:
        return f"[{', '.join(map(repr, keys[:6]))}, ... {len(keys)} in all]"
    return repr(list(keys))
