"""Counts of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Unpack

import numpy as np

from exactnoise._native import count_codes
from exactnoise.aggregates.chunks import Chunk, Tally, column
from exactnoise.aggregates.estimate import Additive, Estimate, noisy
from exactnoise.aggregates.noise import Noise, Part, noise_for
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.statistic import Statistic, release_once
from exactnoise.aggregates.terms import ReleaseTerms, Terms, check_names
from exactnoise.mechanisms._wide import Wide

__all__ = ["CellCounts", "Count", "count"]

_MASK = (
    "boolean, True for rows that count (for the number of rows say n=len(...), for that of each group by= and keys=)"
)


class CellCounts(Statistic):
    """Counts of rows in disjoint cells, which get noise of whole numbers."""

    def __init__(self, keys: Any, nonnegative: bool) -> None:
        super().__init__(keys)
        if not isinstance(nonnegative, bool):
            raise TypeError(f"nonnegative must be True, to raise negative counts to 0, or False, got {nonnegative!r}")
        self._nonnegative = nonnegative

    @property
    def cells(self) -> int:
        """How many cells each group has."""
        return 1

    def _empty(self) -> Tally:
        return Tally(0, np.zeros(self.groups * self.cells, np.int64))

    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        (mechanism,) = noise.mechanisms
        counts = noisy(mechanism, Wide.from_int64(tally.counts), whole=True)
        return Additive(mechanism, counts, least=0.0, clamp=self._nonnegative)


class Count(CellCounts):
    """The number of rows, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    keys, nonnegative
        As for `count`.
    masked : bool
        Whether a mask says which rows count.

    Examples
    --------
    >>> visits = Count(keys=["a", "b"])
    >>> visits.add(by=["a", "b", "a"])
    >>> visits.add(by=["b", "elsewhere"])
    >>> list(visits.release(epsilon=1, budget=None, neighbors="add-remove").to_dict())
    ['a', 'b']
    """

    name: ClassVar[str] = "count"

    def __init__(self, *, keys: Any = None, masked: bool = False, nonnegative: bool = False) -> None:
        super().__init__(keys, nonnegative)
        self._masked = masked

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), "masked": self._masked, "nonnegative": self._nonnegative}

    def add(self, mask: Any = None, *, n: int | None = None, by: Any = None, workers: int = 1) -> None:
        """Add rows.

        Parameters
        ----------
        mask : array-like of bool, optional
            True for rows that count; a missing value is False. Needed for a masked count.
        n : int, optional
            How many rows, where there is neither `mask` nor `by`.
        by : column or tuple of columns, optional
            Each row's group; needed with `keys`.
        workers : int
            Threads that share the work.

        Raises
        ------
        TypeError, ValueError
            By types and lengths.
        """
        if self._masked != (mask is not None):
            raise TypeError("a masked count takes a mask with every chunk, and no other count takes one")
        _check_size(n, mask)
        self._add_rows((mask, n), ("mask", "n"), by, workers)

    def _read(
        self, columns: tuple[Any, ...], names: tuple[str, ...], by: Any, person: Any, terms: Terms | None
    ) -> Chunk:
        mask, n = columns
        if self._masked:
            lanes = column(_booleans(mask), "mask", accepted=_MASK)
            if lanes.values.dtype.kind != "b":
                raise TypeError(f"mask must be {_MASK}; got dtype {lanes.values.dtype}")
            return Chunk((lanes,), self._codes(by, person, lanes.values.size, terms), lanes.values.size)
        other = by if by is not None else person
        if n is None and other is None:
            raise TypeError("count needs mask, by, person or n: something that tells how many rows there are")
        codes = self._codes(by, person, None if n is None else int(n), terms)
        if codes is None:
            assert n is not None
            return Chunk((), None, int(n))
        return Chunk((), codes, codes.size)

    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        counts = np.zeros(self.groups, np.int64)
        if not self._masked:
            if chunk.codes is None:
                counts[0] = stop - start
            else:
                count_codes(chunk.codes[start:stop], counts)
            return Tally(stop - start, counts)
        for block in chunk.blocks(start, stop, whole=True, missing=Fraction(0)):
            count_codes(np.where(block.columns[0] != 0, 0 if block.codes is None else block.codes, -1), counts)
        return Tally(stop - start, counts)

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        least = Fraction(0 if self._masked else 1)  # what a row can add
        change = terms.change(least, Fraction(1), bins=self.groups, always_present=self._groups is None)
        return noise_for(terms, [Part("number of rows", change, 0, whole=True)])


def count(
    mask: Any = None,
    *,
    n: int | None = None,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    nonnegative: bool = False,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release how many rows there are, or for how many a condition holds; in each group with `by`.

    Parameters
    ----------
    mask : array-like of bool, optional
        True for rows that count, such as ``age >= 18``; a missing value is False. Without it every row counts.
    n : int, optional
        How many rows there are, where neither `mask` nor `by` nor `person` tells.
    nonnegative : bool
        Raise negative results to 0. That is post-processing and costs nothing, but then small counts are too large on
        average; the default is signed and unbiased.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.

    Returns
    -------
    Release
        Its value is an int, or int64 for groups.

    Raises
    ------
    TypeError, ValueError
        By parameters, types and lengths, before anything is spent; also for the number of all rows under neighbours
        that replace a row, which is public.
    BudgetExceeded
        The budget does not have the price left: no data is read then.

    Notes
    -----
    *Guarantee.* That of `DiscreteLaplace` or `DiscreteGaussian` for the sensitivity shown: a row changes one count by
    1; a replaced one can leave a group and enter another.

    Examples
    --------
    >>> from exactnoise import PrivacyBudget
    >>> budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    >>> r = count(by=["a", "b", "a"], keys=["a", "b", "c"], epsilon=1, budget=budget)
    >>> r.keys, r.value.dtype, r.mechanism
    (('a', 'b', 'c'), dtype('int64'), DiscreteLaplace(sensitivity=1, epsilon=1))
    """
    check_names("count", terms)
    statistic = Count(keys=keys, masked=mask is not None, nonnegative=nonnegative)
    _check_size(n, mask)
    return release_once(statistic, (mask, n), ("mask", "n"), by=by, person=person, workers=workers, terms=terms)


def _check_size(n: object, mask: object) -> None:
    if n is not None and mask is not None:
        raise TypeError("n is for counts without a mask: a mask tells how many rows there are")
    if isinstance(n, (bool, np.timedelta64)) or not isinstance(n, (int, np.integer, type(None))):
        raise TypeError(f"n must be a whole number, how many rows there are, got {n!r}")
    if n is not None and not 0 <= n < 2**48:
        raise ValueError(f"n must be at least 0 and less than 2**48, got {n!r}")


def _booleans(mask: Any) -> Any:
    if isinstance(mask, (list, tuple)):
        if not all(element is None or isinstance(element, (bool, np.bool_)) for element in mask):
            raise TypeError(f"mask must be {_MASK}; got a list with other values in it")
        return np.array([bool(element) for element in mask], np.bool_)
    return mask
