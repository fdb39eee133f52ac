"""What a pipeline asks of mechanisms and budgets, as exact values. NOT PRIVATE: for tests only.

The mechanisms have no hooks. Within `patched` the methods that release, spend and sample are replaced, for the whole
process, by ones that do the same and report to a recorder.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.budget import Spend
from exactnoise.aggregates import people
from exactnoise.mechanisms import AdditiveMechanism, LocalRandomizer, Mechanism, SelectionMechanism, Snapping
from exactnoise.mechanisms._data import KERNEL_DTYPES, Lanes, read
from exactnoise.mechanisms._wide import Wide
from exactnoise.mechanisms.selection import checked_scores

__all__ = ["Call", "Charge", "Event", "Recorder", "Sampling", "patched"]

Options = Mapping[str, Any]
#: The exact data of a release, as the noise is added to it, and what is public about it: types and shapes.
Reader = Callable[[Any, Any, Options], tuple[npt.NDArray[Any], dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Call:
    """One release: the mechanism, the exact data it was given, and what it returned. NOT PRIVATE.

    Attributes
    ----------
    mechanism : Mechanism
        With its parameters.
    inputs : ndarray
        The exact data, after the mechanism's rule for NaN and missing values and, for `Snapping`, clamping: floats,
        integers, or Fractions where a total has more than 64 bits.
    output : number or ndarray
        What the pipeline was given.
    cost : PrivacyCost or None
        What the call charged to its budget; None where it was told that accounting is done elsewhere.
    label : str or None
        What the call told its budget.
    options : mapping
        What else decides what is released: types and shapes, masks, the budget's relation.
    """

    mechanism: Mechanism
    inputs: npt.NDArray[Any]
    output: Any
    cost: PrivacyCost | None
    label: str | None
    options: Options = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Charge:
    """What a budget was charged outside of a release, and which one of the pipeline's it was."""

    budget: str
    spend: Spend


@dataclass(frozen=True)
class Sampling:
    """The bounds of a choice among each person's rows."""

    rows: int
    groups: int | None


Event = Call | Charge | Sampling


class Recorder:
    """What the replaced methods report to."""

    #: Whether people's rows are chosen without randomness: by each person's own rows and their order.
    freezes_samples = False

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.spends: list[Spend] = []
        self._budgets: list[PrivacyBudget] = []
        self._lock = threading.Lock()
        self._thread = threading.local()

    @property
    def calls(self) -> list[Call]:
        return [event for event in self.events if isinstance(event, Call)]

    def passed(self, event: Event) -> Any:
        """Take note of what happened; for a release, return what the pipeline is given."""
        with self._lock:
            self.events.append(event)
        return event.output if isinstance(event, Call) else None

    def is_inside(self) -> bool:
        """Whether this thread is within a release: what happens there is a part of it."""
        return getattr(self._thread, "costs", None) is not None

    def within(self, release: Callable[[], Any]) -> tuple[Any, list[PrivacyCost]]:
        """Run a release, and return what it charged as well."""
        costs: list[PrivacyCost] = []
        self._thread.costs = costs
        try:
            return release(), costs
        finally:
            self._thread.costs = None

    def charged(self, budget: PrivacyBudget, spend: Spend) -> None:
        with self._lock:
            self.spends.append(spend)
            if not any(known is budget for known in self._budgets):
                self._budgets.append(budget)
            number = [known is budget for known in self._budgets].index(True)
        if self.is_inside():
            self._thread.costs.append(spend.cost)
        else:
            terms = f"{budget.total!r}, neighbors={budget.neighbors!r}, unit={budget.unit!r}"
            self.passed(Charge(f"budget {number + 1} of {terms}", spend))


_IN_USE = threading.Lock()
_MOST_ROWS = 2**48


@contextmanager
def patched(recorder: Recorder) -> Iterator[None]:
    """Have releases, spends and samplings reported, in this process, until the block ends."""
    if not _IN_USE.acquire(blocking=False):
        raise RuntimeError(
            "recordings and replays cannot be nested or run side by side: they replace the mechanisms' methods for "
            "the whole process; end the one before the next"
        )
    undo: list[tuple[Any, str, Any]] = []

    def replace(owner: Any, name: str, substitute: Callable[..., Any]) -> None:
        undo.append((owner, name, vars(owner)[name]))
        setattr(owner, name, substitute)

    try:
        for kind, name, reader in _RELEASES:
            replace(kind, name, _reporting(vars(kind)[name], reader, recorder))
        replace(PrivacyBudget, "spend", _reporting_spend(PrivacyBudget.spend, recorder))
        replace(people, "kept", _reporting_sample(people.kept, recorder))
        yield
    finally:
        for owner, name, original in reversed(undo):
            setattr(owner, name, original)
        _IN_USE.release()


