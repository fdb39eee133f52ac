"""The replay harness: what it records, what it lets pass, and a small broken pipeline for every fault it must find."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactnoise import (
    BudgetExceeded,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    PrivacyBudget,
    PrivacyCost,
    RandomizedResponse,
    Snapping,
)
from exactnoise.mechanisms._parameters import root_above
from exactnoise.testing import Replay, ReplayError, recorded, replay

COUNT = DiscreteLaplace(sensitivity=1, epsilon=1)


def budget(epsilon: int = 1, neighbors: str = "add-remove") -> PrivacyBudget:
    return PrivacyBudget(neighbors=neighbors, unit="row", epsilon=epsilon)


def clipped(x: Any, low: float = 0, high: float = 5) -> np.ndarray:
    return np.clip(np.asarray(x, float), low, high)


def grid_sum(x: Any) -> float:
    """An exact sum on a grid."""
    return sum(round(value * 2.0**20) for value in map(float, x)) / 2**20


# What passes


def mean(x: np.ndarray) -> tuple[float, PrivacyCost]:
    """Of values between 0 and 5, n secret: centred sum over count."""
    pays = budget()
    halves = clipped(x) - 2.5
    total = Laplace(sensitivity=2.5, epsilon=0.5).release(grid_sum(halves), budget=pays, label="sum")
    count = DiscreteLaplace(sensitivity=1, epsilon=0.5).release(len(x), budget=pays, label="count")
    return 2.5 + total / max(count, 1), pays.remaining


def test_a_sound_pipeline_passes():
    passed = replay(mean, np.array([1.0, 7.0, 3.0]), np.array([1.0, 7.0, 3.0, -1.0]))
    assert isinstance(passed, Replay)
    assert passed.distances == (Fraction(5, 2), 1)
    assert passed.sensitivities == (Fraction(5, 2), 1)
    assert [call.mechanism for call in passed.calls] == [
        Laplace(sensitivity=2.5, epsilon=0.5),
        DiscreteLaplace(sensitivity=1, epsilon=0.5),
    ]
    assert [call.inputs.tolist() for call in passed.calls] == [1.5, 3]
    assert [(call.cost.epsilon, call.label) for call in passed.calls] == [(0.5, "sum"), (0.5, "count")]
    assert [spend.label for spend in passed.spent] == ["sum", "count"]
    assert sum(spend.cost.epsilon for spend in passed.spent) == 1


def test_it_is_shown_as_a_table():
    lines = repr(replay(mean, np.array([1.0]), np.array([1.0, 4.0]))).splitlines()
    assert lines[0].split() == ["call", "mechanism", "shape", "distance", "sensitivity"]
    assert lines[1].split() == ["1", "Laplace(sensitivity='2.5',", "epsilon='0.5')", "()", "1.5", "2.5"]
    assert lines[2].split() == ["2", "DiscreteLaplace(sensitivity=1,", "epsilon='0.5')", "()", "1", "1"]
    assert lines[3].startswith("spent PrivacyCost(epsilon='0.5'")
    assert lines[3].endswith("for 'sum'")


def test_a_recording_is_of_a_real_run():
    """Fresh noise each time, and the exact inputs."""
    outputs = set()
    for _ in range(20):
        (call,) = recorded(lambda x: Laplace(sensitivity=1, epsilon=1).release(x, budget=None), [0.5, math.nan])
        assert call.inputs.tolist() == [0.5, 0.0]
        assert (call.cost, call.label) == (None, None)
        outputs.add(call.output.tobytes())
    assert len(outputs) == 20


def test_both_runs_see_the_same_noise():
    answers = []

    def pipeline(x: list[int]) -> None:
        answers.append(Laplace(sensitivity=1, epsilon=1).release(np.arange(1000.0) + (len(x) == 2), budget=None))

    with pytest.raises(ReplayError, match="1000 apart"):
        replay(pipeline, [0], [0, 0])
    sound: list[np.ndarray] = []
    replay(lambda x: sound.append(Gaussian(sensitivity=5, rho=1).release(x, budget=None)), [0.0, 3.0], [3.0, -1.0])
    assert sound[0].tobytes() == sound[1].tobytes()


@pytest.mark.parametrize(
    ("mechanism", "x", "y", "distance"),
    [
        (Laplace(sensitivity=7, epsilon=1), [1.0, 2.0], [4.0, -2.0], 7),
        (Laplace(sensitivity=7, epsilon=1), 0.1, 0.3, Fraction(0.3) - Fraction(0.1)),
        (Laplace(sensitivity=7, epsilon=1, nan=3.0), math.nan, 2.5, Fraction(1, 2)),
        (Laplace(sensitivity=1, epsilon=1), np.float32([0.1]), np.float32([0.2]), Fraction(float(np.float32(0.1)))),
        (Laplace(sensitivity=1, epsilon=1), np.array([2**53 + 1]), np.array([2**53]), 1),
        (Laplace(sensitivity=1, epsilon=1), [math.inf, -0.0], [math.inf, 0.0], 0),
        (Gaussian(sensitivity=5, rho=1), [1.0, 2.0], [4.0, -2.0], 5),
        (Gaussian(sensitivity=5, rho=1), [1.0, 2.0], [2.0, 3.0], root_above(Fraction(2))),
        (Gaussian(sensitivity=root_above(Fraction(2)), rho=1), [1, 2], [2, 3], root_above(Fraction(2))),
        (DiscreteLaplace(sensitivity=3, epsilon=1), np.array([2**63 - 1]), np.array([2**63 - 4]), 3),
        (DiscreteLaplace(sensitivity=3, epsilon=1), np.array([2**64 - 1], "u8"), np.array([2**63 + 9], "u8"), 0),
        (DiscreteGaussian(sensitivity=5, rho=1), [1, 2], [4, -2], 5),
        (Snapping(sensitivity=3, epsilon=1, bounds=(0, 10)), [1.0, 99.0], [3.0, math.inf], 2),
        (Snapping(sensitivity=3, epsilon=1, bounds=(0, 10), nan=4.0), math.nan, 2.0, 2),
        (Exponential(sensitivity=3, epsilon=1), [1.0, 2.0, 3.0], [4.0, 2.0, 1.0], 3),
        (Exponential(sensitivity=3, epsilon=1), [1.0, math.nan, 3.0], [1.0, -math.inf, 3.0], 0),
        (Exponential(sensitivity=3, epsilon=1), [1.0, math.inf, 3.0], [1.0, 2.0, 3.0], 1),
        (Exponential(sensitivity=3, epsilon=1), np.array([2**64 - 1, 0], "u8"), np.array([2**64 - 3, 0], "u8"), 2),
        (Exponential(sensitivity=3, epsilon=1), [None, 1], [2, 1], 1),
        (Exponential(sensitivity=3, epsilon=1, monotonic=True), [1, 2, 3], [2, 2, 6], 3),
        (RandomizedResponse(epsilon=1, categories=4), [0, 3, 2], [0, 1, 2], 1),
        (RandomizedResponse(epsilon=1, categories=4, missing=1), [0, 9], [0, -7], 0),
    ],
)
def test_distances_are_exact(mechanism, x, y, distance):
    passed = replay(lambda data: mechanism.release(data, budget=None), x, y)
    assert passed.distances == (distance,)
    mirrored = replay(lambda data: mechanism.release(data, budget=None), y, x)
    assert mirrored.distances == (distance,)


@pytest.mark.parametrize(
    ("mechanism", "x", "y", "words"),
    [
        (Laplace(sensitivity=1, epsilon=1), [0.0, 1.0], [0.5, 1.5 + 2**-50], "L1 norm"),
        (Laplace(sensitivity=1, epsilon=1), 0.0, math.inf, "infinitely far"),
        (Laplace(sensitivity=1, epsilon=1, nan=3.0), 1.0, math.nan, "2 apart in the L1"),
        (Gaussian(sensitivity=root_above(Fraction(2)), rho=1), [0.0, 0.0], [1.0, 1.0 + 2**-50], "L2 norm"),
        (DiscreteLaplace(sensitivity=1, epsilon=1), [2**62, 0], [2**62 - 1, 1], "2 apart in the L1"),
        (DiscreteGaussian(sensitivity=1, rho=1), [0, 0], [1, 1], "L2 norm"),
        (Snapping(sensitivity=1, epsilon=1, bounds=(0, 10)), -5.0, 3.0, "3 apart"),
        (Exponential(sensitivity=1, epsilon=1), [0, 0], [0, 2], "score changes by 2"),
        (Exponential(sensitivity=1, epsilon=1, monotonic=True), [0, 0], [-1, 1], "one score rises and another falls"),
        (RandomizedResponse(epsilon=1, categories=4), [0, 1], [2, 2], "2 reports change"),
    ],
)
def test_a_distance_above_the_sensitivity_is_found(mechanism, x, y, words):
    with pytest.raises(ReplayError, match=words):
        replay(lambda data: mechanism.release(data, budget=None), x, y)


@pytest.mark.parametrize(
    ("neighbors", "rows", "sound"), [("add-remove", 1, True), ("add-remove", 2, False), ("replace-one", 2, True)]
)
def test_rows_of_disjoint_people(neighbors, rows, sound):
    """A person is in one row; who is replaced leaves one row and enters another, which costs twice."""
    x, y = np.zeros((3, 2)), np.zeros((3, 2))
    y[:rows, 1] = 1

    def pipeline(scores: np.ndarray) -> np.ndarray:
        m = Exponential(sensitivity=1, epsilon=1, monotonic=True)
        return m.release(scores, budget=budget(2, neighbors), disjoint=True)

    if not sound:
        with pytest.raises(ReplayError, match="no person is in two of them"):
            replay(pipeline, x, y)
        return
    passed = replay(pipeline, x, y)
    assert passed.distances == (1,)
    assert passed.calls[0].cost.epsilon == (2 if neighbors == "replace-one" else 1)


def test_writing_in_place():
    """The frozen output is written where the pipeline asked for it."""

    def pipeline(data: list[float]) -> np.ndarray:
        x = np.array(data)
        assert Laplace(sensitivity=1, epsilon=1).release(x, budget=None, out=x) is x
        return x

    assert replay(pipeline, [0.0, 5.0], [1.0, 5.0]).calls[0].inputs.tolist() == [0.0, 5.0]


def test_a_release_within_a_release_is_one_call():
    class Twice(Laplace):
        def release(self, x: Any, **options: Any) -> Any:
            return super().release(np.asarray(x, float), **options)

    pays = budget()
    (call,) = recorded(
        lambda x: Snapping(sensitivity=1, epsilon=1, bounds=(0, 1)).release(x, budget=pays, label="it"), [0.5]
    )
    assert isinstance(call.mechanism, Snapping)
    assert (call.cost, call.label) == (call.mechanism.cost, "it")
    (call,) = recorded(lambda x: Twice(sensitivity=1, epsilon=1).release(x, budget=None), [1])
    assert call.mechanism == Twice(sensitivity=1, epsilon=1)


def test_large_arrays():
    x = np.zeros(10**6)
    y = x.copy()
    y[77] = 1
    assert replay(lambda data: Laplace(sensitivity=1, epsilon=1).release(data, budget=None), x, y).distances == (1,)


def test_threads():
    """Releases in threads of the pipeline's own, and in several of the mechanism's."""

    def pipeline(x: np.ndarray) -> list[np.ndarray]:
        m = Laplace(sensitivity=1, epsilon=1)
        answers = []
        for piece in np.array_split(x, 3):
            with ThreadPoolExecutor(1) as pool:
                answers.append(pool.submit(m.release, piece, budget=None, workers=2).result())
        return answers

    x = np.zeros(300_000)
    y = x.copy()
    y[-1] = 1
    assert replay(pipeline, x, y).distances == (0, 0, 1)


def test_a_budget_from_outside_pays_twice():
    pays = budget(1)
    with pytest.raises(ReplayError, match="make its own budget"):
        replay(lambda x: COUNT.release(len(x), budget=pays), [1], [1, 2])


def test_spends_apart_from_releases():
    def pipeline(x: list[int]) -> int:
        pays = budget(3)
        pays.spend(COUNT, label="a")
        pays.spend(PrivacyCost(epsilon=1), label="b")
        return COUNT.release(len(x), budget=pays, label="c")

    passed = replay(pipeline, [1], [])
    assert [(spend.label, spend.mechanism) for spend in passed.spent] == [
        ("a", repr(COUNT)),
        ("b", None),
        ("c", repr(COUNT)),
    ]
    assert len(passed.calls) == 1


def test_what_the_pipeline_raises_in_both_runs():
    def pipeline(x: list[int]) -> None:
        pays = budget(1)
        for _ in range(2):
            COUNT.release(len(x), budget=pays)

    with pytest.raises(BudgetExceeded):
        replay(pipeline, [1], [1, 2])
    with pytest.raises(TypeError, match="takes integers"):
        replay(lambda x: COUNT.release(x, budget=None), 0.5, 1.5)
    with pytest.raises(TypeError, match="must be numbers"):
        recorded(lambda x: COUNT.release(x, budget=None), "text")
    with pytest.raises(TypeError, match="budget"):
        recorded(lambda x: COUNT.release(x), 1)


def test_a_generator_has_released_nothing_yet():
    with pytest.raises(TypeError, match="must return values"):
        replay(lambda x: (COUNT.release(i, budget=None) for i in x), [1], [])


# What must be found: one broken pipeline each


def broken_scale(x: np.ndarray) -> float:
    """The noise of a mean, scaled by the secret n."""
    return Laplace(sensitivity=Fraction(5, len(x)), epsilon=1).release(grid_sum(clipped(x)) / len(x), budget=None)


def broken_bounds(x: np.ndarray) -> float:
    """Bounds from the data."""
    low, high = float(np.min(x)), float(np.max(x))
    return Laplace(sensitivity=high - low, epsilon=1).release(grid_sum(clipped(x, low, high)), budget=None)


def broken_clipping(x: np.ndarray) -> float:
    """Clips, and then uses what was not clipped."""
    clipped(x)
    return Laplace(sensitivity=5, epsilon=1).release(grid_sum(x), budget=None)


def broken_histogram(x: np.ndarray) -> np.ndarray:
    """Sensitivity 1, and replacing a row moves it from bin to bin."""
    return COUNT.release(np.bincount(np.asarray(x, int), minlength=10), budget=budget(neighbors="replace-one"))


def broken_diagonal(x: np.ndarray) -> float:
    """The sum of squares: the lower bound twice, where the larger of the two belongs."""
    low, high = 1, 5
    return Laplace(sensitivity=low * low, epsilon=1).release(grid_sum(clipped(x, low, high) ** 2), budget=None)


def broken_branch(x: np.ndarray) -> int | None:
    """Answers only when there is something to count."""
    n = int(np.sum(np.asarray(x) > 4))
    return COUNT.release(n, budget=None) if n else None


def broken_nan(x: np.ndarray) -> float:
    """An exception that tells whether there is a NaN."""
    if np.isnan(x).any():
        raise ValueError("NaN in the data")
    return Laplace(sensitivity=5, epsilon=1).release(grid_sum(clipped(x)), budget=None)


def broken_warning(x: np.ndarray) -> float:
    """NumPy's own warning about an empty mean."""
    x = np.asarray(x)[np.asarray(x) > 4]
    with np.errstate(all="ignore"):
        x.mean()
    return Laplace(sensitivity=5, epsilon=1).release(0.0, budget=None)


