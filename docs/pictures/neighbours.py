"""Draw neighbours.svg: what two counts that differ by one person release, and how the probabilities compare."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

mpl.rcParams |= {"svg.hashsalt": "exactnoise", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False}

EPSILON, SCALE = 0.5, 2
released = np.arange(88, 114)


def probability(count: int) -> np.ndarray:
    q = np.exp(-1 / SCALE)
    return (1 - q) / (1 + q) * q ** np.abs(released - count)


figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
for count, shift, colour in ((100, -0.2, "#1f6f8b"), (101, 0.2, "#e07a3f")):
    axes.bar(released + shift, probability(count), 0.4, color=colour, label=f"{count} people in the table")
axes.set_xlabel(f"released count, epsilon {EPSILON}")
axes.set_ylabel("probability")
axes.annotate(
    f"beside each other, no two bars\ndiffer by more than $e^{{{EPSILON}}}$ = {np.exp(EPSILON):.2f}",
    (104.3, probability(101)[104 - 88]),
    (105.5, 0.13),
    arrowprops={"arrowstyle": "-", "color": "0.4"},
)
axes.legend(frameon=False, loc="upper left")
figure.savefig(Path(__file__).with_suffix(".svg"), metadata={"Date": None}, facecolor="white")
