"""Mechanisms: checked public parameters on the outside, exactly rounded noise on the inside."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism
from exactnoise.mechanisms.clip import clip_l1, clip_l2
from exactnoise.mechanisms.discrete_gaussian import DiscreteGaussian
from exactnoise.mechanisms.gaussian import Gaussian
from exactnoise.mechanisms.laplace import DiscreteLaplace, Laplace
from exactnoise.mechanisms.snapping import Snapping

if TYPE_CHECKING:
    from exactnoise.mechanisms.response import (
        LocalHashing,
        LocalRandomizer,
        OptimizedUnaryEncoding,
        RandomizedResponse,
        SymmetricUnaryEncoding,
    )
    from exactnoise.mechanisms.selection import Exponential, PermuteAndFlip, SelectionMechanism

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

# What a program that adds noise to counts need not wait for: loaded when it is first asked for.
_LATER = {
    "response": (
        "LocalHashing",
        "LocalRandomizer",
        "OptimizedUnaryEncoding",
        "RandomizedResponse",
        "SymmetricUnaryEncoding",
    ),
    "selection": ("Exponential", "PermuteAndFlip", "SelectionMechanism"),
}


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
