"""Groups that are declared before any data is seen, and the code of each row's group."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.aggregates._columns import BLOCK, Integers, Kind, blocks, look_up, mapped
from exactnoise.mechanisms._arrow import Text

__all__ = ["Groups", "declared"]

_MOST = 2**31
_DENSE = 1 << 16  # a table of so many entries is always worth it

_TYPES: dict[Kind, tuple[type, ...]] = {
    "booleans": (bool, np.bool_),
    "integers": (int, np.integer),
    "texts": (str,),
    "times": (datetime.datetime,),
    "dates": (datetime.date,),
}  # the first that fits decides: a bool is an int too, a datetime a date
_ONE_OF = "integers, booleans, texts, dates or times without a zone"


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
        self._matchers = tuple(_Keys(keys) for keys in columns)

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

    def codes(self, by: Any, n: int) -> Integers:
        """The code of each row's group: its place in `keys`.

        Parameters
        ----------
        by : column, or tuple of columns
            One column for each declared column. A column of integers matches integer keys, whatever its width and
            whether or not it can have missing values; a boolean one matches boolean keys; texts match texts, dates
            (datetime64[D], Arrow's date32 and date64) dates, times without a zone times. Categories and dictionaries
            are what they stand for. Lists and columns of Python objects are matched object by object, by the same rule:
            True and 1.0 are not the integer 1.
        n : int
            How many rows there are.

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
            return _sized(mapped(by, "by", self._matchers[0]), "by", n)
        if not isinstance(by, (tuple, list)) or len(by) != len(self.columns):
            got = f"{len(by)} columns" if isinstance(by, (tuple, list)) else type(by).__name__
            raise ValueError(f"by must be a tuple of {len(self.columns)} columns, as keys were declared; got {got}")
        codes, outside = np.zeros(n, np.int64), np.zeros(n, np.bool_)
        for i, (column, matcher) in enumerate(zip(by, self._matchers, strict=True)):
            place = _sized(mapped(column, f"by[{i}]", matcher), f"by[{i}]", n)
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


def declared(keys: Any) -> Groups:
    """Declare the groups of a statistic.

    Parameters
    ----------
    keys : list, range, array, Index or Arrow array of scalars, or tuple of such
        The keys of one column, or a tuple with those of several. They are published, all of them and in this order, so
        they must not come from the data. Integers of 64 bits, booleans, texts, dates or times without a zone; of one
        kind a column; each once. Of something with `categories` it is those.

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
        columns = [_checked(column, f"keys[{i}]") for i, column in enumerate(keys)]
    else:
        columns = [_checked(keys, "keys")]
    if math.prod(map(len, columns)) > _MOST:
        got = " x ".join(str(len(column)) for column in columns)
        raise ValueError(f"keys must be at most 2**31, all combinations counted; got {got}")
    return Groups(tuple(columns))


class _Keys:
    """The keys of one column, as what its rows are matched with."""

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.keys = keys
        self.kind = _kind(keys[0])
        self._tables: dict[str, _IntegerTable] = {}

    def check(self, name: str, kind: Kind) -> None:
        if kind not in (self.kind, "objects"):
            raise TypeError(f"{name} must be a column of {self.kind}, as its keys are; got {kind}")

    def numbers(self, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> Integers:
        """By a table for the column's type, made when it is first met."""
        is_time = values.dtype.kind == "M"
        name = values.dtype.name if is_time else "uint64" if values.dtype.kind == "u" else "int64"
        if name not in self._tables:
            self._tables[name] = _IntegerTable(self._integers(name), unsigned=name == "uint64")
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        return self._tables[name].codes(native.view(np.int64) if is_time else native, missing)

    def entries(self, values: npt.NDArray[Any]) -> Integers:
        return self.numbers(values, None)

    def objects(self, values: list[Any]) -> Integers:
        found = np.empty(len(values), np.int64)
        for start in range(0, len(values), BLOCK):
            block = values[start : start + BLOCK]
            try:
                codes = np.fromiter(map(self._by_object.get, block, repeat(-1)), np.int64, len(block))
            except Exception:  # something in it cannot be hashed or compared: only what could be a key is
                codes = np.array([self._by_object.get(v, -1) if self._fits[type(v)] else -1 for v in block])
            if self.kind != "texts":  # no other type's values are equal to a text
                codes[~np.fromiter(map(self._fits.__getitem__, map(type, block)), np.bool_, len(block))] = -1
            found[start : start + BLOCK] = codes
        return found

    def texts(self, values: Text) -> Integers:
        get = self._by_text.get
        return values.mapped(lambda text: get(text, -1))

    @cached_property
    def _by_object(self) -> dict[Any, int]:
        return {key: code for code, key in enumerate(self.keys)}

    @cached_property
    def _by_text(self) -> dict[bytes, int]:
        return {key.encode("utf-8", "surrogatepass"): code for code, key in enumerate(self.keys)}

    @cached_property
    def _fits(self) -> _Fits:
        return _Fits(self.kind)

    def _integers(self, dtype: str) -> Iterable[int | None]:
        """The keys as the integers that a column of this dtype has for them; None where it has none."""
        if self.kind == "dates":
            epoch = datetime.date(1970, 1, 1).toordinal()
            return (key.toordinal() - epoch for key in self.keys)
        if self.kind == "times":
            return (_ticks(key, dtype) for key in self.keys)
        return map(int, self.keys)


class _Fits(dict[type, bool]):
    """Whether values of a type are of a kind."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind

    def __missing__(self, of: type) -> bool:
        self[of] = next((kind for kind, types in _TYPES.items() if issubclass(of, types)), None) == self._kind
        return self[of]


class _IntegerTable:
    """From integers to the codes of keys: by a dense table where the keys are close together, else by bisection."""

    def __init__(self, keys: Iterable[int | None], *, unsigned: bool) -> None:
        self._dtype = np.dtype("u8" if unsigned else "i8")
        limits = np.iinfo(self._dtype)
        held = [(key, code) for code, key in enumerate(keys) if key is not None and limits.min <= key <= limits.max]
        values = np.array([key for key, _ in held], self._dtype)
        order = np.argsort(values)
        self._keys, self._codes = values[order], np.array([code for _, code in held], np.int64)[order]
        count = len(held)
        low, high = (int(self._keys[0]), int(self._keys[-1])) if held else (0, -1)
        self._low, self._span = low, high - low + 1
        self._is_identity = not unsigned and low == 0 and high == count - 1 and bool(np.all(self._codes == self._keys))
        self._table: Integers | None = None
        if self._span <= max(_DENSE, 4 * count):
            self._table = np.full(self._span + 2, -1, np.int64)  # with something outside at either end
            self._table[(self._keys - self._dtype.type(low)).astype(np.int64) + 1] = self._codes

    def codes(self, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> Integers:
        if self._is_identity and values.dtype == np.int64 and values.flags.c_contiguous and missing is None:
            return values
        if self._table is not None:
            return look_up(self._table, self._low - 1, values, missing)
        out = np.empty(values.size, np.int64)
        for rows, block in blocks(values):
            out[rows] = self._bisected(block.astype(self._dtype))
        if missing is not None:
            out[missing] = -1
        return out

    def _bisected(self, block: npt.NDArray[Any]) -> Integers:
        place = np.minimum(np.searchsorted(self._keys, block), self._keys.size - 1)
        return np.where(self._keys[place] == block, self._codes[place], -1)


def _sized(codes: Integers, name: str, n: int) -> Integers:
    if codes.size != n:
        raise ValueError(f"{name} must have x's length: {n} rows, not {codes.size}")
    return codes


def _is_column(keys: Any) -> bool:
    return not isinstance(keys, (str, bytes)) and (hasattr(keys, "__len__") or hasattr(keys, "categories"))


def _checked(keys: Any, name: str) -> tuple[Any, ...]:
    """The keys of a column as Python values, each of them once."""
    values = _listed(keys, name)
    if not values:
        raise ValueError(f"{name} must have at least one key")
    if isinstance(keys, range):
        return tuple(values)
    kinds: dict[type, Kind | None] = {of: _kind_of_type(of) for of in set(map(type, values))}
    if len(set(kinds.values())) > 1 or None in kinds.values():
        first = kinds[type(values[0])]
        i, value = next((i, v) for i, v in enumerate(values) if kinds[type(v)] is None or kinds[type(v)] != first)
        if kinds[type(value)] is None:
            hint = ": declare bins by their edges instead" if isinstance(value, float) else ""
            raise TypeError(f"{name} must be {_ONE_OF}; {name}[{i}] is {value!r} of type {type(value).__name__}{hint}")
        raise TypeError(f"{name} must be of one kind; {name}[0] is {values[0]!r} and {name}[{i}] is {value!r}")
    values = [_plain(value, f"{name}[{i}]") for i, value in enumerate(values)]
    places = dict(zip(reversed(values), range(len(values) - 1, -1, -1), strict=True))
    if len(places) < len(values):
        i, value = next((i, value) for i, value in enumerate(values) if places[value] != i)
        raise ValueError(f"{name} must be distinct; {name}[{places[value]}] and {name}[{i}] are both {value!r}")
    return tuple(values)


def _listed(keys: Any, name: str) -> list[Any]:
    if not isinstance(keys, (np.ndarray, list, tuple)) and hasattr(keys, "categories"):
        keys = keys.categories
    if isinstance(keys, (str, bytes, set, frozenset, dict)) or not hasattr(keys, "__len__"):
        what = f"a {type(keys).__name__}" + (", which has no order" if isinstance(keys, (set, frozenset)) else "")
        raise TypeError(f"{name} must be a list, range, array or Index of keys, in the order of the result; got {what}")
    if len(keys) > _MOST:
        raise ValueError(f"{name} must be at most 2**31; got {len(keys)}")
    if isinstance(keys, np.ndarray):
        if keys.ndim != 1:
            raise TypeError(f"{name} must be one-dimensional; got an array of shape {keys.shape}")
        if keys.dtype.kind == "M" and np.datetime_data(keys.dtype)[0] == "ns":  # which tolist() makes integers
            return [_of_nanoseconds(key, name) for key in keys]
        return list(keys.tolist())
    for convert in ("to_pylist", "tolist"):
        if hasattr(keys, convert):
            return list(getattr(keys, convert)())
    return list(keys)


def _of_nanoseconds(key: Any, name: str) -> Any:
    exact = key.astype("M8[us]")
    if exact != key:
        raise ValueError(f"{name} must be whole microseconds; got {key}")
    return exact.item()


def _kind_of_type(of: type) -> Kind | None:
    return next((kind for kind, types in _TYPES.items() if issubclass(of, types)), None)


def _kind(key: Any) -> Kind:
    kind = _kind_of_type(type(key))
    assert kind is not None
    return kind


def _plain(key: Any, name: str) -> Any:
    """A key as the Python value of its kind."""
    if isinstance(key, datetime.datetime):
        if key.tzinfo is not None:
            raise TypeError(f"{name} must be a time without a zone; got {key!r}")
        if getattr(key, "nanosecond", 0):
            raise ValueError(f"{name} must be whole microseconds; got {key!r}")
        return datetime.datetime.combine(datetime.date(key.year, key.month, key.day), key.time())
    if isinstance(key, datetime.date):
        return datetime.date(key.year, key.month, key.day)
    if isinstance(key, str):
        return str(key)
    if isinstance(key, (bool, np.bool_)):
        return bool(key)
    if not -(2**63) <= int(key) < 2**64:
        raise ValueError(f"{name} must be of 64 bits; got {key}")
    return int(key)


def _ticks(key: datetime.datetime, dtype: str) -> int | None:
    """Units of a datetime64 dtype since 1970; None for what lies between two."""
    microseconds = (key - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    unit = dtype.partition("[")[2].rstrip("]")
    if unit == "ns":
        return 1000 * microseconds
    ticks, rest = divmod(microseconds, {"s": 10**6, "ms": 1000, "us": 1}[unit])
    return None if rest else ticks


def _shown(keys: tuple[Any, ...]) -> str:
    if len(keys) > 8:
        return f"[{', '.join(map(repr, keys[:6]))}, ... {len(keys)} in all]"
    return repr(list(keys))
