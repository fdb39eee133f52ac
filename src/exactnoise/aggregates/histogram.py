"""Histograms: counts of rows in declared bins and categories, along one or more axes."""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import bin_values, count_codes
from exactnoise.accounting.amount import exact, shown
from exactnoise.aggregates.chunks import Chunk, Tally, as_floats, column
from exactnoise.aggregates.counts import CellCounts
from exactnoise.aggregates.groups import declared
from exactnoise.aggregates.noise import Noise, Part, noise_for
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.statistic import release_once
from exactnoise.aggregates.terms import ReleaseTerms, Terms, check_names

__all__ = ["Histogram", "histogram"]

_MOST_CELLS = 2**28
_LARGEST_EDGE = 10**308

Codes = npt.NDArray[np.int64]


class Histogram(CellCounts):
    """Counts of rows in declared bins, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    edges, categories, other, keys, nonnegative
        As for `histogram`.
    """

    name: ClassVar[str] = "histogram"

    def __init__(
        self,
        *,
        edges: Any = None,
        categories: Any = None,
        other: bool = False,
        keys: Any = None,
        nonnegative: bool = False,
    ) -> None:
        super().__init__(keys, nonnegative)
        if not isinstance(other, bool):
            raise TypeError(f"other must be True, for a bin of all remaining values, or False, got {other!r}")
        self._axes = _declared_axes(edges, categories)
        self._other = other
        if other and any("other" in axis.labels for axis in self._axes):
            raise ValueError("other=True adds a bin 'other', and a category has that name: rename it")
        self._lengths = tuple(len(axis.labels) + other for axis in self._axes)
        if self.groups * self.cells > _MOST_CELLS:
            raise ValueError(f"a histogram has at most 2**28 cells, got {self.groups * self.cells}")

    @property
    def cells(self) -> int:
        """How many cells each group has."""
        return math.prod(self._lengths)

    def definition(self) -> dict[str, Any]:
        bins = tuple(axis.labels for axis in self._axes)
        return {**super().definition(), "bins": bins, "other": self._other, "nonnegative": self._nonnegative}

    def add(self, x: Any, *, by: Any = None, workers: int = 1) -> None:
        """Add the values of some rows.

        Parameters
        ----------
        x : array-like, or tuple of them
            One value a row; for several axes a tuple of columns.
        by : column or tuple of columns, optional
            Each row's group; needed with `keys`.
        workers : int
            Threads that share the work.

        Raises
        ------
        TypeError, ValueError
            By the types and lengths of the columns; no value in them raises.
        """
        columns = self._columns(x)
        self._add_rows(columns, _names(columns), by, workers)

    def _columns(self, x: Any) -> tuple[Any, ...]:
        columns = x if len(self._axes) > 1 else (x,)
        if not isinstance(columns, tuple) or len(columns) != len(self._axes):
            raise TypeError(f"x must be a tuple of {len(self._axes)} columns, one for each declared axis")
        return columns

    def _read(
        self, columns: tuple[Any, ...], names: tuple[str, ...], by: Any, person: Any, terms: Terms | None
    ) -> Chunk:
        """Settle each row's cell."""
        cells, count = None, 1
        for axis, values, name, length in zip(self._axes, columns, names, self._lengths, strict=True):
            codes = axis.codes(values, name)
            if cells is not None and codes.size != cells.size:
                raise ValueError(f"{name} must have the length of {names[0]}, {cells.size}, got {codes.size}")
            if self._other:  # as unsigned numbers, negative ones are the largest
                codes = np.minimum(codes.view(np.uint64), np.uint64(length - 1)).view(np.int64)
            cells = codes if cells is None else _nested(cells, count, codes, length)
            count *= length
        assert cells is not None
        groups = self._codes(by, person, cells.size, terms)
        if groups is not None:
            cells = _nested(groups, self.groups, cells, count)
        return Chunk((), cells, cells.size)

    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        assert chunk.codes is not None
        tally = self._empty()
        count_codes(chunk.codes[start:stop], tally.counts)
        return tally._replace(rows=stop - start)

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        change = terms.cells_change(bins=self.groups, cells=self.groups * self.cells)
        return noise_for(terms, [Part("histogram", change, 0, whole=True)])

    def _cell_axes(self) -> tuple[Sequence[Any], ...]:
        return tuple((*axis.labels, "other") if self._other else axis.labels for axis in self._axes)


