"""A publication written down: input, privacy, keys and statistics, in TOML.

    id = "visits-{date}"
    data_version = "{date}"
    [input]
    path = "visits.parquet"       # CSV, SQLite (with table = ...), Parquet or Arrow IPC
    person = "user_id"            # optional: then limits are enforced by sampling, else they are declared
    [privacy]
    epsilon = "1.0"               # or with delta, or rho: the price of all statistics together
    ledger = "privacy.db"
    budget = "visits"
    [limits]                      # needed where the budget's unit is not "row"
    rows_per_person = 5
    groups_per_person = 3
    [keys]
    site = ["a", "b", "c"]        # or {file = "sites.csv"}, or {from = 1, to = 100}
    [[statistic]]
    kind = "count"                # or sum, mean, variance, quantile, histogram
    by = ["site"]
    weight = 1                    # its part of the price, relative to the others'
    [output]                      # optional
    path = "visits-{date}.parquet"

Relative paths are relative to the job file. All statistics of a job have the same `by`: its output is one table, with a
row for each combination of declared keys, in the declared order.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.cost import Neighbors
from exactnoise.aggregates.groups import Groups, declared
from exactnoise.errors import JobError
from exactnoise.ledger.store import unfit
from exactnoise.publish.files import ENDINGS, Format, Kind, format_for
from exactnoise.publish.files.cells import cells_of
from exactnoise.publish.statistics import StatisticSpec, kind_of
from exactnoise.publish.toml import Document, Section, shown

__all__ = ["Definition"]

_TABLES = ("id", "data_version", "input", "privacy", "limits", "keys", "statistic", "output")
_KINDS: Mapping[str, Kind] = {
    "text": "texts",
    "integer": "integers",
    "date": "dates",
    "time": "times",
    "boolean": "booleans",
}
_LIMITS = ("rows_per_person", "groups_per_person")
_MOST_CONTRIBUTIONS = 2**31 - 1
_MOST_KEYS = 2**24
_MOST_SHOWN = 256


D = TypeVar("D", bound="Definition")


@dataclass(frozen=True)
class Definition:
    """A checked job file. Nothing but the job file, and files of keys, has been read.

    Attributes
    ----------
    path : Path
        The job file.
    id, data_version : str
        With date and month filled in.
    input, output : Path or None
    table, person : str or None
    cost : PrivacyCost
        The price of all statistics together.
    price : dict of str to Fraction
        The same, by name as it was typed.
    ledger, budget : Path, str
    neighbors, unit : str or None
        What the job says about the budget: checked where there is a ledger, needed for a plan without one.
    limits : dict
        rows_per_person and groups_per_person, as far as they are given.
    by : tuple of str
        The columns of keys.
    groups : Groups or None
        The declared keys of these columns.
    statistics : tuple of StatisticSpec
    columns : dict of str to Kind
        Of the input, and as what they are read.
    """

    path: Path
    id: str
    data_version: str
    input: Path
    table: str | None
    person: str | None
    price: dict[str, Fraction]
    cost: PrivacyCost
    ledger: Path
    budget: str
    neighbors: Any
    unit: str | None
    limits: dict[str, Any]
    by: tuple[str, ...]
    groups: Groups | None
    statistics: tuple[StatisticSpec, ...]
    columns: dict[str, Kind]
    output: Path | None
    format: Format | None
    section: Section

    @classmethod
    def load(cls, path: str | Path, *, id: str | None = None, date: str | datetime.date | None = None) -> Self:  # noqa: A002
        """Read and check a job file.

        Parameters
        ----------
        path : str or Path
        id : str, optional
            Instead of the file's.
        date : str or date, optional
            What ``{date}`` and ``{month}`` stand for in `id`, `data_version`, the budget's name and paths; today by
            default.

        Returns
        -------
        Definition
            Of the class it is called on.

        Raises
        ------
        JobError
            The file, or a file of keys, asks for something that cannot be; the message names the key and its line.
        OSError
            It cannot be read.
        """
        if id is not None and (problem := unfit(id)):
            raise JobError(f"the id {problem}")
        return _loaded(cls, Path(path), id, _iso(date))

    def share(self, statistic: StatisticSpec) -> dict[str, Fraction]:
        """The part of the price that a statistic gets: exact, so that all parts add up to the whole."""
        whole = sum((other.weight for other in self.statistics), Fraction(0))
        return {name: amount * statistic.weight / whole for name, amount in self.price.items()}

    def query(self) -> dict[str, Any]:
        """What is asked, in JSON's types, without the price: public, and what a rerun must have in common."""
        return {
            "table": self.table,
            "person": self.person,
            "limits": dict(self.limits),
            "keys": self.key_domain(),
            "statistics": [statistic.facts() for statistic in self.statistics],
        }

    def key_domain(self) -> dict[str, Any]:
        """The declared keys of each column, in JSON's types; of many their number and a digest: they are public."""
        columns = () if self.groups is None else self.groups.columns
        return {name: _brief([_plain(key) for key in keys]) for name, keys in zip(self.by, columns, strict=True)}


