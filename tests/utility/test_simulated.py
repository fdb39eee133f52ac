"""Simulated releases agree with the closed forms, and a wrong closed form would be caught.

Randomness is the system's. A check alarms by chance with a probability below 1e-9: the share of errors beyond a half
width is binomial (Chernoff's bound), and moments are allowed eight of their standard errors, which for squares of
Laplace noise, of kurtosis 6, and 20 000 of them is beyond 1e-11 even with the skewness.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from goodness import ALARM, count_tail

from exactnoise import PrivacyBudget
from exactnoise.aggregates import Mean, Release, count, histogram, mean, quantile, sum, variance, vector_sum  # noqa: A004
from exactnoise.utility import Row, table
from exactnoise.utility.subjects import subject_of

TRIALS = 20_000
ALLOWED = 8
EVEN = (np.arange(2000) + 0.5) * 60 / 2000
SKEWED = EVEN**3 / 3600

SUBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "laplace": ("laplace", {"sensitivity": 2}),
    "laplace on cells": ("laplace", {"sensitivity": 2, "exact": [0.25, -1e6, 17]}),
    "discrete laplace": ("discrete-laplace", {"sensitivity": 1, "exact": 7}),
    "gaussian": ("gaussian", {"sensitivity": 1, "delta": "1e-6"}),
    "discrete gaussian": ("discrete-gaussian", {"sensitivity": 1, "delta": "1e-6"}),
    "snapping": ("snapping", {"sensitivity": 1, "bounds": (0, 20), "exact": 6.3}),
    "exponential": ("exponential", {"sensitivity": 1, "exact": [10, 9, 8, 5]}),
    "permute and flip": ("permute-and-flip", {"sensitivity": 1, "exact": [10, 9, 8, 5], "monotonic": True}),
    "count": (count, {"n": 50, "neighbors": "add-remove"}),
    "masked count": (count, {"data": EVEN > 30, "neighbors": "replace-one"}),
    "sum": (sum, {"data": EVEN, "bounds": (0, 60), "neighbors": "add-remove"}),
    "mean": (mean, {"data": EVEN, "bounds": (0, 60), "neighbors": "add-remove"}),
    "mean off the middle": (mean, {"data": SKEWED, "bounds": (0, 60), "neighbors": "add-remove"}),
    "mean, public size": (mean, {"data": SKEWED, "bounds": (0, 60), "neighbors": "replace-one"}),
    "mean, gaussian": (
        mean,
        {"data": SKEWED, "bounds": (0, 60), "neighbors": "add-remove", "delta": "1e-6", "mechanism": "gaussian"},
    ),
    "means of groups": (
        Mean,
        {
            "data": SKEWED,
            "bounds": (0, 60),
            "by": np.arange(2000) % 5 // 2,
            "keys": range(3),
            "neighbors": "add-remove",
        },
    ),
    "variance": (variance, {"data": SKEWED, "bounds": (0, 60), "neighbors": "add-remove", "ddof": 1}),
    "variance, public size": (variance, {"data": EVEN, "bounds": (0, 60), "neighbors": "replace-one"}),
    "quantile": (
        quantile,
        {"data": SKEWED, "q": 0.5, "bounds": (0, 60), "granularity": 2**-6, "neighbors": "add-remove"},
    ),
    "quantiles": (
        quantile,
        {"data": EVEN, "q": [0.1, 0.9], "bounds": (0, 60), "granularity": 1, "neighbors": "add-remove"},
    ),
    "histogram": (histogram, {"data": EVEN, "edges": [0, 20, 60], "neighbors": "replace-one"}),
    "vector sum": (
        vector_sum,
        {"data": EVEN.reshape(-1, 4) / 100, "norm": "l2", "bound": 1, "neighbors": "add-remove", "delta": "1e-6"},
    ),
}


def disagreements(row: Row) -> list[str]:
    assert row.std is not None
    assert row.mean_error is not None
    assert row.simulated_std is not None
    assert row.simulated_mean_error is not None
    root = math.sqrt(row.trials)
    allowed = ALLOWED * row.std * math.sqrt(5) / 2 / root
    found = ["std"] if abs(row.simulated_std.value - row.std) > allowed else []
    spread = math.sqrt(max(row.std**2 - row.mean_error**2, 0))
    if abs(row.simulated_mean_error.value - row.mean_error) > ALLOWED * spread / root:
        found.append("mean error")
    return found


@pytest.mark.parametrize("name", SUBJECTS)
def test_agreement(name: str) -> None:
    what, params = SUBJECTS[name]
    (row,) = table(what, [1], trials=TRIALS, **params)
    assert disagreements(row) == []
    assert row.std is not None
    assert row.mean_error is not None
    assert disagreements(replace(row, std=1.2 * row.std)) == ["std"]
    assert "mean error" in disagreements(replace(row, mean_error=1.5 * row.mean_error))
    assert "mean error" in disagreements(replace(row, mean_error=row.mean_error / 1.5))


@pytest.mark.parametrize("name", SUBJECTS)
def test_half_widths(name: str) -> None:
    """As many errors are beyond the law's half width as it says, for levels across the law."""
    what, params = SUBJECTS[name]
    given = {"exact": None, "neighbors": None, "data": None}
    rest = {key: value for key, value in params.items() if key not in given}
    case = subject_of(what, **{key: params.get(key) for key in given}, params=rest).at(Fraction(1))
    assert case.law is not None
    errors = np.abs(case.simulate(TRIALS)).ravel()
    first_order = 1.03 if "mean" in name or name == "variance" else 1.0  # what the delta method leaves out
    exact = name in ("laplace", "gaussian", "sum", "mean, public size", "vector sum")
    for alpha in (0.9, 0.5, 0.1, 0.05, 0.01):
        width = case.law.half_width(alpha)
        share = count_tail(int(np.sum(errors > width)), errors.size, alpha)
        if exact:
            assert share > ALARM
            # Beyond are 0.929 at level 0.9: eight standard deviations past the alarm, and more at other levels.
            assert count_tail(int(np.sum(errors > 0.7 * width)), errors.size, alpha) < ALARM
        else:  # whole numbers and the like step over the level
            beyond = np.mean(errors > width * first_order + 1e-9)
            assert beyond <= alpha or count_tail(int(beyond * errors.size), errors.size, alpha) > ALARM
            assert case.half_width(alpha) >= width * (1 - 1e-6)


