"""Parameters that would take seconds to calculate with are refused at once, wherever they enter."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.accounting import PrivacyBudget, PrivacyCost, laplace_rho


@pytest.mark.parametrize("value", [1 << 10**6, Fraction(1, 10**50_000)], ids=["integer", "fraction"])
@pytest.mark.parametrize(
    "use",
    [
        lambda value: Laplace(sensitivity=value, epsilon=1),
        lambda value: Laplace(sensitivity=1, epsilon=value),
        lambda value: Laplace(sensitivity=1, scale=value),
        lambda value: Laplace(sensitivity=1, scale=1, granularity=value),
        lambda value: DiscreteLaplace(sensitivity=value, scale=1),
        lambda value: Gaussian(sensitivity=value, epsilon=1, delta=0.1),
        lambda value: Gaussian(sensitivity=1, rho=value),
        lambda value: Laplace.from_accuracy(half_width=value, sensitivity=1),
        lambda value: PrivacyCost(epsilon=value),
        lambda value: PrivacyBudget(neighbors="add-remove", unit="row", rho=value),
        laplace_rho,
    ],
)
def test_refused_at_once(use, value):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"must lie between 1e-400 and 1e400 .*, got a (int|Fraction) of thousands"):
        use(value)
    assert time.process_time() - started < 0.2


@pytest.mark.parametrize("delta", ["1e-301", 5e-324, Fraction(1, 10**2000)], ids=["text", "float", "fraction"])
@pytest.mark.parametrize("build", [Gaussian, Gaussian.from_accuracy], ids=["constructor", "from_accuracy"])
def test_the_least_delta_of_gaussian_noise(build, delta):
    price = {"epsilon": 1} if build is Gaussian else {"half_width": 10}
    started = time.process_time()
    with pytest.raises(ValueError, match=r"^delta must be at least 1e-300, got "):
        build(sensitivity=1, delta=delta, **price)
    assert time.process_time() - started < 0.2


def test_the_longest_parameters_have_a_price():
    long, other = Fraction(2**8000 - 1, 2**7999 + 1), Fraction(2**8000 - 3, 2**7999 + 5)
    started = time.process_time()
    assert Laplace(sensitivity=long, scale=other).cost.epsilon == long / other
    assert DiscreteLaplace(sensitivity=1, scale=other).cost.epsilon == 1 / other
    assert Laplace(sensitivity=Fraction(1, 2**7999), epsilon=Fraction(1, 2**7999)).cost.rho > 0
    assert time.process_time() - started < 0.5


def test_sums_may_outgrow_every_bound():
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=10)
    prices = [Fraction(1, 3**15_000), Fraction(1, 5**10_000), Fraction(1, 7**8_000)]
    for price in prices:
        budget.spend(PrivacyCost(epsilon=price))
    assert budget.spent.epsilon == sum(prices)
    assert budget.remaining.epsilon == 10 - sum(prices)
    assert (3 * PrivacyCost(epsilon=prices[0]) + PrivacyCost(epsilon=prices[1])).epsilon == 3 * prices[0] + prices[1]
