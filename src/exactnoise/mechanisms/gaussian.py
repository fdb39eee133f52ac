"""Gaussian noise on a fine grid."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, lru_cache

from exactnoise._refine import gaussian_epsilon, gaussian_sigma
from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import Number, exact, float_down
from exactnoise.accounting.loss import GaussianLoss, shortened
from exactnoise.mechanisms._parameters import (
    checked_gaussian_price,
    checked_sensitivity,
    normal_quantile,
    one_price,
    root_above,
    scale_above,
    scale_within,
)
from exactnoise.mechanisms.base import AdditiveMechanism

__all__ = ["Gaussian"]

_L2 = "how much one person can change x, in the L2 norm; 1 for a count"

_calibrated = lru_cache(maxsize=256)(gaussian_sigma)


class Gaussian(AdditiveMechanism):
    """Gaussian noise: (epsilon, delta)-differential privacy or rho-zCDP for data of bounded L2 sensitivity.

    Parameters
    ----------
    sensitivity : number
        How much one person can change x, in the L2 norm over all of x. 1 for a count; sqrt(k) for k counts that each
        change by 1. math.sqrt(k) may lie below that by 10^-16 of it; math.nextafter(math.sqrt(k), math.inf) does not.
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
    _sensitivity_means = _L2
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
        one_price("Gaussian", {"epsilon and delta": (epsilon, delta), "rho": (rho,), "scale": (scale,)})
        price: dict[str, Fraction]
        if epsilon is not None and delta is not None:
            price = checked_gaussian_price(epsilon, delta)
            try:
                rounded = _calibrated(price["epsilon"], price["delta"], exact_sensitivity)
            except OverflowError:
                raise ValueError("the noise would be too large for doubles: raise epsilon or delta") from None
        elif rho is not None:
            price = {"rho": exact(rho, "rho")}
            rounded = scale_above(root_above(exact_sensitivity**2 / (2 * price["rho"])))
        else:
            assert scale is not None
            price = {"scale": exact(scale, "scale")}
            rounded = scale_above(price["scale"])
        self._fix_on_grid(exact_sensitivity, price, rounded, granularity, nan)
        self._fix(_price=price)

    _price: dict[str, Fraction]

    @classmethod
    def _epsilon_guess(
        cls, half_width: Fraction, sensitivity: Fraction, alpha: float, delta: Fraction | None
    ) -> Fraction:
        assert delta is not None
        return gaussian_epsilon(float_down(scale_within(half_width, normal_quantile(alpha))), delta, sensitivity)

    @cached_property
    def _cost(self) -> PrivacyCost:
        if "rho" in self._price:
            return PrivacyCost.of(GaussianLoss(self._price["rho"]))
        # The noise really drawn has the rounded scale, which is never below the exact one.
        scale = self._price.get("scale", Fraction(self.scale))
        loss = GaussianLoss(shortened(self.sensitivity**2 / (2 * scale**2)))
        return PrivacyCost.of(loss, epsilon=self._price.get("epsilon"), delta=self._price.get("delta", Fraction(0)))

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
        return self.scale * normal_quantile(alpha) + self.granularity / 2
