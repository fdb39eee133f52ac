"""Integers never pass through a float: neighbours beyond 2^53 stay neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from auditor import Claim, Event, gaussian_claim, refutations
from support import Mechanism, extension, with_scale, words_for

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from exactnoise.testing import release_from_words

LIMIT = 2**63 - 1
SAMPLES = 20_000


def discrete_delta(scale: float, epsilon: float) -> float:
    """The delta of discrete Gaussian noise on one count at epsilon, by summing."""
    weights = {k: math.exp(-0.5 * (k / scale) ** 2) for k in range(-200, 201)}
    excess = (weight - math.exp(epsilon) * weights[k - 1] for k, weight in weights.items() if k - 1 in weights)
    return math.fsum(max(0.0, e) for e in excess) / math.fsum(weights.values())


CASES = [
    (DiscreteLaplace, 1.0, Claim(1.0)),
    (Laplace, 1.0, Claim(1.0)),
    (Gaussian, 1.0, gaussian_claim(1.0, 3.0)),
    (DiscreteGaussian, 1.0, Claim(3.0, discrete_delta(1.0, 3.0))),
    (DiscreteGaussian, 4.0, Claim(0.5, discrete_delta(4.0, 0.5))),
]
INPUTS = [2**53 + 1, 2**54 + 2, 2**62, LIMIT, -(2**53 + 1), -(2**62), -LIMIT, -LIMIT - 1]


@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
@pytest.mark.parametrize("x", [2**53 + 1, 2**54 + 2, 2**62, LIMIT - 1, -LIMIT])
def test_neighbours_cannot_be_told_apart(kind: type[Mechanism], scale: float, claim: Claim, x: int) -> None:
    mechanism = with_scale(kind, scale, 1.0)
    y, other = (mechanism.release(np.full(SAMPLES, v), budget=None) for v in (x, x + 1))
    assert y.dtype == np.int64
    assert refutations(y, other, claim, _values_near(x)) == []


@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
@pytest.mark.parametrize("x", INPUTS)
def test_noise_is_added_exactly(kind: type[Mechanism], scale: float, claim: Claim, x: int) -> None:
    """The same words give the same noise at any input, up to saturation."""
    mechanism = with_scale(kind, scale, 1.0)
    words = words_for(mechanism, SAMPLES, 1, trials=9)
    noise, shifted = (release_from_words(mechanism, np.full(SAMPLES, v), words, extension=extension) for v in (0, x))
    want = [min(max(x + z, -LIMIT - 1), LIMIT) for z in noise.tolist()]
    assert shifted.tolist() == want


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian, Laplace])
def test_integers_beyond_64_bits_are_neighbours_too(kind: type[Mechanism]) -> None:
    """As doubles 2^70 + 2^17 and the next integer are 2^18 apart; here both count as the largest int64."""
    mechanism = with_scale(kind, 1.0, 1.0)
    words = words_for(mechanism, 1000, 1, trials=9)
    x, least = 2**70 + 2**17, -(2**70)
    assert float(x + 1) - float(x) == 2**18
    for pair in ((x, x + 1), (least - 1, least)):
        y, other = (release_from_words(mechanism, [v] * 1000, words, extension=extension) for v in pair)
        assert y.tolist() == other.tolist()


def test_control_integers_through_doubles() -> None:
    """Geometric noise added in double precision tells 2^54 + 2 from its neighbour."""
    rng = np.random.Generator(np.random.PCG64(1))
    q = math.exp(-1.0)
    x = 2**54 + 2
    y, other = (
        (float(v) + rng.geometric(1 - q, SAMPLES) - rng.geometric(1 - q, SAMPLES)).astype(np.int64) for v in (x, x + 1)
    )
    assert refutations(y, other, Claim(1.0), _values_near(x))


def test_control_a_rounded_continuous_gaussian() -> None:
    """Rounded doubles are no discrete Gaussian: beyond 2^53 their gaps show who is there."""
    rng = np.random.Generator(np.random.PCG64(1))
    x = 2**54 + 2
    y, other = (np.rint(float(v) + rng.normal(0, 4.0, SAMPLES)).astype(np.int64) for v in (x, x + 1))
    assert refutations(y, other, Claim(0.5, discrete_delta(4.0, 0.5)), _values_near(x))


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_control_less_noise_than_claimed(scale: float) -> None:
    """The auditor tells a discrete Gaussian of half the scale."""
    epsilon = 3.0 if scale == 1 else 0.5
    mechanism = with_scale(DiscreteGaussian, scale / 2)
    y, other = (mechanism.release(np.full(SAMPLES, v), budget=None) for v in (0, 1))
    events: dict[str, Event] = {f"y > {d}": lambda y, d=d: y > d for d in range(-9, 10)}
    assert refutations(y, other, Claim(epsilon, discrete_delta(scale, epsilon)), {**events, **_values_near(0)})
    full = with_scale(DiscreteGaussian, scale)
    y, other = (full.release(np.full(SAMPLES, v), budget=None) for v in (0, 1))
    assert refutations(y, other, Claim(epsilon, discrete_delta(scale, epsilon)), {**events, **_values_near(0)}) == []


def _values_near(x: int) -> dict[str, Event]:
    events: dict[str, Event] = {f"y = x + {d}": lambda y, d=d: y == x + d for d in range(-4, 6) if abs(x + d) <= LIMIT}
    events["odd"] = lambda y: y % 2 == 1
    return events
