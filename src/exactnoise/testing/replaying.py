"""Replays: a pipeline on neighbouring data with the mechanisms' outputs frozen. NOT PRIVATE: for tests only.

Why it is a test of privacy. A mechanism's theorem holds when it is chosen without looking at the data, its inputs on
neighbouring data are no further apart than its sensitivity, and everything afterwards sees its output alone. Freeze
all outputs: whatever then still differs between the two runs has seen the data in another way. (The idea of running
with recorded outputs: *Re:cord-play*, PETS 2026, arXiv 2602.17454.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from exactnoise.accounting.amount import approximately
from exactnoise.accounting.budget import Spend
from exactnoise.errors import BudgetExceeded
from exactnoise.testing.distance import Distance, declared_sensitivity, measured
from exactnoise.testing.recording import Call, Charge, Event, Recorder, patched
from exactnoise.testing.sameness import difference

__all__ = ["Replay", "ReplayError", "recorded", "replay"]

Data = TypeVar("Data")


class ReplayError(AssertionError):
    """A pipeline shows more of its data than its mechanisms do."""


@dataclass(frozen=True)
class Replay:
    """A pipeline that passed, on one pair of neighbours. NOT PRIVATE: it holds exact data.

    Attributes
    ----------
    calls : tuple of Call
        The releases on the first data, in order.
    distances : tuple of Fraction
        How far apart the inputs of each call were on the two data, exactly: in the L1 norm for Laplace noise and
        snapping, in the L2 norm for Gaussian noise (an irrational one rounded up at the 128th bit), the largest change
        of a score for selections, the number of people whose category changed for local reports.
    sensitivities : tuple of Fraction
        What each call's mechanism allows; no distance is above it.
    spent : tuple of Spend
        Everything charged to budgets, in order.
    """

    calls: tuple[Call, ...]
    distances: tuple[Distance, ...]
    sensitivities: tuple[Fraction, ...]
    spent: tuple[Spend, ...]

    def __repr__(self) -> str:
        rows: list[tuple[str, ...]] = [("call", "mechanism", "shape", "distance", "sensitivity")]
        for i, call in enumerate(self.calls):
            numbers = map(_number, (self.distances[i], self.sensitivities[i]))
            rows.append((str(i + 1), repr(call.mechanism), str(call.inputs.shape), *numbers))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines += [f"spent {spend.cost!r}" + (f" for {spend.label!r}" if spend.label else "") for spend in self.spent]
        return "\n".join(lines)


def recorded(pipeline: Callable[[Data], Any], data: Data) -> list[Call]:
    """Run a pipeline for real, and return its releases with their exact data. NOT PRIVATE.

    Parameters
    ----------
    pipeline : callable
        Takes the data; releases through this package's mechanisms, at any depth, in this process.
    data
        Whatever the pipeline takes.

    Returns
    -------
    list of Call
        In order; a release within a release is a part of it.

    Raises
    ------
    RuntimeError
        Another recording or replay is under way.
    """
    recorder = Recorder()
    with patched(recorder):
        pipeline(data)
    return recorder.calls


def replay(pipeline: Callable[[Data], Any], data: Data, neighbour: Data) -> Replay:
    """Run a pipeline on data and again on neighbouring data with the same noisy answers; check that nothing else tells
    the two apart. NOT PRIVATE.

    Parameters
    ----------
    pipeline : callable
        Takes the data and returns what is published. It makes its own `PrivacyBudget`, since it runs twice. Other
        randomness of its own must be seeded, or it counts as a difference.
    data, neighbour
        Two data sets that differ in one row, or one person: by the relation that the budget protects.

    Returns
    -------
    Replay
        Calls, exact distances, sensitivities, and what was spent.

    Raises
    ------
    ReplayError
        One of: the releases, their mechanisms, types, shapes or options, or what was spent, differ; the inputs of a
        release are further apart than its sensitivity; an exception or warning comes from one run only, or says
        something else; what is returned differs.
    RuntimeError
        Another recording or replay is under way.
    Exception
        What the pipeline raises, if both runs raise the same.

    Notes
    -----
    A failure is a leak, or looks like one. Passing is about this pair of neighbours alone: try pairs that are
    extreme, such as a row at a bound, beyond it, and not there at all. Warnings are those of the default filters, and
    raise nothing meanwhile. A choice among people's rows is made by their order, for both runs.

    Examples
    --------
    >>> from exactnoise import Laplace
    >>> def total(minutes):
    ...     clipped = [min(max(value, 0), 60) for value in minutes]
    ...     return Laplace(sensitivity=60, epsilon=1).release(sum(clipped), budget=None)
    >>> replay(total, [12, 75], [12, 75, 999])
    call  mechanism                           shape  distance  sensitivity
    1     Laplace(sensitivity=60, epsilon=1)  ()     60        60
    """
    first = _Freezing()
    before = _run(pipeline, data, first)
    second = _Frozen(first.events, before.error)
    after = _run(pipeline, neighbour, second)

    if second.failure is not None:
        raise second.failure from None
    _check_ends(before, after)
    for event in first.events[len(second.events) :]:
        raise ReplayError(
            f"on the data there was also {_described(event)}, {len(first.events)} steps and on the neighbour "
            f"{len(second.events)}. {_FIXED}"
        )
    if before.error is not None:
        raise before.error
    leak = difference(before.value, after.value, "the returned value")
    if leak is not None:
        raise ReplayError(
            f"the pipeline returned something else on the neighbour, with the very same noisy answers. {leak}. "
            "Something of the data gets around the mechanisms: an exact number that is returned or decides something, "
            "a release by a method bound before the replay, or randomness of the pipeline's own without a fixed seed"
        )
    return Replay(
        tuple(first.calls),
        tuple(second.distances),
        tuple(declared_sensitivity(call.mechanism) for call in first.calls),
        tuple(first.spends),
    )


_FIXED = "Which releases are made, and from which budget, must follow from public things alone"


class _Freezing(Recorder):
    freezes_samples = True


class _Frozen(_Freezing):
    """Compares every event with that of the first run, and hands out the first run's outputs."""

    def __init__(self, first: list[Event], error: Exception | None) -> None:
        super().__init__()
        self.first = first
        self.error = error
        self.distances: list[Distance] = []
        #: What is wrong first; kept, because the pipeline may catch what is raised within it.
        self.failure: ReplayError | None = None

    def passed(self, event: Event) -> Any:
        with self._lock:
            number = len(self.events)
            self.events.append(event)
            problem = self._problem(number, event)
            if self.failure is None and problem is not None:
                self.failure = ReplayError(problem)
        if self.failure is not None:
            raise self.failure
        frozen = self.first[number]
        return frozen.output if isinstance(frozen, Call) else None

    def _problem(self, number: int, event: Event) -> str | None:
        if number >= len(self.first):
            if self.error is not None:
                return f"{_ONE_RUN}: on the data {_shown(self.error)}, and on the neighbour it went on"
            return f"on the neighbour there was also {_described(event)}, after all steps on the data. {_FIXED}"
        before = self.first[number]
        place = f"step {number + 1}"
        if not (isinstance(before, Call) and isinstance(event, Call)):
            if before == event:
                return None
            return f"{place} was {_described(before)} on the data, and {_described(event)} on the neighbour. {_FIXED}"
        if before.mechanism != event.mechanism:
            return (
                f"{place} was {before.mechanism!r} on the data, and {event.mechanism!r} on the neighbour: a scale, a "
                "grid or a choice that depends on the data. A mechanism's parameters must be public"
            )
        place = f"{place}, {event.mechanism!r}"
        options = difference({**before.options}, {**event.options}, "the call") or difference(
            (before.cost, before.label), (event.cost, event.label), "(cost, label)"
        )
        if options is not None:
            return (
                f"{place}, was called in another way on the neighbour. {options}. Types, shapes and options are not "
                "hidden by noise: they must follow from public things alone"
            )
        distance, problem = measured(before, event)
        self.distances.append(distance)
        return None if problem is None else f"{place}: {problem}"


