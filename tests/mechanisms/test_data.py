"""Data of every type, layout and value: exact, total, and of a result dtype that no value decides.

Most tests use a scale of 2^-30 grid steps, whose noise rounds to 0: then a release is the exact rounding of its data.
"""

from __future__ import annotations

import datetime
import math
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support import ON_INTEGERS, Mechanism, in_steps

from exactnoise import Gaussian, Laplace, PrivacyBudget
from exactnoise.mechanisms import _engine

QUIET = 2.0**-30
REAL = (Laplace, Gaussian)
ALL = (*REAL, *ON_INTEGERS)
INT64 = np.iinfo(np.int64)
NAN, INF = float("nan"), float("inf")


def quiet(kind: type[Mechanism], granularity: float = 1.0, nan: float = 0.0) -> Mechanism:
    if kind in ON_INTEGERS:
        return in_steps(kind, QUIET)
    scale = Fraction(QUIET) * Fraction(granularity)
    return kind(sensitivity=scale, scale=scale, granularity=granularity, nan=nan)


def on_mechanisms_and_types(*dtypes: str) -> pytest.MarkDecorator:
    """Every mechanism with each of the types that it takes."""
    pairs = [(kind, dtype) for kind in ALL for dtype in dtypes if kind in REAL or "f" not in dtype]
    return pytest.mark.parametrize(("kind", "dtype"), pairs)


def released(mechanism: Mechanism, x: object) -> np.ndarray:
    """The release, also with a floating-point environment in which every exception is an error."""
    with np.errstate(all="raise"):
        return mechanism.release(x, budget=None)


# Result dtypes

INTEGERS = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = {"f2": "f8", "f4": "f4", "f8": "f8"}


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (40,), (2, 0, 3), (2, 3)], ids=str)
@pytest.mark.parametrize("code", [*INTEGERS, *FLOATS])
def test_result_dtypes(code, shape, order):
    x = np.ones(shape, dtype=code if code == "?" else order + code)
    for kind in REAL:
        for granularity in (2.0**-5, 0.5, 1.0, 64.0):
            y = released(quiet(kind, granularity), x)
            expected = FLOATS.get(code) or ("i8" if granularity >= 1 else "f8")
            assert y.dtype == np.dtype(expected), (kind, granularity)
            assert y.dtype.isnative
            assert y.shape == shape
            assert np.all(y == (1 if granularity <= 1 else 0))
    if code in INTEGERS:
        for kind in ON_INTEGERS:
            y = released(quiet(kind), x)
            assert y.dtype == np.dtype("i8")
            assert y.shape == shape
            assert np.all(y == 1)
    else:
        for kind, other in zip(ON_INTEGERS, REAL, strict=True):
            message = f"^{kind.__name__} takes integers.* use {other.__name__}, or convert counts to int64"
            with pytest.raises(TypeError, match=message):
                released(quiet(kind), x)


@pytest.mark.parametrize("kind", REAL)
def test_scalars(kind):
    whole, fine = quiet(kind), quiet(kind, 0.25)
    for x, coarse_type, fine_type in [
        (3, int, float),
        (True, int, float),
        (3.0, float, float),
        (np.float64(3), np.float64, np.float64),
        (np.float32(3), np.float32, np.float32),
        (np.float16(3), np.float64, np.float64),
        (np.int64(3), np.int64, np.float64),
        (np.uint8(3), np.int64, np.float64),
        (np.True_, np.int64, np.float64),
        (np.array(3), np.int64, np.float64),
        (np.array(3.0), np.float64, np.float64),
    ]:
        for mechanism, expected in ((whole, coarse_type), (fine, fine_type)):
            y = released(mechanism, x)
            assert type(y) is expected, (x, mechanism)
            assert y == x


@pytest.mark.parametrize("kind", ON_INTEGERS)
def test_discrete_scalars(kind):
    mechanism = quiet(kind)
    for x, expected in [(3, int), (True, int), (np.int8(3), np.int64), (np.True_, np.int64), (np.array(3), np.int64)]:
        y = released(mechanism, x)
        assert type(y) is expected
        assert y == x
    for x in (3.0, np.float32(3), np.array(3.0), float("nan")):
        with pytest.raises(TypeError, match=f"^{kind.__name__} takes integers"):
            released(mechanism, x)


