"""The least noise that a price allows, proved with directed rounding."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from exactnoise._refine.directed import FIRST_PRECISION, Directed, Interval, Mpfr, double, exact, pattern, rounded
from exactnoise._refine.discrete_gaussian import Sums

__all__ = [
    "discrete_gaussian_delta",
    "discrete_gaussian_epsilon",
    "discrete_gaussian_sigma",
    "gaussian_epsilon",
    "gaussian_sigma",
]

#: The scales that discrete Gaussian noise can have.
_LEAST_SIGMA, _LARGEST_SIGMA = 2.0**-30, 2.0**36


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
    is_private = _privacy_test(_gaussian_delta, delta)
    return _least_double(lambda sigma: is_private(epsilon, Fraction(sigma) / sensitivity))


def gaussian_epsilon(sigma: float, delta: Fraction, sensitivity: Fraction) -> Fraction:
    """Return the smallest double epsilon for which Gaussian noise is (epsilon, delta)-differentially private.

    The inverse of `gaussian_sigma`, on the safe side likewise.
    """
    is_private = _privacy_test(_gaussian_delta, delta)
    ratio = Fraction(sigma) / sensitivity
    return Fraction(_least_double(lambda epsilon: is_private(Fraction(epsilon), ratio)))


def discrete_gaussian_sigma(epsilon: Fraction, delta: Fraction) -> float:
    """Return a double sigma for which discrete Gaussian noise is (epsilon, delta)-private for changes by 1.

    Parameters
    ----------
    epsilon, delta : Fraction
        Positive; delta below 1.

    Returns
    -------
    float
        From 2^-30 to 2^36; the double below it does not suffice, unless it is the least one.

    Raises
    ------
    OverflowError
        No scale is large enough.

    Notes
    -----
    delta(sigma) = P(X > epsilon sigma^2 - 1/2) - e^epsilon P(X > epsilon sigma^2 + 1/2) (Canonne, Kamath, Steinke
    2020, arXiv 2004.00010, Theorem 7), computed with directed rounding. It is continuous in sigma, but at small scales
    it does not always decrease: it can have a local minimum where epsilon sigma^2 - 1/2 is a whole number. So more
    noise can be less private, and of several ranges of sigma that delta allows the one of least noise is taken.
    """
    is_private = _privacy_test(discrete_gaussian_delta, delta)

    def suffices(sigma: float) -> bool:
        return is_private(epsilon, Fraction(sigma))

    # It is near that of continuous noise: the search begins there.
    low = high = min(max(gaussian_sigma(epsilon, delta, Fraction(1)), _LEAST_SIGMA), _LARGEST_SIGMA)
    while low > _LEAST_SIGMA and suffices(low):
        low /= 2
    while high < _LARGEST_SIGMA and not suffices(high):
        high *= 2
    sigma = _least_double(suffices, low, min(high, _LARGEST_SIGMA))
    while (minimum := _minimum_below(sigma, epsilon)) > _LEAST_SIGMA and suffices(minimum):
        low = minimum
        while low > _LEAST_SIGMA and suffices(low):
            low /= 2
        sigma = _least_double(suffices, low, minimum)
    return sigma


def discrete_gaussian_epsilon(sigma: float, delta: Fraction) -> Fraction:
    """Return the smallest double epsilon for which discrete Gaussian noise is private for changes by 1.

    Of this sigma, or of a smaller one that takes less: the inverse of `discrete_gaussian_sigma`.
    """
    is_private = _privacy_test(discrete_gaussian_delta, delta)
    own = _least_double(lambda epsilon: is_private(Fraction(epsilon), Fraction(sigma)))
    # The local minimum of delta below sigma, followed while epsilon falls and it comes nearer to sigma.
    step = _step_below(sigma, Fraction(own))
    if step < 0:
        return Fraction(own)

    def suffices(epsilon: float) -> bool:
        return is_private(Fraction(epsilon), Fraction(_minimum(step, Fraction(epsilon))))

    nearest = math.nextafter((step + 0.5) / sigma**2, math.inf)
    return Fraction(_least_double(suffices, nearest, own) if nearest < own and suffices(own) else own)


def _minimum_below(sigma: float, epsilon: Fraction) -> float:
    """The next smaller sigma at which delta has a local minimum, or 0."""
    step = _step_below(sigma, epsilon)
    if step >= 0 and _minimum(step, epsilon) >= sigma:  # sigma is that minimum, whose root was rounded up
        step -= 1
    return _minimum(step, epsilon) if step >= 0 else 0.0


def _step_below(sigma: float, epsilon: Fraction) -> int:
    """The largest whole number below epsilon sigma^2 - 1/2."""
    return math.ceil(epsilon * Fraction(sigma) ** 2 - Fraction(1, 2)) - 1


def _minimum(step: int, epsilon: Fraction) -> float:
    """The sigma at which epsilon sigma^2 - 1/2 is `step`."""
    return math.sqrt((step + Fraction(1, 2)) / epsilon)


_DeltaBounds = Callable[[Fraction, Fraction, Directed], Interval]


def _privacy_test(delta_bounds: _DeltaBounds, delta: Fraction) -> Callable[[Fraction, Fraction], bool]:
    """Whether epsilon and ratio = sigma / sensitivity keep to delta: by bounds, at the least precision that decides."""
    # At the last one the cancellation of two terms of the size of delta leaves enough; then undecided counts as no.
    last = FIRST_PRECISION + 2 * max(0, delta.denominator.bit_length() - delta.numerator.bit_length())
    ladder = [Directed(bits) for bits in (128, 256, 512, 1024) if bits < last] + [Directed(last)]
    cap = rounded(delta, ladder[-1].down)

    def is_private(epsilon: Fraction, ratio: Fraction) -> bool:
        for at in ladder:
            low, high = delta_bounds(epsilon, ratio, at)
            if high <= cap:
                return True
            if low > cap:
                return False
        return False

    return is_private


def _least_double(
    suffices: Callable[[float], bool], least: float = sys.float_info.min, largest: float = sys.float_info.max
) -> float:
    """The smallest double of a range from which on a monotone condition holds."""
    if not suffices(largest):
        raise OverflowError("no double is large enough")
    # Doubles in the order of their bit patterns: bisection ends at neighbours.
    low, high = pattern(least) - 1, pattern(largest)
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


def discrete_gaussian_delta(epsilon: Fraction, sigma: Fraction, at: Directed, *, shift: int = 1) -> Interval:
    """Bounds of the least delta for epsilon and two integers that differ by `shift`."""
    sums = Sums(sigma, at)
    start = epsilon * sigma * sigma / shift - Fraction(shift, 2)
    far = sums.tail(math.floor(start + shift) + 1)
    near = sums.tail(math.floor(start) + 1)
    low = at.down.sub(near[0], at.up.mul(at.up.exp(rounded(epsilon, at.up)), far[1]))
    high = at.up.sub(near[1], at.down.mul(at.down.exp(rounded(epsilon, at.down)), far[0]))
    total = sums.total
    # Delta is not negative, and so neither is an upper bound of it.
    return at.down.div(low, total[1] if low >= 0 else total[0]), at.up.div(high, total[0])


def _phi(x: Fraction, direction: Any, at: Directed) -> Mpfr:
    """The normal distribution function, erfc(-x / sqrt 2) / 2, rounded in one direction."""
    # erfc decreases: its argument is rounded the other way.
    opposite = at.down if direction is at.up else at.up
    argument = rounded(-x, opposite)
    same = direction
    root = opposite.sqrt(exact(2)) if argument < 0 else same.sqrt(exact(2))
    return direction.div(direction.erfc(opposite.div(argument, root)), exact(2))
