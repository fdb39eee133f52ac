"""The discrete Gaussian follows its exact law; noise that is nearly that does not.

As in `test_distribution`, words are fixed, and the false-alarm rate of every check is below 1e-9 for words drawn anew.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from goodness import ALARM, DiscreteGaussianLaw, RoundedGaussian, failures, independence
from support import extension, in_steps, random_words, words_for

from exactnoise import DiscreteGaussian, Gaussian
from exactnoise.testing import release_from_words

SCALES = [0.3, 1.0, 3.9, 4.0, 5.0, 50.0, 1.3 * 2.0**20]
SAMPLES = [pytest.param(10**6, id="1e6"), pytest.param(10**7, id="1e7", marks=pytest.mark.slow)]


@cache
def sample(scale: float, count: int, position: int = 0) -> np.ndarray:
    mechanism = in_steps(DiscreteGaussian, scale)
    words = words_for(mechanism, count, [int(scale * 10), count], 4)
    return release_from_words(mechanism, np.full(count, position), words, extension=extension)


@pytest.mark.parametrize("count", SAMPLES)
@pytest.mark.parametrize("position", [0, -1235])
@pytest.mark.parametrize("scale", SCALES)
def test_law(scale: float, position: int, count: int) -> None:
    assert failures(sample(scale, count, position), DiscreteGaussianLaw(scale, position)) == []


@pytest.mark.parametrize("scale", [4.0, 50.0])
def test_one_trial_only(scale: float) -> None:
    """Samples that take words of their own, in refinement, follow the law like the others."""
    mechanism = in_steps(DiscreteGaussian, scale)
    ks = release_from_words(mechanism, np.zeros(10**6, int), words_for(mechanism, 10**6, 5, 1), extension=extension)
    assert failures(ks, DiscreteGaussianLaw(scale)) == []


def test_the_law_of_far_sums() -> None:
    """The two ways to sum agree where both hold."""
    near, far = DiscreteGaussianLaw(999.5), DiscreteGaussianLaw(1000.5)
    for k in (0, 500, 3000, 5000):
        one, other = (float(law.cumulative(round(k * law.steps / 1000))) for law in (near, far))
        assert one == pytest.approx(other, abs=1e-3)
    far.steps = near.steps  # the integral's way needs no more than this
    edges = [-3000, -1000, 0, 1, 1000, 3000]
    assert near.masses(edges) == pytest.approx(DiscreteGaussianLaw(999.5).masses(edges), rel=1e-12)


@pytest.mark.parametrize("scale", [4.0, 50.0])
def test_pairs_are_independent(scale: float) -> None:
    ks = sample(scale, 10**6)[: 10**6 // 640 * 640].reshape(-1, 2, 320)
    assert independence(ks[:, 0].ravel(), ks[:, 1].ravel(), DiscreteGaussianLaw(scale)) > ALARM


# Positive controls


@pytest.mark.parametrize("factor", [0.99, 1.01])
@pytest.mark.parametrize("scale", SCALES)
def test_control_wrong_scale(scale: float, factor: float) -> None:
    assert failures(sample(scale * factor, 10**6), DiscreteGaussianLaw(scale))


def test_control_rounded_noise_of_scale_1() -> None:
    """Rounding a normal variable gives another law, with a variance of 1/12 more."""
    words = random_words(1, 10**6)
    ks = release_from_words(in_steps(Gaussian, 1.0), np.zeros(10**6, int), words, extension=extension)
    assert failures(ks, RoundedGaussian(1.0)) == []
    assert any("variance" in name for name in failures(ks, DiscreteGaussianLaw(1.0)))


def proposals(scale: float, count: int, *, with_cosh: bool) -> np.ndarray:
    """The method of native/discrete_gaussian.h in NumPy, with or without the factor that makes it exact."""
    rng = np.random.Generator(np.random.PCG64(3))
    y = rng.normal(0, scale, count)
    k = np.rint(y)
    f = y - k
    test = rng.random(count) * np.exp((0.25 - f * f) / (2 * scale**2))
    if with_cosh:
        test *= np.cosh(k * f / scale**2)
    return k[test < 1].astype(np.int64)


def test_control_without_the_cosh() -> None:
    law = DiscreteGaussianLaw(4.0)
    assert failures(proposals(4.0, 4 * 10**6, with_cosh=True), law) == []
    assert failures(proposals(4.0, 4 * 10**6, with_cosh=False), law)


@pytest.mark.parametrize("scale", [3.9, 4.0, 50.0])
def test_control_truncated_tail(scale: float) -> None:
    law = DiscreteGaussianLaw(scale)
    limit = round(law.quantile(1 - 1e-5))
    ks = sample(scale, 10**6)
    assert np.abs(ks).max() > limit
    assert failures(np.clip(ks, -round(law.quantile(1 - 1e-4)), round(law.quantile(1 - 1e-4))), law)


def test_control_samples_that_repeat() -> None:
    """Rejected samples that take the proposal of a neighbour."""
    ks = sample(4.0, 10**6).copy()
    ks[1::20] = ks[::20]
    assert any("lag" in name for name in failures(ks, DiscreteGaussianLaw(4.0)))
