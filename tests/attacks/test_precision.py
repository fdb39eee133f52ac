"""The precision attack: which binary digits an output uses must not tell the input.

Haney, Desfontaines, Hartman, Shrestha and Hay, "Precision-based attacks and interval refining"
(2022). It breaks noise that is added to the data in floating point, however well it was sampled.
"""

from __future__ import annotations

from functools import cache

import gmpy2
import numpy as np
import oracle
import pytest
from auditor import (
    Claim,
    gaussian_claim,
    lower_bound,
    lowest_digit,
    precision_events,
    refutations,
    upper_bound,
)
from support import Mechanism, random_words

from exactnoise import Gaussian, Laplace

SAMPLES = 20_000
# Kind, scale, claim for inputs 1 apart. At sigma 1 a large epsilon keeps delta small.
CASES = [
    (Laplace, 1.0, Claim(1.0)),
    (Gaussian, 1.0, gaussian_claim(1.0, 3.0)),
    (Gaussian, 8.0, gaussian_claim(8.0, 1.0)),
]
EVENTS = precision_events(0.0, 1.0)
PAIRS = [(0.0, 1.0), (1 / 3, 4 / 3), (-0.75, 0.25), (1000.1, 1001.1)]


@pytest.mark.parametrize("finest", [False, True])
@pytest.mark.parametrize(("x", "neighbour"), PAIRS)
@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
def test_digits_tell_nothing(
    kind: type[Mechanism], scale: float, claim: Claim, x: float, neighbour: float, finest: bool
) -> None:
    granularity = scale * 2.0**-36 if finest else None
    mechanism = kind(sensitivity=1, scale=scale, granularity=granularity)
    y, other = (mechanism.release(np.full(SAMPLES, v), budget=None) for v in (x, neighbour))
    assert refutations(y, other, claim, precision_events(x, neighbour)) == []


# opendp/opendp#414: exact noise and an addition in floating point. Stock samplers: opendp/smartnoise-core#242,
# prestodb/presto#23002, world-federation-of-advertisers/cross-media-measurement#1357. Several samples in the place of
# one: IBM/differential-privacy-library#19, #94, meta-pytorch/opacus#616.


@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
def test_control_floating_point_noise(kind: type[Mechanism], scale: float, claim: Claim) -> None:
    """A textbook sampler and a double addition."""
    rng = np.random.Generator(np.random.PCG64(1))
    draw = rng.laplace if kind is Laplace else rng.normal
    y, other = (x + draw(0.0, scale, SAMPLES) for x in (0.0, 1.0))
    assert any("A[" in found for found in refutations(y, other, claim, EVENTS))


@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
def test_control_sums_of_samples(kind: type[Mechanism], scale: float, claim: Claim) -> None:
    """Four uniforms or four normals a value are hard to invert (Holohan and Braghin 2021); nobody has to."""
    rng = np.random.Generator(np.random.PCG64(1))

    def noise() -> np.ndarray:
        if kind is Gaussian:
            return scale / 2 * rng.standard_normal((4, SAMPLES)).sum(axis=0)
        size, turn, more, again = rng.random((4, SAMPLES))
        return scale * (np.log1p(-size) * np.cos(np.pi * turn) + np.log1p(-more) * np.cos(np.pi * again))

    assert refutations(noise(), 1.0 + noise(), claim, EVENTS)


@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
def test_control_exact_noise_added_afterwards(kind: type[Mechanism], scale: float, claim: Claim) -> None:
    """The ideal noise, correctly rounded to a double; then a double addition."""
    y, other = (x + _ideal_noise(kind, scale, seed, 0) for x, seed in ((0.0, 1), (1.0, 2)))
    assert any("A[" in found for found in refutations(y, other, claim, EVENTS))