def sequential(x: Any) -> float:
    total = 0.0
    for value in x:
        total += float(value)
    return total


def broken_float_sum(x: np.ndarray) -> float:
    """Rounding in every addition."""
    return Laplace(sensitivity=1, epsilon=1).release(sequential(clipped(x, 0, 1)), budget=None)


def broken_float32_sum(x: np.ndarray) -> float:
    """The same in float32, where order alone matters."""
    total = np.cumsum(np.clip(np.asarray(x, np.float32), 0, 1), dtype=np.float32)[-1]
    return Laplace(sensitivity=1, epsilon=1).release(float(total), budget=None)


def broken_variance(x: np.ndarray) -> float:
    """Sum of squares about a mean that was rounded; a row of bounds of width 1 changes the exact one by at most 1."""
    middle = sequential(x) / len(x)
    squares = sequential((value - middle) ** 2 for value in x)
    return Laplace(sensitivity=1, epsilon=1).release(squares, budget=None)


def broken_grid(x: np.ndarray) -> float:
    """A grid from the largest value."""
    step = float(np.spacing(np.max(x))) * 2.0**30
    return Laplace(sensitivity=5, epsilon=1, granularity=step).release(grid_sum(clipped(x)), budget=None)


def broken_return(x: np.ndarray) -> dict[str, Any]:
    """The exact count beside the noisy one."""
    return {"noisy": COUNT.release(len(x), budget=None), "rows": len(x)}


