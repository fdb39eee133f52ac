"""Make rdp.json: Renyi curves and what they prove, to 25 digits (python rdp.py).

Needs mpmath. A curve is the sum or the integral of P^a Q^(1-a) over the outputs, by quadrature for
continuous noise, taken from the distributions themselves (of P ln(P/Q) at order 1). The
package finds best orders by trying them; here they are where the bound's derivative vanishes. With
g(a) = (a - 1) r(a), which is convex, the derivative's sign for epsilon is that of the increasing
function (a - 1) g'(a) - g(a) + ln(a delta), and for delta of g'(a) - epsilon + ln(1 - 1/a). g' is the
mean of the privacy loss under the density P^a Q^(1-a).

`single_order` rows have the largest delta of any two distributions of that Renyi divergence (Asoodeh,
Liao, Calmon, Kosut & Sankar 2020, arXiv 2001.05990): two outcomes suffice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from mpmath import mp, mpf

ORDERS = ("1", "1.05", "1.1", "1.5", "2", "2.5", "4", "8", "16", "32", "64", "256", "1024", "inf")
# The orders that are often tried: tenths up to 10.9 as doubles, whole numbers, some powers of two.
USUAL_ORDERS = [1 + x / 10 for x in range(1, 100)] + [*range(11, 64), 128, 256, 512, 1024]
# Mechanism, its parameter, and the whole number it depends on.
MECHANISMS = [("gaussian", sigma, None) for sigma in ("0.5", "1", "2", "10")]
MECHANISMS += [("laplace", scale, None) for scale in ("0.1", "0.5", "1", "2", "10", "100")]
MECHANISMS += [("randomized_response", epsilon, 2) for epsilon in ("0.1", "1", "3")]
MECHANISMS += [("randomized_response", epsilon, k) for epsilon in ("0.1", "1", "3") for k in (3, 10, 1000)]
MECHANISMS += [("discrete_laplace", epsilon, d) for epsilon in ("0.1", "1", "3") for d in (1, 2, 10)]
CONVERTED = [(name, parameter, None) for name in ("gaussian", "laplace") for parameter in ("1", "2", "10", "50")]
CONVERTED += [("randomized_response", "0.5", 10), ("discrete_laplace", "0.5", 3)]

#: The logarithm of the sum of P^a Q^(1-a), and the mean loss under that density.
Moments = Callable[[mpf], tuple[mpf, mpf]]


def of_outcomes(p: list[mpf], q: list[mpf]) -> Moments:
    losses = [mp.log(x / y) for x, y in zip(p, q, strict=True)]
    assert abs(mp.fsum(p) - 1) < mpf(10) ** -35

    def moments(a: mpf) -> tuple[mpf, mpf]:
        terms = [x * mp.exp((a - 1) * loss) for x, loss in zip(p, losses, strict=True)]
        total = mp.fsum(terms)
        return mp.log(total), mp.fsum(map(mp.fmul, terms, losses)) / total

    return moments


def of_laplace(shift: mpf) -> Moments:
    """Noise of scale 1 at 0 and at the shift: each tail is one outcome, and between them is an integral."""

    def moments(a: mpf) -> tuple[mpf, mpf]:
        # Densities relative to the largest one, exp((a - 1) shift) / 2 at 0; they fall by 2a - 1 per unit.
        fall = 2 * a - 1
        tail = mp.exp(-fall * shift)
        weight, mean = (1 - tail) / fall, (1 - tail * (1 + fall * shift)) / fall**2
        total = 1 + weight + tail
        return (a - 1) * shift + mp.log(total / 2), (shift * (1 + weight - tail) - 2 * mean) / total

    return moments


def of_gaussian(sigma: mpf) -> Moments:
    """Noise at 1 and at 0: P^a Q^(1-a) is the density of noise at a, times a constant."""
    return lambda a: (a * (a - 1) / (2 * sigma**2), (2 * a - 1) / (2 * sigma**2))


def by_quadrature(mechanism: str, amount: mpf, a: mpf) -> mpf:
    """The divergence from the densities alone, for noise of scale `amount` at 0 and at 1."""
    if mechanism == "laplace":
        log_p, log_q = (lambda x, at=at: -abs(x - at) / amount - mp.log(2 * amount) for at in (0, 1))
        step = amount / (2 * a - 1)
        inner = [step * j for j in (1, 4, 10, 20, 45, 80, 160) if step * j < 1]
        outer = [amount * j for j in (2, 8, 20, 45, 80, 160)]
        ends = [*(-x for x in outer[::-1]), 0, *inner, 1, *(1 + x for x in outer)]
    else:
        log_p, log_q = (
            lambda x, at=at: -((x - at) ** 2) / (2 * amount**2) - mp.log(2 * mp.pi * amount**2) / 2 for at in (1, 0)
        )
        ends = [a + amount * j for j in range(-18, 19, 3)]

    def exponent(x: mpf) -> mpf:
        return a * log_p(x) + (1 - a) * log_q(x)

    # Relative to the largest, because the quadrature's tolerance is absolute.
    largest = max(map(exponent, ends))

    def term(x: mpf) -> mpf:
        return mp.exp(exponent(x) - largest) * (log_p(x) - log_q(x) if a == 1 else 1)

    # On the unit interval, whose nodes are calculated once.
    pieces = [mp.quadgl(lambda u, x=x, y=y: term(x + (y - x) * u), [0, 1]) * (y - x) for x, y in pairwise(ends)]
    total = mp.fsum(pieces)
    return total * mp.exp(largest) if a == 1 else (largest + mp.log(total)) / (a - 1)


def moments_of(mechanism: str, parameter: str, whole: int | None) -> Moments:
    amount = mpf(parameter)
    if mechanism == "gaussian":
        return of_gaussian(amount)
    if mechanism == "laplace":
        return of_laplace(1 / amount)
    if mechanism == "randomized_response":
        other = 1 / (mp.exp(amount) + whole - 1)
        true, rest = other * mp.exp(amount), [other * (whole - 2)] if whole > 2 else []
        return of_outcomes([true, other, *rest], [other, true, *rest])
    t = mp.exp(-amount / whole)
    p = [t / (1 + t), *((1 - t) / (1 + t) * t**j for j in range(whole + 1)), t ** (whole + 1) / (1 + t)]
    return of_outcomes(p, p[::-1])


def curve(moments: Moments, order: mpf) -> mpf:
    logarithm, loss = moments(order)
    return loss if order == 1 else logarithm / (order - 1)


def pure(mechanism: str, parameter: str) -> mpf | None:
    return {"gaussian": None, "laplace": 1 / mpf(parameter)}.get(mechanism, mpf(parameter))


def root(increasing: Callable[[mpf], mpf], low: mpf, high: mpf) -> mpf:
    """Where the function turns positive, by halving on the logarithm; near its minimum a bound is flat."""
    low, high = mp.log(low), mp.log(high)
    while high - low > mpf(10) ** -14:
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(mp.exp(middle)) > 0 else (middle, high)
    return mp.exp((low + high) / 2)


def epsilon_at(moments: Moments, k: int, delta: mpf, a: mpf) -> mpf:
    return k * curve(moments, a) + mp.log(1 - 1 / a) - mp.log(a * delta) / (a - 1)


def least_epsilon(moments: Moments, k: int, delta: mpf) -> mpf:
    def slope(b: mpf) -> mpf:
        logarithm, loss = moments(1 + b)
        return k * (b * loss - logarithm) + mp.log((1 + b) * delta)

    return epsilon_at(moments, k, delta, 1 + root(slope, mpf(10) ** -12, 1 / delta))


def least_delta(moments: Moments, k: int, epsilon: mpf) -> mpf:
    b = root(lambda b: k * moments(1 + b)[1] - epsilon + mp.log(b / (1 + b)), mpf(10) ** -60, mpf(10) ** 12)
    return min(mpf(1), mp.exp(k * moments(1 + b)[0] - b * epsilon + (1 + b) * mp.log(b / (1 + b)) - mp.log(b)))


def largest_delta(order: int, divergence: mpf, epsilon: mpf) -> mpf:
    """Over two outcomes: for each p the least q that the divergence allows, then the best p."""
    limit = mp.exp((order - 1) * divergence)

    def gain(odds: mpf) -> mpf:
        p, rest = 1 / (1 + mp.exp(-odds)), 1 / (1 + mp.exp(odds))
        allowed = root(lambda q: limit - p**order * q ** (1 - order) - rest**order * (1 - q) ** (1 - order), q_least, p)
        return p - mp.exp(epsilon) * allowed

    q_least = mpf(10) ** -200
    best = max(range(-300, 100), key=lambda i: gain(mpf(i) / 2))
    low, high = mpf(best - 1) / 2, mpf(best + 1) / 2
    golden = (mp.sqrt(5) - 1) / 2
    while high - low > mpf(10) ** -9:
        left, right = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, right) if gain(left) > gain(right) else (left, high)
    return gain((low + high) / 2)


def digits(value: mpf | None, count: int = 25) -> str | None:
    return None if value is None else mp.nstr(value, count)


def main() -> None:
    mp.dps = 40
    curves = []
    for mechanism, parameter, whole in MECHANISMS:
        moments = moments_of(mechanism, parameter, whole)
        for order in ORDERS:
            value = pure(mechanism, parameter) if order == "inf" else curve(moments, mpf(order))
            if whole is None and order != "inf":
                integrated = by_quadrature(mechanism, mpf(parameter), mpf(order))
                assert abs(value / integrated - 1) < mpf(10) ** -26, (mechanism, parameter, order)
                value = integrated
            row = {"mechanism": mechanism, "parameter": parameter, "whole": whole, "order": order}
            curves.append(row | {"divergence": digits(value)})
    epsilons, deltas = [], []
    for mechanism, parameter, whole in CONVERTED:
        moments = moments_of(mechanism, parameter, whole)
        for k in (1, 10, 100, 1000):
            which = {"mechanism": mechanism, "parameter": parameter, "whole": whole, "times": k}
            limit = pure(mechanism, parameter)
            for delta in ("1e-5", "1e-9"):
                usual = min(epsilon_at(moments, k, mpf(delta), mpf(a)) for a in USUAL_ORDERS)
                row = which | {"delta": delta, "epsilon": digits(max(mpf(0), least_epsilon(moments, k, mpf(delta))))}
                row |= {"usual_orders": digits(usual), "pure": digits(limit and k * limit)}
                epsilons.append(row)
            for epsilon in ("0.3", "4"):
                private = least_delta(moments, k, mpf(epsilon)) if limit is None or k * limit > mpf(epsilon) else 0
                if mpf(10) ** -400 < private < 1 - mpf(10) ** -9:
                    deltas.append(which | {"epsilon": epsilon, "delta": digits(private)})
    single = []
    for order, divergence in ((2, "0.5"), (4, "0.5"), (8, "1"), (32, "0.5"), (32, "2")):
        for epsilon in ("0.5", "1", "2", "4"):
            truth = largest_delta(order, mpf(divergence), mpf(epsilon))
            row = {"order": order, "divergence": divergence, "epsilon": epsilon}
            single.append(row | {"largest": digits(truth, 12)})
    groups = {"curves": curves, "epsilon": epsilons, "delta": deltas, "single_order": single}
    lines = [f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in groups.items()]
    Path(__file__).with_suffix(".json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
