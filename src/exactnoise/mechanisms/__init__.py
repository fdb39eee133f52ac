"""Mechanisms: checked public parameters on the outside, exactly rounded noise on the inside."""

from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism
from exactnoise.mechanisms.discrete_gaussian import DiscreteGaussian
from exactnoise.mechanisms.gaussian import Gaussian
from exactnoise.mechanisms.laplace import DiscreteLaplace, Laplace

__all__ = ["AdditiveMechanism", "DiscreteGaussian", "DiscreteLaplace", "Gaussian", "Laplace", "Mechanism"]
