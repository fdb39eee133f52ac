"""What a table can be about: a mechanism, a statistic, or any function that releases something."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.accounting.cost import Neighbors
from exactnoise.aggregates import Count, Release
from exactnoise.aggregates.statistic import Statistic
from exactnoise.aggregates.terms import ReleaseTerms, Terms
from exactnoise.mechanisms import (
    AdditiveMechanism,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    SelectionMechanism,
    Snapping,
)
from exactnoise.utility.laws import FiniteLaw, Law, MixedLaw, NoiseLaw, snapping_law
from exactnoise.utility.statistics import STATISTICS, exact_cells, law_of, repeated

__all__ = ["MECHANISMS", "Case", "Subject", "subject_of"]

Doubles = npt.NDArray[np.float64]

MECHANISMS: Mapping[str, type[Any]] = {
    "laplace": Laplace,
    "discrete-laplace": DiscreteLaplace,
    "gaussian": Gaussian,
    "discrete-gaussian": DiscreteGaussian,
    "snapping": Snapping,
    "exponential": Exponential,
    "permute-and-flip": PermuteAndFlip,
}
_FUNCTIONS = {kind.name: kind for kind in STATISTICS.values()}
_MOST_ERRORS = 10**8
_NEVER = 1e-9  # candidates less likely are never selected: no simulation would see one
_BATCH = 2**21  # totals that are released at a time


@dataclass(frozen=True, eq=False)
class Case:
    """What a subject is at one epsilon.

    Attributes
    ----------
    exact : ndarray or None
        The exact cells, where they have been said or follow from the data.
    law : Law or None
        The law of a cell's error; None where none is known.
    simulate : function
        ``simulate(trials)`` gives errors of shape (trials, cells), or (trials,).
    scale : float or None
        The scale of the noise, of the first part where there are several.
    promise : function or None
        ``promise(alpha)`` is the half width that the mechanism states, where that is not the law's.
    for_any_scores : bool
        The promise is a selection's: for the worst scores there could be, not for these.
    """

    exact: Doubles | None
    law: Law | None
    simulate: Callable[[int], Doubles]
    scale: float | None = None
    promise: Callable[[float], float] | None = None
    for_any_scores: bool = False

    def half_width(self, alpha: float) -> float | None:
        if self.promise is not None:
            return self.promise(alpha)
        return None if self.law is None else self.law.half_width(alpha)


class Subject(ABC):
    """Something with an error, once epsilon is said."""

    #: What tables and pictures call it.
    name: str

    @abstractmethod
    def at(self, epsilon: Fraction) -> Case: ...


def subject_of(what: Any, *, exact: Any, neighbors: Neighbors | None, data: Any, params: dict[str, Any]) -> Subject:
    """Tell what a table is about."""
    for name in ("epsilon", "scale", "rho", "budget"):
        if name in params:
            raise TypeError(f"{name} has no place here: a table goes over epsilons, and no budget pays for it")
    while isinstance(what, functools.partial):
        if what.args:
            raise TypeError("what must be a partial of keywords only: pass the data as data=")
        what, params = what.func, {**what.keywords, **params}
    if isinstance(what, str):
        known = {**MECHANISMS, **_FUNCTIONS}
        if what not in known:
            raise ValueError(f"what must be one of {', '.join(known)}, got {what!r}")
        what = known[what]
    if isinstance(what, type) and issubclass(what, SelectionMechanism):
        return _Selection(what, data if data is not None else exact, params)
    if isinstance(what, type) and issubclass(what, (AdditiveMechanism, Snapping)):
        if data is not None:
            raise TypeError("data is for statistics: give the cells that a mechanism adds noise to as exact=")
        return _Noise(what, exact, params)
    if isinstance(what, Statistic):
        if data is not None:
            raise TypeError("data is in the statistic already: add it there")
        return _Aggregate(what, exact, neighbors, params)
    kind = what
    if inspect.isroutine(what) and "person" not in params:  # people are sampled anew in each release
        kind = STATISTICS.get(what)
    if isinstance(kind, type) and issubclass(kind, Statistic):
        statistic, terms = _with_rows(kind, data, params)
        return _Aggregate(statistic, exact, neighbors, terms)
    if callable(what) and not isinstance(what, type):
        return _Function(what, exact, neighbors, data, params)
    raise TypeError(
        "what must be a mechanism's class or name, a function or an accumulator of exactnoise.aggregates, or a "
        f"function that releases something, got {what!r}"
    )


class _Noise(Subject):
    """A mechanism that adds noise to each cell."""

    def __init__(self, mechanism: type[Any], exact: Any, params: dict[str, Any]) -> None:
        self.name = mechanism.__name__
        build: Callable[..., Any] = mechanism
        self._build = functools.partial(build, **params)
        whole = mechanism in (DiscreteLaplace, DiscreteGaussian)
        cells = _cells(0 if exact is None else exact)
        self._said = exact is not None
        if whole and cells.dtype.kind != "i":
            raise TypeError(f"exact must be whole numbers for {self.name}, got dtype {cells.dtype}")
        self._cells = cells

    def at(self, epsilon: Fraction) -> Case:
        mechanism, cells = self._build(epsilon=epsilon), self._cells
        exact = cells.astype(np.float64)
        if isinstance(mechanism, Snapping):
            law: Law = MixedLaw([snapping_law(mechanism, x) for x in exact.tolist()])
        else:
            law = NoiseLaw(mechanism)

        def simulate(trials: int) -> Doubles:
            # One release of as many cells: their noise is independent, as that of as many releases.
            repeats = np.resize(cells, trials)
            return np.asarray(mechanism.release(repeats, budget=None) - repeats, np.float64)

        return Case(exact if self._said else None, law, simulate, mechanism.scale, mechanism.half_width)


class _Selection(Subject):
    """A mechanism that selects a candidate; its error is by how much the score is below the best."""

    def __init__(self, mechanism: type[SelectionMechanism], scores: Any, params: dict[str, Any]) -> None:
        self.name = mechanism.__name__
        if scores is None:
            raise TypeError(f"{self.name} needs exact: the score of each candidate, public or made up")
        self._build = functools.partial(mechanism, **params)
        self._scores = _cells(scores)

    def at(self, epsilon: Fraction) -> Case:
        mechanism, scores = self._build(epsilon=epsilon), self._scores
        gaps = (scores.max() - scores).astype(np.float64)

        def simulate(trials: int) -> Doubles:
            rows = np.broadcast_to(scores, (trials, scores.size))
            return np.asarray(gaps[mechanism.release(rows, disjoint=True, budget=None)])

        promise = functools.partial(mechanism.half_width, candidates=scores.size)
        odds = np.asarray(mechanism.probabilities(scores))
        return Case(
            np.array([float(scores.max())]),
            FiniteLaw(gaps, np.where(odds < _NEVER, 0.0, odds)),
            simulate,
            mechanism.scale,
            promise,
            for_any_scores=True,
        )


class _Aggregate(Subject):
    """A statistic of public rows."""

    def __init__(self, statistic: Statistic, exact: Any, neighbors: Neighbors | None, terms: Mapping[str, Any]) -> None:
        statistic._check_open()
        self.name = statistic.name
        self._statistic = statistic
        self._terms = functools.partial(
            Terms.checked,
            statistic.name,
            grouped=statistic._groups is not None,
            **{**terms, "budget": None, "neighbors": neighbors},
        )
        self._tally = statistic._tally or statistic._empty()
        self._exact = exact_cells(statistic, self._tally) if exact is None else _cells(exact).astype(np.float64)

    def at(self, epsilon: Fraction) -> Case:
        statistic, tally, exact = self._statistic, self._tally, self._exact
        terms = self._terms(epsilon=epsilon)
        noise = statistic._noise(terms, tally)

        def simulate(trials: int) -> Doubles:
            if trials * exact.size > _MOST_ERRORS:
                raise ValueError(f"trials times {exact.size} cells must be at most 10**8, got {trials} trials")
            size = max(tally.counts.size, *(total.low.size for total in tally.totals), 1)
            errors, most = [], max(_BATCH // size, 1)
            for start in range(0, trials, most):
                times = min(most, trials - start)
                values = statistic._estimate(terms, noise, repeated(tally, times)).value()
                errors.append(values.reshape(times, -1) - exact)
            return np.concatenate(errors)

        return Case(exact, law_of(statistic, terms, noise, tally), simulate, noise.mechanisms[0].scale)


class _Function(Subject):
    """Any function that releases something; it is called once a trial."""

    def __init__(
        self, function: Callable[..., Any], exact: Any, neighbors: Neighbors | None, data: Any, params: dict[str, Any]
    ) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        if exact is None:
            raise TypeError(f"{self.name} needs exact: what it would release without noise")
        self._exact = _cells(exact).astype(np.float64)
        arguments = () if data is None else (data,)
        self._call = functools.partial(function, *arguments, budget=None, neighbors=neighbors, **params)

    def at(self, epsilon: Fraction) -> Case:
        def simulate(trials: int) -> Doubles:
            released = [self._call(epsilon=epsilon) for _ in range(trials)]
            values = [r.value if isinstance(r, Release) else r for r in released]
            return np.array([np.ravel(np.asarray(value, np.float64)) for value in values]) - self._exact

        return Case(self._exact, None, simulate)


def _with_rows(kind: type[Statistic], data: Any, params: dict[str, Any]) -> tuple[Statistic, dict[str, Any]]:
    """A statistic of the rows, and the terms of its release."""
    terms = {name: value for name, value in params.items() if name in ReleaseTerms.__annotations__}
    defined = {name: params[name] for name in inspect.signature(kind).parameters if name in params}
    rows = {name: value for name, value in params.items() if name not in {**terms, **defined}}
    if kind is Count:
        defined.setdefault("masked", data is not None)
    elif data is None:
        raise TypeError(f"{kind.name} needs data: public or made-up values")
    statistic: Any = kind(**defined)
    statistic.add(*(() if data is None else (data,)), **rows)
    return statistic, terms


def _cells(exact: Any) -> npt.NDArray[Any]:
    cells = np.atleast_1d(np.asarray(exact)).ravel()
    if cells.dtype.kind in "ub":
        cells = cells.astype(np.int64)
    if cells.dtype.kind not in "if" or not cells.size:
        raise TypeError(f"exact must be a number, or an array of at least one, got {type(exact).__name__}")
    if not np.isfinite(cells).all():
        raise ValueError("exact must be finite")
    return cells
