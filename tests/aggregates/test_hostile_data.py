"""Data that breaks sums of floats and of machine integers: exact totals here, and never an error that depends on it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactnoise import PrivacyBudget, aggregates
from exactnoise.testing import Call, recorded, replay

SURE = 1e-12  # how rarely noise is farther from the total than its half width


def terms(neighbors: str = "add-remove", epsilon: Any = 1) -> dict[str, Any]:
    return {"budget": PrivacyBudget(neighbors=neighbors, unit="row", epsilon=epsilon), "epsilon": epsilon}


def released(function: Callable[..., Any], *args: Any, **options: Any) -> tuple[Any, list[Call]]:
    """A release and its exact inputs; the noise is checked to be near them."""
    made: list[Any] = []
    calls = recorded(lambda _: made.append(function(*args, **options)), None)
    for call in calls:
        for noisy, exact in zip(call.output.fractions(), call.inputs.ravel().tolist(), strict=True):
            assert abs(noisy - Fraction(exact)) <= Fraction(call.mechanism.half_width(SURE))
    return made[0], calls


def total(x: Any, bounds: tuple[Any, Any], **options: Any) -> Fraction:
    """The exact sum that gets the noise."""
    _, (call,) = released(aggregates.sum, x, bounds=bounds, **(options or terms()))
    return Fraction(call.inputs.item())


def sequential(x: np.ndarray) -> Any:
    """The sum as a loop in the array's own type."""
    with np.errstate(all="ignore"):
        return np.cumsum(x, dtype=x.dtype)[-1]


# Casacuberta, Shoemate, Vadhan & Wagaman 2022


# google/differential-privacy#126, #127: sums of floats whose order and rounding are no part of their sensitivity.
@pytest.mark.parametrize("order", [1, -1])
def test_order(order):
    x = np.array([2.0**53, *[1.0] * 1000])[::order]
    assert sequential(x) == 2.0**53 + (1000 if order == -1 else 0)
    assert total(x.astype(np.int64), (0, 2**53)) == 2**53 + 1000
    assert total(x, (0, 2**53)) == 2**53  # on a grid of 2^40 steps, each of which is far below the noise
    assert total(x, (0, 2**33)) == 2**33 + 1000


def test_any_order_gives_the_same_total():
    rng = np.random.default_rng(7)
    x = rng.normal(size=5000) * 10.0 ** rng.integers(-30, 6, 5000)
    totals = {total(rng.permutation(x), (-1e6, 1e6)) for _ in range(20)}
    assert len(totals) == 1
    assert len({float(sequential(rng.permutation(x))) for _ in range(20)}) > 1


@pytest.mark.parametrize("many", [2**13, 2**16])
def test_repeated_rounding_in_float32(many):
    """The first of the rows is replaced: the true sums differ by 5 2^-12, and those of a loop by 2 and by 16."""
    x = np.array([1.0] * 4096 + [2.0**-10] + [-(2.0**-12)] * many, np.float32)
    y = x.copy()
    y[0] = 1 - 5 * 2.0**-12
    assert float(sequential(x)) - float(sequential(y)) > 2
    passed = replay(lambda rows: aggregates.sum(rows, bounds=(-1, 1), **terms("replace-one")), x, y)
    assert passed.distances == (5 * Fraction(1, 2**12),)
    assert passed.sensitivities == (2,)


def test_int64_does_not_wrap():
    most = 2**63 - 1
    x, y = np.array([most, 1]), np.array([most, 0])
    assert sequential(x) == -(2**63)
    for bounds in ((0, most), (-(2**63), most)):
        assert total(x, bounds) == 2**63
        assert replay(
            lambda rows, b=bounds: aggregates.sum(rows, bounds=b, **terms("replace-one")), x, y
        ).distances == (1,)


def test_int8_does_not_wrap():
    x = np.array([127, 127], np.int8)
    assert sequential(x) == -2
    assert total(x, (-128, 127)) == 254
    assert total(np.array([-128] * 300, np.int8), (-128, 127)) == -128 * 300


