"""What a table holds, the epsilon for an error, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from exactnoise import DiscreteLaplace, Laplace
from exactnoise.aggregates import Histogram, Mean, count, histogram, mean, quantile, sum, variance  # noqa: A004
from exactnoise.utility import epsilon_for, table

DATA = [10.0, 20.0, 90.0, float("nan")]
BOUNDED: dict[str, Any] = {"data": DATA, "bounds": (0, 60), "neighbors": "add-remove", "trials": 0}


def test_rows_are_in_the_order_of_the_epsilons() -> None:
    rows = table(Laplace, [2, "0.5", Fraction(1, 3)], sensitivity=1, trials=10)
    assert [row.epsilon for row in rows] == [2, Fraction(1, 2), Fraction(1, 3)]
    assert [row.what for row in rows] == ["Laplace"] * 3
    assert {(row.trials, row.alpha, len(row.sample)) for row in rows} == {(10, 0.05, 10)}


def test_exact_cells() -> None:
    """Errors are about the clipped data; a missing value counts as the lower bound."""
    for what, exact, more in (
        (sum, 90.0, {}),
        (mean, 22.5, {}),
        (variance, (10**2 + 20**2 + 60**2) / 4 - 22.5**2, {}),
        (variance, ((10**2 + 20**2 + 60**2) / 4 - 22.5**2) * 4 / 3, {"ddof": 1}),
        (count, 4.0, {"data": None, "bounds": None, "n": 4}),
        (quantile, 15.0, {"q": 0.5, "granularity": 1}),
    ):
        given = {name: value for name, value in {**BOUNDED, **more}.items() if value is not None}
        (row,) = table(what, [1], **given)
        assert row.mean_error is not None
        assert row.relative_error == pytest.approx(row.mean_error / exact, rel=1e-9), what


def test_relative_error_and_cells_below_the_noise() -> None:
    (row,) = table("discrete-laplace", [1], sensitivity=1, exact=[0, 2, 3, 100], trials=0)
    assert row.half_width == 3
    assert row.share_below_noise == 0.5
    assert row.mean_error is not None
    assert row.relative_error == row.mean_error / 26.25
    (unknown,) = table("discrete-laplace", [1], sensitivity=1, trials=0)
    assert (unknown.relative_error, unknown.share_below_noise) == (None, None)
    (counts,) = table(histogram, [1], data=[1, 1, 1, 1, 5], edges=[0, 2, 4, 6], neighbors="add-remove", trials=0)
    assert counts.share_below_noise == pytest.approx(2 / 3)
    (zero,) = table("laplace", [1], sensitivity=1, exact=0, trials=0)
    assert (zero.relative_error, zero.share_below_noise) == (None, 1.0)


def test_no_trials() -> None:
    (row,) = table(Laplace, [1], sensitivity=1, trials=0)
    assert (row.simulated_std, row.simulated_half_width, row.simulated_mean_error, row.sample) == (None, None, None, ())


def test_ways_of_saying_what() -> None:
    minutes = Mean(bounds=(0, 60))
    minutes.add(DATA)
    expected = table(mean, [1], **BOUNDED)
    assert table(minutes, [1], neighbors="add-remove", trials=0) == expected
    for what in ("mean", Mean, partial(Mean, bounds=(0, 60)), partial(mean, bounds=(0, 60))):
        given = {name: value for name, value in BOUNDED.items() if name != "bounds" or not isinstance(what, partial)}
        assert table(what, [1], **given) == expected
    assert minutes.release(epsilon=1, budget=None, neighbors="add-remove").statistic == "mean"
    grouped = partial(Histogram, edges=[0, 30, 60], keys=["a", "b"])
    (row,) = table(grouped, [1], data=DATA, by=list("abab"), neighbors="replace-one", trials=50)
    assert row.scale == 2


def test_a_mean_without_rows_is_not_off_by_more_than_the_bounds() -> None:
    (row,) = table(mean, ["0.01"], data=[], bounds=(0, 60), neighbors="add-remove", trials=100)
    assert (row.std, row.mean_error, row.half_width) == (30, 30, 30)
    assert row.simulated_half_width is not None
    assert row.simulated_half_width.value <= 30


MEASURES: list[tuple[Any, dict[str, Any]]] = [
    ("laplace", {"sensitivity": 1}),
    ("discrete-laplace", {"sensitivity": 3}),
    ("gaussian", {"sensitivity": 1, "delta": "1e-6"}),
    ("discrete-gaussian", {"sensitivity": 1, "delta": "1e-6"}),
    ("snapping", {"sensitivity": 1, "bounds": (0, 1000), "exact": 500}),
    ("exponential", {"sensitivity": 1, "exact": [100, 90, 50]}),
    ("mean", {"data": np.arange(100.0), "bounds": (0, 1000), "neighbors": "add-remove"}),
    ("variance", {"data": np.arange(30.0), "bounds": (0, 30), "neighbors": "replace-one"}),
    ("quantile", {"data": np.arange(100), "bounds": (0, 127), "granularity": 1, "q": 0.5, "neighbors": "add-remove"}),
    ("histogram", {"data": [1], "edges": [0, 2], "neighbors": "add-remove"}),
]


@pytest.mark.parametrize("measure", ["half_width", "std", "mean_error"])
@pytest.mark.parametrize(("what", "params"), MEASURES, ids=lambda value: value if isinstance(value, str) else "")
def test_epsilon_for(what: Any, params: dict[str, Any], measure: Any) -> None:
    """It is of four digits, it suffices, and the next smaller one does not."""
    epsilon = epsilon_for(what, 4, measure=measure, alpha=0.1, **params)
    digits = f"{float(epsilon):e}".partition("e")[0].replace(".", "").rstrip("0")
    assert len(digits) <= 4
    unit = Fraction(10) ** (int(f"{float(epsilon):e}".partition("e")[2]) - 3)
    enough, less = table(what, [epsilon, epsilon - unit], trials=0, alpha=0.1, **params)
    assert getattr(enough, measure) <= 4 < getattr(less, measure)


def test_epsilon_for_is_that_of_the_mechanism() -> None:
    mechanism = DiscreteLaplace.from_accuracy(half_width=10, sensitivity=2, alpha=0.01)
    assert epsilon_for(DiscreteLaplace, 10, sensitivity=2, alpha=0.01) == mechanism.epsilon


def test_many_groups_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of 5 to 604 rows: the closed form of 256 of them is near that of all."""
    sizes = np.arange(5, 605)
    rows = np.repeat(sizes, sizes)
    given = {"by": rows, "keys": sizes.tolist(), "bounds": (0, 60), "neighbors": "add-remove", "trials": 0}
    (some,) = table(mean, [1], data=rows * 0.05, **given)
    monkeypatch.setattr("exactnoise.utility.statistics._MOST_LAWS", 10**6)
    (every,) = table(mean, [1], data=rows * 0.05, **given)
    for name in ("std", "mean_error", "half_width"):
        assert getattr(some, name) == pytest.approx(getattr(every, name), rel=0.03), name