@pytest.mark.parametrize("x", [5, 5.0, np.int32(5), np.float32(5)], ids=repr)
@pytest.mark.parametrize("kind", REAL)
def test_scalars_get_noise(kind, x):
    """Scalars have a way of their own; its noise has the right scale. |Z| > 50 or < 1e-12 (scale 1): below 1e-11."""
    mechanism = kind(sensitivity=1, scale=1, granularity=2.0**-36)
    values = [mechanism.release(x, budget=None) - x for _ in range(300)]
    assert 1e-12 < max(map(abs, values)) < 50
    assert len(set(values)) > 290
    assert min(values) < 0 < max(values)


# Layouts

BASE = np.random.Generator(np.random.PCG64(1)).integers(-100, 100, (6, 8, 10)) + 0.25
LAYOUTS = {
    "C": lambda x: x,
    "Fortran": np.asfortranarray,
    "transposed": lambda x: x.T,
    "axes swapped": lambda x: x.swapaxes(0, 1),
    "every second": lambda x: x[::2, ::2, ::2],
    "last axis strided": lambda x: x[..., ::3],
    "reversed": lambda x: x[::-1, ::-1, ::-1],
    "1-D strided": lambda x: x.ravel()[::7],
    "1-D reversed": lambda x: x.ravel()[::-1],
    "broadcast": lambda x: np.broadcast_to(x[0, 0], (3, 4, 10)),
    "broadcast scalar": lambda x: np.broadcast_to(x[0, 0, 0], (5, 4)),
    "big-endian": lambda x: x.astype(x.dtype.newbyteorder(">")),
    "big-endian strided": lambda x: x.astype(x.dtype.newbyteorder(">"))[:, ::2],
    "read-only": lambda x: (x.setflags(write=False), x)[1],
    "misaligned": lambda x: np.frombuffer(b"\0" + x.tobytes(), dtype=x.dtype, offset=1),
    "field": lambda x: np.array([(0, v) for v in x.ravel()], dtype=[("a", "u1"), ("v", x.dtype)])["v"],
    "empty": lambda x: x[:0],
    "empty strided": lambda x: x[::2, 3:3],
    "subclass": lambda x: x.reshape(6, 80).view(np.matrix),
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@on_mechanisms_and_types("f8", "f4", "f2", "i8", "i4", "u1", "?")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(kind, dtype, layout):
    x = LAYOUTS[layout](np.abs(BASE).astype(dtype))
    before = x.copy()
    y = released(quiet(kind), x)
    assert type(y) is np.ndarray
    assert y.flags.c_contiguous
    assert y.flags.owndata or y.base is None
    np.testing.assert_array_equal(y, np.round(np.asarray(x).astype(float)), strict=False)
    np.testing.assert_array_equal(x, before)
    assert y.shape == x.shape


@pytest.mark.parametrize("ranges", [1, 3])
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "subclass"])
def test_layouts_over_several_ranges(layout, ranges, monkeypatch):
    monkeypatch.setattr(_engine, "_RANGE", 1 << 6)
    monkeypatch.setattr(_engine, "_STAGED_RANGE", 1 << 5)
    x = LAYOUTS[layout](np.tile(BASE, (ranges, 1, 1)))
    np.testing.assert_array_equal(released(quiet(Gaussian), x), np.round(x))


# Values


@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8"])
@pytest.mark.parametrize("nan", [0.0, -3.0, 7.0, 1e9])
@pytest.mark.parametrize("kind", REAL)
def test_nan_is_replaced(kind, nan, dtype):
    x = np.array([1, NAN, 2, -NAN, NAN], dtype=dtype)
    np.testing.assert_array_equal(released(quiet(kind, nan=nan), x), [1, nan, 2, nan, nan])


@pytest.mark.parametrize("nan", [1e300, -1e300, 1e39])
@pytest.mark.parametrize("kind", REAL)
def test_nan_beyond_float32(kind, nan):
    y = released(quiet(kind, nan=nan), np.array([NAN, 1], dtype="f4"))
    assert y.tolist() == [math.copysign(float(np.finfo("f4").max), nan), 1]


def test_a_nan_that_is_no_multiple():
    """The replacement is rounded with the noise, like any value."""
    assert released(quiet(Laplace, 8.0, nan=3.0), np.array([NAN])).tolist() == [0.0]
    assert released(quiet(Laplace, 0.25, nan=0.3), np.array([NAN])).tolist() == [0.25]


