"""The exact totals of a job, chunk by chunk, and their one release.

All statistics of a job have the same groups, so that each row's group is settled once, and the accumulators know groups
by their number. Where people are told apart, which of their rows count is drawn once for all statistics: what differs
between neighbours is then still one person's kept rows, in all statistics together, and the prices add up. For that all
rows of a person have to be seen, so that the columns that are needed stay in memory until all are read, and the draw
takes about 150 bytes a row beside them. Without people memory does not grow with the input.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from exactnoise.aggregates import Release
from exactnoise.aggregates.people import kept
from exactnoise.aggregates.statistic import Statistic
from exactnoise.errors import BudgetExceeded, SchemaError
from exactnoise.publish.definition import Definition
from exactnoise.publish.files import Chunk, Table, joined
from exactnoise.publish.statistics import StatisticSpec

__all__ = ["Released", "Totals", "rehearsed"]


class Released(NamedTuple):
    """A statistic of a job, what it was counted by, and its release."""

    spec: StatisticSpec
    statistic: Statistic
    release: Release


class Totals:
    """What a job has counted so far: exact, and secret until it is released.

    Parameters
    ----------
    job : Definition
    """

    def __init__(self, job: Definition) -> None:
        self._job = job
        self._groups = len(job.groups) if job.groups is not None else None if job.person is None else 1
        self._statistics = [(spec, spec.accumulator(self._groups)) for spec in job.statistics]
        self._people = _Sample(job, self._groups or 1) if job.person is not None else None

    def add(self, chunk: Chunk) -> None:
        """Add rows. No value raises.

        Raises
        ------
        SchemaError
            A column is of a type that does not fit; that does not depend on rows.
        """
        codes = self._codes(chunk)
        if self._people is not None:
            codes = np.zeros(chunk.rows, np.int64) if codes is None else codes
            self._people.hold(chunk, codes)
        else:
            self._add(chunk, codes)

    def add_all(self, table: Table, tell: Callable[[int], None] = lambda position: None) -> None:
        """Add all rows of a table, and tell how far it has been read."""
        for chunk in table.chunks():
            self.add(chunk)
            tell(table.position)
        self._settle()

    def release(self, terms: Callable[[StatisticSpec], Mapping[str, Any]]) -> list[Released]:
        """Add noise, once; `terms` are those of a statistic's release.

        Raises
        ------
        BudgetExceeded, JobError
            Neither depends on rows.
        """
        self._settle()
        limits = dict(self._job.limits)
        if self._groups is not None and limits:
            limits.setdefault("groups_per_person", 1)
        released = []
        for spec, statistic in self._statistics:
            try:
                release = statistic.release(mechanism=spec.mechanism, **limits, **terms(spec))
            except BudgetExceeded:
                raise
            except (TypeError, ValueError) as error:
                raise spec.section.error(None, str(error)) from None
            released.append(Released(spec, statistic, release))
        return released

    def _settle(self) -> None:
        if self._people is not None:
            for chunk, codes in self._people.chosen():
                self._add(chunk, codes)

    def _add(self, chunk: Chunk, codes: Any) -> None:
        for spec, statistic in self._statistics:
            column = None if spec.column is None else chunk.columns[spec.column]
            try:
                spec.add(statistic, column, codes, chunk.rows)
            except TypeError as error:
                raise _unfit(self._job, spec.column, error) from None

    def _codes(self, chunk: Chunk) -> Any:
        groups = self._job.groups
        if groups is None:
            return None
        by = tuple(chunk.columns[name] for name in self._job.by)
        try:
            return groups.codes(by if len(by) > 1 else by[0], chunk.rows)
        except TypeError as error:
            place = str(error).removeprefix("by[").partition("]")[0]
            name = self._job.by[int(place)] if place.isdigit() else self._job.by[0]
            raise _unfit(self._job, name, error) from None


class _Sample:
    """Rows that are held until it is drawn which of them count."""

    def __init__(self, job: Definition, groups: int) -> None:
        self._job = job
        self._columns = {spec.column for spec in job.statistics if spec.column is not None}
        self._rows, self._per_person = job.limits["rows_per_person"], job.limits.get("groups_per_person")
        self._grouped, self._groups = job.groups is not None, groups
        self._numbers = _Numbers()
        self._held: list[tuple[Chunk, npt.NDArray[np.int64]]] = []
        self._people: list[Any] = []

    def hold(self, chunk: Chunk, codes: npt.NDArray[np.int64]) -> None:
        assert self._job.person is not None
        person = chunk.columns[self._job.person]
        self._people.append(self._numbers.of(person) if isinstance(person, list) else person)
        self._held.append((Chunk(chunk.rows, {name: chunk.columns[name] for name in self._columns}), codes))

    def chosen(self) -> list[tuple[Chunk, npt.NDArray[np.int64]]]:
        """The rows held, with -1 for the group of those that do not count; they are held no longer."""
        held, self._held = self._held, []
        if not held:
            return []
        codes = np.concatenate([codes for _, codes in held])
        counts = self._drawn(codes)
        chosen, start = [], 0
        for chunk, own in held:
            chosen.append((chunk, np.where(counts[start : start + chunk.rows], own, -1)))
            start += chunk.rows
        return chosen

    def _drawn(self, codes: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        people, self._people = joined(self._people), []
        groups = self._per_person if self._grouped else None
        try:
            return kept(people, codes, codes.size, rows=self._rows, groups=groups, bins=self._groups)
        except TypeError as error:
            raise _unfit(self._job, self._job.person, error) from None


class _Numbers(dict[Any, int]):
    """A number for each of the people in lists, so that an id is kept once and not in every row."""

    def __missing__(self, person: Any) -> int:
        self[person] = len(self)
        return len(self) - 1

    def of(self, people: list[Any]) -> Any:
        missing = [person is None for person in people]
        return np.ma.MaskedArray(np.fromiter(map(self.__getitem__, people), np.int64, len(people)), mask=missing)


def _unfit(job: Definition, column: str | None, error: TypeError) -> SchemaError:
    """A refusal of a column's type, without the ways in which Python programs could pass it."""
    _, must, words = str(error).partition(" must be ")
    wanted, got, kind = words.partition("; got ")
    told = f"must be {wanted.partition(':')[0]}; got {kind}" if must and got else "is of a type that cannot be read"
    return SchemaError(f"{job.input}: column {column!r} {told}")


def rehearsed(job: Definition, table: Table, neighbors: Any, unit: str) -> list[Released]:
    """Release no rows, at no price: all that can be wrong is found out, and what noise there would be.

    Raises
    ------
    JobError, SchemaError
        A parameter, or a column's type, does not fit.
    """
    _check_limits(job, unit)
    totals = Totals(job)
    totals.add(table.empty())

    return totals.release(lambda spec: {"budget": None, "neighbors": neighbors, **job.share(spec)})


def _check_limits(job: Definition, unit: str) -> None:
    limits = job.section.section("limits")
    if unit == "row":
        if job.limits:
            raise limits.error(None, "the budget protects single rows, so no limits belong to it")
        if job.person is not None:
            raise job.section.section("input").error("person", "the budget protects single rows, not people")
        return
    if "rows_per_person" not in job.limits:
        raise limits.error(
            None,
            f"rows_per_person is missing: the budget protects each {unit}; how many rows has one at most"
            f"{' in a group' if job.by else ''}?",
        )
    if job.by and "groups_per_person" not in job.limits:
        raise limits.error(None, f"groups_per_person is missing: in how many groups has one {unit} rows at most?")
    if not job.by and "groups_per_person" in job.limits:
        raise limits.error("groups_per_person", "no statistic has groups (by)")