def test_the_least_int64_has_a_magnitude():
    """|-2^63| is no int64: the sensitivity is, nevertheless."""
    least = -(2**63)
    assert np.abs(np.array([least])) < 0
    value, (call,) = released(aggregates.sum, np.array([least] * 3), bounds=(least, 0), **terms())
    assert call.inputs.item() == 3 * least
    assert call.mechanism.sensitivity == 2**63
    assert np.isfinite(float(value))


@pytest.mark.parametrize("x", [[1, 1, -1, -1], [1, -1, 1, -1], [-1, -1, 1, 1]])
def test_floats_do_not_overflow(x):
    assert total(np.array(x) * 1e308, (-1e290, 1e290)) == 0
    assert total(np.array([*x, 1]) * 1e308, (0, 1e290)) > 2.9e290
    with pytest.raises(ValueError, match="bounds"):
        aggregates.sum(x, bounds=(-1e308, 1e308), **terms())


def test_control_floats_overflow():
    m = np.full(2, 1e308)
    with np.errstate(all="ignore"):
        assert sequential(np.concatenate([m, -m])) == np.inf
        assert sequential(np.ravel([m, -m], "F")) == 0
        assert np.isnan(m.sum() + (-m).sum())


def test_the_variance_subtracts_no_rounded_mean():
    """A mean of rows far from 0 rounds; about it, squares change by far more than those about the exact one."""
    far = 2.0**40
    x = far + np.array([0.25] * 9 + [1.0] * 70)
    y = x.copy()
    y[31] = far
    squares = [float(np.sum((rows.astype(np.float32) - rows.astype(np.float32).mean()) ** 2)) for rows in (x, y)]
    assert squares[0] != pytest.approx(float(np.var(x - far) * 79), rel=0.1)  # float32 has lost them
    passed = replay(lambda rows: aggregates.variance(rows, bounds=(far, far + 1), **terms("replace-one")), x, y)
    exact = [Fraction(n) for n in (0, 0)]
    for i, rows in enumerate((x, y)):
        values = [Fraction(value) for value in (rows - far).tolist()]
        exact[i] = 79 * sum(value**2 for value in values) - sum(values) ** 2
    assert passed.distances == (abs(exact[0] - exact[1]),)
    assert passed.distances < passed.sensitivities == (78,)


# opendp/opendp#2923: nor is the rounding of a mean in squares about it.
def test_a_variance_far_from_zero_has_a_grid_or_is_refused():
    """At 2^50 whole numbers are as fine as the grid is allowed to be; bounds between two of its points are refused."""
    far = 2.0**50
    x = np.full(1024, far + 0.25)
    y = x.copy()
    y[5] = far + 0.5
    replay(lambda rows: aggregates.variance(rows, bounds=(far, far + 256), **terms("replace-one")), x, y)
    with pytest.raises(ValueError, match="nobody can change"):
        aggregates.variance(x, bounds=(far, far + 1), **terms("replace-one"))


# opendp/opendp#314
@pytest.mark.parametrize(("low", "high"), [(0, 5), (-3, 4), (0, 1), (-(2**63), 0), (-6, -1)])
def test_bounds_of_odd_width(low, high):
    """Half an odd width is no whole number, and is not cut to one."""
    half = Fraction(high - low, 2)
    for dtype in (np.int64, np.float64):
        x, y = np.array([low, high, high], dtype), np.array([low, high], dtype)
        passed = replay(lambda rows, b=(low, high): aggregates.mean(rows, bounds=b, **terms()), x, y)
        assert passed.distances == passed.sensitivities == (half, 1)


# Totals that need more than 64 bits


def test_ten_times_2_to_the_62():
    assert total(np.full(10, 2**62), (0, 2**62)) == 10 * 2**62
    assert total([2**62] * 10, (0, 2**62)) == 10 * 2**62
    value, _ = released(aggregates.sum, np.full(10, 2**62), bounds=(0, 2**62), **terms(epsilon=10**6))
    assert float(value) == pytest.approx(10 * 2.0**62, rel=1e-4)