@pytest.mark.parametrize("granularity", [2.0**-992, 2.0**-20, 1.0, 2.0**40, 2.0**971, 2.0**1000, 2.0**1023])
@pytest.mark.parametrize("kind", REAL)
def test_infinities(kind, granularity):
    """The largest finite multiple of the granularity."""
    largest = Fraction(sys.float_info.max)
    top = float(largest // Fraction(granularity) * Fraction(granularity))
    y = released(quiet(kind, granularity), np.array([INF, -INF, sys.float_info.max, -sys.float_info.max]))
    assert y[0] == top
    assert y[1] == -top
    assert np.all(np.abs(y) <= top)
    assert released(quiet(kind, granularity), INF) == top
    assert released(quiet(kind, granularity), -INF) == -top


@pytest.mark.parametrize("granularity", [2.0**-149, 2.0**-20, 1.0, 2.0**104, 2.0**127])
@pytest.mark.parametrize("kind", REAL)
def test_float32_infinities(kind, granularity):
    top = float(np.finfo("f4").max) // granularity * granularity
    y = released(quiet(kind, granularity), np.array([INF, -INF], dtype="f4"))
    assert y.tolist() == [top, -top]


def test_float16_infinities():
    assert released(quiet(Laplace), np.array([INF, -INF, 65504, NAN], dtype="f2")).tolist() == [
        sys.float_info.max, -sys.float_info.max, 65504, 0,
    ]  # fmt: skip


def test_signalling_nans():
    quiet_bits = np.array([0x7FF0000000000001, 0xFFF4000000000000], dtype="u8").view("f8")
    assert released(quiet(Laplace, nan=5), quiet_bits).tolist() == [5, 5]
    assert released(quiet(Laplace, nan=5), np.array([0x7F800001], dtype="u4").view("f4")).tolist() == [5]
    assert released(quiet(Laplace, nan=5), np.array([0x7C01], dtype="u2").view("f2")).tolist() == [5]


EXTREMES = [INT64.min, INT64.min + 1, -(2**53) - 1, -1, 0, 1, 2**53 + 1, INT64.max - 1, INT64.max]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ALL)
def test_integers_stay_exact(kind, order):
    x = np.array(EXTREMES, dtype=order + "i8")
    assert released(quiet(kind), x).tolist() == EXTREMES
    assert [released(quiet(kind), value) for value in EXTREMES] == EXTREMES


@pytest.mark.parametrize("granularity", [2, 1024, 2**40, 2**62])
@pytest.mark.parametrize("kind", REAL)
def test_integers_saturate_at_multiples(kind, granularity):
    y = released(quiet(kind, granularity), np.array(EXTREMES))
    assert y[0] == INT64.min
    assert y[-1] == INT64.max // granularity * granularity
    assert np.all(y % granularity == 0)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", ALL)
def test_unsigned_integers_saturate(kind, order):
    values = [0, 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1]
    expected = [min(value, INT64.max) for value in values]
    x = np.array(values, dtype=order + "u8")
    assert released(quiet(kind), x).tolist() == expected
    assert released(quiet(kind), x[::2]).tolist() == expected[::2]
    assert [released(quiet(kind), value) for value in x] == expected
    assert [released(quiet(kind), value) for value in values] == expected
    assert x.tolist() == values


@pytest.mark.parametrize("granularity", [2.0**-5, 0.5])
@pytest.mark.parametrize("kind", REAL)
def test_integers_on_a_fine_grid_are_rounded_once(kind, granularity):
    y = released(quiet(kind, granularity), np.array(EXTREMES))
    assert y.tolist() == [float(value) for value in EXTREMES]


@pytest.mark.parametrize("kind", ALL)
def test_integer_noise_never_wraps(kind):
    mechanism = in_steps(kind, 2.0**36)
    x = np.repeat(np.array([INT64.min, INT64.max]), 3000)
    y = mechanism.release(x, budget=None)
    assert y.dtype == np.int64
    # |Z| > 50 scale has a probability below 1e-21.
    assert np.all(y[:3000] < INT64.min + 50 * 2**36)
    assert np.all(y[3000:] > INT64.max - 50 * 2**36)
    assert 1000 < np.count_nonzero(y == x) < 5000  # half the noise is beyond the ends


