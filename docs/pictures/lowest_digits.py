"""Draw lowest_digits.svg: which last digit a noisy value has, for the secrets 0 and 1, naively and with exactnoise."""

import sys
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from exactnoise import Laplace
from exactnoise.testing import release_from_words, word_count

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "examples"))
from attack_demo import SECRETS, naive  # noqa: E402

SAMPLES = 200_000
WIDTH = 18  # digits in a panel


def lowest_digit(y: np.ndarray) -> np.ndarray:
    """The exponent of the lowest binary digit that is 1."""
    fractions, exponents = np.frexp(y)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    return exponents - 53 + np.log2(mantissas & -mantissas).astype(int)


def main() -> None:
    rng = np.random.default_rng(1)
    noise = Laplace(sensitivity=1, epsilon=1)
    words = [rng.integers(0, 2**64, word_count(noise, SAMPLES), np.uint64) for _ in SECRETS]
    panels = {  # with the first digit to show
        ("naive: secret + sign * -log(uniform)", -59): [naive(secret, 1.0, SAMPLES, rng) for secret in SECRETS],
        ("exactnoise: Laplace(sensitivity=1, epsilon=1)", -22): [
            release_from_words(noise, np.full(SAMPLES, secret), w) for secret, w in zip(SECRETS, words, strict=True)
        ],
    }
    mpl.rcParams |= {"svg.hashsalt": "lowest_digits", "font.size": 9}
    figure = Figure(figsize=(9, 3), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    for axis, ((title, first), outputs) in zip(axes, panels.items(), strict=True):
        for secret, y, shift, color in zip(SECRETS, outputs, (-0.2, 0.2), ("#d1495b", "#30638e"), strict=True):
            shown = np.arange(first, first + WIDTH)
            shares = [100 * np.mean(lowest_digit(y[y != 0]) == digit) for digit in shown]
            axis.bar(shown + shift, shares, width=0.4, color=color, label=f"the secret is {secret:.0f}")
        axis.set(title=title, xlabel="exponent of the lowest binary digit", xticks=range(first + 1, first + WIDTH, 4))
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("% of noisy values")
    axes[0].axvspan(-59.7, -53.5, color="0.93", zorder=0)
    axes[0].text(-56.6, 40, "only a 0 gets here", horizontalalignment="center")
    axes[0].legend(frameon=False, loc="upper right")
    figure.savefig(HERE / "lowest_digits.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
