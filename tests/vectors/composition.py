"""Make composition.json: several pure queries together, to 25 digits (python composition.py).

Needs mpmath; takes a minute. The probabilities of all sums of losses are added up one by one. No
threshold is chosen as the package chooses one: delta is the largest of P(L >= t) - exp(epsilon)
Q(L >= t), and epsilon the logarithm of the largest of (P(L >= t) - delta) / Q(L >= t), over all
thresholds t (Neyman & Pearson: the events L >= t tell the two inputs apart best). No factorial is
approximated, and a loss of plans of several epsilons is a sum over subsets. The rows "geometric"
start from the noise itself: two-sided geometric noise of sensitivity 1.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

from mpmath import mp, mpf

Tails = list[tuple[mpf, mpf]]


def tails(weights: Iterable[tuple[mpf, mpf]]) -> Tails:
    """P(L >= t) and Q(L >= t) from the weights of single losses, in descending order of the losses."""
    return list(itertools.accumulate(weights, lambda a, b: (a[0] + b[0], a[1] + b[1])))


def of_two_outcomes(likely: mpf, unlikely: mpf, k: int) -> Tails:
    """So many queries with two outcomes each, of these probabilities on one input, exchanged on the other."""
    ratio = likely / unlikely
    weights, weight = [], unlikely**k
    for i in range(k + 1):
        weights.append(weight)
        weight = weight * ratio * (k - i) / (i + 1)
    return tails((weights[i], weights[k - i]) for i in range(k, -1, -1))


def equal(epsilon: mpf, k: int) -> Tails:
    likely = 1 / (1 + mp.exp(-epsilon))
    return of_two_outcomes(likely, likely * mp.exp(-epsilon), k)


def mixed(epsilons: list[str]) -> Tails:
    whole = mp.fprod(1 + mp.exp(mpf(e)) for e in epsilons)
    total = sum(map(Fraction, epsilons))
    chosen = itertools.product((False, True), repeat=len(epsilons))
    subsets = sorted(
        (sum(map(Fraction, itertools.compress(epsilons, bits)), Fraction(0)) for bits in chosen), reverse=True
    )
    number = [mpf(s.numerator) / s.denominator for s in subsets]
    everything = mpf(total.numerator) / total.denominator
    return tails((mp.exp(s) / whole, mp.exp(everything - s) / whole) for s in number)


def epsilon_of(both: Tails, delta: mpf) -> mpf:
    return mp.log(max(mpf(1), *((p - delta) / q for p, q in both)))


def delta_of(both: Tails, epsilon: mpf) -> mpf:
    return max(mpf(0), *(p - mp.exp(epsilon) * q for p, q in both))


def formulas(epsilons: list[str], delta: str) -> dict[str, str]:
    e, small = [mpf(x) for x in epsilons], mpf(delta)
    deviation = mp.sqrt(2 * mp.log(1 / small) * mp.fsum(x**2 for x in e))
    tanh = mp.fsum(x * mp.tanh(x / 2) for x in e)
    squares = mp.sqrt(mp.fsum(x**2 for x in e))
    values = {
        "basic": mp.fsum(e),
        "advanced": deviation + mp.fsum(x * mp.expm1(x) for x in e),
        "filter": deviation + mp.fsum(x**2 for x in e) / 2,
        # Looser bounds of the optimum: Kairouz, Oh & Viswanath 2015, Theorem 3.4.
        "with_tanh": deviation + tanh,
        "with_logarithm": tanh + mp.sqrt(2) * squares * mp.sqrt(mp.log(mp.e + squares / small)),
    }
    return {name: mp.nstr(value, 25) for name, value in values.items()}


def equal_rows() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    numbers = (1, 2, 5, 10, 30, 100, 300, 1000)
    plans = [(e, k) for e in ("0.001", "0.01", "0.1", "0.5", "1") for k in numbers if float(e) * k <= 300]
    plans += [(e, k) for e in ("0.01", "0.1", "1") for k in (1500, 2001, 10_000, 100_000)] + [("1e-5", 100_000)]
    for e, k in plans:
        both = equal(mpf(e), k)
        for delta in ("1e-5", "1e-6", "1e-9") if k <= 1000 else ("1e-6",):
            row = {"epsilon": e, "k": k, "delta": delta, "optimal": mp.nstr(epsilon_of(both, mpf(delta)), 25)}
            rows.append(row | formulas([e] * k, delta))
    return rows


def delta_each_rows() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for e, each in (("0.1", "1e-8"), ("0.5", "1e-8"), ("0.1", "1e-7"), ("1", "1e-10")):
        for k, delta in itertools.product((2, 10, 50), ("1e-6", "1e-5")):
            none_fails = (1 - mpf(each)) ** k
            spare = 1 - (1 - mpf(delta)) / none_fails
            value = mp.nstr(epsilon_of(equal(mpf(e), k), spare), 25) if spare >= 0 else None
            least = mp.nstr(1 - none_fails, 25)
            rows.append({"epsilon": e, "delta_each": each, "k": k, "delta": delta, "value": value, "least": least})
    return rows


def delta_rows() -> list[dict[str, object]]:
    plans = (("0.1", 10), ("0.5", 10), ("0.1", 100), ("1", 5), ("0.01", 10_000))
    rows: list[dict[str, object]] = []
    for e, k in plans:
        both = equal(mpf(e), k)
        for total in ("0", "0.25", "0.5", "1", "2", "3"):
            # Where epsilon is all there is, 0 would be lost in rounding.
            value = delta_of(both, mpf(total)) if Fraction(total) < k * Fraction(e) else mpf(0)
            rows.append({"each": e, "k": k, "epsilon": total, "value": mp.nstr(value, 25)})
    return rows


def mixed_rows() -> list[dict[str, object]]:
    plans = [["0.1", "0.2"], ["0.5", "1"], ["0.1"] * 5 + ["0.5"] * 2, ["0.05", "0.1", "0.2", "0.4", "0.8"]]
    plans += [["1"] + ["0.3"] * 9, ["0.07", "0.11", "0.13", "0.17", "0.19", "0.23", "0.29", "0.31", "0.37", "0.41"]]
    rows: list[dict[str, object]] = []
    for epsilons in plans:
        both = mixed(epsilons)
        for delta in ("1e-5", "1e-3"):
            row = {"epsilons": epsilons, "delta": delta, "optimal": mp.nstr(epsilon_of(both, mpf(delta)), 25)}
            at_half = delta_of(both, mp.fsum(map(mpf, epsilons)) / 2)
            rows.append(row | {"delta_at_half": mp.nstr(at_half, 25)} | formulas(epsilons, delta))
    return rows


def each_rows() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for total, k in itertools.product(("0.5", "1", "3"), (2, 10, 100)):
        low, high = mpf(total) / k, mpf(total)
        for _ in range(100):
            middle = (low + high) / 2
            fits = delta_of(equal(middle, k), mpf(total)) <= mpf("1e-6")
            low, high = (middle, high) if fits else (low, middle)
        rows.append({"epsilon": total, "k": k, "delta": "1e-6", "value": mp.nstr(low, 25)})
    return rows


def geometric_rows() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for e, k in (("0.1", 10), ("0.5", 10), ("1", 5), ("0.1", 100)):
        t = mp.exp(-mpf(e))
        centre = (1 - t) / (1 + t)
        up_to_zero, above = centre / (1 - t), centre * t / (1 - t)  # all outcomes x <= 0, and all x >= 1
        both = of_two_outcomes(up_to_zero, above, k)
        for delta in ("1e-5", "1e-9"):
            rows.append({"epsilon": e, "k": k, "delta": delta, "value": mp.nstr(epsilon_of(both, mpf(delta)), 25)})
    return rows


def main() -> None:
    mp.dps = 80
    tables = {
        "equal": equal_rows(),
        "delta_each": delta_each_rows(),
        "delta": delta_rows(),
        "mixed": mixed_rows(),
        "each": each_rows(),
        "geometric": geometric_rows(),
    }
    lines = [f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in tables.items()]
    Path(__file__).with_suffix(".json").write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
