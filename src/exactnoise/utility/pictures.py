"""Pictures of a table: the error against epsilon, and noisy values in the band that was promised."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

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
    figure, axes = _canvas(title or f"Error of {ordered[0].what} by epsilon")
    epsilons = [float(row.epsilon) for row in ordered]
    for measure, label, colour, marker, style in _MEASURES:
        name = label.format(confidence=_confidence(ordered[0]))
        closed = [(e, value) for e, row in zip(epsilons, ordered, strict=True) if (value := getattr(row, measure))]
        if closed:
            axes.plot(*zip(*closed, strict=True), color=colour, linestyle=style, linewidth=1.6, label=name)
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
    _epsilon_axis(axes, epsilons)
    axes.set_ylabel(f"error ({unit})" if unit else "error, in the data's units")
    axes.grid(True, which="major", color="0.85", linewidth=0.7)
    axes.legend(frameon=False, title=_drawn(ordered))
    figure.savefig(path, dpi=_RESOLUTION)


def plot_band(
    rows: Sequence[Row], path: str | PathLike[str], *, unit: str | None = None, title: str | None = None
) -> None:
    """Draw the half width that is promised as a band about 0, and errors of simulated releases in and beside it.

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
    Up to 200 errors are drawn for each epsilon, side by side, with the share of them within the band. Where the band is
    much wider at one end than at the other, the axis of errors is linear about 0 and logarithmic outside.
    """
    ordered = [row for row in _ordered(rows) if row.sample]
    if not ordered:
        raise ValueError("the rows have no simulated errors to draw: make the table with trials")
    figure, axes = _canvas(title or f"Noise of {ordered[0].what}: promised and simulated")
    epsilons = np.array([float(row.epsilon) for row in ordered])
    widths = np.array([row.best("half_width") or 0.0 for row in ordered])
    logs = np.log10(epsilons)
    spread = min(np.diff(logs).min(initial=0.5), 0.5) * 0.3
    edges = np.concatenate([[logs[0] - 1.4 * spread], logs, [logs[-1] + 1.4 * spread]])
    reach = np.interp(edges, logs, widths)
    axes.fill_between(
        10**edges, -reach, reach, color=_BLUE, alpha=0.18, linewidth=0,
        label=f"promised: {_confidence(ordered[0])} of values within",
    )  # fmt: skip
    axes.axhline(0, color=_BLACK, linewidth=0.8, label="exact value")
    for first, (log, width, row) in enumerate(zip(logs, widths, ordered, strict=True)):
        errors = np.array(row.sample)
        places = 10 ** (log + np.linspace(-spread, spread, errors.size))
        inside = np.abs(errors) <= width
        for chosen, colour, marker, label in (
            (inside, _BLUE, "o", "noisy values within"),
            (~inside, _ORANGE, "x", "noisy values beyond"),
        ):
            axes.plot(
                places[chosen], errors[chosen], color=colour, marker=marker, markersize=3.2, linestyle="none",
                alpha=0.8, markeredgewidth=1 if marker == "x" else 0, label=None if first else label,
            )  # fmt: skip
        axes.annotate(
            f"{100 * inside.mean():.0f} %", (10**log, 1), xycoords=("data", "axes fraction"), xytext=(0, -12),
            textcoords="offset points", ha="center", fontsize=9,
        )  # fmt: skip
    axes.set_xscale("log")
    smallest = widths[widths > 0].min(initial=np.inf)
    if np.isfinite(smallest) and widths.max() > 30 * smallest:
        axes.set_yscale("symlog", linthresh=float(smallest))
    low, high = axes.get_ylim()
    most = max(-low, high)
    axes.set_ylim(-most, most * (2.2 if axes.get_yscale() == "symlog" else 1.15))
    _epsilon_axis(axes, epsilons.tolist())
    axes.set_ylabel(f"noisy minus exact value ({unit})" if unit else "noisy minus exact value, in the data's units")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    figure.savefig(path, dpi=_RESOLUTION)


def _ordered(rows: Sequence[Row]) -> list[Row]:
    if not rows:
        raise ValueError("there are no rows to draw")
    return sorted(rows, key=lambda row: row.epsilon)


def _canvas(title: str) -> tuple[Figure, Axes]:
    """A figure of its own: no window, and nothing of matplotlib's global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("pictures", "matplotlib", "plot") from None
    figure = Figure(figsize=_SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.add_subplot()
    axes.set_title(title)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    return figure, axes


def _epsilon_axis(axes: Axes, epsilons: Sequence[float]) -> None:
    """Ticks at the epsilons of the table, where there is room for them."""
    from matplotlib.ticker import NullFormatter, NullLocator

    axes.set_xlabel("epsilon (smaller is more private)")
    if len(epsilons) <= 10:
        axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_minor_formatter(NullFormatter())


def _confidence(row: Row) -> str:
    return f"{100 * (1 - row.alpha):.6g} %"


def _drawn(rows: Sequence[Row]) -> str:
    """What lines and points mean."""
    closed, trials = rows[0].std is not None, rows[0].trials
    meanings = ["lines: closed form"] * closed + [f"points: {trials} simulated releases"] * bool(trials)
    return "\n".join(meanings)
