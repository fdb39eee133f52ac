"""Make zcdp_rho.json: the rho of pure mechanisms, to 25 digits (python zcdp_rho.py).

Needs mpmath. Nothing here uses the closed forms that the package evaluates. A rho is the largest
Renyi divergence of order a, divided by a, over all orders a >= 1 and both directions, between the
mechanism's outputs on neighbouring inputs. Each row is the Kullback-Leibler divergence, order 1,
summed or integrated from the distributions themselves, and the other orders of a grid are checked
to give no more. Randomised response among more than six categories is the exception: there a larger
order gives more, and the rows "randomized_response_many" are the maximum over orders.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from mpmath import mp, mpf

ORDERS = [1 + mpf(10) ** (mpf(i) / 4) for i in range(-8, 13)]
EPSILONS = ("1e-12", "1e-6", "0.01", "0.1", "0.5", "1", "2", "4", "10", "30", "300", "1e6")
SENSITIVITIES = (1, 2, 3, 10, 1000)
CATEGORIES = (2, 3, 6)
MANY_CATEGORIES = (7, 10, 100, 10**6)


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


def golden_section(value: Callable[[mpf], mpf], low: mpf, high: mpf, width: mpf) -> mpf:
    """About where a function with one maximum has it."""
    golden = (mp.sqrt(5) - 1) / 2
    while high - low > width:
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if value(left) > value(right) else (left, high)
    return (low + high) / 2


def randomized_response(epsilon: mpf, categories: int) -> tuple[list[mpf], list[mpf]]:
    """The true category, the one it is compared with, and all others as one outcome: their loss is 0."""
    other = mp.exp(-epsilon) / (1 + (categories - 1) * mp.exp(-epsilon))
    rest = [(categories - 2) * other] if categories > 2 else []
    true = other * mp.exp(epsilon)
    return [true, other, *rest], [other, true, *rest]


def largest_over_orders(p: list[mpf], q: list[mpf]) -> mpf:
    """The largest rho where a grid of orders, then golden section around the best of them, find it."""

    def rho(logarithm: mpf) -> mpf:
        order = 1 + mp.exp(logarithm)
        return divergence(p, q, order) / order

    best = max((mpf(i) / 4 for i in range(-80, 200)), key=rho)
    largest = rho(golden_section(rho, best - mpf(1) / 4, best + mpf(1) / 4, mpf(10) ** -18))
    return max(largest, divergence(p, q, mpf(1)))


def bounded_range(epsilon: mpf) -> mpf:
    """The worst two outcomes whose losses are t and t - epsilon, over all t (by golden section)."""

    def outcomes(t: mpf) -> tuple[list[mpf], list[mpf]]:
        # Both distributions sum to 1: p exp(-t) + rest exp(epsilon - t) = p + rest = 1.
        p = mp.expm1(epsilon - t) * mp.exp(t) / mp.expm1(epsilon)
        rest = mp.expm1(t) / mp.expm1(epsilon)
        return [p, rest], [p * mp.exp(-t), rest * mp.exp(epsilon - t)]

    def rho(t: mpf) -> mpf:
        return divergence(*outcomes(t), mpf(1))

    rho_of_best = rho(golden_section(rho, mpf(0), epsilon, epsilon * mpf(10) ** -40))
    for order in ORDERS:
        for i in range(1, 20):
            assert divergence(*outcomes(epsilon * i / 20), order) / order <= rho_of_best, (order, i)
    return rho_of_best


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
        values = [("laplace", None, laplace(epsilon)), ("pure", None, largest_rho(*randomized_response(epsilon, 2)))]
        values += [("exponential", None, bounded_range(epsilon))]
        values += [("discrete_laplace", d, discrete_laplace(epsilon, d)) for d in SENSITIVITIES]
        values += [("randomized_response", k, largest_rho(*randomized_response(epsilon, k))) for k in CATEGORIES]
        values += [
            ("randomized_response_many", k, largest_over_orders(*randomized_response(epsilon, k)))
            for k in MANY_CATEGORIES
        ]
        rows += [
            {"mechanism": name, "epsilon": text, "whole": whole, "rho": mp.nstr(value, 25)}
            for name, whole, value in values
        ]
    Path(__file__).with_suffix(".json").write_text(
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