# Lists

LISTS = [
    ([1, 2, 3], "i8", [1, 2, 3]),
    ([], "i8", []),
    ((1, 2), "i8", [1, 2]),
    (range(3), "i8", [0, 1, 2]),
    ([True, False], "i8", [1, 0]),
    ([[1, 2], [3, 4]], "i8", [[1, 2], [3, 4]]),
    ([(1, 2), range(2)], "i8", [[1, 2], [0, 1]]),
    ([[], []], "i8", [[], []]),
    ([[[1]]], "i8", [[[1]]]),
    ([2**63], "i8", [2**63 - 1]),
    ([-(2**63) - 1, 10**400, -(10**400)], "i8", [INT64.min, INT64.max, INT64.min]),
    ([np.uint64(2**64 - 1), np.int8(-1), np.True_], "i8", [INT64.max, -1, 1]),
    ([1, None], "i8", [1, 0]),
    ([None, None], "i8", [0, 0]),
    ([1.0, 2], "f8", [1, 2]),
    ([1.5, None], "f8", [2, 0]),
    ([2.75, NAN, INF, -INF], "f8", [3, 0, sys.float_info.max, -sys.float_info.max]),
    ([10**400, 1.75, -(10**400)], "f8", [sys.float_info.max, 2, -sys.float_info.max]),
    ([np.float32(1.75), 1], "f8", [2, 1]),
    ([np.float64(1.75), np.int64(1)], "f8", [2, 1]),
    ([[1, 2], [3, 4.0]], "f8", [[1, 2], [3, 4]]),
]


@pytest.mark.parametrize(("x", "dtype", "expected"), LISTS, ids=lambda value: str(value)[:40])
def test_lists(x, dtype, expected):
    y = released(quiet(Laplace), x)
    assert y.dtype == np.dtype(dtype)
    assert y.shape == np.shape(expected)
    if x == [1.5, None]:  # a tie, decided by the noise
        expected = [y[0], 0]
        assert y[0] in (1, 2)
    assert y.tolist() == expected
    for kind in ON_INTEGERS:
        if dtype == "i8":
            assert released(quiet(kind), x).tolist() == expected
        else:
            with pytest.raises(TypeError, match=f"^{kind.__name__} takes integers"):
                released(quiet(kind), x)


def test_missing_values_in_lists():
    assert released(quiet(Laplace, nan=7), [1, None, 3]).tolist() == [1, 7, 3]
    assert released(quiet(Laplace, nan=7), [1.25, None, NAN]).tolist() == [1, 7, 7]
    assert released(quiet(Laplace, 0.25, nan=-0.75), [1.25, None]).tolist() == [1.25, -0.75]


@pytest.mark.parametrize(
    "x", [["1"], [1, "a"], [1j], [[1], [2, 3]], [[1], 2], [1, [2]], [[[1]], [1]], [object()], [{}],
          [np.array([1, 2])], [np.complex64(1)], [Decimal(1)], [Fraction(1)], [b"1"], [np.datetime64("2020-01-01")],
          [datetime.date(2020, 1, 1)],
          [np.longdouble(1)]],
    ids=repr,
)  # fmt: skip
def test_lists_that_are_refused(x):
    assert_refused(x)


# Masks


@on_mechanisms_and_types("f8", "f4", "f2", ">f8", "i8", "i2", "u8", "?")
def test_masked_arrays(kind, dtype):
    x = np.ma.array([1, 1, 0, 1], dtype=dtype, mask=[0, 1, 0, 1])
    nan = 0 if kind in ON_INTEGERS else 9
    y = released(quiet(kind, nan=nan), x)
    assert type(y) is np.ndarray
    assert y.tolist() == [1, nan, 0, nan]
    assert y.dtype == released(quiet(kind), np.asarray(x)).dtype
    assert released(quiet(kind, nan=nan), np.ma.array([[1, 1]], dtype=dtype)).tolist() == [[1, 1]]
    assert released(quiet(kind, nan=nan), x[::-2]).tolist() == [nan, nan]


def test_a_mask_hides_the_value():
    """What lies under a mask does not matter, be it NaN or huge."""
    x = np.ma.array([NAN, INF, 1e308, 5.0], mask=[1, 1, 1, 0])
    assert released(quiet(Laplace, nan=2), x).tolist() == [2, 2, 2, 5]
    assert released(quiet(Laplace, nan=2), np.ma.masked) == 2


