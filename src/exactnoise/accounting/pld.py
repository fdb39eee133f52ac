"""Privacy loss distributions of declared plans, computed by the library dp-accounting.

Everything else in this package is exact arithmetic in the standard library. This module is the
exception: a numerical convolution of discretised losses, for plans that mix kinds of noise and have
no closed form. It is imported with the package, dp-accounting only when it is called.
"""

from __future__ import annotations

from decimal import ROUND_CEILING
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from exactnoise.accounting.amount import Number, decimal_context, exact, float_down, float_up
from exactnoise.accounting.interval import lower, upper
from exactnoise.accounting.loss import (
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    ExponentialLoss,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    RandomizedResponseLoss,
)
from exactnoise.errors import MissingExtra

if TYPE_CHECKING:
    from exactnoise.accounting.cost import PrivacyCost

__all__ = ["pld_delta", "pld_epsilon"]

# The library rounds losses and truncates tails to the pessimistic side. What is left are the rounding
# errors of its Fourier transforms, which were found to be up to 5e-15 in delta: six times that is
# allowed for, and a delta that this would change by much is refused.
_SLACK = Fraction(3, 10**14)
_LEAST_DELTA = Fraction(1, 10**12)
_DIGITS = 12
_MOST_CELLS = 10**7


def pld_epsilon(plan: PrivacyCost, delta: Number, *, discretization: Number = "1e-4") -> Fraction:
    """Return the epsilon of a plan for a delta, from its privacy loss distribution.

    Parameters
    ----------
    plan : PrivacyCost
        The sum of the costs of all releases: ``30 * laplace.cost + gaussian.cost``.
    delta : number
        From 1e-12 to below 1.
    discretization : number
        The width of the cells in which losses are counted. Half the width is about twice as
        accurate, and takes twice as long.

    Returns
    -------
    Fraction
        Rounded up to 12 significant digits. Above the true epsilon by a few parts in a million
        where it is about 1 and the discretisation 1e-4.

    Raises
    ------
    MissingExtra
        The library dp-accounting is not installed.
    TypeError
        A part of the plan is known by its rho alone, which has no distribution.
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
    (Kairouz, Oh & Viswanath 2015, arXiv 1311.0776).
    """
    small = exact(delta, "delta", below=1, least=_LEAST_DELTA, price=True)
    distribution = _distribution(plan, discretization)
    epsilon = distribution.get_epsilon_for_delta(float_down(small - _SLACK))
    return _rounded_up(epsilon)


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
        Rounded up to 12 significant digits, at most 1; never below 3e-14, for which the rounding
        errors of the library leave room.

    Raises
    ------
    MissingExtra, TypeError, ValueError
        As `pld_epsilon`.

    Notes
    -----
    For a fixed plan only, as `pld_epsilon`.
    """
    eps = exact(epsilon, "epsilon", positive=False, price=True)
    distribution = _distribution(plan, discretization)
    return min(_rounded_up(distribution.get_delta_for_epsilon(float_down(eps))) + _SLACK, Fraction(1))


def _rounded_up(value: float) -> Fraction:
    if not value < float("inf"):
        raise ValueError("the plan has no finite epsilon at this delta: its releases' own deltas exceed it")
    return Fraction(decimal_context(_DIGITS, ROUND_CEILING).create_decimal_from_float(float(value)))


def _distribution(plan: PrivacyCost, discretization: Number) -> Any:
    library = _library()
    width = float(exact(discretization, "discretization", below=1, least=Fraction(1, 10**9)))
    for loss, _ in plan.losses:
        cells = _largest_loss(loss) / Fraction(width)
        if cells > _MOST_CELLS:
            raise ValueError(
                f"discretization {width!r} divides the loss of {loss!r} into {float(cells):.1e} cells, and at most "
                f"{_MOST_CELLS:.0e} can be computed with: raise it"
            )
    total = library.identity(value_discretization_interval=width)
    for loss, count in plan.losses:
        total = total.compose(_of_one(loss, width, library).self_compose(count))
    return total


def _library() -> Any:
    try:
        from dp_accounting.pld import privacy_loss_distribution
    except ImportError:
        raise MissingExtra("privacy loss distributions", "dp-accounting", "accounting") from None
    return privacy_loss_distribution


def _largest_loss(loss: PrivacyLoss) -> Fraction:
    """About the largest loss that is not negligible."""
    if loss.epsilon is not None:
        return loss.epsilon
    rho = loss.rho
    return upper(lambda at: rho + 10 * at(2 * rho).sqrt()) if rho else Fraction(0)


def _of_one(loss: PrivacyLoss, width: float, library: Any) -> Any:
    """The distribution of one release; parameters become doubles on the side of more loss."""
    cells = {"value_discretization_interval": width}
    match loss:
        case LaplaceLoss(epsilon):
            return library.from_laplace_mechanism(float_down(1 / epsilon), **cells)
        case DiscreteLaplaceLoss(epsilon, sensitivity):
            return library.from_discrete_laplace_mechanism(float_up(epsilon / sensitivity), sensitivity, **cells)
        case GaussianLoss(rho):
            return library.from_gaussian_mechanism(float_down(_sigma(rho)), **cells)
        case DiscreteGaussianLoss(rho, sensitivity):
            sigma = float_down(sensitivity * _sigma(rho))
            return library.from_discrete_gaussian_mechanism(sigma, sensitivity, **cells)
        case RandomizedResponseLoss(epsilon, categories):
            # The library's parameter: how often the truth is replaced by any category at random.
            replaced = lower(lambda at: categories / (at(epsilon).exp() + (categories - 1)))
            return library.from_randomized_response(float_down(replaced), categories, **cells)
    if loss.epsilon is None:
        raise TypeError(f"{loss!r} is known by its rho alone, which has no privacy loss distribution: use zcdp_epsilon")
    delta = Fraction(0) if isinstance(loss, ExponentialLoss) else loss.delta
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    return library.from_privacy_parameters(
        DifferentialPrivacyParameters(float_up(loss.epsilon), float_up(delta)), **cells
    )


def _sigma(rho: Fraction) -> Fraction:
    """The standard deviation for a sensitivity of 1, rounded down."""
    return lower(lambda at: 1 / at(2 * rho).sqrt())
