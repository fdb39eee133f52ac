"""What every statistic does: add chunks exactly, merge, and release once."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Self, Unpack

import numpy as np

from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import text
from exactnoise.aggregates import people
from exactnoise.aggregates.chunks import Chunk, Integers, Tally, column
from exactnoise.aggregates.estimate import Estimate
from exactnoise.aggregates.groups import Groups, declared
from exactnoise.aggregates.noise import Noise
from exactnoise.aggregates.release import Release
from exactnoise.aggregates.terms import ReleaseTerms, Terms
from exactnoise.mechanisms._options import check_workers
from exactnoise.mechanisms._threads import for_each

__all__ = ["Statistic", "release_once"]

#: Held while totals are added up, merged, or paid for: no row counts twice, and none comes after the release.
_adding = threading.RLock()
_RELEASED = "released: a second release of the same rows is a new one, of new cost, with a statistic of its own"


class Statistic(ABC):
    """Exact totals of the rows added so far, and the public definition of what is released from them.

    A statistic that has rows is as secret as they are: pickle it to merge it elsewhere, and publish only what `release`
    returns.
    """

    #: The statistic's name in messages and metadata.
    name: ClassVar[str]

    _tally: Tally | None
    _groups: Groups | None
    _closed: str | None  # what became of it, once it is of no use any more

    def __init__(self, keys: Any) -> None:
        self._groups = None if keys is None else declared(keys)
        self._tally = None
        self._closed = None

    @property
    def groups(self) -> int:
        """How many groups there are; 1 without `keys`."""
        return 1 if self._groups is None else len(self._groups)

    def definition(self) -> dict[str, Any]:
        """The public parameters, by name."""
        return {"keys": None if self._groups is None else self._groups.keys}

    @abstractmethod
    def _add(self, chunk: Chunk, start: int, stop: int) -> Tally:
        """The exact totals of some rows of a chunk."""

    @abstractmethod
    def _noise(self, terms: Terms, tally: Tally | None) -> Noise[Any]:
        """Mechanisms and price; of the tally only what is public may count, and the price does not depend on it."""

    def _check(self, terms: Terms) -> None:
        """Refuse before any data is read what the budget would refuse."""
        terms.check(self._noise(terms, None).cost)

    @abstractmethod
    def _estimate(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Estimate:
        """Noise on exact totals, of these groups or of as many as the tally has."""

    def _possible(self) -> tuple[float, float]:
        """Between which values a cell lies whatever the rows, exact or released."""
        return -np.inf, np.inf

    def _cell_axes(self) -> tuple[Sequence[Any], ...]:
        """The axes of the cells that each group has."""
        return ()

    def _release(self, terms: Terms, noise: Noise[Any], tally: Tally) -> Release:
        with np.errstate(all="ignore"):  # nothing in the data warns or raises, whatever the caller's settings
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
        self._add_tally(total)

    def _add_tally(self, tally: Tally) -> None:
        """In one step: threads may add to one statistic, and an interrupted call has added nothing."""
        with _adding:
            self._check_open()
            self._tally = tally if self._tally is None else self._tally + tally

    def _add_rows(self, columns: tuple[Any, ...], names: tuple[str, ...], by: Any, workers: int) -> None:
        check_workers(workers)
        self._check_open()
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

    def _codes(self, by: Any, person: Any, size: int | None, terms: Terms | None) -> Integers | None:
        """The group of each row; the columns themselves tell the size where nothing else does."""
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
        known = size if codes is None else codes.size
        kept = people.kept(person, codes, known, rows=terms.rows, groups=groups, bins=self.groups)
        return np.where(kept, 0 if codes is None else codes, -1)

    def _check_mergeable(self, other: Any) -> None:
        if type(other) is not type(self):
            raise TypeError(f"a {type(self).__name__} can be merged with another one, not with {type(other).__name__}")
        ours, theirs = self.definition(), other.definition()
        differing = [name for name in ours if ours[name] != theirs[name]]
        if differing or self._groups != other._groups:
            raise ValueError(
                f"only a {type(self).__name__} of the same definition can be merged: they differ in "
                f"{', '.join(differing) or 'the type of their keys'}"
            )

    def merge(self, other: Self) -> Self:
        """Add the totals of another statistic of the same definition, and return self.

        Parameters
        ----------
        other : Statistic
            Of rows that are not in this one. It is empty and cannot be used afterwards: its rows are here.

        Raises
        ------
        ValueError
            It is of another class or definition, is this one, or was released or merged before.

        Notes
        -----
        Totals are exact integers, so that the order of rows, chunks and merges does not matter.
        """
        self._check_mergeable(other)
        if other is self:
            raise ValueError(f"a {type(self).__name__} cannot be merged with itself: its rows would count twice")
        with _adding:
            self._check_open()
            other._check_open()
            if other._tally is not None:
                self._add_tally(other._tally)
            other._close("merged into another, where its rows count now")
        return self

    def _check_open(self) -> None:
        if self._closed is not None:
            raise ValueError(f"this {type(self).__name__} has been {self._closed}")

    def _close(self, reason: str) -> None:
        """Forget the rows."""
        self._closed, self._tally = reason, None

    def _released_as(
        self, terms: Terms, cost: PrivacyCost, estimate: Estimate, mechanism: Any, axes: tuple[Any, ...]
    ) -> Release:
        """The release of an estimate that has a value for each group, or for each cell of the further axes of each."""
        if self._groups is not None:
            axes = (self._groups.keys, *axes)
        shape = tuple(len(axis) for axis in axes)
        value, error = estimate.value(), estimate.std_error()
        facts = {
            **terms.facts(grouped=self._groups is not None),
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
        checked = Terms.checked(self.name, grouped=self._groups is not None, **terms)
        with _adding:
            self._check_open()
            tally = self._tally_or_empty()
            noise = self._noise(checked, tally)
            checked.spend(noise.cost)
            self._close(_RELEASED)
        return self._release(checked, noise, tally)

    def _tally_or_empty(self) -> Tally:
        return self._empty()._replace(integers=False) if self._tally is None else self._tally

    @abstractmethod
    def _empty(self) -> Tally:
        """The totals of no rows."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: exact and secret until it is released>"


def _new_lock() -> None:
    global _adding
    _adding = threading.RLock()  # another thread may have held it when the process forked


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


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
    checked = Terms.checked(statistic.name, grouped=statistic._groups is not None, enforced=person is not None, **terms)
    if person is not None and checked.unit == "row":
        raise ValueError("person= is for a budget whose unit is a person, with rows_per_person")
    statistic._check(checked)
    chunk = statistic._read(columns, names, by, person, checked)
    checked.spend(statistic._noise(checked, chunk.outline(statistic._empty())).cost)
    statistic._add_chunk(chunk, int(workers))
    tally = statistic._tally_or_empty()
    return statistic._release(checked, statistic._noise(checked, tally), tally)
