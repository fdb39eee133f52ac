"""Privacy loss distributions of declared plans, computed by the library dp-accounting.

Everything else in this package is exact arithmetic in the standard library. This module is the
exception: a numerical convolution of discretised losses, for plans that mix kinds of noise and have
no closed form. It is imported with the package, dp-accounting only when it is called.
"""

from __future__ import annotations

import math
from collections import defaultdict
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

from exactnoise.accounting.amount import Number, approximately, decimal_context, exact, float_down, float_up, shown
from exactnoise.accounting.cost import PrivacyCost
from exactnoise.accounting.interval import Interval, Precision, lower, upper
from exactnoise.accounting.loss import (
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    RandomizedResponseLoss,
    StatedLoss,
)
from exactnoise.errors import MissingExtra

__all__ = ["pld_delta", "pld_epsilon"]

# The library rounds losses and truncates tails to the pessimistic side. What is left are the rounding
# errors of doubles, by which its delta was found too low against exact values: up to 5e-15 a kind of
# loss, and up to 7.0e-17 a release (pure and Gaussian losses, up to 10^6 releases), for its Fourier
# transforms are raised to the power of the count, which multiplies their relative error by it. Six and
# three times that are allowed for. This margin is measured, not proved.
_SLACK_OF_A_KIND = Fraction(3, 10**14)
_SLACK_OF_A_RELEASE = Fraction(1, 2**52)
_LEAST_DELTA = Fraction(1, 10**10)
_DIGITS = 12
_MOST_CELLS = 10**7
# The library goes through the integers one by one.
_LARGEST_DISCRETE_SIGMA = 10**4
_LARGEST_DISCRETE_SENSITIVITY = 10**6
# A sum of losses lies within this many standard deviations but for about 1e-15, on both sides together.
_DEVIATIONS = 17


def pld_epsilon(plan: PrivacyCost, delta: Number, *, discretization: Number = "1e-4") -> Fraction:
    """Return the epsilon of a plan for a delta, from its privacy loss distribution.

    Parameters
    ----------
    plan : PrivacyCost
        The sum of the costs of all releases: ``30 * laplace.cost + gaussian.cost``.
    delta : number
        From 1e-10 to below 1; from 4.5e-16 times the number of releases where that is more.
    discretization : number
        The width of the cells in which losses are counted. It should be well below the epsilon of
        every release (any width is safe, a wide one loose). A narrower one is more accurate and
        takes longer; below about 1e-5 rounding errors outweigh that, where releases are many. What
        suits 10^5 Laplace releases of epsilon 0.1 is 1e-3, which takes some seconds; for other
        epsilons, a width in proportion.

    Returns
    -------
    Fraction
        Rounded up to 12 significant digits. Above the true epsilon by less than ten parts in a
        million where both are about 1, the releases up to a thousand and the discretisation 1e-4.

    Raises
    ------
    MissingExtra
        The library dp-accounting is not installed.
    TypeError
        The plan is not a cost, or a part of it is known by its rho alone, which has no
        distribution.
    ValueError
        A parameter is out of range, or the losses take more cells than can be computed with.

    Notes
    -----
    For a fixed plan only: all mechanisms and parameters are settled before the first answer. A
    running distribution that stops the spending when its epsilon reaches a cap is *not* private
    for parameters chosen as one goes (arXiv 2602.06756; and arXiv 2602.15815: filters without loss
    exist only for families that are totally ordered under composition). So price a plan once and
    spend it as one item::

        budget.spend(PrivacyCost(epsilon=pld_epsilon(plan, delta), delta=delta), label="plan")

    and make its releases with ``budget=None``.

    Losses are as in Koskela, Jalko & Honkela 2020, arXiv 1906.03049; discretised as in Doroshenko,
    Ghazi, Kamath, Kumar & Manurangsi 2022, arXiv 2207.04380. The exponential mechanism, and what is
    known by its epsilon and delta alone, count as the worst mechanism of that epsilon and delta
    (Kairouz, Oh & Viswanath 2015, arXiv 1311.0776): valid, not tight.

    The library computes in doubles. For their rounding errors 3e-14 a kind of loss and 2.2e-16 a
    release are taken from `delta`: six and three times the largest that were found against exact
    values. Unlike the bounds of the other functions, this margin is measured and not proved.

    Examples
    --------
    >>> from exactnoise import Gaussian, Laplace
    >>> plan = 30 * Laplace(sensitivity=1, scale=10).cost + 10 * Gaussian(sensitivity=1, scale=20).cost
    >>> round(float(plan.epsilon_at(1e-6)), 2), round(float(pld_epsilon(plan, 1e-6)), 2)
    (2.56, 2.43)
    """
    small = exact(delta, "delta", below=1, least=_LEAST_DELTA, price=True)
    slack = _slack(plan)
    if small < 2 * slack:
        raise ValueError(
            f"delta must be at least {approximately(2 * slack, ROUND_CEILING)} for as many releases as the plan has, "
            f"got {delta!r}"
        )
    distribution = _distribution(plan, discretization)
    allowed = float_down(small - slack)
    epsilon = math.inf if distribution is None else distribution.get_epsilon_for_delta(allowed)
    if epsilon == math.inf:
        raise ValueError("the plan has no finite epsilon at this delta: its releases' own deltas exceed it")
    # The library sums term by term to find it: what it found is checked, by its more accurate sum of products.
    found, step = _rounded_up(epsilon), Fraction(1, 10**_DIGITS)
    while distribution.get_delta_for_epsilon(float_down(found)) > allowed:
        found, step = _rounded_up(found + step), 2 * step
    # The sum of the releases' own epsilons is a bound too, and the least one where delta hardly matters.
    return min(found, plan.epsilon) if plan.epsilon is not None and plan.delta <= small else found


