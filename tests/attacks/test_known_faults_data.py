"""Faults that statistics have had elsewhere, each on its smallest input. The comments name where it was reported."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactnoise import Exponential, PermuteAndFlip, aggregates
from exactnoise.testing import Call, Replay, recorded, replay

RELATIONS = ["add-remove", "replace-one"]
on_relations = pytest.mark.parametrize("neighbors", RELATIONS)


def terms(neighbors: str = "add-remove", **said: Any) -> dict[str, Any]:
    return {"budget": None, "neighbors": neighbors, "epsilon": 1, **said}


def moved(passed: Replay) -> list[Fraction]:
    """By how much each release's input moved, in sensitivities: 1 where the bound is reached."""
    return [Fraction(d) / Fraction(s) for d, s in zip(passed.distances, passed.sensitivities, strict=True)]


# opendp/opendp#2937, #2941: dates were counted in 32 bits, and a sum of so many wrapped.


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_a_sum_of_days_beyond_32_bits(dtype: type) -> None:
    many, day = 108_883, 19_723  # 2024-01-01, counted from 1970
    days = np.full(many, day, dtype)
    assert many * day > 2**31 - 1 > (many - 1) * day
    assert np.cumsum(days, dtype=np.int32)[-1] < 0
    (call,) = recorded(lambda rows: aggregates.sum(rows, bounds=(0, 40_000), **terms()), days)
    assert call.inputs.item() == many * day


# opendp/smartnoise-core#356: a mean's noise was scaled by the number of rows, which is what the neighbour changes.


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_a_mean_pays_for_its_number_of_rows(n: int) -> None:
    x = [5.0] * n
    passed = replay(lambda rows: aggregates.mean(rows, bounds=(0, 5), **terms()), x, [*x, 5.0])
    assert passed.distances == (Fraction(5, 2), 1)  # the sum about the middle, and the rows
    assert passed.sensitivities == (Fraction(5, 2), 1)
    assert 0 <= float(aggregates.mean(x, bounds=(0, 5), **terms())) <= 5


# opendp/smartnoise-core#360: of two bins one loses the row that the other gets.


def test_a_replaced_row_changes_two_bins() -> None:
    passed = replay(
        lambda rows: aggregates.histogram(rows, categories=["a", "b"], **terms("replace-one")), ["a", "a"], ["a", "b"]
    )
    assert passed.distances == passed.sensitivities == (2,)


# IBM/differential-privacy-library#104, #105, #110: the lower bound stood where the larger one belongs, and with a
# lower bound of 0 there was no noise.


@on_relations
@pytest.mark.parametrize("bounds", [(0, 5), (-5, 0), (-1, 5), (-5, 1)])
def test_both_bounds_count(bounds: tuple[int, int], neighbors: str) -> None:
    low, high = bounds
    said = terms(neighbors)
    largest = max(abs(low), abs(high)) if neighbors == "add-remove" else high - low
    reached = []
    for a in (low, high):
        pair = ([1.0], [1.0, a]) if neighbors == "add-remove" else ([1.0, low], [1.0, high])
        passed = replay(lambda rows: aggregates.sum(rows, bounds=bounds, **said), *pair)
        assert passed.sensitivities == (largest,)
        reached += moved(passed)
        passed = replay(lambda rows: aggregates.variance(rows, bounds=bounds, **said), *pair)
        assert all(sensitivity > 0 for sensitivity in passed.sensitivities)
    assert max(reached) == 1


# opendp/smartnoise-sdk#622: rows were clipped, and then those used that were not.


@on_relations
@pytest.mark.parametrize("name", ["sum", "mean", "variance"])
def test_a_row_out_of_bounds_counts_as_the_bound(name: str, neighbors: str) -> None:
    function = getattr(aggregates, name)
    for outside, bound in ((7.0, 5.0), (-1e300, 0.0), (math.inf, 5.0)):
        passed = replay(lambda rows: function(rows, bounds=(0, 5), **terms(neighbors)), [1.0, outside], [1.0, bound])
        assert set(passed.distances) == {0}


# IBM/differential-privacy-library#44: a variance was allowed up to (upper - lower)^2.


@pytest.mark.parametrize("ddof", [0, 1])
def test_a_variance_is_at_most_a_quarter_of_the_squared_width(ddof: int) -> None:
    """Rows half at either bound have that variance, and noise would go beyond it half of the time."""
    x = np.array([0.0, 2.0] * 100)
    most = Fraction(200, 200 - ddof) if ddof else 1
    values = {float(aggregates.variance(x, bounds=(0, 2), ddof=ddof, **terms("replace-one"))) for _ in range(60)}
    assert max(values) <= float(most)
    assert len(values) > 1


def test_control_a_variance_without_the_quarter() -> None:
    """The noisy squares alone are beyond it half of the time: never in 60 draws has a chance of 2^-60."""
    calls: list[Call] = []
    for _ in range(60):
        calls += recorded(lambda x: aggregates.variance(x, bounds=(0, 2), **terms("replace-one")), [0.0, 2.0] * 100)
    assert any(call.output.fractions()[0] > call.inputs.item() for call in calls)


