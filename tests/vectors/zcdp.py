"""Make zcdp.json: conversions between zCDP and (epsilon, delta), to 25 digits (python zcdp.py).

Needs mpmath. The package minimises each bound over orders by trying orders. Here the best order a is
the root of the bound's derivative, which is monotone: rho (a - 1)^2 + ln(a delta) = 0 for epsilon,
(2 a - 1) rho - epsilon + ln(1 - 1/a) = 0 for delta. A rho is found by halving, from epsilon. Next to
each value stand the closed form of Bun & Steinke 2016 (arXiv 1605.02065, Proposition 1.3), which is
never better, and the truth for Gaussian noise of that rho (Balle & Wang 2018, arXiv 1805.06530,
Theorem 8), which is never worse.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf

RHOS = ("1e-4", "0.001", "0.005", "0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "5", "10")
DELTAS = ("1e-3", "1e-5", "1e-6", "1e-8", "1e-10", "1e-12")
UNUSUAL = (("1e-20", "1e-6"), ("1e-20", "1e-100"), ("1e-8", "0.1"), ("1", "0.5"), ("100", "0.1"), ("1e6", "1e-12"))
EPSILONS = ("0.1", "0.5", "1", "2", "5", "10")


def root(increasing: Callable[[mpf], mpf], low: mpf, high: mpf) -> mpf:
    """Where the function turns positive, by halving on the logarithm."""
    low, high = mp.log(low), mp.log(high)
    while high - low > mpf(10) ** (8 - mp.dps) * max(1, abs(high)):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(mp.exp(middle)) > 0 else (middle, high)
    return mp.exp((low + high) / 2)


def epsilon_of(rho: mpf, delta: mpf) -> mpf:
    """`b` is the order less one."""
    b = root(lambda b: rho * b * b + mp.log((1 + b) * delta), mpf(10) ** -30, 1 / delta)
    return max(mpf(0), rho * (1 + b) + mp.log(b / (1 + b)) - mp.log((1 + b) * delta) / b)


def delta_of(rho: mpf, epsilon: mpf) -> mpf:
    far = (epsilon + 1) / rho + 10
    b = root(lambda b: (2 * b + 1) * rho - epsilon + mp.log(b / (1 + b)), mpf(10) ** -30, far)
    logarithm = b * (rho * (1 + b) - epsilon) + (1 + b) * mp.log(b / (1 + b)) - mp.log(b)
    return min(mpf(1), mp.exp(logarithm))


def rho_of(epsilon: mpf, delta: mpf) -> mpf:
    least = closed_rho(epsilon, delta)
    return root(lambda rho: epsilon_of(rho, delta) - epsilon, least / 2, 100 * (least + epsilon))


def closed_epsilon(rho: mpf, delta: mpf) -> mpf:
    return rho + 2 * mp.sqrt(-rho * mp.log(delta))


def closed_delta(rho: mpf, epsilon: mpf) -> mpf:
    return mp.exp(-((epsilon - rho) ** 2) / (4 * rho)) if epsilon > rho else mpf(1)


def closed_rho(epsilon: mpf, delta: mpf) -> mpf:
    return (mp.sqrt(epsilon - mp.log(delta)) - mp.sqrt(-mp.log(delta))) ** 2


def gaussian_delta(rho: mpf, epsilon: mpf) -> mpf:
    mu = mp.sqrt(2 * rho)

    def above(x: mpf) -> mpf:
        return mp.erfc(x / mp.sqrt(2)) / 2

    return above(epsilon / mu - mu / 2) - mp.exp(epsilon) * above(epsilon / mu + mu / 2)


def gaussian_epsilon(rho: mpf, delta: mpf) -> mpf:
    if gaussian_delta(rho, mpf(0)) <= delta:
        return mpf(0)
    high = closed_epsilon(rho, delta)
    return root(lambda epsilon: delta - gaussian_delta(rho, epsilon), high * mpf(10) ** -9, high)


def digits(value: mpf) -> str:
    return mp.nstr(value, 25)


def main() -> None:
    mp.dps = 60
    epsilons = []
    for rho, delta in [(rho, delta) for rho in RHOS for delta in DELTAS] + list(UNUSUAL):
        r, d = mpf(rho), mpf(delta)
        epsilon = epsilon_of(r, d)
        # The two derivatives belong to one bound: each is the inverse of the other.
        assert not epsilon or abs(delta_of(r, epsilon) / d - 1) < mpf(10) ** -30, (rho, delta)
        row = {"rho": rho, "delta": delta, "epsilon": digits(epsilon)}
        row |= {"bun_steinke": digits(closed_epsilon(r, d)), "gaussian": digits(gaussian_epsilon(r, d))}
        epsilons.append(row)
    deltas = []
    for rho in ("0.01", "0.1", "0.5", "1", "2"):
        for epsilon in EPSILONS:
            r, e = mpf(rho), mpf(epsilon)
            row = {"rho": rho, "epsilon": epsilon, "delta": digits(delta_of(r, e))}
            row |= {"bun_steinke": digits(closed_delta(r, e)), "gaussian": digits(gaussian_delta(r, e))}
            deltas.append(row)
    rhos = []
    for epsilon in ("0.01", *EPSILONS):
        for delta in ("1e-5", "1e-6", "1e-9"):
            e, d = mpf(epsilon), mpf(delta)
            row = {"epsilon": epsilon, "delta": delta, "rho": digits(rho_of(e, d))}
            rhos.append(row | {"bun_steinke": digits(closed_rho(e, d))})
    groups = {"epsilon": epsilons, "delta": deltas, "rho": rhos}
    lines = [f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in groups.items()]
    Path(__file__).with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
