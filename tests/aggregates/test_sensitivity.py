"""Sensitivities of the real functions, by exhaustion over small data sets: those of `tests/vectors/sensitivity.json`.

Each function is run on every multiset of a few values, and what its mechanisms are given is recorded. Over all pairs of
neighbours no input may move by more than its mechanism's sensitivity, and the statistic that the inputs stand for moves
by what was found by enumeration with fractions; the pair that moves it most is replayed with frozen noise.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from golden import load

from exactnoise import DiscreteLaplace, aggregates
from exactnoise.mechanisms._parameters import root_above
from exactnoise.testing import Call, ReplayError, recorded, replay
from exactnoise.testing.distance import measured

GOLDEN = load("sensitivity")
RELATIONS = {"add_remove": "add-remove", "replace_one": "replace-one"}

Rows = tuple[Any, ...]
Pipeline = Callable[[Rows], Any]
Statistic = Callable[[list[Call], int], list[Fraction]]


class Case(NamedTuple):
    """A pipeline on the real function, and the statistic that its mechanisms' exact inputs stand for."""

    pipeline: Pipeline
    values: Rows
    statistic: Statistic
    #: What the sensitivity of the call is a multiple of, and the call; None where the statistic is not one call's.
    call: tuple[int, Fraction] | None = (0, Fraction(1))


def terms(neighbours: str, **price: Any) -> dict[str, Any]:
    return {"budget": None, "neighbors": RELATIONS[neighbours], **(price or {"epsilon": 1})}


def inputs(call: Call) -> list[Fraction]:
    return [Fraction(value) for value in call.inputs.ravel().tolist()]


def first(calls: list[Call], n: int) -> list[Fraction]:
    return inputs(calls[0])


@cache
def clipped(
    function: Any, neighbours: str, lower: int, upper: int, *, grouped: bool = False, **options: Any
) -> Pipeline:
    """A function of clipped values; in one group, where the number of rows is secret under either relation."""
    said = {"bounds": (lower, upper), **terms(neighbours), **options}
    if grouped:
        return lambda x: function(np.array(x, float), by=["a"] * len(x), keys=["a"], **said)
    return lambda x: function(np.array(x, float), **said)


@cache
def case(aggregate: str, neighbours: str, lower: int, upper: int, n: int, q: str) -> Case:
    """How a row of the vectors is computed here."""
    width, middle = Fraction(upper - lower), Fraction(lower + upper, 2)
    values = tuple(lower + i * (upper - lower) / 4 for i in range(5))
    said = terms(neighbours)

    def of(function: Any, **options: Any) -> Pipeline:
        return clipped(function, neighbours, lower, upper, **options)

    def variance(calls: list[Call], n: int) -> list[Fraction]:
        """From all three parts."""
        (total,), (squares,), (size,) = map(inputs, calls)
        return [squares / size + width**2 / 8 - (total / size) ** 2]

    def mean(calls: list[Call], n: int) -> list[Fraction]:
        (total,), (size,) = map(inputs, calls)
        return [middle + total / size]

    def squares(calls: list[Call], n: int) -> list[Fraction]:
        return [inputs(calls[1])[0] + n * width**2 / 8]

    def scaled(divisor: int) -> tuple[Statistic, tuple[int, Fraction]]:
        return lambda calls, n: [total / divisor for total in inputs(calls[0])], (0, Fraction(divisor))

    match aggregate:
        case "sum":
            return Case(of(aggregates.sum), values, first)
        case "centred_sum (x - (L+U)/2)":
            return Case(of(aggregates.mean), values, first)
        case "mean, n public":
            return Case(of(aggregates.mean), values, *scaled(n))
        case "mean, both sizes >= n":
            return Case(of(aggregates.mean), values, mean, None)
        case "variance ddof=0, n public":
            return Case(of(aggregates.variance), values, *scaled(n * n))
        case "variance ddof=1, n public":
            return Case(of(aggregates.variance, ddof=1), values, *scaled(n * (n - 1)))
        case "variance ddof=0, both sizes >= n":
            return Case(of(aggregates.variance), values, variance, None)
        case "sum of squares of x - (L+U)/2":
            pipeline = of(aggregates.variance, grouped=neighbours == "replace_one")
            # A row that is replaced moves the squares by what it moves the shifted ones by.
            return Case(pipeline, values, squares, (1, Fraction(1)) if neighbours == "replace_one" else None)
        case "sum of squares of x - (L+U)/2, shifted by ((U-L)/2)^2/2":
            return Case(of(aggregates.variance), values, lambda calls, n: inputs(calls[1]), (1, Fraction(1)))
        case "count of all rows":
            return Case(lambda x: aggregates.count(n=len(x), **said), (0, 1), first)
        case "count where predicate":
            return Case(lambda x: aggregates.count(np.array(x) == 1, **said), (0, 1), first)
        case "count distinct":
            one = DiscreteLaplace(sensitivity=1, epsilon=1)
            return Case(lambda x: one.release(len(set(x)), budget=None), (0, 1, 2), first)
        case "cumulative counts over B=3 edges L1":
            three = DiscreteLaplace(sensitivity=3, epsilon=1)
            return Case(
                lambda x: three.release(np.array([np.sum(np.array(x) <= edge) for edge in range(3)]), budget=None),
                (0, 1, 2, 3),
                first,
            )
        case "histogram L1" | "histogram L2 squared" | "histogram Linf":
            price = {"rho": 1} if "L2" in aggregate else {"epsilon": 1}
            relation = terms(neighbours, **price)
            return Case(
                lambda x: aggregates.histogram(np.array(x), categories=[0, 1, 2], **relation),
                (0, 1, 2),
                first,
                None if "Linf" in aggregate else (0, Fraction(1)),
            )
        case _:
            level = Fraction(q)
            denominator = level.denominator
            return Case(
                lambda x: aggregates.quantile(
                    np.array(x, float), level, bounds=(0, 2), granularity=Fraction(1, 2), **said
                ),
                (0.0, 1.0, 2.0),
                lambda calls, n: [score / denominator for score in inputs(calls[0])],
                (0, Fraction(denominator)),
            )