def _plain(key: Any) -> Any:
    return key if isinstance(key, bool | int | str) else key.isoformat()


def _brief(keys: list[Any]) -> Any:
    if len(keys) <= _MOST_SHOWN:
        return keys
    return {"count": len(keys), "sha256": hashlib.sha256(json.dumps(keys).encode()).hexdigest()}


def _iso(date: str | datetime.date | None) -> str:
    try:
        day = datetime.date.today() if date is None else datetime.date.fromisoformat(str(date))
    except ValueError:
        raise JobError(f"the date must be written as 2026-12-31, got {date!r}") from None
    return day.isoformat()


def _loaded(cls: type[D], path: Path, name: str | None, date: str) -> D:
    root = Document(path).root
    root.only(_TABLES)
    given, privacy, limits, output = (root.section(part) for part in ("input", "privacy", "limits", "output"))
    given.only(("path", "table", "person"))
    privacy.only(("epsilon", "delta", "rho", "ledger", "budget", "neighbors", "unit"))
    limits.only(_LIMITS)
    output.only(("path", "format"))
    if not (sections := root.sections("statistic")):
        raise root.error(None, "statistic is missing: what to publish, a table [[statistic]] each")
    statistics = tuple(StatisticSpec.read(section) for section in sections)
    price, cost = _price(privacy)
    by = _same_by(statistics)
    data = path.parent / _text(given, "path", "the table to read", date)
    groups = _groups(root.section("keys"), by, path.parent, date, data)
    contributions = {name: _contribution(limits, name) for name in limits}
    relation = privacy.text("neighbors")
    if relation is not None and relation not in get_args(Neighbors):
        raise privacy.error("neighbors", f"must be 'add-remove' or 'replace-one', got {relation!r}")
    unit = privacy.text("unit")
    if unit is not None and (problem := unfit(unit)):
        raise privacy.error("unit", problem)
    person = given.text("person")
    if person is not None and "rows_per_person" not in limits:
        raise given.error("person", "needs limits: rows_per_person, and with keys groups_per_person")
    place = None if "path" not in output else _text(output, "path", "", date)
    form: Any = output.get("format")
    if form is not None and form not in ENDINGS.values():
        raise output.error("format", f"must be one of {', '.join(sorted(set(ENDINGS.values())))}; got {shown(form)}")
    if place is not None:
        try:
            format_for(Path(place), form)
        except ValueError as error:
            raise output.error("path", str(error)) from None
    _check_output_columns(statistics, by)
    return cls(
        path=path,
        id=_text(root, "id", "the name of the release, such as 'visits-{date}'", date) if name is None else name,
        data_version=_text(
            root, "data_version", "which data it is: another version is another release; such as '{date}'", date
        ),
        input=data,
        table=given.text("table"),
        person=person,
        price=price,
        cost=cost,
        ledger=path.parent / _text(privacy, "ledger", "the file of budgets; exactnoise ledger create makes one", date),
        budget=_text(privacy, "budget", "the name of the budget in the ledger", date),
        neighbors=relation,
        unit=privacy.text("unit"),
        limits=contributions,
        by=by,
        groups=groups,
        statistics=statistics,
        columns=_columns(statistics, by, groups, person),
        output=None if place is None else path.parent / place,
        format=form,
        section=root,
    )


