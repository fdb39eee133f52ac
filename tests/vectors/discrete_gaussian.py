"""Make discrete_gaussian.json: noise k of probability proportional to exp(-k^2 / (2 sigma^2)), to 25 digits.

Needs mpmath, and two minutes (python discrete_gaussian.py). Every number is a sum over integers, term by term, so
far out that 60 digits do not change, or comes from such sums by bisection. For delta the sum is of what is positive of
P(k) - e^epsilon P(k + shift), and not the difference of two tails that it is equal to. The columns of continuous noise
are differences of normal tails (Balle & Wang 2018, arXiv 1805.06530, Theorem 8).

A "noise" row is about one sigma; its "delta" leaves out the epsilons at which it is below 1e-40. A "calibrated" row has
the least sigma for values that differ by 1, that of continuous noise, and the delta of noise on the integers with that
one. A "refined" row is noise on a grid that has so many steps between two values that differ by 1, sigma times as wide:
its delta, that of continuous noise, and by what part of that it is larger.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path

from mpmath import mp, mpf

SIGMAS = ("0.1", "0.25", "0.3333333333333333", "0.5", "0.75", "1", "1.5", "2", "3", "5", "10", "50")
EPSILONS = ("0.1", "0.5", "1", "2", "5")
ALPHAS = ("0.5", "0.1", "0.05", "0.01", "1e-6")
VALUES, TAILS = (0, 1, 2, 5, 10), (1, 2, 5, 10)
PRICES = (
    ("0.1", "1e-5"), ("0.5", "1e-5"), ("1", "1e-6"), ("1", "1e-9"), ("2", "1e-6"), ("5", "1e-6"), ("10", "1e-6"),
)  # fmt: skip
REFINED = (("1", "4.224678889326835282997321"), ("0.1", "50.74806573"))
STEPS = (1, 2, 4, 16, 64, 256, 1024)
DIGITS = 60


def weights_from(sigma: mpf, start: int) -> list[mpf]:
    """exp(-k^2 / (2 sigma^2)) for k = start, start + 1, .. as long as they count.

    The last one is below 10^-(DIGITS + 10) times the first, and all beyond it together, at most 2 sigma times that.
    """
    rate = 1 / (2 * sigma**2)
    last = mp.sqrt(start**2 + mp.log(10) * (DIGITS + 10) / rate)
    return [mp.exp(-rate * k * k) for k in range(start, int(last) + 2)]


@cache
def normaliser(sigma: mpf) -> mpf:
    return 1 + 2 * mp.fsum(weights_from(sigma, 1))


def probability(sigma: mpf, k: int) -> mpf:
    return mp.exp(-(mpf(k) ** 2) / (2 * sigma**2)) / normaliser(sigma)


def tail(sigma: mpf, k: int) -> mpf:
    """P(X >= k), k >= 1."""
    return mp.fsum(weights_from(sigma, k)) / normaliser(sigma)


def moment(sigma: mpf, power: int) -> mpf:
    """The mean of |X|^power."""
    weights = weights_from(sigma, 1)
    return 2 * mp.fsum(k**power * weight for k, weight in enumerate(weights, 1)) / normaliser(sigma)


def half_width(sigma: mpf, alpha: mpf) -> int:
    """The smallest t with P(|X| > t) <= alpha."""
    t = 0
    while 2 * tail(sigma, t + 1) > alpha:
        t += 1
    return t


def delta_of(sigma: mpf, epsilon: mpf, shift: int = 1) -> mpf:
    """Of noise about 0 and about -shift: k is exp(shift (2 k + shift) / (2 sigma^2)) times as likely about 0."""
    rate = 1 / (2 * sigma**2)
    start = int(mp.floor((epsilon / rate - shift**2) / (2 * shift))) + 1
    gains = (
        -mp.expm1(epsilon - rate * shift * (2 * k + shift)) * weight
        for k, weight in enumerate(weights_from(sigma, start), start)
    )
    return mp.fsum(gains) / normaliser(sigma)


def continuous_delta_of(sigma: mpf, epsilon: mpf) -> mpf:
    mean = 1 / (2 * sigma)
    return mp.ncdf(mean - epsilon * sigma) - mp.exp(epsilon) * mp.ncdf(-mean - epsilon * sigma)


def smallest_sigma(some_delta_of: Callable[[mpf, mpf], mpf], epsilon: mpf, delta: mpf) -> mpf:
    low, high = mpf("0.1"), mpf(100)
    assert some_delta_of(high, epsilon) < delta < some_delta_of(low, epsilon)
    for _ in range(110):
        middle = (low + high) / 2
        low, high = (middle, high) if some_delta_of(middle, epsilon) > delta else (low, middle)
    return high


def shown(value: mpf) -> str:
    return mp.nstr(value, 25)


def noise(text: str) -> dict[str, object]:
    sigma = mpf(text)
    variance = moment(sigma, 2)
    row: dict[str, object] = {
        "sigma": text,
        "normaliser": shown(normaliser(sigma)),
        "variance": shown(variance),
        "variance_over_sigma_squared": shown(variance / sigma**2),
        "mean_absolute": shown(moment(sigma, 1)),
        "rho": shown(1 / (2 * sigma**2)),
        "probability": {k: shown(probability(sigma, k)) for k in VALUES},
        "tail": {k: shown(tail(sigma, k)) for k in TAILS},
    }
    deltas = {e: delta_of(sigma, mpf(e)) for e in EPSILONS}
    row["delta"] = {e: shown(delta) for e, delta in deltas.items() if delta > mpf("1e-40")}
    row["continuous_delta"] = {e: shown(continuous_delta_of(sigma, mpf(e))) for e in row["delta"]}
    row["half_width"] = {alpha: half_width(sigma, mpf(alpha)) for alpha in ALPHAS}
    row["beyond_half_width"] = {alpha: shown(2 * tail(sigma, t + 1)) for alpha, t in row["half_width"].items()}
    return row


def calibrated(epsilon: str, delta: str) -> dict[str, str]:
    sigma = smallest_sigma(delta_of, mpf(epsilon), mpf(delta))
    continuous = smallest_sigma(continuous_delta_of, mpf(epsilon), mpf(delta))
    row = {"epsilon": epsilon, "delta": delta, "sigma": shown(sigma), "continuous_sigma": shown(continuous)}
    return row | {"delta_of_continuous_sigma": shown(delta_of(continuous, mpf(epsilon)))}


def refined(epsilon: str, sigma: str, steps: int) -> dict[str, object]:
    delta = delta_of(mpf(sigma) * steps, mpf(epsilon), steps)
    continuous = continuous_delta_of(mpf(sigma), mpf(epsilon))
    row = {"epsilon": epsilon, "sigma": sigma, "steps": steps, "delta": shown(delta)}
    return row | {"continuous_delta": shown(continuous), "excess": shown(delta / continuous - 1)}


def main() -> None:
    mp.dps = DIGITS
    lists = {
        "noise": [noise(sigma) for sigma in SIGMAS],
        "calibrated": [calibrated(*price) for price in PRICES],
        "refined": [refined(*row, steps) for row in REFINED for steps in STEPS],
    }
    written = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, some)) + "\n]" for name, some in lists.items())
    Path(__file__).with_suffix(".json").write_text("{\n" + written + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
