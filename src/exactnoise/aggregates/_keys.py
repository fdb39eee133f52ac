"""Keys as they are declared: public parameters, checked strictly."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from exactnoise.accounting.amount import shown
from exactnoise.aggregates._columns import Kind

__all__ = ["MOST", "checked", "kind_of_type"]

MOST = 2**31

_TYPES: dict[Kind, tuple[type, ...]] = {
    "booleans": (bool, np.bool_),
    "integers": (int, np.integer),
    "texts": (str,),
    "times": (datetime.datetime,),
    "dates": (datetime.date,),
}  # the first that fits decides: a bool is an int too, a datetime a date
_ONE_OF = "integers, booleans, texts, dates or times without a zone"


def checked(keys: Any, name: str) -> tuple[Any, ...]:
    """The keys of a column as Python values, each of them once."""
    values = _listed(keys, name)
    if not values:
        raise ValueError(f"{name} must have at least one key")
    if isinstance(keys, range):
        _plain(values[0], name)
        _plain(values[-1], name)
        return tuple(values)
    kinds: dict[type, Kind | None] = {of: kind_of_type(of) for of in set(map(type, values))}
    if len(set(kinds.values())) > 1 or None in kinds.values():
        first = kinds[type(values[0])]
        i, value = next((i, v) for i, v in enumerate(values) if kinds[type(v)] is None or kinds[type(v)] != first)
        if kinds[type(value)] is None:
            got = f"{name}[{i}] is {shown(value)} of type {type(value).__name__}"
            raise TypeError(f"{name} must be {_ONE_OF}; {got}{_hint(value)}")
        raise TypeError(f"{name} must be of one kind; {name}[0] is {values[0]!r} and {name}[{i}] is {value!r}")
    if set(kinds) != {str} and not (set(kinds) == {int} and min(values) >= -(2**63) and max(values) < 2**64):
        values = [_plain(value, f"{name}[{i}]") for i, value in enumerate(values)]
    places = dict(zip(reversed(values), range(len(values) - 1, -1, -1), strict=True))
    if len(places) < len(values):
        i, value = next((i, value) for i, value in enumerate(values) if places[value] != i)
        raise ValueError(f"{name} must be distinct; {name}[{places[value]}] and {name}[{i}] are both {value!r}")
    return tuple(values)


def _hint(value: object) -> str:
    if isinstance(value, float) and value != value:
        return ": leave what is missing out, and declare keys without looking at the data"
    if isinstance(value, float):
        return ": declare bins by their edges instead"
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return ": the keys of several columns are a tuple of lists, one a column"
    return ""


def _listed(keys: Any, name: str) -> list[Any]:
    if not isinstance(keys, (np.ndarray, list, tuple)) and hasattr(keys, "categories"):
        keys = keys.categories
    if isinstance(keys, (str, bytes, set, frozenset, dict)) or not hasattr(keys, "__len__"):
        what = f"a {type(keys).__name__}" + (", which has no order" if isinstance(keys, (set, frozenset)) else "")
        raise TypeError(f"{name} must be a list, range, array or Index of keys, in the order of the result; got {what}")
    if len(keys) > MOST:
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


def kind_of_type(of: type) -> Kind | None:
    """What a key of this type is; None for what cannot be a key."""
    return next((kind for kind, types in _TYPES.items() if issubclass(of, types)), None)


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
        return str.__str__(key)  # of an enumeration's member too the value
    if isinstance(key, (bool, np.bool_)):
        return bool(key)
    if not -(2**63) <= int(key) < 2**64:
        raise ValueError(f"{name} must be of 64 bits; got {key}")
    return int(key)