def _contribution(limits: Section, name: str) -> int:
    number: Any = limits.get(name)
    if type(number) is not int or not 1 <= number <= _MOST_CONTRIBUTIONS:
        raise limits.error(name, f"must be a whole number from 1 to 2^31 - 1, got {shown(number)}")
    return number


def _text(section: Section, name: str, why: str, date: str) -> str:
    """Text that must be there, with the day and the month filled in."""
    section.needed(name, why)
    value = section.text(name)
    assert value is not None
    filled = value.replace("{date}", date).replace("{month}", date[: len("2026-12")])
    if "\0" in filled:
        raise section.error(name, "must be without null characters")
    if "{" in filled or "}" in filled:
        raise section.error(name, "only {date} and {month} can stand in braces")
    if name in ("id", "data_version", "budget") and (problem := unfit(filled)):
        raise section.error(name, problem)
    return filled


def _price(privacy: Section) -> tuple[dict[str, Fraction], PrivacyCost]:
    typed = {name: privacy.get(name) for name in ("epsilon", "delta", "rho") if name in privacy}
    if ("epsilon" in typed) == ("rho" in typed):
        raise privacy.error(None, "say either epsilon, with or without delta, or rho: the price of the whole job")
    if "delta" in typed and "rho" in typed:
        raise privacy.error("delta", "belongs to epsilon; a price in rho has none")
    price = {}
    for name, value in typed.items():
        try:
            price[name] = getattr(PrivacyCost(**{"epsilon": 1, name: value}), name)
        except (TypeError, ValueError) as error:
            raise privacy.error(name, str(error)) from None
        if not price[name] or (name == "delta" and price[name] >= 1):
            raise privacy.error(name, f"must be positive{' and below 1' if name == 'delta' else ''}, got {value}")
    return price, PrivacyCost.from_exact(**price)


def _same_by(statistics: tuple[StatisticSpec, ...]) -> tuple[str, ...]:
    first = statistics[0]
    for other in statistics[1:]:
        if other.by != first.by:
            name = "by" if "by" in other.section else None
            raise other.section.error(
                name,
                f"all statistics of a job have the same by, as its output is one table; here it is {list(other.by)}, "
                f"in the first statistic {list(first.by)}. Split the job: one file for each by, of an id of its own",
            )
    return first.by


def _groups(keys: Section, by: tuple[str, ...], folder: Path, date: str, data: Path) -> Groups | None:
    for name in keys:
        if name not in by:
            raise keys.error(name, f"no statistic has it in its by = {list(by)}")
    columns = []
    for name in by:
        if name not in keys:
            raise keys.error(
                None,
                f"{name} is missing: the keys of this column that are published, declared without looking at the data",
            )
        columns.append(_key_list(keys, name, folder, date, data))
    if not columns:
        return None
    try:
        groups = declared(tuple(columns) if len(columns) > 1 else columns[0])
    except (TypeError, ValueError) as error:
        raise keys.error(None, str(error)) from None
    if len(groups) > _MOST_KEYS:
        raise keys.error(None, f"{len(groups)} combinations are too many for one table; at most 2^24")
    return groups


