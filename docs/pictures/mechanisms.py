"""Draw the pictures of the mechanisms' pages: errors and laws, from the mechanisms themselves."""

import itertools
import math

import numpy as np
from style import BLUE, GREEN, GREY, ORANGE, PURPLE, panels, save

from exactnoise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    LocalHashing,
    OptimizedUnaryEncoding,
    PermuteAndFlip,
    RandomizedResponse,
    Snapping,
    SymmetricUnaryEncoding,
)

DELTA = "1e-6"


def errors_of_counts() -> None:
    """One count at many epsilons, and many counts at one epsilon."""
    figure, (one, many) = panels(2)
    epsilons = np.geomspace(0.05, 5, 60)
    for label, colour, style, build in (
        ("DiscreteLaplace", BLUE, "-", lambda e: DiscreteLaplace(sensitivity=1, epsilon=e)),
        ("Laplace", ORANGE, "--", lambda e: Laplace(sensitivity=1, epsilon=e)),
        (f"Gaussian, delta {DELTA}", GREEN, "-", lambda e: Gaussian(sensitivity=1, epsilon=e, delta=DELTA)),
    ):
        one.plot(epsilons, [build(f"{e:.4g}").std for e in epsilons], color=colour, linestyle=style, label=label)
    one.set(xscale="log", yscale="log", xlabel="epsilon", ylabel="standard deviation", title="one count")
    one.set_xticks([0.05, 0.1, 0.5, 1, 5], ["0.05", "0.1", "0.5", "1", "5"])
    one.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
    one.legend(frameon=False)

    counts = np.unique(np.geomspace(1, 1000, 60).astype(int))
    laplace = [DiscreteLaplace(sensitivity=int(k), epsilon=1).std for k in counts]
    gaussian = [Gaussian(sensitivity=math.sqrt(k), epsilon=1, delta=DELTA).std for k in counts]
    many.plot(counts, laplace, color=BLUE, label="DiscreteLaplace: L1 sensitivity k")
    many.plot(counts, gaussian, color=GREEN, label="Gaussian: L2 sensitivity √k")
    many.set(xscale="log", yscale="log", xlabel="k counts, each of which one person changes by 1", title="k counts")
    many.set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    many.set_yticks([1, 10, 100, 1000], ["1", "10", "100", "1000"])
    many.legend(frameon=False)
    for axis in (one, many):
        axis.minorticks_off()
        axis.grid(color="0.9", linewidth=0.7)
    save(figure, "errors_of_counts")


def laws_of_integers() -> None:
    """Two integer laws of the same variance."""
    figure, (axis,) = panels()
    laplace = DiscreteLaplace(sensitivity=1, epsilon="0.5")
    gaussian = DiscreteGaussian(sensitivity=1, scale=f"{laplace.std:.6g}")
    ks = np.arange(-11, 12)
    two_sided = np.exp(-np.abs(ks) / laplace.scale)
    bell = np.exp(-(ks**2) / (2 * gaussian.scale**2))
    two_sided *= math.tanh(1 / laplace.scale / 2)
    bell /= sum(math.exp(-(k**2) / (2 * gaussian.scale**2)) for k in range(-100, 101))
    axis.bar(ks - 0.2, two_sided, width=0.4, color=BLUE, label=f"DiscreteLaplace, scale {laplace.scale:g}")
    axis.bar(ks + 0.2, bell, width=0.4, color=GREEN, label=f"DiscreteGaussian, scale {gaussian.scale:.2g}")
    axis.set(xlabel="noise", ylabel="probability", title=f"two laws of standard deviation {laplace.std:.1f}")
    axis.legend(frameon=False)
    save(figure, "laws_of_integers")


def snapping() -> None:
    """What a release of 7.3 can be."""
    figure, (axis,) = panels()
    noise, x = Snapping(sensitivity=1, epsilon="0.5", bounds=(0, 20)), 7.3

    def at_most(v: float) -> float:
        z = (v - x) / noise.scale
        return 1 - math.exp(-z) / 2 if z > 0 else math.exp(z) / 2

    half = noise.granularity / 2
    values = np.arange(0, 21, noise.granularity)
    edges = [-math.inf, *(values[:-1] + half), math.inf]
    masses = [at_most(high) - at_most(low) for low, high in itertools.pairwise(edges)]
    axis.bar(values, masses, width=0.8, color=[ORANGE, *[BLUE] * (len(values) - 2), ORANGE])
    axis.axvline(x, color=GREY, linestyle="--", linewidth=1)
    axis.text(9, max(masses), "dashed: the true value, 7.3", color=GREY)
    axis.set(xlabel="released value", ylabel="probability", xticks=values,
             title="epsilon 0.5, bounds 0 and 20: eleven values, no others")  # fmt: skip
    save(figure, "snapping")


def selections() -> None:
    """How likely the best is, when it leads all others by a gap."""
    figure, axes = panels(2)
    gaps = np.linspace(0, 14, 57)
    for axis, candidates in zip(axes, (5, 100), strict=True):
        for kind, colour, style in ((PermuteAndFlip, GREEN, "-"), (Exponential, ORANGE, "--")):
            select = kind(sensitivity=1, epsilon=1, monotonic=True)
            best = [select.probabilities([gap] + [0.0] * (candidates - 1))[0] for gap in gaps]
            axis.plot(gaps, best, color=colour, linestyle=style, label=kind.__name__)
        axis.set(xlabel="lead of the best, in scales", ylim=(0, 1.02), title=f"{candidates} candidates")
        axis.grid(color="0.9", linewidth=0.7)
    axes[0].set_ylabel("probability that it is selected")
    axes[0].legend(frameon=False, loc="lower right")
    save(figure, "selections")


def local_reports() -> None:
    """The error of a rare category's count, from a million reports."""
    figure, axes = panels(2)
    epsilons = np.geomspace(0.2, 8, 40)
    for axis, categories in zip(axes, (10, 300), strict=True):
        for kind, colour, style in (
            (RandomizedResponse, BLUE, "-"),
            (SymmetricUnaryEncoding, ORANGE, "--"),
            (OptimizedUnaryEncoding, GREEN, "-"),
            (LocalHashing, PURPLE, ":"),
        ):
            errors = [kind(epsilon=f"{e:.4g}", categories=categories).std_error(1_000_000) for e in epsilons]
            axis.plot(epsilons, errors, color=colour, linestyle=style, label=kind.__name__,
                      linewidth=2.5 if style == ":" else 1.5)  # fmt: skip
        axis.set(xscale="log", yscale="log", xlabel="epsilon of a report", title=f"{categories} categories")
        axis.set_xticks([0.2, 0.5, 1, 2, 4, 8], ["0.2", "0.5", "1", "2", "4", "8"])
        axis.set_yticks([100, 1000, 10_000, 100_000], ["100", "1000", "10 000", "100 000"])
        axis.minorticks_off()
        axis.grid(color="0.9", linewidth=0.7)
        axis.set_ylim(15, 200_000)
    axes[0].set_ylabel("standard error, in people")
    axes[0].legend(frameon=False, loc="lower left")
    save(figure, "local_reports")


if __name__ == "__main__":
    for draw in (errors_of_counts, laws_of_integers, snapping, selections, local_reports):
        draw()
