"""From the values of a column to the codes of declared keys."""

from __future__ import annotations

import datetime
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.aggregates._columns import BLOCK, Integers, Kind, blocks, look_up
from exactnoise.aggregates._keys import kind_of_type
from exactnoise.mechanisms._arrow import Text

__all__ = ["Keys"]

_DENSE = 1 << 16  # a table of so many entries is always worth it


class Keys:
    """The keys of one column, as what its rows are matched with: a `Matcher`."""

    def __init__(self, keys: tuple[Any, ...]) -> None:
        self.keys = keys
        self.kind = kind_of_type(type(keys[0]))
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
        return values.mapped(lambda block: map(self._by_text.get, block, repeat(-1)))

    @cached_property
    def _by_object(self) -> dict[Any, int]:
        return {key: code for code, key in enumerate(self.keys)}

    @cached_property
    def _by_text(self) -> dict[bytes, int]:
        return {key.encode("utf-8", "surrogatepass"): code for code, key in enumerate(self.keys)}

    @cached_property
    def _fits(self) -> _Fits:
        return _Fits(self.kind)

    def _integers(self, dtype: str) -> list[int | None]:
        """The keys as the integers that a column of this dtype has for them; None where it has none."""
        if self.kind == "dates":
            epoch = datetime.date(1970, 1, 1).toordinal()
            return [key.toordinal() - epoch for key in self.keys]
        if self.kind == "times":
            return [_ticks(key, dtype) for key in self.keys]
        return list(map(int, self.keys))


class _Fits(dict[type, bool]):
    """Whether values of a type are of a kind."""

    def __init__(self, kind: Kind | None) -> None:
        self._kind = kind

    def __missing__(self, of: type) -> bool:
        self[of] = kind_of_type(of) == self._kind
        return self[of]


class _IntegerTable:
    """From integers to the codes of keys: by a dense table where the keys are close together, else by bisection."""

    def __init__(self, keys: list[int | None], *, unsigned: bool) -> None:
        self._dtype = np.dtype("u8" if unsigned else "i8")
        limits = np.iinfo(self._dtype)
        whole = [key for key in keys if key is not None]
        codes = np.arange(len(keys), dtype=np.int64)
        if len(whole) < len(keys) or min(whole) < limits.min or max(whole) > limits.max:
            held = [(key, code) for code, key in enumerate(keys) if key is not None and limits.min <= key <= limits.max]
            whole, codes = [key for key, _ in held], np.array([code for _, code in held], np.int64)
        values = np.array(whole, self._dtype)
        order = np.argsort(values)
        self._keys, self._codes = values[order], codes[order]
        count = len(whole)
        low, high = (int(self._keys[0]), int(self._keys[-1])) if count else (0, -1)
        self._low, self._span = low, high - low + 1
        self._is_identity = not unsigned and low == 0 and high == count - 1 and bool(np.all(self._codes == self._keys))
        self._table: Integers | None = None
        if self._span <= max(_DENSE, 4 * count):
            self._table = np.full(self._span + 2, -1, np.int64)  # with something outside at either end
            self._table[(self._keys - self._dtype.type(low)).astype(np.int64) + 1] = self._codes

    def codes(self, values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> Integers:
        flags = values.flags
        if self._is_identity and values.dtype == np.int64 and flags.c_contiguous and flags.aligned and missing is None:
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


def _ticks(key: datetime.datetime, dtype: str) -> int | None:
    """Units of a datetime64 dtype since 1970; None for what lies between two."""
    microseconds = (key - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    unit = dtype.partition("[")[2].rstrip("]")
    if unit == "ns":
        return 1000 * microseconds
    ticks, rest = divmod(microseconds, {"s": 10**6, "ms": 1000, "us": 1}[unit])
    return None if rest else ticks
