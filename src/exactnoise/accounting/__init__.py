"""Privacy accounting in exact arithmetic: costs, budgets, composition and conversions.

Standard library only (but for `pld_epsilon` and `pld_delta`, which import dp-accounting when
called): it can be read, tested and used without the compiled core or NumPy.

A budget in which the next query may be chosen after seeing the last answer is `PrivacyBudget`. The
functions price plans whose parameters are fixed beforehand.
"""

from exactnoise.accounting.budget import PrivacyBudget, Spend
from exactnoise.accounting.capacity import (
    Capacity,
    gaussian_queries_that_fit,
    largest_query_epsilon,
    queries_that_fit,
)
from exactnoise.accounting.compose import (
    advanced_epsilon,
    advanced_filter_epsilon,
    basic_epsilon,
    optimal_delta,
    optimal_epsilon,
    optimal_epsilon_each,
)
from exactnoise.accounting.convert import discrete_laplace_rho, exponential_rho, laplace_rho, pure_rho
from exactnoise.accounting.cost import PrivacyCost, disjoint
from exactnoise.accounting.gaussian import gaussian_delta, gaussian_epsilon, gaussian_rho
from exactnoise.accounting.laplace import laplace_delta, laplace_epsilon
from exactnoise.accounting.pld import pld_delta, pld_epsilon
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

__all__ = [
    "Capacity",
    "PrivacyBudget",
    "PrivacyCost",
    "Spend",
    "advanced_epsilon",
    "advanced_filter_epsilon",
    "basic_epsilon",
    "discrete_laplace_rdp",
    "discrete_laplace_rho",
    "disjoint",
    "exponential_rho",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_queries_that_fit",
    "gaussian_rdp",
    "gaussian_rho",
    "laplace_delta",
    "laplace_epsilon",
    "laplace_rdp",
    "laplace_rho",
    "largest_query_epsilon",
    "optimal_delta",
    "optimal_epsilon",
    "optimal_epsilon_each",
    "pld_delta",
    "pld_epsilon",
    "pure_rdp",
    "pure_rho",
    "queries_that_fit",
    "randomized_response_rdp",
    "randomized_response_rho",
    "rdp_delta",
    "rdp_epsilon",
    "zcdp_delta",
    "zcdp_epsilon",
    "zcdp_rho",
]