def broken_shape(x: np.ndarray) -> np.ndarray:
    """Only the keys that are present."""
    return COUNT.release(np.unique(x, return_counts=True)[1], budget=None)


def broken_dtype(x: np.ndarray) -> Any:
    """A list is of integers, or not, by its values."""
    return Laplace(sensitivity=5, epsilon=1).release([int(v) if v == int(v) else v for v in clipped(x)], budget=None)


def broken_mask(x: np.ndarray) -> int:
    """Candidates without a vote are excluded."""
    votes = np.bincount(np.asarray(x, int), minlength=10)
    return Exponential(sensitivity=1, epsilon=1, monotonic=True).release(votes, budget=None, mask=votes == 0)


def broken_spend(x: np.ndarray) -> None:
    """Pays by the number of rows."""
    budget(1000).spend(PrivacyCost(epsilon=len(x)))


def broken_retry(x: np.ndarray) -> int:
    """Asks again until the answer is good, for the secret count."""
    while abs(COUNT.release(len(x), budget=None) - len(x)) > 0:
        pass
    return 0


def broken_label(x: np.ndarray) -> int:
    return COUNT.release(len(x), budget=budget(), label=f"{len(x)} rows")


def broken_swallowing(x: np.ndarray) -> None:
    """Catches whatever goes wrong, also what the replay raises."""
    for _ in x:
        try:
            COUNT.release(len(x), budget=None)
        except AssertionError:
            return


