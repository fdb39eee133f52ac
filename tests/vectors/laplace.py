"""Make laplace.json: moments and accuracy of Laplace and two-sided geometric noise (python laplace.py).

Needs mpmath. A "laplace" row has the variance, by quadrature, and for each alpha the t with P(|Z| > t) = alpha, by
bisection; a "discrete_laplace" row the variance, summed term by term, and the smallest whole t with P(|X| > t) at most
alpha. Both for noise of scale sensitivity / epsilon.
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf

EPSILONS = ("0.01", "0.1", "0.5", "1", "2", "5", "10")
ALPHAS = ("0.5", "0.1", "0.05", "0.01", "1e-6", "1e-12")
SENSITIVITIES = {"laplace": ("0.5", "1", "100"), "discrete_laplace": ("1", "3")}


def laplace_tail(t: mpf, scale: mpf) -> mpf:
    """P(|Z| > t): twice the integral of e^(-z/scale) / (2 scale) beyond t."""
    return 2 * (mp.exp(-t / scale) / 2)


def laplace(scale: mpf) -> dict[str, object]:
    variance = 2 * mp.quad(lambda z: z**2 * mp.exp(-z / scale) / (2 * scale), [0, scale, 10 * scale, mp.inf])
    accuracy = {}
    for alpha in ALPHAS:
        low, high = mpf(0), 100 * scale
        for _ in range(250):
            middle = (low + high) / 2
            low, high = (middle, high) if laplace_tail(middle, scale) > mpf(alpha) else (low, middle)
        accuracy[alpha] = mp.nstr(high, 25)
    return {"variance": mp.nstr(variance, 25), "accuracy": accuracy}


def discrete_laplace(scale: mpf) -> dict[str, object]:
    """By the probabilities e^(-|k| / scale) over their sum, so far out that 40 digits do not change."""
    weights = [mp.exp(-k / scale) for k in range(int(100 * scale) + 2)]
    total = weights[0] + 2 * mp.fsum(weights[1:])
    variance = 2 * mp.fsum(k * k * w for k, w in enumerate(weights)) / total
    accuracy, tail = {}, mpf(1)  # tail = P(|X| >= k)
    smallest = []
    for k, w in enumerate(weights):
        tail -= (w if k == 0 else 2 * w) / total
        smallest.append(tail)
    for alpha in ALPHAS:
        accuracy[alpha] = next(t for t, beyond in enumerate(smallest) if beyond <= mpf(alpha))
    return {"variance": mp.nstr(variance, 25), "accuracy": accuracy}


def main() -> None:
    mp.dps = 60
    rows = [
        {"mechanism": name, "epsilon": e, "sensitivity": d, **noise(mpf(d) / mpf(e))}
        for name, noise in (("laplace", laplace), ("discrete_laplace", discrete_laplace))
        for e in EPSILONS
        for d in SENSITIVITIES[name]
    ]
    Path(__file__).with_suffix(".json").write_text(
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