def histogram(
    x: Any,
    *,
    edges: Any = None,
    categories: Any = None,
    other: bool = False,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    nonnegative: bool = False,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release how many rows are in each declared bin; in each group with `by`.

    Parameters
    ----------
    x : array-like, or tuple of them
        One value a row. A tuple of columns makes a histogram of several axes.
    edges : sequence of number, or tuple of them
        The bins' edges in ascending order: bins are closed below, and the last one above as well, as for
        `numpy.histogram`. For several axes a tuple, with None for an axis of categories.
    categories : sequence, or tuple of them
        The declared values of x, instead of edges; for several axes a tuple, with None for an axis of edges.
    other : bool
        Adds a last bin to each axis, "other", for every remaining value, NaN and missing ones too. Without it they
        are left out.
    nonnegative : bool
        As for `count`.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.

    Returns
    -------
    Release
        Its value is an int64 array with an axis for the groups, if there are any, and one for each column. The labels
        of bins are pairs (lower, upper).

    Raises
    ------
    TypeError, ValueError
        By parameters, types and lengths, before anything is spent. A number of bins is refused: their range would be
        read from the data.
    BudgetExceeded
        The budget does not have the price left: no data is read then.

    Notes
    -----
    *Guarantee.* That of `DiscreteLaplace` or `DiscreteGaussian` for the sensitivity shown: a row changes one cell by 1;
    a replaced one leaves one cell and enters another, which is 2 in the L1 norm and sqrt(2) in the L2 norm.

    Examples
    --------
    >>> r = histogram([1, 5, 12], edges=[0, 10, 20], epsilon=1, budget=None, neighbors="replace-one")
    >>> r.axes, r.mechanism
    ((((0, 10), (10, 20)),), DiscreteLaplace(sensitivity=2, epsilon=1))
    """
    if "bins" in terms:
        raise TypeError("histogram takes edges=, the bins' edges, or categories=, the values: it has no bins=")
    check_names("histogram", terms)
    statistic = Histogram(edges=edges, categories=categories, other=other, keys=keys, nonnegative=nonnegative)
    columns = statistic._columns(x)
    return release_once(statistic, columns, _names(columns), by=by, person=person, workers=workers, terms=terms)


class _Axis(ABC):
    """The declared bins of one column."""

    #: What the bins are called, in the declared order.
    labels: tuple[Any, ...]

    @abstractmethod
    def codes(self, values: Any, name: str) -> Codes:
        """The bin of each value; anything else for none."""


class _Edges(_Axis):
    """Bins between neighbouring edges, which count as doubles."""

    def __init__(self, edges: Any, name: str) -> None:
        if isinstance(edges, (int, np.integer)) and not isinstance(edges, bool):
            raise TypeError(
                f"{name} must be the bins' edges themselves, not their number: the range would be read from the data; "
                f"for {edges} equal bins say numpy.linspace(lower, upper, {int(edges) + 1})"
            )
        if isinstance(edges, (str, bytes)) or not hasattr(edges, "__iter__") or getattr(edges, "ndim", 1) == 0:
            raise TypeError(f"{name} must be the bins' edges in ascending order, got {shown(edges)}")
        typed = list(edges)
        if len(typed) < 2:
            raise ValueError(f"{name} must have at least two numbers, got {len(typed)}")
        exact_edges = [exact(edge, f"{name}[{i}]", signed=True) for i, edge in enumerate(typed)]
        if any(abs(edge) > _LARGEST_EDGE for edge in exact_edges):
            raise ValueError(f"{name} must be between -1e308 and 1e308")
        self._floats = np.array([float(edge) for edge in exact_edges])
        # Whole numbers that a double rounds are then beyond all edges.
        self._exact_as_doubles = bool((np.abs(self._floats) <= 2.0**52).all())
        # As fractions: under flush-to-zero, comparisons of doubles take subnormal ones for 0.
        if any(a >= b for a, b in itertools.pairwise(map(Fraction, self._floats.tolist()))):
            raise ValueError(f"{name} must ascend strictly")
        self.labels = tuple(itertools.pairwise(edge.item() if isinstance(edge, np.generic) else edge for edge in typed))

    def codes(self, values: Any, name: str) -> Codes:
        lanes = column(values, name)
        codes = np.empty(lanes.values.size, np.int64)
        if lanes.is_integer and not self._exact_as_doubles:
            # A whole number is below an edge if it is below the whole number above that.
            above = [math.ceil(edge) for edge in self._floats[:-1].tolist()] + [math.floor(self._floats[-1]) + 1]
            dtype = np.uint64 if lanes.values.dtype == np.uint64 else np.int64
            least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
            inside = np.array([max(edge, least) for edge in above if edge <= most], dtype)
            codes[:] = np.searchsorted(inside, lanes.values.astype(dtype), side="right") - 1
            codes[codes == len(self.labels)] = -1
            if lanes.missing is not None:
                codes[lanes.missing] = -1
            return codes
        bin_values(as_floats(lanes), self._floats, codes, simd=_native.SIMD)
        return codes


class _Categories(_Axis):
    """Declared categories."""

    def __init__(self, categories: Any, name: str) -> None:
        self._groups = declared(categories, name)
        self.labels = self._groups.keys

    def codes(self, values: Any, name: str) -> Codes:
        return self._groups.codes(values, name=name)


def _declared_axes(edges: Any, categories: Any) -> tuple[_Axis, ...]:
    if edges is None and categories is None:
        raise TypeError(
            "histogram needs edges=, the bins' edges, or categories=, the values: fixed without looking at x"
        )
    tuples = [axes for axes in (edges, categories) if isinstance(axes, tuple) and _is_nested(axes)]
    if not tuples:
        if edges is not None and categories is not None:
            raise TypeError("histogram takes edges= or categories= for one axis; for several axes pass tuples of them")
        return (_Edges(edges, "edges") if edges is not None else _Categories(categories, "categories"),)
    length = len(tuples[0])
    all_edges, all_categories = (axes if axes is not None else (None,) * length for axes in (edges, categories))
    for name, axes in (("edges", all_edges), ("categories", all_categories)):
        if not (isinstance(axes, tuple) and _is_nested(axes) and len(axes) == length):
            raise TypeError(
                f"{name} must be a tuple with a place for each of the {length} axes, None for the other kind"
            )
    declared_axes: list[_Axis] = []
    for i, (edge, category) in enumerate(zip(all_edges, all_categories, strict=True)):
        if (edge is None) == (category is None):
            raise TypeError(f"axis {i} needs edges or categories, and not both: pass None for the other one")
        declared_axes.append(
            _Edges(edge, f"edges[{i}]") if edge is not None else _Categories(category, f"categories[{i}]")
        )
    return tuple(declared_axes)


def _is_nested(axes: tuple[Any, ...]) -> bool:
    """Whether a tuple holds an axis in each place, and not numbers or categories."""
    return all(axis is None or (hasattr(axis, "__iter__") and not isinstance(axis, (str, bytes))) for axis in axes)


def _names(columns: tuple[Any, ...]) -> tuple[str, ...]:
    return ("x",) if len(columns) == 1 else tuple(f"x[{i}]" for i in range(len(columns)))


def _nested(outer: Codes, outer_count: int, inner: Codes, inner_count: int) -> Codes:
    """The code of a cell of both, -1 where either is none of so many."""
    counted = outer.view(np.uint64) < np.uint64(outer_count)
    counted &= inner.view(np.uint64) < np.uint64(inner_count)
    with np.errstate(over="ignore"):
        return np.where(counted, outer * inner_count + inner, -1)
