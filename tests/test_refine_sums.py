"""Sums of the discrete Gaussian: proved bounds, narrow, about values that mpmath finds in another way."""

from __future__ import annotations

import itertools
import math
import sys
import time
from fractions import Fraction

import pytest
from mpmath import mp, mpf
from support import fraction

from exactnoise._refine import calibration, discrete_gaussian_epsilon, discrete_gaussian_sigma, discrete_gaussian_tail
from exactnoise._refine.directed import Directed
from exactnoise._refine.discrete_gaussian import Sums

SIGMAS = [2.0**-30, 1e-3, 0.07, 0.3, 0.99, 1.0, 1.7, 3.99, 12.5, 63.999, 64.0, 64.5, 1000.3, 2.0**20, 1.3 * 2.0**27,
          2.0**36]  # fmt: skip
IN_SIGMAS = [0, 0.1, 1, 2.5, 6, 10, 20, 40]
DIGITS = 70


def reference(sigma: float, k: int) -> mpf:
    """The sum of exp(-j^2 / (2 sigma^2)) from j = k on, to some 60 digits.

    Term by term, or the integral from k to infinity, half the first term and Euler-Maclaurin corrections at the whole
    number k: not at the half-integer, where the engine has them.
    """
    s = mpf(sigma)
    if sigma < 100:
        total, j = mpf(0), k
        while True:
            term = mp.exp(-(mpf(j) ** 2) / (2 * s * s))
            total += term
            if j > 0 and term <= total * mpf(10) ** -(DIGITS + 20):
                return total
            j += 1
    z = k / s
    integral = s * mp.sqrt(mp.pi / 2) * mp.erfc(z / mp.sqrt(2))
    first = mp.exp(-z * z / 2)
    derivatives = [mpf(1), -z / s]  # over the first term
    for order in range(1, 60):
        derivatives.append(-(z * derivatives[-1] / s + order * derivatives[-2] / s**2))
    corrections = [mp.bernoulli(2 * m) / mp.factorial(2 * m) * derivatives[2 * m - 1] for m in range(1, 25)]
    return integral + first * (mpf(1) / 2 - mp.fsum(corrections))


def exactly(value: mpf) -> Fraction:
    mantissa, exponent = int(value.man), int(value.exp)
    return Fraction(mantissa) * Fraction(2) ** exponent * (-1 if value < 0 else 1)


def assert_encloses(bounds: tuple[object, object], value: mpf, width: float) -> None:
    low, high = map(fraction, bounds)
    exact, slack = exactly(value), exactly(abs(value)) / 10 ** (DIGITS - 15)
    assert low - slack <= exact <= high + slack
    assert high - low <= exact * Fraction(width)


@pytest.mark.parametrize("precision", [128, 160])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_sums(sigma: float, precision: int) -> None:
    with mp.workdps(DIGITS + 10):
        sums = Sums(Fraction(sigma), Directed(precision))
        total = 2 * reference(sigma, 1) + 1
        assert_encloses(sums.total, total, 2.0 ** (12 - precision))
        for t in IN_SIGMAS:
            k = max(1, math.ceil(t * sigma))
            if (k / sigma) ** 2 > 5000:
                continue
            value = reference(sigma, k)
            assert_encloses(sums.tail(k), value, 2.0 ** (38 - precision))
            assert_encloses(sums.probability_beyond(k), 2 * value / total, 2.0 ** (39 - precision))
            assert_encloses(sums.tail(1 - k), total - value, 2.0 ** (38 - precision))
            assert_encloses(sums.term(k), mp.exp(-(mpf(k) ** 2) / (2 * mpf(sigma) ** 2)), 2.0 ** (20 - precision))


def test_control_a_bound_too_tight() -> None:
    with mp.workdps(DIGITS + 10):
        value = reference(1000.3, 2500)
        low, high = Sums(Fraction(1000.3), Directed(128)).tail(2500)
        with pytest.raises(AssertionError):
            assert_encloses((high, high), value, 1e-20)
        with pytest.raises(AssertionError):
            assert_encloses((low, low), value, 1e-20)


