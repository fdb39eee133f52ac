"""The exact privacy of repeated Laplace noise.

One release of scale sensitivity / e has on the first of two neighbouring inputs the privacy loss
L with density exp((L - e) / 2) times the symmetric measure

    nu = 1/2 (atom at e + atom at -e) + 1/4 (uniform density 1 on [-e, e]).

Losses of k releases add up, so theirs has the density exp((L - k e) / 2) times the k-fold
convolution of nu, and delta is the integral of (1 - exp(epsilon - L))+ over it. Write nu with
translations T and the operator A that integrates from the right: 2 nu = T(e) (1 + A/2) +
T(-e) (1 - A/2). Its k-th power is a binomial sum, and what is integrated, as a function of the
distance x above epsilon, is 2 exp(epsilon / 2) sinh(x / 2), whose Laplace transform is
exp(epsilon / 2) / ((p - 1/2)(p + 1/2)). So the m-th of the binomial terms has the transform
(p + 1/2)^(k-m-1) (p - 1/2)^(m-1) / p^k: the exponentials cancel but for m = 0, and all that is
left are polynomials. With y_m = ((k - 2m) e - epsilon) / 2,

    delta = 1 - exp(-y_0) R,    R = -2^(1-k) sum_m C(k, m) sum_j c_(m, k-1-j) y_m^j / j!

over the m with y_m > 0, where c_(m, i) is the coefficient of t^i in (t + 1)^(k-m-1) (t - 1)^(m-1).
R is rational and is computed exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import accumulate
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.convert import checked_whole
from exactnoise.accounting.interval import Formula, at_most, upper
from exactnoise.accounting.search import least_argument

__all__ = ["MOST_TIMES", "laplace_delta", "laplace_epsilon"]

#: The sums have about times^2 / 2 terms of times digits.
MOST_TIMES = 100


def laplace_delta(epsilon_each: Number, epsilon: Number, *, times: SupportsIndex = 1) -> Fraction:
    """Return the least delta of repeated Laplace noise for an epsilon.

    Parameters
    ----------
    epsilon_each : number
        The pure epsilon of each release: L1 sensitivity / scale.
    epsilon : number
        Zero or more: of all releases together.
    times : int
        How many releases, at most `MOST_TIMES`.

    Returns
    -------
    Fraction
        Exact but for rounding up to 20 significant digits; 0 from times * epsilon_each on.

    Raises
    ------
    TypeError, ValueError
        A parameter is not a number in its range.

    Notes
    -----
    For a fixed plan: the releases' parameters, not their questions, are settled beforehand. The
    derivation is in the module's docstring. That a change of a bounded L1 norm is worst in one
    coordinate: for a change divided into t_1 + t_2 the transform of delta is smaller by
    exp((epsilon - t_1 - t_2) / 2) sinh(p t_1) sinh(p t_2) / p^2, which is that of a convolution of
    two positive densities.

    Examples
    --------
    >>> round(float(laplace_delta(1, "0.5")), 12), laplace_delta(1, 1)
    (0.221199216929, Fraction(0, 1))
    """
    each, eps, k = _checked(epsilon_each, epsilon, times)
    if eps >= k * each:
        return Fraction(0)
    return min(upper(_delta(_short(each), k, -_short(-eps))), Fraction(1))


def laplace_epsilon(epsilon_each: Number, delta: Number, *, times: SupportsIndex = 1) -> Fraction:
    """Return the least epsilon of repeated Laplace noise for a delta.

    Parameters
    ----------
    epsilon_each, times
        As in `laplace_delta`.
    delta : number
        Zero or more, below 1: of all releases together.

    Returns
    -------
    Fraction
        Exact but for rounding up, by a few units of the 20th significant digit; at most times *
        epsilon_each, which it is for delta 0.

    Raises
    ------
    TypeError, ValueError
        A parameter is not a number in its range.

    Notes
    -----
    The zero of `laplace_delta`, and for a fixed plan as that.

    Examples
    --------
    >>> round(float(laplace_epsilon("0.1", 1e-6, times=30)), 6)
    2.297819
    """
    each, _, k = _checked(epsilon_each, 0, times)
    small = exact(delta, "delta", positive=False, below=1, price=True)
    if not small:
        return k * each
    if at_most(_delta(_short(each), k, Fraction(0)), small):
        return Fraction(0)
    found = least_argument(lambda eps: _delta(_short(each), k, eps), small, Fraction(0), k * _short(each))
    return min(found, k * each)


def _checked(epsilon_each: Number, epsilon: Number, times: SupportsIndex) -> tuple[Fraction, Fraction, int]:
    each = exact(epsilon_each, "epsilon_each", price=True)
    eps = exact(epsilon, "epsilon", positive=False, price=True)
    k = checked_whole(times, "times")
    if k > MOST_TIMES:
        raise ValueError(
            f"times must be at most {MOST_TIMES} for the exact loss of Laplace noise, got {k}; "
            "rdp_epsilon with laplace_rdp, or pld_epsilon, are for any number"
        )
    return each, eps, k


def _short(amount: Fraction) -> Fraction:
    """Rounded up to 100 digits if it is longer than that: the sums take powers of it."""
    return amount if amount.denominator.bit_length() < 400 else upper(lambda at: at(amount), 100)


def _delta(each: Fraction, k: int, eps: Fraction) -> Formula:
    if eps >= k * each:
        return lambda at: at(0)
    rational = _rational_part(each, k, eps)
    return lambda at: 1 - (-at((k * each - eps) / 2)).exp() * rational


def _rational_part(each: Fraction, k: int, eps: Fraction) -> Fraction:
    """R of the module's docstring."""
    # Horner's rule in integers: y_m = n_m / q, and the j-th coefficient has the weight q^(k-1-j) (k-1)! / j!.
    q = 2 * math.lcm(each.denominator, eps.denominator)
    weights = [1]
    for j in range(k - 1, 0, -1):
        weights.append(weights[-1] * q * j)
    total = 0
    for m, coefficients in enumerate(_coefficients(k)):
        n = int(((k - 2 * m) * each - eps) * q / 2)
        if n <= 0:
            break
        value = 0
        for coefficient, weight in zip(coefficients, weights, strict=True):
            value = value * n + coefficient * weight
        total += math.comb(k, m) * value
    return Fraction(-2 * total, 2**k * weights[-1])


def _coefficients(k: int) -> Iterator[list[int]]:
    """For m = 0, 1, ...: those of t^0, ..., t^(k-1) in the power series of (t + 1)^(k-m-1) (t - 1)^(m-1)."""
    # 1 / (t - 1) is minus the series of all ones: its product takes partial sums.
    coefficients = [-c for c in accumulate(math.comb(k - 1, i) for i in range(k))]
    while True:
        yield coefficients
        # To the next m: divide by t + 1, then multiply by t - 1.
        divided = list(accumulate(coefficients, lambda before, c: c - before))
        coefficients = [low - high for low, high in zip([0, *divided], divided, strict=False)]
