"""Sums and means of clipped values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np

from exactnoise.aggregates.bounds import Bounds, Grid, MissingPolicy
from exactnoise.aggregates.chunks import Chunk, Tally
from exactnoise.aggregates.estimate import Additive, Estimate, MeanEstimate, noisy
from exactnoise.aggregates.noise import Noise, Part, noise_for
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.statistic import Statistic, release_once
from exactnoise.aggregates.terms import ReleaseTerms, Terms, check_names
from exactnoise.mechanisms._wide import Wide

__all__ = ["BoundedStatistic", "Mean", "Sum", "mean", "sum"]

_BITS = 40
_ONE, _HALF = Fraction(1), Fraction(1, 2)


class BoundedStatistic(Statistic):
    """A statistic of one column of values that are clipped to public bounds."""

    def __init__(self, bounds: Any, nan: MissingPolicy, keys: Any) -> None:
        self._bounds = Bounds.checked(bounds, self.name)
        self._missing = self._bounds.replacement(nan)
        super().__init__(keys)

    def definition(self) -> dict[str, Any]:
        missing = "drop" if self._missing is None else self._missing
        return {**super().definition(), "bounds": (self._bounds.lower, self._bounds.upper), "nan": missing}

    def add(self, x: Any, *, by: Any = None, workers: int = 1) -> None:
        """Add the values of some rows, exactly.

        Parameters
        ----------
        x : array-like of numbers
            One value a row.
        by : column or tuple of columns, optional
            Each row's group; needed with `keys`.
        workers : int
            Threads that share the work.

        Raises
        ------
        TypeError, ValueError
            By the types and lengths of the columns; no value in them raises. Nothing has been added then.
        """
        self._add_rows((x,), ("x",), by, workers)

    def _always_present(self) -> bool:
        """Whether every row adds a value: then replacing one moves the total by the bounds' width at most."""
        return self._groups is None and self._missing is not None

    def _size_is_public(self, terms: Terms) -> bool:
        return terms.size_is_public and self._always_present()


class _Sums(BoundedStatistic):
    """Exact sums of values, and how many there are."""

    def __init__(self, *, bounds: Any = None, nan: MissingPolicy = None, keys: Any = None) -> None:
        super().__init__(bounds, nan, keys)
        self._floats = Grid.of_floats(self._bounds, _BITS)
        self._integers = Grid.of_integers(self._bounds)
        # Totals of integers and of floats are added in the finer unit of their grids.
        self._exponent = self._floats.exponent if self._integers is None else min(self._floats.exponent, 0)
        # What a row can add on either grid: bounds that are closer than a step of floats are rounded outwards there.
        grids = [grid for grid in (self._integers, self._floats) if grid is not None]
        self._lower = min(grid.lower for grid in grids)
        self._upper = max(grid.upper for grid in grids)

    def _empty(self) -> Tally:
        return Tally(0, np.zeros(self.groups, np.int64), (Wide.zeros(self.groups, self._exponent),))

    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        integers = self._integers if chunk.is_integer else None
        grid = integers or self._floats
        quantizer = grid.quantizer(self._missing)
        counts, words = np.zeros(self.groups, np.int64), np.zeros((self.groups, 2), np.uint64)
        for block in chunk.blocks(start, stop, whole=integers is not None, missing=self._missing):
            quantizer.add_sums(block.columns[0], block.codes, counts, words)
        sums = Wide.from_words(words, grid.exponent).in_units_of(self._exponent)
        return Tally(stop - start, counts, (sums,), chunk.is_integer)


class Sum(_Sums):
    """The sum of clipped values, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    bounds, nan, keys
        As for `sum`.

    Examples
    --------
    >>> minutes = Sum(bounds=(0, 60))
    >>> minutes.add([12, 7, 90])
    >>> minutes.merge(Sum(bounds=(0, 60)))
    <Sum: exact and secret until it is released>
    >>> minutes.release(epsilon=1, budget=None, neighbors="add-remove").statistic
    'sum'
    """

    name: ClassVar[str] = "sum"

    def _is_whole(self, tally: Tally | None) -> bool:
        return tally is not None and tally.integers and self._integers is not None

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        change = terms.change(self._lower, self._upper, bins=self.groups, always_present=self._always_present())
        return noise_for(terms, [Part("sum", change, self._exponent, integers=self._is_whole(tally))])

    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        (mechanism,) = noise.mechanisms
        return Additive(mechanism, noisy(mechanism, tally.totals[0], whole=self._is_whole(tally)))


