"""Quantiles by the exponential mechanism over a public grid of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar, Unpack

import numpy as np
import numpy.typing as npt

from exactnoise._native import Quantizer, count_codes
from exactnoise.accounting.amount import Number, exact, shown
from exactnoise.accounting.fitting import fitted
from exactnoise.aggregates.bounds import Grid, MissingPolicy
from exactnoise.aggregates.chunks import Chunk, Tally
from exactnoise.aggregates.estimate import Estimate, Selected
from exactnoise.aggregates.noise import Noise
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.statistic import release_once
from exactnoise.aggregates.sums import BoundedStatistic
from exactnoise.aggregates.terms import ReleaseTerms, Terms, check_names
from exactnoise.mechanisms._parameters import checked_power_of_two
from exactnoise.mechanisms.selection import Exponential

__all__ = ["Quantile", "quantile"]

_BITS = 12
_MOST_CANDIDATES = 2**24
_MOST_CELLS = 2**28
_LARGEST_DENOMINATOR = 10**6  # so that scores of 2^43 rows have 63 bits


class Quantile(BoundedStatistic):
    """Quantiles of clipped values, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    q, bounds, nan, keys, granularity
        As for `quantile`.
    """

    name: ClassVar[str] = "quantile"

    def __init__(
        self,
        *,
        q: Any = None,
        bounds: Any = None,
        nan: MissingPolicy = None,
        keys: Any = None,
        granularity: Number | None = None,
    ) -> None:
        super().__init__(bounds, nan, keys)
        self._several = hasattr(q, "__iter__") and not isinstance(q, str) and getattr(q, "ndim", 1) != 0
        self._q = _checked_levels(q, self._several)
        self._grid = _candidates(self._bounds, granularity)
        if self.groups * self._cells > _MOST_CELLS:
            raise ValueError(
                f"{self.groups} groups with {self._cells} candidates each are too many: set a larger granularity"
            )

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), "q": self._q, "step": self._grid.step}

    @property
    def _cells(self) -> int:
        return self._grid.high - self._grid.low + 1

    def _empty(self) -> Tally:
        return Tally(0, np.zeros(self.groups * self._cells, np.int64))

    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        quantizer: Quantizer = self._grid.quantizer(self._missing)
        tally = self._empty()
        for block in chunk.blocks(start, stop, whole=False):
            (values,) = block.columns
            cells = np.empty(values.size, np.int64)
            quantizer.cells(values, cells)
            if block.codes is not None:
                counted = (cells >= 0) & (block.codes.view(np.uint64) < np.uint64(self.groups))
                with np.errstate(over="ignore"):
                    cells = np.where(counted, block.codes * self._cells + cells, -1)
            count_codes(cells, tally.counts)
        return tally._replace(rows=stop - start)

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Exponential]:
        if terms.mechanism is not None:
            raise ValueError("a quantile is selected by the exponential mechanism: leave mechanism= out")
        # In how many groups one unit can change the scores.
        touched = min(terms.groups if terms.neighbors == "add-remove" else 2 * terms.groups, self.groups)
        mechanisms = tuple(_mechanism(terms, level, touched * len(self._q)) for level in self._q)
        total = mechanisms[0].cost
        for mechanism in mechanisms[1:]:
            total = total + mechanism.cost
        return Noise(mechanisms, touched * total)

    def _cell_axes(self) -> tuple[Sequence[Any], ...]:
        return (tuple(float(level) for level in self._q),) if self._several else ()

    def _estimate(self, terms: Terms, noise: Noise[Exponential], tally: Tally) -> Estimate:
        counts = tally.counts.reshape(-1, self._cells)
        columns = [
            np.asarray(mechanism.release(_scores(counts, level), disjoint=True, budget=None))
            for mechanism, level in zip(noise.mechanisms, self._q, strict=True)
        ]
        selected = np.stack(columns, axis=-1) + self._grid.low
        values = np.ldexp(selected.astype(np.float64), self._grid.exponent).ravel()
        rows = tuple(level.denominator for level in self._q)
        return Selected(values, noise.mechanisms, rows, self._cells)


def quantile(
    x: Any,
    q: Any,
    *,
    bounds: Any = None,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    nan: MissingPolicy = None,
    granularity: Number | None = None,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release quantiles of values, each clipped to public bounds; of each group with `by`.

    Parameters
    ----------
    x, bounds, nan
        As for `sum`.
    q : number or sequence of number
        Levels between 0 and 1, of six decimal places at most: 0.5 for the median. Several of them share the price
        equally.
    granularity : number, optional
        The step between candidates, a power of two; by default there are 2^11 to 2^12 of them between the bounds.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.

    Returns
    -------
    Release
        Its value is a candidate: a multiple of the granularity within the bounds; with several q an array with an axis
        for them.

    Raises
    ------
    TypeError, ValueError, BudgetExceeded
        As for `sum`.

    Notes
    -----
    *Guarantee.* Epsilon-differentially private (McSherry & Talwar 2007, "Mechanism Design via Differential Privacy",
    Theorem 6). Values are rounded to the candidates; candidate t scores
    ``-|(1 - q) (rows below t) - q (rows above t)|``, which one row changes by at most max(q, 1 - q) when it is added or
    removed and by 1 when it is replaced; whole numbers throughout, q = a / b being scored b times. Groups are disjoint,
    and a unit whose rows can change the scores of k of them takes part in k selections, each of which gets a k-th of
    the price (a replaced row can leave one group and enter another). With a delta nothing of it is spent. The error is
    one of rank: `Release.rank_error`.

    Examples
    --------
    >>> r = quantile(range(1000), 0.5, bounds=(0, 1000), epsilon=1, budget=None, neighbors="add-remove")
    >>> abs(r.value - 500) < 200, r.mechanism
    (True, Exponential(sensitivity=1, epsilon=1))
    """
    check_names("quantile", terms)
    statistic = Quantile(q=q, bounds=bounds, nan=nan, keys=keys, granularity=granularity)
    return release_once(statistic, (x,), ("x",), by=by, person=person, workers=workers, terms=terms)


