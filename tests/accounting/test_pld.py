"""Privacy loss distributions through dp-accounting: near the exact values, on the safe side, only on request."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from fractions import Fraction

import pytest
from golden import is_just_above, load

from exactnoise import DiscreteLaplace, Gaussian, Laplace, MissingExtra
from exactnoise.accounting import (
    PrivacyCost,
    gaussian_epsilon,
    laplace_delta,
    optimal_delta,
    optimal_epsilon,
    pld_delta,
    pld_epsilon,
)
from exactnoise.accounting.loss import (
    DiscreteGaussianLoss,
    ExponentialLoss,
    GaussianLoss,
    LaplaceLoss,
    RandomizedResponseLoss,
    StatedLoss,
)

ROWS = load("pld")
TOLERANCE = 1e-5  # of a discretisation of 1e-4


GAUSSIAN = [row for row in load("gaussian_profile")["epsilon"] if Fraction(row["delta"]) >= Fraction(1, 10**9)]
GAUSSIAN = [pytest.param(row, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, row in enumerate(GAUSSIAN)]


@pytest.mark.parametrize("row", GAUSSIAN, ids=str)
def test_gaussian(row):
    plan = row["k"] * Gaussian(sensitivity=1, scale=row["sigma"]).cost
    width = "1e-4" if Fraction(row["value"]) > Fraction(1, 10) else "1e-6"  # well below the epsilon
    assert is_just_above(pld_epsilon(plan, row["delta"], discretization=width), row["value"], TOLERANCE)


@pytest.mark.parametrize("row", load("laplace_profile")["epsilon"], ids=str)
def test_laplace(row):
    plan = row["k"] * Laplace(sensitivity=1, scale=row["scale"]).cost
    assert is_just_above(pld_epsilon(plan, row["delta"]), row["value"], TOLERANCE)


@pytest.mark.parametrize("row", ROWS["geometric"], ids=str)
def test_two_sided_geometric(row):
    plan = row["k"] * DiscreteLaplace(sensitivity=1, epsilon=row["epsilon_each"]).cost
    assert is_just_above(pld_epsilon(plan, row["delta"]), row["value"], TOLERANCE)
    assert is_just_above(optimal_epsilon(row["epsilon_each"], times=row["k"], delta=row["delta"]), row["value"])


@pytest.mark.parametrize("row", ROWS["discrete_gaussian"], ids=str)
def test_discrete_gaussian(row):
    loss = DiscreteGaussianLoss(1 / (2 * Fraction(row["sigma"]) ** 2), 1)
    assert is_just_above(pld_epsilon(row["k"] * PrivacyCost.of(loss), row["delta"]), row["value"], TOLERANCE)


@pytest.mark.parametrize("row", ROWS["gaussian_and_one_laplace"], ids=str)
def test_mixtures(row):
    plan = row["k"] * Gaussian(sensitivity=1, scale=row["sigma"]).cost + Laplace(sensitivity=1, scale=row["scale"]).cost
    # These rows have 15 digits.
    epsilon = pld_epsilon(plan, row["delta"])
    assert Fraction(row["value"]) * (1 - Fraction(1, 10**14)) <= epsilon
    assert epsilon <= Fraction(row["value"]) * (1 + Fraction(TOLERANCE))
    assert epsilon < plan.epsilon_at(row["delta"])


@pytest.mark.parametrize("row", load("laplace_profile")["delta"], ids=str)
def test_delta(row):
    delta = pld_delta(row["k"] * Laplace(sensitivity=1, scale=row["scale"]).cost, row["epsilon"])
    exact = Fraction(row["value"])
    assert exact * (1 - Fraction(1, 10**24)) <= delta <= exact * (1 + Fraction(TOLERANCE)) + Fraction(1, 10**13)


def test_other_kinds():
    response = 10 * PrivacyCost.of(RandomizedResponseLoss(Fraction(1, 2), 5))
    binary = 10 * PrivacyCost.of(RandomizedResponseLoss(Fraction(1, 2), 2))
    stated = 10 * PrivacyCost(epsilon="0.5")
    exponential = 10 * PrivacyCost.of(ExponentialLoss(Fraction(1, 2)))
    worst = optimal_epsilon("0.5", times=10, delta=1e-6)
    assert pld_epsilon(response, 1e-6) < worst
    for plan in (binary, stated, exponential):
        assert worst <= pld_epsilon(plan, 1e-6) <= worst * (1 + Fraction(TOLERANCE))
    approximate = 3 * PrivacyCost(epsilon="0.5", delta=1e-8)
    assert optimal_delta("0.5", times=3, epsilon=1, delta_each=1e-8) <= pld_delta(approximate, 1)
    sums = 5 * DiscreteLaplace(sensitivity=3, epsilon="0.5").cost
    assert (
        laplace_delta("0.5", 1, times=5) <= pld_delta(sums, 1) <= optimal_delta("0.5", times=5, epsilon=1) + TOLERANCE
    )


@pytest.mark.parametrize("delta", ["1e-10", "1e-9", "1e-6"])
@pytest.mark.parametrize(("times", "each"), [(1000, "0.01"), (10**4, "0.01"), (10**5, "0.001")])
def test_rounding_errors_of_many_releases_are_allowed_for(times, each, delta):
    """The losses lie on the cells, so that nothing but the margin is above the exact value."""
    exact = optimal_epsilon(each, times=times, delta=delta)
    assert exact <= pld_epsilon(times * PrivacyCost(epsilon=each), delta) <= exact * Fraction(101, 100)


@pytest.mark.parametrize("times", [10**4, 10**5])
def test_rounding_errors_of_many_gaussian_releases_are_allowed_for(times):
    rho = Fraction(1, 2 * times)
    for delta in ("1e-10", "2e-10", "1e-9"):
        exact = gaussian_epsilon(Fraction(1, 2), delta)
        assert exact <= pld_epsilon(times * PrivacyCost.of(GaussianLoss(rho)), delta) <= exact * Fraction(101, 100)


@pytest.mark.parametrize("loss", [StatedLoss(Fraction(1, 3)), RandomizedResponseLoss(Fraction(1, 3), 2)])
@pytest.mark.parametrize("times", [1, 10, 300])
def test_losses_between_cells(loss, times):
    exact = optimal_epsilon("1/3", times=times, delta=1e-6)
    assert is_just_above(pld_epsilon(times * PrivacyCost.of(loss), 1e-6), str(exact), TOLERANCE)


def test_cells_wider_than_a_loss_are_safe():
    exact = optimal_epsilon("0.00123", times=1000, delta=1e-6)
    for width, factor in (("1e-2", 4), ("1e-3", 1.1), ("1e-4", 1.001)):
        epsilon = pld_epsilon(1000 * PrivacyCost(epsilon="0.00123"), 1e-6, discretization=width)
        assert exact <= epsilon <= exact * Fraction(factor)


def test_never_above_the_sum_of_the_epsilons():
    for delta in (1e-10, 1e-6):
        assert pld_epsilon(DiscreteLaplace(sensitivity=1000, epsilon="1/3").cost, delta) <= Fraction(1, 3)


def test_a_larger_delta_needs_no_larger_epsilon():
    plan = 7 * Laplace(sensitivity=1, scale=3).cost + 3 * Gaussian(sensitivity=1, scale=4).cost
    epsilons = [pld_epsilon(plan, delta) for delta in ("1e-10", "1e-8", "1e-3", "0.1", "0.9", "0.999999")]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[-1] == 0
    for delta, epsilon in (("1e-8", epsilons[1]), ("1e-3", epsilons[2])):
        assert pld_delta(plan, epsilon) <= Fraction(delta) * (1 + Fraction(TOLERANCE))


def test_extremes():
    assert pld_epsilon(0 * PrivacyCost(epsilon=8), 0.1) == 0
    assert pld_epsilon(PrivacyCost(epsilon=0), 0.1) == 0
    assert pld_epsilon(PrivacyCost(epsilon=1e-300), 1e-6) <= Fraction(1, 10**300)
    assert pld_epsilon(PrivacyCost.of(LaplaceLoss(Fraction(1, 10**300))), 0.1) == 0
    assert pld_delta(PrivacyCost(epsilon=1), "1e390") < 1e-13
    assert 440 < pld_epsilon(PrivacyCost(epsilon=450), 1e-6) <= 450
    for revealing in (PrivacyCost(epsilon=1, delta=1), 60 * PrivacyCost(epsilon=1, delta=0.6)):
        assert pld_delta(revealing, 1) == 1
        with pytest.raises(ValueError, match="no finite epsilon"):
            pld_epsilon(revealing, 0.5)
    assert pld_delta(10**400 * Laplace(sensitivity=1, scale=1).cost, 1) == 1


def test_many_releases():
    plan = 10**5 * Laplace(sensitivity=1, epsilon="0.001").cost
    epsilon = pld_epsilon(plan, 1e-6, discretization="1e-5")
    assert epsilon <= plan.epsilon_at(1e-6) * (1 + Fraction(1, 1000))


def test_a_finer_discretisation_is_closer():
    plan = 5 * Laplace(sensitivity=1, scale=2).cost
    coarse, fine = (pld_epsilon(plan, 1e-6, discretization=width) for width in ("0.01", "0.0001"))
    assert plan.epsilon_at(1e-6) <= fine < coarse


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pld_epsilon(PrivacyCost(rho=1), 1e-6), TypeError, "known by its rho alone.* use zcdp_epsilon"),
        (lambda: pld_epsilon([PrivacyCost(epsilon=1)], 1e-6), TypeError, "plan must be a PrivacyCost"),
        (lambda: pld_delta("plan", 1), TypeError, "plan must be a PrivacyCost"),
        (lambda: pld_epsilon(10**7 * PrivacyCost(epsilon=1), 1e-9), ValueError, "delta must be at least about 4.44"),
        (lambda: pld_epsilon(10**5 * PrivacyCost(epsilon=1), 1e-6), ValueError, "plan's loss into about .* raise it"),
        (lambda: pld_epsilon(PrivacyCost(epsilon=1e300), 1e-6), ValueError, "into 1.0e.304 cells"),
        (
            lambda: pld_epsilon(DiscreteLaplace(sensitivity=10**9, epsilon=1).cost, 1e-6),
            ValueError,
            "a sensitivity of at most 1000000 .* use epsilon_at",
        ),
        (
            lambda: pld_epsilon(PrivacyCost.of(DiscreteGaussianLoss(Fraction(1, 10**12), 1)), 1e-6),
            ValueError,
            "a sigma of at most 10000 .* use epsilon_at",
        ),
        (lambda: pld_epsilon(PrivacyCost(epsilon=1), 1e-11), ValueError, "delta must be at least 1e-10"),
        (lambda: pld_epsilon(PrivacyCost(epsilon=1), 1), ValueError, "delta must be a positive number below 1"),
        (lambda: pld_delta(PrivacyCost(epsilon=1), -1), ValueError, "epsilon must be zero or a positive number"),
        (lambda: pld_epsilon(PrivacyCost(epsilon=1), 0.1, discretization=0), ValueError, "discretization must be"),
        (lambda: pld_epsilon(PrivacyCost(epsilon=10**6), 0.1), ValueError, "discretization 0.0001 divides .* raise it"),
        (lambda: pld_epsilon(PrivacyCost(rho=10**8, epsilon=10**8), 0.1), ValueError, "1.0e.12 cells"),
        (lambda: pld_epsilon(Gaussian(sensitivity=1, rho=10**6).cost, 0.1), ValueError, "discretization .* raise it"),
        (
            lambda: pld_epsilon(PrivacyCost(epsilon=1, delta=1e-3), 1e-6),
            ValueError,
            "no finite epsilon at this delta",
        ),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("call", [pld_epsilon, pld_delta])
def test_without_the_library(monkeypatch, call):
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtra) as caught:
        call(PrivacyCost(epsilon=1), 0.5)
    assert str(caught.value) == ('privacy loss distributions need dp-accounting: pip install "exactnoise[accounting]"')
    assert isinstance(caught.value, ImportError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_it_is_loaded_by_nothing_else():
    program = "import sys, exactnoise.accounting; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert "exactnoise" in loaded
    assert not {"dp_accounting", "scipy", "absl", "mpmath"} & set(loaded)


@pytest.mark.parametrize(
    "loss",
    [
        GaussianLoss(Fraction(1, 8)),
        DiscreteGaussianLoss(Fraction(1, 8), 3),
        LaplaceLoss(Fraction(1, 2)),
        RandomizedResponseLoss(Fraction(1, 2), 3),
        DiscreteLaplace(sensitivity=3, epsilon="0.5").cost.losses[0][0],
    ],
    ids=lambda loss: type(loss).__name__,
)
def test_every_kind_is_counted_in_the_cells_that_are_asked_for(loss):
    one = PrivacyCost.of(loss)
    coarse, fine = (pld_epsilon(2 * one, "1e-5", discretization=width) for width in ("1e-2", "1e-3"))
    assert fine <= coarse < fine * Fraction(102, 100)
    if loss.epsilon is None:  # sigma = 6 in units of the integers, where discrete noise is as private as continuous
        assert fine == pytest.approx(gaussian_epsilon("0.25", "1e-5"), rel=0.01)


def test_the_answers_that_tell_nothing_are_counted():
    """Two answers among three categories: both true, or one true and one that favours neither neighbour."""
    share = 1 / (math.exp(0.5) + 2)
    true, other = math.exp(0.5) * share, share
    delta = true**2 * (1 - math.exp(0.25 - 1)) + 2 * true * other * (1 - math.exp(0.25 - 0.5))
    plan = 2 * PrivacyCost.of(RandomizedResponseLoss(Fraction(1, 2), 3))
    assert delta <= pld_delta(plan, "0.25") <= delta * (1 + TOLERANCE)


def test_a_delta_is_at_most_1():
    assert pld_delta(PrivacyCost(epsilon=40), 0) == 1
