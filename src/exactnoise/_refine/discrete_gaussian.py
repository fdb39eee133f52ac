"""The discrete Gaussian, P(X = k) proportional to exp(-k^2 / (2 sigma^2)): its sums with proved bounds.

Below sigma = 64 sums are taken term by term. From there on a tail is an integral with corrections at its lower end, by
the Euler-Maclaurin formula at half-integers: with f(x) = exp(-x^2 / (2 sigma^2)) and a = k - 1/2,

    f(k) + f(k + 1) + .. = integral of f from a to infinity - sum of beta_m f^(2m-1)(a) over m = 1 .. M + R

where x/2 / sinh(x/2) = sum of beta_m x^(2m), and |R| <= |B_2M| / (2M)! times the integral of |f^(2M)| from a on. With
n = 2M, |B_n| / n! = 2 zeta(n) / (2 pi)^n < 2.2 / (2 pi)^n, and by Cramer's inequality |He_n(z)| <= 1.0865 sqrt(n!)
exp(z^2 / 4) the integral is at most sigma^(1-n) 1.0865 sqrt(n!) sqrt(pi) erfc(a / (2 sigma)).
"""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from functools import cached_property, lru_cache

from exactnoise._refine.directed import FIRST_PRECISION, Directed, Interval, Mpfr, exact, rounded

__all__ = ["Sums", "discrete_gaussian_tail", "discrete_gaussian_thresholds"]

_SERIES_FROM = 64
_HALF = Fraction(1, 2)


