"""What every statistic does: add chunks exactly, merge, and release once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Self, Unpack

import numpy as np
import numpy.typing as npt

from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import text
from exactnoise.aggregates import people
from exactnoise.aggregates.estimate import Estimate
from exactnoise.aggregates.groups import Groups, declared
from exactnoise.aggregates.noise import Noise
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.terms import ReleaseTerms, Terms
from exactnoise.mechanisms._data import Lanes, is_untyped, read
from exactnoise.mechanisms._options import check_workers
from exactnoise.mechanisms._threads import for_each
from exactnoise.mechanisms._wide import Wide

__all__ = ["Block", "Chunk", "Statistic", "Tally", "as_floats", "column", "release_once"]

Integers = npt.NDArray[np.int64]

#: Rows between two looks at pending signals, and those that are converted at a time.
_BLOCK = 2**20
_STAGED = 2**15


class Tally(NamedTuple):
    """Exact totals of some rows.

    Attributes
    ----------
    rows : int
        How many rows were seen, whatever is in them.
    counts : ndarray of int64
        Rows that count, for each cell.
    totals : tuple of Wide
        Sums of values, and of squares.
    integers : bool
        Whether all columns were of integer types.
    """

    rows: int
    counts: Integers
    totals: tuple[Wide, ...] = ()
    integers: bool = True

    def __add__(self, other: Any) -> Tally:
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        integers = self.integers and other.integers
        return Tally(self.rows + other.rows, self.counts + other.counts, totals, integers)


class Block(NamedTuple):
    """Consecutive rows, as the kernels read them.

    Attributes
    ----------
    columns : tuple of ndarray
        float64, float32 or int64, of any stride.
    codes : ndarray of int64 or None
        The group of each row, -1 for none; None where all are in the one group.
    """

    columns: tuple[npt.NDArray[Any], ...]
    codes: Integers | None


class Chunk(NamedTuple):
    """Rows whose types have been checked and whose values have not been looked at.

    Attributes
    ----------
    columns : tuple of Lanes
        One-dimensional, of one length.
    codes : ndarray of int64 or None
        As in `Block`.
    size : int
        How many rows.
    """

    columns: tuple[Lanes, ...]
    codes: Integers | None
    size: int

    @property
    def is_integer(self) -> bool:
        return all(lanes.is_integer for lanes in self.columns)

    def outline(self, empty: Tally) -> Tally:
        """What is public of the chunk's totals."""
        return empty._replace(rows=self.size, integers=self.is_integer)

    def blocks(self, start: int, stop: int, *, whole: bool, missing: Fraction | None = None) -> Iterator[Block]:
        """Rows start .. stop: as int64 if `whole`, else as floats.

        A missing float is a NaN, which the kernels replace; a missing integer counts as `missing`, or its row as none.
        """
        direct = all(_is_direct(lanes, whole) for lanes in self.columns)
        size = _BLOCK if direct else _STAGED
        for first in range(start, stop, size):
            last = min(first + size, stop)
            codes = None if self.codes is None else self.codes[first:last]
            columns = []
            for lanes in self.columns:
                values = lanes.values[first:last]
                if not _is_direct(lanes, whole):
                    absent = None if lanes.missing is None else lanes.missing[first:last]
                    values = _as_integers(values) if whole else _as_floats(values, absent)
                    if whole and absent is not None and missing is None:
                        codes = np.where(absent, -1, 0 if codes is None else codes)
                    elif whole and absent is not None and missing is not None:
                        values[absent] = round(missing)
                columns.append(values)
            yield Block(tuple(columns), codes)


def _is_direct(lanes: Lanes, whole: bool) -> bool:
    """Whether the kernels can read the column where it is."""
    kinds = ("i8",) if whole else ("f8", "f4")
    return lanes.missing is None and any(lanes.values.dtype == np.dtype(kind) for kind in kinds)


def _as_integers(values: npt.NDArray[Any]) -> Integers:
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64)


def as_floats(lanes: Lanes) -> npt.NDArray[Any]:
    """A column as float64 or float32, missing values as NaN."""
    return lanes.values if _is_direct(lanes, False) else _as_floats(lanes.values, lanes.missing)


