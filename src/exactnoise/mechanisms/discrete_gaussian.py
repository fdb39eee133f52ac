"""Discrete Gaussian noise on integers."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import cached_property, lru_cache

from exactnoise._refine import (
    discrete_gaussian_epsilon,
    discrete_gaussian_sigma,
    discrete_gaussian_tail,
    discrete_gaussian_thresholds,
)
from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.loss import DiscreteGaussianLoss, StatedLoss, shortened
from exactnoise.accounting.zcdp import zcdp_epsilon, zcdp_rho
from exactnoise.mechanisms._parameters import (
    check_integer_scale,
    checked_alpha,
    checked_gaussian_price,
    checked_sensitivity,
    normal_quantile,
    one_price,
    root_above,
    scale_above,
)
from exactnoise.mechanisms.base import AdditiveMechanism

__all__ = ["DiscreteGaussian"]

_L2 = "how much one person can change x, in the L2 norm; 1 for a count"
_TABULATED_BELOW = 4  # native/discrete_gaussian.h
_INDEX_BITS = 50
_ROOT_ERROR = Fraction(1, 10**12)  # that of a rounded square root, with room to spare

_calibrated = lru_cache(maxsize=256)(discrete_gaussian_sigma)


class DiscreteGaussian(AdditiveMechanism):
    """Gaussian noise on the integers: (epsilon, delta)-differential privacy or rho-zCDP for counts.

    Parameters
    ----------
    sensitivity : number
        How much one person can change x, in the L2 norm over all of x: at least 1. 1 for counts of which each person
        changes one by 1, as in a histogram; sqrt(k) for k counts that each change by 1. As its square is a whole
        number, one that lies below a whole number by at most one part in 10^12 counts as that number: so math.sqrt(k)
        may be given, which can lie below the root.
    epsilon, delta : number
        The privacy parameters of one release, both; or give `rho`, or `scale`.
    rho : number
        The zCDP parameter of one release.
    scale : number
        sigma, between 2**-30 and 2**36: the noise k has probability proportional to exp(-k^2 / (2 scale^2)). The
        standard deviation is never above it, and equal to it in double precision from 2 on.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    x must be of an integer type; the result is int64 and saturates at its ends. Missing values count as 0. The noise
    is exactly distributed (Canonne, Kamath, Steinke 2020, arXiv 2004.00010): rho = sensitivity^2 / (2 scale^2) for
    integers of any dimension (Theorem 4). From (epsilon, delta) at sensitivity 1, where one count changes by 1, the
    scale is that of Theorem 7, proved with directed rounding: at small scales it differs from the continuous
    Gaussian's, which would not be private here. At any other sensitivity changes can be spread over several
    coordinates, to which that theorem does not apply, and the scale is that of the largest rho that implies (epsilon,
    delta) (Proposition 12), some per cent larger. The guarantee is computational: it takes ChaCha20 and the operating
    system's generator for random.

    Examples
    --------
    >>> m = DiscreteGaussian(sensitivity=1, epsilon=1, delta="1e-6")
    >>> round(m.scale, 6), m.half_width()
    (4.230779, 8.0)
    >>> DiscreteGaussian(sensitivity=1, rho=0.5).scale
    1.0
    """

    _sensitivity_means = _L2
    _on_integers = True
    priced_by = (("epsilon", "delta"), ("rho",))

    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        scale: Number | None = None,
    ) -> None:
        exact_sensitivity = checked_sensitivity("DiscreteGaussian", sensitivity, _L2)
        if exact_sensitivity < 1:
            raise ValueError(f"sensitivity must be at least 1: integers change by 1 or not at all, got {sensitivity!r}")
        one_price("DiscreteGaussian", {"epsilon and delta": (epsilon, delta), "rho": (rho,), "scale": (scale,)})
        square = _whole_square(exact_sensitivity)
        price: dict[str, Fraction]
        if epsilon is not None and delta is not None:
            price = checked_gaussian_price(epsilon, delta)
            exact_scale = _private_scale(square, price["epsilon"], price["delta"])
        elif rho is not None:
            price = {"rho": exact(rho, "rho")}
            exact_scale = root_above(square / (2 * price["rho"]))
        else:
            assert scale is not None
            price = {"scale": exact(scale, "scale")}
            exact_scale = price["scale"]
        check_integer_scale("the scale", exact_scale, "Gaussian")
        self._fix_noise(exact_sensitivity, price, scale_above(exact_scale), 0, 0.0)
        family = "tabulated" if self.scale < _TABULATED_BELOW else "discrete-gaussian"
        self._fix(_price=price, _square=square, _family=family)

    _price: dict[str, Fraction]
    _square: Fraction

    @classmethod
    def _epsilon_guess(
        cls, half_width: Fraction, sensitivity: Fraction, alpha: float, delta: Fraction | None
    ) -> Fraction:
        assert delta is not None
        largest = _largest_scale(math.floor(half_width), alpha)
        square = _whole_square(sensitivity)
        if square == 1:
            return discrete_gaussian_epsilon(largest, delta)
        epsilon = zcdp_epsilon(shortened(square / (2 * Fraction(largest) ** 2)), delta)
        return max(epsilon, Fraction(sys.float_info.min))  # where delta alone pays, 0 would do

    @cached_property
    def _cost(self) -> PrivacyCost:
        # The noise really drawn has the rounded scale, which is never below the exact one.
        scale = self._price.get("scale", Fraction(self.scale))
        rho = self._price.get("rho", shortened(self._square / (2 * scale**2)))
        loss = DiscreteGaussianLoss(rho, 1) if self._square == 1 else StatedLoss(None, rho=rho)
        return PrivacyCost.of(loss, epsilon=self._price.get("epsilon"), delta=self._price.get("delta", Fraction(0)))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon and delta if they were given, and always rho = sensitivity^2 / (2 scale^2), rounded up."""
        return self._cost

    @property
    def variance(self) -> float:
        """The variance of a released value: at most scale^2, and equal to it in double precision from scale 2 on."""
        if self.scale >= 8:
            return self.scale * self.scale
        weights = [(k, math.exp(-0.5 * (k / self.scale) ** 2)) for k in range(1, 2 + math.ceil(40 * self.scale))]
        second = math.fsum(k * k * weight for k, weight in weights)
        # What the roundings may add is taken off: the variance is never above that of real noise.
        return min(2 * second / (1 + 2 * math.fsum(weight for _, weight in weights)), self.scale * self.scale)

    @property
    def std(self) -> float:
        """The standard deviation of a released value."""
        return math.sqrt(self.variance)

    def half_width(self, alpha: float = 0.05) -> float:
        """The smallest whole t with ``P(|X| > t) <= alpha``, proved; see `AdditiveMechanism.half_width`."""
        level = checked_alpha(alpha)
        t = max(0, math.floor(self.scale * normal_quantile(level) - 0.5))
        while t > 0 and discrete_gaussian_tail(self.scale, t) <= level:
            t -= 1
        while discrete_gaussian_tail(self.scale, t + 1) > level:
            t += 1
        return float(t)

    def _thresholds(self) -> tuple[float, ...]:
        return self._table

    @cached_property
    def _table(self) -> tuple[float, ...]:
        return discrete_gaussian_thresholds(self.scale, _INDEX_BITS) if self._family == "tabulated" else ()


def _whole_square(sensitivity: Fraction) -> Fraction:
    """sensitivity^2, or the whole number just above it, of which it was meant to be the root."""
    square = sensitivity**2
    whole = math.ceil(square)
    return Fraction(whole) if whole - square <= square * _ROOT_ERROR else square


def _private_scale(square: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    if square != 1:
        return root_above(square / (2 * zcdp_rho(epsilon, delta)))
    try:
        return Fraction(_calibrated(epsilon, delta))
    except OverflowError:
        raise ValueError("the noise would be too large for int64: raise epsilon or delta") from None


def _largest_scale(t: int, alpha: float) -> float:
    """The largest scale, or nearly, at which P(|X| > t) <= alpha."""
    low, high = 2.0**-30, 2.0**36
    while high > low * (1 + 2.0**-40):
        middle = math.sqrt(low * high)
        if discrete_gaussian_tail(middle, t + 1) <= alpha:
            low = middle
        else:
            high = middle
    return high
