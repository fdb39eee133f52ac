"""Draw neighbours.svg: what two counts that differ by one person release, and how the probabilities compare."""

import numpy as np
from style import BLUE, GREY, ORANGE, panels, save

EPSILON, SCALE = 0.5, 2
released = np.arange(88, 114)


def probability(count: int) -> np.ndarray:
    q = np.exp(-1 / SCALE)
    return (1 - q) / (1 + q) * q ** np.abs(released - count)


figure, (axis,) = panels(height=2.8)
for count, shift, colour in ((100, -0.2, BLUE), (101, 0.2, ORANGE)):
    axis.bar(released + shift, probability(count), 0.4, color=colour, label=f"{count} people in the table")
axis.set_xlabel(f"released count, epsilon {EPSILON}")
axis.set_ylabel("probability")
axis.annotate(
    f"side by side, no two bars differ by\na factor of more than $e^{{{EPSILON}}}$ = {np.exp(EPSILON):.2f}",
    (104.3, probability(101)[released == 104][0]),
    (105.5, 0.13),
    arrowprops={"arrowstyle": "-", "color": GREY},
)
axis.legend(frameon=False, loc="upper left")
save(figure, "neighbours")