TAIL = [1.5 * 2.0**-53] * 1000
TINY = [2.0**-25] * 2**18
FAR = 2.0**50
ABOUT = [FAR + 0.25] * 9 + [FAR + 1] * 70
BROKEN: list[tuple[Callable[[Any], Any], Any, Any, str]] = [
    (broken_scale, [1.0, 2.0], [1.0, 2.0, 3.0], "A mechanism's parameters must be public"),
    (broken_bounds, [1.0, 2.0], [1.0, 2.0, 3.0], "A mechanism's parameters must be public"),
    (broken_clipping, [1.0], [1.0, 7.0], "7 apart in the L1 norm, and its sensitivity is 5"),
    (broken_histogram, [1, 2], [1, 3], "2 apart in the L1 norm, and its sensitivity is 1"),
    (broken_diagonal, [3.0], [3.0, 5.0], "25 apart in the L1 norm, and its sensitivity is 1"),
    (broken_branch, [1.0], [1.0, 5.0], "there was also a release by DiscreteLaplace"),
    (broken_branch, [1.0, 5.0], [1.0], "there was also a release by DiscreteLaplace"),
    (broken_nan, [1.0], [1.0, math.nan], "ended well, and on the neighbour it raised ValueError: NaN"),
    (broken_nan, [1.0, math.nan], [1.0], "it raised ValueError: NaN in the data, and on the neighbour it went on"),
    (broken_warning, [1.0, 5.0], [1.0], "a warning that depends on the data"),
    (broken_float_sum, [1.0, *TAIL], [0.0, *TAIL], "apart in the L1 norm, and its sensitivity is 1"),
    (broken_float32_sum, [1.0, *TINY], [*TINY, 0.0, 1.0, 1.0], "apart in the L1 norm, and its sensitivity is 1"),
    (broken_variance, ABOUT, [*ABOUT[:31], FAR, *ABOUT[32:]], "apart in the L1 norm, and its sensitivity is 1"),
    (broken_grid, [1.0], [1.0, 5.0], "a grid or a choice that depends on the data"),
    (broken_return, [1], [1, 1], r"the returned value\['rows'\]: 1 and 2"),
    (broken_shape, [1], [1, 2], r"shape.*\(1,\) and \(2,\)|the call\['shape'\]"),
    (broken_dtype, [1.0], [1.5], "the call"),
    (broken_mask, [1, 2], [1, 2, 3], "the call.*mask"),
    (broken_spend, [1], [1, 2], "a spend of PrivacyCost"),
    (broken_retry, [1], [1, 2], "there was also a release"),
    (broken_label, [1], [1, 2], "cost, label"),
    (broken_swallowing, [1], [1, 2, 3], "2 apart"),
]


