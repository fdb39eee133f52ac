"""The best proved (epsilon, delta) of a plan: which theorems apply to its losses, and the least of their bounds.

For plans of parameters fixed beforehand. Every bound here holds by itself, so the least one holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from exactnoise.accounting.amount import approximately
from exactnoise.accounting.compose import optimal_delta, optimal_epsilon, too_many_sums
from exactnoise.accounting.gaussian import gaussian_delta, gaussian_epsilon
from exactnoise.accounting.laplace import MOST_TIMES, laplace_delta, laplace_epsilon
from exactnoise.accounting.loss import GaussianLoss, LaplaceLoss, PrivacyLoss, StatedLoss, shortened
from exactnoise.accounting.rdp import Curve, Order, rdp_delta, rdp_epsilon

__all__ = ["Losses", "gaussian_rho_of", "joined", "least_delta", "least_epsilon", "rdp"]

Losses = tuple[tuple[PrivacyLoss, int], ...]
#: The basic sums of epsilon and delta. Calibrated noise has an epsilon and delta that its loss alone does not tell.
Sums = tuple[Fraction, Fraction]


def joined(a: Losses, b: Losses) -> Losses:
    """Both, with equal losses counted together."""
    counts = dict(a)
    for loss, count in b:
        counts[loss] = counts.get(loss, 0) + count
    return tuple(counts.items())


def rdp(losses: Losses, order: Order) -> Fraction | float | None:
    """The sum of the Renyi curves at an order; None if one of them is unknown."""
    total: Fraction | float = Fraction(0)
    for loss, count in losses:
        divergence = loss.rdp(order)
        if divergence is None:
            return None
        total += count * divergence
    return total


def gaussian_rho_of(losses: Losses) -> Fraction | None:
    """The sum of rhos if all losses are Gaussian: the loss is then exactly that of one Gaussian release."""
    rhos = [count * loss.rho for loss, count in losses if isinstance(loss, GaussianLoss)]
    return shortened(sum(rhos, Fraction(0))) if rhos and len(rhos) == len(losses) else None


def least_epsilon(losses: Losses, sums: Sums | None, delta: Fraction) -> Fraction:
    """See `PrivacyCost.epsilon_at`."""

    def bounds() -> Iterator[Fraction]:
        if sums is not None and sums[1] <= delta:
            yield sums[0]
        if not delta:
            return
        rho = gaussian_rho_of(losses)
        if rho is not None:
            yield gaussian_epsilon(rho, delta)
            return  # exact: nothing can be better
        same = _same_laplace(losses)
        if same is not None:
            yield laplace_epsilon(same[0], delta, times=same[1])
            return
        pure = _pure(losses)
        if pure is not None:
            yield optimal_epsilon(pure, delta=delta)
        curve = _curve(losses)
        if curve is not None:
            yield rdp_epsilon(curve, delta)

    return _least(bounds(), "delta", delta)


def least_delta(losses: Losses, sums: Sums | None, epsilon: Fraction) -> Fraction:
    """See `PrivacyCost.delta_at`."""

    def bounds() -> Iterator[Fraction]:
        if sums is not None and sums[0] <= epsilon:
            yield sums[1]
        rho = gaussian_rho_of(losses)
        if rho is not None:
            yield gaussian_delta(rho, epsilon)
            return
        same = _same_laplace(losses)
        if same is not None:
            yield laplace_delta(same[0], epsilon, times=same[1])
            return
        pure = _pure(losses)
        if pure is not None:
            yield optimal_delta(pure, epsilon=epsilon)
        curve = _curve(losses)
        if curve is not None:
            yield rdp_delta(curve, epsilon)

    return _least(bounds(), "epsilon", epsilon)


def _least(bounds: Iterable[Fraction], name: str, amount: Fraction) -> Fraction:
    least = min(bounds, default=None)
    if least is None:
        raise ValueError(
            f"nothing is known of this cost at {name} {approximately(amount)}: "
            "a part of it has only an (epsilon, delta), or no pure epsilon"
        )
    return least


def _same_laplace(losses: Losses) -> tuple[Fraction, int] | None:
    """The epsilon and number of releases if all are the same Laplace noise, and few enough for the exact profile."""
    if len(losses) == 1 and isinstance(losses[0][0], LaplaceLoss) and losses[0][1] <= MOST_TIMES:
        return losses[0][0].epsilon, losses[0][1]
    return None


def _pure(losses: Losses) -> dict[Fraction, int] | None:
    """How many releases there are of each epsilon, if all are pure and not too many for the optimum."""
    counts: dict[Fraction, int] = {}
    for loss, count in losses:
        if loss.epsilon is None or (isinstance(loss, StatedLoss) and loss.delta):
            return None
        if loss.epsilon:
            epsilon = shortened(loss.epsilon)
            counts[epsilon] = counts.get(epsilon, 0) + count
    return counts if counts and not too_many_sums(counts) else None


def _curve(losses: Losses) -> Curve | None:
    """The sum of the Renyi curves; None if one of them is unknown."""
    if rdp(losses, 2) is None:
        return None

    def curve(order: Order) -> Fraction | float:
        divergence = rdp(losses, order)
        assert divergence is not None
        return divergence

    return curve
