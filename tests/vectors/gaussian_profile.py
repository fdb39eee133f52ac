"""Make gaussian_profile.json: the privacy of Gaussian noise, to 25 digits (python gaussian_profile.py).

Needs mpmath. Balle & Wang 2018, arXiv 1805.06530, Theorem 8, in terms of erfc, solved by bisection
at 60 digits; the package evaluates Mills ratios in interval arithmetic instead. The classical sigma
is that of Dwork & Roth 2014, Theorem 3.22, stated for epsilon below 1 only: the rows say which delta
it really reaches, and from which epsilon on it is not private.
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf

mp.dps = 60
DELTAS = ("0.1", "0.05", "0.01", "1e-3", "1e-4", "1e-5", "1e-6", "1e-7", "1e-8", "1e-9", "1e-10", "1e-12")


def tail(x: mpf) -> mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def delta_of(mu: mpf, epsilon: mpf) -> mpf:
    return tail(epsilon / mu - mu / 2) - mp.exp(epsilon) * tail(epsilon / mu + mu / 2)


def root(decreasing, low: mpf, high: mpf) -> mpf:
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if decreasing(middle) > 0 else (low, middle)
    return (low + high) / 2


def epsilon_of(mu: mpf, delta: mpf) -> mpf:
    if delta_of(mu, mpf(0)) <= delta:
        return mpf(0)
    high = mpf(1)
    while delta_of(mu, high) > delta:
        high *= 2
    return root(lambda epsilon: delta_of(mu, epsilon) - delta, mpf(0), high)


def classical_sigma(epsilon: mpf, delta: mpf) -> mpf:
    return mp.sqrt(2 * mp.log(mpf(5) / 4 / delta)) / epsilon


def first_failure(delta: mpf) -> mpf:
    def excess(epsilon: mpf) -> mpf:
        return delta - delta_of(1 / classical_sigma(epsilon, delta), epsilon)

    high = mpf("0.01")
    while excess(high) > 0:
        high *= mpf("1.02")
    return root(excess, high / mpf("1.02"), high)


def text(x: mpf) -> str:
    return mp.nstr(x, 25, strip_zeros=False)


def epsilon_rows() -> list[dict[str, object]]:
    releases = [
        (sigma, k, delta)
        for sigma in ("1", "2", "5", "10", "50")
        for k in (1, 2, 10, 100, 1000)
        for delta in ("1e-5", "1e-9")
    ]
    releases += [(sigma, 1, delta) for sigma in ("0.25", "0.5", "100") for delta in ("1e-3", "1e-6", "1e-12")]
    rows = []
    for sigma, k, delta in releases:
        epsilon = epsilon_of(mp.sqrt(k) / mpf(sigma), mpf(delta))
        rows.append({"sigma": sigma, "k": k, "delta": delta, "value": text(epsilon)})
    return rows


def delta_rows() -> list[dict[str, str]]:
    return [
        {"sigma": sigma, "epsilon": epsilon, "value": text(delta_of(1 / mpf(sigma), mpf(epsilon)))}
        for sigma in ("0.5", "1", "2", "5", "20")
        for epsilon in ("0", "0.1", "0.5", "1", "2", "5", "10")
    ]


def classical_rows() -> list[dict[str, object]]:
    rows = []
    for epsilon in ("0.01", "0.1", "0.25", "0.5", "0.9", "0.99", "1", "1.5", "2", "3", "5", "8", "10", "20"):
        for delta in ("0.1", "0.01", "1e-3", "1e-5", "1e-6", "1e-9", "1e-12"):
            sigma = classical_sigma(mpf(epsilon), mpf(delta))
            reached = delta_of(1 / sigma, mpf(epsilon))
            rows.append(
                {
                    "epsilon": epsilon,
                    "delta": delta,
                    "sigma": text(sigma),
                    "value": text(reached),
                    "private": bool(reached <= mpf(delta)),
                }
            )
    return rows


if __name__ == "__main__":
    document = {
        "epsilon": epsilon_rows(),
        "delta": delta_rows(),
        "classical": classical_rows(),
        "classical_fails_from": [{"delta": delta, "value": text(first_failure(mpf(delta)))} for delta in DELTAS],
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
