"""Differential-privacy noise that is exactly right.

>>> from exactnoise import Laplace, PrivacyBudget
>>> budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
>>> count = Laplace(sensitivity=1, epsilon=0.5)
>>> noisy = count.release([1203, 871, 44], budget=budget)
>>> budget.remaining
PrivacyCost(epsilon='0.5')
"""

from typing import TYPE_CHECKING, Any

from exactnoise import mechanisms
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.errors import BudgetExceeded, EntropyError, ExactNoiseError, MissingExtra, UnsupportedInstructionSet
from exactnoise.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Snapping, clip_l1, clip_l2

if TYPE_CHECKING:
    from exactnoise.mechanisms import (
        Exponential,
        LocalHashing,
        OptimizedUnaryEncoding,
        PermuteAndFlip,
        RandomizedResponse,
        SymmetricUnaryEncoding,
    )

__version__ = "0.1.0"

__all__ = [
    "BudgetExceeded",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EntropyError",
    "ExactNoiseError",
    "Exponential",
    "Gaussian",
    "Laplace",
    "LocalHashing",
    "MissingExtra",
    "OptimizedUnaryEncoding",
    "PermuteAndFlip",
    "PrivacyBudget",
    "PrivacyCost",
    "RandomizedResponse",
    "Snapping",
    "SymmetricUnaryEncoding",
    "UnsupportedInstructionSet",
    "__version__",
    "clip_l1",
    "clip_l2",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(mechanisms, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
