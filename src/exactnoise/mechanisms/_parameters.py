"""Checks of the parameters that mechanisms share, in words that teach."""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from exactnoise.accounting import PrivacyBudget
from exactnoise.accounting.amount import Number, approximately, decimal_context, exact, float_up, shown

__all__ = [
    "LEAST_DELTA",
    "check_budget",
    "check_integer_scale",
    "checked_alpha",
    "checked_gaussian_price",
    "checked_granularity",
    "checked_nan",
    "checked_power_of_two",
    "checked_sensitivity",
    "least_epsilon",
    "normal_quantile",
    "one_price",
    "power_of_two",
    "root_above",
    "scale_above",
    "scale_within",
]

#: The least delta of Gaussian noise: calibration works with as many digits as delta has zeros.
LEAST_DELTA = Fraction(1, 10**300)

_LARGEST_EPSILON = 10**6

# Binary exponents of scale / granularity: finer grids would drown in refinement, coarser ones decide nothing.
_FINEST, _DEFAULT, _COARSEST = 36, 20, -30


def checked_sensitivity(mechanism: str, sensitivity: Number | None, meaning: str) -> Fraction:
    if sensitivity is None:
        raise TypeError(f"{mechanism} needs sensitivity: {meaning}")
    return exact(sensitivity, "sensitivity")


def one_price(mechanism: str, ways: Mapping[str, tuple[Any, ...]]) -> None:
    """Check that exactly one of the ways of saying the price is taken; `ways` maps a way's words to its values."""
    begun = [way for way, values in ways.items() if any(value is not None for value in values)]
    if len(begun) == 1 and all(value is not None for value in ways[begun[0]]):
        return
    said = f"only part of {begun[0]}" if len(begun) == 1 else ", ".join(begun) or "none of them"
    raise TypeError(f"{mechanism} needs exactly one of: {'; '.join(ways)}; got {said}")


def scale_above(scale: Fraction) -> float:
    """The smallest double that is not below the exact scale: more noise, never less."""
    try:
        rounded = float_up(scale)
    except ValueError as error:
        raise ValueError(f"the noise would be too large for doubles: its scale {error}") from None
    if rounded < sys.float_info.min:
        raise ValueError(f"the noise would be too small for doubles: its scale is below {sys.float_info.min!r}")
    return rounded


def check_integer_scale(what: str, scale: Fraction, alternative: str) -> None:
    """The kernels of integer noise take scales from 2^-30 to 2^36."""
    if not Fraction(1, 2**30) * (1 - Fraction(1, 2**53)) < scale <= 2**36:  # 2.0**-30 as text is a little less
        more = f"; for more noise use {alternative} with an integer granularity" if scale > 1 else ""
        raise ValueError(f"{what} must lie between 2**-30 and 2**36, got {approximately(scale)}{more}")


def checked_gaussian_price(epsilon: Number, delta: Number) -> dict[str, Fraction]:
    """Epsilon and delta, within what calibration can do."""
    price = {"epsilon": exact(epsilon, "epsilon"), "delta": exact(delta, "delta", below=1, least=LEAST_DELTA)}
    if price["epsilon"] > _LARGEST_EPSILON:
        raise ValueError(f"epsilon must be at most {_LARGEST_EPSILON} with Gaussian noise, got {epsilon!r}")
    return price


def power_of_two(exponent: int) -> float:
    """2^exponent as a double, from its bits: under flush-to-zero, arithmetic would lose subnormal ones."""
    pattern = exponent + 1023 << 52 if exponent >= -1022 else 1 << exponent + 1074
    (value,) = struct.unpack("<d", pattern.to_bytes(8, "little"))
    return float(value)


def checked_granularity(granularity: Number | None, scale: float) -> int:
    """The binary exponent of the grid: the given one, or that of the power of two nearest above scale * 2^-20."""
    mantissa, exponent = math.frexp(scale)
    scale_exponent = exponent - 1 if mantissa == 0.5 else exponent  # scale <= 2^scale_exponent
    if granularity is None:
        return max(scale_exponent - _DEFAULT, -1074)
    exponent = checked_power_of_two(granularity)
    step = Fraction(2) ** exponent
    if not Fraction(2) ** _COARSEST <= Fraction(scale) / step <= Fraction(2) ** _FINEST:
        raise ValueError(
            f"granularity must lie between scale * 2**-{_FINEST} and scale * 2**{-_COARSEST} "
            f"(here {scale * 2.0**-_FINEST:.3g} and {scale * 2.0**-_COARSEST:.3g}), got {shown(granularity)}"
        )
    if not -1074 <= exponent <= 1023:
        raise ValueError(f"granularity must be a finite positive double, got {shown(granularity)}")
    return exponent