def test_a_function_of_ones_own() -> None:
    """Whatever releases something, called once a trial; without a closed form."""

    def noisy_total(data: Any, *, epsilon: Any, budget: PrivacyBudget | None, neighbors: Any) -> Release:
        return sum(data, bounds=(0, 60), epsilon=epsilon, budget=budget, neighbors=neighbors)

    (row,) = table(noisy_total, [1], data=[30.0, 20.0], exact=50, neighbors="add-remove", trials=400)
    assert (row.what, row.std, row.half_width, row.mean_error) == ("noisy_total", None, None, None)
    assert row.simulated_mean_error is not None
    # Exponential of mean 60: 400 of them have a mean between 30 and 100 but for a chance below 1e-15.
    assert 30 < row.simulated_mean_error.value < 100
    assert row.relative_error == row.simulated_mean_error.value / 50
    assert row.share_below_noise == 1.0


def test_people_are_sampled_in_each_release() -> None:
    """Of each person's two different rows one is kept, so that the sum differs by more than the noise."""
    data, people = [0.0, 60.0] * 50, np.repeat(np.arange(50), 2)
    (row,) = table(
        sum, [1000], data=data, exact=1500, bounds=(0, 60), person=people, rows_per_person=1,
        neighbors="add-remove", trials=300,
    )  # fmt: skip
    assert row.std is None
    assert row.simulated_std is not None
    assert 100 < row.simulated_std.value < 400  # sqrt(50) 30 = 212


def test_speed() -> None:
    """Five epsilons with a thousand releases each take less than a second; the best of three, of busy machines."""
    data = np.random.default_rng(1).uniform(0, 60, 10_000)
    best = math.inf
    for _ in range(3):
        start = time.perf_counter()
        table(mean, [0.1, 0.5, 1, 2, 5], data=data, bounds=(0, 60), neighbors="add-remove")
        best = min(best, time.perf_counter() - start)
    assert best < 1
