"""What the cost of a plan knows beyond its sums: curves, mu, and the least (epsilon, delta) of all theorems."""

from __future__ import annotations

import math
import pickle
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, Laplace
from exactnoise.accounting import (
    PrivacyCost,
    gaussian_delta,
    gaussian_epsilon,
    laplace_delta,
    laplace_epsilon,
    laplace_rdp,
    optimal_delta,
    optimal_epsilon,
    pure_rdp,
    rdp_epsilon,
    zcdp_delta,
    zcdp_epsilon,
)
from exactnoise.accounting.loss import (
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialLoss,
    GaussianLoss,
    LaplaceLoss,
    RandomizedResponseLoss,
    StatedLoss,
)

TENTH = Fraction(1, 10)
KINDS = [
    LaplaceLoss(TENTH),
    DiscreteLaplaceLoss(TENTH, 3),
    GaussianLoss(TENTH),
    DiscreteGaussianLoss(TENTH, 2),
    RandomizedResponseLoss(TENTH, 5),
    ExponentialLoss(TENTH),
]


def test_the_losses_of_mechanisms():
    assert Laplace(sensitivity=2, epsilon="0.1").cost.losses == ((LaplaceLoss(TENTH), 1),)
    assert DiscreteLaplace(sensitivity=3, epsilon="0.1").cost.losses == ((DiscreteLaplaceLoss(TENTH, 3), 1),)
    assert Gaussian(sensitivity=1, rho="0.1").cost.losses == ((GaussianLoss(TENTH), 1),)
    ((loss, count),) = Gaussian(sensitivity=1, epsilon=1, delta=1e-6).cost.losses
    assert count == 1
    assert loss.rho == Gaussian(sensitivity=1, epsilon=1, delta=1e-6).rho


def test_sums_count_the_losses():
    a, b = Laplace(sensitivity=1, epsilon="0.1").cost, Gaussian(sensitivity=1, rho="0.1").cost
    plan = 3 * a + b + a * 2 + PrivacyCost(epsilon=1, rho="0.5")
    assert dict(plan.losses) == {
        LaplaceLoss(TENTH): 5,
        GaussianLoss(TENTH): 1,
        StatedLoss(Fraction(1), Fraction(0), Fraction(1, 2)): 1,
    }
    assert pickle.loads(pickle.dumps(plan)).losses == plan.losses
    assert (0 * a).losses == ()
    assert sum([a, a]).losses == (2 * a).losses


def test_typed_costs_know_what_was_typed():
    assert PrivacyCost(epsilon=1).losses == ((StatedLoss(Fraction(1)), 1),)
    assert PrivacyCost.of(GaussianLoss(TENTH)) == PrivacyCost(rho="0.1")


@pytest.mark.parametrize("loss", KINDS, ids=repr)
def test_curves(loss):
    cost = PrivacyCost.of(loss)
    orders = [1, "1.5", 2, 10, 1000]
    points = [cost.rdp(order) for order in orders]
    assert points == sorted(points)
    assert points[0] >= 0.999999 * cost.rho or isinstance(loss, ExponentialLoss)
    for order, point in zip(orders, points, strict=True):
        assert point <= Fraction(order) * cost.rho * (1 + Fraction(1, 10**18))
        assert (3 * cost).rdp(order) == 3 * point
    assert cost.rdp(math.inf) == (math.inf if loss.epsilon is None else loss.epsilon)


def test_curves_of_typed_costs():
    assert PrivacyCost(rho="0.1").rdp(3) == 3 * TENTH
    assert PrivacyCost(epsilon=1).rdp(3) == pure_rdp(3, 1)
    assert PrivacyCost(epsilon=1, rho="0.001").rdp(3) == Fraction(3, 1000)
    assert PrivacyCost(epsilon=1, rho="0.001").rdp(math.inf) == 1
    both = PrivacyCost(epsilon=1, delta=1e-6)
    with pytest.raises(TypeError, match=r"^a cost of epsilon 1, delta 1e-6 has no Renyi curve"):
        both.rdp(2)
    with pytest.raises(ValueError, match="order must be at least 1"):
        PrivacyCost(rho=1).rdp("0.5")


def test_mu():
    gaussian = Gaussian(sensitivity=3, scale=4)
    assert gaussian.cost.mu == Fraction(3, 4)
    assert (4 * gaussian.cost).mu == Fraction(3, 2)
    mu = (2 * gaussian.cost).mu
    assert Fraction(9, 8) <= mu**2 <= Fraction(9, 8) * (1 + Fraction(1, 10**18))
    assert Laplace(sensitivity=1, epsilon=1).cost.mu is None
    assert (gaussian.cost + PrivacyCost(rho=1)).mu is None
    assert PrivacyCost.of(DiscreteGaussianLoss(TENTH, 1)).mu is None


def test_one_kind_has_its_exact_profile():
    gaussian = 10 * Gaussian(sensitivity=1, scale=10).cost
    assert gaussian.epsilon_at(1e-6) == gaussian_epsilon("0.05", 1e-6)
    assert gaussian.delta_at("0.5") == gaussian_delta("0.05", "0.5")
    laplace = 10 * Laplace(sensitivity=1, scale=10).cost
    assert laplace.epsilon_at(1e-6) == laplace_epsilon("0.1", 1e-6, times=10)
    assert laplace.delta_at("0.5") == laplace_delta("0.1", "0.5", times=10)
    stated = 10 * PrivacyCost(epsilon="0.1")
    assert stated.epsilon_at(1e-6) == optimal_epsilon("0.1", times=10, delta=1e-6)
    assert stated.delta_at("0.5") == optimal_delta("0.1", times=10, epsilon="0.5")
    zcdp = PrivacyCost(rho="0.02")
    assert zcdp.epsilon_at(1e-6) == zcdp_epsilon("0.02", 1e-6)
    assert zcdp.delta_at(1) == zcdp_delta("0.02", 1)