def pld_delta(plan: PrivacyCost, epsilon: Number, *, discretization: Number = "1e-4") -> Fraction:
    """Return the delta of a plan for an epsilon, from its privacy loss distribution.

    Parameters
    ----------
    plan, discretization
        As in `pld_epsilon`.
    epsilon : number
        Zero or more.

    Returns
    -------
    Fraction
        Rounded up to 12 significant digits, at most 1; with what `pld_epsilon` takes from `delta`
        for rounding errors added, so never below 3e-14.

    Raises
    ------
    MissingExtra, TypeError, ValueError
        As `pld_epsilon`.

    Notes
    -----
    For a fixed plan only, as `pld_epsilon`.

    Examples
    --------
    >>> from exactnoise import Laplace
    >>> round(float(pld_delta(30 * Laplace(sensitivity=1, scale=10).cost, 2)), 7)
    1.59e-05
    """
    eps = exact(epsilon, "epsilon", positive=False, price=True)
    slack = _slack(plan)
    distribution = _distribution(plan, discretization) if slack < 1 else None
    if distribution is None:
        return Fraction(1)
    return min(_rounded_up(distribution.get_delta_for_epsilon(float_down(eps))) + slack, Fraction(1))


def _rounded_up(value: float | Fraction) -> Fraction:
    exactly = Fraction(value)
    return Fraction(decimal_context(_DIGITS, ROUND_CEILING).divide(*map(Decimal, exactly.as_integer_ratio())))


def _slack(plan: PrivacyCost) -> Fraction:
    """What rounding errors may take from delta."""
    if not isinstance(plan, PrivacyCost):
        raise TypeError(f"plan must be a PrivacyCost, such as the sum of the costs of all releases, got {shown(plan)}")
    return len(plan.losses) * _SLACK_OF_A_KIND + sum(count for _, count in plan.losses) * _SLACK_OF_A_RELEASE


def _distribution(plan: PrivacyCost, discretization: Number) -> Any:
    """The distribution of the plan; None where next to nothing is kept private."""
    library = _library()
    width = float(exact(discretization, "discretization", below=1, least=Fraction(1, 10**9)))
    _check_cells(plan, width)
    if math.prod(float(1 - loss.delta) ** count for loss, count in plan.losses if isinstance(loss, StatedLoss)) < 1e-9:
        return None
    total = library.identity(value_discretization_interval=width)
    for loss, count in plan.losses:
        one = _of_one(loss, width, library)
        total = total.compose(one.self_compose(count) if count > 1 else one)
    return total


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError:
        raise MissingExtra("privacy loss distributions", "dp-accounting", "accounting") from None
    return privacy_loss_distribution


def _check_cells(plan: PrivacyCost, width: float) -> None:
    """Refuse what would take too much memory or time."""
    advice = f"at most {_MOST_CELLS:.0e} can be computed with: raise it"
    largest, deviations, windows = [], [], [0.0]
    for loss, count in plan.losses:
        reach, deviation = _reach(loss)
        cells = reach / Fraction(width)
        if cells > _MOST_CELLS:
            raise ValueError(
                f"discretization {width!r} divides the loss of {loss!r} into {_roughly(cells)} cells, and {advice}"
            )
        largest.append(float(reach) * count)
        deviations.append(float(deviation) * math.sqrt(count))
        if reach:
            # The window in which the library composes one kind is found by few exponents, none of them small.
            windows.append(float(count * deviation**2 / (2 * reach)))
    sums = min(2 * sum(largest), max(_DEVIATIONS * math.hypot(*deviations), *windows)) / width
    if sums > _MOST_CELLS:
        raise ValueError(f"discretization {width!r} divides the plan's loss into about {sums:.1e} cells, and {advice}")