def test_sums_beyond_int32():
    assert total(np.array([2**31 - 1, 1], np.int32), (0, 2**31 - 1)) == 2**31
    assert total(np.array([2**31 - 1, 1], np.int32), (-(2**31), 2**31 - 1)) == 2**31


# opendp/opendp#2941: a column narrower than was believed.
def test_float32_that_overflows_on_the_way():
    x = np.array([1e38] * 4 + [-1e38] * 7, np.float32)
    assert sequential(x) == np.inf
    true = sum(map(Fraction, x.tolist()))
    for rows in (x, x[::-1], np.roll(x, 5)):
        assert total(rows, (-(2.0**127), 2.0**127)) == true
        assert abs(total(rows, (-1e38, 1e38)) - true) <= 11 * Fraction(10) ** 38 / 2**39


# opendp/opendp#178, google/differential-privacy#40: a sum that wraps, and a mean of it.
@pytest.mark.parametrize("dtype", [np.float64, pytest.param(np.int32, marks=pytest.mark.slow)])
def test_six_hundred_million_rows(dtype):
    """Five each, in chunks that take no memory: their sum is beyond an int32."""
    chunk = np.broadcast_to(dtype(5), (10**8,))
    rows = aggregates.Sum(bounds=(0, 5))
    for _ in range(6):
        rows.add(chunk)
    _, (call,) = released(rows.release, **terms())
    assert call.inputs.item() == 3 * 10**9


def test_uint64_above_the_int64s():
    x = np.array([2**64 - 1, 2**63, 5], np.uint64)
    assert total(x, (0, 100)) == 205
    assert total(x, (0, 2**63 - 1)) == 2 * (2**63 - 1) + 5
    assert total([2**64 - 1, 2**70, 5], (0, 100)) == 205
    exact = total(x, (0, 2**64))
    assert abs(exact - (2**64 + 2**63 + 4)) <= 3 * 2 ** (64 - 40)
    codes = aggregates.count(by=x, keys=[5, 6], **terms()).value
    assert codes.shape == (2,)


# Bounds without room, and hardly any rows


def test_bounds_without_room():
    """Where no row can change anything it is the parameters that are refused, whatever the data."""
    for x in ([], [1.0], [math.nan] * 3):
        for function in (aggregates.sum, aggregates.mean, aggregates.variance):
            with pytest.raises(ValueError, match="nobody can change"):
                function(x, bounds=(0, 0), **terms())
        with pytest.raises(ValueError, match="nobody can change"):
            aggregates.sum(x, bounds=(5, 5), **terms("replace-one"))
    _, (call,) = released(aggregates.sum, [1.0, 9.0], bounds=(5, 5), **terms())
    assert call.inputs.item() == 10
    assert call.mechanism.sensitivity == 5


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "count": lambda x, **said: aggregates.count(x > x.dtype.type(0), **said),
    "sum": lambda x, **said: aggregates.sum(x, bounds=(-2, 3), **said),
    "mean": lambda x, **said: aggregates.mean(x, bounds=(-2, 3), **said),
    "mean, NaN dropped": lambda x, **said: aggregates.mean(x, bounds=(-2, 3), nan="drop", **said),
    "variance": lambda x, **said: aggregates.variance(x, bounds=(-2, 3), **said),
    "variance of integers": lambda x, **said: aggregates.variance(x, bounds=(0, 2**31), ddof=1, **said),
    "quantile": lambda x, **said: aggregates.quantile(x, [0, 0.5, 1], bounds=(-2, 3), granularity=0.5, **said),
    "histogram": lambda x, **said: aggregates.histogram(x, edges=[-2, 0, 3], other=True, **said),
    "vector_sum": lambda x, **said: aggregates.vector_sum(np.stack([x, x], 1), norm="l1", bound=3, **said),
}
EXTREME = {
    "nothing": np.empty(0),
    "one row": np.array([1.5]),
    "all NaN": np.full(5, np.nan),
    "NaN with a payload": np.array([0x7FF0000000000001, 0xFFF8000000000123], np.uint64).view(np.float64),
    "infinite": np.array([np.inf, -np.inf, np.inf]),
    "huge": np.array([1.7e308, -1.7e308] * 3),
    "subnormal": np.array([5e-324, -5e-324, 0.0, -0.0]),
    "float32": np.array([np.nan, np.inf, 3.4e38, 1e-45], np.float32),
    "float16": np.array([np.nan, np.inf, 65504, 6e-8], np.float16),
    "int64": np.array([2**63 - 1, -(2**63), 0]),
    "uint64": np.array([2**64 - 1, 2**63, 0], np.uint64),
    "int8": np.array([127, -128], np.int8),
    "bool": np.array([True, False]),
    "no integers": np.empty(0, np.int64),
    "swapped": np.array([1.5, np.nan], ">f8"),
    "strided": np.arange(12.0)[::-3],
    "broadcast": np.broadcast_to(np.float64(np.nan), (7,)),
}


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", EXTREME)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_data_raises_or_warns(function, name, neighbors):
    """Warnings are errors here; the answer is finite, of the type that the column's type says, and within bounds."""
    x = EXTREME[name]
    ordinary = np.zeros(max(x.size, 1), x.dtype)[: x.size]
    answers = []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (x, ordinary):
            answers.append(FUNCTIONS[function](rows, **terms(neighbors)))
    for answer in answers:
        value = np.asarray(answer)
        assert np.isfinite(value).all()
        assert value.dtype == np.asarray(answers[1]).dtype
        assert type(answer.value) is type(answers[1].value)
        assert answer.mechanism == answers[1].mechanism
        if function.startswith(("mean", "quantile")):
            assert ((value >= -2) & (value <= 3)).all()
        elif function.startswith("variance"):
            assert (value >= 0).all()