def test_epsilon_for_with_options_of_the_mechanism() -> None:
    plain = epsilon_for(Laplace, 10, sensitivity=1)
    assert plain < epsilon_for(Laplace, 10, sensitivity=1, granularity=1) < Fraction(11, 10) * plain


def refused(error: type[Exception], match: str, *args: Any, **params: Any) -> None:
    with pytest.raises(error, match=match):
        table(*args, **params)


def test_refusals() -> None:
    one = {"sensitivity": 1}
    refused(TypeError, "epsilons must be several", Laplace, "0.1", **one)
    refused(TypeError, "epsilons must be several", Laplace, 0.1, **one)
    refused(ValueError, "at least one", Laplace, [], **one)
    refused(ValueError, r"epsilons\[1\] must be a positive number", Laplace, [1, 0], **one)
    refused(TypeError, r"epsilons\[0\]", Laplace, [None], **one)
    refused(TypeError, "trials", Laplace, [1], trials=1.5, **one)
    refused(ValueError, "trials", Laplace, [1], trials=-1, **one)
    refused(ValueError, "trials must be at most", Laplace, [1], trials=10**9, **one)
    refused(ValueError, "alpha", Laplace, [1], alpha=1, **one)
    refused(TypeError, "needs sensitivity", Laplace, [1])
    cells = {"data": [1], "edges": range(102), "neighbors": "add-remove"}
    refused(ValueError, "101 cells", histogram, [1], trials=10**6, **cells)
    refused(TypeError, "needs exactly one of", "gaussian", [1], **one)
    for name in ("epsilon", "scale", "rho", "budget"):
        refused(TypeError, f"{name} has no place here", Laplace, [1], **{**one, name: 1})
    refused(ValueError, "what must be one of laplace, .*mean", "laplacian", [1])
    refused(TypeError, "what must be", 7, [1])
    refused(TypeError, "what must be", dict, [1])
    refused(TypeError, "keywords only", partial(mean, DATA), [1])
    refused(TypeError, "data is for statistics", Laplace, [1], data=[1], **one)
    refused(TypeError, "whole numbers", "discrete-laplace", [1], exact=0.5, **one)
    refused(TypeError, "exact must be a number", Laplace, [1], exact="5", **one)
    refused(TypeError, "exact must be a number", Laplace, [1], exact=[], **one)
    refused(ValueError, "exact must be finite", Laplace, [1], exact=float("nan"), **one)
    refused(TypeError, "score of each candidate", "exponential", [1], **one)
    refused(TypeError, "needs data", mean, [1], bounds=(0, 1), neighbors="add-remove")
    refused(TypeError, "needs neighbors", mean, [1], data=[1], bounds=(0, 1))
    refused(TypeError, "needs bounds", mean, [1], data=[1], neighbors="add-remove")
    refused(TypeError, "colour", mean, [1], colour=1, **{**BOUNDED, "trials": 1})
    refused(TypeError, "needs exact", lambda **_: 0, [1])
    refused(ValueError, "mechanism must be", mean, [1], mechanism="cauchy", **BOUNDED)


def test_a_released_accumulator_is_refused() -> None:
    minutes = Mean(bounds=(0, 60))
    minutes.release(epsilon=1, budget=None, neighbors="add-remove")
    refused(ValueError, "has been released", minutes, [1], neighbors="add-remove")
    refused(TypeError, "in the statistic already", Mean(bounds=(0, 60)), [1], data=[1], neighbors="add-remove")


def test_targets_that_are_refused() -> None:
    with pytest.raises(ValueError, match="measure must be one of"):
        epsilon_for(Laplace, 1, measure="bias", sensitivity=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target must be"):
        epsilon_for(Laplace, -1, sensitivity=1)
    with pytest.raises(ValueError, match=r"^half_width must be a positive number, got 0$"):
        epsilon_for("laplace", 0, sensitivity=1)
    with pytest.raises(TypeError, match="no closed form"):
        epsilon_for(lambda **_: 0, 1, exact=0)
    with pytest.raises(ValueError, match="any epsilon is enough"):
        epsilon_for(mean, 60, data=[1], bounds=(0, 60), neighbors="add-remove")
    with pytest.raises(ValueError, match="no epsilon up to 1e6"):
        epsilon_for("laplace", "1e-9", measure="std", sensitivity=1)
