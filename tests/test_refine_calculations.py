"""Single calculations of exactnoise._refine: values of the grid, the discrete offset, calibrations."""

from __future__ import annotations

import math
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import in_steps, precise, real

from exactnoise import Laplace
from exactnoise._refine import (
    Ideal,
    discrete_offset,
    gaussian_epsilon,
    gaussian_sigma,
    grid_value,
)
from exactnoise._refine.calibration import _step_below

STEPS = [2.0**-30, 0.3, 1.0, 1000.3, 2.0**20, 1.3 * 2.0**30, 2.0**36]
BITS = 500
HALF = Fraction(1, 2)
ZERO, ONES = 0, 2**64 - 1


@settings(deadline=None)
@given(st.integers(-(2**200), 2**200), st.integers(-1074, 700), st.sampled_from(["float64", "float32"]))
def test_grid_values_are_rounded_once(k, exponent, form):
    dtype = np.dtype("f8" if form == "float64" else "f4")
    exponent = max(exponent, -149) if form == "float32" else exponent
    exact = Fraction(k) * Fraction(2) ** exponent
    info = np.finfo(dtype)
    assume(abs(exact) <= Fraction(float(info.max)))
    value = grid_value(k, exponent, form)
    as_stored = dtype.type(value)
    assert float(as_stored) == value
    error = abs(Fraction(value) - exact)
    for neighbour in (np.nextafter(as_stored, info.max), np.nextafter(as_stored, -info.max)):
        if np.isfinite(neighbour):
            other = abs(Fraction(float(neighbour)) - exact)
            assert error < other or (error == other and int(as_stored.view(f"u{dtype.itemsize}")) % 2 == 0)
    assert not (value == 0 and math.copysign(1, value) < 0)


@pytest.mark.parametrize("exponent", [0, 1, 30, 62])
def test_grid_values_of_integers(exponent):
    for k in (0, 1, -1, (2**63 - 1) >> exponent, -(2**63) >> exponent):
        assert grid_value(k, exponent, "int64") == k << exponent


@settings(deadline=None)
@given(st.floats(2.0**-30, 2.0**36))
def test_discrete_offset_is_the_nearest_double(s):
    def offset():
        return mpfr(s) * gmpy2.log(2 / (1 + gmpy2.exp(-1 / mpfr(s)))) - mpfr(0.5)

    value, exact = discrete_offset(s), precise(offset, 400)
    assert -0.5 < value < 0 or s < 1e-8
    error = abs(Fraction(value) - exact)
    for neighbour in (math.nextafter(value, 1), math.nextafter(value, -1)):
        assert error <= abs(Fraction(neighbour) - exact)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.05, 1e4), st.integers(1, 12), st.fractions(Fraction(1, 100), 100))
def test_gaussian_epsilon_is_the_smallest_double(sigma, places, sensitivity):
    delta = Fraction(1, 10**places)
    ratio = Fraction(sigma) / sensitivity
    assume(Fraction(1, 100) <= ratio <= 10**places)

    def delta_of(epsilon: Fraction) -> Fraction:
        def value():
            s, e = real(ratio), real(epsilon)
            near, far = (1 / (2 * s) - e * s) / gmpy2.sqrt(mpfr(2)), (1 / (2 * s) + e * s) / gmpy2.sqrt(mpfr(2))
            return gmpy2.erfc(-near) / 2 - gmpy2.exp(e) * gmpy2.erfc(far) / 2

        return precise(value, 1200)

    epsilon = gaussian_epsilon(sigma, delta, sensitivity)
    assert delta_of(epsilon) <= delta
    smaller = math.nextafter(float(epsilon), 0.0)
    assert epsilon == Fraction(float(epsilon))
    assert smaller == 0 or float(epsilon) <= 2.3e-308 or delta_of(Fraction(smaller)) > delta
    # The two calibrations are inverse: the sigma for this epsilon is this one, or less by rounding.
    again = gaussian_sigma(epsilon, delta, sensitivity) if epsilon > Fraction(1, 10**300) else sigma
    assert again <= sigma


@settings(deadline=None)
@given(st.floats(0.01, 1e6), st.fractions(Fraction(1, 10**6), 100))
def test_the_step_below(sigma, epsilon):
    place = epsilon * Fraction(sigma) ** 2 - HALF
    assert _step_below(sigma, epsilon) < place <= _step_below(sigma, epsilon) + 1


def test_ideal_is_public_parameters_alone():
    ideal = in_steps(Laplace, 8.0, 0.25)._ideal()
    assert ideal == Ideal("laplace", 8.0, -2, 0.0)
    with pytest.raises(AttributeError):
        ideal.s = 1.0