def _reporting(original: Callable[..., Any], reader: Reader, recorder: Recorder) -> Callable[..., Any]:
    """A release that does what the original does, and reports what it was given before that."""
    signature = inspect.signature(original)
    data = list(signature.parameters)[1]

    @functools.wraps(original)
    def release(self: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.is_inside():
            return original(self, *args, **kwargs)
        try:
            given = signature.bind(self, *args, **kwargs)
            given.apply_defaults()
            options = {name: value for name, value in given.arguments.items() if name not in ("self", data)}
            inputs, public = reader(self, given.arguments[data], options)
        except Exception:
            original(self, *args, **kwargs)  # what cannot be read is refused, in better words
            raise
        out, budget, label = (options.pop(name, None) for name in ("out", "budget", "label"))
        options |= public | {"out": out is not None, "neighbors": None if budget is None else budget.neighbors}
        result, costs = recorder.within(lambda: original(self, *args, **kwargs))
        cost = costs[0] if costs else None
        returned = recorder.passed(Call(self, inputs, _copied(result), cost, label, options))
        if out is None:
            return _copied(returned)
        np.copyto(np.asarray(out), returned)
        return out

    return release


def _reporting_spend(original: Callable[..., None], recorder: Recorder) -> Callable[..., None]:
    @functools.wraps(original)
    def spend(self: PrivacyBudget, what: Any, *, label: str | None = None) -> None:
        original(self, what, label=label)
        cost = what if isinstance(what, PrivacyCost) else what.cost
        recorder.charged(self, Spend(label, cost, None if cost is what else repr(what)))

    return spend


def _reporting_sample(original: Callable[..., Any], recorder: Recorder) -> Callable[..., Any]:
    @functools.wraps(original)
    def kept(person: Any, codes: Any, n: int | None, *, rows: int, groups: int | None, **options: Any) -> Any:
        recorder.passed(Sampling(rows, groups))
        if recorder.freezes_samples:  # equal words, for as many rows as there are: the ids may be all that tells
            options["words"] = np.broadcast_to(np.uint64(0), _MOST_ROWS)
        return original(person, codes, n, rows=rows, groups=groups, **options)

    return kept


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value


# How each kind of mechanism sees its data.


def _public(lanes: Lanes) -> dict[str, Any]:
    return {"shape": lanes.values.shape, "dtype": lanes.values.dtype.str, "scalar": lanes.scalar}


def _of_additive(mechanism: AdditiveMechanism, x: Any, options: Options) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    lanes = read(x)
    dtype, _ = KERNEL_DTYPES[mechanism._form(lanes.is_integer, lanes.is_float32)]
    return _without_nan(lanes, dtype, mechanism._nan), _public(lanes)


def _of_snapping(mechanism: Snapping, x: Any, options: Options) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    lanes, noise = read(x), mechanism._noise
    dtype, _ = KERNEL_DTYPES[noise._form(lanes.is_integer, lanes.is_float32)]
    clamped = mechanism._clamped(lanes, dtype, mechanism._limits(dtype))
    return _without_nan(Lanes(clamped, None, None), dtype, noise._nan), _public(lanes)


def _without_nan(lanes: Lanes, dtype: np.dtype[Any], nan: float) -> npt.NDArray[Any]:
    values = lanes.piece(0, lanes.values.size, dtype, nan)
    if dtype.kind == "f":
        values = values.astype(np.float64)  # the replacement may be no float32
        values[np.isnan(values)] = nan
    return values.reshape(lanes.values.shape)


def _of_wide(mechanism: AdditiveMechanism, x: Wide, options: Options) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    inputs = np.empty(x.low.size, object)
    inputs[:] = x.fractions()
    return inputs.reshape(x.low.shape), {"shape": x.low.shape, "exponent": x.exponent}


def _of_selection(mechanism: SelectionMechanism, x: Any, options: Options) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    """Scores as `SelectionMechanism.release` counts them; those of excluded candidates are 0."""
    mask = options["mask"]
    table, _ = checked_scores(x, mask)
    lanes, shape = table.lanes, (table.rows, table.candidates)
    values = lanes.values.reshape(shape)
    is_float = values.dtype.kind == "f"
    values = values.astype(np.float64 if is_float else np.uint64 if values.dtype == np.uint64 else np.int64)
    missing = np.zeros(shape, bool) if lanes.missing is None else lanes.missing.reshape(shape)
    excluded = np.zeros(shape, bool) if table.mask is None else np.broadcast_to(table.mask, shape)
    finite = ~missing & (np.isfinite(values) if is_float else True)
    for row in range(table.rows):
        usable = values[row][finite[row] & ~excluded[row]]
        low, high = (usable.min(), usable.max()) if usable.size else (0, 0)
        infinite = values[row] == np.inf if is_float else np.zeros(table.candidates, bool)
        values[row] = np.where(finite[row], values[row], np.where(infinite & ~missing[row], high, low))
    values[excluded] = 0
    public = _public(lanes) | {"mask": None if mask is None else np.array(mask)}
    return values.reshape(lanes.values.shape), public


def _of_randomizer(mechanism: LocalRandomizer, x: Any, options: Options) -> tuple[npt.NDArray[Any], dict[str, Any]]:
    lanes = read(x)
    codes = lanes.piece(0, lanes.values.size, np.dtype(np.int64), mechanism.missing)
    codes[(codes < 0) | (codes >= mechanism.categories)] = mechanism.missing
    return codes.reshape(lanes.values.shape), _public(lanes)


_RELEASES: list[tuple[Any, str, Reader]] = [
    (AdditiveMechanism, "release", _of_additive),
    (AdditiveMechanism, "release_wide", _of_wide),
    (Snapping, "release", _of_snapping),
    (SelectionMechanism, "release", _of_selection),
    (LocalRandomizer, "release", _of_randomizer),
]
