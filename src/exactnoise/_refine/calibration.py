"""The least noise that a price allows, proved with directed rounding."""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from exactnoise._refine.directed import FIRST_PRECISION, Directed, Interval, Mpfr, double, exact, pattern, rounded

__all__ = ["gaussian_epsilon", "gaussian_sigma"]


def gaussian_sigma(epsilon: Fraction, delta: Fraction, sensitivity: Fraction) -> float:
    """Return the smallest double sigma for which Gaussian noise is (epsilon, delta)-differentially private.

    Parameters
    ----------
    epsilon, delta, sensitivity : Fraction
        Positive; delta below 1; sensitivity in the L2 norm.

    Returns
    -------
    float
        The proof that it suffices is an upper bound of delta(sigma), computed with directed rounding.

    Raises
    ------
    OverflowError
        No double is large enough.

    Notes
    -----
    delta(sigma) = Phi(D/(2 sigma) - epsilon sigma/D) - e^epsilon Phi(-D/(2 sigma) - epsilon sigma/D) for sensitivity D
    (Balle & Wang 2018, arXiv 1805.06530, Theorem 8), decreasing in sigma.
    """
    is_private = _privacy_test(delta)
    return _least_double(lambda sigma: is_private(epsilon, Fraction(sigma) / sensitivity))


def gaussian_epsilon(sigma: float, delta: Fraction, sensitivity: Fraction) -> Fraction:
    """Return the smallest double epsilon for which Gaussian noise is (epsilon, delta)-differentially private.

    The inverse of `gaussian_sigma`, on the safe side likewise.
    """
    is_private = _privacy_test(delta)
    ratio = Fraction(sigma) / sensitivity
    return Fraction(_least_double(lambda epsilon: is_private(Fraction(epsilon), ratio)))


def _privacy_test(delta: Fraction) -> Callable[[Fraction, Fraction], bool]:
    """Whether epsilon and ratio = sigma / sensitivity keep to delta: by bounds, at the least precision that decides."""
    # At the last one the cancellation of two terms of the size of delta leaves enough; then undecided counts as no.
    last = FIRST_PRECISION + 2 * max(0, delta.denominator.bit_length() - delta.numerator.bit_length())
    ladder = [Directed(bits) for bits in (128, 256, 512, 1024) if bits < last] + [Directed(last)]
    cap = rounded(delta, ladder[-1].down)

    def is_private(epsilon: Fraction, ratio: Fraction) -> bool:
        for at in ladder:
            low, high = _gaussian_delta(epsilon, ratio, at)
            if high <= cap:
                return True
            if low > cap:
                return False
        return False

    return is_private


def _least_double(suffices: Callable[[float], bool]) -> float:
    """The smallest positive normal double from which on a monotone condition holds."""
    if not suffices(sys.float_info.max):
        raise OverflowError("no double is large enough")
    # Doubles in the order of their bit patterns: bisection ends at neighbours.
    low, high = pattern(sys.float_info.min) - 1, pattern(sys.float_info.max)
    while high - low > 1:
        middle = (low + high) // 2
        if suffices(double(middle)):
            high = middle
        else:
            low = middle
    return double(high)


def _gaussian_delta(epsilon: Fraction, ratio: Fraction, at: Directed) -> Interval:
    """Bounds of delta at ratio = sigma / sensitivity."""
    near = 1 / (2 * ratio)
    far = epsilon * ratio
    bounds = []
    for outwards, inwards in ((at.down, at.up), (at.up, at.down)):
        first = _phi(near - far, outwards, at)
        second = _phi(-near - far, inwards, at)
        power = inwards.exp(rounded(epsilon, inwards))
        bounds.append(outwards.sub(first, inwards.mul(power, second)))
    return bounds[0], bounds[1]


def _phi(x: Fraction, direction: Any, at: Directed) -> Mpfr:
    """The normal distribution function, erfc(-x / sqrt 2) / 2, rounded in one direction."""
    # erfc decreases: its argument is rounded the other way.
    opposite = at.down if direction is at.up else at.up
    argument = rounded(-x, opposite)
    same = direction
    root = opposite.sqrt(exact(2)) if argument < 0 else same.sqrt(exact(2))
    return direction.div(direction.erfc(opposite.div(argument, root)), exact(2))
