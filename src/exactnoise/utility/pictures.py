"""Pictures of a table: the error against epsilon, and noisy values in the band that was promised."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np

from exactnoise.errors import MissingExtra
from exactnoise.utility.rows import Row
from exactnoise.utility.table import Measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot", "plot_band"]

# Of Okabe and Ito's palette, which people of all kinds of colour vision tell apart; shapes differ as well.
_BLUE, _ORANGE, _GREEN, _BLACK = "#0072B2", "#D55E00", "#009E73", "#000000"
_SIZE, _RESOLUTION = (7.0, 4.6), 150
_PANELS = 6  # side by side
_MEASURES: tuple[tuple[Measure, str, str, str, str], ...] = (
    ("half_width", "{confidence} of values within", _ORANGE, "s", "--"),
    ("std", "standard deviation", _BLUE, "o", "-"),
    ("mean_error", "mean absolute error", _GREEN, "^", ":"),
)


def plot(rows: Sequence[Row], path: str | PathLike[str], *, unit: str | None = None, title: str | None = None) -> None:
    """Draw the error against epsilon on logarithmic axes: closed forms as lines, simulated numbers as points.

    Parameters
    ----------
    rows : sequence of Row
        Of one `table`.
    path : path
        The file to make; its ending says the format: .png, .svg or .pdf.
    unit : str, optional
        What errors are counted in, such as "minutes".
    title : str, optional
        By default the rows' mechanism or statistic.

    Raises
    ------
    MissingExtra
        matplotlib is not installed.
    ValueError
        No rows, or a format that cannot be written.
    OSError
        The file cannot be written.

    Notes
    -----
    Error bars are two standard errors of the simulated numbers to either side. Errors of 0, as of integer noise at a
    large epsilon, have no place on a logarithmic axis and are left out.
    """
    ordered = _ordered(rows)
    figure = _figure(*_SIZE)
    from matplotlib.ticker import LogFormatter, StrMethodFormatter  # once it is known to be there

    axes = figure.add_subplot()
    axes.set_title(title or f"{ordered[0].what}: error against epsilon")
    _open(axes)
    epsilons = [float(row.epsilon) for row in ordered]
    for measure, label, colour, marker, style in _MEASURES:
        name = label.format(confidence=_confidence(ordered[0]))
        if measure == "half_width" and ordered[0].for_any_scores:
            name = f"promised for {_confidence(ordered[0])}, any scores"
        closed = [(e, value) for e, row in zip(epsilons, ordered, strict=True) if (value := getattr(row, measure))]
        if closed:
            dash = "_" if len(closed) == 1 else ""  # a line through one point would not be seen
            axes.plot(
                *zip(*closed, strict=True), color=colour, linestyle=style, linewidth=1.6, marker=dash, markersize=24,
                label=name,
            )  # fmt: skip
        found = [(e, getattr(row, f"simulated_{measure}")) for e, row in zip(epsilons, ordered, strict=True)]
        points = [
            (e, s.value, min(2 * s.std_error, 0.99 * s.value), 2 * s.std_error) for e, s in found if s and s.value
        ]
        if points:
            x, y, below, above = zip(*points, strict=True)
            axes.errorbar(
                x, y, (below, above), color=colour, marker=marker, markersize=5, markerfacecolor="white",
                linestyle="none", capsize=4, linewidth=1.2, label=None if closed else name,
            )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1, 0.4)))
    _epsilon_axis(axes, epsilons)
    axes.set_ylabel(f"error ({unit})" if unit else "error, in the data's units")
    axes.grid(True, which="major", color="0.85", linewidth=0.7)
    axes.legend(frameon=False, title=_drawn(ordered))
    figure.savefig(path, dpi=_RESOLUTION)


def plot_band(
    rows: Sequence[Row], path: str | PathLike[str], *, unit: str | None = None, title: str | None = None
) -> None:
    """Draw for each epsilon the half width that is promised as a band, and errors of simulated releases against it.

    Parameters
    ----------
    rows : sequence of Row
        Of one `table`, with trials.
    path, unit, title
        As for `plot`.

    Raises
    ------
    MissingExtra, ValueError, OSError
        As for `plot`.

    Notes
    -----
    A panel for each epsilon, with a scale of its own. Up to 200 errors are drawn in each, in the order of the releases,
    and the share of them within the band is told.
    """
    ordered = [row for row in _ordered(rows) if row.sample]
    if not ordered:
        raise ValueError("the rows have no simulated errors to draw: make the table with trials")
    lines = -(-len(ordered) // _PANELS)
    across = -(-len(ordered) // lines)
    figure = _figure(max(_SIZE[0], 2.1 * across), _SIZE[1] * (1 if lines == 1 else 0.7 * lines))
    figure.suptitle(title or f"{ordered[0].what}: simulated releases and the promised band")
    error = "how far the selected score is below the best" if ordered[0].for_any_scores else "noisy minus exact value"
    figure.supylabel(f"{error} ({unit})" if unit else f"{error}, in the data's units")
    grid = figure.subplots(lines, across, squeeze=False)
    for axes in grid.ravel()[len(ordered) :]:
        axes.set_axis_off()
    for axes, row in zip(grid.ravel(), ordered, strict=False):
        _panel(axes, row)
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=_RESOLUTION)


def _panel(axes: Axes, row: Row) -> None:
    """The band and the errors of one epsilon."""
    from matplotlib.ticker import MaxNLocator

    errors, width = np.array(row.sample), row.best("half_width") or 0.0
    inside = np.abs(errors) <= width
    told = "simulated for" if row.half_width is None else "promised for"
    lowest = 0.0 if row.for_any_scores else -width  # nothing is above the best score
    axes.axhspan(lowest, width, color=_BLUE, alpha=0.18, linewidth=0, label=f"{told} {_confidence(row)}")
    for end in {lowest, width} - {0.0}:
        axes.axhline(end, color=_BLUE, linewidth=0.8, linestyle="--")
    axes.axhline(0, color=_BLACK, linewidth=0.8, label="best score" if row.for_any_scores else "exact value")
    places = np.arange(errors.size)
    axes.plot(
        places[inside], errors[inside], color=_BLUE, marker="o", markersize=3, markeredgewidth=0, linestyle="none",
        label="within",
    )  # fmt: skip
    axes.plot(
        places[~inside], errors[~inside], color=_ORANGE, marker="x", markersize=5, linestyle="none", label="beyond"
    )
    most = 1.1 * max(np.abs(errors).max(), width) or 1.0
    axes.set_ylim(-0.05 * most if row.for_any_scores else -most, most)
    axes.set_xticks([])
    axes.yaxis.set_major_locator(MaxNLocator(7, integer=bool((errors == np.round(errors)).all())))
    axes.set_title(f"epsilon {float(row.epsilon):g}\n{100 * inside.mean():.0f} % within", fontsize=10)
    _open(axes)


def _ordered(rows: Sequence[Row]) -> list[Row]:
    if not rows:
        raise ValueError("there are no rows to draw")
    return sorted(rows, key=lambda row: row.epsilon)


def _figure(width: float, height: float) -> Figure:
    """A figure of its own: no window, and nothing of matplotlib's global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("pictures", "matplotlib", "plot") from None
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _open(axes: Axes) -> None:
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _epsilon_axis(axes: Axes, epsilons: Sequence[float]) -> None:
    """Ticks at the epsilons of the table, where there is room for them."""
    from matplotlib.ticker import NullFormatter, NullLocator

    axes.set_xlabel("epsilon (smaller is more private)")
    if len(epsilons) <= 10:
        labels = {epsilon: f"{epsilon:g}" for epsilon in epsilons}
        told: list[float] = []
        for epsilon in sorted(labels, key=lambda epsilon: (len(labels[epsilon]), epsilon)):
            if all(abs(math.log(epsilon / other)) > 0.06 * math.log(epsilons[-1] / epsilons[0]) for other in told):
                told.append(epsilon)
        axes.set_xticks(epsilons, [labels[epsilon] if epsilon in told else "" for epsilon in epsilons])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())


def _confidence(row: Row) -> str:
    return f"{100 * (1 - row.alpha):.6g} %"


def _drawn(rows: Sequence[Row]) -> str:
    """What lines and points mean."""
    closed, trials = rows[0].std is not None, rows[0].trials
    meanings = ["lines: closed form"] * closed + [f"points: {trials} simulated releases"] * bool(trials)
    zero = any(0 in (row.half_width, row.std, row.mean_error) for row in rows)
    return "\n".join([*meanings, *["errors of 0 are not drawn"] * zero])
