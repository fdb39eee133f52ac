"""Intervals hold the exact value as often as they promise, and standard errors are those of the noise.

Many groups of the same rows give as many repetitions in one release. Bounds are seven standard deviations of a
binomial count, or of an empirical standard deviation: a false alarm has a chance below 1e-9.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from exactnoise.aggregates import Release, count, histogram, mean, quantile, sum, variance, vector_sum  # noqa: A004

GROUPS, ROWS = 2000, 400
X = np.random.default_rng(11).gamma(3, 5, ROWS)
CLIPPED = np.clip(X, 0, 40)
BY = np.repeat(np.arange(GROUPS), ROWS)
TILED = np.tile(X, GROUPS)
VECTORS = np.random.default_rng(12).normal(0, 1, (50, 2000))
GROUPED = {"by": BY, "keys": range(GROUPS), "bounds": (0, 40)}
TERMS = {
    "epsilon": {"epsilon": 2, "neighbors": "add-remove"},
    "replaced": {"epsilon": 2, "neighbors": "replace-one"},
    "rho": {"rho": 0.5, "neighbors": "add-remove"},
    "joint": {"epsilon": 2, "delta": "1e-6", "mechanism": "gaussian", "neighbors": "add-remove"},
    "people": {"epsilon": 2, "neighbors": "add-remove", "rows_per_person": 2, "groups_per_person": 2},
}
STATISTICS = {
    "count": (lambda **terms: count(by=BY, keys=range(GROUPS), **terms), ROWS),
    "sum": (lambda **terms: sum(TILED, **GROUPED, **terms), CLIPPED.sum()),
    "mean": (lambda **terms: mean(TILED, **GROUPED, **terms), CLIPPED.mean()),
    "variance": (lambda **terms: variance(TILED, **GROUPED, **terms), CLIPPED.var()),
    "variance of a sample": (lambda **terms: variance(TILED, ddof=1, **GROUPED, **terms), CLIPPED.var(ddof=1)),
    "histogram": (
        lambda **terms: histogram(TILED, edges=[0, 10], by=BY, keys=range(GROUPS), **terms),
        int(((X >= 0) & (X <= 10)).sum()),
    ),
}


def outside(released: Release, exact: float, alpha: float) -> int:
    low, high = released.interval(alpha)
    return int(((low > exact) | (high < exact)).sum())


def most(trials: int, chance: float) -> float:
    return trials * chance + 7 * math.sqrt(trials * chance)


@pytest.mark.parametrize("terms", TERMS.values(), ids=TERMS)
@pytest.mark.parametrize(("statistic", "exact"), STATISTICS.values(), ids=STATISTICS)
def test_intervals_and_standard_errors(statistic, exact, terms):
    released = statistic(budget=None, **terms)
    for alpha in (0.3, 0.05):
        assert outside(released, exact, alpha) <= most(GROUPS, alpha)
    # To first order for quotients, whose own standard errors vary with the noise.
    noise = np.asarray(released.value).ravel() - exact
    assert 0.75 < np.sqrt(np.mean((noise / released.std_error.ravel()) ** 2)) < 1.25


@pytest.mark.parametrize("terms", [TERMS["rho"], TERMS["joint"]], ids=["rho", "joint"])
def test_vectors(terms):
    norms = np.linalg.norm(VECTORS, axis=1)
    exact = (VECTORS * np.minimum(1, 10 / norms)[:, None]).sum(axis=0)
    released = vector_sum(VECTORS, norm="l2", bound=10, budget=None, **terms)
    low, high = released.interval(0.05)
    assert ((low > exact) | (high < exact)).sum() <= most(2000, 0.05)
    assert 0.88 < np.std(released.value - exact) / released.std_error[0] < 1.12


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
def test_public_sizes(neighbors):
    if neighbors == "replace-one":
        for function, exact in ((mean, CLIPPED.mean()), (variance, CLIPPED.var())):
            releases = [function(X, bounds=(0, 40), epsilon=2, budget=None, neighbors=neighbors) for _ in range(500)]
            missed = [outside_of(released, exact) for released in releases]
            assert np.sum(missed) <= most(500, 0.05)
    released = quantile(X, [0.1, 0.5], bounds=(0, 40), epsilon=2, budget=None, neighbors=neighbors)
    assert 0 < released.rank_error(0.05) < ROWS


def outside_of(released: Release, exact: float) -> bool:
    low, high = released.interval(0.05)
    return not low <= exact <= high


@pytest.mark.parametrize("rows", [2, 3, 400])
def test_samples_at_both_bounds_have_the_largest_variance(rows):
    """n / (n - 1) times a quarter of the squared width: no value, error or interval ends below it."""
    x = np.arange(rows) % 2
    groups = {"by": np.repeat(np.arange(GROUPS), rows), "keys": range(GROUPS), "bounds": (0, 1)}
    released = variance(np.tile(x, GROUPS), ddof=1, epsilon=20, neighbors="add-remove", budget=None, **groups)
    low, high = released.interval(0.05)
    exact = x.var(ddof=1)
    assert ((low > exact) | (high < exact * (1 - 1e-12))).sum() <= most(GROUPS, 0.05)
    assert high.max() <= 0.5
    public = variance(x, bounds=(0, 1), ddof=1, epsilon=1e-3, neighbors="replace-one", budget=None)
    assert public.std_error == pytest.approx(rows / (rows - 1) / 4)


@pytest.mark.parametrize("neighbors", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("function", "largest"), [(mean, 40), (variance, 400)])
def test_standard_errors_are_no_larger_than_the_bounds_allow(function, largest, neighbors):
    released = function([3, 5], bounds=(0, 40), epsilon="1e-6", neighbors=neighbors, budget=None)
    assert released.std_error <= largest
    if neighbors == "replace-one":  # else the noisy size may by chance be large
        assert released.std_error == pytest.approx(largest)


def test_ranks():
    """The share of rows below a released quantile is off by no more than the promised number of rows."""
    released = quantile(TILED, 0.3, granularity=2.0**-6, epsilon=1, budget=None, neighbors="add-remove", **GROUPED)
    below = (CLIPPED[None, :] < released.value[:, None]).sum(axis=1)
    above = (CLIPPED[None, :] > released.value[:, None]).sum(axis=1)
    off = np.abs(0.7 * below - 0.3 * above)
    best = 1.0  # of a candidate: rows lie less than one apart in rank, but for rounding to the grid
    assert (off > released.rank_error(0.05) + best + 1).sum() <= most(GROUPS, 0.05)
    assert np.quantile(off, 0.95) > released.rank_error(0.05) / 20


def test_intervals_that_are_too_narrow_are_caught():
    released = STATISTICS["mean"][0](budget=None, **TERMS["epsilon"])
    centre, exact = released.value, CLIPPED.mean()
    narrow = np.abs(centre - exact) > 0.9 * released.std_error
    assert narrow.sum() > most(GROUPS, 0.05)
