"""Laplace noise on a fine grid, and its discrete counterpart on the integers."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property

from exactnoise._refine import discrete_offset, discrete_shortfall
from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.loss import DiscreteLaplaceLoss, LaplaceLoss
from exactnoise.mechanisms._parameters import (
    check_integer_scale,
    checked_alpha,
    checked_sensitivity,
    one_price,
    scale_above,
    scale_within,
)
from exactnoise.mechanisms.base import AdditiveMechanism

__all__ = ["DiscreteLaplace", "Laplace"]

_L1 = "how much one person can change x in total (the L1 norm of the change); 1 for a count"


class Laplace(AdditiveMechanism):
    """Laplace noise: epsilon-differential privacy for data of bounded L1 sensitivity.

    Parameters
    ----------
    sensitivity : number
        How much one person can change x, added up over all of x (L1). 1 for a count, or for counts of disjoint groups
        under the add-remove relation.
    epsilon : number
        The privacy parameter of one release; or give `scale`.
    scale : number
        The noise's scale in the data's units: sensitivity / epsilon. Like every number here, a float counts as the
        decimal number that it prints as, and the double in use is not below it.
    granularity : number, optional
        The grid's step, a power of two; by default the one nearest above scale * 2**-20. Values are released as
        multiples of it; with an integer one, integers stay integers.
    nan : float
        What a NaN or a missing value counts as, before the noise; rounded to a whole number for missing integers.
        Choose it inside the data's bounds: the sensitivity is that of the data after this replacement.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    The released value is g round((x + Z) / g), computed exactly, with Z a real Laplace variable of `scale`: a
    function of the ideal mechanism's output, hence epsilon-differentially private (Dwork, McSherry, Nissim, Smith
    2006, Proposition 1, and post-processing) with no correction for floating point. `scale` is a double not below
    sensitivity / epsilon. The guarantee is computational: it takes ChaCha20 and the operating system's generator
    for random.

    Examples
    --------
    >>> m = Laplace(sensitivity=1, epsilon=0.5)
    >>> m
    Laplace(sensitivity=1, epsilon='0.5')
    >>> m.scale, round(m.half_width(), 4)
    (2.0, 5.9915)
    """

    _family = "laplace"
    _sensitivity_means = _L1
    priced_by = (("epsilon",),)

    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        epsilon: Number | None = None,
        scale: Number | None = None,
        granularity: Number | None = None,
        nan: float = 0.0,
    ) -> None:
        exact_sensitivity = checked_sensitivity("Laplace", sensitivity, _L1)
        price, exact_scale = _price_and_scale("Laplace", exact_sensitivity, epsilon, scale)
        self._fix_on_grid(exact_sensitivity, price, scale_above(exact_scale), granularity, nan)
        self._fix(_epsilon=exact_sensitivity / exact_scale)

    _epsilon: Fraction

    @classmethod
    def _epsilon_guess(
        cls, half_width: Fraction, sensitivity: Fraction, alpha: float, delta: Fraction | None
    ) -> Fraction:
        return sensitivity / scale_within(half_width, -math.log(alpha))

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost.of(LaplaceLoss(self._epsilon))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon, and the rho of Laplace noise (Harrison & Manurangsi 2026, arXiv 2510.25746)."""
        return self._cost

    @property
    def variance(self) -> float:
        """2 scale^2: the variance of the noise. Rounding to the grid moves a value by at most g/2 more."""
        return 2 * self.scale * self.scale

    @property
    def std(self) -> float:
        """sqrt(2) scale: the standard deviation of the noise."""
        return math.sqrt(2) * self.scale

    def half_width(self, alpha: float = 0.05) -> float:
        """scale ln(1 / alpha), and half a step of the grid for the rounding; see `AdditiveMechanism.half_width`."""
        return -self.scale * math.log(checked_alpha(alpha)) + self.granularity / 2


