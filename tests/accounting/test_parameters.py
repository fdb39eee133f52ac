"""Every parameter of every function: its name in refusals, its range, and room for computed prices."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.capacity import gaussian_queries_that_fit, largest_query_epsilon, queries_that_fit
from exactnoise.accounting.compose import (
    advanced_epsilon,
    advanced_filter_epsilon,
    basic_epsilon,
    optimal_delta,
    optimal_epsilon,
    optimal_epsilon_each,
)
from exactnoise.accounting.convert import discrete_laplace_rho, exponential_rho, laplace_rho, pure_rho
from exactnoise.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_rho
from exactnoise.accounting.laplace import laplace_delta, laplace_epsilon
from exactnoise.accounting.rdp import (
    discrete_laplace_rdp,
    gaussian_rdp,
    laplace_rdp,
    pure_rdp,
    randomized_response_rdp,
    rdp_delta,
    rdp_epsilon,
)
from exactnoise.accounting.response import randomized_response_rho
from exactnoise.accounting.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho

HALF, SMALL = Fraction(1, 2), Fraction(1, 10**6)


def curve(order):
    return order * Fraction(1, 50) if order < math.inf else math.inf


def budget(**promise):
    return PrivacyBudget(neighbors="add-remove", unit="person", **promise).total


def of_several(epsilons):
    return basic_epsilon([HALF, epsilons])


def of_counted(epsilons):
    return basic_epsilon({epsilons: 2})


def epsilon_of_a_plan(delta):
    return PrivacyCost(epsilon=HALF).epsilon_at(delta)


def delta_of_a_plan(epsilon):
    return PrivacyCost(epsilon=HALF).delta_at(epsilon)


def in_rho(**promise):
    return budget(method="zcdp", **promise)


def of_both(**promise):
    return budget(method="basic", **promise)


USES = [
    (basic_epsilon, {"epsilons": HALF}, {}),
    (advanced_epsilon, {"epsilons": HALF, "delta": SMALL}, {"times": 3}),
    (advanced_filter_epsilon, {"epsilons": HALF, "delta": SMALL}, {"times": 3}),
    (optimal_epsilon, {"epsilons": HALF, "delta": SMALL}, {"times": 3}),
    (optimal_delta, {"epsilons": HALF, "epsilon": Fraction(1), "delta_each": SMALL}, {"times": 3}),
    (optimal_epsilon_each, {"epsilon": Fraction(1), "delta": SMALL}, {"times": 3}),
    (discrete_laplace_rho, {"epsilon": HALF}, {"sensitivity": 2}),
    (exponential_rho, {"epsilon": HALF}, {}),
    (laplace_rho, {"epsilon": HALF}, {}),
    (pure_rho, {"epsilon": HALF}, {}),
    (gaussian_delta, {"rho": HALF, "epsilon": Fraction(1)}, {}),
    (gaussian_epsilon, {"rho": HALF, "delta": SMALL}, {}),
    (gaussian_rho, {"epsilon": HALF, "delta": SMALL}, {}),
    (laplace_delta, {"epsilon_each": HALF, "epsilon": Fraction(1)}, {"times": 3}),
    (laplace_epsilon, {"epsilon_each": HALF, "delta": SMALL}, {"times": 3}),
    (gaussian_rdp, {"rho": HALF, "order": Fraction(2)}, {}),
    (laplace_rdp, {"epsilon": HALF, "order": Fraction(2)}, {}),
    (discrete_laplace_rdp, {"epsilon": HALF, "order": Fraction(2)}, {"sensitivity": 2}),
    (randomized_response_rdp, {"epsilon": HALF, "order": Fraction(2)}, {"categories": 5}),
    (pure_rdp, {"epsilon": HALF, "order": Fraction(2)}, {}),
    (rdp_epsilon, {"delta": SMALL}, {"curve": curve, "orders": [8]}),
    (rdp_delta, {"epsilon": Fraction(1)}, {"curve": curve, "orders": [8]}),
    (randomized_response_rho, {"epsilon": HALF}, {"categories": 3}),
    (zcdp_delta, {"rho": HALF, "epsilon": Fraction(3)}, {}),
    (zcdp_epsilon, {"rho": HALF, "delta": SMALL}, {}),
    (zcdp_rho, {"epsilon": HALF, "delta": SMALL}, {}),
    (queries_that_fit, {"query_epsilon": HALF, "epsilon": Fraction(5, 2)}, {}),
    (queries_that_fit, {"epsilon": Fraction(5, 2), "delta": SMALL}, {"query_epsilon": HALF}),
    (largest_query_epsilon, {"epsilon": HALF}, {"times": 2}),
    (gaussian_queries_that_fit, {"query_rho": Fraction(1, 3), "epsilon": Fraction(5, 2), "delta": SMALL}, {}),
    (PrivacyCost, {"epsilon": HALF, "delta": SMALL, "rho": HALF}, {}),
    (of_several, {"epsilons": HALF}, {}),
    (of_counted, {"epsilons": HALF}, {}),
    (epsilon_of_a_plan, {"delta": SMALL}, {}),
    (delta_of_a_plan, {"epsilon": Fraction(1, 3)}, {}),
    (budget, {"epsilon": HALF}, {}),
    (budget, {"rho": HALF}, {}),
    (of_both, {"epsilon": HALF, "delta": SMALL}, {}),
    (in_rho, {"epsilon": HALF, "delta": SMALL}, {}),
]
MAY_BE_ZERO = {
    (gaussian_delta, "epsilon"),
    (laplace_delta, "epsilon"),
    (laplace_epsilon, "delta"),
    (optimal_delta, "epsilon"),
    (optimal_delta, "delta_each"),
    (optimal_epsilon, "delta"),
    (optimal_epsilon_each, "delta"),
    (rdp_delta, "epsilon"),
    (zcdp_delta, "epsilon"),
    (PrivacyCost, "epsilon"),
    (PrivacyCost, "delta"),
    (PrivacyCost, "rho"),
    (epsilon_of_a_plan, "delta"),
    (delta_of_a_plan, "epsilon"),
}
PARAMETERS = [(use, numbers, others, name) for use, numbers, others in USES for name in numbers]
IDS = [f"{use.__name__}-{name}" for use, _, _, name in PARAMETERS]


@pytest.mark.parametrize(("use", "numbers", "others", "name"), PARAMETERS, ids=IDS)
def test_refusals_name_the_parameter(use, numbers, others, name):
    refused = [(-1, ValueError), (math.nan, ValueError), (True, TypeError)]
    if use is not of_counted:  # nor be a key
        refused.append((Decimal("sNaN"), ValueError))  # it cannot even be compared
    if (use, name) not in MAY_BE_ZERO:
        refused.append((0, ValueError))
    if name == "delta" and use is not PrivacyCost:
        refused.append((1, ValueError))
    for value, error in refused:
        with pytest.raises(error, match=rf"^{name} must "):
            use(**numbers | {name: value}, **others)


@pytest.mark.parametrize(
    ("use", "numbers", "others", "name"),
    [parameter for parameter in PARAMETERS if (parameter[0], parameter[3]) in MAY_BE_ZERO],
)
def test_zero_is_allowed_where_it_has_a_meaning(use, numbers, others, name):
    use(**numbers | {name: 0}, **others)


@pytest.mark.parametrize(("use", "numbers", "others", "name"), PARAMETERS, ids=IDS)
def test_a_price_may_be_longer_than_anything_typed(use, numbers, others, name):
    """Sums and shares of prices are: here one that differs from a short number beyond its 2400th digit."""
    longer = numbers[name] * (1 + Fraction(1, 3**5100))
    near, there = (use(**numbers | {name: value}, **others) for value in (numbers[name], longer))
    if isinstance(there, Fraction):
        assert near == pytest.approx(there, rel=1e-9)
    else:
        assert type(near) is type(there)
