"""The privacy loss of several pure queries at its worst, when each is a randomised response.

An epsilon-differentially private query can be simulated from one randomised response, which says
the truth exp(epsilon) times as often as not (Kairouz, Oh & Viswanath 2015, arXiv 1311.0776,
Theorem 3.3; Murtagh & Vadhan 2016, arXiv 1507.03113, Lemma 2.3). Its privacy loss is +epsilon with
probability p = 1 / (1 + exp(-epsilon)) on one of two neighbouring inputs, and with probability
1 - p on the other. The losses of all queries add up. The classes here give the probabilities of
the sums, on the first input and on the other, as intervals.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Protocol

from exactnoise.accounting.interval import Interval, Precision

__all__ = ["MOST_QUERIES", "MOST_SUMS", "EqualQueries", "Losses", "MixedQueries", "log_choose", "losses_of"]

#: The limits of what is computed within seconds.
MOST_QUERIES = 10**8
MOST_SUMS = 2**16
_MOST_PRODUCTS = 16 * MOST_SUMS

_ZERO = Decimal(0)


class Losses(Protocol):
    """The possible losses in ascending order, each known by an index up to `last`."""

    @property
    def total(self) -> Fraction:
        """The largest loss, the sum of the epsilons."""

    @property
    def last(self) -> int:
        """The index of the largest loss."""

    def loss(self, index: int) -> Fraction:
        """The loss of that index."""

    def above(self, epsilon: Fraction) -> int:
        """The index of the least loss above epsilon, which is below the total."""

    def tails(self, index: int, at: Precision) -> tuple[Interval, Interval]:
        """The probability of a loss of that index or a larger one, on the first input and on the other.

        The loss is positive.
        """


def losses_of(groups: Mapping[Fraction, int]) -> Losses:
    """The losses of so many queries of each epsilon; a ValueError if they are too many."""
    if len(groups) == 1:
        return EqualQueries(*next(iter(groups.items())))
    return MixedQueries(groups)


class EqualQueries:
    """Queries of one epsilon: the index i is how many responses are true, a binomial variable."""

    def __init__(self, epsilon: Fraction, number: int) -> None:
        if number > MOST_QUERIES:
            raise ValueError(
                f"the optimum is computed for up to {MOST_QUERIES} queries, got {number}; "
                "zcdp_epsilon is for any number"
            )
        self.epsilon = epsilon
        self.last = number
        self.total = number * epsilon

    def loss(self, index: int) -> Fraction:
        return (2 * index - self.last) * self.epsilon

    def above(self, epsilon: Fraction) -> int:
        return (epsilon / self.epsilon + self.last) // 2 + 1

    def tails(self, index: int, at: Precision) -> tuple[Interval, Interval]:
        k, m, eps = self.last, index, self.epsilon
        # Spare digits for what the sums lose (see _series), and for the exponents' digits before the point.
        fine = Precision(at.digits + 2 * len(str(k)) + len(str(int(self.total))) + 5)
        shrink, grow = (-fine(eps)).exp(), fine(eps).exp()
        choices = log_choose(k, m, fine) - k * (1 + shrink).ln()
        # P(i) = C(k, i) p^k exp(-(k - i) eps), and Q(i) = P(k - i).
        first, first_on_other = (choices - (k - m) * eps).exp(), (choices - m * eps).exp()
        on_other = first_on_other * _series(k - m, m + 1, shrink)  # m > k/2 is above its mode
        if m == k or ((k - m) * grow).high < m + 1:
            return first * _series(k - m, m + 1, grow), on_other
        # Below the mode the other side is summed, where the terms fall.
        below = first * shrink * fine(Fraction(m, k - m + 1)) * _series(m - 1, k - m + 2, shrink)
        return 1 - below, on_other


class MixedQueries:
    """Queries of several epsilons: all sums of their losses, where equal ones are one."""

    def __init__(self, groups: Mapping[Fraction, int]) -> None:
        self.total = sum((n * eps for eps, n in groups.items()), Fraction(0))
        self._groups = sorted(groups.items(), key=lambda group: group[1])
        # The sum of the epsilons with a false response, in units of which all are multiples.
        self._unit = Fraction(
            math.gcd(*(eps.numerator for eps in groups)), math.lcm(*(eps.denominator for eps in groups))
        )
        self._falses = self._counted_sums()
        self.last = len(self._falses) - 1
        self._at_digits: dict[int, tuple[list[Interval], list[Interval]]] = {}

    def _counted_sums(self) -> list[int]:
        sums, products = {0}, 0
        for eps, n in self._groups:
            step = int(eps / self._unit)
            products += len(sums) * (n + 1)
            if products <= _MOST_PRODUCTS:
                sums = {t + j * step for t in sums for j in range(n + 1)}
            if products > _MOST_PRODUCTS or len(sums) > MOST_SUMS:
                raise ValueError(
                    f"epsilons must have at most {MOST_SUMS} different sums for the optimum, which these "
                    f"{len(self._groups)} kinds of queries exceed or take too long to add up; "
                    "rdp_epsilon and pld_epsilon are for such plans"
                )
        return sorted(sums)

    @cached_property
    def _losses(self) -> list[Fraction]:
        return [self.total - 2 * t * self._unit for t in reversed(self._falses)]

    def loss(self, index: int) -> Fraction:
        return self._losses[index]

    def above(self, epsilon: Fraction) -> int:
        return bisect_right(self._losses, epsilon)

    def tails(self, index: int, at: Precision) -> tuple[Interval, Interval]:
        if at.digits not in self._at_digits:
            weights = self._weights(at)
            descending = [weights[t] for t in self._falses]
            self._at_digits[at.digits] = list(accumulate(descending)), list(accumulate(reversed(descending)))
        upwards, downwards = self._at_digits[at.digits]
        # The losses are symmetric, and a loss has on the other input the probability of its negative on the first.
        position = self.last - index
        return upwards[position], downwards[position]

    def _weights(self, at: Precision) -> dict[int, Interval]:
        """The probability of each sum of the epsilons with a false response, on the first input."""
        kinds = []
        for eps, n in self._groups:
            shrink = (-at(eps)).exp()
            terms = [(-n * (1 + shrink).ln()).exp()]
            for j in range(n):
                terms.append(terms[-1] * shrink * at(Fraction(n - j, j + 1)))
            kinds.append((int(eps / self._unit), terms))
        low = _convolved(at.down, [(step, [term.low for term in terms]) for step, terms in kinds])
        high = _convolved(at.up, [(step, [term.high for term in terms]) for step, terms in kinds])
        return {t: Interval(at, low[t], high[t]) for t in low}


def _convolved(context: Context, kinds: Sequence[tuple[int, Sequence[Decimal]]]) -> dict[int, Decimal]:
    """The distribution of a sum from those of its parts, rounded as the context does."""
    weights = {0: Decimal(1)}
    for step, terms in kinds:
        products: dict[int, Decimal] = {}
        for t, weight in weights.items():
            for j, term in enumerate(terms):
                place = t + j * step
                products[place] = context.fma(weight, term, products.get(place, _ZERO))
        weights = products
    return weights


def _series(numerator: int, denominator: int, x: Interval) -> Interval:
    """1 + r0 + r0 r1 + ..., with r_j = x (numerator - j) / (denominator + j), which must be below 1.

    The ratios of neighbouring binomial probabilities, away from the mode. Computed in integers, in
    units of 2^-bits, rounded down. A term t' = r t is short by r times what t is short by, by one
    unit of rounding, and by what the ratio is short by: at most `short` units more than t is.
    The terms that are left when one is less than a unit are bounded by a geometric series.
    """
    at = x.at
    if not numerator:
        return at(1)  # whatever x is: it may be infinite
    bits = 33 * at.digits // 10  # about as many digits as x has
    one = 1 << bits
    ratio, ratio_up = int(at.down.multiply(x.low, Decimal(one))), int(at.up.multiply(x.high, Decimal(one))) + 1
    short = 1 + (ratio_up - ratio) * (numerator // denominator + 1)
    term, total, j = one, one, 0
    while term and j < numerator:
        term = (term * ratio * (numerator - j) >> bits) // (denominator + j)
        total += term
        j += 1
    missing = short * j * (j + 1) // 2
    if j < numerator:
        room = ((denominator + j) << bits) - ratio_up * (numerator - j)
        assert room > 0
        missing += short * j * ((denominator + j) << bits) // room + 1
    return Interval(
        at, at.down.divide(Decimal(total), Decimal(one)), at.up.divide(Decimal(total + missing), Decimal(one))
    )


# Up to this many factors a binomial coefficient is computed exactly. Beyond, Stirling's series is
# good for more digits than are ever asked for: about e^(-2 pi n) of the result.
_MOST_FACTORS = 1000


def log_choose(n: int, k: int, at: Precision) -> Interval:
    """The logarithm of the binomial coefficient "n choose k"."""
    if min(k, n - k) <= _MOST_FACTORS:
        return at(math.comb(n, k)).ln()
    return _log_factorial(n, at) - _log_factorial(k, at) - _log_factorial(n - k, at)


def _log_factorial(n: int, at: Precision) -> Interval:
    """Stirling's series: the error is less than the first omitted term, and of its sign."""
    total = at(n).ln() * (Fraction(1, 2) + n) - n + (2 * at.pi).ln() / 2
    smallest = Fraction(1, 10**at.digits)
    power, j = n, 1
    while abs(term := _stirling(j) / power) > smallest and j < 3 * n:
        total = total + term
        power *= n * n
        j += 1
    rest = at(term)
    return total + Interval(at, min(rest.low, _ZERO), max(rest.high, _ZERO))


def _stirling(j: int) -> Fraction:
    """The coefficient B_2j / (2j (2j - 1)), with Bernoulli numbers."""
    size = 32
    while size < j:
        size *= 2
    return _bernoulli(size)[j - 1] / (2 * j * (2 * j - 1))


@lru_cache(maxsize=16)
def _bernoulli(count: int) -> list[Fraction]:
    """B_2, B_4, ... from the tangent numbers, which count the terms of the derivatives of the tangent."""
    tangent = [math.factorial(j) for j in range(count)]
    for i in range(1, count):
        for j in range(i, count):
            tangent[j] = (j - i) * tangent[j - 1] + (j - i + 2) * tangent[j]
    return [Fraction((-1) ** (j - 1) * 2 * j * number, 4**j * (4**j - 1)) for j, number in enumerate(tangent, start=1)]
