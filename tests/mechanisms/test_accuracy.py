"""Variance, half widths and intervals say how far noise goes; from_accuracy turns that round."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from support import ON_INTEGERS, words_for

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from exactnoise.testing import release_from_words

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "laplace.json").read_text())
BY_ROW = {"ids": lambda row: f"{row['epsilon']}-{row['sensitivity']}"}
LAPLACE = [row for row in VECTORS if row["mechanism"] == "laplace"]
DISCRETE = [row for row in VECTORS if row["mechanism"] == "discrete_laplace"]
KINDS = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian)
GAUSSIANS = (Gaussian, DiscreteGaussian)
# z with P(|N| > z) = alpha for a standard normal N: sqrt(2) erfinv(1 - alpha) by mpmath with 60 digits.
NORMAL = {
    0.5: 0.6744897501960817432,
    0.1: 1.6448536269514727149,
    0.05: 1.9599639845400542355,
    0.01: 2.575829303548900761,
    1e-6: 4.8916384756985903862,
    1e-12: 7.130506848171324458,
}


def test_vectors_are_complete():
    assert len(LAPLACE) == 21
    assert len(DISCRETE) == 14


@pytest.mark.parametrize("row", LAPLACE, **BY_ROW)
def test_laplace_vector(row):
    mechanism = Laplace(sensitivity=row["sensitivity"], epsilon=row["epsilon"])
    assert mechanism.variance == pytest.approx(float(row["variance"]), rel=1e-14)
    assert mechanism.std == pytest.approx(math.sqrt(float(row["variance"])), rel=1e-14)
    for alpha, accuracy in row["accuracy"].items():
        width = mechanism.half_width(float(alpha)) - mechanism.granularity / 2
        assert width == pytest.approx(float(accuracy), rel=1e-14)


@pytest.mark.parametrize("row", DISCRETE, **BY_ROW)
def test_discrete_laplace_vector(row):
    mechanism = DiscreteLaplace(sensitivity=row["sensitivity"], epsilon=row["epsilon"])
    assert mechanism.variance == pytest.approx(float(row["variance"]), rel=1e-14)
    assert mechanism.std == pytest.approx(math.sqrt(float(row["variance"])), rel=1e-14)
    assert {alpha: mechanism.half_width(float(alpha)) for alpha in row["accuracy"]} == row["accuracy"]


def test_gaussian_widths():
    mechanism = Gaussian(sensitivity=1, scale="2.5")
    assert mechanism.variance == 6.25
    assert mechanism.std == 2.5
    for alpha, quantile in NORMAL.items():
        width = mechanism.half_width(alpha) - mechanism.granularity / 2
        assert width == pytest.approx(2.5 * quantile, rel=1e-14)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_widths_on_a_coarse_grid(kind):
    fine, coarse = kind(sensitivity=1, scale=1), kind(sensitivity=1, scale=1, granularity=2**20)
    assert coarse.half_width(0.1) - fine.half_width(0.1) == pytest.approx(2**19, rel=1e-5)
    assert coarse.variance == fine.variance


@pytest.mark.parametrize("exponent", [-1022, -600, -500, 500, 600, 1000])
def test_moments_of_extreme_scales(exponent):
    scale = Fraction(2) ** exponent
    for kind, factor in ((Laplace, math.sqrt(2)), (Gaussian, 1.0)):
        mechanism = kind(sensitivity=1, scale=scale)
        assert mechanism.std == pytest.approx(float(scale) * factor, rel=1e-14, abs=5e-324)
        variance = scale**2 * (2 if kind is Laplace else 1)
        assert mechanism.variance == (float(variance) if exponent < 512 else math.inf)


@pytest.mark.parametrize("scale", [2.0**-30, 0.01, 2.0**36])
def test_discrete_moments_of_extreme_scales(scale):
    mechanism = DiscreteLaplace(sensitivity=1, scale=Fraction(scale))
    if scale < 1:
        assert mechanism.half_width(1e-12) == 0
        assert mechanism.variance == pytest.approx(2 * math.exp(-1 / scale), rel=1e-12, abs=0)
    else:
        assert mechanism.half_width(1e-12) == pytest.approx(scale * math.log(1e12), rel=1e-9)
        assert mechanism.variance == pytest.approx(2 * scale**2, rel=1e-9)


# Intervals


def test_intervals():
    mechanism = Laplace(sensitivity=1, epsilon=1)
    t = mechanism.half_width(0.1)
    low, high = mechanism.interval(3.0, 0.1)
    assert (low, high) == (3.0 - t, 3.0 + t)
    assert np.ndim(low) == 0
    low, high = mechanism.interval(np.array([[1.0, 2.0]]), 0.1)
    assert low.shape == high.shape == (1, 2)
    np.testing.assert_array_equal(high, [[1.0 + t, 2.0 + t]])
    low, high = DiscreteLaplace(sensitivity=1, epsilon=1).interval([10, 20])
    assert low.tolist() == [7.0, 17.0]
    assert high.tolist() == [13.0, 23.0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.uint8, ">i2"])
def test_intervals_of_any_type_are_doubles(dtype):
    low, high = Laplace(sensitivity=1e6, epsilon=1).interval(np.array([100], dtype), 0.1)
    assert (low.dtype, high.dtype) == (np.float64, np.float64)
    assert low[0] + high[0] == 200


@pytest.mark.parametrize("value", ["1", None, [1, "a"], 10**400, 1j, True, np.array(["2020"], "M8[D]")])
def test_intervals_are_of_numbers(value):
    with pytest.raises(TypeError, match="value must be a released number, or an array of them, got"):
        Laplace(sensitivity=1, epsilon=1).interval(value)


SAMPLES = 200_000
FALSE_ALARM = 1e-9


def inside(mechanism: DiscreteLaplace | DiscreteGaussian, alpha: float) -> float:
    """The probability that integer noise stays within its half width, by summing."""
    terms = range(math.ceil(60 * mechanism.scale) + 2)
    if isinstance(mechanism, DiscreteLaplace):
        weights = [math.exp(-k / mechanism.scale) for k in terms]
    else:
        weights = [math.exp(-0.5 * (k / mechanism.scale) ** 2) for k in terms]
    t = int(mechanism.half_width(alpha))
    return (math.fsum(weights[: t + 1]) - 0.5) / (math.fsum(weights) - 0.5)


def agrees(hits: int, trials: int, probability: float) -> bool:
    """Whether a binomial count passes Chernoff's bound, which fails with a probability below FALSE_ALARM."""
    seen = hits / trials
    information = 0.0
    for observed, expected in ((seen, probability), (1 - seen, 1 - probability)):
        information += observed * math.log(observed / expected) if observed else 0.0
    return trials * information < math.log(2 / FALSE_ALARM)


