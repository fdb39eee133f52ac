"""A job's dry run: what it would cost and how far its numbers would be off. Nothing is spent, no row is read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import approximately, text
from exactnoise.errors import BudgetExceeded
from exactnoise.publish.definition import Definition
from exactnoise.publish.exact import Released

__all__ = ["Expectation", "Plan", "PlanRow"]

ALPHA = 0.05
_SAMPLED = (
    "            rows beyond the limits are left out, so that counts and sums are lower; errors are those of the noise"
)


@dataclass(frozen=True)
class Expectation:
    """What the public expects the cells to be, from another source than the data: an earlier snapshot, a guess.

    Attributes
    ----------
    rows : float or None
        So many rows in a cell.
    cells : dict of str to array
        Expected values of cells, by the name of their column.
    """

    rows: float | None = None
    cells: Mapping[str, Any] | None = None

    def below(self, label: str, half_width: float, counts: bool) -> float | None:
        """The share of cells whose expected value is smaller than the noise; None where nothing is expected."""
        if self.cells is not None and label in self.cells:
            values = np.abs(np.asarray(self.cells[label], np.float64))
            return float(np.mean(values < half_width)) if values.size else None
        if self.rows is None or not counts:
            return None
        return float(self.rows < half_width)


@dataclass(frozen=True)
class PlanRow:
    """One statistic of a plan.

    Attributes
    ----------
    name, kind : str
    price : dict of str to Fraction
    mechanisms : tuple of str
    sensitivity, scale : tuple of number
        Of each mechanism.
    std_error, half_width : float or None
        Of a cell, and what 95 % of the errors are below; None where they depend on how many rows a cell has.
    error_times_rows : float or None
        For a mean or a variance the standard error of a cell is at most this over its rows.
    expected_error : float or None
        The same at the expected number of rows, or what the bounds allow where that is less.
    rank_error : float or None
        For a quantile: by so many rows its rank is off, in 95 % of the cells, at most.
    below_noise : float or None
        The share of the cells that are expected to be smaller than the noise.
    """

    name: str
    kind: str
    price: dict[str, Fraction]
    mechanisms: tuple[str, ...]
    sensitivity: tuple[Any, ...]
    scale: tuple[float, ...]
    std_error: float | None
    half_width: float | None
    error_times_rows: float | None
    expected_error: float | None
    rank_error: float | None
    below_noise: float | None

    @classmethod
    def of(cls, rehearsal: Released, price: dict[str, Fraction], expected: Expectation) -> PlanRow:
        spec, statistic, release = rehearsal
        mechanism: Any = release.mechanism
        mechanisms = mechanism if isinstance(mechanism, tuple) else (mechanism,)
        error = half_width = factor = below = None
        rank = None
        if spec.kind == "quantile":
            rank = release.rank_error(ALPHA)
        elif spec.kind in ("mean", "variance"):
            factor = _error_times_rows(spec.kind, statistic.definition()["bounds"], mechanisms)
        else:
            error, half_width = mechanism.std, float(mechanism.half_width(ALPHA))
            shares = [expected.below(label, half_width, spec.kind != "sum") for label in spec.labels]
            known = [share for share in shares if share is not None]
            below = sum(known) / len(known) if known else None
        low, high = statistic._possible()
        rows = expected.rows
        return cls(
            name=spec.name,
            kind=spec.kind,
            price=price,
            mechanisms=tuple(map(repr, mechanisms)),
            sensitivity=tuple(each.sensitivity for each in mechanisms),
            scale=tuple(float(each.scale) for each in mechanisms),
            std_error=error,
            half_width=half_width,
            error_times_rows=factor,
            expected_error=error if factor is None else None if not rows else min(factor / rows, high - low),
            rank_error=rank,
            below_noise=below,
        )

    def document(self) -> dict[str, Any]:
        """In JSON's types."""
        return {
            "name": self.name,
            "kind": self.kind,
            "price": {name: text(amount) for name, amount in self.price.items()},
            "mechanism": list(self.mechanisms),
            "sensitivity": [text(Fraction(each)) for each in self.sensitivity],
            "scale": list(self.scale),
            "std_error": self.std_error,
            "half_width": self.half_width,
            "error_times_rows": self.error_times_rows,
            "expected_error": self.expected_error,
            "rank_error": self.rank_error,
            "below_noise": self.below_noise,
        }


