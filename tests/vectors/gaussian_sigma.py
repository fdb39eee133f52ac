"""Make gaussian_sigma.json: the smallest sigma of Gaussian noise, to 40 digits (python gaussian_sigma.py).

Needs mpmath. On values that differ by 1 the privacy loss is normal, of mean 1 / (2 sigma^2) and variance 1 / sigma^2,
and delta = P(loss >= epsilon) - e^epsilon P(-loss >= epsilon) (Balle & Wang 2018, arXiv 1805.06530, Theorem 8).
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf

EPSILONS = ("0.01", "0.05", "0.1", "0.25", "0.5", "0.75", "1", "1.5", "2", "3", "4", "5", "8", "10", "20")
DELTAS = (
    "0.1", "0.01", "0.001", "0.0001", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12", "1e-15",
)  # fmt: skip


def delta_of(sigma: mpf, epsilon: mpf) -> mpf:
    mean, deviation = 1 / (2 * sigma**2), 1 / sigma
    reached = mp.ncdf((mean - epsilon) / deviation)
    reached_by_neighbour = mp.ncdf((-mean - epsilon) / deviation)
    return reached - mp.exp(epsilon) * reached_by_neighbour


def smallest_sigma(epsilon: mpf, delta: mpf) -> mpf:
    low, high = mpf(2) ** -4, mpf(2) ** 12
    assert delta_of(high, epsilon) < delta < delta_of(low, epsilon)
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) > delta else (low, middle)
    return high


def main() -> None:
    mp.dps = 100
    rows = [
        {"epsilon": e, "delta": d, "sigma": mp.nstr(smallest_sigma(mpf(e), mpf(d)), 40)}
        for e in EPSILONS
        for d in DELTAS
    ]
    Path(__file__).with_suffix(".json").write_text(
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
