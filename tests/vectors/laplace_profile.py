"""Make laplace_profile.json: the privacy of repeated Laplace noise, to 25 digits (python laplace_profile.py).

Needs mpmath; takes a few minutes. One release of pure epsilon e has, on the first input, a loss
with an atom of 1/2 at e, one of exp(-e)/2 at -e, and the density exp((L - e)/2)/4 between. Here the
k-fold convolution is a binomial mixture of shifted sums of uniform variables (Irwin-Hall), whose
integrals are incomplete gamma functions; the package has another closed form, in polynomials.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from mpmath import mp, mpf

DELTAS = ("1e-5", "1e-9")
FOLDS = {"1": (1, 2, 5, 10, 20), "2": (1, 2, 5, 10, 20, 30), "10": (1, 2, 10, 30), "50": (1, 10, 30)}


def incomplete_gamma(s: mpf, j: int, length: mpf) -> mpf:
    """The integral of exp(-s v) v^(j-1) from 0 to a length, by a series of positive terms where s is."""
    x, term, n = s * length, mpf(1) / j, 0
    total = term
    while abs(term) > mp.eps * abs(total):
        n += 1
        term *= x / (j + n)
        total += term
    return length**j * mp.exp(-x) * total


def delta_of(e: mpf, k: int, epsilon: mpf) -> mpf:
    gammas: dict[tuple[int, int], tuple[mpf, mpf]] = {}
    total = mpf(0)
    for j in range(k + 1):  # so many losses are from the density
        for m in range(k - j + 1):  # and so many are e
            weight = mp.binomial(k, j) * (e / 2) ** j * mp.binomial(k - j, m) / mpf(2) ** (k - j)
            total += weight * beyond(gammas, j, 2 * m - (k - j), e, epsilon)
    return mp.exp(-k * e / 2) * total


def beyond(gammas, j: int, shift: int, e: mpf, epsilon: mpf) -> mpf:
    """The mean of (exp(L/2) - exp(epsilon - L/2))+ for L = shift e + a sum of j uniform variables on [-e, e]."""
    centre = shift * e
    if j == 0:
        return mp.exp(centre / 2) - mp.exp(epsilon - centre / 2) if centre > epsilon else mpf(0)
    start = max(-j * e, epsilon - centre)
    total = mpf(0)
    for i in range(j + 1):  # the density is a sum of truncated powers (t - u)^(j-1)
        t = (j - 2 * i) * e
        if t <= start:
            break
        # With a start above -j e the length depends on the sum of the shifts alone.
        key = (j, shift - 2 * i) if start > -j * e else (j, -1000 - i)
        if key not in gammas:
            gammas[key] = tuple(incomplete_gamma(sign * mpf(1) / 2, j, t - start) for sign in (1, -1))
        up, down = gammas[key]
        part = mp.exp((centre + t) / 2) * up - mp.exp(epsilon - (centre + t) / 2) * down
        total += (-1) ** i * mp.binomial(j, i) * part
    return total / (mp.factorial(j - 1) * (2 * e) ** j)


def epsilon_of(e: mpf, k: int, delta: mpf) -> mpf:
    """The zero, by false position on the logarithm of delta (the Illinois rule)."""

    def excess(epsilon: mpf) -> mpf:
        return mp.log(max(delta_of(e, k, epsilon), mpf("1e-40")) / delta)

    low, high = mpf(0), k * e
    at_low, at_high, side = excess(low), excess(high), 0
    for _ in range(100):
        middle = low + (high - low) * at_low / (at_low - at_high)
        value = excess(middle)
        if abs(value) < mpf(10) ** -32:
            return middle
        if value > 0:
            low, at_low = middle, value
            at_high = at_high / 2 if side == 1 else at_high
            side = 1
        else:
            high, at_high = middle, value
            at_low = at_low / 2 if side == -1 else at_low
            side = -1
    raise AssertionError("no convergence")


def text(x: mpf) -> str:
    return mp.nstr(x, 25, strip_zeros=False)


def epsilon_rows() -> list[dict[str, object]]:
    rows = []
    for scale, folds in FOLDS.items():
        for k in folds:
            mp.dps = 60 + 3 * k
            for delta in DELTAS:
                value = epsilon_of(1 / mpf(scale), k, mpf(delta))
                rows.append({"scale": scale, "k": k, "delta": delta, "value": text(value)})
            print(scale, k, flush=True)
    return rows


def delta_rows() -> list[dict[str, object]]:
    mp.dps = 90
    rows = []
    for scale, k in (("1", 1), ("1", 2), ("2", 3), ("10", 10)):
        for epsilon in ("0", "0.1", "0.5", "1", "1.5"):
            inside = Fraction(epsilon) < k / Fraction(scale)
            value = delta_of(1 / mpf(scale), k, mpf(epsilon)) if inside else mpf(0)
            rows.append({"scale": scale, "k": k, "epsilon": epsilon, "value": text(value)})
    return rows


if __name__ == "__main__":
    document = {"delta": delta_rows(), "epsilon": epsilon_rows()}
    Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