@dataclass(frozen=True)
class Plan:
    """What a job would do.

    Attributes
    ----------
    job : Definition
    neighbors, unit : str
    rows : tuple of PlanRow
        A statistic each.
    cells : int
        Rows of the output.
    remaining : PrivacyCost or None
        Of the ledger's budget; None where there is no ledger yet.
    published : bool
        Whether something was published under the job's id: the same is not paid again, and nothing else can be.
    refusal : BudgetExceeded or None
        Why the budget would refuse the price.
    """

    job: Definition
    neighbors: str
    unit: str
    rows: tuple[PlanRow, ...]
    cells: int
    remaining: PrivacyCost | None
    published: bool
    refusal: BudgetExceeded | None

    def document(self) -> dict[str, Any]:
        """In JSON's types."""
        job = self.job
        return {
            "id": job.id,
            "data_version": job.data_version,
            "input": str(job.input),
            "columns": list(job.columns),
            "price": {name: text(amount) for name, amount in job.price.items()},
            "ledger": str(job.ledger),
            "budget": job.budget,
            "remaining": None if self.remaining is None else _amounts(self.remaining),
            "published": self.published,
            "fits": None if self.remaining is None else self.refusal is None,
            "neighbors": self.neighbors,
            "unit": self.unit,
            "contributions": "sampled" if job.person is not None else "declared" if job.limits else "rows",
            "limits": job.limits,
            "output_rows": self.cells,
            "statistics": [row.document() for row in self.rows],
        }

    def __str__(self) -> str:
        job = self.job
        lines = [
            f"{job.id}: a plan, nothing is spent and no row is read",
            "",
            f"  input     {job.input}, data version {job.data_version}; columns {_listed(list(job.columns))}",
            f"  output    {self.cells} rows{f', a row a combination of {_listed(list(job.by))}' if job.by else ''}",
            f"  price     {_price_text(job.price)}, all statistics together",
            f"  protects  each {self.unit}, under {self.neighbors}{self._limits()}",
            *([_SAMPLED] if job.person is not None else []),
            f"  budget    {job.budget} in {job.ledger}: {self._budget()}",
            "",
        ]
        head = ("statistic", "price", "noise", "sensitivity", "scale", "expected error of a cell")
        table = [head, *(self._cells(row) for row in self.rows)]
        widths = [max(len(row[i]) for row in table) for i in range(len(head))]
        lines += [
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        ]
        return "\n".join(lines)

    def _limits(self) -> str:
        if not self.job.limits:
            return ""
        limits = ", ".join(f"{name} = {value}" for name, value in self.job.limits.items())
        how = "enforced by sampling" if self.job.person is not None else "declared: true, or the guarantee is void"
        return f"; {limits} ({how})"

    def _budget(self) -> str:
        if self.remaining is None:
            return "no such ledger yet"
        more = (
            ", which is too little"
            if self.refusal
            else "; this id is published, and costs nothing again"
            if self.published
            else ""
        )
        return f"{_amounts_text(self.remaining)} remains{more}"

    def _cells(self, row: PlanRow) -> tuple[str, ...]:
        return (
            row.name,
            _price_text(row.price),
            " + ".join(mechanism.partition("(")[0] for mechanism in row.mechanisms),
            " + ".join(approximately(Fraction(each)) for each in row.sensitivity),
            " + ".join(f"{each:.4g}" for each in row.scale),
            _error_text(row),
        )


def _error_text(row: PlanRow) -> str:
    if row.rank_error is not None:
        return f"rank off by at most {row.rank_error:.4g} rows in 95 % of the cells"
    if row.std_error is None:
        at = "" if row.expected_error is None else f", at most {row.expected_error:.4g} as expected"
        return f"at most {row.error_times_rows:.4g} / rows in it{at}"
    below = "" if row.below_noise is None else f"; {100 * row.below_noise:.3g} % of the cells are below the noise"
    return f"std {row.std_error:.4g}, 95 % within {row.half_width:.4g}{below}"


def _error_times_rows(kind: str, bounds: Sequence[Fraction], mechanisms: Sequence[Any]) -> float:
    """The largest that rows times the standard error can be, to first order, wherever between the bounds values lie."""
    half = float(bounds[1] - bounds[0]) / 2
    stds = [float(each.std) for each in mechanisms]
    if kind == "mean":
        return math.hypot(stds[0], *(half * std for std in stds[1:]))
    if len(stds) == 1:
        return stds[0]
    # |mean - centre| <= half, and the mean square less half^2 / 2 is within half^2 / 2 of 0.
    return math.hypot(stds[1], 2 * half * stds[0], 2.5 * half**2 * stds[2])


def _price_text(price: Mapping[str, Fraction]) -> str:
    return ", ".join(f"{name} {approximately(amount)}" for name, amount in price.items())


def _amounts(cost: PrivacyCost) -> dict[str, str]:
    amounts = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return {name: text(amount) for name, amount in amounts.items() if amount is not None}


def _amounts_text(cost: PrivacyCost) -> str:
    amounts = {"epsilon": cost.epsilon, "delta": cost.delta or None, "rho": cost.rho}
    return _price_text({name: amount for name, amount in amounts.items() if amount is not None})


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