class Mean(_Sums):
    """The mean of clipped values, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    bounds, nan, keys
        As for `mean`.
    """

    name: ClassVar[str] = "mean"

    def _possible(self) -> tuple[float, float]:
        return float(self._lower), float(self._upper)

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        half = (self._upper - self._lower) / 2
        change = terms.change(-half, half, bins=self.groups, always_present=self._always_present())
        if self._size_is_public(terms):
            return noise_for(terms, [Part("mean", change, self._exponent - 1)])
        counted = terms.change(_ONE, _ONE, bins=self.groups)
        return noise_for(
            terms,
            [Part("mean", change, self._exponent - 1, share=_HALF), Part("count", counted, 0, whole=True, share=_HALF)],
        )

    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        doubled = int((self._lower + self._upper) / Fraction(2) ** self._exponent)  # the centre, in half units
        totals = tally.totals[0] - Wide.products(tally.counts, doubled, self._exponent - 1)
        centre, lower, upper = (float(x) for x in ((self._lower + self._upper) / 2, self._lower, self._upper))
        sums = Additive(noise.mechanisms[0], noisy(noise.mechanisms[0], totals, whole=False))
        if self._size_is_public(terms):
            return MeanEstimate(sums, None, float(max(tally.rows, 1)), centre, lower, upper)
        counts = Additive(
            noise.mechanisms[1], noisy(noise.mechanisms[1], Wide.from_int64(tally.counts), whole=True), least=0
        )
        return MeanEstimate(sums, counts, 1.0, centre, lower, upper)


def sum(  # noqa: A001
    x: Any,
    *,
    bounds: Any = None,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    nan: MissingPolicy = None,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release the sum of values, each clipped to public bounds; of each group with `by`.

    Parameters
    ----------
    x : array-like of numbers
        One value a row: a NumPy array, a list, a pandas, Polars or Arrow column.
    bounds : (number, number)
        The lower and the upper bound, fixed without looking at the data. Values outside are clipped.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.
    nan : number or "drop", optional
        What a NaN or a missing value counts as, within the bounds: the lower bound by default. "drop" leaves the row
        out.

    Returns
    -------
    Release
        Its value is an int (int64 for groups, saturating) where x has an integer type, the bounds are whole and the
        noise's scale is at most 2^30; else a float. Lists count as floats: whether their numbers are whole is a fact
        about the data.

    Raises
    ------
    TypeError, ValueError
        By parameters, types and lengths, before anything is spent. No value in x raises.
    BudgetExceeded
        The budget does not have the price left: no data is read then.

    Notes
    -----
    *Guarantee.* That of the mechanism, for the sensitivity that its `sensitivity` shows. Each value is clipped, rounded
    to a public power-of-two grid of at most 2^40 steps between the bounds, and added as an integer of 128 bits, so
    that one row changes the sum by what the bounds say and not more: by ``max(|lower|, |upper|)`` when it is added or
    removed; by upper - lower when it is replaced, or where rows can be left out (`by`, nan="drop", people of several
    rows) by max(upper, 0) - min(lower, 0), and twice ``max(|lower|, |upper|)`` where it can change its group. (What
    sums of floats do instead: Casacuberta, Shoemate, Vadhan, Wagaman 2022, arXiv 2207.10635.) Integers between whole
    bounds are added as they are. Order, chunks, threads and instruction sets do not change the sum.

    Examples
    --------
    >>> from exactnoise import PrivacyBudget
    >>> budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    >>> total = sum([12.5, 3, 250, float("nan")], bounds=(0, 100), epsilon=0.5, budget=budget)
    >>> total.std_error, budget.remaining
    (282.842712474619, PrivacyCost(epsilon='0.5'))
    """
    check_names("sum", terms)
    statistic = Sum(bounds=bounds, nan=nan, keys=keys)
    return release_once(statistic, (x,), ("x",), by=by, person=person, workers=workers, terms=terms)


def mean(
    x: Any,
    *,
    bounds: Any = None,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    nan: MissingPolicy = None,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release the mean of values, each clipped to public bounds; of each group with `by`.

    Parameters
    ----------
    x, bounds, nan
        As for `sum`.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.

    Returns
    -------
    Release
        Its value lies within the bounds. Where there are no rows at all it is noise, as it must be.

    Raises
    ------
    TypeError, ValueError, BudgetExceeded
        As for `sum`.

    Notes
    -----
    *Guarantee.* That of the mechanisms of its parts together. Let c be the middle of the bounds. Where the number of
    rows is public (neighbours that replace one row, no groups, no dropped rows) the sum of x - c gets noise for its
    sensitivity upper - lower and is divided by that number. Everywhere else two parts share the price, one half each:
    the sum of x - c, which a row that is added or removed changes by at most half the bounds' width, and the number of
    rows, which it changes by 1; a replaced row can do that in two groups. The mean is c plus their quotient, the
    denominator being at least 1.

    Examples
    --------
    >>> r = mean([12.5, 3, 48], bounds=(0, 60), epsilon=1, budget=None, neighbors="add-remove")
    >>> 0 <= r.value <= 60
    True
    """
    check_names("mean", terms)
    statistic = Mean(bounds=bounds, nan=nan, keys=keys)
    return release_once(statistic, (x,), ("x",), by=by, person=person, workers=workers, terms=terms)