# OpenMined/PyDP#268: such bounds ended the process.


@pytest.mark.parametrize("bounds", [(0.0, math.nan), (math.nan, 0.0), (0.0, math.inf), (-math.inf, math.inf), (5, 0)])
@pytest.mark.parametrize("name", ["sum", "mean", "variance", "quantile"])
def test_bounds_that_are_none_are_refused(name: str, bounds: tuple[float, float]) -> None:
    more = (0.5,) if name == "quantile" else ()
    with pytest.raises(ValueError, match="bounds"):
        getattr(aggregates, name)([0.1], *more, bounds=bounds, **terms())


# IBM/differential-privacy-library#87: bounds were taken from the data where none were given, NaN among them.


@pytest.mark.parametrize("name", ["sum", "mean", "variance", "quantile", "histogram"])
def test_bounds_never_come_from_the_data(name: str) -> None:
    x = [0, 1, 2, 3, 4, math.nan]
    more = (0.5,) if name == "quantile" else ()
    with pytest.raises(TypeError, match=r"bounds|edges"):
        getattr(aggregates, name)(x, *more, **terms())
    if name != "histogram":
        replay(lambda rows: getattr(aggregates, name)(rows, *more, bounds=(0, 4), **terms()), x[:-1], x)


# opendp/smartnoise-sdk#572, #574, IBM/differential-privacy-library#107: one record more, an exception more.


@pytest.mark.parametrize("kind", [Exponential, PermuteAndFlip])
def test_scores_that_underflow_select_nevertheless(kind: type[Exponential | PermuteAndFlip]) -> None:
    best = kind(sensitivity=1, epsilon=1)
    for scores in ([0, -1e6], [0] * 1491 + [1], [0] * 1492 + [1], [-1e300] * 3, [-math.inf] * 2, [math.nan]):
        assert 0 <= best.release(scores, budget=None) < len(scores)
    with np.errstate(all="ignore"):
        weights = np.exp(np.array([-1e6, -1e6 - 1]) / 2)  # what a naive one divides by its sum
        assert np.isnan(weights / weights.sum()).all()


@pytest.mark.parametrize("row", [math.inf, -math.inf, math.nan, 1])
def test_a_quantile_of_one_record_more(row: float) -> None:
    """1491 or 1492 equal rows and a larger one; 100 and an infinite one."""
    for x in ([0.0] * 1491 + [1.0], [0.0] * 1492, [1.0] * 100, []):
        replay(lambda rows: aggregates.quantile(rows, [0.25, 0.5, 1], bounds=(0, 1), **terms()), x, [*x, row])


# google/differential-privacy#464, #378: clipped to C, a replaced vector moves the sum by 2 C.


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_a_replaced_vector_moves_the_sum_by_twice_the_bound(norm: str) -> None:
    a, b = np.array([[3.0, 0.0], [8.0, 0.0]]), np.array([[3.0, 0.0], [-8.0, 0.0]])
    said = {"norm": norm, "bound": 2, **terms("replace-one")}
    said |= {"epsilon": None, "rho": "0.5"} if norm == "l2" else {}
    passed = replay(lambda rows: aggregates.vector_sum(rows, **said), a, b)
    assert passed.sensitivities[0] >= 4 >= passed.distances[0] > Fraction(399, 100)


# google/differential-privacy#87: bounds that were found privately changed the sensitivity, and it stayed as it was.


def test_bounds_that_were_released_bring_their_sensitivity() -> None:
    """Two rows a person; an upper bound that a quantile chose, given ones, and one that is the lower bound."""
    rows = {"person": np.repeat(np.arange(50), 2), "rows_per_person": 2, **terms()}
    x = np.repeat([1.0, 4.0], 50)
    released = float(aggregates.quantile(x, 0.9, bounds=(1, 8), granularity=1, **rows))
    for upper in (released, 1, 8):
        (call,) = recorded(lambda x, b=upper: aggregates.sum(x, bounds=(0, b), **rows), x)
        assert Fraction(call.mechanism.sensitivity) == 2 * Fraction(upper) >= 2
    with pytest.raises(ValueError, match="nobody can change"):
        aggregates.sum(x, bounds=(0, 0), **rows)
    (call,) = recorded(lambda x: aggregates.sum(x, bounds=(3, 3), **rows), x)
    assert call.mechanism.sensitivity == 6


# meta-pytorch/opacus#161, #571, #819: an empty batch had no noise or no answer, and what divides was its own size.


@pytest.mark.parametrize("rows", [0, 2, 3])
def test_an_empty_batch_gets_the_same_noise(rows: int) -> None:
    batch = np.ones((rows, 4))
    said = {"norm": "l2", "bound": 1, "budget": None, "neighbors": "add-remove", "rho": "0.1"}
    replay(lambda vectors: aggregates.vector_sum(vectors, **said), batch, np.ones((rows + 1, 4)))
    answers = {tuple(np.asarray(aggregates.vector_sum(batch, **said)).tolist()) for _ in range(4)}
    assert len(answers) == 4
