"""The discrete Gaussian against tests/vectors/discrete_gaussian.json: its law, moments, privacy and accuracy."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest
from golden import encloses, is_just_above, load
from mpmath import mp, mpf
from support import fraction
from vectors.discrete_gaussian import DIGITS, delta_of

from exactnoise import DiscreteGaussian, Gaussian
from exactnoise._refine import discrete_gaussian_tail
from exactnoise._refine.calibration import discrete_gaussian_delta
from exactnoise._refine.directed import Directed
from exactnoise._refine.discrete_gaussian import Sums
from exactnoise.accounting import gaussian_delta

VECTORS = load("discrete_gaussian")
NOISE, CALIBRATED, REFINED = VECTORS["noise"], VECTORS["calibrated"], VECTORS["refined"]
BY_SIGMA = {"ids": lambda row: row["sigma"]}
BY_PRICE = {"ids": lambda row: f"{row['epsilon']}-{row['delta']}"}
# For these the continuous Gaussian's sigma is smaller, and does not suffice.
TOO_SMALL = [row for row in CALIBRATED if Fraction(row["continuous_sigma"]) < Fraction(row["sigma"])]
AT = Directed(256)
NARROW = 1e-50


def mechanism(row):
    return DiscreteGaussian(sensitivity=1, scale=row["sigma"])


def quotient(part, whole):
    """The bounds of a quotient of positive numbers."""
    (low, high), (least, most) = map(fraction, part), map(fraction, whole)
    return low / most, high / least


def test_vectors_are_complete():
    assert (len(NOISE), len(CALIBRATED), len(REFINED)) == (12, 7, 14)
    entries = {name: sum(len(row[name]) for row in NOISE) for name, entry in NOISE[0].items() if type(entry) is dict}
    assert entries == {
        "probability": 60,
        "tail": 48,
        "delta": 52,
        "continuous_delta": 52,
        "half_width": 60,
        "beyond_half_width": 60,
    }
    assert [(row["epsilon"], row["delta"]) for row in TOO_SMALL] == [("1", "1e-6"), ("1", "1e-9"), ("2", "1e-6")]


# The law and its moments


@pytest.mark.parametrize("row", NOISE, **BY_SIGMA)
def test_law(row):
    sums = Sums(Fraction(row["sigma"]), AT)
    assert encloses(*map(fraction, sums.total), row["normaliser"], NARROW)
    for k, value in row["probability"].items():
        assert encloses(*quotient(sums.term(int(k)), sums.total), value, NARROW)
    for k, value in row["tail"].items():
        assert encloses(*quotient(sums.tail(int(k)), sums.total), value, NARROW)
        assert encloses(*(fraction(end) / 2 for end in sums.probability_beyond(int(k))), value, NARROW)


def test_control_bounds_beside_the_value():
    value = NOISE[6]["normaliser"]
    low, high = map(fraction, Sums(Fraction(NOISE[6]["sigma"]), AT).total)
    for factor in (1 - Fraction(1, 10**20), 1 + Fraction(1, 10**20)):
        assert not encloses(low * factor, high * factor, value, NARROW)
    assert not encloses(low * (1 - Fraction(1, 10**20)), high, value, NARROW)


@pytest.mark.parametrize("row", NOISE, **BY_SIGMA)
def test_tails_in_doubles(row):
    for k, value in row["tail"].items():
        # The mechanism's double is not below sigma, nor are its tails; the farthest ones are no doubles.
        beyond = discrete_gaussian_tail(mechanism(row).scale, int(k))
        exact = max(2 * Fraction(value), Fraction(sys.float_info.min))
        assert is_just_above(Fraction(beyond), exact, 1e-12)


@pytest.mark.parametrize("row", [row for row in NOISE if Fraction(row["sigma"]) < 4], **BY_SIGMA)
def test_table(row):
    """Samples are drawn from these."""
    thresholds = mechanism(row)._thresholds()
    for k, value in row["tail"].items():
        threshold = thresholds[int(k) - 1] if int(k) <= len(thresholds) else 0
        assert threshold == math.floor(2**50 * 2 * Fraction(value))


@pytest.mark.parametrize("row", NOISE, **BY_SIGMA)
def test_moments(row):
    noise = mechanism(row)
    assert noise.variance == pytest.approx(float(row["variance"]), rel=1e-12, abs=0)
    assert noise.std == pytest.approx(math.sqrt(float(row["variance"])), rel=1e-12, abs=0)
    share = noise.variance / noise.scale**2
    assert share == pytest.approx(float(row["variance_over_sigma_squared"]), rel=1e-12, abs=0)
    assert share <= 1
    # The mean of |X| is the sum of P(|X| >= k) over k >= 1.
    tails = (discrete_gaussian_tail(noise.scale, k) for k in range(1, math.ceil(12 * noise.scale) + 2))
    assert math.fsum(tails) == pytest.approx(float(row["mean_absolute"]), rel=1e-12, abs=0)


@pytest.mark.parametrize("row", NOISE, **BY_SIGMA)
def test_half_widths(row):
    noise, sums = mechanism(row), Sums(Fraction(row["sigma"]), AT)
    assert {alpha: noise.half_width(float(alpha)) for alpha in row["half_width"]} == row["half_width"]
    for alpha, value in row["beyond_half_width"].items():
        beyond = sums.probability_beyond(row["half_width"][alpha] + 1)
        assert encloses(*map(fraction, beyond), value, NARROW)
        assert Fraction(value) <= Fraction(alpha)


# Privacy


@pytest.mark.parametrize("row", NOISE, **BY_SIGMA)
def test_rho(row):
    rho = mechanism(row).rho
    assert rho == 1 / (2 * Fraction(row["sigma"]) ** 2)
    assert encloses(rho, rho, row["rho"], 0)


@pytest.mark.parametrize("row", NOISE, **BY_SIGMA)
def test_delta(row):
    sigma = Fraction(row["sigma"])
    for epsilon, value in row["delta"].items():
        bounds = discrete_gaussian_delta(Fraction(epsilon), sigma, AT)
        assert encloses(*map(fraction, bounds), value, NARROW)
        continuous = gaussian_delta(1 / (2 * sigma**2), epsilon)
        assert is_just_above(continuous, row["continuous_delta"][epsilon], 1e-18)


@pytest.mark.parametrize("row", REFINED, ids=lambda row: f"{row['epsilon']}-{row['steps']}")
def test_delta_on_ever_finer_grids(row):
    sigma, steps = Fraction(row["sigma"]), row["steps"]
    bounds = discrete_gaussian_delta(Fraction(row["epsilon"]), sigma * steps, AT, shift=steps)
    low, high = map(fraction, bounds)
    assert encloses(low, high, row["delta"], NARROW)
    continuous = gaussian_delta(1 / (2 * sigma**2), row["epsilon"])
    assert is_just_above(continuous, row["continuous_delta"], 1e-18)
    assert abs(low / continuous - 1 - Fraction(row["excess"])) < Fraction(1, 10**18)


def suffices(scale, row):
    """Whether a scale keeps to delta, by the vectors' script: sums term by term, independent of the engine's."""
    with mp.workdps(DIGITS):
        return delta_of(mpf(scale), mpf(row["epsilon"])) <= mpf(row["delta"])


@pytest.mark.parametrize("row", CALIBRATED, **BY_PRICE)
def test_calibration(row):
    scale = DiscreteGaussian(sensitivity=1, epsilon=row["epsilon"], delta=row["delta"]).scale
    assert scale == pytest.approx(float(row["sigma"]), rel=1e-12)
    assert is_just_above(Fraction(scale), row["sigma"], 2.0**-52)
    assert suffices(scale, row)
    assert not suffices(math.nextafter(scale, 0), row)


@pytest.mark.parametrize("row", CALIBRATED, **BY_PRICE)
def test_control_the_continuous_scale(row):
    """It is private on the integers only where it happens to be larger."""
    scale = Gaussian(sensitivity=1, epsilon=row["epsilon"], delta=row["delta"]).scale
    assert is_just_above(Fraction(scale), row["continuous_sigma"], 2.0**-52)
    bounds = discrete_gaussian_delta(Fraction(row["epsilon"]), Fraction(scale), AT)
    for delta in map(fraction, bounds):
        assert float(delta) == pytest.approx(float(row["delta_of_continuous_sigma"]), rel=1e-12, abs=0)
        assert (delta > Fraction(row["delta"])) == (row in TOO_SMALL)
    assert suffices(scale, row) == (row not in TOO_SMALL)
