"""The laws of errors against sums and formulas that are written otherwise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, Snapping
from exactnoise.utility.laws import CutLaw, FiniteLaw, MixedLaw, NoiseLaw, SumLaw, snapping_law


def two_laplaces(a: float, b: float, t: float) -> tuple[float, float]:
    """E|X| and P(|X| > t) for the sum of two, by partial fractions of the characteristic function."""
    mean = (a * a + a * b + b * b) / (a + b)
    return mean, (a * a * math.exp(-t / a) - b * b * math.exp(-t / b)) / (a * a - b * b)


@pytest.mark.parametrize("ratio", [0.01, 0.3, 0.9, 4.0])
def test_two_laplaces(ratio: float) -> None:
    law = SumLaw([NoiseLaw(Laplace(sensitivity=1, scale=1)), NoiseLaw(Laplace(sensitivity=1, scale=2), -ratio / 2)])
    mean, _ = two_laplaces(1, ratio, 0)
    assert law.std == pytest.approx(math.sqrt(2 + 2 * ratio**2), rel=1e-14)
    assert law.mean_absolute == pytest.approx(mean, rel=2e-5)
    for alpha in (0.5, 0.05, 1e-3, 1e-6):
        t = law.half_width(alpha)
        assert two_laplaces(1, ratio, t)[1] == pytest.approx(alpha, rel=2e-4)
        assert law.beyond(t) == pytest.approx(alpha, rel=1e-6)


def test_gaussian_sums_are_gaussian() -> None:
    law = SumLaw([NoiseLaw(Gaussian(sensitivity=1, scale=3)), NoiseLaw(Gaussian(sensitivity=1, scale=2), 2.0)])
    same = NoiseLaw(Gaussian(sensitivity=1, scale=5))
    assert law.std == pytest.approx(5, rel=1e-14)
    assert law.mean_absolute == pytest.approx(same.mean_absolute, rel=1e-5)
    assert law.half_width(0.05) == pytest.approx(same.half_width(0.05), rel=1e-5)


@pytest.mark.parametrize("factor", [0.05, 0.7, 3.0])
def test_laplace_and_whole_noise(factor: float) -> None:
    """The probabilities of the whole part, times the moments of a Laplace variable about each of its values."""
    whole = DiscreteLaplace(sensitivity=1, scale=1)
    law = SumLaw([NoiseLaw(Laplace(sensitivity=1, scale=2)), NoiseLaw(whole, factor)])
    ks = np.arange(-60, 61)
    odds = np.exp(-np.abs(ks)) * math.tanh(0.5)
    shifts = np.abs(ks) * factor
    assert law.mean_absolute == pytest.approx(odds @ (shifts + 2 * np.exp(-shifts / 2)), rel=2e-5)
    t = law.half_width(0.05)
    inside = np.where(
        shifts <= t,
        1 - np.exp(-t / 2) * np.cosh(shifts / 2),
        np.exp(-shifts / 2) * np.sinh(t / 2),
    )
    assert odds @ inside == pytest.approx(0.95, rel=2e-5)


def test_far_beyond_the_grid_is_bounded() -> None:
    parts = [NoiseLaw(Laplace(sensitivity=1, scale=1)), NoiseLaw(Laplace(sensitivity=1, scale=1), 0.5)]
    assert -math.log(1e-30) < SumLaw(parts).half_width(1e-30) < -2 * math.log(1e-30)


@pytest.mark.parametrize("scale", [0.2, 0.5, 1.0, 7.5, 100.0, 999.0, 1001.0, 5000.0])
def test_whole_noise(scale: float) -> None:
    ks = np.arange(1, int(60 * scale) + 60, dtype=np.float64)
    for mechanism, weights in (
        (DiscreteLaplace(sensitivity=1, scale=scale), np.exp(-ks / scale)),
        (DiscreteGaussian(sensitivity=1, scale=scale), np.exp(-0.5 * (ks / scale) ** 2)),
    ):
        law, total = NoiseLaw(mechanism, 2.0), 1 + 2 * math.fsum(weights)
        assert law.mean_absolute == pytest.approx(4 * math.fsum(ks * weights) / total, rel=1e-11)
        assert law.std == pytest.approx(2 * math.sqrt(2 * math.fsum(ks * ks * weights) / total), rel=1e-11)


def test_finite() -> None:
    law = FiniteLaw(np.array([-3.0, 0.0, 1.0, 2.0]), np.array([0.1, 0.5, 0.3, 0.1]))
    assert law.mean_absolute == pytest.approx(0.8)
    assert law.std == pytest.approx(math.sqrt(1.6))
    assert [law.half_width(alpha) for alpha in (0.6, 0.5, 0.2, 0.15, 0.1, 0.05)] == [0, 0, 1, 2, 2, 3]
    assert law.beyond(1) == pytest.approx(0.2)


def test_cut_and_mixed() -> None:
    wide, narrow = NoiseLaw(Laplace(sensitivity=1, scale=10)), NoiseLaw(Laplace(sensitivity=1, scale=1))
    cut = CutLaw(wide, 4.0)
    assert (cut.std, cut.mean_absolute, cut.half_width(0.05), cut.beyond(4.0)) == (4.0, 4.0, 4.0, 0.0)
    assert CutLaw(narrow, 100.0).half_width(0.05) == narrow.half_width(0.05)
    mixed = MixedLaw([wide, narrow])
    t = mixed.half_width(0.05)
    assert (math.exp(-t / 10) + math.exp(-t)) / 2 == pytest.approx(0.05, rel=1e-4)
    assert mixed.std == pytest.approx(math.sqrt(101))
    assert mixed.mean_absolute == pytest.approx(5.5)


@pytest.mark.parametrize("x", [0.0, 3.3, 9.9, -5.0])
def test_snapping(x: float) -> None:
    """By the probability of each interval that is rounded to one multiple, in exact steps."""
    mechanism = Snapping(sensitivity=1, epsilon=1, bounds=(0, 10))
    assert (mechanism.scale, mechanism.granularity) == (1.0, 1.0)
    law, inside = snapping_law(mechanism, x), min(max(x, 0.0), 10.0)

    def below(t: float) -> float:
        return math.exp(t) / 2 if t < 0 else 1 - math.exp(-t) / 2

    expected = sum(
        (below(k + 0.5 - inside) - below(k - 0.5 - inside)) * abs(min(max(k, 0), 10) - x) for k in range(-60, 71)
    )
    assert law.mean_absolute == pytest.approx(expected, rel=1e-9)
    assert law.probabilities.sum() == pytest.approx(1, rel=1e-12)
    assert Fraction(law.half_width(0.05)) <= 20
