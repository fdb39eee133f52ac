"""What the pictures of the documents share."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Of Okabe and Ito's palette, which people of all kinds of colour vision tell apart.
BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "0.45"


def panels(count: int = 1, height: float = 3.2) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side."""
    mpl.rcParams |= {"svg.hashsalt": "exactnoise", "font.size": 9}
    figure = Figure(figsize=(4.5 * max(count, 1.5), height), layout="constrained", facecolor="white")
    axes = figure.subplots(1, count, squeeze=False)[0].tolist()
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Figure, name: str) -> None:
    """The same bytes from the same drawing: no date in it."""
    figure.savefig(Path(__file__).with_name(f"{name}.svg"), metadata={"Date": None})
