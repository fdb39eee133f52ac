"""What is known about the privacy loss of one release, by kind of mechanism.

A price in epsilon or rho is one number taken from the loss. The kind itself says more: how many
releases compose (`exactnoise.accounting.rdp`, `gaussian`, `laplace`, `compose`, `pld`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from exactnoise.accounting import convert, rdp
from exactnoise.accounting.interval import upper
from exactnoise.accounting.rdp import Order
from exactnoise.accounting.response import randomized_response_rho

__all__ = [
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "ExponentialLoss",
    "GaussianLoss",
    "LaplaceLoss",
    "PrivacyLoss",
    "RandomizedResponseLoss",
    "StatedLoss",
    "shortened",
]


@dataclass(frozen=True, slots=True)
class StatedLoss:
    """Nothing is known but guarantees: (epsilon, delta) or rho, or both."""

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def rdp(self, order: Order) -> Fraction | float | None:
        """The Renyi divergence at an order, at most; None where a delta leaves none."""
        bounds: list[Fraction | float] = []
        if self.epsilon is not None and not self.delta:
            bounds.append(rdp.pure_rdp(order, shortened(self.epsilon)) if self.epsilon else Fraction(0))
        if self.rho is not None:
            bounds.append(rdp.gaussian_rdp(order, shortened(self.rho)) if self.rho else Fraction(0))
        return min(bounds, default=None)


@dataclass(frozen=True, slots=True)
class LaplaceLoss:
    """Laplace noise of scale L1 sensitivity / epsilon."""

    epsilon: Fraction

    @property
    def rho(self) -> Fraction:
        return convert.laplace_rho(self.epsilon)

    def rdp(self, order: Order) -> Fraction:
        return rdp.laplace_rdp(order, self.epsilon)


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLoss:
    """Two-sided geometric noise on integers, of scale L1 sensitivity / epsilon."""

    epsilon: Fraction
    sensitivity: int

    @property
    def rho(self) -> Fraction:
        return convert.discrete_laplace_rho(self.epsilon, self.sensitivity)

    def rdp(self, order: Order) -> Fraction:
        return rdp.discrete_laplace_rdp(order, self.epsilon, self.sensitivity)


@dataclass(frozen=True, slots=True)
class GaussianLoss:
    """Gaussian noise of rho = L2 sensitivity^2 / (2 sigma^2)."""

    rho: Fraction

    @property
    def epsilon(self) -> None:
        """None: Gaussian noise has an epsilon only for a stated delta."""

    def rdp(self, order: Order) -> Fraction | float:
        return rdp.gaussian_rdp(order, self.rho)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLoss:
    """Discrete Gaussian noise on integers of rho = sensitivity^2 / (2 sigma^2).

    Its Renyi divergences are at most those of Gaussian noise (Canonne, Kamath & Steinke 2020,
    arXiv 2004.00010, Theorem 4), its profile is not.
    """

    rho: Fraction
    sensitivity: int

    @property
    def epsilon(self) -> None:
        """None: Gaussian noise has an epsilon only for a stated delta."""

    def rdp(self, order: Order) -> Fraction | float:
        return rdp.gaussian_rdp(order, self.rho)


@dataclass(frozen=True, slots=True)
class RandomizedResponseLoss:
    """Randomised response among several categories."""

    epsilon: Fraction
    categories: int

    @property
    def rho(self) -> Fraction:
        return randomized_response_rho(self.epsilon, self.categories)

    def rdp(self, order: Order) -> Fraction:
        return rdp.randomized_response_rdp(order, self.epsilon, self.categories)


@dataclass(frozen=True, slots=True)
class ExponentialLoss:
    """The exponential mechanism: a privacy loss of bounded range epsilon."""

    epsilon: Fraction

    @property
    def rho(self) -> Fraction:
        return convert.exponential_rho(self.epsilon)

    def rdp(self, order: Order) -> Fraction | float:
        return min(rdp.gaussian_rdp(order, self.rho), rdp.pure_rdp(order, self.epsilon))


def shortened(amount: Fraction) -> Fraction:
    """The amount, rounded up to 20 digits if it is a sum so long that nobody could have typed it."""
    return amount if amount.denominator.bit_length() < _LONG else upper(lambda at: at(amount))


_LONG = 4000

PrivacyLoss = (
    StatedLoss
    | LaplaceLoss
    | DiscreteLaplaceLoss
    | GaussianLoss
    | DiscreteGaussianLoss
    | RandomizedResponseLoss
    | ExponentialLoss
)
