"""Make utility.json: errors of the common releases against epsilon (python utility.py).

Needs mpmath. A "rows" row has the root mean square error, the mean absolute error and the t with P(|error| > t) = 5 %
of one count with Laplace, two-sided geometric and Gaussian noise, and of a mean of 1000 values between 0 and 100 whose
number is public; a "vector_l0" row the root mean square error of each of l0 counts of which one person changes every
one by 1. By quadrature and by sums, not by the formulas that the package has.
"""

from __future__ import annotations

import json
from pathlib import Path

from gaussian_sigma import smallest_sigma
from mpmath import mp, mpf

EPSILONS = ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2", "5", "10")
LENGTHS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
DELTA = "1e-6"
BEYOND = "0.05"


def real(density, tail, scale: mpf) -> dict[str, str]:
    """Moments by quadrature and the quantile by bisection."""
    ends = [0, scale, 3 * scale, 10 * scale, 40 * scale, mp.inf]
    square = 2 * mp.quad(lambda z: z * z * density(z), ends)
    absolute = 2 * mp.quad(lambda z: z * density(z), ends)
    low, high = mpf(0), 10 * scale
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle) > mpf(BEYOND) else (low, middle)
    return {"rmse": mp.nstr(mp.sqrt(square), 25), "mae": mp.nstr(absolute, 25), "p95": mp.nstr(high, 25)}


def laplace(scale: mpf) -> dict[str, str]:
    return real(lambda z: mp.exp(-z / scale) / (2 * scale), lambda t: mp.exp(-t / scale), scale)


def gaussian(sigma: mpf) -> dict[str, str]:
    return real(lambda z: mp.npdf(z, 0, sigma), lambda t: mp.erfc(t / sigma / mp.sqrt(2)), sigma)


def geometric(scale: mpf) -> dict[str, object]:
    """Term by term, so far out that 40 digits do not change."""
    weights = [mp.exp(-k / scale) for k in range(int(100 * scale) + 2)]
    total = weights[0] + 2 * mp.fsum(weights[1:])
    square = 2 * mp.fsum(k * k * w for k, w in enumerate(weights)) / total
    absolute = 2 * mp.fsum(k * w for k, w in enumerate(weights)) / total
    t, beyond = 0, 1 - weights[0] / total
    while beyond > mpf(BEYOND):
        t += 1
        beyond -= 2 * weights[t] / total
    return {"rmse": mp.nstr(mp.sqrt(square), 25), "mae": mp.nstr(absolute, 25), "p95": t}


def main() -> None:
    mp.dps = 50
    rows = [
        {
            "epsilon": e,
            "laplace_count": laplace(1 / mpf(e)),
            "geometric_count": geometric(1 / mpf(e)),
            "gaussian_count": gaussian(smallest_sigma(mpf(e), mpf(DELTA))),
            "laplace_mean": laplace(100 / mpf(1000) / mpf(e)),
        }
        for e in EPSILONS
    ]
    vectors = [
        {
            "epsilon": e,
            "l0": length,
            "laplace_rmse": laplace(length / mpf(e))["rmse"],
            "gaussian_rmse": mp.nstr(mp.sqrt(length) * sigma, 25),
        }
        for e in ("0.1", "1")
        for sigma in [smallest_sigma(mpf(e), mpf(DELTA))]
        for length in LENGTHS
    ]
    lines = {name: ",\n".join(map(json.dumps, table)) for name, table in (("rows", rows), ("vector_l0", vectors))}
    text = f'{{"delta": "{DELTA}",\n"rows": [\n{lines["rows"]}\n],\n"vector_l0": [\n{lines["vector_l0"]}\n]}}\n'
    Path(__file__).with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