def _as_floats(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None) -> npt.NDArray[Any]:
    with np.errstate(all="ignore"):  # signalling NaNs
        converted = values.astype(np.float32 if values.dtype.kind == "f" and values.dtype.itemsize == 4 else np.float64)
    if missing is not None:
        converted[missing] = np.nan
    return converted


class Statistic(ABC):
    """Exact totals of the rows added so far, and the public definition of what is released from them.

    A statistic that has rows is as secret as they are: pickle it to merge it elsewhere, and publish only what `release`
    returns.
    """

    #: The statistic's name in messages and metadata.
    name: ClassVar[str]

    _tally: Tally | None
    _groups: Groups | None
    _released: bool

    def __init__(self, keys: Any) -> None:
        self._groups = None if keys is None else declared(keys)
        self._tally = None
        self._released = False

    @property
    def groups(self) -> int:
        """How many groups there are; 1 without `keys`."""
        return 1 if self._groups is None else len(self._groups)

    @abstractmethod
    def definition(self) -> dict[str, Any]:
        """The public parameters, by name."""

    @abstractmethod
    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        """The exact totals of some rows of a chunk."""

    @abstractmethod
    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        """Mechanisms and price; of the tally only what is public may count, and the price does not depend on it."""

    @abstractmethod
    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        """Noise on exact totals, of these groups or of as many as the tally has."""

    def _cell_axes(self) -> tuple[Sequence[Any], ...]:
        """The axes of the cells that each group has."""
        return ()

    def _release(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Release:
        estimate = self._estimate(terms, noise, tally)
        mechanism = noise.mechanisms[0] if len(noise.mechanisms) == 1 else noise.mechanisms
        return self._released_as(terms, noise.cost, estimate, mechanism, self._cell_axes())

    def _add_chunk(self, chunk: Chunk, workers: int) -> None:
        spans = [chunk.size * i // workers for i in range(workers + 1)]
        parts: list[Tally] = []
        for_each(lambda i: parts.append(self._add(chunk, spans[i], spans[i + 1])), workers, workers)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        # One assignment, so that an interrupted call has added nothing.
        self._tally = total if self._tally is None else self._tally + total

    def _add_rows(self, columns: tuple[Any, ...], names: tuple[str, ...], by: Any, workers: int) -> None:
        check_workers(workers)
        self._check_unreleased()
        self._add_chunk(self._read(columns, names, by, None, None), int(workers))

    def _read(
        self, columns: tuple[Any, ...], names: tuple[str, ...], by: Any, person: Any, terms: Terms | None
    ) -> Chunk:
        """Check types and lengths, and settle each row's group."""
        lanes = tuple(column(x, name) for x, name in zip(columns, names, strict=True))
        size = lanes[0].values.shape[0]
        for values, name in zip(lanes, names, strict=True):
            if values.values.shape[0] != size:
                raise ValueError(f"{name} must have the length of {names[0]}, {size}, got {values.values.shape[0]}")
        return Chunk(lanes, self._codes(by, person, size, terms), size)

    def _codes(self, by: Any, person: Any, size: int, terms: Terms | None) -> Integers | None:
        if (by is None) != (self._groups is None):
            missing, given = ("by", "keys") if by is None else ("keys", "by")
            raise TypeError(
                f"{given}= needs {missing}=: by is the column of each row's group, keys the groups that are published, "
                "declared without looking at the data"
            )
        codes = None if self._groups is None else self._groups.codes(by, size)
        if person is None:
            return codes
        assert terms is not None
        groups = terms.groups if self._groups is not None else None
        kept = people.kept(person, codes, size, rows=terms.rows, groups=groups, bins=self.groups)
        return np.where(kept, 0 if codes is None else codes, -1)

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self) or other.definition() != self.definition():
            raise ValueError(f"only a {type(self).__name__} of the same definition can be merged, got {other!r}")

    def merge(self, other: Self) -> Self:
        """Add the totals of another statistic of the same definition, and return self.

        Parameters
        ----------
        other : Statistic
            Of rows that are not in this one.

        Raises
        ------
        ValueError
            It is of another class or definition, or was released.

        Notes
        -----
        Totals are exact integers, so that the order of rows, chunks and merges does not matter.
        """
        self._check_mergeable(other)
        self._check_unreleased()
        other._check_unreleased()
        if other._tally is not None:
            self._tally = other._tally if self._tally is None else self._tally + other._tally
        return self

    def _check_unreleased(self) -> None:
        if self._released:
            raise ValueError(
                f"this {type(self).__name__} has been released: a second release of the same rows is a new one, of new "
                "cost, and starts with a statistic of its own"
            )

    def _released_as(
        self, terms: Terms, cost: PrivacyCost, estimate: Estimate, mechanism: Any, axes: tuple[Any, ...]
    ) -> Release:
        """The release of an estimate that has a value for each group, or for each cell of the further axes of each."""
        if self._groups is not None:
            axes = (self._groups.keys, *axes)
        shape = tuple(len(axis) for axis in axes)
        value, error = estimate.value(), estimate.std_error()
        facts = {
            **terms.facts(),
            **{name: _plain(value) for name, value in self.definition().items() if name != "keys"},
        }
        return Release(
            self.name,
            value.reshape(shape) if axes else value[0].item(),
            None if error is None else error.reshape(shape) if axes else error[0].item(),
            cost,
            mechanism,
            axes,
            estimate,
            facts,
        )

    def release(self, **terms: Unpack[ReleaseTerms]) -> Release:
        """Add noise to the totals, once.

        Parameters
        ----------
        **terms
            budget, epsilon, delta, rho, mechanism, neighbors, rows_per_person, groups_per_person and label, as for the
            functions of `exactnoise.aggregates`. Contributions are declared here, not enforced: whoever adds rows sees
            to it that no person has more.

        Returns
        -------
        Release

        Raises
        ------
        TypeError, ValueError
            A parameter is missing or not allowed, or the statistic was released before.
        BudgetExceeded
            The budget does not have the price left; nothing is drawn.
        """
        self._check_unreleased()
        checked = Terms.checked(self.name, grouped=self._groups is not None, **terms)
        tally = self._tally_or_empty()
        noise = self._noise(checked, tally)
        checked.spend(noise.cost)
        self._released = True
        return self._release(checked, noise, tally)

    def _tally_or_empty(self) -> Tally:
        if self._tally is None:
            self._tally = self._empty()
        return self._tally

    @abstractmethod
    def _empty(self) -> Tally:
        """The totals of no rows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: exact and secret until it is released>"


def column(x: Any, name: str) -> Lanes:
    """Data of one value a row.

    A list of numbers has no type of its own: whether all of them are whole is known from the data alone, and nothing
    that is released may tell it. So they count as floats.
    """
    lanes = read(x, name)
    if lanes.values.ndim != 1:
        raise ValueError(f"{name} must have one dimension, a value a row; got shape {lanes.values.shape}")
    if lanes.is_integer and is_untyped(x):
        return Lanes(lanes.values.astype(np.float64), lanes.missing, lanes.scalar)
    return lanes


def _plain(value: Any) -> Any:
    """A public parameter in JSON's types; exact numbers as text."""
    if isinstance(value, Fraction):
        return text(value)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value if isinstance(value, (int, float, str)) or value is None else str(value)


def release_once(
    statistic: Statistic,
    columns: tuple[Any, ...],
    names: tuple[str, ...],
    *,
    by: Any,
    person: Any,
    workers: int,
    terms: Any,
) -> Release:
    """Check, refuse, read types, spend, add, release: in this order.

    A refusal comes before any data is read; an error of types comes before anything is spent.
    """
    check_workers(workers)
    checked = Terms.checked(statistic.name, grouped=statistic._groups is not None, **terms)
    if person is not None and checked.unit == "row":
        raise ValueError("person= is for a budget whose unit is a person, with rows_per_person")
    checked.check(statistic._noise(checked, None).cost)
    chunk = statistic._read(columns, names, by, person, checked)
    checked.spend(statistic._noise(checked, chunk.outline(statistic._empty())).cost)
    statistic._add_chunk(chunk, int(workers))
    tally = statistic._tally_or_empty()
    statistic._released = True
    return statistic._release(checked, statistic._noise(checked, tally), tally)
