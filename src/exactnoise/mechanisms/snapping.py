"""Laplace noise on a coarse grid, between public bounds."""

from __future__ import annotations

import math
import sys
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import Number, decimal_context, exact, float_down, float_up, shown, text
from exactnoise.mechanisms._data import KERNEL_DTYPES, Lanes, read
from exactnoise.mechanisms._options import Randomness, check_out, check_randomness, check_workers
from exactnoise.mechanisms._parameters import (
    check_budget,
    checked_alpha,
    checked_nan,
    checked_sensitivity,
    least_epsilon,
    scale_above,
)
from exactnoise.mechanisms._ranges import ZeroedUnlessComplete
from exactnoise.mechanisms._threads import surely
from exactnoise.mechanisms.base import Mechanism
from exactnoise.mechanisms.laplace import Laplace

__all__ = ["Snapping"]

_L1 = "how much one person can change x in total (the L1 norm of the change); 1 for a count"
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class Snapping(Mechanism):
    """The snapping mechanism: clamp, add Laplace noise, round to a coarse grid, clamp; epsilon-differential privacy.

    Parameters
    ----------
    sensitivity : number
        How much one person can change x, added up over all of x (L1). Clamping only makes it smaller.
    epsilon : number
        The privacy parameter of one release.
    bounds : (number, number)
        The public ends, low < high, of what x can be and of what is released; of any sign, within the doubles.
    nan : float
        What a NaN or a missing value counts as; it is clamped to the bounds as any other value.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    With c the clamp to the bounds and g the smallest power of two that is not below `scale`, the released value is
    c(g round((c(x) + Z) / g)), computed exactly, with Z a real Laplace variable of `scale` (Mironov 2012, *On
    significance of the least significant bits for differential privacy*, CCS, Section 5.2). It is a multiple of
    `granularity` within the bounds, or a bound; and nothing else, whatever x is. What counts as the bounds for data or
    results of a type are the outermost numbers of that type between them: whole numbers for int64, and 0.1 is not
    exceeded by a float32 either.

    As the noise is exact and rounded once, this is a function of the output of the ideal Laplace mechanism on clamped
    data, so the guarantee is `epsilon` with no correction for floating point; the mechanism's original implementation
    in doubles has `mironov_epsilon`. `Laplace` has the same guarantee on a fine grid, and less error: choose `Snapping`
    where outputs must lie between bounds, or where few distinct values are to be published. The guarantee is
    computational: it takes ChaCha20 and the operating system's generator for random.

    Examples
    --------
    >>> m = Snapping(sensitivity=1, epsilon="0.5", bounds=(0, 100))
    >>> m
    Snapping(sensitivity=1, epsilon='0.5', bounds=(0, 100))
    >>> m.scale, m.granularity
    (2.0, 2.0)
    >>> m.release([40.3, -1e9], budget=None) % 2
    array([0., 0.])
    """

    priced_by = (("epsilon",),)

    sensitivity: Fraction
    #: Low and high, exact.
    bounds: tuple[Fraction, Fraction]
    #: The noise's scale in the data's units: a double, at least sensitivity / epsilon.
    scale: float
    #: The grid's step: the smallest power of two that is not below `scale`.
    granularity: float
    _noise: Laplace
    _known_limits: dict[np.dtype[Any], tuple[Any, Any]]

    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        epsilon: Number | None = None,
        bounds: tuple[Number, Number] | None = None,
        nan: float = 0.0,
    ) -> None:
        exact_sensitivity = checked_sensitivity("Snapping", sensitivity, _L1)
        if epsilon is None:
            raise TypeError("Snapping needs epsilon: the privacy parameter of one release")
        amount = exact(epsilon, "epsilon")
        low, high = _checked_bounds(bounds)
        least, most = _numbers_within(low, high, np.dtype("f8"))
        replacement = checked_nan(nan)
        noise = Laplace(
            sensitivity=exact_sensitivity,
            epsilon=amount,
            granularity=_power_above(scale_above(exact_sensitivity / amount)),
            nan=min(max(replacement, least), most),
        )
        parameters = {"sensitivity": exact_sensitivity, "epsilon": amount, "bounds": (_plain(low), _plain(high))}
        self._fix(
            sensitivity=exact_sensitivity,
            bounds=(low, high),
            scale=noise.scale,
            granularity=noise.granularity,
            _noise=noise,
            _known_limits={},
            _parameters={**parameters, "nan": replacement} if replacement else parameters,
        )

    @property
    def cost(self) -> PrivacyCost:
        """That of `Laplace` with this epsilon: clamping is free."""
        return self._noise.cost

    @property
    def mironov_epsilon(self) -> Fraction | None:
        """The epsilon of the original mechanism, which computes in doubles, at this scale and these bounds.

        Rounded up to 20 significant digits; None where its theorem does not apply.

        Notes
        -----
        1 / lambda + 2^-49 B / lambda for a function of sensitivity 1, clamped to [-B, B], with lambda < B < 2^46 lambda
        (Mironov 2012, Theorem 1). Centred and divided by the sensitivity D, x is such a function, its noise has the
        scale lambda / D and its clamp is half the width of the bounds over D. So it is D / lambda + 2^-49 B / lambda,
        with B that half width. What `release` does costs `epsilon`.
        """
        low, high = self.bounds
        scale, half_width = Fraction(self.scale), (high - low) / 2
        if not scale < half_width < 2**46 * scale:
            return None
        epsilon = (self.sensitivity + half_width / 2**49) / scale
        context = decimal_context(20, ROUND_CEILING)
        return Fraction(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))

    @property
    def variance(self) -> float:
        """2 scale^2: the variance of the noise before the rounding and the last clamp."""
        return self._noise.variance

    @property
    def std(self) -> float:
        """sqrt(2) scale: the standard deviation of the noise before the rounding and the last clamp."""
        return self._noise.std

    def half_width(self, alpha: float = 0.05) -> float:
        """Return the t for which a released value is within t of the clamped one with probability at least 1 - alpha.

        Parameters
        ----------
        alpha : float
            Between 0 and 1; 0.05 means 95 %. It is about one value: for all of n at once, divide it by n.

        Returns
        -------
        float
            scale ln(1 / alpha), and half a step of the grid for the rounding, which is at least scale / 2 here. The
            last clamp moves a value only nearer to the clamped true one. A true value outside the bounds is as far
            away as it lies outside, and `half_width` more.
        """
        return self._noise.half_width(alpha)

    def interval(self, value: npt.ArrayLike, alpha: float = 0.05) -> tuple[Any, Any]:
        """Return the interval that holds the true value, clamped to the bounds, with probability at least 1 - alpha.

        Parameters
        ----------
        value : float or array of float
            Released values.
        alpha : float
            As in `half_width`; the interval is for each value by itself.

        Returns
        -------
        low, high : float or ndarray
            Within the bounds. An end that is a bound says nothing of that side: of a true value beyond the bounds the
            interval holds the nearest bound, with the same probability, and not the value.
        """
        low, high = self._noise.interval(value, alpha)
        least, most = float_down(self.bounds[0]), float_up(self.bounds[1])
        return np.clip(low, least, most)[()], np.clip(high, least, most)[()]

    @classmethod
    def from_accuracy(
        cls,
        *,
        half_width: Number,
        sensitivity: Number | None = None,
        bounds: tuple[Number, Number] | None = None,
        alpha: float = 0.05,
        nan: float = 0.0,
    ) -> Self:
        """Return the mechanism of least epsilon that keeps a value within `half_width` with probability 1 - alpha.

        Parameters
        ----------
        half_width : number
            In the data's units.
        sensitivity, bounds, nan
            As in the constructor.
        alpha : float
            As in `half_width`: 0.05 means 95 %.

        Returns
        -------
        Snapping
            Its epsilon is rounded up to four significant digits.

        Raises
        ------
        TypeError, ValueError
            A parameter is missing or not allowed, or no noise is small enough.
        """
        target = exact(half_width, "half_width")
        exact_sensitivity = checked_sensitivity(cls.__name__, sensitivity, _L1)
        build = partial(cls, sensitivity=exact_sensitivity, bounds=bounds, nan=nan)

        def fits(epsilon: Fraction) -> bool:
            return Fraction(build(epsilon=epsilon).half_width(alpha)) <= target

        # The largest scale s in (g/2, g] with s ln(1/alpha) + g/2 <= target, over all powers of two g.
        logarithm = Fraction(-math.log(checked_alpha(alpha)))
        ratio = 2 * target / (logarithm + 1)
        step = Fraction(2) ** (ratio.numerator.bit_length() - ratio.denominator.bit_length())
        step = step if step < ratio else step / 2
        scale = min(step, (target - step / 2) / logarithm)
        return build(epsilon=least_epsilon(exact_sensitivity / scale, fits))

    def release(
        self,
        x: Any,
        *,
        budget: PrivacyBudget | None,
        out: npt.NDArray[Any] | None = None,
        workers: int = 1,
        randomness: Randomness = "chacha20",
        label: str | None = None,
    ) -> Any:
        """Clamp data, add noise and clamp again: one release, which costs `cost` whatever the size.

        Parameters
        ----------
        x : number or array-like of numbers
            Any shape. The mechanism's sensitivity is that of the whole array.
        budget, out, workers, randomness, label
            As in `Laplace.release`.

        Returns
        -------
        float, int, NumPy scalar or ndarray
            As `Laplace.release` with this granularity. Every value is a multiple of the granularity within the bounds,
            or a bound.

        Raises
        ------
        TypeError, ValueError
            By the types and parameters of the call, before anything is spent; also where the type of x or of the result
            has no number between the bounds.
        BudgetExceeded, EntropyError
            As in `Laplace.release`.

        Notes
        -----
        No value in `x` raises, warns or changes the result's type. NaN and missing values count as the mechanism's
        public replacement, infinities as the bounds. The clamped data is a copy, which is wiped.
        """
        check_randomness(randomness)
        check_workers(workers)
        check_budget(budget)
        if out is None and type(x) in (int, float, np.int64, np.float64):
            return self._release_number(x, budget, label)

        lanes = read(x)
        form = self._noise._form(lanes.is_integer, lanes.is_float32)
        self._noise._plan(form)  # refuses what the grid and the type do not allow
        x_dtype, dtype = KERNEL_DTYPES[form]
        before, after = self._limits(x_dtype), self._limits(dtype)
        if out is None:
            result = np.empty(lanes.values.shape, dtype)
        else:
            check_out(out, lanes, dtype)
            result = np.asarray(out)  # without the ways of a subclass
        if budget is not None:
            budget.spend(self, label=label)
        copies: list[npt.NDArray[Any]] = []

        def wipe() -> None:
            for copy in copies:
                copy.fill(0)

        with ZeroedUnlessComplete(result):
            try:
                copies.append(self._clamped(lanes, x_dtype, before))
                self._noise.release(copies[0], budget=None, out=result, workers=workers, randomness=randomness)
                np.clip(result, *after, out=result)
            finally:
                surely(wipe)
        if out is None and lanes.scalar:
            return result.item() if lanes.scalar == "python" else result[()]
        return result if out is None else out

    def _release_number(self, x: Any, budget: PrivacyBudget | None, label: str | None) -> Any:
        """One number, without the arrays."""
        form = self._noise._form(type(x) in (int, np.int64), False)
        self._noise._plan(form)
        before, after = (self._limits(dtype) for dtype in KERNEL_DTYPES[form])
        if budget is not None:
            budget.spend(self, label=label)
        if type(x) in (int, np.int64):
            clamped = min(max(x, before[0]), before[1])
        else:
            cell = np.array([x])
            _native.clamp(cell, cell, *before, float32=False)
            clamped = cell.item()
        value = min(max(self._noise.release(clamped, budget=None), after[0]), after[1])
        return KERNEL_DTYPES[form][1].type(value) if isinstance(x, np.generic) else value

    def _clamped(self, lanes: Lanes, dtype: np.dtype[Any], limits: tuple[Any, Any]) -> npt.NDArray[Any]:
        """A copy of the data, clamped; NaN is left to the noise, which replaces it."""
        copy = lanes.piece(0, lanes.values.size, dtype, self._noise._nan).reshape(lanes.values.shape)
        if dtype.kind == "i":
            return np.clip(copy, *limits, out=copy)
        _native.clamp(copy, copy, *limits, float32=dtype.itemsize == 4)
        return copy

    def _limits(self, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """The outermost numbers of a type that lie between the bounds, as Python numbers."""
        limits = self._known_limits.get(dtype)
        if limits is None:
            limits = self._known_limits[dtype] = _numbers_within(*self.bounds, dtype)
        if limits[0] > limits[1]:
            bounds = self._parameters["bounds"]
            raise TypeError(f"{dtype} has no number between the bounds {bounds}: convert x, or widen the bounds")
        return limits


def _checked_bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    if bounds is None:
        raise TypeError("Snapping needs bounds: (low, high), the ends of what x can be and of what is released")
    if not isinstance(bounds, (tuple, list, np.ndarray)) or len(bounds) != 2:
        raise TypeError(f"bounds must be a pair of numbers (low, high), got {shown(bounds)}")
    low, high = (exact(bound, f"bounds[{i}]", signed=True) for i, bound in enumerate(bounds))
    if not low < high:
        raise ValueError(f"bounds must be (low, high) with low < high, got {shown(bounds)}")
    if max(abs(low), abs(high)) > Fraction(sys.float_info.max):
        raise ValueError(f"bounds must lie within the doubles, up to {sys.float_info.max!r}, got {shown(bounds)}")
    least, most = _numbers_within(low, high, np.dtype("f8"))
    if least > most:
        raise ValueError(f"bounds must have a double between them, got {shown(bounds)}")
    return low, high


def _numbers_within(low: Fraction, high: Fraction, dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The smallest and the largest number of a type between the bounds; the first is above the second if none is."""
    if dtype.kind == "i":
        return max(math.ceil(low), _INT64_MIN), min(math.floor(high), _INT64_MAX)
    least, most = float_up(low), float_down(high)
    return (least, most) if dtype.itemsize == 8 else (_float32_above(least), 0.0 - _float32_above(-most))


def _float32_above(value: float) -> float:
    """The smallest float32 that is not below the double."""
    with np.errstate(all="ignore"):
        nearest = np.float32(value)
        above = nearest if float(nearest) >= value else np.nextafter(nearest, np.float32(math.inf))
        return float(above) + 0.0  # no negative zero


def _power_above(scale: float) -> Fraction:
    """The smallest power of two that is not below the scale."""
    mantissa, exponent = math.frexp(scale)
    power = Fraction(2) ** (exponent - 1 if mantissa == 0.5 else exponent)
    if power > 2**1023:
        raise ValueError(f"the noise would be too large for doubles: its scale {scale!r} is above 2**1023")
    return power


def _plain(value: Fraction) -> int | str:
    """The parameter as it is shown: what the constructor reads back."""
    return int(value) if value.denominator == 1 else text(value)