@dataclass(frozen=True)
class _End:
    value: Any
    error: Exception | None
    warned: list[warnings.WarningMessage]


def _run(pipeline: Callable[[Any], Any], data: Any, recorder: Recorder) -> _End:
    value = error = None
    with warnings.catch_warnings(record=True) as warned, patched(recorder):
        warnings.simplefilter("always")
        try:
            value = pipeline(data)
        except Exception as raised:
            error = raised
    if isinstance(value, Iterator):
        raise TypeError(f"the pipeline must return values, got a {type(value).__name__}, which has yet to be run")
    return _End(value, error, warned)


_ONE_RUN = "an exception that depends on the data is an output that no noise hides"


def _check_ends(before: _End, after: _End) -> None:
    ends = [_shown(end.error) if end.error else "it ended well" for end in (before, after)]
    if ends[0] != ends[1]:
        shared = before.error is None and isinstance(after.error, BudgetExceeded)
        hint = ". Does it make its own budget? One from outside pays for both runs" if shared else ""
        raise ReplayError(f"{_ONE_RUN}: on the data {ends[0]}, and on the neighbour {ends[1]}{hint}") from (
            after.error or before.error
        )
    said = [[f"{w.category.__name__}: {w.message}" for w in end.warned] for end in (before, after)]
    if said[0] != said[1]:
        raise ReplayError(
            f"a warning that depends on the data is an output that no noise hides: on the data {said[0]}, and on the "
            f"neighbour {said[1]}"
        )


def _shown(error: Exception) -> str:
    return f"it raised {type(error).__name__}: {error}"


def _described(event: Event) -> str:
    if isinstance(event, Call):
        return f"a release by {event.mechanism!r}"
    if isinstance(event, Charge):
        what = event.spend.mechanism or repr(event.spend.cost)
        return f"a spend of {what}, label {event.spend.label!r}, from {event.budget}"
    return f"a choice of at most {event.rows} rows in at most {event.groups} groups a person"


def _number(distance: Distance) -> str:
    return "infinite" if isinstance(distance, float) else approximately(distance)
