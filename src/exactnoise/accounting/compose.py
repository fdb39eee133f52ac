"""Composition of queries of which only the epsilon is known: the basic sum, advanced composition, the optimum.

In every function `epsilons` is one number for queries of one kind, an iterable of numbers, one for
each query, or a mapping from each epsilon to how many queries have it; `times` repeats the whole.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import SupportsIndex

from exactnoise.accounting.amount import Number, approximately, exact, shown
from exactnoise.accounting.convert import checked_whole
from exactnoise.accounting.interval import Formula, Interval, Precision, at_most, upper
from exactnoise.accounting.pure_losses import Losses, losses_of
from exactnoise.accounting.search import largest_on_grid

__all__ = [
    "Epsilons",
    "advanced_epsilon",
    "advanced_filter_epsilon",
    "basic_epsilon",
    "optimal_delta",
    "optimal_epsilon",
    "optimal_epsilon_each",
    "too_many_sums",
]

Epsilons = Number | Iterable[Number] | Mapping[Number, int]

# From here on exp(epsilon) is of no use to anybody.
_EXCESSIVE = 10**6


def basic_epsilon(epsilons: Epsilons, *, times: SupportsIndex = 1) -> Fraction:
    """Return the sum of the epsilons.

    Parameters
    ----------
    epsilons : number or iterable of number
    times : int
        How often all of them are asked.

    Returns
    -------
    Fraction
        Exact.

    Raises
    ------
    TypeError, ValueError
        `epsilons` is or holds something else than a positive number, or is empty; `times` is not a
        whole number >= 1.

    Notes
    -----
    Dwork & Roth 2014, Theorem 3.16. It holds for epsilons chosen after earlier answers as well
    (Rogers, Roth, Ullman & Vadhan 2016, arXiv 1605.08294).

    Examples
    --------
    >>> basic_epsilon([0.1, 0.2], times=10)
    Fraction(3, 1)
    """
    return summed(counted(epsilons, times))


def advanced_epsilon(epsilons: Epsilons, *, times: SupportsIndex = 1, delta: Number) -> Fraction:
    """Return the epsilon of advanced composition, or the sum of the epsilons where that is smaller.

    Parameters
    ----------
    epsilons, times
        As in `basic_epsilon`; fixed before the first answer is seen.
    delta : number
        Between 0 and 1.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits; the sum is exact.

    Raises
    ------
    TypeError, ValueError
        As `basic_epsilon`, or `delta` is not a number between 0 and 1.

    Notes
    -----
    sqrt(2 ln(1/delta) sum epsilon^2) + sum epsilon (exp(epsilon) - 1): Dwork, Rothblum & Vadhan
    2010; Dwork & Roth 2014, Theorem 3.20. It is the theorem that most texts quote, and never
    better than `optimal_epsilon`.

    Examples
    --------
    >>> round(float(advanced_epsilon(0.1, times=100, delta=1e-6)), 3)
    6.308
    """
    groups, small = counted(epsilons, times), exact(delta, "delta", below=1, price=True)
    total = summed(groups)
    if max(groups) > _EXCESSIVE:
        return total

    def bound(at: Precision) -> Interval:
        mean = sum((n * eps * (at(eps).exp() - 1) for eps, n in groups.items()), at(0))
        return mean + _deviation(groups, small, at)

    return min(upper(bound), total)


def advanced_filter_epsilon(epsilons: Epsilons, *, times: SupportsIndex = 1, delta: Number) -> Fraction:
    """Return the epsilon of advanced composition for epsilons that may be chosen after earlier answers.

    Parameters
    ----------
    epsilons, times
        As in `basic_epsilon`.
    delta : number
        Between 0 and 1.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits.

    Raises
    ------
    TypeError, ValueError
        As `basic_epsilon`, or `delta` is not a number between 0 and 1.

    Notes
    -----
    sum epsilon^2 / 2 + sqrt(2 ln(1/delta) sum epsilon^2): Whitehouse, Ramdas, Rogers & Wu 2023,
    arXiv 2203.05481. A budget that goes on until this reaches its epsilon is (epsilon,
    delta)-differentially private, whatever the analyst does. That `basic_epsilon` is smaller for a
    few queries must not be used here: which of two rules stops the spending is to be settled
    before the first answer. zCDP, which counts rho, admits at least as many queries.

    Examples
    --------
    >>> round(float(advanced_filter_epsilon(0.1, times=100, delta=1e-6)), 3)
    5.757
    """
    groups, small = counted(epsilons, times), exact(delta, "delta", below=1, price=True)
    return upper(lambda at: _squares(groups) / 2 + _deviation(groups, small, at))


def optimal_epsilon(epsilons: Epsilons, *, times: SupportsIndex = 1, delta: Number, delta_each: Number = 0) -> Fraction:
    """Return the least epsilon that holds for all queries together, whatever mechanisms answer them.

    Parameters
    ----------
    epsilons, times
        As in `basic_epsilon`; fixed before the first answer is seen.
    delta : number
        Zero or more, below 1: of all queries together.
    delta_each : number
        The delta of each query, zero or more, below 1.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits; at most the sum of the epsilons, at least 0.

    Raises
    ------
    TypeError, ValueError
        As `basic_epsilon`, or: `delta` or `delta_each` is not a number from 0 to below 1; `delta`
        is below the 1 - (1 - delta_each)^n of n queries, which no epsilon helps; the queries are
        more than 10^8, or of so many kinds that their epsilons have more than 2^16 different sums.

    Notes
    -----
    The zero of `optimal_delta`: Kairouz, Oh & Viswanath 2015, arXiv 1311.0776, Theorem 3.3;
    Murtagh & Vadhan 2016, arXiv 1507.03113, Theorem 1.5. Mechanisms of which more is known than
    the epsilon can do better, as `laplace_epsilon` shows. Queries whose epsilons add up to more
    than 10^18, or less than 10^-100, are taken for one query of that epsilon.

    Examples
    --------
    >>> round(float(optimal_epsilon(0.1, times=100, delta=1e-6)), 4)
    4.7746
    """
    groups = counted(epsilons, times)
    limit = exact(delta, "delta", positive=False, below=1, price=True)
    spare = _spare(limit, delta, sum(groups.values()), _delta_each(delta_each))
    total = summed(groups)
    if spare is None:
        return total
    if total > _REVEALING or total < _NEGLIGIBLE:
        return _least_epsilon_of_one(total, spare)
    return _least_epsilon(losses_of(groups), spare)


def optimal_delta(epsilons: Epsilons, *, times: SupportsIndex = 1, epsilon: Number, delta_each: Number = 0) -> Fraction:
    """Return the least delta that holds for all queries together, whatever mechanisms answer them.

    Parameters
    ----------
    epsilons, times
        As in `basic_epsilon`; fixed before the first answer is seen.
    epsilon : number
        Zero or more: of all queries together.
    delta_each : number
        The delta of each query, zero or more, below 1.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits, at most 1. From the sum of the epsilons on it is 0 if
        `delta_each` is.

    Raises
    ------
    TypeError, ValueError
        As `optimal_epsilon`, or `epsilon` is not a number >= 0.

    Notes
    -----
    The expectation of (1 - exp(epsilon - L))+ over the sum L of losses, each +epsilon_i with
    probability 1 / (1 + exp(-epsilon_i)), else -epsilon_i. With d of it and n queries of
    `delta_each`, 1 - (1 - delta_each)^n (1 - d). Sources and limits: `optimal_epsilon`.

    Examples
    --------
    >>> round(float(optimal_delta(0.1, times=100, epsilon=3)), 9)
    0.001361399
    """
    groups = counted(epsilons, times)
    eps = exact(epsilon, "epsilon", positive=False, price=True)
    failure = _failure(_delta_each(delta_each), sum(groups.values()))
    if eps >= summed(groups):
        return upper(failure)
    pure = _delta(groups, eps)

    def delta(at: Precision) -> Interval:
        failed = failure(at)
        return failed + (1 - failed) * pure(at)

    return min(upper(delta), Fraction(1))


def optimal_epsilon_each(*, epsilon: Number, delta: Number, times: SupportsIndex) -> Fraction:
    """Return the largest epsilon that each of several pure queries may have.

    Parameters
    ----------
    epsilon : number
        Of all queries together.
    delta : number
        Zero or more, below 1: of all queries together.
    times : int
        How many queries, at most 10^8.

    Returns
    -------
    Fraction
        Rounded down to 12 significant digits: `optimal_epsilon` of it is at most `epsilon`.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a positive number, `delta` not one from 0 to below 1, `times` not a whole
        number from 1 to 10^8.

    Notes
    -----
    `optimal_delta` solved for the epsilon of a query, in which it increases.

    Examples
    --------
    >>> float(optimal_epsilon_each(epsilon=1, delta=1e-6, times=100))
    0.0240110803971
    """
    total = exact(epsilon, "epsilon", price=True)
    limit = exact(delta, "delta", positive=False, below=1, price=True)
    number = checked_whole(times, "times")

    def fits(each: Fraction) -> bool:
        return each * number <= total or at_most(_delta({each: number}, total), limit)

    # Epsilons that add up to 2 delta fit too: no event's probability changes by more than half of their sum.
    return largest_on_grid(fits, max(total, 2 * limit) / number, _DIGITS_EACH)


def too_many_sums(epsilons: Epsilons, *, times: SupportsIndex = 1) -> bool:
    """Return whether `optimal_epsilon` and `optimal_delta` refuse these queries for their number or variety.

    Parameters
    ----------
    epsilons, times
        As in `basic_epsilon`.

    Returns
    -------
    bool

    Raises
    ------
    TypeError, ValueError
        As `basic_epsilon`.

    Examples
    --------
    >>> too_many_sums(range(1, 20)), too_many_sums([1.001**i for i in range(1, 100)])
    (False, True)
    """
    groups = counted(epsilons, times)
    try:
        losses_of(groups)
    except ValueError:
        return True
    return False


# Outside these, exp() of a sum of epsilons would leave the range of decimals, or be 1 in hundreds of digits.
_REVEALING = 10**18
_NEGLIGIBLE = Fraction(1, 10**100)
_DIGITS_EACH = 12
# The power of a fraction is exact up to this length. No delta that was typed is as long, which is
# why a longer power cannot be exactly what a delta leaves.
_MOST_BITS_OF_POWERS = 2**15
# Below, the sum of the deltas is right to more digits than a result has.
_RARE = Fraction(1, 10**50)


def _least_epsilon(losses: Losses, spare: Formula) -> Fraction:
    """The least epsilon at which delta is at most what is to spare, rounded up.

    As a function of exp(epsilon), delta is convex and piecewise linear with its corners at the
    losses. The first corner with a small enough delta is searched, then the piece before it is
    solved. What that gives is between its corners, except by rounding; there delta is as small as
    the piece says, and at the corner itself it is proved to be.
    """

    def fits(index: int, epsilon: Fraction) -> bool:
        delta = _delta_above(losses, index, epsilon)
        return at_most(lambda at: delta(at) - spare(at), Fraction(0))

    low, high = losses.above(Fraction(0)), losses.last
    if fits(low, Fraction(0)):
        return Fraction(0)
    first = low
    while low < high:
        middle = (low + high) // 2
        if fits(middle, losses.loss(middle)):
            high = middle
        else:
            low = middle + 1

    def solution(at: Precision) -> Interval:
        first_tail, other_tail = losses.tails(low, at)
        return ((first_tail - spare(at)) / other_tail).ln()

    left = losses.loss(low - 1) if low > first else Fraction(0)
    return min(max(upper(solution), left), losses.loss(low))


def _least_epsilon_of_one(total: Fraction, spare: Formula) -> Fraction:
    """The inverse of `_delta_of_one`."""

    def bound(at: Precision) -> Interval:
        return total - (2 - total) * spare(at) if total < 1 else total + (1 - spare(at)).ln()

    return min(max(upper(bound), Fraction(0)), total)


def _delta_of_one(total: Fraction, epsilon: Fraction) -> Formula:
    """At least the delta of one query, (1 - exp(epsilon - total)) / (1 + exp(-total)), for totals out of range."""
    if total < 1:
        return lambda at: at((total - epsilon) / (2 - total))  # as 1 - x <= exp(-x)
    return lambda at: 1 - at(epsilon - total).exp()


def _delta(groups: Mapping[Fraction, int], epsilon: Fraction) -> Formula:
    """The optimal delta, for an epsilon below the sum of the epsilons."""
    total = summed(groups)
    if total > _REVEALING or total < _NEGLIGIBLE:
        return _delta_of_one(total, epsilon)
    losses = losses_of(groups)
    return _delta_above(losses, losses.above(epsilon), epsilon)


def _delta_above(losses: Losses, index: int, epsilon: Fraction) -> Formula:
    """The optimal delta, where that index is the one of the least loss above epsilon, or of a loss equal to it."""

    def delta(at: Precision) -> Interval:
        first_tail, other_tail = losses.tails(index, at)
        return first_tail - other_tail * other_tail.at(epsilon).exp()

    return delta


def _spare(limit: Fraction, delta: Number, number: int, delta_each: Fraction) -> Formula | None:
    """What the pure parts of the queries may use of a delta; None for nothing."""
    if not delta_each:
        return (lambda at: at(limit)) if limit else None
    failure = _failure(delta_each, number)
    if _power_is_exact(delta_each, number) and 1 - (1 - delta_each) ** number == limit:
        return None
    if not at_most(failure, limit):
        raise ValueError(
            f"delta must be at least {approximately(upper(failure), ROUND_CEILING)}, which {number} queries of "
            f"delta_each {approximately(delta_each)} use up, got {shown(delta)}"
        )

    def spare(at: Precision) -> Interval:
        failed = failure(at)
        return (limit - failed) / (1 - failed)

    return spare


def _failure(delta_each: Fraction, number: int) -> Formula:
    """The probability that some query fails, 1 - (1 - delta_each)^number."""
    if _power_is_exact(delta_each, number):
        power = (1 - delta_each) ** number
        return lambda at: at(1 - power)
    most = number * delta_each
    if most < _RARE:
        return lambda at: Interval(at, at(most - most**2 / 2).low, at(most).high)
    return lambda at: 1 - (number * at(1 - delta_each).ln()).exp()


def _power_is_exact(base: Fraction, number: int) -> bool:
    return base.denominator.bit_length() * number <= _MOST_BITS_OF_POWERS


def _delta_each(value: Number) -> Fraction:
    return exact(value, "delta_each", positive=False, below=1, price=True)


def counted(epsilons: Epsilons, times: SupportsIndex) -> dict[Fraction, int]:
    """How many queries there are of each epsilon; an error that names the parameter otherwise."""
    repeats = checked_whole(times, "times")
    counts: Counter[Fraction] = Counter()
    if isinstance(epsilons, Mapping):
        for eps, n in epsilons.items():
            number = checked_whole(n, "epsilons, as the number of queries,")
            counts[exact(eps, "epsilons", price=True)] += repeats * number
    elif isinstance(epsilons, Iterable) and not isinstance(epsilons, str | bytes):  # text is one number, not its digits
        for eps in epsilons:
            counts[exact(eps, "epsilons", price=True)] += repeats
    else:
        counts[exact(epsilons, "epsilons", price=True)] = repeats  # type: ignore[arg-type]
    if not counts:
        raise ValueError("epsilons must hold at least one number, got none")
    return dict(counts)


def summed(groups: Mapping[Fraction, int]) -> Fraction:
    """The sum of counted epsilons."""
    return sum((n * eps for eps, n in groups.items()), Fraction(0))


def _squares(groups: Mapping[Fraction, int]) -> Fraction:
    return sum((n * eps**2 for eps, n in groups.items()), Fraction(0))


def _deviation(groups: Mapping[Fraction, int], delta: Fraction, at: Precision) -> Interval:
    """How far the privacy loss may be above its mean, but for a probability of delta."""
    return (2 * _squares(groups) * at(1 / delta).ln()).sqrt()
