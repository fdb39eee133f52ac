"""Integers never pass through a float: neighbours beyond 2^53 stay neighbours."""

from __future__ import annotations

import math

import numpy as np
import pytest
from auditor import Claim, Event, gaussian_claim, refutations
from support import Mechanism, extension, random_words, with_scale

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise.testing import release_from_words

LIMIT = 2**63 - 1
SAMPLES = 20_000
CASES = [
    (DiscreteLaplace, 1.0, Claim(1.0)),
    (Laplace, 1.0, Claim(1.0)),
    (Gaussian, 1.0, gaussian_claim(1.0, 3.0)),
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
    words = random_words(1, SAMPLES)
    noise, shifted = (release_from_words(mechanism, np.full(SAMPLES, v), words, extension=extension) for v in (0, x))
    want = [min(max(x + z, -LIMIT - 1), LIMIT) for z in noise.tolist()]
    assert shifted.tolist() == want


def test_control_integers_through_doubles() -> None:
    """Geometric noise added in double precision tells 2^54 + 2 from its neighbour."""
    rng = np.random.Generator(np.random.PCG64(1))
    q = math.exp(-1.0)
    x = 2**54 + 2
    y, other = (
        (float(v) + rng.geometric(1 - q, SAMPLES) - rng.geometric(1 - q, SAMPLES)).astype(np.int64) for v in (x, x + 1)
    )
    assert refutations(y, other, Claim(1.0), _values_near(x))


def _values_near(x: int) -> dict[str, Event]:
    events: dict[str, Event] = {f"y = x + {d}": lambda y, d=d: y == x + d for d in range(-4, 6) if abs(x + d) <= LIMIT}
    events["odd"] = lambda y: y % 2 == 1
    return events
