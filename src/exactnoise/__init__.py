"""Differential-privacy noise that is exactly right.

>>> from exactnoise import Laplace, PrivacyBudget
>>> budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
>>> count = Laplace(sensitivity=1, epsilon=0.5)
>>> noisy = count.release([1203, 871, 44], budget=budget)
>>> budget.remaining
PrivacyCost(epsilon='0.5')
"""

from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.errors import BudgetExceeded, EntropyError, ExactNoiseError, MissingExtra, UnsupportedInstructionSet
from exactnoise.mechanisms import (
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LocalHashing,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SymmetricUnaryEncoding,
)

__version__ = "0.1.0"

__all__ = [
    "BudgetExceeded",
    "DiscreteLaplace",
    "EntropyError",
    "ExactNoiseError",
    "Gaussian",
    "Laplace",
    "LocalHashing",
    "MissingExtra",
    "OptimizedUnaryEncoding",
    "PrivacyBudget",
    "PrivacyCost",
    "RandomizedResponse",
    "SymmetricUnaryEncoding",
    "UnsupportedInstructionSet",
    "__version__",
]