def _key_list(keys: Section, name: str, folder: Path, date: str, data: Path) -> list[Any]:
    value, in_file = keys.get(name), False
    if isinstance(value, dict):
        section = keys.section(name)
        in_file = "file" in section
        value = _from_file(section, name, folder, date, data) if in_file else _from_range(section)
    if not isinstance(value, list):
        raise keys.error(name, 'must be a list of keys, or {file = "..."}, or {from = .., to = ..}')
    try:
        declared(value)
    except (TypeError, ValueError) as error:
        words = str(error).removeprefix("keys ")
        raise keys.error(name, words.partition(";")[0] if in_file else words) from None
    return value


def _from_range(section: Section) -> list[int]:
    section.only(("from", "to"))
    ends = [section.needed(end, "whole numbers from .. to are the keys, both included") for end in ("from", "to")]
    if not all(type(end) is int for end in ends) or not 0 <= ends[1] - ends[0] < _MOST_KEYS:
        got = " and ".join(map(shown, ends))
        raise section.error(None, f"from and to must be whole numbers, from <= to, got {got}")
    return list(range(ends[0], ends[1] + 1))


def _from_file(section: Section, name: str, folder: Path, date: str, data: Path) -> list[Any]:
    """The column of a CSV file of public keys. No cell is quoted: the file may be another than was meant."""
    section.only(("file", "column", "type"))
    path = folder / _text(section, "file", "a CSV file of keys", date)
    column, kind = section.text("column") or name, section.get("type", "text")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise section.error("type", f"must be one of {', '.join(_KINDS)}; got {shown(kind)}")
    try:
        if data.exists() and path.samefile(data):
            raise section.error("file", f"{path} is the input: keys are declared without looking at the data")
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file, strict=True) if row]
    except OSError as error:
        raise section.error("file", f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error):  # their texts may quote what is there, and it may be the wrong file
        raise section.error("file", f"{path} is no CSV file in UTF-8") from None
    if not rows or rows[0].count(column) != 1:
        raise section.error("file", f"{path} must have a column {column!r} in its first line, once")
    index = rows[0].index(column)
    cells = [row[index] if index < len(row) else "" for row in rows[1:]]
    values = list(cells_of(_KINDS[kind])(cells))
    if None in values:
        place = values.index(None)
        raise section.error("file", f"{path}: key {place + 1} is no {kind}")
    first: dict[Any, int] = {}
    for place, key in enumerate(values, 1):
        if first.setdefault(key, place) != place:
            raise section.error("file", f"{path}: keys {first[key]} and {place} are the same")
    return values


def _columns(
    statistics: tuple[StatisticSpec, ...], by: tuple[str, ...], groups: Groups | None, person: str | None
) -> dict[str, Kind]:
    """Each column of the input that is read, once."""
    columns: dict[str, Kind] = {}
    for name, keys in zip(by, () if groups is None else groups.columns, strict=True):
        columns[name] = kind_of(keys)
    for statistic in statistics:
        if statistic.column is not None and statistic.column_kind is not None:
            known = columns.get(statistic.column, statistic.column_kind)
            if {known, statistic.column_kind} <= {"number", "integers", "exact"} and known != statistic.column_kind:
                columns[statistic.column] = "exact"  # keys and numbers at once
            elif known != statistic.column_kind:
                raise statistic.section.error(
                    "column",
                    f"{statistic.column!r} is read as {known} elsewhere in the job, here as {statistic.column_kind}",
                )
            else:
                columns[statistic.column] = known
    if person is None:
        return columns
    for statistic in statistics:
        if statistic.column == person:
            raise statistic.section.error("column", f"{person!r} tells people apart (input.person), and is no value")
    columns.setdefault(person, "person")
    return columns


def _check_output_columns(statistics: tuple[StatisticSpec, ...], by: tuple[str, ...]) -> None:
    seen = set(by)
    for statistic in statistics:
        for label in (*statistic.labels, *([statistic.error_label] if statistic.error_label else [])):
            if label in seen:
                raise statistic.section.error(
                    "name" if "name" in statistic.section else None,
                    f'the output has a column {label!r} already; give the statistic another name = "..."',
                )
            seen.add(label)
