"""Preimages: which words of a generator could have given an output, if the input was that of a neighbour.

Mironov, "On significance of the least significant bits for differential privacy" (2012), inverts the logarithm of a
uniform multiple of 2^-53; Jin, McMurtry, Rubinstein and Ohrimenko, "Are we there yet?" (2022), a pair of Box and
Muller. An output without a preimage under one input came from the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import oracle
import pytest
from auditor import Claim, Event, gaussian_claim, refutations

from exactnoise import Gaussian, Laplace
from exactnoise._native import BLOCK

ONE = 2.0**53
SAMPLES, PAIRS = 4000, 1500


# Inversion of the Laplace distribution


def inverted(x: float, scale: float, seed: int) -> np.ndarray:
    """The textbook sampler, in double precision."""
    rng = np.random.Generator(np.random.PCG64(seed))
    uniform = rng.integers(1, 2**53, SAMPLES, endpoint=True)
    return x + rng.choice([-1.0, 1.0], SAMPLES) * (scale * _each(math.log, uniform / ONE))


def has_preimage(y: np.ndarray, x: float, scale: float) -> np.ndarray:
    """Whether x + scale ln(k 2^-53), or x - scale ln(k 2^-53), is y in double precision, for some k from 1 to 2^53.

    Only k near e^(-|y - x| / scale) 2^53 can be, up to what half an ulp of y and of the noise is in steps of k.
    """
    distance = np.abs(y - x)
    centre = np.exp(-distance / scale)
    reach = np.ceil(centre * (np.spacing(np.abs(y)) + np.spacing(distance)) / scale * ONE).astype(np.int64) + 3
    steps = np.arange(-reach.max(), reach.max() + 1)
    k = np.rint(centre * ONE).astype(np.int64)[:, None] + steps
    possible = (np.abs(steps) <= reach[:, None]) & (k >= 1) & (k <= 2**53)
    noise = scale * _each(math.log, np.where(possible, k, 1) / ONE)
    return (possible & ((x + noise == y[:, None]) | (x - noise == y[:, None]))).any(axis=1)


def laplace_events(scale: float) -> dict[str, Event]:
    return {f"no preimage under {x}": lambda y, x=x: ~has_preimage(y, x, scale) for x in (0.0, 1.0)}


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
def test_inverted_noise_is_found(scale: float) -> None:
    """It never misses a preimage that is there, and most outputs have none under the neighbour."""
    y, other = inverted(0.0, scale, 1), inverted(1.0, scale, 2)
    assert has_preimage(y, 0.0, scale).all()
    assert has_preimage(other, 1.0, scale).all()
    assert np.mean(~has_preimage(y, 1.0, scale)) >= 0.6
    assert len(refutations(y, other, Claim(1 / scale), laplace_events(scale))) == 2


@pytest.mark.parametrize("steps", [2.0**20, 2.0**36], ids=["2^20", "2^36"])
@pytest.mark.parametrize("scale", [1.0, 8.0, 128.0])
def test_rounded_laplace_noise_is_not(scale: float, steps: float) -> None:
    """On the finest grid, too, where most outputs use as many digits as a double has."""
    mechanism = Laplace(sensitivity=1, scale=scale, granularity=scale / steps)
    y, other = (mechanism.release(np.full(SAMPLES, x), budget=None) for x in (0.0, 1.0))
    assert refutations(y, other, Claim(1 / scale), laplace_events(scale)) == []


# Pairs of Box and Muller

GAUSSIAN_CLAIM = gaussian_claim(1.0, 1.0, math.sqrt(2))  # both values of a pair are of the same person


def box_muller(x: float, seed: int) -> np.ndarray:
    """Pairs as the textbook makes them, one a row."""
    rng = np.random.Generator(np.random.PCG64(seed))
    turn, rest = rng.integers(0, 2**53, (2, PAIRS))
    radius = _radius(rest)
    return x + np.stack([radius * part for part in _direction(turn)], axis=1)


def has_pair(y: np.ndarray, x: float) -> np.ndarray:
    """Whether two multiples of 2^-53 give the pair, sought within six steps of where they are on the reals."""
    cosine, sine = (y - x).T
    near = np.arange(-6, 7)
    turn = np.rint(np.arctan2(sine, cosine) / (2 * math.pi) * ONE).astype(np.int64)
    rest = np.rint(-np.expm1(-(cosine**2 + sine**2) / 2) * ONE).astype(np.int64)
    radius = _radius(np.clip(rest[:, None] + near, 0, 2**53 - 1))[:, None, :]
    directions = _direction((turn[:, None] + near) % 2**53)
    found = [x + radius * part[:, :, None] == value[:, None, None] for part, value in zip(directions, y.T, strict=True)]
    return (found[0] & found[1]).any(axis=(1, 2))


def _radius(rest: np.ndarray) -> np.ndarray:
    return np.sqrt(-2 * _each(math.log, 1 - rest / ONE))


def _direction(turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    angle = 2 * math.pi * (turn / ONE)
    return _each(math.cos, angle), _each(math.sin, angle)


def pairs_of(mechanism: Gaussian, x: float) -> np.ndarray:
    """The two values that the engine makes of the same words, a row."""
    y = mechanism.release(np.full(2 * PAIRS, x), budget=None)
    pairs = list(oracle.gaussian_pairs(y.size, BLOCK))
    return np.stack([y[[p.cosine_lane for p in pairs]], y[[p.sine_lane for p in pairs]]], axis=1)


PAIR_EVENTS: dict[str, Event] = {f"a pair under {x}": lambda y, x=x: has_pair(y, x) for x in (0.0, 1.0)}


def test_box_muller_pairs_are_found() -> None:
    y, other = box_muller(0.0, 1), box_muller(1.0, 2)
    assert has_pair(y, 0.0).all()
    assert has_pair(other, 1.0).all()
    assert np.mean(has_pair(y, 1.0)) < 0.05
    assert len(refutations(y, other, GAUSSIAN_CLAIM, PAIR_EVENTS)) == 2


@pytest.mark.parametrize("steps", [2.0**20, 2.0**36], ids=["2^20", "2^36"])
def test_pairs_of_rounded_gaussian_noise_are_not(steps: float) -> None:
    mechanism = Gaussian(sensitivity=1, scale=1, granularity=1 / steps)
    assert refutations(pairs_of(mechanism, 0.0), pairs_of(mechanism, 1.0), GAUSSIAN_CLAIM, PAIR_EVENTS) == []


def _each(function: Callable[[float], float], values: np.ndarray) -> np.ndarray:
    """The same function for every value: NumPy's own may differ from one place in an array to the next."""
    return np.array([function(value) for value in values.ravel().tolist()]).reshape(values.shape)
