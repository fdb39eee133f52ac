"""Which noise a statistic gets, what that costs, and the one rounding of its exact totals.

The rule. In pure epsilon the noise is Laplace noise, in rho it is Gaussian. With epsilon and delta it is whichever has
the smaller standard deviation for the statistic's first part: Laplace noise grows with the L1 norm of one unit's
change, Gaussian noise with the L2 norm, so that Gaussian noise wins where one person is in many groups. Laplace noise
then costs no delta. ``mechanism=`` overrides the rule. Counts get the discrete form; sums of integers get real
noise that is rounded to whole numbers, once and exactly.

Several parts of one statistic share the price. In epsilon or rho each part is a mechanism of its own at its share of
the price (basic composition). With epsilon and delta the parts are one Gaussian mechanism on a vector: let sigma be the
scale for (epsilon, delta) at sensitivity 1; the part with change D_j in the L2 norm and share w_j gets the scale D_j
sigma / sqrt(w_j), so that the vector of parts, each divided by its scale, changes by at most sqrt(sum of w_j) / sigma =
1 / sigma, which is (epsilon, delta)-differentially private (Balle & Wang 2018, arXiv 1805.06530, Theorem 8).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.fitting import fitted
from exactnoise.aggregates.terms import Change, Kind, Terms
from exactnoise.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from exactnoise.mechanisms._parameters import root_above, scale_above
from exactnoise.mechanisms.base import AdditiveMechanism, Mechanism

__all__ = ["Noise", "Part", "noise_for"]

#: Steps of a statistic's grid that a step of the noise's grid may have: `AdditiveMechanism.release_wide`.
_MOST_UNITS = 53
#: Integers stay whole up to this scale, below which a grid of 1 is not too fine.
_LARGEST_WHOLE_SCALE = 2.0**30


class Part(NamedTuple):
    """One vector of totals of a statistic.

    Attributes
    ----------
    name : str
        What it is, such as "sum".
    change : Change
        How much one unit changes it.
    exponent : int
        Its unit is 2^exponent.
    whole : bool
        Whether it is a vector of counts.
    share : Fraction
        Its part of the price; those of all parts add up to 1.
    integers : bool
        Whether all data were integers, so that the result should be whole as well.
    """

    name: str
    change: Change
    exponent: int
    whole: bool = False
    share: Fraction = Fraction(1)
    integers: bool = False


M = TypeVar("M", bound=Mechanism)


class Noise(NamedTuple, Generic[M]):
    """The mechanism of each part, and the price of all together."""

    mechanisms: tuple[M, ...]
    cost: PrivacyCost


def noise_for(terms: Terms, parts: Sequence[Part]) -> Noise[AdditiveMechanism]:
    """Choose and price the noise of a statistic's parts.

    Raises
    ------
    ValueError
        No noise can be made: the answer is known without data, or the price is beyond what doubles hold.
    """
    return _noise(tuple(terms.price.items()), terms.mechanism, tuple(parts))


@lru_cache(maxsize=256)
def _noise(
    amounts: tuple[tuple[str, Fraction], ...], asked: Kind | None, parts: tuple[Part, ...]
) -> Noise[AdditiveMechanism]:
    """All of it is public and immutable, and the same statistics are asked for again and again."""
    assert sum(part.share for part in parts) == 1
    price: dict[str, Any] = dict(amounts)
    for part in parts:
        if not part.change.l1:
            raise ValueError(f"nobody can change the {part.name}: it follows from public parameters, without any data")
    if (asked or _kind(price, parts[0])) == "laplace":
        laplace = tuple(_laplace(part, price) for part in parts)
        return Noise(laplace, _sum_of([mechanism.cost for mechanism in laplace]))
    if "rho" in price:
        gaussian = tuple(_gaussian(part, {"rho": price["rho"] * part.share}) for part in parts)
        return Noise(gaussian, _sum_of([mechanism.cost for mechanism in gaussian]))
    if len(parts) == 1:
        alone = _gaussian(parts[0], price)
        return Noise((alone,), alone.cost)
    joint = Gaussian(sensitivity=1, **price)
    scales = [scale_above(root_above(part.change.l2_squared / part.share) * Fraction(joint.scale)) for part in parts]
    return Noise(
        tuple(_on_grid(part, Gaussian, {"scale": scale}) for part, scale in zip(parts, scales, strict=True)), joint.cost
    )


def _kind(price: Mapping[str, Any], part: Part) -> Kind:
    """The rule that the module states."""
    if "rho" in price:
        return "gaussian"
    if "delta" not in price:
        return "laplace"
    if part.whole and part.share == 1:  # discrete Gaussian noise has a larger scale than real noise of its price
        return "laplace" if _std(_laplace, part, price) <= _std(_gaussian, part, price) else "gaussian"
    laplace = Laplace(sensitivity=part.change.l1, epsilon=price["epsilon"] * part.share)
    gaussian = Gaussian(sensitivity=root_above(part.change.l2_squared / part.share), **price)
    return "laplace" if laplace.std <= gaussian.std else "gaussian"


def _std(
    noise: Callable[[Part, Mapping[str, Fraction]], AdditiveMechanism], part: Part, price: Mapping[str, Fraction]
) -> float:
    """Infinite where there is no such noise, so that the other is taken."""
    try:
        return noise(part, price).std
    except ValueError:
        return math.inf


def _laplace(part: Part, price: Mapping[str, Fraction]) -> AdditiveMechanism:
    if "rho" in price:
        family = DiscreteLaplace if part.whole else Laplace
        fit = fitted(family, {"sensitivity": part.change.l1}, {"rho": price["rho"] * part.share})
        assert fit is not None
        assert fit.epsilon is not None
        epsilon = fit.epsilon
    else:
        epsilon = price["epsilon"] * part.share
    if part.whole:
        return DiscreteLaplace(sensitivity=part.change.l1, epsilon=epsilon)
    return _on_grid(part, Laplace, {"sensitivity": part.change.l1, "epsilon": epsilon})


def _gaussian(part: Part, price: Mapping[str, Fraction]) -> AdditiveMechanism:
    sensitivity = root_above(part.change.l2_squared)
    if part.whole:
        return DiscreteGaussian(sensitivity=sensitivity, **price)
    return _on_grid(part, Gaussian, price)


def _on_grid(part: Part, family: type[Laplace] | type[Gaussian], parameters: Mapping[str, Any]) -> AdditiveMechanism:
    """The mechanism on a grid of which a double holds all of the part's units, and on whole numbers for integers."""
    given = {"sensitivity": root_above(part.change.l2_squared), **parameters}
    mechanism = family(**given)
    if part.integers and 1 / _LARGEST_WHOLE_SCALE <= mechanism.scale <= _LARGEST_WHOLE_SCALE:
        return family(**given, granularity=1)
    coarsest = part.exponent + _MOST_UNITS
    if math.frexp(mechanism.granularity)[1] - 1 <= coarsest:
        return mechanism
    try:
        return family(**given, granularity=Fraction(2) ** coarsest)
    except ValueError:
        raise ValueError(
            f"the price is too small: noise of scale {mechanism.scale:.3g} would drown the bounds more than 2^80 times"
        ) from None


def _sum_of(costs: Sequence[PrivacyCost]) -> PrivacyCost:
    total = costs[0]
    for cost in costs[1:]:
        total = total + cost
    return total
