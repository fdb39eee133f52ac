"""The released integers follow the exact law of the rounded mechanism; broken ones are caught.

The words are fixed (PCG64), so a result never changes; the false-alarm rate of every check is
below 1e-9 for words drawn anew.
"""

from __future__ import annotations

import numpy as np
import pytest
from goodness import (
    ALARM,
    Geometric,
    Law,
    RoundedGaussian,
    RoundedLaplace,
    failures,
    independence,
)
from oracle import gaussian_pairs
from support import Mechanism, extension, in_steps, random_words, word_count

from exactnoise import DiscreteLaplace, Gaussian, Laplace
from exactnoise._native import BLOCK
from exactnoise.testing import release_from_words

LAWS: dict[type[Mechanism], type[Law]] = {
    Laplace: RoundedLaplace,
    Gaussian: RoundedGaussian,
    DiscreteLaplace: Geometric,
}
STEPS = [0.3, 1.0, 8.0, 1.3 * 2.0**20]
POSITIONS = [0.0, 0.3, -1234.75]
CASES = [(kind, steps, position) for kind in (Laplace, Gaussian) for steps in STEPS for position in POSITIONS]
CASES += [(DiscreteLaplace, steps, position) for steps in STEPS for position in (0.0, -1235.0)]
SAMPLES = [pytest.param(10**6, id="1e6"), pytest.param(10**7, id="1e7", marks=pytest.mark.slow)]


def sample(kind: type[Mechanism], steps: float, position: float, count: int, seed: int = 1) -> np.ndarray:
    """Released integers k of ``count`` releases of one input, granularity 1/4."""
    granularity = 1.0 if kind is DiscreteLaplace else 0.25
    dtype = np.int64 if kind is DiscreteLaplace else np.float64
    x = np.full(count, position * granularity, dtype)
    words = random_words(seed, word_count(kind, count))
    mechanism = in_steps(kind, steps, granularity)
    y = release_from_words(mechanism, x, words, extension=extension)
    return (y / granularity).astype(np.int64)


@pytest.mark.parametrize("count", SAMPLES)
@pytest.mark.parametrize(("kind", "steps", "position"), CASES)
def test_law(kind: type[Mechanism], steps: float, position: float, count: int) -> None:
    ks = sample(kind, steps, position, count)
    assert failures(ks, LAWS[kind](steps, position)) == []


@pytest.mark.parametrize("steps", STEPS)
def test_box_muller_pairs_are_independent(steps: float) -> None:
    count = 10**6
    ks = sample(Gaussian, steps, 0.0, count)
    cosine, sine = _pairs(ks)
    law = RoundedGaussian(steps)
    assert independence(cosine, sine, law) > ALARM
    # dependence of the magnitudes alone would hide in products of the values
    assert independence(np.abs(cosine), np.abs(sine), _Folded(law)) > ALARM


def _pairs(ks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    pairs = [p for p in gaussian_pairs(ks.size, BLOCK) if p.sine_lane is not None]
    return ks[[p.cosine_lane for p in pairs]], ks[[p.sine_lane for p in pairs]]


class _Folded(Law):
    """The law of |K| for a law that is symmetric about 0."""

    def __init__(self, law: Law) -> None:
        super().__init__(law.steps)
        self._law = law

    def cumulative(self, k: int) -> float:
        return self._law.cumulative(k) - self._law.cumulative(-k - 1) if k >= 0 else 0.0

    def quantile(self, p: float) -> float:
        return self._law.quantile((1 + p) / 2)

    @property
    def ideal_variance(self) -> float:
        raise NotImplementedError


# ---------------------------------------------------------------------------------------------
# Positive controls: each broken mechanism fails the checks above


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("steps", [1.0, 8.0, 1.3 * 2.0**20])
@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_control_wrong_scale(kind: type[Mechanism], steps: float, factor: float) -> None:
    ks = sample(kind, steps * factor, 0.0, 10**6)
    assert failures(ks, LAWS[kind](steps))


def test_control_rounded_laplace_is_not_geometric() -> None:
    ks = sample(Laplace, 1.0, 0.0, 10**5)
    assert failures(ks, Geometric(1.0))
    assert not failures(ks, RoundedLaplace(1.0))


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("steps", [8.0, 1.3 * 2.0**20])
def test_control_truncated_tail(kind: type[Mechanism], steps: float) -> None:
    """Noise beyond the 1e-4 quantile is moved to it."""
    ks = sample(kind, steps, 0.0, 10**6)
    law = LAWS[kind](steps)
    limit = round(law.quantile(1 - 1e-4))
    assert failures(np.clip(ks, -limit, limit), law)


def test_control_input_rounded_first() -> None:
    """Rounding x before the noise shifts the law by a third of a step."""
    ks = sample(Laplace, 8.0, 0.0, 10**6)
    assert failures(ks, RoundedLaplace(8.0, 0.3))


def test_control_asymmetry() -> None:
    """One sign in a hundred is wrong."""
    ks = sample(Laplace, 8.0, 0.0, 10**6)
    ks[::50] = np.abs(ks[::50])
    assert any("centre" in name for name in failures(ks, RoundedLaplace(8.0)))


def test_control_repeated_noise() -> None:
    ks = sample(Laplace, 8.0, 0.0, 10**6)
    ks[1::20] = ks[::20]
    assert any("lag" in name for name in failures(ks, RoundedLaplace(8.0)))


def test_control_dependent_pairs() -> None:
    """Cosine and sine of half the angle's range: the values look right, the pairs do not."""
    cosine, sine = _pairs(sample(Gaussian, 8.0, 0.0, 10**6))
    paired = np.sort(np.abs(np.stack([cosine, sine])), axis=0)
    law = RoundedGaussian(8.0)
    assert independence(paired[0], paired[1], _Folded(law)) < ALARM
    assert independence(np.abs(cosine) * np.sign(sine), sine, law) < ALARM


def test_control_lost_low_bits() -> None:
    """Noise with one binary digit less than it should have."""
    steps = 1.3 * 2.0**20
    ks = sample(Laplace, steps, 0.0, 10**6) & ~1
    assert any("low bits" in name for name in failures(ks, RoundedLaplace(steps)))
