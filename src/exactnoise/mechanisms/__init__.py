"""Mechanisms: checked public parameters on the outside, exactly rounded noise on the inside."""

from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism
from exactnoise.mechanisms.clip import clip_l1, clip_l2
from exactnoise.mechanisms.gaussian import Gaussian
from exactnoise.mechanisms.laplace import DiscreteLaplace, Laplace

__all__ = ["AdditiveMechanism", "DiscreteLaplace", "Gaussian", "Laplace", "Mechanism", "clip_l1", "clip_l2"]