class Sums:
    """Sums of f(k) = exp(-k^2 / (2 sigma^2)) over integers, at one precision."""

    def __init__(self, sigma: Fraction, at: Directed) -> None:
        self.sigma = sigma
        self.at = at
        self._rate = 1 / (2 * sigma * sigma)

    def term(self, k: int | Fraction) -> Interval:
        """f(k)."""
        return self._power(self._rate * k * k)

    @cached_property
    def total(self) -> Interval:
        """The sum over all integers."""
        down, up = self.at.down, self.at.up
        if self.sigma < 1:
            low, high = self._sum_from(1)
            return down.add(exact(1), down.mul(exact(2), low)), up.add(exact(1), up.mul(exact(2), high))
        # By Poisson's formula sigma sqrt(2 pi) times the sum of exp(-2 pi^2 sigma^2 n^2): 1, and less than 3 times the
        # term n = 1, which is below 3e-9, for all others.
        low = high = exact(1)
        for n in range(1, 2 + math.isqrt(self.at.up.precision)):
            square = 2 * self.sigma * self.sigma * n * n
            low_power = down.exp(down.minus(up.mul(rounded(square, up), up.mul(up.const_pi(), up.const_pi()))))
            high_power = up.exp(up.minus(down.mul(rounded(square, down), down.mul(down.const_pi(), down.const_pi()))))
            low, high = down.add(low, down.mul(exact(2), low_power)), up.add(high, up.mul(exact(2), high_power))
            if high_power < exact(1, -self.at.up.precision):
                high = up.add(high, high_power)
                break
        return (
            down.mul(down.mul(rounded(self.sigma, down), down.sqrt(down.mul(exact(2), down.const_pi()))), low),
            up.mul(up.mul(rounded(self.sigma, up), up.sqrt(up.mul(exact(2), up.const_pi()))), high),
        )

    def tail(self, k: int) -> Interval:
        """The sum from k on."""
        if self.sigma >= _SERIES_FROM:
            return self._series_from(k)
        if k < 1:
            low, high = self._sum_from(1 - k)
            return self.at.down.sub(self.total[0], high), self.at.up.sub(self.total[1], low)
        return self._sum_from(k)

    def probability_beyond(self, k: int) -> Interval:
        """P(|X| >= k), k >= 1."""
        low, high = self.tail(k)
        down, up = self.at.down, self.at.up
        return (
            down.div(down.mul(exact(2), low), self.total[1]),
            up.div(up.mul(exact(2), high), self.total[0]),
        )

    def _sum_from(self, k: int) -> Interval:
        """Term by term, k >= 1, until the rest is less than the last bit."""
        down, up = self.at.down, self.at.up
        # f(j + 1) / f(j) = exp(-(2j + 1) rate), and this ratio shrinks by exp(-2 rate) from one j to the next.
        term, ratio, shrink = self.term(k), self._power((2 * k + 1) * self._rate), self._power(2 * self._rate)
        low = high = exact(0)
        last_bit = exact(1, -up.precision)
        while True:
            low, high = down.add(low, term[0]), up.add(high, term[1])
            # From a ratio of 1/2 on the rest is a geometric series below the last term.
            if ratio[1] <= 0.5 and (term[1] <= up.mul(low, last_bit) or term[0] == 0):
                return low, up.add(high, term[1])
            term = down.mul(term[0], ratio[0]), up.mul(term[1], ratio[1])
            ratio = down.mul(ratio[0], shrink[0]), up.mul(ratio[1], shrink[1])

    def _power(self, exponent: Fraction) -> Interval:
        """e^-exponent."""
        return self.at.down.exp(rounded(-exponent, self.at.down)), self.at.up.exp(rounded(-exponent, self.at.up))

    def _series_from(self, k: int) -> Interval:
        at, down, up = self.at, self.at.down, self.at.up
        a = k - _HALF
        ends = []
        for direction, opposite in ((down, up), (up, down)):
            # erfc decreases: its argument is rounded the other way.
            root = (direction if a >= 0 else opposite).sqrt(exact(2))
            argument = opposite.div(rounded(a / self.sigma, opposite), root)
            half_root = direction.sqrt(direction.div(direction.const_pi(), exact(2)))
            ends.append(
                direction.mul(direction.mul(rounded(self.sigma, direction), half_root), direction.erfc(argument))
            )
        low, high = ends

        # The derivatives of f are f times Hermite polynomials, by their recurrence.
        step = 1 / (self.sigma * self.sigma)
        before, derivative, order = Fraction(1), -a * step, 1
        correction = Fraction(0)
        enough = up.mul(low, exact(1, 32 - at.up.precision))
        rest = self._remainder(0, a)
        # So many are enough for tails down to 1e-320. Farther out the bounds are wide, and still tiny.
        for m in range(1, 64 + up.precision // 8):
            correction -= _beta(m) * derivative
            rest, last = self._remainder(2 * m, a), rest
            if rest <= enough or rest >= last:
                break
            for _ in range(2):
                before, derivative = derivative, -step * (a * derivative + order * before)
                order += 1
        f_low, f_high = self.term(a)
        times_low, times_high = rounded(correction, down), rounded(correction, up)
        low = down.add(low, down.mul(times_low, f_low if correction >= 0 else f_high))
        high = up.add(high, up.mul(times_high, f_high if correction >= 0 else f_low))
        # Far out the bound of the rest is larger than all the sum, which is positive.
        return max(down.sub(low, rest), exact(0)), up.add(high, rest)

    def _remainder(self, n: int, a: Fraction) -> Mpfr:
        """|R| at most, with n = 2M."""
        up, down = self.at.up, self.at.down
        circle = down.mul(down.mul(exact(2), down.const_pi()), rounded(self.sigma, down))
        growth = up.sqrt(up.div(rounded(Fraction(math.factorial(n)), up), down.pow(circle, 2 * n)))
        far = up.erfc(rounded(a / (2 * self.sigma), down))
        constant = rounded(Fraction(24, 10), up)  # more than 2.2 * 1.0865
        return up.mul(up.mul(up.mul(constant, rounded(self.sigma, up)), up.mul(growth, up.sqrt(up.const_pi()))), far)


@lru_cache(maxsize=512)
def _beta(m: int) -> Fraction:
    """The coefficients of x/2 / sinh(x/2) in x^2."""
    if m == 0:
        return Fraction(1)
    return -sum((_beta(m - i) / (4**i * math.factorial(2 * i + 1)) for i in range(1, m + 1)), start=Fraction(0))


def discrete_gaussian_tail(sigma: float, k: int) -> float:
    """P(|X| >= k), rounded up; 1 for k <= 0."""
    if k <= 0:
        return 1.0
    _, high = Sums(Fraction(sigma), Directed(FIRST_PRECISION)).probability_beyond(k)
    # Subnormal numbers would be rounded once more.
    return min(1.0, max(sys.float_info.min, float(Directed(53).up.plus(high))))


def discrete_gaussian_thresholds(sigma: float, bits: int) -> tuple[float, ...]:
    """floor(2^bits P(|X| >= k)) for k = 1, 2, .. as long as it is not 0."""
    thresholds: list[float] = []
    for k in itertools.count(1):
        threshold = _threshold(Fraction(sigma), k, bits)
        if threshold == 0:
            return tuple(thresholds)
        thresholds.append(float(threshold))
    raise AssertionError("unreachable: the tails vanish")


def _threshold(sigma: Fraction, k: int, bits: int) -> int:
    for precision in itertools.count(FIRST_PRECISION, 64):
        at = Directed(precision)
        ends = Sums(sigma, at).probability_beyond(k)
        # As fractions, those of a tiny sigma would have millions of digits.
        low, high = (int(at.down.floor(at.down.mul(end, exact(1, bits)))) for end in ends)
        if low == high:
            return low
    raise AssertionError("unreachable: the precisions do not end")
