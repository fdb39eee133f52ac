"""Make selection.json: which candidate is selected, to 25 digits (python selection.py).

Needs mpmath. A "selection" row has the probabilities of the exponential mechanism, proportional to
exp(epsilon u / (2 sensitivity)) (without the 2 where monotonic), those of permute-and-flip by its sum over the subsets
of the others, and how far below the best score the selected one is on average. A "quantile" row has those of an
interval between neighbours of the data, whose score is minus the distance of its rank from the quantile's, weighted by
its length, for sensitivity 1 and for max(q, 1 - q).
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from mpmath import mp, mpf

SCORES = {
    "close": [10, 9, 8],
    "tie": [5, 5, 0],
    "four": [0, 1, 2, 10],
    "six": [3, 7, 7, 1, 0, 6],
    "real": [0.25, 0.5, 1.75, -3.0],
    "three": [3, 2, 0],
    "one": [7],
    "many": [100, *[99] * 7],
}
QUANTILES = [([1, 2, 3, 4, 5], 0, 10, 0.5, 1), ([1, 1, 1, 9], 0, 10, 0.25, 2), ([2.5, 2.5, 7], 0, 10, 0.5, 0.5)]


def exponential(u: list[mpf]) -> list[mpf]:
    weights = [mp.exp(x) for x in u]
    return [w / mp.fsum(weights) for w in weights]


def permute_and_flip(u: list[mpf]) -> list[mpf]:
    p = [mp.exp(x - max(u)) for x in u]
    result = []
    for r in range(len(p)):
        others = p[:r] + p[r + 1 :]
        terms = [
            mpf(-1) ** size / (size + 1) * mp.fprod(subset)
            for size in range(len(others) + 1)
            for subset in itertools.combinations(others, size)
        ]
        result.append(p[r] * mp.fsum(terms))
    return result


def shown(values: list[mpf]) -> list[str]:
    return [mp.nstr(value, 25) for value in values]


def selection(case: str, epsilon: str, sensitivity: int, *, monotonic: bool) -> dict[str, object]:
    scores = [mpf(s) for s in SCORES[case]]
    u = [mpf(epsilon) * s / (sensitivity * (1 if monotonic else 2)) for s in scores]
    row: dict[str, object] = {"scores": SCORES[case], "epsilon": epsilon, "sensitivity": sensitivity}
    row["monotonic"] = monotonic
    for name, mechanism in (("exponential", exponential), ("permute_and_flip", permute_and_flip)):
        p = mechanism(u)
        gap = mp.fsum(x * (max(scores) - s) for x, s in zip(p, scores, strict=True))
        row[name] = shown(p)
        row[f"{name}_gap"] = mp.nstr(gap, 25)
    return row


def quantile(data: list[float], lower: float, upper: float, q: float, epsilon: float) -> dict[str, object]:
    edges = [lower, *data, upper]
    row: dict[str, object] = {"edges": edges, "quantile": q, "epsilon": epsilon}
    for name, sensitivity in (("sensitivity_1", mpf(1)), ("sensitivity_q", mpf(max(q, 1 - q)))):
        weights = [
            (mpf(high) - mpf(low)) * mp.exp(mpf(epsilon) * -abs(below - mpf(q) * len(data)) / (2 * sensitivity))
            for below, (low, high) in enumerate(itertools.pairwise(edges))
        ]
        row[name] = shown([w / mp.fsum(weights) for w in weights])
    return row


def main() -> None:
    mp.dps = 60
    rows = [
        *(
            selection(case, epsilon, sensitivity, monotonic=monotonic)
            for case in SCORES
            for epsilon in ("0.1", "0.5", "1", "2", "5")
            for sensitivity, monotonic in ((1, False), (1, True), (3, False))
        ),
        selection("four", "50", 1, monotonic=False),
    ]
    lists = {"selection": rows, "quantile": [quantile(*row) for row in QUANTILES]}
    written = ",\n".join(f'"{name}": [\n' + ",\n".join(map(json.dumps, some)) + "\n]" for name, some in lists.items())
    Path(__file__).with_suffix(".json").write_text("{\n" + written + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
