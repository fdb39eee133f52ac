"""From pure differential privacy to zCDP: the exact rho of mechanisms, rounded up.

For the mechanisms here the largest rho over all orders is attained in the limit of order 1, where
it is the Kullback-Leibler divergence (Harrison & Manurangsi, FORC 2026, arXiv 2510.25746). Results
have 20 significant digits and are never below the true rho.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from functools import lru_cache
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.interval import Interval, Precision, upper

__all__ = [
    "checked_whole",
    "discrete_laplace_rho",
    "exponential_rho",
    "laplace_rho",
    "pure_rho",
]


def laplace_rho(epsilon: Number) -> Fraction:
    """Return the rho of Laplace noise of scale sensitivity / epsilon.

    Parameters
    ----------
    epsilon : number

    Returns
    -------
    Fraction
        epsilon + exp(-epsilon) - 1, rounded up to 20 significant digits.

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
    eps = exact(epsilon, "epsilon", price=True)
    return upper(lambda at: (-at(eps)).exp() - 1 + eps)


def discrete_laplace_rho(epsilon: Number, sensitivity: SupportsIndex) -> Fraction:
    """Return the rho of two-sided geometric noise with P(k) proportional to ``t^|k|``.

    Parameters
    ----------
    epsilon : number
    sensitivity : int
        The sensitivity D, at least 1; the noise has t = exp(-epsilon / D).

    Returns
    -------
    Fraction
        (epsilon / D) (D - 2 t (1 - exp(-epsilon)) / (1 - t^2)), rounded up to 20 significant digits.

    Raises
    ------
    TypeError, ValueError
        `sensitivity` is not a whole number >= 1, or `epsilon` is not a positive number.

    Notes
    -----
    The expectation of the privacy loss ``(epsilon / D) (|X - D| - |X|)`` under the noise X itself,
    where ``E|X| = 2 t / (1 - t^2)`` and ``E|X - D| = D + 2 t^(D + 1) / (1 - t^2)``. It is convex in the
    shift and 0 for none, hence a shift of D in one coordinate is the worst of L1 norm D.
    That order 1 is the worst order: Harrison & Manurangsi, FORC 2026, arXiv 2510.25746.

    Examples
    --------
    >>> float(discrete_laplace_rho(1, 1))
    0.46211715726000974
    """
    eps = exact(epsilon, "epsilon", price=True)
    shift = checked_whole(sensitivity, "sensitivity")

    def rho(at: Precision) -> Interval:
        t = (-at(eps / shift)).exp()
        moved = 1 - (-at(eps)).exp()
        return eps * (1 - 2 * t * moved / (shift * (1 - t * t)))

    return upper(rho)


def pure_rho(epsilon: Number) -> Fraction:
    """Return a rho that every epsilon-differentially private mechanism satisfies.

    Parameters
    ----------
    epsilon : number

    Returns
    -------
    Fraction
        epsilon tanh(epsilon / 2), rounded up to 20 significant digits.

    Notes
    -----
    Attained by binary randomised response, and by two-sided geometric noise of sensitivity 1,
    whose rho it therefore is (Harrison & Manurangsi, FORC 2026, arXiv 2510.25746). Smaller than
    the epsilon^2 / 2 of Bun & Steinke 2016, arXiv 1605.02065, Proposition 1.4. It is also what
    holds for permute-and-flip, which is not of bounded range: `exponential_rho` is not for it.

    Examples
    --------
    >>> float(pure_rho(1))
    0.46211715726000974
    """
    eps = exact(epsilon, "epsilon", price=True)
    return upper(lambda at: eps * (1 - (-at(eps)).exp()) / (1 + (-at(eps)).exp()))


def exponential_rho(epsilon: Number) -> Fraction:
    """Return the rho of the exponential mechanism, and of every mechanism of bounded range epsilon.

    Parameters
    ----------
    epsilon : number
        The privacy parameter, which is also the range of the privacy loss.

    Returns
    -------
    Fraction
        x - 1 - ln x with x = epsilon / (exp(epsilon) - 1), rounded up to 20 significant digits.

    Notes
    -----
    Harrison & Manurangsi, FORC 2026, arXiv 2510.25746: below the epsilon^2 / 8 of Cesar & Rogers
    2021 (arXiv 2004.07223). A bounded range means that the privacy losses of all outcomes lie
    within an interval of length epsilon (Dong, Durfee & Rogers 2020, arXiv 1909.13830), as they do
    for the exponential mechanism. They do not for permute-and-flip: use `pure_rho` for it.

    Examples
    --------
    >>> float(exponential_rho(1))
    0.12330156148224454
    """
    return _bounded_range_rho(exact(epsilon, "epsilon", price=True))


@lru_cache(maxsize=128)  # the search for an order asks hundreds of times
def _bounded_range_rho(eps: Fraction) -> Fraction:
    def rho(at: Precision) -> Interval:
        power = (-at(eps)).exp()
        rest = 1 - power
        # ln x is written out, because x itself vanishes for large epsilon.
        return eps * power / rest - 1 - at(eps).ln() + eps + rest.ln()

    return upper(rho)


def checked_whole(value: SupportsIndex, name: str, least: int = 1) -> int:
    """The whole number that was typed, or an error that names the parameter."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number >= {least}, got {value!r}")
    whole = operator.index(value)
    if whole < least:
        raise ValueError(f"{name} must be a whole number >= {least}, got {whole}")
    return whole