def multisets(values: Rows, n: int) -> Iterator[Rows]:
    return combinations_with_replacement(values, n)


def neighbours_of(x: Rows, values: Rows, neighbours: str) -> Iterator[Rows]:
    """Those of another row, or of one row more."""
    if neighbours == "add_remove":
        for value in values:
            yield tuple(sorted((*x, value)))
        return
    for i in range(len(x)):
        for value in values:
            if value != x[i]:
                yield tuple(sorted((*x[:i], value, *x[i + 1 :])))


@cache
def calls_of(pipeline: Pipeline, x: Rows) -> list[Call]:
    return recorded(pipeline, x)


def size(change: list[Fraction], aggregate: str) -> Fraction:
    """As the vectors measure it."""
    if "L2 squared" in aggregate:
        return sum((part**2 for part in change), Fraction(0))
    return max(map(abs, change)) if "Linf" in aggregate else sum(map(abs, change), Fraction(0))


@pytest.mark.parametrize(
    ("aggregate", "neighbours"), sorted({(row["aggregate"], row["neighbours"]) for row in GOLDEN["rows"]})
)
def test_sensitivities_are_those_of_the_vectors(aggregate, neighbours):
    rows = [row for row in GOLDEN["rows"] if (row["aggregate"], row["neighbours"]) == (aggregate, neighbours)]
    for row in rows:
        made = case(aggregate, neighbours, row.get("lower", 0), row.get("upper", 1), row["n"], row.get("q", "0"))
        if (aggregate, neighbours) == ("count of all rows", "replace_one"):
            # Sensitivity 0: the number of rows is public, and there is no noise to be had for it.
            assert row["value"] == "0"
            with pytest.raises(ValueError, match="nobody can change the number of rows"):
                made.pipeline((0, 1))
            continue
        worst, pair = Fraction(-1), ((), ())
        for x in multisets(made.values, row["n"]):
            before = calls_of(made.pipeline, x)
            for y in neighbours_of(x, made.values, neighbours):
                after = calls_of(made.pipeline, y)
                for one, other in zip(before, after, strict=True):
                    assert one.mechanism == other.mechanism
                    assert measured(one, other)[1] is None, (row, x, y)
                ends = made.statistic(before, len(x)), made.statistic(after, len(y))
                change = size([b - a for a, b in zip(*ends, strict=True)], aggregate)
                if change > worst:
                    worst, pair = change, (x, y)
        value, found = Fraction(row["value"]), Fraction(row["brute_force"])
        assert worst == found <= value, row
        assert (worst == value) == row["tight_at_this_n"]
        if made.call is not None:
            number, multiple = made.call
            sensitivity = calls_of(made.pipeline, pair[0])[number].mechanism.sensitivity
            expected = root_above(value) if "L2" in aggregate else value * multiple
            if aggregate.startswith("quantile") and neighbours == "add_remove":
                assert sensitivity == max(Fraction(row["q"]), 1 - Fraction(row["q"])) * multiple == expected
            assert sensitivity == expected, row
        replay(made.pipeline, *pair)
        replay(made.pipeline, *pair[::-1])


def test_no_row_of_the_vectors_is_left_out():
    assert len(GOLDEN["rows"]) == 193
    assert {row["neighbours"] for row in GOLDEN["rows"]} == set(RELATIONS)


