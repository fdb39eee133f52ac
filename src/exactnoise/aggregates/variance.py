"""Variances of clipped values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np

from exactnoise.accounting.amount import shown
from exactnoise.aggregates.bounds import Grid, MissingPolicy
from exactnoise.aggregates.chunks import Chunk, Tally
from exactnoise.aggregates.estimate import Additive, Estimate, VarianceEstimate, noisy
from exactnoise.aggregates.noise import Noise, Part, noise_for
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.statistic import release_once
from exactnoise.aggregates.sums import BoundedStatistic
from exactnoise.aggregates.terms import Change, ReleaseTerms, Terms, check_names
from exactnoise.mechanisms._wide import Wide

__all__ = ["Variance", "variance"]

_BITS = 30  # so that a square has 62 bits at most
_MOST_ROWS = 2**33  # so that the numerator of a variance of public size has 127 bits
_WIDEST = 10**150  # so that a double holds its square
_ONE, _THIRD = Fraction(1), Fraction(1, 3)


class Variance(BoundedStatistic):
    """The variance of clipped values, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    bounds, nan, keys, ddof
        As for `variance`.
    """

    name: ClassVar[str] = "variance"

    def __init__(self, *, bounds: Any = None, nan: MissingPolicy = None, keys: Any = None, ddof: int = 0) -> None:
        super().__init__(bounds, nan, keys)
        if type(ddof) is not int or ddof not in (0, 1):
            raise ValueError(
                f"ddof must be 0, the variance of these rows, or 1, an estimate of that of more, got {ddof!r}"
            )
        if self._bounds.width > _WIDEST:
            raise ValueError(f"bounds of a variance must be at most 1e150 apart, got {shown(bounds)}")
        self._ddof = ddof
        self._grid = Grid.of_floats(self._bounds, _BITS)
        # Deviations from the middle of the bounds are whole numbers of half steps, of this many at most.
        self._most = self._grid.high - self._grid.low
        self._exponent = self._grid.exponent - 1

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), "ddof": self._ddof}

    def _possible(self) -> tuple[float, float]:
        # Half of the rows at either bound; n / (n - ddof) is largest for two of them.
        return 0.0, float(self._grid.upper - self._grid.lower) ** 2 / 4 * (1 + self._ddof)

    def _empty(self) -> Tally:
        sums, squares = (Wide.zeros(self.groups, exponent) for exponent in (self._grid.exponent, 2 * self._exponent))
        return Tally(0, np.zeros(self.groups, np.int64), (sums, squares))

    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        quantizer = self._grid.quantizer(self._missing)
        counts = np.zeros(self.groups, np.int64)
        sums, squares = np.zeros((2, self.groups, 2), np.uint64)
        for block in chunk.blocks(start, stop, whole=False):
            quantizer.add_moments(block.columns[0], block.codes, counts, sums, squares)
        totals = Wide.from_words(sums, self._grid.exponent), Wide.from_words(squares, 2 * self._exponent)
        return Tally(stop - start, counts, totals, chunk.is_integer)

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        width = self._grid.upper - self._grid.lower
        if self._size_is_public(terms):
            rows = 2 if tally is None else tally.rows
            if rows >= _MOST_ROWS:
                raise ValueError("a variance of public size takes fewer than 2**33 rows")
            largest = width**2 * max(rows - 1, 1)
            return noise_for(terms, [Part("variance", Change(largest, largest**2), 2 * self._exponent)])
        half = width / 2
        changes = (
            terms.change(-half, half, bins=self.groups),
            terms.change(-(half**2) / 2, half**2 / 2, bins=self.groups),
            terms.change(_ONE, _ONE, bins=self.groups),
        )
        return noise_for(
            terms,
            [
                Part("variance", changes[0], self._exponent, share=_THIRD),
                Part("sum of squares", changes[1], 2 * self._exponent - 1, share=_THIRD),
                Part("count", changes[2], 0, whole=True, share=_THIRD),
            ],
        )

    def _deviations(self, tally: Tally) -> tuple[Wide, Wide]:
        """Sums of the deviations from the middle, in half steps, and of their squares."""
        middle = Wide.products(tally.counts, self._grid.low + self._grid.high, self._exponent)
        return tally.totals[0] - middle, tally.totals[1]

    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        sums, squares = self._deviations(tally)
        width = float(self._grid.upper - self._grid.lower)
        if self._size_is_public(terms):
            rows = max(tally.rows, 1)
            numerators = [rows * square - s * s for s, square in zip(sums.ints(), squares.ints(), strict=True)]
            (mechanism,) = noise.mechanisms
            totals = noisy(mechanism, Wide.from_ints(numerators, 2 * self._exponent), whole=False)
            divisor = float(rows) * max(rows - self._ddof, 1)
            most = width * width / 4 * rows / max(rows - self._ddof, 1)
            return Additive(mechanism, totals, divisor=divisor, least=0.0, most=most, clamp=True)
        # Squares lie between 0 and most^2; taking half of that off each halves what a row can add.
        shifted = squares - Wide.products(tally.counts, self._most**2, 2 * self._exponent - 1)
        parts = (sums, shifted, Wide.from_int64(tally.counts))
        of_sums, of_squares, of_counts = (
            Additive(mechanism, noisy(mechanism, totals, whole=totals is parts[2]))
            for mechanism, totals in zip(noise.mechanisms, parts, strict=True)
        )
        return VarianceEstimate(of_sums, of_squares, of_counts, width / 2, self._ddof)


def variance(
    x: Any,
    *,
    bounds: Any = None,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    nan: MissingPolicy = None,
    ddof: int = 0,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release the variance of values, each clipped to public bounds; of each group with `by`.

    Parameters
    ----------
    x, bounds, nan
        As for `sum`.
    ddof : {0, 1}
        As for `numpy.var`: the sum of squares is divided by the number of rows less this.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.

    Returns
    -------
    Release
        Its value lies between 0 and a quarter of the squared width of the bounds, or half of the squared width with
        ddof = 1.

    Raises
    ------
    TypeError, ValueError, BudgetExceeded
        As for `sum`.

    Notes
    -----
    *Guarantee.* That of the mechanisms of its parts together. Let c be the middle of the bounds, w their width and n
    the number of rows. Where n is public (see `mean`), replacing a row changes the variance by at most
    w^2 (n - 1) / n^2, and it gets noise for that. Everywhere else three parts share the price, a third each: the sum of
    x - c, which a row that is added or removed changes by at most w / 2; the sum of (x - c)^2 - w^2 / 8, which it
    changes by at most w^2 / 8; and n. A replaced row can do that in two groups.
    The moments are exact integers (a public grid of at most 2^30 steps between the bounds), so that no mean is
    subtracted before it has been released.

    Examples
    --------
    >>> r = variance(range(1000), bounds=(0, 1000), epsilon=1, budget=None, neighbors="replace-one")
    >>> 0 <= r.value <= 250_000
    True
    """
    check_names("variance", terms)
    statistic = Variance(bounds=bounds, nan=nan, keys=keys, ddof=ddof)
    return release_once(statistic, (x,), ("x",), by=by, person=person, workers=workers, terms=terms)