def _roughly(amount: Fraction) -> str:
    return f"{decimal_context(2, ROUND_CEILING).divide(*map(Decimal, amount.as_integer_ratio())):.1e}"


def _reach(loss: PrivacyLoss) -> tuple[Fraction, Fraction]:
    """About the largest loss that is not negligible, and at most the standard deviation."""
    if loss.epsilon is not None:
        return loss.epsilon, loss.epsilon
    if isinstance(loss, StatedLoss):
        raise TypeError(f"{loss!r} is known by its rho alone, which has no privacy loss distribution: use zcdp_epsilon")
    rho = loss.rho
    deviation = upper(lambda at: at(2 * rho).sqrt())
    return rho + 10 * deviation, deviation


def _of_one(loss: PrivacyLoss, width: float, library: Any) -> Any:
    """The distribution of one release; parameters become doubles on the side of more loss."""
    cells = {"value_discretization_interval": width}
    match loss:
        case LaplaceLoss(epsilon):
            return library.from_laplace_mechanism(float_down(1 / epsilon), **cells)
        case DiscreteLaplaceLoss(epsilon, sensitivity) if sensitivity > 1:
            if sensitivity > _LARGEST_DISCRETE_SENSITIVITY:
                raise ValueError(
                    f"discrete Laplace noise must be for a sensitivity of at most {_LARGEST_DISCRETE_SENSITIVITY} for "
                    f"its distribution to be computed, got {shown(sensitivity)}: use epsilon_at"
                )
            each = float_up(epsilon / sensitivity)
            return library.from_discrete_laplace_mechanism(each, sensitivity, use_connect_dots=True, **cells)
        case GaussianLoss(rho):
            return library.from_gaussian_mechanism(float_down(_sigma(rho)), **cells)
        case DiscreteGaussianLoss(rho, sensitivity):
            sigma = float_down(sensitivity * _sigma(rho))
            if sigma > _LARGEST_DISCRETE_SIGMA:
                raise ValueError(
                    f"discrete Gaussian noise must have a sigma of at most {_LARGEST_DISCRETE_SIGMA} for its "
                    f"distribution to be computed, got {sigma!r}: use epsilon_at"
                )
            return library.from_discrete_gaussian_mechanism(sigma, sensitivity, use_connect_dots=True, **cells)
        case RandomizedResponseLoss(epsilon, categories):
            return _of_response(epsilon, categories, Fraction(0), width, library)
        case StatedLoss(Fraction() as epsilon, delta):
            return _of_response(epsilon, 2, delta, width, library)
        case DiscreteLaplaceLoss(epsilon) | ExponentialLoss(epsilon):
            return _of_response(epsilon, 2, Fraction(0), width, library)
    raise AssertionError(loss)


def _of_response(epsilon: Fraction, categories: int, delta: Fraction, width: float, library: Any) -> Any:
    """The distribution of randomised response that with probability delta tells everything.

    Its losses are epsilon (the truth), -epsilon (the neighbour's answer) and 0 (any other answer).
    One between two cells is divided among them so that its probability on both neighbours stays:
    merging the two gives the original back, so the result is no more private, and far closer than
    rounding up. The library's own function rounds up.
    """

    def neighbour(at: Precision) -> Interval:
        shrunk = (-at(epsilon)).exp()
        return (1 - delta) * shrunk / (1 + (categories - 1) * shrunk)

    masses = (
        (epsilon, upper(lambda at: (1 - delta) / (1 + (categories - 1) * (-at(epsilon)).exp()))),
        (-epsilon, upper(neighbour)),
        (Fraction(0), upper(lambda at: (categories - 2) * neighbour(at)) if categories > 2 else Fraction(0)),
    )
    cell = Fraction(width)
    probabilities: defaultdict[int, float] = defaultdict(float)
    for loss, mass in masses:
        below, above = loss // cell, _share_above(loss % cell, cell)
        probabilities[below] += float_up(mass * (1 - above))
        probabilities[below + 1] += float_up(mass * above)
    kept = {index: probability for index, probability in probabilities.items() if probability}
    return library.PrivacyLossDistribution.create_from_rounded_probability(kept, float_up(delta), width)


def _share_above(rest: Fraction, cell: Fraction) -> Fraction:
    """How much of a loss that is `rest` above its cell's lower end counts at the upper end, rounded up."""
    if not rest:
        return Fraction(0)
    return min(Fraction(1), upper(lambda at: (1 - (-at(rest)).exp()) / (1 - (-at(cell)).exp())))


def _sigma(rho: Fraction) -> Fraction:
    """The standard deviation for a sensitivity of 1, rounded down."""
    return lower(lambda at: 1 / at(2 * rho).sqrt())