@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.001])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind, epsilon, alpha):
    mechanism = with_epsilon(kind, 1, epsilon)
    x = np.arange(SAMPLES) % 1000 * 7
    words = words_for(mechanism, SAMPLES, int(1000 * alpha + 10 * epsilon))
    y = release_from_words(mechanism, x, words)
    low, high = mechanism.interval(y, alpha)
    hits = int(np.count_nonzero((low <= x) & (x <= high)))
    wanted = inside(mechanism, alpha) if kind in ON_INTEGERS else 1 - alpha
    assert wanted >= 1 - alpha
    assert agrees(hits, SAMPLES, wanted)
    if kind not in ON_INTEGERS:  # an interval that is a tenth too short is noticed
        short = int(np.count_nonzero(np.abs(y - x) <= 0.9 * mechanism.half_width(alpha)))
        assert not agrees(short, SAMPLES, wanted)


# From accuracy to epsilon

ALPHAS = [0.5, 0.05, 0.001, 1e-9]
TARGETS = [1, "0.1", 7.3, 1000, Fraction(22, 7), 123456]
UNITS = [Fraction(1), Fraction(1, 10**30), Fraction(10) ** 30]
INTEGER_UNITS = [Fraction(1), Fraction(1000)]


def from_accuracy(kind, **parameters):
    return kind.from_accuracy(**({"delta": "1e-6"} if kind in GAUSSIANS else {}), **parameters)


def with_epsilon(kind, sensitivity, epsilon):
    return kind(sensitivity=sensitivity, epsilon=epsilon, **({"delta": "1e-6"} if kind in GAUSSIANS else {}))


def one_less_in_the_fourth_digit(epsilon: Fraction) -> Fraction:
    digits = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    assert Fraction(digits) == epsilon
    unit = Fraction(10) ** (digits.adjusted() - 3)
    assert epsilon % unit == 0, "more than four digits"
    # Below a power of ten the digits are finer.
    return epsilon - (unit / 10 if epsilon == 1000 * unit else unit)