def checked_power_of_two(granularity: Number) -> int:
    """The exponent of a typed power of two."""
    # A float is a power of two or it is not: here its bits count, not its decimal text.
    if isinstance(granularity, float) and math.isfinite(granularity) and granularity > 0:
        step = Fraction(granularity)
    else:
        step = exact(granularity, "granularity")
    exponent = step.numerator.bit_length() - step.denominator.bit_length()
    if step != Fraction(2) ** exponent:
        raise ValueError(f"granularity must be a power of two such as 1, 0.25 or 2**-10, got {shown(granularity)}")
    return exponent


def checked_nan(nan: float) -> float:
    if isinstance(nan, (bool, np.bool_, np.timedelta64)) or not isinstance(nan, (int, float, np.integer, np.floating)):
        raise TypeError(f"nan must be a number, what a NaN in the data counts as, got {nan!r}")
    try:
        replacement = float(nan)
    except OverflowError:
        replacement = math.inf
    if not math.isfinite(replacement):
        raise ValueError(f"nan must be finite: it is what a NaN in the data counts as, got {nan!r}")
    return replacement


def checked_alpha(alpha: float) -> float:
    if isinstance(alpha, bool) or not isinstance(alpha, (int, float, np.floating)):
        raise TypeError(f"alpha must be a number between 0 and 1, got {alpha!r}")
    level = float(alpha) if 0 < alpha < 1 else 0.0  # NumPy takes 1e-300 for 0 where it compares it with a float32
    if not 1e-300 <= level < 1:
        raise ValueError(f"alpha must lie between 0 (1e-300) and 1, 0.05 meaning 95 %, got {alpha!r}")
    return level


def check_budget(budget: object) -> None:
    if budget is not None and not isinstance(budget, PrivacyBudget):
        kept = ": exactnoise.publish.publish spends it, and gives make a PrivacyBudget to pass here"
        raise TypeError(
            "budget must be a PrivacyBudget, or None to say that the accounting is done elsewhere, "
            f"got {type(budget).__name__}{kept if hasattr(budget, 'ledger') else ''}"
        )


def least_epsilon(guess: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """The least epsilon of four significant digits that fits, from a guess that is at most a little too small."""
    epsilon = four_digits_up(guess)
    while not fits(epsilon):
        epsilon = four_digits_up(epsilon * Fraction(10001, 10000))
    return epsilon


def four_digits_up(epsilon: Fraction) -> Fraction:
    """The epsilon rounded up to four significant digits."""
    context = decimal_context(4, ROUND_CEILING)
    return Fraction(context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator)))


def scale_within(half_width: Fraction, quantile: float) -> Fraction:
    """The largest scale at which scale * quantile, with half a step of the default grid, keeps to the half width."""
    half_step = Fraction(1, 2 ** (_DEFAULT + 1))  # at the least, relative to the scale: where that is a power of two
    above = half_width / (Fraction(quantile) + half_step)
    exponent = above.numerator.bit_length() - above.denominator.bit_length()
    power = Fraction(2) ** (exponent if Fraction(2) ** exponent < above else exponent - 1)
    # Up to `power` all scales fit. Beyond it the step is that of the next power.
    return max(power, (half_width - 2 * power * half_step) / Fraction(quantile))


def normal_quantile(alpha: float) -> float:
    """The z for which a standard normal variable lies within -z and z with probability 1 - alpha."""
    from statistics import NormalDist  # slow to import

    return -NormalDist().inv_cdf(checked_alpha(alpha) / 2)


def root_above(square: Fraction) -> Fraction:
    """A fraction at least the square root, exact where the root is short, within one part in 2^128 otherwise."""
    shift = max(0, 128 - (square.numerator.bit_length() - square.denominator.bit_length()) // 2)
    scaled = -(-(square.numerator << 2 * shift) // square.denominator)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << shift)
