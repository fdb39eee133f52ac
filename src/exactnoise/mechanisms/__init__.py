"""Mechanisms: checked public parameters on the outside, exactly rounded noise on the inside."""

from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism
from exactnoise.mechanisms.gaussian import Gaussian
from exactnoise.mechanisms.laplace import DiscreteLaplace, Laplace
from exactnoise.mechanisms.selection import Exponential, PermuteAndFlip, SelectionMechanism

__all__ = [
    "AdditiveMechanism",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "Laplace",
    "Mechanism",
    "PermuteAndFlip",
    "SelectionMechanism",
]
