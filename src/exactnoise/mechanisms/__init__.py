"""Mechanisms: checked public parameters on the outside, exactly rounded noise on the inside."""

from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism
from exactnoise.mechanisms.gaussian import Gaussian
from exactnoise.mechanisms.laplace import DiscreteLaplace, Laplace
from exactnoise.mechanisms.response import (
    LocalHashing,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SymmetricUnaryEncoding,
)

__all__ = [
    "AdditiveMechanism",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "LocalHashing",
    "Mechanism",
    "OptimizedUnaryEncoding",
    "RandomizedResponse",
    "SymmetricUnaryEncoding",
]
