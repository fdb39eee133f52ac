"""Gaussian noise on a fine grid."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

from exactnoise._refine import gaussian_epsilon, gaussian_sigma
from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import Number, exact, float_down
from exactnoise.mechanisms._parameters import (
    checked_alpha,
    checked_sensitivity,
    least_epsilon,
    one_price,
    scale_above,
)
from exactnoise.mechanisms.base import AdditiveMechanism

__all__ = ["Gaussian"]

_L2 = "how much one person can change x, in the L2 norm; 1 for a count"
_LARGEST_EPSILON = 10**6

_calibrated = lru_cache(maxsize=256)(gaussian_sigma)


class Gaussian(AdditiveMechanism):
    """Gaussian noise: (epsilon, delta)-differential privacy or rho-zCDP for data of bounded L2 sensitivity.

    Parameters
    ----------
    sensitivity : number
        How much one person can change x, in the L2 norm over all of x. 1 for a count; sqrt(k) for k counts that each
        change by 1.
    epsilon, delta : number
        The privacy parameters of one release, both; or give `rho`, or `scale`.
    rho : number
        The zCDP parameter of one release.
    scale : number
        The standard deviation sigma in the data's units.
    granularity, nan
        As in `Laplace`.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    The released value is g round((x + Z) / g), computed exactly, with Z a real normal variable of standard
    deviation `scale`: a function of the ideal mechanism's output, so its guarantees hold unchanged. From (epsilon,
    delta) the scale is the smallest double that suffices, by the analytic Gaussian mechanism (Balle & Wang 2018,
    arXiv 1805.06530, Theorem 8), proved with directed rounding; from rho it is sensitivity / sqrt(2 rho), rounded
    up (Bun & Steinke 2016, arXiv 1605.02065, Proposition 1.6). Noise given by rho or scale has no price in a budget
    of epsilon alone. The guarantee is computational: it takes ChaCha20 and the operating system's generator for
    random.

    Examples
    --------
    >>> m = Gaussian(sensitivity=1, epsilon=1, delta="1e-6")
    >>> round(m.scale, 6)
    4.224679
    >>> Gaussian(sensitivity=1, rho=0.5).scale
    1.0
    """

    _family = "gaussian"
    priced_by = (("epsilon", "delta"), ("rho",))

    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        scale: Number | None = None,
        granularity: Number | None = None,
        nan: float = 0.0,
    ) -> None:
        exact_sensitivity = checked_sensitivity("Gaussian", sensitivity, _L2)
        ways = {"epsilon and delta": (epsilon, delta), "rho": (rho,), "scale": (scale,)}
        way = one_price("Gaussian", ways)
        price: dict[str, Fraction]
        if way == "epsilon and delta":
            price = {
                "epsilon": exact(epsilon, "epsilon"),  # type: ignore[arg-type]
                "delta": exact(delta, "delta", below=1),  # type: ignore[arg-type]
            }
            if price["epsilon"] > _LARGEST_EPSILON:
                raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON} with Gaussian noise, got {epsilon!r}")
            try:
                rounded = _calibrated(price["epsilon"], price["delta"], exact_sensitivity)
            except OverflowError:
                raise ValueError("the noise would be too large for doubles: raise epsilon or delta") from None
        elif way == "rho":
            price = {"rho": exact(rho, "rho")}  # type: ignore[arg-type]
            rounded = scale_above(_root_above(exact_sensitivity**2 / (2 * price["rho"])))
        else:
            price = {"scale": exact(scale, "scale")}  # type: ignore[arg-type]
            rounded = scale_above(price["scale"])
        self._fix_on_grid(exact_sensitivity, price, rounded, granularity, nan)
        self._fix(_price=price)

    _price: dict[str, Fraction]

    @classmethod
    def from_accuracy(
        cls,
        *,
        half_width: Number,
        sensitivity: Number | None = None,
        delta: Number | None = None,
        alpha: float = 0.05,
    ) -> Self:
        """Return the mechanism of least epsilon that keeps a value within `half_width` with probability 1 - alpha.

        Parameters
        ----------
        half_width : number
            In the data's units.
        sensitivity : number
            As in the constructor.
        delta : number
            As in the constructor.
        alpha : float
            0.05 means 95 %.

        Returns
        -------
        Gaussian
            Its epsilon is rounded up to four significant digits.
        """
        target = exact(half_width, "half_width")
        if delta is None:
            raise TypeError("Gaussian.from_accuracy needs delta, the probability that belongs to epsilon; such as 1e-6")

        exact_delta = exact(delta, "delta", below=1)
        exact_sensitivity = checked_sensitivity("Gaussian", sensitivity, _L2)
        largest_scale = float_down(target / Fraction(_quantile(alpha)))
        guess = gaussian_epsilon(largest_scale, exact_delta, exact_sensitivity)

        def fits(epsilon: Fraction) -> bool:
            mechanism = cls(sensitivity=exact_sensitivity, epsilon=epsilon, delta=exact_delta)
            return Fraction(mechanism.half_width(alpha)) <= target

        return cls(sensitivity=exact_sensitivity, epsilon=least_epsilon(guess, fits), delta=exact_delta)

    @cached_property
    def _cost(self) -> PrivacyCost:
        if "rho" in self._price:
            return PrivacyCost(rho=self._price["rho"])
        # The noise really drawn has the rounded scale, which is never below the exact one.
        scale = self._price.get("scale", Fraction(self.scale))
        rho = _digits_up(self.sensitivity**2 / (2 * scale**2))
        if "scale" in self._price:
            return PrivacyCost(rho=rho)
        return PrivacyCost(epsilon=self._price["epsilon"], delta=self._price["delta"], rho=rho)

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon and delta if they were given, and always rho = sensitivity^2 / (2 scale^2), rounded up."""
        return self._cost

    @property
    def variance(self) -> float:
        """scale^2: the variance of the noise. Rounding to the grid moves a value by at most g/2 more."""
        return self.scale * self.scale

    @property
    def std(self) -> float:
        """The scale: the standard deviation of the noise."""
        return self.scale

    def half_width(self, alpha: float = 0.05) -> float:
        """The normal quantile at 1 - alpha / 2, and half a step of the grid; see `AdditiveMechanism.half_width`."""
        return self.scale * _quantile(alpha) + self.granularity / 2


def _quantile(alpha: float) -> float:
    """The z for which a standard normal variable lies within -z and z with probability 1 - alpha."""
    from statistics import NormalDist  # slow to import

    return -NormalDist().inv_cdf(checked_alpha(alpha) / 2)


def _root_above(square: Fraction) -> Fraction:
    """A fraction at least the square root, exact where the root is short, within one part in 2^128 otherwise."""
    shift = max(0, 128 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    scaled = -(-(square.numerator << 2 * shift) // square.denominator)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << shift)


def _digits_up(value: Fraction) -> Fraction:
    """The value rounded up to 20 significant digits: what a price is worth writing down."""
    context = Context(prec=20, rounding=ROUND_CEILING)
    return Fraction(context.divide(Decimal(value.numerator), Decimal(value.denominator)))