def test_control_lattice_noise_through_a_double() -> None:
    """Lattice noise of sigma 2^56 steps, made a double before the addition: B tells, A does not."""
    scale, claim = 8.0, gaussian_claim(8.0, 1.0)
    noise = [_ideal_noise(Gaussian, scale, seed, 0) for seed in (1, 2)]
    on_lattice = [np.rint(z * 2.0**53) * 2.0**-53 for z in noise]
    found = refutations(on_lattice[0], 1.0 + on_lattice[1], claim, EVENTS)
    assert found
    assert all("B[" in event for event in found)


@pytest.mark.parametrize(("kind", "scale", "claim"), CASES)
def test_what_is_sound_is_not_found(kind: type[Mechanism], scale: float, claim: Claim) -> None:
    """One rounding of x + Z, to a double or to a multiple of 2^-40."""
    y, other = (_ideal_noise(kind, scale, seed, x) for x, seed in ((0, 1), (1, 2)))
    assert refutations(y, other, claim, EVENTS) == []
    y, other = (np.rint(sample * 2.0**40) * 2.0**-40 for sample in (y, other))
    assert refutations(y, other, claim, EVENTS) == []


@cache
def _ideal_noise(kind: type[Mechanism], scale: float, seed: int, x: int) -> np.ndarray:
    """Samples of x and the ideal noise from 64-bit uniforms, each sum rounded once to the nearest double."""
    words = random_words(seed, SAMPLES).tolist()
    one = 1 << oracle.FIRST_ATTEMPT.fraction
    if kind is Laplace:
        cells = [oracle.laplace_enclosure(w >> 1, 63, scale, oracle.FIRST_ATTEMPT) for w in words]
        signs = [-1 if w & 1 else 1 for w in words]
        return np.array([(2 * one * x + s * sum(cell)) / (2 * one) for s, cell in zip(signs, cells, strict=True)])
    noise = []
    for radius, angle in zip(words[::2], words[1::2], strict=True):
        quadrant, fraction = divmod(angle, 2**62)
        cells = (radius, 64, fraction - 2**61, 62)
        pair = oracle.gaussian_enclosure(*cells, quadrant, scale, oracle.FIRST_ATTEMPT)
        noise += [(2 * one * x + sum(cell)) / (2 * one) for cell in pair]
    return np.array(noise)


# ---------------------------------------------------------------------------------------------
# The auditor's own parts


def test_lowest_digit() -> None:
    y = np.array([1.0, 3.0, -6.0, 0.75, 5e-324, 2.0**-1022 * 1.5, 0.1])
    assert lowest_digit(y).tolist() == [0, 0, 1, -2, -1074, -1023, -55]
    assert lowest_digit(np.zeros(1))[0] > 0


@pytest.mark.parametrize(("seen", "trials"), [(0, 100), (1, 100), (50, 100), (100, 100), (3, 20000)])
@pytest.mark.parametrize("alpha", [0.025, 1e-11])
def test_clopper_pearson_covers_exactly(seen: int, trials: int, alpha: float) -> None:
    """At the bounds, the tails of the binomial have probability alpha."""
    high, low = upper_bound(seen, trials, alpha), lower_bound(seen, trials, alpha)
    if seen < trials:
        assert _binomial_tail(range(seen + 1), trials, high) == pytest.approx(alpha, rel=1e-6)
    else:
        assert high == 1.0
    if seen > 0:
        assert _binomial_tail(range(seen, trials + 1), trials, low) == pytest.approx(alpha, rel=1e-6)
    else:
        assert low == 0.0


def _binomial_tail(counts: range, trials: int, p: float) -> float:
    """P(the number of successes is in `counts`), by the few below them if these are all others."""
    below = range(counts.start) if counts.stop > trials and 2 * counts.start < trials else None
    with gmpy2.context(precision=200):
        q = gmpy2.mpfr(p)
        mass = sum(gmpy2.comb(trials, k) * q**k * (1 - q) ** (trials - k) for k in below or counts)
        return float(1 - mass if below else mass)
