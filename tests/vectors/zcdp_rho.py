"""Make zcdp_rho.json: the rho of pure mechanisms, to 25 digits (python zcdp_rho.py).

Needs mpmath. Nothing here uses the closed forms that the package evaluates. A rho is the largest
Renyi divergence of order a, divided by a, over all orders a >= 1 and both directions, between the
mechanism's outputs on neighbouring inputs. Each row is the Kullback-Leibler divergence, order 1,
summed or integrated from the distributions themselves, and the other orders of a grid are checked
to give no more.
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf

ORDERS = [1 + mpf(10) ** (mpf(i) / 4) for i in range(-8, 13)]
EPSILONS = ("1e-12", "1e-6", "0.01", "0.1", "0.5", "1", "2", "4", "10", "30", "300", "1e6")
SENSITIVITIES = (1, 2, 3, 10, 1000)


def divergence(p: list[mpf], q: list[mpf], order: mpf) -> mpf:
    if order == 1:
        return mp.fsum(a * mp.log(a / b) for a, b in zip(p, q, strict=True))
    terms = (mp.exp(order * mp.log(a) + (1 - order) * mp.log(b)) for a, b in zip(p, q, strict=True))
    return mp.log(mp.fsum(terms)) / (order - 1)


def largest_rho(p: list[mpf], q: list[mpf]) -> mpf:
    rho = max(divergence(p, q, mpf(1)), divergence(q, p, mpf(1)))
    for order in ORDERS:
        both = max(divergence(p, q, order), divergence(q, p, order))
        assert both / order <= rho * (1 + mpf(10) ** -30), (order, both / order, rho)
    return rho


def discrete_laplace(epsilon: mpf, d: int) -> mpf:
    """The outputs 0..d one by one, and each tail as one, since the loss is constant on it."""
    a = mp.exp(-epsilon / d)
    centre = (1 - a) / (1 + a)
    p = [a / (1 + a), *(centre * a**k for k in range(d + 1)), a ** (d + 1) / (1 + a)]
    assert abs(mp.fsum(p) - 1) < mpf(10) ** -60
    return largest_rho(p, p[::-1])


def randomized_response(epsilon: mpf) -> mpf:
    p = [1 / (1 + mp.exp(-epsilon)), mp.exp(-epsilon) / (1 + mp.exp(-epsilon))]
    return largest_rho(p, p[::-1])


def laplace(epsilon: mpf) -> mpf:
    """Laplace noise of scale 1 at 0 and at epsilon; the middle by quadrature, tails as one each.

    Over the middle the loss runs from epsilon to -epsilon and the density is exp(-x) / 2.
    """
    # Beyond x = 400 the density is below 10^-170 of the rest.
    ends = [mpf(0), *(min(epsilon, mpf(x)) for x in (1, 3, 10, 30, 100, 400))]
    middle = mp.quad(lambda x: mp.exp(-x) / 2 * (epsilon - 2 * x), sorted(set(ends)))
    return epsilon / 2 + middle - epsilon * mp.exp(-epsilon) / 2


def main() -> None:
    mp.dps = 90
    rows = []
    for text in EPSILONS:
        epsilon = mpf(text)
        values = [("laplace", None, laplace(epsilon)), ("pure", None, randomized_response(epsilon))]
        values += [("discrete_laplace", d, discrete_laplace(epsilon, d)) for d in SENSITIVITIES]
        rows += [
            {"mechanism": name, "epsilon": text, "sensitivity": d, "rho": mp.nstr(value, 25)}
            for name, d, value in values
        ]
    Path(__file__).with_suffix(".json").write_text(
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
