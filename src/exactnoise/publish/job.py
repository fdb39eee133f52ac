"""A job: planned without spending anything, and run into a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from exactnoise.accounting import PrivacyBudget
from exactnoise.errors import BudgetExceeded
from exactnoise.ledger import Ledger, LedgerBudget
from exactnoise.ledger.words import no_budget
from exactnoise.publish.definition import Definition
from exactnoise.publish.durable import check_folder
from exactnoise.publish.exact import Released, Totals, rehearsed
from exactnoise.publish.files import Table, check_writable, format_for, open_table
from exactnoise.publish.plan import Expectation, Plan, PlanRow
from exactnoise.publish.publish import publish
from exactnoise.publish.snapshot import Snapshot

__all__ = ["Job"]

#: Told how far the input has been read, in bytes where that is known.
Tell = Callable[[int], None]


class Job(Definition):
    """A job file, checked.

    Made by `Job.load`; the attributes are those of `Definition`.

    Examples
    --------
    >>> job = Job.load("visits.toml", date="2026-11-30")  # doctest: +SKIP
    >>> print(job.plan())  # doctest: +SKIP
    >>> job.run("visits.csv").read()  # doctest: +SKIP
    """

    def plan(self, *, expected: Expectation | None = None) -> Plan:
        """Say what `run` would do. Nothing is spent, and of the input only the types of its columns are read.

        Parameters
        ----------
        expected : Expectation, optional
            What the public expects of the cells.

        Returns
        -------
        Plan

        Raises
        ------
        JobError, SchemaError, OSError
            As `run`, but that without a ledger the job's own neighbors and unit are taken.
        """
        if not isinstance(expected, Expectation | None):
            raise TypeError(f"expected must be an Expectation, got {type(expected).__name__}")
        budget = self._budget() if self.ledger.exists() else None
        neighbors, unit = (budget.neighbors, budget.unit) if budget else self._relation()
        with self._open() as table:
            rehearsal = rehearsed(self, table, neighbors, unit)
        if self.output is not None:
            check_writable(_Table(self, rehearsal).columns(), self.output, self.format)
        refusal, published = None, budget is not None and self._is_published(budget)
        if budget is not None and not published:
            try:
                budget.check(self.cost)
            except BudgetExceeded as error:
                refusal = error
        expected = expected or Expectation()
        rows = tuple(PlanRow.of(released, self.share(released.spec), expected) for released in rehearsal)
        cells = 1 if self.groups is None else len(self.groups)
        return Plan(self, neighbors, unit, rows, cells, budget.remaining if budget else None, published, refusal)

    def run(self, path: str | Path | None = None, *, tell: Tell = lambda done: None) -> Snapshot:
        """Publish: reserve the price, read the input, release, and put the file in place.

        Parameters
        ----------
        path : str or Path, optional
            The file to make; by default the job's output.
        tell : callable, optional
            Called with the position in the input, while it is read.

        Returns
        -------
        Snapshot

        Raises
        ------
        JobError
            The job does not fit its ledger. Nothing was spent.
        SchemaError
            The input does not fit the job: it is found out from its header, before anything is spent.
        ExactNoiseError, OSError
            As `publish`.

        Notes
        -----
        A cell that cannot be understood counts as a missing one, so that no row can stop a job that has been paid for:
        what it says once its price is reserved does not depend on rows, unless the file cannot be read to its end.
        """
        target = Path(path) if path is not None else self.output
        if target is None:
            raise self.section.error(None, "there is no output: say -o OUT (in Python the path), or [output] path")
        try:
            form = format_for(target, self.format)
        except ValueError as error:
            raise self.section.error(None, str(error)) from None
        budget = self._budget()
        if not self._is_published(budget):  # its input may be gone by now
            with self._open() as table:
                rehearsal = rehearsed(self, table, budget.neighbors, budget.unit)
            check_writable(_Table(self, rehearsal).columns(), target, form)
            check_folder(target)

        def make(purse: PrivacyBudget) -> _Table:
            totals = Totals(self)
            with self._open() as table:
                totals.add_all(table, tell)
            released = totals.release(lambda spec: {"budget": purse, "label": spec.name, **self.share(spec)})
            return _Table(self, released)

        return publish(
            target,
            make,
            id=self.id,
            data_version=self.data_version,
            budget=budget,
            query=self.query(),
            format=form,
            **self.price,
        )

    def is_published(self) -> bool:
        """Whether the job's id has been published: then running it again spends nothing."""
        return self._is_published(self._budget())

    def _is_published(self, budget: LedgerBudget) -> bool:
        reservation = budget.ledger.reservation(self.id)
        return reservation is not None and reservation.state == "committed"

    def _open(self) -> Table:
        if self.input.exists() and not (self.input.is_file() or self.input.is_dir()):
            raise self.section.section("input").error("path", f"{self.input} must be a file: it is opened twice")
        return open_table(self.input, table=self.table, columns=self.columns)

    def _budget(self) -> LedgerBudget:
        privacy = self.section.section("privacy")
        if not self.ledger.exists():
            raise privacy.error("ledger", self._no_budget(None))
        budgets = {budget.name: budget for budget in Ledger(self.ledger).budgets()}
        if self.budget not in budgets:
            raise privacy.error("budget", self._no_budget(budgets))
        budget = budgets[self.budget]
        for name in ("neighbors", "unit"):
            said, true = getattr(self, name), getattr(budget, name)
            if said is not None and said != true:
                raise privacy.error(name, f"the budget {self.budget!r} has {true!r}, the job says {said!r}")
        try:
            budget.check(self.cost)
        except BudgetExceeded:
            pass  # not if it has been paid for already
        except (TypeError, ValueError) as error:
            raise privacy.error(None, str(error)) from None
        return budget

    def _relation(self) -> tuple[str, str]:
        privacy = self.section.section("privacy")
        if self.neighbors not in ("add-remove", "replace-one") or self.unit is None:
            raise privacy.error(
                None,
                f"{self._no_budget(None)}; to plan without it, say neighbors = 'add-remove' or 'replace-one' and "
                "unit = 'person', 'row' or another name here",
            )
        return self.neighbors, self.unit

    def _no_budget(self, budgets: Collection[str] | None) -> str:
        known = {"neighbors": self.neighbors, "unit": self.unit}
        return no_budget(self.ledger, self.budget, budgets, amounts=self.price, **known)


class _Table:
    """The output of a job: a row a group."""

    def __init__(self, job: Job, released: Sequence[Released]) -> None:
        self._job, self._released = job, released

    def columns(self) -> dict[str, Any]:
        job = self._job
        groups = () if job.groups is None else job.groups.keys
        keys = groups if len(job.by) > 1 else [(key,) for key in groups]
        columns: dict[str, Any] = {name: [key[i] for key in keys] for i, name in enumerate(job.by)}
        for spec, _, release in self._released:
            columns |= spec.columns(release)
        return columns

    def metadata(self) -> list[dict[str, Any]]:
        """How each column of values was made."""
        described = []
        for spec, _, release in self._released:
            facts = {**release.metadata(), "name": spec.name, "input": spec.column, "std_error": spec.error_label}
            if self._job.person is not None:
                facts["contributions"] = "enforced by sampling"
            described += [{**facts, "column": label} for label in spec.labels]
        return described