# Several rows a person


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("row", GOLDEN["multi_contribution"], ids=lambda row: "-".join(map(str, row.values())))
def test_people_in_several_groups(row, norm):
    """Sums of values up to `linf` in at most `l0` of the groups, all of them at an extreme."""
    bins, reach, most = row["bins"], row["l0"], row["linf"]
    bounds = (-most if row["signed_values"] else 0, most)
    price = {"epsilon": 1} if norm == "L1" else {"rho": 1}
    people = [v for v in product(sorted({*bounds, 0}), repeat=bins) if sum(map(bool, v)) <= reach]

    def pipeline(values: tuple[int, ...], neighbors: str = "add-remove") -> Any:
        """One person's values, beside a row of somebody else."""
        present = [(group, value) for group, value in enumerate(values) if value] + [(0, most)]
        groups, x = zip(*present, strict=True)
        return aggregates.sum(
            np.array(x),
            bounds=bounds,
            by=np.array(groups),
            keys=range(bins),
            budget=None,
            neighbors=neighbors,
            rows_per_person=1,
            groups_per_person=reach,
            **price,
        )

    for neighbors, name in (("add-remove", f"add_remove_{norm}"), ("replace-one", f"replace_user_{norm}")):
        calls = {v: recorded(lambda x, relation=neighbors: pipeline(x, relation), v)[0] for v in people}
        nobody = (0,) * bins
        others = [nobody] if neighbors == "add-remove" else people
        # Groups are alike: one of the two people may be taken with values in descending order.
        ordered = [v for v in people if list(v) == sorted(v, reverse=True)]
        distances = {(u, v): measured(calls[u], calls[v]) for u in ordered for v in others}
        assert not any(problem for _, problem in distances.values())
        (u, v), (worst, _) = max(distances.items(), key=lambda item: item[1][0])
        mechanism = calls[nobody].mechanism
        assert float(worst) == pytest.approx(row[name], rel=1e-15)
        assert worst == mechanism.sensitivity
        assert replay(lambda x, relation=neighbors: pipeline(x, relation), u, v).distances == (worst,)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("rows", [1, 2])
def test_sampling_enforces_what_a_person_contributes(neighbors, groups, rows):
    """A person with far more rows than allowed, in all groups, at the bounds."""
    crowd = [("p", "a", 3.0), ("q", "b", 5.0), ("q", "b", -5.0), ("r", "c", 1.0), ("p", "c", 2.0)]
    heavy = [("x", group, value) for group in "cabcab" for value in (5.0, 5.0, 7.0)]
    light = [("x", "b", -5.0)] * 9 + [("x", "a", -5.0)] * 3

    def pipeline(table: list[tuple[str, str, float]]) -> list[Any]:
        person, by, x = zip(*table, strict=True)
        said = {
            "by": list(by), "keys": ["a", "b", "c"], "person": list(person), "budget": None, "neighbors": neighbors,
            "rows_per_person": rows, "groups_per_person": groups,
        }  # fmt: skip
        return [
            aggregates.count(epsilon=1, **said),
            aggregates.sum(x, bounds=(-5, 5), epsilon=1, **said),
            aggregates.mean(x, bounds=(-5, 5), rho=1, **said),
            aggregates.variance(x, bounds=(-5, 5), epsilon=1, **said),
            aggregates.histogram(x, edges=[-5, 0, 5], epsilon=1, **said),
            aggregates.quantile(x, 0.5, bounds=(-5, 5), epsilon=1, granularity=1, **said),
            aggregates.vector_sum(np.array([x, x]).T, norm="l2", bound=7, rho=1, **said),
        ]

    half = len(crowd) // 2
    with_heavy, with_light = (crowd[:half] + rows + crowd[half:] for rows in (heavy, light))
    pairs = [(with_heavy, with_light)] if neighbors == "replace-one" else [(crowd, with_heavy), (with_light, crowd)]
    for a, b in pairs:
        passed = replay(pipeline, a, b)
        assert passed.distances[1] > 0
        if groups == 3 and neighbors == "add-remove" and a is crowd:
            assert passed.distances[:2] == (3 * rows, 15 * rows) == passed.sensitivities[:2]


def test_without_sampling_a_person_can_contribute_more():
    """The control: contributions that are declared and not true."""

    def pipeline(x: list[float]) -> Any:
        return aggregates.sum(x, bounds=(0, 5), budget=None, neighbors="add-remove", rows_per_person=2, epsilon=1)

    replay(pipeline, [1.0], [1.0, 9.0, 5.0])
    with pytest.raises(ReplayError, match="15 apart"):
        replay(pipeline, [1.0], [1.0, 9.0, 5.0, 5.0])


