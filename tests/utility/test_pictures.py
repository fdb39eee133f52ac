"""Pictures: what is drawn where, on which scales, with which labels."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactnoise.errors import MissingExtra
from exactnoise.utility import Row, plot, plot_band, table

EPSILONS = ["0.1", "0.5", "1", "2", "5"]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return table("discrete-laplace", EPSILONS, sensitivity=1, trials=500)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Figures as they are when they are written."""
    from matplotlib.figure import Figure

    figures: list[Any] = []
    write = Figure.savefig

    def savefig(self: Figure, *args: Any, **options: Any) -> None:
        figures.append(self)
        write(self, *args, **options)

    monkeypatch.setattr(Figure, "savefig", savefig)
    return figures


def test_error_against_epsilon(rows: list[Row], drawn: list[Any], tmp_path: Path) -> None:
    plot(rows[::-1], tmp_path / "error.png", unit="visits")
    assert (tmp_path / "error.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    (axes,) = drawn[0].axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("epsilon (smaller is more private)", "error (visits)")
    assert axes.get_title() == "DiscreteLaplace: error against epsilon"
    assert [label.get_text() for label in axes.get_xticklabels()] == EPSILONS
    legend = axes.get_legend()
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["95 % of values within", "standard deviation", "mean absolute error"]
    assert legend.get_title().get_text() == (
        "lines: closed form\npoints: 500 simulated releases\nerrors of 0 are not drawn"
    )
    closed = {line.get_label(): line.get_xydata() for line in axes.lines if line.get_label() in names}
    expected = [(float(row.epsilon), row.half_width) for row in rows if row.half_width]
    assert closed[names[0]].tolist() == [list(point) for point in expected]  # a half width of 0 has no logarithm
    assert closed[names[1]][:, 1].tolist() == [row.std for row in rows]
    # Error bars: two standard errors to either side, about the simulated number.
    bars = axes.containers[1].lines[2][0].get_segments()
    for bar, row in zip(bars, rows, strict=True):
        assert row.simulated_std is not None
        value, error = row.simulated_std
        assert bar[:, 1].tolist() == pytest.approx([value - 2 * error, value + 2 * error])
    low, high = axes.get_ylim()
    for bar in bars:
        assert low < bar[:, 1].min() <= bar[:, 1].max() < high


def test_lines_and_points_differ_in_more_than_colour(rows: list[Row], drawn: list[Any], tmp_path: Path) -> None:
    plot(rows, tmp_path / "error.svg")
    (axes,) = drawn[0].axes
    assert {line.get_linestyle() for line in axes.lines} >= {"-", "--", ":"}
    assert {container.lines[0].get_marker() for container in axes.containers} == {"s", "o", "^"}
    assert axes.get_ylabel() == "error, in the data's units"
    assert (tmp_path / "error.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_labels_that_would_touch_are_left_out(drawn: list[Any], tmp_path: Path) -> None:
    plot(table("laplace", [0.1, 1.798, 2, 5], sensitivity=1, trials=0), tmp_path / "error.pdf")
    assert [label.get_text() for label in drawn[0].axes[0].get_xticklabels()] == ["0.1", "", "2", "5"]
    plot(table("laplace", np.geomspace(0.01, 10, 12).tolist(), sensitivity=1, trials=0), tmp_path / "many.png")
    plot(table("laplace", [1], sensitivity=1, trials=10), tmp_path / "one.png")
    labels = [label.get_text() for label in drawn[1].axes[0].get_yticklabels()]
    assert {"0.1", "1", "10", "100"} <= set(labels)
    closed = drawn[2].axes[0].lines[0]
    assert (len(closed.get_xdata()), closed.get_marker()) == (1, "_")  # a line through one point would not be seen
    assert (tmp_path / "error.pdf").read_bytes()[:5] == b"%PDF-"


def test_the_promised_band(rows: list[Row], drawn: list[Any], tmp_path: Path) -> None:
    plot_band(rows, tmp_path / "band.png", unit="visits", title="Visits")
    figure = drawn[0]
    assert figure.get_suptitle() == "Visits"
    assert figure.get_supylabel() == "noisy minus exact value (visits)"
    assert len(figure.axes) == len(rows)
    for axes, row, typed in zip(figure.axes, rows, EPSILONS, strict=True):
        (band,) = axes.patches
        assert (band.get_y(), band.get_y() + band.get_height()) == (-row.half_width, row.half_width)
        points = {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in axes.lines}
        assert sorted(points["within"] + points["beyond"]) == sorted(row.sample)
        assert all(abs(error) <= row.half_width for error in points["within"])
        assert all(abs(error) > row.half_width for error in points["beyond"])
        share = 100 * len(points["within"]) / len(row.sample)
        assert axes.get_title() == f"epsilon {typed}\n{share:.0f} % within"
        low, high = axes.get_ylim()
        assert low == -high
        assert high > max(map(abs, row.sample))
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names == ["promised for 95 %", "exact value", "within", "beyond"]


def test_the_promised_band_of_a_selection(drawn: list[Any], tmp_path: Path) -> None:
    (row,) = table("exponential", [1], sensitivity=1, exact=[52, 31, 60, 44], trials=50)
    plot_band([row], tmp_path / "band.png")
    (figure,) = drawn
    assert figure.get_supylabel() == "how far the selected score is below the best, in the data's units"
    (axes,) = figure.axes
    (band,) = axes.patches
    assert (band.get_y(), band.get_height()) == (0, row.half_width)  # no score is above the best
    low, high = axes.get_ylim()
    assert -high / 10 < low < 0
    assert high > max(row.sample)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names[:2] == ["promised for 95 %", "best score"]


def test_many_panels(drawn: list[Any], tmp_path: Path) -> None:
    plot_band(table("laplace", range(1, 9), sensitivity=1, trials=20), tmp_path / "band.png")
    assert [axes.axison for axes in drawn[0].axes] == [True] * 8


def test_refusals(rows: list[Row], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for draw in (plot, plot_band):
        with pytest.raises(ValueError, match="no rows"):
            draw([], tmp_path / "x.png")
        with pytest.raises(OSError, match="No such file"):
            draw(rows, tmp_path / "nowhere" / "x.png")
        with pytest.raises(ValueError, match="not supported"):
            draw(rows, tmp_path / "x.csv")
    with pytest.raises(ValueError, match="no simulated errors"):
        plot_band(table("laplace", [1], sensitivity=1, trials=0), tmp_path / "x.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for draw in (plot, plot_band):
        with pytest.raises(MissingExtra, match=r"exactnoise\[plot\]"):
            draw(rows, tmp_path / "x.png")
    assert list(tmp_path.iterdir()) == []
