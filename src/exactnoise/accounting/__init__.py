"""Privacy accounting in exact arithmetic: costs, budgets and conversions.

Standard library only: it can be read, tested and used without the compiled core or NumPy.
"""

from exactnoise.accounting.budget import PrivacyBudget, Spend
from exactnoise.accounting.convert import discrete_laplace_rho, laplace_rho, pure_rho
from exactnoise.accounting.cost import PrivacyCost

__all__ = [
    "PrivacyBudget",
    "PrivacyCost",
    "Spend",
    "discrete_laplace_rho",
    "laplace_rho",
    "pure_rho",
]
