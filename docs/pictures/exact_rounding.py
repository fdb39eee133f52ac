"""Draw exact_rounding.svg: two values on the grid as intervals, and what more bits do to one of them."""

import numpy as np
from style import BLUE, GREY, ORANGE, panels, save

from exactnoise import Laplace
from exactnoise.testing import window

WORD = 0xC0FFEE << 39


def main() -> None:
    noise = Laplace(sensitivity=1, epsilon=1)
    (half_width,) = window(noise, np.array([WORD], np.uint64))
    further = half_width / 2**64 + 3 * 2.0**-64  # the doubt of native/settle.h

    figure, (far, near) = panels(2, height=2.6)
    far.set_title("far from a boundary: decided by 50 bits")
    near.set_title("across a boundary: declined, then decided by 64 more")
    for axis in (far, near):
        axis.spines["left"].set_visible(False)
        axis.set(ylim=(-0.2, 2.5), yticks=[])

    for k in range(4):
        far.axvspan(k - 0.47, k + 0.47, color="0.94", zorder=0)
        far.text(k, 2.25, f"rounds to {k}", horizontalalignment="center", color=GREY)
    far.errorbar(1.23, 1, xerr=0.03, color=BLUE, capsize=5, linewidth=2)
    far.annotate(f"±{half_width:.1e} steps, drawn three million times wider", (1.23, 1.1), (1.23, 1.5), color=BLUE,
                 horizontalalignment="center")  # fmt: skip
    far.set(xlim=(-0.6, 3.6), xticks=np.arange(0.5, 3), xlabel="y, in steps of the grid: boundaries are half-integers")

    for side, k in ((-1, 2), (1, 3)):
        near.text(1.8 * side * half_width, 2.25, f"rounds to {k}", horizontalalignment="center", color=GREY)
    near.axvline(0, ymax=0.86, color=GREY, linewidth=1)
    near.errorbar(0.3 * half_width, 1.4, xerr=half_width, color=ORANGE, capsize=5, linewidth=2)
    near.text(1.5 * half_width, 1.33, "50 bits: no single integer", color=ORANGE)
    near.plot([-0.37 * half_width], [0.6], color=BLUE, marker="|", markersize=11, markeredgewidth=2)
    near.text(1.5 * half_width, 0.53, f"64 bits more: ±{further:.0e} steps", color=BLUE)
    near.set(xlim=(-2.9 * half_width, 5.2 * half_width), xlabel="y - 2.5, in steps of the grid")
    save(figure, "exact_rounding")


if __name__ == "__main__":
    main()
