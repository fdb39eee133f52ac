"""Mechanisms: checked public parameters on the outside, exactly rounded noise on the inside."""

from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism
from exactnoise.mechanisms.clip import clip_l1, clip_l2
from exactnoise.mechanisms.discrete_gaussian import DiscreteGaussian
from exactnoise.mechanisms.gaussian import Gaussian
from exactnoise.mechanisms.laplace import DiscreteLaplace, Laplace
from exactnoise.mechanisms.response import (
    LocalHashing,
    LocalRandomizer,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SymmetricUnaryEncoding,
)
from exactnoise.mechanisms.selection import Exponential, PermuteAndFlip, SelectionMechanism
from exactnoise.mechanisms.snapping import Snapping

__all__ = [
    "AdditiveMechanism",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Exponential",
    "Gaussian",
    "Laplace",
    "LocalHashing",
    "LocalRandomizer",
    "Mechanism",
    "OptimizedUnaryEncoding",
    "PermuteAndFlip",
    "RandomizedResponse",
    "SelectionMechanism",
    "Snapping",
    "SymmetricUnaryEncoding",
    "clip_l1",
    "clip_l2",
]
