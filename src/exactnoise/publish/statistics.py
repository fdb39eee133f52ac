"""The statistics of a job: from a table of the job file to an accumulator, and from its release to columns."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from exactnoise import aggregates
from exactnoise.accounting.amount import exact, text
from exactnoise.aggregates import Release
from exactnoise.aggregates.groups import declared
from exactnoise.aggregates.statistic import Statistic
from exactnoise.aggregates.terms import Kind as Mechanism
from exactnoise.errors import JobError
from exactnoise.publish.files import Kind
from exactnoise.publish.toml import Section, shown

__all__ = ["StatisticSpec", "kind_of"]

_COMMON = ("kind", "by", "weight", "name", "mechanism")
_BOUNDED = ("column", "bounds", "nan")
#: What each kind takes besides, and the class that counts.
_KINDS: Mapping[str, tuple[tuple[str, ...], type[Statistic]]] = {
    "count": (("column", "nonnegative"), aggregates.Count),
    "sum": (_BOUNDED, aggregates.Sum),
    "mean": (_BOUNDED, aggregates.Mean),
    "variance": ((*_BOUNDED, "ddof"), aggregates.Variance),
    "quantile": ((*_BOUNDED, "q", "granularity"), aggregates.Quantile),
    "histogram": (("column", "edges", "categories", "other", "nonnegative"), aggregates.Histogram),
}


@dataclass(frozen=True)
class StatisticSpec:
    """One checked ``[[statistic]]``.

    Attributes
    ----------
    kind, name : str
    column : str or None
    column_kind : Kind or None
        As what the column is read.
    by : tuple of str
    weight : Fraction
        Its part of the price, relative to those of the others.
    mechanism : {"laplace", "gaussian", None}
    parameters : dict
        Of the accumulator, as typed.
    section : Section
        Where it stands, for messages.
    """

    kind: str
    name: str
    column: str | None
    column_kind: Kind | None
    by: tuple[str, ...]
    weight: Fraction
    mechanism: Any
    parameters: dict[str, Any]
    section: Section

    @classmethod
    def read(cls, section: Section) -> StatisticSpec:
        """Check a table of the job file; all that can be wrong without the data is refused here.

        Raises
        ------
        JobError
        """
        kind = section.needed("kind", f"one of {', '.join(_KINDS)}")
        if not isinstance(kind, str) or kind not in _KINDS:
            raise section.error("kind", f"must be one of {', '.join(_KINDS)}; got {shown(kind)}")
        own, _ = _KINDS[kind]
        section.only((*_COMMON, *own))
        column = section.text("column") if kind == "count" else section.needed("column", f"the column of the {kind}")
        if column is not None and not isinstance(column, str):
            raise section.error("column", f"must be the name of one column, got {shown(column)}")
        by = section.get("by", [])
        if not isinstance(by, list) or not all(isinstance(name, str) for name in by) or len(set(by)) < len(by):
            raise section.error("by", f"must be a list of different columns, such as ['site'], got {shown(by)}")
        try:
            weight = exact(section.get("weight", 1), "weight")
        except (TypeError, ValueError) as error:
            raise _about(str(error), section) from None
        mechanism = section.get("mechanism")
        if mechanism not in (None, *get_args(Mechanism)):
            raise section.error("mechanism", f"must be 'laplace' or 'gaussian', got {shown(mechanism)}")
        if "edges" in section and not isinstance(section.get("edges"), list):
            raise section.error("edges", "must be a list of the bins' edges in ascending order, such as [0, 10, 20]")
        name = section.text("name") or (kind if column is None else f"{kind}_{column}")
        parameters = {key: section.get(key) for key in own if key in section and key != "column"}
        if kind == "count":
            parameters["masked"] = column is not None
        spec = cls(
            kind,
            name,
            column,
            _column_kind(kind, column, section),
            tuple(by),
            weight,
            mechanism,
            parameters,
            section,
        )
        spec.accumulator(None)
        return spec

    def accumulator(self, groups: int | None) -> Statistic:
        """A new accumulator; of so many groups, which are then known by their number."""
        make: Any = _KINDS[self.kind][1]
        try:
            statistic: Statistic = make(keys=None if groups is None else range(groups), **self.parameters)
        except (TypeError, ValueError) as error:
            raise _about(str(error), self.section) from None
        return statistic

    def add(self, statistic: Any, column: Any, codes: Any, rows: int) -> None:
        """Add rows to an accumulator."""
        if self.kind != "count" or column is not None:
            statistic.add(column, by=codes)
        else:
            statistic.add(by=codes, n=rows)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns of values: several where a group has several cells."""
        given = self.parameters
        if isinstance(q := given.get("q"), list):
            return tuple(f"{self.name}_{level}" for level in q)
        other = ["other"] if given.get("other") else []
        if "edges" in given:
            bins = [f"{low}_{high}" for low, high in itertools.pairwise(given["edges"])]
            return tuple(f"{self.name}_{label}" for label in [*bins, *other])
        if "categories" in given:
            return tuple(f"{self.name}_{label}" for label in [*given["categories"], *other])
        return (self.name,)

    @property
    def error_label(self) -> str | None:
        """The name of the column of standard errors; None for a quantile, which has none."""
        return None if self.kind == "quantile" else f"{self.name}_std_error"

    def columns(self, release: Release) -> dict[str, Any]:
        """The release as columns, a row a group."""
        labels = self.labels
        values = np.asarray(release.value).reshape(-1, len(labels))
        columns: dict[str, Any] = {label: values[:, i] for i, label in enumerate(labels)}
        if self.error_label is not None:
            errors = np.broadcast_to(np.asarray(release.std_error), np.shape(release.value))
            columns[self.error_label] = errors.reshape(-1, len(labels))[:, 0]
        return columns

    def facts(self) -> dict[str, Any]:
        """The public definition in JSON's types, which with the price makes the query."""
        return {
            "kind": self.kind,
            "name": self.name,
            "column": self.column,
            "by": list(self.by),
            "weight": text(self.weight),
            "mechanism": self.mechanism,
            **{name: _plain(value) for name, value in self.parameters.items()},
        }


def kind_of(keys: Any) -> Kind:
    """As what a column is read whose values are to match checked keys."""
    first = next(iter(keys))
    kinds: tuple[tuple[type, Kind], ...] = (
        (bool, "booleans"),
        (int, "integers"),
        (datetime.datetime, "times"),
        (datetime.date, "dates"),
    )
    return next((kind for of, kind in kinds if isinstance(first, of)), "texts")


def _column_kind(kind: str, column: str | None, section: Section) -> Kind | None:
    if column is None:
        return None
    if kind == "count":
        return "booleans"
    if "categories" not in section:
        return "number"
    categories = section.get("categories")
    try:
        declared(categories)
    except (TypeError, ValueError) as error:
        raise section.error("categories", str(error)) from None
    return kind_of(categories)


def _about(message: str, section: Section) -> JobError:
    """A message of an accumulator, at the key that it is about: its first word, where there is such a key."""
    word, _, rest = message.partition(" ")
    name = word.partition("[")[0]
    if name not in section:
        return section.error(None, message)
    return section.error(name, rest if word == name else message)


def _plain(value: Any) -> Any:
    """A parameter in JSON's types."""
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if isinstance(value, bool | int | str) else str(value)