def test_a_quantile_pays_for_every_group_that_a_person_is_in():
    """Each group with rows of the person is a selection; together they cost what is charged."""
    x = [1.0, 2.0, 3.0]

    def pipeline(by: list[str]) -> Any:
        return aggregates.quantile(
            x[: len(by)], [0.25, 0.5], bounds=(0, 4), granularity=1, by=by, keys=["a", "b", "c"], budget=None,
            neighbors="add-remove", rows_per_person=1, groups_per_person=3, epsilon=1,
        )  # fmt: skip

    full, empty = recorded(pipeline, ["a", "b", "c"]), recorded(pipeline, [])
    spent = Fraction(0)
    for call, other in zip(full, empty, strict=True):
        assert measured(call, other)[1] is None
        rows = int((call.inputs != other.inputs).any(axis=1).sum())
        assert rows == 3
        spent += rows * call.mechanism.epsilon
    assert spent == 1 == pipeline(["a"]).cost.epsilon


def test_the_sampling_of_a_replay_is_frozen():
    """Which rows are kept follows from their order, so that two runs keep the same; outside of replays it is random."""
    person, x = ["p"] * 64, np.arange(64.0)

    def pipeline(x: np.ndarray) -> Any:
        return aggregates.sum(
            x,
            bounds=(0, 64),
            person=person[: len(x)],
            budget=None,
            neighbors="add-remove",
            rows_per_person=1,
            epsilon=1,
        )

    assert replay(pipeline, x, x).distances == (0,)
    kept = {recorded(pipeline, x)[0].inputs.item() for _ in range(64)}
    assert len(kept) > 8  # by chance below 2^-150


# Sums of floats, and integers that wrap


def counterexamples() -> list[dict[str, Any]]:
    return list(GOLDEN["float_counterexamples"])


@pytest.mark.parametrize("row", [row for row in counterexamples() if "m" in row], ids=lambda row: str(row["m"]))
def test_rows_that_change_the_rounding_of_others(row):
    tail = np.full(row["m"], 1.5 * 2.0**-53)

    def pipeline(x: np.ndarray) -> Any:
        return aggregates.sum(x, bounds=(0, 1), budget=None, neighbors="replace-one", epsilon=1)

    passed = replay(pipeline, np.append(1.0, tail), np.append(0.0, tail))
    assert passed.distances == (1,) == passed.sensitivities
    sums = [0.0, 0.0]
    for i, head in enumerate((1.0, 0.0)):
        for value in [head, *tail.tolist()]:
            sums[i] += value
    assert float(Fraction(sums[0]) - Fraction(sums[1]) - 1) == row["excess_over_1"] > 0


def test_order():
    row = next(row for row in counterexamples() if row["what"].startswith("same multiset"))
    x = [2.0**53, 1.0, 1.0]
    one_by_one = functools.partial(functools.reduce, operator.add)  # sum() compensates from Python 3.12 on
    assert (one_by_one(x), one_by_one(x[::-1])) == (row["sum_big_first"], row["sum_big_last"])

    def pipeline(x: list[float]) -> Any:
        return aggregates.sum(x, bounds=(0, 2**53), budget=None, neighbors="replace-one", epsilon=1)

    assert replay(pipeline, x, x[::-1]).distances == (0,)


def test_float32_sums():
    row = next(row for row in counterexamples() if row["what"].startswith("float32"))
    x = np.full(2**22 + 1, 1.5 * 2.0**-24, np.float32)
    ones, zeros = x.copy(), x.copy()
    ones[0], zeros[0] = 1, 0
    assert float(np.cumsum(ones)[-1]) - float(np.cumsum(zeros)[-1]) == row["observed_difference"] > 1

    def pipeline(x: np.ndarray) -> Any:
        return aggregates.sum(x, bounds=(0, 1), budget=None, neighbors="replace-one", epsilon=1)

    assert replay(pipeline, ones, zeros).distances == (1,)


@pytest.mark.parametrize(
    ("what", "before", "after", "bounds"),
    [
        ("int32 accumulator that wraps: 2 rows of 2^30", [2**30] * 2, [2**30] * 3, (0, 2**30)),
        ("int32 accumulator that wraps: adding one row of value 1", [2**31 - 1], [2**31 - 1, 1], (0, 2**31 - 1)),
    ],
)
def test_integers_that_would_wrap(what, before, after, bounds):
    row = next(row for row in counterexamples() if row["what"].startswith(what))
    totals = [int(np.array(x).sum().astype(np.int32)) for x in (before, after)]
    assert abs(totals[1] - totals[0]) == row["observed_difference"]

    def pipeline(x: list[int]) -> Any:
        return aggregates.sum(np.array(x, np.int32), bounds=bounds, budget=None, neighbors="add-remove", epsilon=1)

    assert replay(pipeline, before, after).distances == (after[-1],)


def test_every_counterexample_is_here():
    assert len(counterexamples()) == 7 == 3 + 1 + 1 + 2
    assert math.isclose(GOLDEN["float_counterexamples"][0]["real_sensitivity"], 1)