def test_both_ways_agree_at_the_switch() -> None:
    for k in (1, 64, 300, 900, 2000):
        below, above = (Sums(sigma, Directed(160)) for sigma in (Fraction(64) - Fraction(1, 2**200), Fraction(64)))
        low, high = (max(fraction(a), fraction(b)) for a, b in zip(below.tail(k), above.tail(k), strict=True))
        assert fraction(below.tail(k)[0]) <= fraction(above.tail(k)[1])
        assert fraction(above.tail(k)[0]) * (1 - Fraction(1, 2**150)) <= fraction(below.tail(k)[1])
        assert high - low < low / 2**100


@pytest.mark.parametrize("sigma", SIGMAS)
def test_tails_decrease(sigma: float) -> None:
    step = max(1, round(sigma / 3))
    tails = [discrete_gaussian_tail(sigma, k) for k in range(-step, 120 * step, step)]
    assert tails[:2] == [1.0, 1.0]
    least = sys.float_info.min  # the smallest upper bound that is given
    assert all(a > b or b == least or a == 1 for a, b in itertools.pairwise(tails))
    assert all(least <= tail <= 1 for tail in tails)
    with mp.workdps(DIGITS + 10):
        k = max(1, round(2 * sigma))
        if sigma > 0.05:
            exact = 2 * reference(sigma, k) / (2 * reference(sigma, 1) + 1)
            tail = discrete_gaussian_tail(sigma, k)
            assert exactly(exact) <= Fraction(tail) <= exactly(exact) * (1 + Fraction(1, 2**51))


EXTREMES = [("1", "1e-300"), ("1e-9", "0.5"), ("1e-9", "0.01"), ("1e6", "1e-6"), ("1e6", "1e-300"), ("1e-3", "1e-300"),
            ("0.01", "1e-15"), ("30", "1e-12"), ("1", "0.999999"), ("0.1", "1e-100")]  # fmt: skip


@pytest.mark.parametrize(("epsilon", "delta"), EXTREMES)
def test_extreme_prices_take_a_bounded_time(epsilon: str, delta: str) -> None:
    start = time.process_time()
    sigma = discrete_gaussian_sigma(Fraction(epsilon), Fraction(delta))
    middle = time.process_time()
    back = discrete_gaussian_epsilon(sigma, Fraction(delta))
    end = time.process_time()
    # No more than the rounding of sigma moves it: delta changes at a rate of about 1 with epsilon.
    assert Fraction(epsilon) * (1 - Fraction(1, 10**9)) - Fraction(1, 10**15) <= back
    assert back <= Fraction(math.nextafter(float(epsilon), math.inf))
    assert middle - start < 4
    assert end - middle < 10


def test_noise_that_is_less_private_than_smaller_noise_costs_no_more() -> None:
    """At 0.3 delta is above its local minimum at 0.269: of its own, this noise would cost an epsilon of 16.4."""
    delta = Fraction(1, 1000)
    epsilon = discrete_gaussian_epsilon(0.3, delta)
    assert 6.905 < epsilon < 6.906
    assert 0.269 < discrete_gaussian_sigma(epsilon, delta) < 0.27
    assert discrete_gaussian_sigma(Fraction(math.nextafter(float(epsilon), 0)), delta) > 0.3


def test_no_scale_is_large_enough() -> None:
    start = time.process_time()
    with pytest.raises(OverflowError):
        discrete_gaussian_sigma(Fraction(1, 10**10), Fraction(1, 10**300))
    assert time.process_time() - start < 4


def test_below_a_minimum_is_another_one() -> None:
    """Half of the minima are rounded up, so that they lie above themselves: the search stayed there for ever."""
    for epsilon in (Fraction(i, 7) for i in range(1, 400)):
        minima = [calibration._minimum(step, epsilon) for step in range(4)]
        assert [calibration._minimum_below(sigma, epsilon) for sigma in minima] == [0.0, *minima[:-1]]
    epsilon, delta = Fraction("54.7"), Fraction(1, 10**100)
    sigma = calibration.discrete_gaussian_sigma(epsilon, delta)
    assert sigma == calibration._minimum(7, epsilon)
    assert calibration.discrete_gaussian_delta(epsilon, Fraction(sigma), Directed(1024))[1] <= delta
