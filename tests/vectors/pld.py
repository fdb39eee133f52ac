"""Make pld.json: the exact privacy of compositions that have no closed form in the package (python pld.py).

Needs mpmath; takes a few minutes. Nothing is discretised: the losses of two-sided geometric and
discrete Gaussian noise are lattices, convolved term by term; for Gaussian noise together with one
Laplace release delta is the Gaussian one averaged over the Laplace loss, by quadrature.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from mpmath import mp, mpf

DELTAS = ("1e-5", "1e-9")


def text(x: mpf, digits: int = 25) -> str:
    return mp.nstr(x, digits, strip_zeros=False)


def epsilon_of(delta_of, delta: mpf, high: mpf, steps: int = 90) -> mpf:
    low = mpf(0)
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return (low + high) / 2


def lattice_delta(probabilities: list[mpf], losses: list[mpf], epsilon: mpf) -> mpf:
    pairs = zip(probabilities, losses, strict=True)
    return mp.fsum(p * (1 - mp.exp(epsilon - loss)) for p, loss in pairs if loss > epsilon)


def geometric_rows() -> list[dict[str, object]]:
    """Sensitivity 1: the loss of a release is +e or -e."""
    mp.dps = 60
    rows = []
    for each, k in (("0.1", 10), ("0.5", 10), ("1", 5), ("0.1", 100)):
        e = mpf(each)
        shrink = mp.exp(-e)
        probabilities = [mp.binomial(k, i) * shrink ** (k - i) / (1 + shrink) ** k for i in range(k + 1)]
        losses = [(2 * i - k) * e for i in range(k + 1)]
        for delta in DELTAS:
            value = epsilon_of(partial(lattice_delta, probabilities, losses), mpf(delta), k * e, 120)
            rows.append({"epsilon_each": each, "k": k, "delta": delta, "value": text(value)})
    return rows


def convolved(a: list[mpf], b: list[mpf]) -> list[mpf]:
    sums = [mpf(0)] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            sums[i + j] += x * y
    while sums[0] < mpf(10) ** -38:
        sums = sums[1:-1]
    return sums


def discrete_gaussian_rows() -> list[dict[str, object]]:
    """Sensitivity 1: at noise x the loss of a release is (1 - 2 x) / (2 sigma^2)."""
    mp.dps = 40
    rows = []
    for sigma in ("0.5", "1", "2", "5"):
        twice = 2 * mpf(sigma) ** 2
        reach = int(16 * float(sigma)) + 14
        weights = [mp.exp(-mpf(n * n) / twice) for n in range(-reach, reach + 1)]
        single = [weight / mp.fsum(weights) for weight in weights]
        several, folds = [mpf(1)], 0
        for k in (1, 2, 5, 10):
            while folds < k:
                several, folds = convolved(several, single), folds + 1
            half = (len(several) - 1) // 2
            losses = [(k - 2 * (i - half)) / twice for i in range(len(several))]
            for delta in DELTAS:
                value = epsilon_of(partial(lattice_delta, several, losses), mpf(delta), mpf(60))
                rows.append({"sigma": sigma, "k": k, "delta": delta, "value": text(value)})
        print("discrete gaussian", sigma, flush=True)
    return rows


def gaussian_delta(mu: mpf, epsilon: mpf) -> mpf:
    def tail(x: mpf) -> mpf:
        return mp.erfc(x / mp.sqrt(2)) / 2

    return tail(epsilon / mu - mu / 2) - mp.exp(epsilon) * tail(epsilon / mu + mu / 2)


def mixed_delta(mu: mpf, e: mpf, epsilon: mpf) -> mpf:
    """One Laplace release: atoms at +e and -e, and a density between."""
    atoms = gaussian_delta(mu, epsilon - e) / 2 + mp.exp(-e) / 2 * gaussian_delta(mu, epsilon + e)
    return atoms + mp.quad(lambda loss: mp.exp((loss - e) / 2) / 4 * gaussian_delta(mu, epsilon - loss), [-e, 0, e])


def mixture_rows() -> list[dict[str, object]]:
    mp.dps = 30
    rows = []
    for sigma, k, scale in (("5", 1, "1"), ("10", 10, "2"), ("20", 100, "5")):
        mu, e = mp.sqrt(k) / mpf(sigma), 1 / mpf(scale)
        for delta in DELTAS:
            value = epsilon_of(partial(mixed_delta, mu, e), mpf(delta), mpf(20), 60)
            rows.append({"sigma": sigma, "k": k, "scale": scale, "delta": delta, "value": text(value, 15)})
    return rows


if __name__ == "__main__":
    document = {
        "geometric": geometric_rows(),
        "gaussian_and_one_laplace": mixture_rows(),
        "discrete_gaussian": discrete_gaussian_rows(),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(document, indent=1) + "\n")
