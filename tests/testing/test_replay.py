"""The replay harness: what it records, the distances it finds, and how it comes and goes."""

from __future__ import annotations

import math
import warnings
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
    aggregates,
)
from exactnoise.mechanisms._parameters import root_above
from exactnoise.mechanisms._wide import Wide
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


def test_people_whose_ids_alone_tell_how_many_rows_there_are():
    def pipeline(ids: list[int]) -> Any:
        terms: Any = {"rows_per_person": 2, "neighbors": "add-remove", "epsilon": 1, "budget": None}
        return aggregates.count(person=ids, **terms).value

    assert replay(pipeline, [7, 7, 7, 8], [8]).distances == (2,)


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


def test_exact_totals():
    """What no 64-bit number holds, in one call."""
    m = DiscreteLaplace(sensitivity=Fraction(2) ** 70 + 1, scale=1)
    fine = Laplace(sensitivity=Fraction(1, 2**40), epsilon=1)

    def pipeline(totals: list[int]) -> tuple[np.ndarray, np.ndarray]:
        return m.release_wide(Wide.from_ints(totals, 0), workers=2), fine.release_wide(Wide.from_ints(totals, -110))

    passed = replay(pipeline, [5, -(2**80)], [5, -(2**80) - 2**70])
    assert passed.distances == (2**70, Fraction(1, 2**40))
    assert passed.calls[0].inputs.tolist() == [5, -(2**80)]
    with pytest.raises(ReplayError, match="L1 norm"):
        replay(pipeline, [5, -(2**80)], [5, -(2**80) - 2**70 - 1])
    with pytest.raises(ReplayError, match="exponent"):
        replay(lambda bits: fine.release_wide(Wide.from_ints([0], bits)), -50, -51)


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


def test_equal_warnings_pass():
    def pipeline(x: list[int]) -> int:
        warnings.warn("of old", DeprecationWarning, stacklevel=1)
        return COUNT.release(len(x), budget=None)

    replay(pipeline, [1], [])
