"""Whatever is wrong with a parameter is refused at construction, by name and value, in words that teach."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support import ON_INTEGERS

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

ALL = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian)
GAUSSIANS = (Gaussian, DiscreteGaussian)
ON_GRID = (Laplace, Gaussian)
NAN, INF = float("nan"), float("inf")
ULP = sys.float_info.epsilon

#: One valid way to say each parameter that is a number.
PLACES = [
    (Laplace, "sensitivity", {"epsilon": 1}),
    (Laplace, "epsilon", {"sensitivity": 1}),
    (Laplace, "scale", {"sensitivity": 1}),
    (Gaussian, "sensitivity", {"rho": 1}),
    (Gaussian, "epsilon", {"sensitivity": 1, "delta": 1e-6}),
    (Gaussian, "delta", {"sensitivity": 1, "epsilon": 1}),
    (Gaussian, "rho", {"sensitivity": 1}),
    (Gaussian, "scale", {"sensitivity": 1}),
    (DiscreteLaplace, "sensitivity", {"epsilon": 1}),
    (DiscreteLaplace, "epsilon", {"sensitivity": 1}),
    (DiscreteLaplace, "scale", {"sensitivity": 1}),
    (DiscreteGaussian, "sensitivity", {"rho": 1}),
    (DiscreteGaussian, "epsilon", {"sensitivity": 1, "delta": 1e-6}),
    (DiscreteGaussian, "delta", {"sensitivity": 1, "epsilon": 1}),
    (DiscreteGaussian, "rho", {"sensitivity": 1}),
    (DiscreteGaussian, "scale", {"sensitivity": 1}),
]
PLACE_IDS = [f"{kind.__name__}-{name}" for kind, name, _ in PLACES]

NOT_POSITIVE = [0, 0.0, -0.0, -1, -0.5, "0", "-1", "0/7", Decimal(0), Decimal(-1), Fraction(0), Fraction(-1, 3)]
NOT_FINITE = [NAN, INF, -INF, "nan", "inf", "-Infinity", Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity")]
NUMPY_VALUES = [np.float64(NAN), np.float32(INF), np.float16(-1), np.int64(0), np.int8(-1)]
MALFORMED = ["", " ", "one", "1,5", "1/", "/2", "1/2/3", "1/0", "0x10", "1e", "--1", "1e999999999", "1" + "0" * 500]
NOT_NUMBERS = [
    True, False, np.True_, 1j, np.complex128(1), b"1", [1], (1,), {"a": 1}, object(), type, Ellipsis,
    np.array(1.0), np.array([1.0]), np.timedelta64(1, "s"), np.datetime64("2020-01-01"),
]  # fmt: skip


def described(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60]


@pytest.mark.parametrize("value", NOT_POSITIVE + NOT_FINITE + NUMPY_VALUES + MALFORMED, ids=repr)
@pytest.mark.parametrize(("kind", "name", "others"), PLACES, ids=PLACE_IDS)
def test_values_that_are_refused(kind, name, others, value):
    with pytest.raises(ValueError, match=f"^{name} must ") as refusal:
        kind(**others, **{name: value})
    assert described(value) in str(refusal.value)


@pytest.mark.parametrize("value", NOT_NUMBERS, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize(("kind", "name", "others"), PLACES, ids=PLACE_IDS)
def test_types_that_are_refused(kind, name, others, value):
    with pytest.raises(TypeError, match=f"^{name} must be a number") as refusal:
        kind(**others, **{name: value})
    assert described(value) in str(refusal.value)
    assert type(value).__name__ in str(refusal.value)


@pytest.mark.parametrize("kind", GAUSSIANS)
@pytest.mark.parametrize("value", [1, 1.0, 2, "1", Fraction(3, 2), 1 + ULP])
def test_delta_is_below_one(kind, value):
    with pytest.raises(ValueError, match=r"^delta must be a positive number below 1, got "):
        kind(sensitivity=1, epsilon=1, delta=value)


SAME_NUMBERS = {
    Fraction(1): [1, 1.0, "1", "1.0", "1e0", "2/2", Decimal(1), np.int8(1), np.uint64(1), np.float16(1), np.float64(1)],
    Fraction(1, 10): [0.1, "0.1", "1/10", ".1", "1e-1", Decimal("0.1"), np.float64(0.1), np.float32(0.1)],
    Fraction(1, 3): ["1/3", "2/6", " 1 / 3 "],
    Fraction(10**30): [10**30, 1e30, "1e30", Decimal(10) ** 30],
}


@pytest.mark.parametrize(("kind", "name", "others"), PLACES, ids=PLACE_IDS)
def test_number_kinds(kind, name, others):
    """Every way to type a number means the same exact fraction."""
    for amount, spellings in SAME_NUMBERS.items():
        unfit = amount >= 1 if name == "delta" else name == "sensitivity" and kind in ON_INTEGERS and amount < 1
        too_large = amount == 10**30 and (kind in ON_INTEGERS or (kind is Gaussian and name == "epsilon"))
        if unfit or too_large:
            continue
        expected = kind(**others, **{name: amount})
        for value in spellings:
            assert kind(**others, **{name: value}) == expected, value


@pytest.mark.parametrize("value", ["1/2", 0.5, Fraction(7, 3), "1e-9"])
def test_discrete_sensitivity_is_whole(value):
    with pytest.raises(ValueError, match=r"^sensitivity must be a whole number for integer data, got ") as refusal:
        DiscreteLaplace(sensitivity=value, epsilon=1)
    assert repr(value) in str(refusal.value)


# What is missing or said twice


@pytest.mark.parametrize(
    ("kind", "price", "lesson"),
    [
        (Laplace, {"epsilon": 1}, "how much one person can change x in total"),
        (DiscreteLaplace, {"epsilon": 1}, "how much one person can change x in total"),
        (Gaussian, {"rho": 1}, "how much one person can change x, in the L2 norm"),
        (DiscreteGaussian, {"rho": 1}, "how much one person can change x, in the L2 norm"),
    ],
)
def test_a_missing_sensitivity_is_explained(kind, price, lesson):
    with pytest.raises(TypeError, match=f"^{kind.__name__} needs sensitivity: ") as refusal:
        kind(**price)
    assert lesson in str(refusal.value)
    assert "1 for a count" in str(refusal.value)


TWO_CURRENCIES = [
    ({}, "none of them"),
    ({"epsilon": 1}, "only part of epsilon and delta"),
    ({"delta": 1e-6}, "only part of epsilon and delta"),
    ({"epsilon": 1, "rho": 1}, "epsilon and delta, rho"),
    ({"delta": 1e-6, "scale": 1}, "epsilon and delta, scale"),
    ({"epsilon": 1, "delta": 1e-6, "rho": 1}, "epsilon and delta, rho"),
    ({"rho": 1, "scale": 1}, "rho, scale"),
    ({"epsilon": 1, "delta": 1e-6, "rho": 1, "scale": 1}, "epsilon and delta, rho, scale"),
]


@pytest.mark.parametrize(
    ("kind", "price", "got"),
    [
        (Laplace, {}, "none of them"),
        (Laplace, {"epsilon": 1, "scale": 1}, "epsilon, scale"),
        (DiscreteLaplace, {}, "none of them"),
        (DiscreteLaplace, {"epsilon": 1, "scale": 1}, "epsilon, scale"),
        *((kind, *case) for kind in GAUSSIANS for case in TWO_CURRENCIES),
    ],
)
def test_exactly_one_price(kind, price, got):
    ways = "epsilon and delta; rho; scale" if kind in GAUSSIANS else "epsilon; scale"
    with pytest.raises(TypeError) as refusal:
        kind(sensitivity=1, **price)
    assert str(refusal.value) == f"{kind.__name__} needs exactly one of: {ways}; got {got}"


@pytest.mark.parametrize("kind", ALL)
def test_parameters_have_names(kind):
    with pytest.raises(TypeError, match="positional argument"):
        kind(1, 1)


@pytest.mark.parametrize("option", ["granularity", "nan", "delta", "rho", "sigma"])
def test_unknown_parameters(option):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        DiscreteLaplace(sensitivity=1, epsilon=1, **{option: 1})


# Noise that no double can hold


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        (Laplace, {"sensitivity": 1, "epsilon": "1e-320"}),
        (Laplace, {"sensitivity": 1e300, "epsilon": 1e-20}),
        (Laplace, {"sensitivity": 1, "scale": "1e309"}),
        (Gaussian, {"sensitivity": 1e300, "rho": 1e-20}),
        (Gaussian, {"sensitivity": 1, "scale": "1e309"}),
        (Gaussian, {"sensitivity": 1e300, "epsilon": 1e-9, "delta": 1e-20}),
        (Gaussian, {"sensitivity": "1e400", "epsilon": 1, "delta": 1e-6}),
    ],
)
def test_too_much_noise(kind, parameters):
    with pytest.raises(ValueError, match="the noise would be too large for doubles"):
        kind(**parameters)


@pytest.mark.parametrize("kind", GAUSSIANS)
@pytest.mark.parametrize("value", [2e6, 1e300, "1e300"])
def test_hardly_any_gaussian_noise(kind, value):
    with pytest.raises(ValueError, match=r"^epsilon must be at most 1000000 with Gaussian noise, got ") as refusal:
        kind(sensitivity=1, epsilon=value, delta=1e-6)
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"sensitivity": 1, "scale": 2.0**36 * (1 + ULP)},
        {"sensitivity": 1, "scale": Fraction(2**36 * 10**30 + 1, 10**30)},
        {"sensitivity": 1, "epsilon": 1e-11},
        {"sensitivity": 1, "epsilon": "1e-320"},
        {"sensitivity": 1, "scale": Fraction(2**30 - 1, 2**60)},
        {"sensitivity": 1, "epsilon": 1e300},
    ],
)
def test_discrete_scale(parameters):
    with pytest.raises(ValueError, match=r"scale sensitivity / epsilon must lie between 2\*\*-30 and 2\*\*36, got "):
        DiscreteLaplace(**parameters)


@pytest.mark.parametrize("kind", ON_INTEGERS)
@pytest.mark.parametrize("scale", [Fraction(1, 2**30), 2**36])
def test_discrete_scale_at_its_ends(kind, scale):
    assert Fraction(kind(sensitivity=1, scale=scale).scale) == scale


# Options of the mechanisms on a grid


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize(
    "granularity",
    [0.3, 3, 1.5, "0.1", "1/3", 2.0**-10 * (1 + ULP), Fraction(2**60 + 1, 2**60), Decimal("0.3"), np.float32(0.1), 10],
    ids=repr,
)
def test_granularity_is_a_power_of_two(kind, granularity):
    with pytest.raises(ValueError, match=r"^granularity must be a power of two such as ") as refusal:
        kind(sensitivity=1, scale=1, granularity=granularity)
    assert repr(granularity) in str(refusal.value)


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize("granularity", NOT_POSITIVE + NOT_FINITE + NUMPY_VALUES + MALFORMED, ids=repr)
def test_granularity_values_that_are_refused(kind, granularity):
    with pytest.raises(ValueError, match=r"^granularity must ") as refusal:
        kind(sensitivity=1, scale=1, granularity=granularity)
    assert described(granularity) in str(refusal.value)


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize("granularity", NOT_NUMBERS, ids=lambda value: type(value).__name__)
def test_granularity_types_that_are_refused(kind, granularity):
    with pytest.raises(TypeError, match=r"^granularity must be a number"):
        kind(sensitivity=1, scale=1, granularity=granularity)


# Scale, the finest and the coarsest granularity.
GRIDS = [
    (1, Fraction(1, 2**36), 2**30),
    (1.5, Fraction(1, 2**35), 2**30),
    (Fraction(2**52 - 1, 2**52), Fraction(1, 2**36), 2**29),
    (Fraction(2) ** 1000, Fraction(2) ** 964, Fraction(2) ** 1023),
    (Fraction(1, 2**1000), Fraction(1, 2**1036), Fraction(1, 2**970)),
    (Fraction(1, 2**1022), Fraction(1, 2**1058), Fraction(1, 2**992)),
]


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize(("scale", "finest", "coarsest"), GRIDS)
def test_granularity_bounds(kind, scale, finest, coarsest):
    for granularity in (finest, coarsest):
        assert Fraction(kind(sensitivity=1, scale=scale, granularity=granularity).granularity) == granularity
    for granularity in (Fraction(finest) / 2, Fraction(coarsest) * 2):
        with pytest.raises(ValueError, match=r"^granularity must (lie between|be a finite)") as refusal:
            kind(sensitivity=1, scale=scale, granularity=granularity)
        assert described(granularity) in str(refusal.value)


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize("granularity", [2**20000, Fraction(1, 2**20000)], ids=["huge", "tiny"])
def test_granularity_too_long_to_print(kind, granularity):
    with pytest.raises(ValueError, match=r"^granularity must "):
        kind(sensitivity=1, scale=1, granularity=granularity)


@pytest.mark.parametrize(
    "granularity",
    [
        0.25,
        "0.25",
        "1/4",
        "25e-2",
        Decimal("0.25"),
        Fraction(1, 4),
        np.float16(0.25),
        np.float32(0.25),
        np.float64(0.25),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ON_GRID)
def test_granularity_kinds(kind, granularity):
    assert kind(sensitivity=1, scale=1, granularity=granularity).granularity == 0.25
    assert kind(sensitivity=1, scale=1, granularity=np.int64(4)).granularity == 4.0


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize("nan", [NAN, INF, -INF, np.float32(NAN), np.float64(INF), 10**400, -(10**400)], ids=str)
def test_nan_is_finite(kind, nan):
    with pytest.raises(
        ValueError, match=r"^nan must be finite: it is what a NaN in the data counts as, got "
    ) as refusal:
        kind(sensitivity=1, scale=1, nan=nan)
    assert repr(nan) in str(refusal.value)


@pytest.mark.parametrize("kind", ON_GRID)
@pytest.mark.parametrize("nan", [True, np.False_, "0", None, 1j, [0.0], np.array([0.0]), object()], ids=repr)
def test_nan_is_a_number(kind, nan):
    with pytest.raises(TypeError, match=r"^nan must be a number, what a NaN in the data counts as, got ") as refusal:
        kind(sensitivity=1, scale=1, nan=nan)
    assert repr(nan) in str(refusal.value)


@pytest.mark.parametrize("nan", [0, -1.5, 1e308, 5e-324, np.float32(2), np.int64(-3), 2**62])
def test_nan_kinds(nan):
    assert Laplace(sensitivity=1, scale=1, nan=nan) == Laplace(sensitivity=1, scale=1, nan=float(nan))


# Accuracy

WRONG_ALPHAS = [
    0,
    1,
    0.0,
    1.0,
    -0.1,
    1.5,
    5e-324,
    0.99e-300,
    NAN,
    INF,
    -INF,
    np.float64(NAN),
    2,
    np.float32(0),
    np.longdouble(1),
]
MECHANISMS = [
    Laplace(sensitivity=1, epsilon=1),
    Gaussian(sensitivity=1, rho=1),
    DiscreteLaplace(sensitivity=1, epsilon=1),
    DiscreteGaussian(sensitivity=1, scale=2),
    DiscreteGaussian(sensitivity=1, scale=5),
]
BY_KIND = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def from_accuracy(kind, **parameters):
    return kind.from_accuracy(**({"delta": "1e-6"} if kind in GAUSSIANS else {}), **parameters)


@BY_KIND
@pytest.mark.parametrize("alpha", WRONG_ALPHAS, ids=repr)
def test_alpha_lies_between_0_and_1(mechanism, alpha):
    for use in (
        lambda: mechanism.half_width(alpha),
        lambda: mechanism.interval(0, alpha),
        lambda: from_accuracy(type(mechanism), half_width=10, sensitivity=1, alpha=alpha),
    ):
        with pytest.raises(
            ValueError, match=r"^alpha must lie between 0 \(1e-300\) and 1, 0.05 meaning 95 %, got "
        ) as refusal:
            use()
        assert repr(alpha) in str(refusal.value)


@BY_KIND
@pytest.mark.parametrize("alpha", [True, "0.05", None, 1j, [0.05], np.array([0.05]), np.True_], ids=repr)
def test_alpha_is_a_number(mechanism, alpha):
    for use in (
        lambda: mechanism.half_width(alpha),
        lambda: mechanism.interval(0, alpha),
        lambda: from_accuracy(type(mechanism), half_width=10, sensitivity=1, alpha=alpha),
    ):
        with pytest.raises(TypeError, match=r"^alpha must be a number between 0 and 1, got ") as refusal:
            use()
        assert repr(alpha) in str(refusal.value)


@BY_KIND
@pytest.mark.parametrize("alpha", [1e-300, 1e-17, 0.999, 1 - ULP / 2], ids=repr)
def test_any_alpha_between_0_and_1(mechanism, alpha):
    assert 0 <= mechanism.half_width(alpha) < 700
    if alpha < 0.9999:  # else the discrete noise would be larger than its scale can be
        assert from_accuracy(type(mechanism), half_width=10, sensitivity=1, alpha=alpha).half_width(alpha) <= 10


@pytest.mark.parametrize("value", [0, -1, NAN, INF, "nan", "x"], ids=repr)
@pytest.mark.parametrize("kind", ALL)
def test_half_width_values_that_are_refused(kind, value):
    if kind in ON_INTEGERS and value == 0:
        assert from_accuracy(kind, half_width=0, sensitivity=1).half_width() == 0
        return
    with pytest.raises(ValueError, match=r"^half_width must ") as refusal:
        from_accuracy(kind, half_width=value, sensitivity=1)
    assert repr(value) in str(refusal.value)


@pytest.mark.parametrize("kind", ALL)
def test_accuracy_needs_a_sensitivity(kind):
    with pytest.raises(TypeError, match=f"^{kind.__name__} needs sensitivity: how much one person can change x"):
        from_accuracy(kind, half_width=1)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("value", [True, 1j, None, [1]], ids=repr)
def test_half_width_is_a_number(kind, value):
    with pytest.raises(TypeError, match=r"^half_width must be a number"):
        from_accuracy(kind, half_width=value, sensitivity=1)


@pytest.mark.parametrize("kind", GAUSSIANS)
def test_gaussian_accuracy_needs_a_delta(kind):
    with pytest.raises(TypeError, match=f"^{kind.__name__}.from_accuracy needs delta, .* such as 1e-6"):
        kind.from_accuracy(half_width=1, sensitivity=1)
    with pytest.raises(ValueError, match=r"^delta must be a positive number below 1, got 1"):
        kind.from_accuracy(half_width=1, sensitivity=1, delta=1)


@pytest.mark.parametrize(
    "parameters", [{"half_width": "1e-400"}, {"half_width": 0.1, "sensitivity": 10**400}], ids=repr
)
def test_an_accuracy_that_no_gaussian_noise_has(parameters):
    with pytest.raises(ValueError, match=r"^no noise is small enough for half_width .*: allow more$"):
        Gaussian.from_accuracy(**{"sensitivity": 1, "delta": "1e-6", **parameters})
