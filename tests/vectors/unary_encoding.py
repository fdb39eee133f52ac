"""Make unary_encoding.json: the bits of unary encodings, to 25 digits (python unary_encoding.py).

Needs mpmath. The probabilities of a 1 for the true category and for others, and the variance that one person adds to
the unbiased estimate of a category that the person is not in, as the second moment of (bit - other) / (truth - other).
"""

from __future__ import annotations

import json
from pathlib import Path

from mpmath import mp, mpf


def main() -> None:
    mp.dps = 60
    rows = []
    for epsilon in ("0.1", "0.5", "1", "1.0986122886681098", "2", "3", "5", "10"):
        half, whole = mp.exp(mpf(epsilon) / 2), mp.exp(mpf(epsilon))
        for encoding, p, q in (
            ("symmetric", half / (1 + half), 1 / (1 + half)),
            ("optimized", mpf(1) / 2, 1 / (1 + whole)),
        ):
            absent = q * ((1 - q) / (p - q)) ** 2 + (1 - q) * (q / (p - q)) ** 2
            row = {"epsilon": epsilon, "encoding": encoding}
            rows.append(row | {n: mp.nstr(x, 25) for n, x in (("truth", p), ("other", q), ("absent_variance", absent))})
    Path(__file__).with_suffix(".json").write_text(
        "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
