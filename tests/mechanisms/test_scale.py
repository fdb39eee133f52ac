"""The scale is the smallest double that gives enough noise, and the grid follows from it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support import assert_on_grid, with_scale

from exactnoise import DiscreteLaplace, Gaussian, Laplace

LARGEST = Fraction(sys.float_info.max)
SMALLEST = Fraction(5e-324)
SMALLEST_NORMAL = Fraction(sys.float_info.min)

positive = st.builds(
    lambda numerator, denominator, exponent: Fraction(numerator, denominator) * Fraction(2) ** exponent,
    st.integers(1, 10**20),
    st.integers(1, 10**20),
    st.integers(-500, 500),
)
moderate = st.fractions(Fraction(1, 1000), 1000)


def below(scale: float) -> Fraction:
    return Fraction(math.nextafter(scale, 0.0))


@given(positive, positive)
def test_laplace_from_epsilon(sensitivity, epsilon):
    exact = sensitivity / epsilon
    assume(exact <= LARGEST)
    scale = Laplace(sensitivity=sensitivity, epsilon=epsilon).scale
    assert below(scale) < exact <= Fraction(scale)


@given(st.integers(1, 10**9), moderate)
def test_discrete_laplace_from_epsilon(sensitivity, epsilon):
    exact = sensitivity / epsilon
    assume(exact <= 2**36)
    scale = DiscreteLaplace(sensitivity=sensitivity, epsilon=epsilon).scale
    assert below(scale) < exact <= Fraction(scale)


@given(positive, positive)
def test_gaussian_from_rho(sensitivity, rho):
    square = sensitivity**2 / (2 * rho)
    assume(square <= LARGEST**2)
    scale = Gaussian(sensitivity=sensitivity, rho=rho).scale
    assert below(scale) ** 2 < square <= Fraction(scale) ** 2


@given(positive)
def test_scale_as_given(scale):
    for kind in (Laplace, Gaussian):
        mechanism = kind(sensitivity=1, scale=scale)
        assert below(mechanism.scale) < scale <= Fraction(mechanism.scale)


@given(moderate, moderate)
def test_epsilon_from_scale(sensitivity, scale):
    """A typed scale costs what that scale does, though the noise has a double's that is not below it."""
    mechanism = Laplace(sensitivity=sensitivity, scale=scale)
    assert mechanism.epsilon == sensitivity / scale
    assert mechanism.delta == 0
    rho = Gaussian(sensitivity=sensitivity, scale=scale).rho
    exact = sensitivity**2 / (2 * scale**2)
    assert exact <= rho <= exact * (1 + Fraction(1, 10**19))


def test_sums_of_squares_that_are_exact():
    assert Gaussian(sensitivity=3, rho="1/2").scale == 3.0
    assert Gaussian(sensitivity=1, rho=2).scale == 0.5
    assert Gaussian(sensitivity="1/3", rho="1/18").scale == 1.0


# Doubles below the normal ones are lost where a library has set flush-to-zero.
@pytest.mark.parametrize(
    "scale", ["1e-400", "1e-330", 5e-324, Fraction(1, 2**1023), SMALLEST_NORMAL * Fraction(99, 100)]
)
def test_too_little_noise(scale):
    for parameters in ({"scale": scale}, {"epsilon": 1 / Fraction(scale), "sensitivity": 1}):
        with pytest.raises(ValueError, match=r"^the noise would be too small for doubles: its scale is below 2.225"):
            Laplace(**{"sensitivity": 1, **parameters})
    with pytest.raises(ValueError, match=r"^the noise would be too small for doubles"):
        Gaussian(sensitivity=1, scale=scale)
    with pytest.raises(ValueError, match=r"^the noise would be too small for doubles"):
        Gaussian(sensitivity=scale, rho=1)


# The default granularity

scales = st.one_of(
    st.floats(sys.float_info.min, sys.float_info.max),
    st.builds(math.ldexp, st.floats(0.5, 1, exclude_max=True), st.integers(-1021, 1024)),
    st.builds(math.ldexp, st.just(1.0), st.integers(-1022, 1023)),
)


@given(scales)
def test_default_granularity(scale):
    """The smallest power of two not below scale * 2^-20, and not below the smallest double."""
    for kind in (Laplace, Gaussian):
        mechanism = kind(sensitivity=1, scale=Fraction(scale))
        assert mechanism.scale == scale
        assert math.frexp(mechanism.granularity)[0] == 0.5
        step, wanted = Fraction(mechanism.granularity), Fraction(scale) / 2**20
        assert step >= wanted
        assert step == SMALLEST or step / 2 < wanted


@pytest.mark.parametrize(
    ("scale", "exponent"),
    [(1.0, -20), (math.nextafter(1.0, 2), -19), (math.nextafter(1.0, 0), -20), (1.5, -19), (0.75, -20), (2.0, -19)],
)
def test_default_granularity_near_powers_of_two(scale, exponent):
    assert with_scale(Laplace, scale).granularity == 2.0**exponent


def test_discrete_granularity():
    assert DiscreteLaplace(sensitivity=1, epsilon=1).granularity == 1.0


# Mechanisms at the ends of the doubles work

EXTREME = [Fraction(2) ** e for e in (-1022, -1021, -1000, -150, 128, 1000, 1023)]
EXTREME += [SMALLEST_NORMAL * 3, LARGEST, Fraction(10) ** 15, Fraction(10) ** 9, Fraction(1, 10**9)]
INPUTS = np.array([0.0, -0.0, 1.0, -1.0, 5e-324, 1e300, -sys.float_info.max, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("scale", EXTREME, ids=lambda scale: f"{float(scale):.3g}")
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_extreme_scales(kind, scale):
    mechanism = kind(sensitivity=1, scale=scale)
    y = mechanism.release(np.tile(INPUTS, 20), budget=None)
    assert_on_grid(y, mechanism.granularity)
    # |Z| > 50 scale has a probability below 1e-21.
    assert np.all(np.abs(y[::10]) <= min(50 * scale + SMALLEST, LARGEST))
    spread = max(np.abs(y[::10]))
    assert spread > 0
    assert float(scale) / 10 < spread


@pytest.mark.parametrize("exponent", [-1000, -300, 300, 1000])
def test_extreme_sensitivities(exponent):
    """Everything scales with the sensitivity, exactly where that is a power of two."""
    factor = Fraction(2) ** exponent
    for kind, price in (
        (Laplace, {"epsilon": "0.3"}),
        (Gaussian, {"epsilon": "0.3", "delta": "1e-6"}),
        (Gaussian, {"rho": 2}),
    ):
        plain, scaled = kind(sensitivity=1, **price), kind(sensitivity=factor, **price)
        assert scaled.scale == math.ldexp(plain.scale, exponent)
        assert scaled.granularity == math.ldexp(plain.granularity, exponent)
