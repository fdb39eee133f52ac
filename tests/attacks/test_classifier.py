"""A classifier of raw bits looks for an event that tells two neighbours apart.

Nobody says what to look for: a logistic model learns from the 64 bits of an output which input it came from (Bichsel,
Steffen, Bogunovic and Vechev, "DP-Sniper", 2021; Lokna et al., "Group and attack", 2023). It trains on half of the
samples, chooses a threshold on a quarter, and counts on the last quarter, of which it has seen nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from auditor import Claim, gaussian_claim, refutations
from support import with_scale

from exactnoise import DiscreteLaplace, Gaussian, Laplace, Snapping

SIZES = [pytest.param(40_000, id="4e4"), pytest.param(10**6, id="1e6", marks=pytest.mark.slow)]
BATCH = 1 << 12  # small enough for the caches
STEPS = 8  # the scores are then within a fiftieth of their spread of those of the maximum

Model = np.ndarray  # a weight for each bit, and that of the constant


def audit(y: np.ndarray, neighbour: np.ndarray, claim: Claim) -> list[str]:
    """What `refutations` says of the event that the model found in part of the samples, on the rest of them."""
    training, choosing, counting = zip(*(_parts(sample) for sample in (y, neighbour)), strict=True)
    model = fitted(*training)
    low, high = thresholds(*(scores(model, sample) for sample in choosing), claim)
    events = {
        f"scores of {high:.3g} and more": lambda sample: scores(model, sample) >= high,
        f"scores of {low:.3g} and less": lambda sample: scores(model, sample) <= low,
    }
    return refutations(*counting, claim, events)


def _parts(sample: np.ndarray) -> list[np.ndarray]:
    """A half and two quarters."""
    ends = [0, len(sample) // 2, len(sample) * 3 // 4, len(sample)]
    return [sample[start:end] for start, end in pairwise(ends)]


def fitted(y: np.ndarray, neighbour: np.ndarray) -> Model:
    """Logistic regression: Newton's method with a bound of the curvature (Boehning and Lindsay 1988)."""
    labelled = [(batch, label) for sample, label in ((y, 1), (neighbour, 0)) for batch in _batches(sample)]
    curvature = np.eye(65, dtype=np.float32)  # for bits that never change
    for batch, _ in labelled:
        curvature += np.einsum("ni,nj->ij", features(batch), features(batch)) / 4
    inverse = np.linalg.inv(curvature)
    weights = np.zeros(65, np.float32)
    for _ in range(STEPS):
        slope = np.zeros(65, np.float32)
        for batch, label in labelled:
            slope += np.einsum("n,ni->i", label - 1 / (1 + np.exp(-scores(weights, batch))), features(batch))
        weights += inverse @ (slope - weights)
    return weights


def scores(model: Model, sample: np.ndarray) -> np.ndarray:
    """By `einsum`, as all of this: it starts no threads, and adds up the same way everywhere."""
    return np.concatenate([np.einsum("ni,i->n", features(batch), model) for batch in _batches(sample)])


def _batches(sample: np.ndarray) -> list[np.ndarray]:
    return [sample[i : i + BATCH] for i in range(0, len(sample), BATCH)]


def features(sample: np.ndarray) -> np.ndarray:
    """The raw bits of each output, as -1 and 1, and a constant."""
    bits = np.unpackbits(np.ascontiguousarray(sample).view(np.uint8).reshape(-1, 8), axis=1)
    return np.hstack([np.float32(2) * bits - 1, np.ones((len(sample), 1), np.float32)])


def thresholds(y: np.ndarray, neighbour: np.ndarray, claim: Claim) -> tuple[float, float]:
    """Below the one and above the other scores exceed e^epsilon times the neighbour's most surely."""
    levels = np.unique(np.quantile(np.concatenate([y, neighbour]), np.linspace(0, 1, 1001)))
    above, other = (1 - np.searchsorted(np.sort(s), levels) / len(s) for s in (y, neighbour))
    below, same = (np.searchsorted(np.sort(s), levels, "right") / len(s) for s in (neighbour, y))

    def excess(p: np.ndarray, q: np.ndarray) -> np.ndarray:
        e = math.exp(claim.epsilon)
        return (p - e * q - claim.delta) / np.sqrt((p + e**2 * q + 1 / len(y)) / len(y))

    return float(levels[np.argmax(excess(below, same))]), float(levels[np.argmax(excess(above, other))])


# Kind, scale, claim for inputs 1 apart. At sigma 1 a large epsilon keeps delta small.
NOISE: list[tuple[Any, float, Claim]] = [
    (Laplace, 1.0, Claim(1.0)),
    (Laplace, 8.0, Claim(1 / 8)),
    (Gaussian, 1.0, gaussian_claim(1.0, 3.0)),
    (Gaussian, 8.0, gaussian_claim(8.0, 0.1)),
]
MECHANISMS: list[tuple[str, Any, Any, Claim]] = [
    (f"{kind.__name__}, scale {scale:g} of 2^{k} steps", with_scale(kind, scale, scale / 2.0**k), 0.0, claim)
    for kind, scale, claim in NOISE
    for k in (0, 36)
]
MECHANISMS += [
    ("DiscreteLaplace", DiscreteLaplace(sensitivity=1, epsilon=1), 0, Claim(1.0)),
    ("Snapping", Snapping(sensitivity=1, epsilon=1, bounds=(-10, 10)), 0.0, Claim(1.0)),
]
on_mechanisms = pytest.mark.parametrize(
    ("mechanism", "x", "claim"), [pytest.param(*case, id=name) for name, *case in MECHANISMS]
)


@pytest.mark.parametrize("size", SIZES)
@on_mechanisms
def test_bits_tell_nothing(mechanism: Any, x: float, claim: Claim, size: int) -> None:
    y, neighbour = (mechanism.release(np.full(size, value), budget=None) for value in (x, x + 1))
    assert audit(y, neighbour, claim) == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("kind", "scale", "claim"), NOISE)
def test_control_floating_point_noise(kind: Any, scale: float, claim: Claim, size: int) -> None:
    """A textbook sampler and a double addition."""
    rng = np.random.Generator(np.random.PCG64(1))
    draw: Callable[..., np.ndarray] = rng.laplace if kind is Laplace else rng.normal
    y, neighbour = (x + draw(0.0, scale, size) for x in (0.0, 1.0))
    assert audit(y, neighbour, claim)


@pytest.mark.parametrize(
    ("mechanism", "x"), [pytest.param(*case[:2], id=name) for name, *case in MECHANISMS if case[2] == Claim(1.0)]
)
def test_control_less_noise_than_claimed(mechanism: Any, x: float) -> None:
    """What the model learns of sound outputs is enough to see that epsilon is not half of what it is."""
    y, neighbour = (mechanism.release(np.full(40_000, value), budget=None) for value in (x, x + 1))
    assert audit(y, neighbour, Claim(0.5))