@pytest.mark.parametrize(("pipeline", "x", "y", "words"), BROKEN, ids=[case[0].__name__[7:] for case in BROKEN])
def test_a_broken_pipeline_is_found(pipeline, x, y, words):
    with pytest.raises(ReplayError, match=words):
        replay(pipeline, x, y)


@pytest.mark.parametrize(
    ("pipeline", "x", "y"),
    [
        (broken_scale, [1.0], [2.0]),
        (broken_clipping, [1.0], [1.0, 5.0]),
        (broken_nan, [1.0], [1.0, 5.0]),
        (broken_float_sum, [1.0, 0.5], [1.0, 0.5, 1.0]),
        (broken_branch, [5.0], [5.0, 5.0]),
    ],
)
def test_one_pair_of_neighbours_is_not_every_pair(pipeline, x, y):
    """The same pipelines pass where their fault does not show."""
    replay(pipeline, x, y)


def test_own_randomness_counts_as_a_difference():
    rng = np.random.default_rng()
    with pytest.raises(ReplayError, match="without a fixed seed"):
        replay(lambda x: COUNT.release(len(x), budget=None) + rng.random(), [1], [2])


def test_a_method_bound_before_goes_around_the_replay():
    bound = Laplace(sensitivity=1, epsilon=1).release
    with pytest.raises(ReplayError, match="bound before the replay"):
        replay(lambda x: bound(float(len(x)), budget=None), [1], [2])