class DiscreteLaplace(AdditiveMechanism):
    """Two-sided geometric noise on integers: epsilon-differential privacy for counts.

    Parameters
    ----------
    sensitivity : number
        How much one person can change x in total (L1): a whole number; 1 for a count.
    epsilon : number
        The privacy parameter of one release; or give `scale`.
    scale : number
        sensitivity / epsilon, between 2**-30 and 2**36: the noise k has probability proportional to
        ``exp(-|k| / scale)``.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    x must be of an integer type; the result is int64 and saturates at its ends. Missing values count as 0. The noise
    is exactly distributed: ``P(X = k) = (1 - q) / (1 + q) q^|k|``, q = exp(-1 / scale) (Ghosh, Roughgarden,
    Sundararajan 2009, the geometric mechanism), hence epsilon-differential privacy; at scale 1 its variance is 11 %
    below that of rounded Laplace noise. The guarantee is computational: it takes ChaCha20 and the operating system's
    generator for random.

    Examples
    --------
    >>> DiscreteLaplace(sensitivity=1, epsilon="0.5").half_width()
    6.0
    """

    _family = "discrete-laplace"
    _on_integers = True
    _sensitivity_means = _L1
    priced_by = (("epsilon",),)

    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        epsilon: Number | None = None,
        scale: Number | None = None,
    ) -> None:
        exact_sensitivity = checked_sensitivity("DiscreteLaplace", sensitivity, _L1)
        if exact_sensitivity.denominator != 1:
            raise ValueError(
                f"sensitivity must be a whole number for integer data, got {sensitivity!r}; for real numbers use "
                "Laplace (on the command line --mechanism laplace)"
            )
        price, exact_scale = _price_and_scale("DiscreteLaplace", exact_sensitivity, epsilon, scale)
        check_integer_scale("the scale sensitivity / epsilon", exact_scale, "Laplace")
        self._fix_noise(exact_sensitivity, price, scale_above(exact_scale), 0, 0.0)
        self._fix(_epsilon=exact_sensitivity / exact_scale, _constant=discrete_offset(self.scale))

    _epsilon: Fraction
    _constant: float

    @classmethod
    def _epsilon_guess(
        cls, half_width: Fraction, sensitivity: Fraction, alpha: float, delta: Fraction | None
    ) -> Fraction:
        # P(|X| > t) = 2 q^(t+1) / (1 + q) is at least q^(t+1), so 1 / scale is at least what that asks for.
        return sensitivity * Fraction(-math.log(alpha)) / (math.floor(half_width) + 1)

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost.of(DiscreteLaplaceLoss(self._epsilon, int(self.sensitivity)))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon, and the rho of two-sided geometric noise (Harrison & Manurangsi 2026, arXiv 2510.25746)."""
        return self._cost

    @property
    def variance(self) -> float:
        """2 q / (1 - q)^2, q = exp(-1 / scale): the variance of a released value."""
        q = math.exp(-1 / self.scale)
        return 2 * q / math.expm1(-1 / self.scale) ** 2

    @property
    def std(self) -> float:
        """The standard deviation of a released value."""
        return math.sqrt(self.variance)

    def half_width(self, alpha: float = 0.05) -> float:
        """The smallest whole t with ``P(|X| > t) <= alpha``; see `AdditiveMechanism.half_width`."""
        level, rate = checked_alpha(alpha), 1 / self.scale
        t = max(0, math.floor(math.log(2 / (level * (1 + math.exp(-rate)))) / rate) - 1)
        while _tail(rate, t + 1) > level:
            t += 1
        return float(t)

    def _offset(self) -> float:
        return self._constant

    def _shortfall(self) -> int:
        return discrete_shortfall(self.scale)


def _price_and_scale(
    name: str, sensitivity: Fraction, epsilon: Number | None, scale: Number | None
) -> tuple[dict[str, Fraction], Fraction]:
    """The price as the caller said it, and the exact scale."""
    one_price(name, {"epsilon": (epsilon,), "scale": (scale,)})
    if epsilon is not None:
        amount = exact(epsilon, "epsilon")
        return {"epsilon": amount}, sensitivity / amount
    assert scale is not None
    amount = exact(scale, "scale")
    return {"scale": amount}, amount


def _tail(rate: float, k: int) -> float:
    """P(|X| >= k) for k >= 1."""
    return 2 * math.exp(-rate * k) / (1 + math.exp(-rate))
