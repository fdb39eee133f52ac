"""Sums of vectors of bounded norm, such as gradients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import add_rows, clip_rows
from exactnoise.accounting.amount import Number, exact, float_down
from exactnoise.aggregates.bounds import power_above
from exactnoise.aggregates.chunks import Chunk, Tally
from exactnoise.aggregates.estimate import Additive, Estimate, noisy
from exactnoise.aggregates.noise import Noise, Part, noise_for
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.statistic import Statistic, release_once
from exactnoise.aggregates.terms import Change, ReleaseTerms, Terms, check_names
from exactnoise.mechanisms._data import Lanes, read
from exactnoise.mechanisms._parameters import root_above
from exactnoise.mechanisms._wide import Wide

__all__ = ["VectorSum", "vector_sum"]

Norm = Literal["l1", "l2"]

_BITS = 40
_BLOCK_BYTES = 2**18  # of the rows that are clipped at a time


class VectorSum(Statistic):
    """The sum of vectors, each clipped to a bound of its norm, in each group: an accumulator for chunks of rows.

    Parameters
    ----------
    norm, bound, keys
        As for `vector_sum`.
    size : int, optional
        How many numbers a vector has; by default as many as the first ones have.
    """

    name: ClassVar[str] = "vector_sum"

    def __init__(
        self, *, norm: Norm | None = None, bound: Number | None = None, size: int | None = None, keys: Any = None
    ) -> None:
        super().__init__(keys)
        if norm is None or norm not in get_args(Norm):
            raise ValueError(f"norm must be 'l2' or 'l1', got {norm!r}")
        if bound is None:
            raise TypeError(
                "vector_sum needs bound: the norm that no row may exceed, fixed without looking at the data"
            )
        if isinstance(size, (bool, np.timedelta64)) or not isinstance(size, (int, np.integer, type(None))):
            raise TypeError(f"size must be a whole number, how many numbers a vector has, got {size!r}")
        if size is not None and not 1 <= size < 2**31:
            raise ValueError(f"size must be between 1 and 2**31 - 1, got {size!r}")
        self._norm, self._size = norm, None if size is None else int(size)
        self._bound = exact(bound, "bound")
        if not Fraction(1, 10**280) <= self._bound <= 10**290:
            raise ValueError(f"bound must lie between 1e-280 and 1e290, got {bound!r}")
        self._exponent = power_above(self._bound) - _BITS

    def definition(self) -> dict[str, Any]:
        return {**super().definition(), "norm": self._norm, "bound": self._bound, "size": self._size}

    def add(self, rows: Any, *, by: Any = None, workers: int = 1) -> None:
        """Add vectors.

        Parameters
        ----------
        rows : array-like of numbers
            Of shape (n, size): a vector a row.
        by : column or tuple of columns, optional
            Each row's group; needed with `keys`.
        workers : int
            Threads that share the work.

        Raises
        ------
        TypeError, ValueError
            By types and shapes; no value raises.
        """
        self._add_rows((rows,), ("rows",), by, workers)

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is type(self):  # one that has seen no rows takes the size of the other
            self._size = self._size or other._size
            other._size = other._size or self._size
        super()._check_mergeable(other)

    def _read(
        self, columns: tuple[Any, ...], names: tuple[str, ...], by: Any, person: Any, terms: Terms | None
    ) -> Chunk:
        lanes = read(columns[0], "rows")
        shape = lanes.values.shape
        if len(shape) != 2 or shape[1] != (self._size or shape[1]) or not shape[1]:
            raise ValueError(f"rows must have shape (n, {self._size or 'size'}), a vector a row; got {shape}")
        chunk = Chunk((lanes,), self._codes(by, person, shape[0], terms), shape[0])
        self._size = shape[1]
        return chunk

    def _empty(self) -> Tally:
        if self._size is None:
            raise ValueError("a VectorSum without rows needs size, how many numbers a vector has")
        return Tally(0, np.zeros(0, np.int64), (Wide.zeros(self.groups * self._size, self._exponent),))

    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        assert self._size is not None
        (lanes,) = chunk.columns
        single = lanes.is_float32
        words = np.zeros((self.groups, 2, self._size), np.uint64)
        bound, length = float_down(self._bound), max(_BLOCK_BYTES // (8 * self._size), 1)
        for first in range(start, stop, length):
            last = min(first + length, stop)
            rows = _contiguous(lanes, first, last, np.dtype(np.float32 if single else np.float64))
            clipped = np.empty_like(rows)
            clip_rows(self._norm, rows, clipped, self._size, bound, float32=single, simd=_native.SIMD)
            codes = None if chunk.codes is None else np.ascontiguousarray(chunk.codes[first:last])
            add_rows(clipped, codes, words, self._exponent, simd=_native.SIMD)
        low, high = words[:, 0].ravel(), words[:, 1].ravel().view(np.int64)
        return Tally(stop - start, np.zeros(0, np.int64), (Wide(low, high, self._exponent),), chunk.is_integer)

    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        change = terms.change(-self._bound, self._bound, bins=self.groups)
        if self._norm == "l2":
            change = Change(change.l1 * root_above(Fraction(self._size or 1)), change.l2_squared)
        return noise_for(terms, [Part("sum", change, self._exponent)])

    def _check(self, terms: Terms) -> None:
        length_decides = self._norm == "l2" and "delta" in terms.price and terms.mechanism is None
        if self._size is not None or not length_decides:  # which noise it is, and so what it costs
            super()._check(terms)

    def _cell_axes(self) -> tuple[Sequence[Any], ...]:
        assert self._size is not None
        return (range(self._size),)

    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        (mechanism,) = noise.mechanisms
        return Additive(mechanism, noisy(mechanism, tally.totals[0], whole=False))


def vector_sum(
    rows: Any,
    *,
    norm: Norm | None = None,
    bound: Number | None = None,
    by: Any = None,
    keys: Any = None,
    person: Any = None,
    workers: int = 1,
    **terms: Unpack[ReleaseTerms],
) -> Release:
    """Release the sum of vectors, each scaled down to a bound of its norm where it exceeds it.

    Parameters
    ----------
    rows : array-like of numbers
        Of shape (n, d): a vector a row, such as a person's gradient. float16 and float32 are clipped as they are.
    norm : {"l2", "l1"}
        Which norm is bounded. "l2" suits Gaussian noise, "l1" Laplace noise.
    bound : number
        What no vector's norm exceeds, fixed without looking at the data.
    by, keys, person, workers, **terms
        Groups, people, threads and the terms of the release: see `exactnoise.aggregates`.

    Returns
    -------
    Release
        Its value is a float64 array of shape (d,), or (groups, d). For a mean divide it by a public lot size.

    Raises
    ------
    TypeError, ValueError, BudgetExceeded
        As for `sum`. A NaN counts as 0, an infinity as the largest number: no value raises.

    Notes
    -----
    *Guarantee.* That of the mechanism, for the sensitivity shown: `bound` for a row that is added or removed, twice
    that for one that is replaced. Each clipped number is cut towards zero to a multiple of a public power of two, so
    that no norm grows, and added as an integer of 128 bits. With an L2 bound and no delta, Laplace noise has to cover
    the L1 norm, up to sqrt(d) times as large: give delta or rho.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.ones((50, 3), np.float32)
    >>> r = vector_sum(rows, norm="l2", bound=1, rho=0.5, budget=None, neighbors="add-remove")
    >>> r.value.shape, r.mechanism
    ((3,), Gaussian(sensitivity=1, rho='0.5'))
    """
    check_names("vector_sum", terms)
    statistic = VectorSum(norm=norm, bound=bound, keys=keys)
    return release_once(statistic, (rows,), ("rows",), by=by, person=person, workers=workers, terms=terms)


def _contiguous(lanes: Lanes, first: int, last: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    with np.errstate(all="ignore"):  # signalling NaNs
        rows = np.ascontiguousarray(lanes.values[first:last], dtype)
    if lanes.missing is not None:
        rows = np.where(lanes.missing[first:last], dtype.type(0), rows)
    return rows