def from_accuracy_cases():
    """All combinations; half of them, in which any two values still meet, are not slow."""
    for kind in KINDS:
        choices = INTEGER_UNITS if kind in ON_INTEGERS else UNITS, (1, 3), TARGETS, ALPHAS
        for indices in itertools.product(*(range(len(values)) for values in choices)):
            unit, *others = (values[i] for values, i in zip(choices, indices, strict=True))
            name = "-".join([kind.__name__, f"{float(unit):g}", *map(str, others)])
            yield pytest.param(kind, unit, *others, id=name, marks=[pytest.mark.slow] if sum(indices) % 2 else [])


@pytest.mark.parametrize(("kind", "unit", "sensitivity", "target", "alpha"), list(from_accuracy_cases()))
def test_from_accuracy(kind, unit, sensitivity, target, alpha):
    if unit != 1:
        target, sensitivity = Fraction(target) * unit, Fraction(sensitivity) * unit
    mechanism = from_accuracy(kind, half_width=target, sensitivity=sensitivity, alpha=alpha)
    exact = Fraction(target)
    assert type(mechanism) is kind
    assert mechanism.sensitivity == sensitivity
    assert mechanism.half_width(alpha) <= exact
    assert mechanism == with_epsilon(kind, sensitivity, mechanism.epsilon)
    cheaper = one_less_in_the_fourth_digit(mechanism.epsilon)
    assert with_epsilon(kind, sensitivity, cheaper).half_width(alpha) > exact


@pytest.mark.parametrize("alpha", [0.05, 0.9999, 0.999999, 1 - 2**-53])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_the_search_begins_next_to_its_end_also_where_most_of_a_width_is_the_grid(kind, alpha):
    mechanism = from_accuracy(kind, half_width="1e-6", sensitivity="1e-4", alpha=alpha)
    delta = None if kind is Laplace else Fraction(1, 10**6)
    guess = kind._epsilon_guess(Fraction(1, 10**6), Fraction(1, 10**4), alpha, delta)
    assert guess <= mechanism.epsilon <= guess * Fraction(1002, 1000)
    assert mechanism.half_width(alpha) <= 1e-6
    assert with_epsilon(kind, "1e-4", one_less_in_the_fourth_digit(mechanism.epsilon)).half_width(alpha) > 1e-6


@pytest.mark.parametrize("epsilon", ["1", "0.9091", "0.7", "0.6667", "0.501", "0.1234", "12.34"])
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_just_below_a_width(kind, epsilon):
    """A target just below a mechanism's half width needs more epsilon, and above it no more."""
    mechanism = with_epsilon(kind, 1, epsilon)
    width = Fraction(mechanism.half_width(0.05))
    tiny = Fraction(mechanism.scale) / 10**8
    above = from_accuracy(kind, half_width=width + tiny, sensitivity=1)
    assert above.epsilon == Fraction(epsilon)
    below = from_accuracy(kind, half_width=width - tiny, sensitivity=1)
    assert below.half_width() <= width - tiny
    assert below.epsilon > Fraction(epsilon)


def test_alpha_is_optional():
    for kind in KINDS:
        mechanism = from_accuracy(kind, half_width=10, sensitivity=1)
        assert mechanism == from_accuracy(kind, half_width=10, sensitivity=1, alpha=0.05)
        assert mechanism.half_width() == mechanism.half_width(0.05)


@pytest.mark.parametrize("kind", [Gaussian, DiscreteGaussian])
@pytest.mark.parametrize("sensitivity", [1, 3, 248])
def test_the_least_epsilon_is_a_double_where_delta_alone_pays(kind, sensitivity):
    m = kind.from_accuracy(half_width=10**10, sensitivity=sensitivity, delta="0.5")
    assert m.epsilon == Fraction("2.226e-308")
    assert m.half_width() <= 10**10


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("narrow", [np.float16, np.float32])
@pytest.mark.parametrize("level", [0.5, 0.05, 1e-3])
def test_the_level_of_a_narrow_float_is_that_of_its_value(kind, narrow, level):
    """NumPy compares a double with a narrow float as narrowly, and a half width was 674106 in the place of 674490."""
    mechanism = kind(sensitivity=1, scale=1e9)
    assert mechanism.half_width(narrow(level)) == mechanism.half_width(float(narrow(level)))
