"""Make randomized_response.json: reports among k categories, to 25 digits (python randomized_response.py).

Needs mpmath. The probabilities of the reports; the delta at half the epsilon, summed over the reports; and the variance
that one person adds to the unbiased estimate of a category that the person is not in, as the second moment of
(indicator - other) / (truth - other).
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf


def main() -> None:
    mp.dps = 60
    rows = []
    for epsilon in ("0.1", "0.5", "1", "1.0986122886681098", "2", "3", "5", "10"):
        for k in (2, 3, 4, 10, 100):
            weights = [mp.exp(mpf(epsilon)), *[mpf(1)] * (k - 1)]
            p = [weight / mp.fsum(weights) for weight in weights]
            q = [p[1], p[0], *p[2:]]
            delta = mp.fsum(max(mpf(0), x - mp.exp(mpf(epsilon) / 2) * y) for x, y in zip(p, q, strict=True))
            row = {"epsilon": epsilon, "categories": k, "truth": mp.nstr(p[0], 25), "other": mp.nstr(p[1], 25)}
            estimates = {1: (1 - p[1]) / (p[0] - p[1]), 0: -p[1] / (p[0] - p[1])}
            absent = p[1] * estimates[1] ** 2 + (1 - p[1]) * estimates[0] ** 2
            rows.append(row | {"delta_at_half": mp.nstr(delta, 25), "absent_variance": mp.nstr(absent, 25)})
    Path(__file__).with_suffix(".json").write_text(
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