@pytest.mark.parametrize("row", [[0.5], [1], [None], [2**70]])
@pytest.mark.parametrize("others", [[], [1, 2], [0.5], [None]])
@pytest.mark.parametrize("name", ["sum", "mean", "variance", "histogram", "quantile"])
def test_the_numbers_of_a_list_do_not_choose_the_noise(name, others, row):
    """Whole ones, others, or none at all: a list has no type."""
    replay(lambda x: FUNCTIONS[name](x, **terms()), others, others + row)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_no_rows_and_one_row_are_neighbours(function):
    for row in (0.5, math.nan, -math.inf, 1e300):
        replay(lambda x: FUNCTIONS[function](np.array(x, float), **terms()), [], [row])


def test_three_statistics_spend_exactly_one():
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    x, by = np.array([1.0, 2.0]), ["b", "z"]
    said = {"budget": budget, "epsilon": "1/3", "by": by, "keys": ["c", "b", "a"]}
    answers = [
        aggregates.count(**said),
        aggregates.sum(x, bounds=(0, 2), **said),
        aggregates.mean(x, bounds=(0, 2), **said),
    ]
    assert budget.spent.epsilon == 1
    assert budget.remaining.epsilon == 0
    for answer in answers:
        assert list(answer.to_dict()) == ["c", "b", "a"]


class Untouchable:
    """Data that says when it is looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"the data was looked at: {name}")

    def __len__(self) -> int:
        raise AssertionError("the data was looked at")

    def __iter__(self) -> Any:
        raise AssertionError("the data was looked at")


@pytest.mark.parametrize(
    "function",
    [
        lambda x, **said: aggregates.sum(x, bounds=(0, 1), **said),
        lambda x, **said: aggregates.mean(x, bounds=(0, 1), **said),
        lambda x, **said: aggregates.variance(x, bounds=(0, 1), **said),
        lambda x, **said: aggregates.quantile(x, 0.5, bounds=(0, 1), **said),
    ],
    ids=["sum", "mean", "variance", "quantile"],
)
def test_a_refusal_comes_before_any_data_is_read(function):
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    with pytest.raises(ValueError, match="epsilon"):
        function(Untouchable(), budget=budget, epsilon=2)
    with pytest.raises(AssertionError, match="looked at"):
        function(Untouchable(), budget=budget, epsilon=1)
    assert budget.spent.epsilon == 0
