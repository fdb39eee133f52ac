"""Rows as an aligned table, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import NamedTuple

from exactnoise.accounting.amount import approximately, text
from exactnoise.utility.rows import Row
from exactnoise.utility.simulation import Simulated

__all__ = ["to_csv", "to_json", "to_text"]


class _Column(NamedTuple):
    title: str
    cells: list[str]


def to_text(rows: Sequence[Row]) -> str:
    """Return the rows as a table of aligned columns, for a terminal: closed forms with what was simulated beside.

    Parameters
    ----------
    rows : sequence of Row
        Of one table.

    Returns
    -------
    str
        Without a line break at the end. A simulated number is followed by its standard error.
    """
    confidence = f"{100 * (1 - rows[0].alpha):.6g} %"
    reach = "promised" if rows[0].for_any_scores else "within"
    columns = [
        _Column("epsilon", [approximately(row.epsilon) for row in rows]),
        _Column("scale", [_number(row.scale) for row in rows]),
        _Column("std", [_number(row.std) for row in rows]),
        _Column("simulated", [_simulated(row.simulated_std) for row in rows]),
        _Column("mean error", [_number(row.mean_error) for row in rows]),
        _Column("simulated", [_simulated(row.simulated_mean_error) for row in rows]),
        _Column(f"{confidence} {reach}", [_number(row.half_width) for row in rows]),
        _Column("simulated", [_simulated(row.simulated_half_width) for row in rows]),
        _Column("relative", [_percent(row.relative_error) for row in rows]),
        _Column("below noise", [_percent(row.share_below_noise) for row in rows]),
    ]
    told = [column for column in columns if any(cell != "-" for cell in column.cells)]
    widths = [max(len(column.title), *map(len, column.cells)) for column in told]
    lines = [[column.title for column in told], *zip(*(column.cells for column in told), strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def to_csv(rows: Sequence[Row]) -> str:
    """Return the rows as CSV with a header line; numbers in full, nothing for what is not known."""
    table = io.StringIO(newline="")
    records = [{**row.columns(), "epsilon": text(row.epsilon)} for row in rows]
    writer = csv.DictWriter(table, records[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return table.getvalue()


def to_json(rows: Sequence[Row]) -> str:
    """Return the rows as a JSON array; numbers in full, epsilon as exact text, null for what is not known."""
    return json.dumps([{**row.columns(), "epsilon": text(row.epsilon)} for row in rows])


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.3g} %"


def _simulated(number: Simulated | None) -> str:
    """The number with its standard error in the same decimals, of which the error has two digits."""
    if number is None:
        return "-"
    value, error = number
    if not error:
        return f"{value:.4g}"
    digits = max(1 - int(f"{error:e}".partition("e")[2]), 0)
    if digits > 9 or abs(value) >= 1e7:
        return f"{value:.3g} +- {error:.1g}"
    return f"{value:.{digits}f} +- {error:.{digits}f}"