# How it comes and goes


def methods() -> list[Any]:
    from exactnoise.mechanisms import AdditiveMechanism, LocalRandomizer, SelectionMechanism

    kinds = (AdditiveMechanism, Snapping, SelectionMechanism, LocalRandomizer)
    return [*(vars(kind)["release"] for kind in kinds), vars(PrivacyBudget)["spend"]]


def test_the_methods_are_restored():
    before = methods()
    during: list[Any] = []
    recorded(lambda x: during.extend(methods()), None)
    assert not any(map(lambda a, b: a is b, before, during))
    assert all(map(lambda a, b: a is b, before, methods()))
    for error in (ValueError, KeyboardInterrupt, SystemExit):

        def pipeline(x: None, error: type[BaseException] = error) -> None:
            raise error

        with pytest.raises(error):
            replay(pipeline, None, None)
        with pytest.raises(error):
            recorded(pipeline, None)
        assert all(map(lambda a, b: a is b, before, methods()))


def test_no_replay_within_a_replay():
    def outer(x: None) -> None:
        with pytest.raises(RuntimeError, match="cannot be nested"):
            recorded(lambda y: None, x)
        with pytest.raises(RuntimeError, match="cannot be nested"):
            replay(lambda y: None, x, x)

    recorded(outer, None)
    replay(outer, None, None)
    assert recorded(lambda x: COUNT.release(x, budget=None), 1)


def test_what_pipelines_return():
    """Equal in value, whatever they are; a NaN equals a NaN, and a negative zero no zero."""

    class Plain:
        def __init__(self, value: Any) -> None:
            self.value = value

    def returned(x: Any) -> None:
        replay(lambda value: value, *x)

    same = [math.nan, 0.0, "a", None, {"a": [1, (2, 3)]}, {1, 2}, np.array([1, math.nan]), Fraction(1, 3), b"x"]
    same += [np.datetime64("NaT"), np.array(["a", None], object), PrivacyCost(epsilon=1), Plain([1]), budget()]
    same += [np.ma.masked_array([1, 2], [True, False]), np.zeros(2, "i4, f8"), [np.array(math.nan)], 1j, int, len]
    for value in same:
        other = budget() if isinstance(value, PrivacyBudget) else copy.deepcopy(value)
        returned((value, other))
    different = [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        (np.zeros(2), np.zeros(3)),
        (np.zeros(2), np.zeros(2, "f4")),
        (np.zeros(2), -np.zeros(2)),
        (np.float64(1), 1.0),
        ([1, 2], [1, 3]),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 2}),
        ({1}, {2}),
        (Plain([1]), Plain([2])),
        (np.ma.masked_array([1, 2], [True, False]), np.ma.masked_array([1, 2], [False, False])),
        (np.array(["a", None], object), np.array(["a", "b"], object)),
        (PrivacyCost(epsilon=1), PrivacyCost(epsilon=2)),
        (budget(1), budget(2)),
        (np.array([(1, 2.0)], "i4, f8"), np.array([(1, 3.0)], "i4, f8")),
        ("a" * 1000, "b" * 1000),
        (lambda: 1, lambda: 2),
    ]
    for pair in different:
        with pytest.raises(ReplayError, match="returned something else"):
            returned(pair)


def test_equal_warnings_pass():
    def pipeline(x: list[int]) -> int:
        warnings.warn("of old", DeprecationWarning, stacklevel=1)
        return COUNT.release(len(x), budget=None)

    replay(pipeline, [1], [])
