"""Whether two results are the same, of any type that a pipeline may return, and where they first differ."""

from __future__ import annotations

import dataclasses
import datetime
import pickle
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

import numpy as np

from exactnoise.accounting import PrivacyBudget

__all__ = ["difference"]

_MOST_SHOWN = 80


def difference(a: Any, b: Any, name: str) -> str | None:
    """Return where a and b differ, in words, as parts of what `name` says; None where nothing tells them apart.

    Types, dtypes, the order of keys, signs of zeros and bits count; one NaN is as good as another.
    """
    if a is b:
        return None
    if type(a) is not type(b):
        return f"{name}: {type(a).__name__} and {type(b).__name__}"
    if isinstance(a, (np.ndarray, np.generic)):
        return _of_arrays(np.asanyarray(a), np.asanyarray(b), name)
    if isinstance(a, (float, complex, Decimal, datetime.datetime, datetime.time)):  # equal ones may look different
        return None if repr(a) == repr(b) else _shown(a, b, name)
    if isinstance(a, (str, bytes, bytearray, int, type(None))):
        return None if a == b else _shown(a, b, name)
    if isinstance(a, Mapping):
        return difference(list(a), list(b), f"the keys of {name}") or _first(
            difference(x, y, f"{name}[{key!r}]") for key, x, y in zip(a, a.values(), b.values(), strict=True)
        )
    if isinstance(a, Sequence):
        return _of_sequences(a, b, name)
    if isinstance(a, Set):
        others = {element: element for element in b}
        return _shown(a, b, name) if a != b else _first(difference(x, others[x], f"{x!r} in {name}") for x in a)
    if isinstance(a, PrivacyBudget):
        return difference(a.to_state(), b.to_state(), name)
    if callable(getattr(a, "equals", None)):  # frames and series of any library
        return _of_frames(a, b, name)
    return _of_objects(a, b, name)


def _first(differences: Any) -> str | None:
    return next(filter(None, differences), None)


def _of_arrays(a: Any, b: Any, name: str) -> str | None:
    if a.dtype != b.dtype:
        return f"{name}: dtype {a.dtype} and {b.dtype}"
    if a.shape != b.shape:
        return f"{name}: shape {a.shape} and {b.shape}"
    if isinstance(a, np.ma.MaskedArray):
        mask = difference(np.ma.getmaskarray(a), np.ma.getmaskarray(b), f"the mask of {name}")
        return mask or _of_arrays(np.ma.getdata(a), np.ma.getdata(b), f"the data of {name}")  # under the mask as well
    if a.dtype.names:
        return _first(_of_arrays(a[field], b[field], f"{name}[{field!r}]") for field in a.dtype.names)
    if a.dtype.kind == "O":
        return _of_sequences(a.ravel().tolist(), b.ravel().tolist(), name)
    if a.dtype.kind == "c":
        return _of_arrays(a.real, b.real, f"{name}.real") or _of_arrays(a.imag, b.imag, f"{name}.imag")
    differs = a != b
    if a.dtype.kind == "f":
        differs |= np.signbit(a) != np.signbit(b)
        differs &= ~(np.isnan(a) & np.isnan(b))
    elif a.dtype.kind in "mM":
        differs &= ~(np.isnat(a) & np.isnat(b))
    if not differs.any():
        return None
    where = tuple(int(index[0]) for index in np.nonzero(np.atleast_1d(differs)))
    place = f"{name}[{', '.join(map(str, where))}]" if a.ndim else name
    return _shown(np.atleast_1d(a)[where].item(), np.atleast_1d(b)[where].item(), place)


def _of_sequences(a: Any, b: Any, name: str) -> str | None:
    if len(a) != len(b):
        return f"{name}: {len(a)} and {len(b)} of them"
    return _first(difference(x, y, f"{name}[{i}]") for i, (x, y) in enumerate(zip(a, b, strict=True)))


def _of_frames(a: Any, b: Any, name: str) -> str | None:
    """By parts where the library is pandas, Polars or Arrow, as `equals` looks at no names and no signs of zeros."""
    if hasattr(a, "as_py"):
        return _shown(a.type, b.type, name) if a.type != b.type else difference(a.as_py(), b.as_py(), name)
    if hasattr(a, "to_pylist"):
        if hasattr(a, "schema"):
            if not a.schema.equals(b.schema, check_metadata=True):
                return _shown(a.schema, b.schema, f"the schema of {name}")
            return _of_sequences(a.columns, b.columns, f"the columns of {name}")
        return _shown(a.type, b.type, name) if a.type != b.type else difference(a.to_pylist(), b.to_pylist(), name)
    if hasattr(a, "iloc"):
        labels = difference(a.index, b.index, f"the index of {name}") or difference(a.attrs, b.attrs, f"{name}.attrs")
        if labels or not hasattr(a, "columns"):
            return labels or _of_columns(a, b, name)
        columns = zip(range(len(a.columns)), a.columns, strict=True)
        return difference(a.columns, b.columns, f"the columns of {name}") or _first(
            difference(a.iloc[:, i], b.iloc[:, i], f"{name}[{label!r}]") for i, label in columns
        )
    if hasattr(a, "names") and hasattr(a, "dtype"):
        return difference(list(a.names), list(b.names), f"the names of {name}") or _of_columns(a, b, name)
    if hasattr(a, "get_columns"):  # Polars
        return _of_sequences(a.get_columns(), b.get_columns(), f"the columns of {name}")
    if hasattr(a, "dtype") and (hasattr(a, "tolist") or hasattr(a, "to_list")):
        return _of_columns(a, b, name)
    return None if a.equals(b) else _shown(a, b, name)


def _of_columns(a: Any, b: Any, name: str) -> str | None:
    """Of pandas and Polars."""
    if a.dtype != b.dtype:
        return f"{name}: dtype {a.dtype} and {b.dtype}"
    kinds = getattr(a.dtype, "categories", None), getattr(b.dtype, "categories", None)
    return (
        difference(getattr(a, "name", None), getattr(b, "name", None), f"the name of {name}")
        or difference(*kinds, f"the categories of {name}")
        or difference(_listed(a), _listed(b), name)
    )


def _listed(column: Any) -> Any:
    return column.tolist() if hasattr(column, "tolist") else column.to_list()


def _of_objects(a: Any, b: Any, name: str) -> str | None:
    """By what the type calls equal; where it calls nothing equal, by what the objects hold."""
    identity: Any = object.__eq__
    if dataclasses.is_dataclass(a) or type(a).__eq__ is identity:
        state = _state(a), _state(b)
        if state[0]:
            return _first(difference(value, state[1].get(key), f"{name}.{key}") for key, value in state[0].items())
        return _of_pickles(a, b, name)
    try:
        return None if bool(a == b) else _shown(a, b, name)
    except Exception:
        return _of_pickles(a, b, name)


def _state(thing: Any) -> dict[str, Any]:
    state = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if slot not in ("__weakref__", "__dict__") and hasattr(thing, slot):
                state[slot] = getattr(thing, slot)
    return state


def _of_pickles(a: Any, b: Any, name: str) -> str | None:
    try:
        if pickle.dumps(a) == pickle.dumps(b):
            return None
    except Exception:
        return f"{name}: a {type(a).__name__}, which cannot be compared; return values"
    return _shown(a, b, name)


def _shown(a: Any, b: Any, name: str) -> str:
    pair = [text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..." for text in map(repr, (a, b))]
    return f"{name}: {pair[0]} and {pair[1]}"
