"""From pure differential privacy to zCDP: the exact rho of mechanisms, rounded up.

The values are irrational. They are bounded with the `decimal` module in directed rounding, at a
precision chosen from the parameters so that cancellation leaves at least 25 correct digits, and
returned as the next fraction of 20 significant decimal digits above: never below the true rho,
and above it by less than one part in 10^19.

The largest rho over all orders is attained in the limit of order 1, where it is the
Kullback-Leibler divergence (Harrison & Manurangsi, FORC 2026, arXiv 2510.25746).
"""

from __future__ import annotations

import operator
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, decimal_context, exact

__all__ = ["discrete_laplace_rho", "laplace_rho", "pure_rho"]

_RESULT_DIGITS = 20
_SPARE_DIGITS = 10


def laplace_rho(epsilon: Number) -> Fraction:
    """Return the rho of Laplace noise of scale sensitivity / epsilon.

    Parameters
    ----------
    epsilon : number

    Returns
    -------
    Fraction
        The smallest fraction of 20 significant digits that is not below
        epsilon + exp(-epsilon) - 1 (up to one unit in the last of them).

    Notes
    -----
    Harrison & Manurangsi, FORC 2026, arXiv 2510.25746. Always below the epsilon^2 / 2 of any pure
    mechanism (Bun & Steinke 2016, arXiv 1605.02065, Proposition 1.4), by 26 % at epsilon 1.
    Rounding the noisy value is post-processing, so exactly rounded Laplace noise has this rho too.

    Examples
    --------
    >>> float(laplace_rho(1))
    0.36787944117144233
    """
    amount = exact(epsilon, "epsilon", price=True)
    # exp(-epsilon) - 1 + epsilon is about epsilon^2 / 2: the leading digits cancel twice.
    up, _ = _directed(2 * _leading_zeros(amount))
    # The value grows with epsilon, so every step may round up.
    eps = up.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    return _round_up(up.add(up.subtract(_exp_up(eps.copy_negate(), up), Decimal(1)), eps))


def discrete_laplace_rho(epsilon: Number, sensitivity: SupportsIndex) -> Fraction:
    """Return the rho of two-sided geometric noise with P(k) proportional to a^|k|.

    Parameters
    ----------
    epsilon : number
    sensitivity : int
        The sensitivity D, at least 1; the noise has a = exp(-epsilon / D).

    Returns
    -------
    Fraction
        The smallest fraction of 20 significant digits that is not below
        (epsilon / D) (D - 2 a (1 - exp(-epsilon)) / (1 - a^2)) (up to one unit in the last).

    Raises
    ------
    TypeError, ValueError
        `sensitivity` is not a whole number >= 1, or `epsilon` is not a positive number.

    Notes
    -----
    The expectation of the privacy loss (epsilon / D) (|X - D| - |X|) under the noise X itself,
    where E|X| = 2 a / (1 - a^2) and E|X - D| = D + 2 a^(D + 1) / (1 - a^2). It is convex in the
    shift and 0 for none, hence a shift of D in one coordinate is the worst of L1 norm D.
    That order 1 is the worst order: Harrison & Manurangsi, FORC 2026, arXiv 2510.25746.
    """
    amount = exact(epsilon, "epsilon", price=True)
    if isinstance(sensitivity, bool) or not hasattr(sensitivity, "__index__"):
        raise TypeError(f"sensitivity must be a whole number >= 1, got {sensitivity!r}")
    shift = operator.index(sensitivity)
    if shift < 1:
        raise ValueError(f"sensitivity must be a whole number >= 1, got {shift}")
    # 1 - a^2 loses the leading zeros of epsilon / D, and 1 - overlap those of epsilon.
    up, down = _directed(_leading_zeros(amount / shift) + _leading_zeros(amount))
    one, d = Decimal(1), Decimal(shift)
    # rho = epsilon (1 - overlap), overlap = 2 a (1 - exp(-epsilon)) / (D (1 - a^2)).
    # rho grows with epsilon, overlap with a: round epsilon up, a down, overlap down.
    eps = up.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    a = _exp_down(up.divide(eps, d).copy_negate(), down)
    moved = down.subtract(one, _exp_up(eps.copy_negate(), up))
    spread = up.multiply(d, up.subtract(one, down.multiply(a, a)))
    overlap = down.divide(down.multiply(down.multiply(Decimal(2), a), moved), spread)
    return _round_up(up.multiply(eps, up.subtract(one, overlap)))


def pure_rho(epsilon: Number) -> Fraction:
    """Return a rho that every epsilon-differentially private mechanism satisfies.

    Parameters
    ----------
    epsilon : number

    Returns
    -------
    Fraction
        epsilon tanh(epsilon / 2), rounded up as `discrete_laplace_rho`.

    Notes
    -----
    Attained by binary randomised response, and by two-sided geometric noise of sensitivity 1,
    whose rho it therefore is (Harrison & Manurangsi, FORC 2026, arXiv 2510.25746). Smaller than
    the epsilon^2 / 2 of Bun & Steinke 2016, arXiv 1605.02065, Proposition 1.4.
    """
    return discrete_laplace_rho(epsilon, 1)


def _leading_zeros(amount: Fraction) -> int:
    """Decimal zeros in front of the first digit, or a few more; 0 well above 1."""
    bits = amount.denominator.bit_length() - amount.numerator.bit_length() + 1
    return max(0, bits * 302 // 1000 + 1)


def _directed(cancelled: int) -> tuple[Context, Context]:
    """Contexts that round up and down and keep the digits that cancellation takes."""
    digits = _RESULT_DIGITS + _SPARE_DIGITS + cancelled
    return decimal_context(digits, ROUND_CEILING), decimal_context(digits, ROUND_FLOOR)


# Arguments are negated with copy_negate: the unary minus of Decimal rounds to the thread's context.


def _exp_up(x: Decimal, context: Context) -> Decimal:
    # Decimal.exp is correct to half a unit in the last place whatever the rounding mode.
    return context.next_plus(context.exp(x))


def _exp_down(x: Decimal, context: Context) -> Decimal:
    return context.next_minus(context.exp(x))


def _round_up(value: Decimal) -> Fraction:
    return Fraction(decimal_context(_RESULT_DIGITS, ROUND_CEILING).plus(value))
