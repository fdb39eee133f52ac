"""Make laplace_noise.json: the laws of Laplace and two-sided geometric noise, to 25 digits (python laplace_noise.py).

Needs mpmath. Closed forms at 60 digits; laplace.py finds some of the same numbers by quadrature, bisection and sums.

A "laplace" row has, for noise of scale sensitivity / epsilon, the moments, the median of |Z|, and for each alpha the t
with P(|Z| > t) = alpha and the one with P(Z > t) = alpha. A "distribution" row has P(Z <= z), P(Z > z) and the density
of noise of scale 1, a "quantile" row the z with P(Z <= z) = p. A "geometric" row has P(X = k) = (1 - q) / (1 + q)
q^|k|, its moments and tails P(|X| >= k), and for each alpha the t at which the tails' formula is alpha, the smallest
whole t with P(|X| > t) <= alpha, and P(|X| > t) there (Ghosh, Roughgarden, Sundararajan 2009).
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf

EPSILONS = ("0.01", "0.1", "0.5", "1", "2", "5", "10")
ALPHAS = ("0.5", "0.1", "0.05", "0.01", "1e-6", "1e-12")
POINTS = ("-30", "-3", "-0.25", "0", "0.25", "3", "30")
LEVELS = ("1e-12", "0.001", "0.025", "0.25", "0.5", "0.75", "0.975", "0.999")
VALUES = (0, 1, 2, 5, 20)


def shown(value: mpf) -> str:
    return mp.nstr(value, 25)


def laplace(epsilon: str, sensitivity: str) -> dict[str, object]:
    scale = mpf(sensitivity) / mpf(epsilon)
    return {
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "scale": shown(scale),
        "std": shown(mp.sqrt(2) * scale),
        "variance": shown(2 * scale**2),
        "mean_absolute": shown(scale),
        "median_absolute": shown(scale * mp.log(2)),
        "two_sided": {alpha: shown(-scale * mp.log(mpf(alpha))) for alpha in ALPHAS},
        "one_sided": {alpha: shown(-scale * mp.log(2 * mpf(alpha))) for alpha in ALPHAS},
    }


def distribution(point: str) -> dict[str, str]:
    density = mp.exp(-abs(mpf(point))) / 2
    below, above = (density, 1 - density) if mpf(point) < 0 else (1 - density, density)
    return {"z": point, "below": shown(below), "above": shown(above), "density": shown(density)}


def quantile(level: str) -> dict[str, str]:
    p = mpf(level)
    return {"p": level, "z": shown(mp.log(2 * p) if p < 0.5 else -mp.log(2 * (1 - p)))}


def geometric(epsilon: str, sensitivity: str) -> dict[str, object]:
    rate = mpf(epsilon) / mpf(sensitivity)
    q = mp.exp(-rate)
    at_alpha = {alpha: mp.log(2 / (mpf(alpha) * (1 + q))) / rate for alpha in ALPHAS[:5]}
    half_width = {alpha: int(mp.ceil(t)) - 1 for alpha, t in at_alpha.items()}
    return {
        "epsilon": epsilon,
        "sensitivity": sensitivity,
        "ratio": shown(q),
        "variance": shown(2 * q / (1 - q) ** 2),
        "std": shown(mp.sqrt(2 * q) / (1 - q)),
        "mean_absolute": shown(2 * q / (1 - q**2)),
        "probability": {k: shown((1 - q) / (1 + q) * q**k) for k in VALUES},
        "tail": {k: shown(2 * q**k / (1 + q)) for k in VALUES[1:]},
        "tail_is_alpha_at": {alpha: shown(t) for alpha, t in at_alpha.items()},
        "half_width": half_width,
        "beyond_half_width": {alpha: shown(2 * q ** (t + 1) / (1 + q)) for alpha, t in half_width.items()},
    }


def main() -> None:
    mp.dps = 60
    lists = {
        "laplace": [laplace(epsilon, sensitivity) for epsilon in EPSILONS for sensitivity in ("1", "0.5", "100")],
        "distribution": [distribution(point) for point in POINTS],
        "quantile": [quantile(level) for level in LEVELS],
        "geometric": [geometric(epsilon, sensitivity) for epsilon in EPSILONS[:6] for sensitivity in ("1", "3")],
    }
    written = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, some)) + "\n]" for name, some in lists.items())
    Path(__file__).with_suffix(".json").write_text("{\n" + written + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
