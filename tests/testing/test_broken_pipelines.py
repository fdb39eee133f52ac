"""One small broken pipeline for every fault that a replay must find."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactnoise import DiscreteLaplace, Exponential, Laplace, PrivacyBudget, PrivacyCost
from exactnoise.testing import ReplayError, replay

COUNT = DiscreteLaplace(sensitivity=1, epsilon=1)


def budget(epsilon: int = 1, neighbors: str = "add-remove") -> PrivacyBudget:
    return PrivacyBudget(neighbors=neighbors, unit="row", epsilon=epsilon)


def clipped(x: Any, low: float = 0, high: float = 5) -> np.ndarray:
    return np.clip(np.asarray(x, float), low, high)


def grid_sum(x: Any) -> float:
    """An exact sum on a grid."""
    return sum(round(value * 2.0**20) for value in map(float, x)) / 2**20


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
