"""Make sensitivity.json: how far neighbouring data move a statistic, by enumeration (python sensitivity.py).

Standard library and NumPy. Each row states a formula's value and the largest change over all data sets of n rows on a
small grid and all their neighbours: the two agree where the formula is reached at this n, and the change is below it
elsewhere. `multi_contribution` does the same for vectors of bins to which a person may add several rows, and
`float_counterexamples` shows sums in floating point that move farther than the formula says.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

Rows = tuple[Any, ...]
Statistic = Callable[[Rows], Any]
ADD, REPLACE = "add_remove", "replace_one"


def neighbours(rows: Rows, domain: Sequence[Any], relation: str) -> Iterator[Rows]:
    for value in domain:
        if relation == ADD:
            yield (*rows, value)
        else:
            yield from ((*rows[:i], value, *rows[i + 1 :]) for i in range(len(rows)) if rows[i] != value)


def largest_change(statistic: Statistic, domain: Sequence[Any], n: int, relation: str, norm: str = "Linf") -> Fraction:
    """Over all multisets of n rows: statistics here do not look at the order."""
    largest = Fraction(0)
    for rows in itertools.combinations_with_replacement(domain, n):
        here = _vector(statistic(rows))
        for other in neighbours(rows, domain, relation):
            steps = [abs(a - b) for a, b in zip(here, _vector(statistic(other)), strict=True)]
            change = {"L1": sum(steps), "L2 squared": sum(step * step for step in steps), "Linf": max(steps)}[norm]
            largest = max(largest, Fraction(change))
    return largest


def _vector(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else [value]


def mean(rows: Rows) -> Fraction:
    return sum(rows, Fraction(0)) / len(rows)


def squares(rows: Rows) -> Fraction:
    centre = mean(rows)
    return sum(((row - centre) ** 2 for row in rows), Fraction(0))


def row(name: str, relation: str, where: dict[str, Any], formula: str, value: Any, found: Fraction) -> dict[str, Any]:
    value = Fraction(value)
    assert found <= value, (name, relation, where)
    stated = {"aggregate": name, "neighbours": relation, **where, "formula": formula, "value": str(value)}
    checked = {"f64": float(value), "brute_force": str(found), "tight_at_this_n": value == found, "agrees": True}
    return stated | checked


def of_bounded_values(low: int, high: int, n: int) -> Iterator[dict[str, Any]]:
    width, largest = Fraction(high - low), max(abs(low), abs(high))
    centre, half = Fraction(low + high, 2), width / 2
    domain = [low + width * i / 4 for i in range(5)]
    where = {"lower": low, "upper": high, "n": n}
    cases: list[tuple[str, str, str, Any, Statistic]] = [
        ("sum", ADD, "max(|L|,|U|)", largest, sum),
        ("sum", REPLACE, "U-L", width, sum),
        ("centred_sum (x - (L+U)/2)", ADD, "(U-L)/2", half, lambda x: sum(v - centre for v in x)),
        ("mean, n public", REPLACE, "(U-L)/n", width / n, mean),
        ("mean, both sizes >= n", ADD, "(U-L)/(n+1)", width / (n + 1), mean),
    ]
    if n > 1:
        exact = width**2 * Fraction(n - 1, n * n)
        cases += [
            ("variance ddof=0, n public", REPLACE, "(U-L)^2 (n-1)/n^2", exact, lambda x: squares(x) / len(x)),
            ("variance ddof=1, n public", REPLACE, "(U-L)^2/n", width**2 / n, lambda x: squares(x) / (len(x) - 1)),
        ]
    name, grown = "sum of squares of x - (L+U)/2", width**2 * Fraction(n, (n + 1) ** 2)
    cases += [
        ("variance ddof=0, both sizes >= n", ADD, "(U-L)^2 n/(n+1)^2", grown, lambda x: squares(x) / len(x)),
        (name, ADD, "((U-L)/2)^2", half**2, lambda x: sum((v - centre) ** 2 for v in x)),
        (name, REPLACE, "((U-L)/2)^2", half**2, lambda x: sum((v - centre) ** 2 for v in x)),
        (
            f"{name}, shifted by ((U-L)/2)^2/2",
            ADD,
            "((U-L)/2)^2/2",
            half**2 / 2,
            lambda x: sum((v - centre) ** 2 - half**2 / 2 for v in x),
        ),
    ]
    for name, relation, formula, value, statistic in cases:
        yield row(name, relation, where, formula, value, largest_change(statistic, domain, n, relation))


def of_counts(n: int) -> Iterator[dict[str, Any]]:
    def histogram(x: Rows) -> list[int]:
        return [x.count(b) for b in range(3)]

    def cumulative(x: Rows) -> list[int]:
        return [sum(v <= b for v in x) for b in range(3)]

    def case(
        name: str, relation: str, formula: str, value: int, statistic: Statistic, values: int, norm: str = "Linf"
    ) -> dict[str, Any]:
        found = largest_change(statistic, range(values), n, relation, norm)
        return row(name, relation, {"n": n}, formula, value, found)

    yield case("count of all rows", ADD, "1", 1, len, 2)
    yield case("count of all rows", REPLACE, "0", 0, len, 2)
    yield case("count where predicate", ADD, "1", 1, sum, 2)
    yield case("count where predicate", REPLACE, "1", 1, sum, 2)
    yield case("count distinct", ADD, "1", 1, lambda x: len(set(x)), 3)
    yield case("count distinct", REPLACE, "1", 1, lambda x: len(set(x)), 3)
    for relation, changes in ((ADD, 1), (REPLACE, 2)):
        yield case("histogram L1", relation, str(changes), changes, histogram, 3, "L1")
        root = {1: "1", 2: "2 (so sqrt 2)"}[changes]
        yield case("histogram L2 squared", relation, root, changes, histogram, 3, "L2 squared")
        yield case("histogram Linf", relation, "1", 1, histogram, 3)
    for relation in (ADD, REPLACE):
        yield case("cumulative counts over B=3 edges L1", relation, "B", 3, cumulative, 4, "L1")


def of_quantile_scores(n: int, q: Fraction) -> Iterator[dict[str, Any]]:
    candidates = [Fraction(i, 2) for i in range(5)]

    def with_ties(x: Rows) -> list[Fraction]:
        return [-abs((1 - q) * sum(v < c for v in x) - q * sum(v > c for v in x)) for c in candidates]

    def without(x: Rows) -> list[Fraction]:
        return [-abs(sum(v < c for v in x) - q * len(x)) for c in candidates]

    tied, larger = "quantile score -|(1-q)#lt - q#gt| Linf", max(q, 1 - q)
    for name, relation, formula, value, score in (
        (tied, ADD, "max(q,1-q)", larger, with_ties),
        (tied, REPLACE, "1", Fraction(1), with_ties),
        ("quantile score -|#lt - q n| Linf", ADD, "max(q,1-q)", larger, without),
    ):
        found = largest_change(score, range(3), n, relation)
        yield row(name, relation, {"n": n, "q": str(q)}, formula, value, found)


def of_several_rows(bins: int, groups: int, most: int, signed: bool) -> dict[str, Any]:
    """A person reaches up to `groups` of the bins, by up to `most` in each."""
    values = range(-most if signed else 0, most + 1)
    people = [p for p in itertools.product(values, repeat=bins) if sum(map(bool, p)) <= groups]
    pairs = [[abs(a - b) for a, b in zip(p, q, strict=True)] for p in people for q in people]
    alone = [[abs(a) for a in p] for p in people]
    found = [max(map(sum, alone)), max(sum(a * a for a in p) for p in alone)]
    found += [max(map(sum, pairs)), max(sum(a * a for a in p) for p in pairs)]
    reach = 2 * groups if signed else min(2 * groups, bins)
    assert found[:3] == [groups * most, groups * most**2, reach * most]
    assert found[3] == (4 * groups if signed else reach) * most**2
    return {
        "bins": bins,
        "l0": groups,
        "linf": most,
        "signed_values": signed,
        "add_remove_L1": found[0],
        "add_remove_L2": math.sqrt(found[1]),
        "replace_user_L1": found[2],
        "replace_user_L2": math.sqrt(found[3]),
    }


def left_to_right(values: list[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def of_floats() -> Iterator[dict[str, Any]]:
    """The neighbours differ in the first row, or in the order, or by one row."""
    for m in (10, 1000, 100000):
        tail = [1.5 * 2.0**-53] * m
        high, low = left_to_right([1.0, *tail]), left_to_right([0.0, *tail])
        yield {
            "what": "left-to-right float64 sum, bounds [0,1], first row 1.0 replaced by 0.0, then m rows of 1.5*2^-53",
            "m": m,
            "real_sensitivity": 1.0,
            "excess_over_1": float(Fraction(high) - Fraction(low) - 1),
            "excess_formula_m_2^-54": m * 2.0**-54,
            "math_fsum_excess": float(Fraction(math.fsum([1.0, *tail])) - Fraction(math.fsum([0.0, *tail])) - 1),
        }
    values = [2.0**53, 1.0, 1.0]
    first, last = left_to_right(values), left_to_right(values[::-1])
    orders = {"sum_big_first": first, "sum_big_last": last, "difference": last - first}
    yield {"what": "same multiset, other order"} | orders
    narrow = np.full(2**22 + 1, 1.5 * 2.0**-24, np.float32)
    sums = []
    for narrow[0] in (0.0, 1.0):
        sums.append(float(np.cumsum(narrow)[-1]))
    yield {
        "what": "float32 sequential (cumsum) sum, bounds [0,1], 2^22 rows of 1.5*2^-24",
        "real_sensitivity": 1.0,
        "observed_difference": sums[1] - sums[0],
    }
    for what, before, value in (
        ("2 rows of 2^30, one row added of 2^30", 2**30, 2**30),
        ("adding one row of value 1 to a sum of 2^31-1", 2**31 - 1, 1),
    ):
        start = 2 * before if value > 1 else before
        wrapped = [(total + 2**31) % 2**32 - 2**31 for total in (start, start + value)]
        yield {
            "what": f"int32 accumulator that wraps: {what}",
            "real_sensitivity": float(value),
            "observed_difference": abs(wrapped[1] - wrapped[0]),
        }


def main() -> None:
    rows = [
        row
        for low, high in ((0, 1), (-2, 3), (5, 10), (-10, -5))
        for n in (1, 2, 4)
        for row in of_bounded_values(low, high, n)
    ]
    for n in (1, 3, 4):
        rows += of_counts(n)
        for q in (Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)):
            rows += of_quantile_scores(n, q)
    several = [
        of_several_rows(4, groups, most, signed)
        for groups in (1, 2, 3, 4)
        for most in (1, 2)
        for signed in (False, True)
    ]
    tables = {"rows": rows, "multi_contribution": several, "float_counterexamples": list(of_floats())}
    texts = [f'"{name}": [\n' + ",\n".join(map(json.dumps, table)) + "\n]" for name, table in tables.items()]
    text = "{\n" + ",\n".join(texts) + "\n}\n"
    Path(__file__).with_suffix(".json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