@pytest.mark.parametrize("granularity", [0.25, 1.0])
@pytest.mark.parametrize("kind", REAL)
def test_missing_integers_count_as_nan_does(kind, granularity):
    """A missing integer is the integer nearest to the mechanism's `nan`."""
    for nan in (0.75, -0.75, 2.0**53, 3.3):
        for x in (np.ma.array([1, 2], mask=[0, 1]), [1, None]):
            assert released(quiet(kind, granularity, nan), x).tolist() == [1, round(nan)]


@pytest.mark.parametrize("nan", [1e30, -1e300, 2.0**63, -(2.0**63)])
@pytest.mark.parametrize("kind", REAL)
def test_missing_integers_saturate(kind, nan):
    y = released(quiet(kind, nan=nan), np.ma.array([1, 2], mask=[0, 1]))
    assert y.tolist() == [1, INT64.max if nan > 0 else INT64.min]
    assert released(quiet(kind, nan=nan), np.ma.array([1, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("nan", [1e300, -1e300])
def test_missing_float32_saturate(nan):
    y = released(quiet(Laplace, nan=nan), np.ma.array([1, 2], mask=[0, 1], dtype="f4"))
    assert y.tolist() == [1, math.copysign(float(np.finfo("f4").max), nan)]
    assert released(quiet(Laplace, nan=nan), np.ma.array([1, 2], dtype="f4")).tolist() == [1, 2]


# Types that are refused


def assert_refused(x):
    """A TypeError, before anything is spent."""
    for kind in ALL:
        budget = PrivacyBudget(neighbors="add-remove", unit="row", rho=10)
        with pytest.raises(TypeError, match=r"^x must be (a list of )?numbers"):
            kind(sensitivity=1, scale=1).release(x, budget=budget)
        assert budget.history == ()


class Unreadable:
    def __array__(self, dtype=None, copy=None):
        return np.array([1, None])


class Ragged:
    """A nest that is no list, such as what pandas' groupby returns."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        return [[1], [1, 2]][i]


@pytest.mark.parametrize(
    "x",
    [
        np.array([1, 2], dtype=object), np.array([1, None]), np.array([10**30]), np.array(None),
        np.array([1j]), np.array([1j], dtype="c8"), np.complex128(1), 1j, np.zeros(2, dtype=np.clongdouble),
        np.array(["1"]), np.array([b"1"]), "1", b"1", np.str_("1"), bytearray(b"12").decode(),
        np.array(["2020-01-01"], dtype="M8[D]"), np.array([1], dtype="m8[s]"), np.datetime64("2020-01-01"),
        np.timedelta64(1, "s"), datetime.date(2020, 1, 1), datetime.timedelta(1),
        np.array([1.0], dtype=np.longdouble), np.longdouble(1), np.array(1.0, dtype=np.longdouble),
        np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]), np.void(b"12"),
        np.ma.array([1, None], mask=[0, 1]), np.ma.array(["a"]),
        None, object(), {1: 2}, {1, 2}, Decimal(1), Fraction(1), iter([1, 2]), (v for v in (1, 2)), int, Unreadable(),
        Ragged(),
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)  # fmt: skip
def test_types_that_are_refused(x):
    if getattr(x, "dtype", None) == np.dtype(np.longdouble) and np.dtype(np.longdouble).itemsize == 8:
        return  # a double by another name on this platform
    assert_refused(x)


def test_float32_needs_a_granularity_of_its_own():
    budget = PrivacyBudget(neighbors="add-remove", unit="row", rho=10)
    for exponent in (-150, 128):
        mechanism = Laplace(sensitivity=1, scale=Fraction(2) ** exponent, granularity=Fraction(2) ** exponent)
        with pytest.raises(TypeError, match=r"^float32 has no multiples of the granularity 2\*\*"):
            mechanism.release(np.ones(3, dtype="f4"), budget=budget)
        assert mechanism.release(np.ones(3), budget=None).dtype == np.float64
    with pytest.raises(TypeError, match=r"^granularity 2\*\*63 leaves no int64 but 0"):
        Laplace(sensitivity=1, scale=2**63, granularity=2**63).release([1], budget=budget)
    assert budget.history == ()