def test_the_rho_of_a_selection_is_computed_once():
    """A minute went by with its logarithms of hundreds of digits, which each order of the curve took anew."""
    cost = Exponential(sensitivity=1, epsilon="1.087e-241").cost
    started = time.process_time()
    assert cost.epsilon_at("1.089e-240") == 0
    assert time.process_time() - started < 15


def test_many_laplace_releases_take_the_better_theorem():
    many = 10**5 * Laplace(sensitivity=1, epsilon="0.001").cost
    started = time.process_time()
    epsilon = many.epsilon_at(1e-6)
    assert time.process_time() - started < 1
    by_curve = rdp_epsilon(lambda order: 10**5 * laplace_rdp(order, "0.001"), 1e-6)
    assert epsilon == min(by_curve, optimal_epsilon("0.001", times=10**5, delta=1e-6))


def test_kinds_mixed():
    plan = 5 * Laplace(sensitivity=1, epsilon="0.1").cost + 10 * Gaussian(sensitivity=1, scale=20).cost
    epsilon = plan.epsilon_at(1e-6)
    assert epsilon < zcdp_epsilon(plan.rho, 1e-6) * (1 + Fraction(1, 10**9))
    assert plan.delta_at(epsilon) <= Fraction(1, 10**6) * (1 + Fraction(1, 10**9))
    with pytest.raises(ValueError, match="nothing is known"):
        plan.epsilon_at(0)


def test_the_basic_sum_where_it_is_best():
    assert PrivacyCost(epsilon=1).epsilon_at(0) == 1
    assert PrivacyCost(epsilon=1, delta=1e-9).epsilon_at(1e-9) == 1
    assert PrivacyCost(epsilon=1, delta=1e-9).delta_at(1) == Fraction(1, 10**9)
    with pytest.raises(ValueError, match="nothing is known of this cost at delta 1e-10"):
        PrivacyCost(epsilon=1, delta=1e-9).epsilon_at(1e-10)
    with pytest.raises(ValueError, match=r"nothing is known of this cost at epsilon 0\.5"):
        PrivacyCost(epsilon=1, delta=1e-9).delta_at("0.5")
    assert PrivacyCost(epsilon=3).delta_at(3) == 0
    assert Laplace(sensitivity=1, epsilon=1).cost.delta_at("1e400") == 0
    assert PrivacyCost(epsilon=0).epsilon_at(1e-6) == 0


def test_sums_so_long_that_nobody_typed_them():
    long = sum(Fraction(1, 3 ** (7000 + i)) for i in range(20))
    cost = PrivacyCost.from_exact(rho=Fraction(1, 2) + long * Fraction(1, 5**9000))
    assert cost.epsilon_at(1e-6) >= zcdp_epsilon("0.5", 1e-6)


@pytest.mark.usefixtures("repetition")
@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.integers(1, 20),
    st.sampled_from(["1e-3", "1e-6", "1e-12"]),
)
def test_profiles_are_consistent(kinds, times, delta):
    plan = times * sum(PrivacyCost.of(kind) for kind in kinds)
    epsilon = plan.epsilon_at(delta)
    assert plan.delta_at(epsilon) <= Fraction(delta) * (1 + Fraction(1, 10**9))
    assert epsilon <= zcdp_epsilon(plan.rho, delta) * (1 + Fraction(1, 10**9))
    assert plan.epsilon is None or epsilon <= plan.epsilon


@pytest.mark.parametrize("delta", [-1, 1, math.nan, True, None, "x"])
def test_refused_deltas(delta):
    with pytest.raises((TypeError, ValueError), match="delta must"):
        PrivacyCost(epsilon=1).epsilon_at(delta)


def test_the_sums_of_a_mixed_plan():
    pure = PrivacyCost.of(LaplaceLoss(Fraction(1))) + 2 * PrivacyCost(epsilon="0.5")
    assert pure.epsilon_at(0) == 2
    assert pure.delta_at(2) == 0
    stated = PrivacyCost(epsilon=1, delta="1e-6") + PrivacyCost(epsilon="0.5", delta="1e-7")
    assert stated.epsilon_at("1.1e-6") == Fraction(3, 2)
    assert stated.delta_at("1.5") == Fraction(11, 10**7)


@pytest.mark.parametrize("mechanism", [DiscreteGaussian, Gaussian])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_calibrated_noise_keeps_to_its_epsilon_and_delta(mechanism, sensitivity):
    """The Renyi curve of discrete Gaussian noise alone proves nothing as small: 0.027 in place of 0.01."""
    delta = Fraction(1, 100)
    cost = mechanism(sensitivity=sensitivity, epsilon=1, delta=delta).cost
    assert cost.delta_at(1) <= delta
    assert cost.epsilon_at(delta) <= 1
    assert (3 * cost).delta_at(3) <= 3 * delta
    with_another = cost + PrivacyCost(epsilon=1)
    assert with_another.delta_at(2) <= delta
    assert with_another.epsilon_at(delta) <= 2