def _checked_levels(q: Any, several: bool) -> tuple[Fraction, ...]:
    if q is None:
        raise TypeError("quantile needs q, a level between 0 and 1 such as 0.5 for the median, or several")
    levels = tuple(
        exact(level, f"q[{i}]" if several else "q", positive=False) for i, level in enumerate(q if several else (q,))
    )
    if not levels:
        raise ValueError("q must have at least one level between 0 and 1")
    for level in levels:
        if level > 1 or level.denominator > _LARGEST_DENOMINATOR:
            raise ValueError(f"q must lie between 0 and 1 and have six decimal places at most, got {shown(q)}")
    return levels


def _candidates(bounds: Any, granularity: Number | None) -> Grid:
    if granularity is None:
        return Grid.of_floats(bounds, _BITS)
    exponent = checked_power_of_two(granularity)
    step = Fraction(2) ** exponent
    low, high = -(-bounds.lower // step), bounds.upper // step
    if not low <= high or max(high - low, 0) >= _MOST_CANDIDATES:
        raise ValueError(
            "granularity must leave at least one multiple within the bounds, and fewer than 2**24, got "
            f"{shown(granularity)}"
        )
    if max(abs(low), abs(high)) > 2**50 or not -1000 <= exponent <= 970:
        raise ValueError(f"granularity is too fine for the bounds' magnitude, got {shown(granularity)}")
    return Grid(exponent, low, high)


def _mechanism(terms: Terms, level: Fraction, times: int) -> Exponential:
    """The mechanism of one level, for a part of the price."""
    below, above = level.denominator - level.numerator, level.numerator
    one_row = max(below, above) if terms.neighbors == "add-remove" else level.denominator
    sensitivity = one_row * terms.rows
    if "rho" in terms.price:
        return _fitted(sensitivity, terms.price["rho"] / times)
    return Exponential(sensitivity=sensitivity, epsilon=terms.price["epsilon"] / times)


@lru_cache(maxsize=256)
def _fitted(sensitivity: int, rho: Fraction) -> Exponential:
    family: Any = Exponential
    mechanism: Exponential | None = fitted(family, {"sensitivity": sensitivity}, {"rho": rho})
    assert mechanism is not None
    return mechanism


def _scores(counts: npt.NDArray[np.int64], level: Fraction) -> npt.NDArray[np.int64]:
    """b times the score of each candidate of each group, q being a / b."""
    up_to = np.cumsum(counts, axis=1)
    below, above = up_to - counts, up_to[:, -1:] - up_to
    return -np.abs((level.denominator - level.numerator) * below - level.numerator * above)
