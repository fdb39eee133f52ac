"""Local randomisers: each person's device reports noise, and a server estimates counts from many reports."""

from exactnoise.mechanisms.response.base import LocalRandomizer
from exactnoise.mechanisms.response.coins import bernoulli
from exactnoise.mechanisms.response.estimate import Estimate, Tally
from exactnoise.mechanisms.response.hashing import LocalHashing
from exactnoise.mechanisms.response.randomized_response import RandomizedResponse
from exactnoise.mechanisms.response.unary import OptimizedUnaryEncoding, SymmetricUnaryEncoding

__all__ = [
    "Estimate",
    "LocalHashing",
    "LocalRandomizer",
    "OptimizedUnaryEncoding",
    "RandomizedResponse",
    "SymmetricUnaryEncoding",
    "Tally",
    "bernoulli",
]
