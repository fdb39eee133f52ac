"""The exact norm of a clipped row is never above the bound, and nothing else about the row changes without need."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_clip import clip_l1 as naive_l1
from naive_clip import clip_l2 as naive_l2

from exactnoise import _native, clip_l1, clip_l2
from exactnoise._native import clip_rows, simd_available
from exactnoise.mechanisms import clip as module

CLIPS = {"l1": clip_l1, "l2": clip_l2}
NAIVE = {"l1": naive_l1, "l2": naive_l2}
BY_NORM = pytest.mark.parametrize("norm", CLIPS)
DBL_MAX, FLT_MAX = np.finfo("f8").max, np.finfo("f4").max


class Norm:
    """A row's exact norm, or its square, as an integer times a power of two."""

    def __init__(self, norm, row):
        self.degree = int(norm[1])
        fractions, exponents = np.frexp(row.astype("f8"))
        mantissas = np.abs(np.ldexp(fractions, 53)).astype("i8").tolist()
        lowest = int(exponents[row != 0].min(initial=1024))
        shifts = np.where(row != 0, exponents - lowest, 0).tolist()
        total = sum((m << shift) ** self.degree for m, shift in zip(mantissas, shifts, strict=True))
        self.total = total * Fraction(2) ** (self.degree * (lowest - 53))

    def __gt__(self, bound):
        return self.total > bound**self.degree


def finite(rows, dtype):
    """What the rows count as."""
    limit = np.finfo(dtype).max
    return np.nan_to_num(rows.astype(dtype), nan=0.0, posinf=limit, neginf=-limit)


def slack(columns, dtype):
    """By which part a norm may fall short of the bound, and a norm within the bound be scaled."""
    part = Fraction(columns + 400, 2**55)
    return part + Fraction(1, 2**22) if dtype == "f4" else part


def assert_clipped(norm, rows, got, bound):
    """The contract, row by row."""
    bound = Fraction(Decimal(repr(bound)))
    least = bound * (1 - slack(got.shape[1], got.dtype))
    # Among subnormal numbers the rounding is absolute.
    lost = got.shape[1] * Fraction(float(np.finfo(got.dtype).smallest_subnormal))
    for row, clipped in zip(finite(rows, got.dtype), got, strict=True):
        before, after = Norm(norm, row), Norm(norm, clipped)
        assert not after > bound, (norm, row, clipped, bound)
        if not before > least:
            assert clipped.tobytes() == row.tobytes()
        if before > bound:
            assert least <= lost or after > least - lost
            assert np.all(np.sign(clipped) * np.sign(row) >= 0)


def on_every_instruction_set(norm, rows, bound):
    """The clipped rows, the same bytes from each."""
    dtype = "f4" if rows.dtype == "f4" else "f8"
    results = []
    for simd in simd_available():
        out = np.empty_like(rows, dtype)
        if rows.size:
            clip_rows(norm, rows, out, rows.shape[-1], bound, float32=dtype == "f4", simd=simd)
        results.append(out)
    assert len({out.tobytes() for out in results}) == 1
    return results[0]


def rows_of(magnitude, shape, dtype, seed=1):
    rng = np.random.default_rng(seed)
    with np.errstate(over="ignore", under="ignore"):
        return (rng.standard_normal(shape) * magnitude).astype(dtype)


# The norm


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 100, 1000])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@BY_NORM
def test_norm_is_never_above_the_bound(norm, dtype, columns):
    rows = rows_of(1, (40, columns), dtype)
    for bound in (0.1, 1, 1 / 3, 3.7, 30, 1000):
        got = CLIPS[norm](rows, bound)
        assert_clipped(norm, rows, got, bound)
        assert on_every_instruction_set(norm, rows, module._checked_bound(bound)).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@BY_NORM
def test_control_the_naive_formula_is_caught(norm, dtype):
    rows = rows_of(1, (200, 50), dtype)
    got = NAIVE[norm](rows, 1)
    assert got.dtype == dtype
    above = sum(Norm(norm, row) > 1 for row in got)
    assert above > 20
    with pytest.raises(AssertionError):
        assert_clipped(norm, rows, got, 1)


@BY_NORM
def test_control_rounding_to_nearest_float32_is_caught(norm):
    rows = rows_of(1, (200, 50), "f4")
    got = CLIPS[norm](rows.astype("f8"), 1).astype("f4")
    assert sum(Norm(norm, row) > 1 for row in got) > 20


EXTREMES = [0.0, -0.0, 5e-324, 1e-310, 2.0**-1022, 1e-300, 1e-160, 1e-45, 1.0, 1e38, 1e160, 1e300, DBL_MAX]
EXTREMES += [math.inf, -math.inf, math.nan, FLT_MAX, 2.0**-149, 2.0**-126]
numbers = st.one_of(st.sampled_from(EXTREMES), st.floats(width=64), st.floats(width=32), st.floats(-10, 10))
bounds = st.one_of(
    st.sampled_from([1e-300, 1e-299, 1e-45, 1e-38, 1.0, 0.1, 1e38, 1e299, 1e300]), st.floats(1e-300, 1e300)
)


@given(
    row=st.lists(numbers, min_size=1, max_size=40),
    bound=bounds,
    dtype=st.sampled_from(["f8", "f4"]),
    norm=st.sampled_from(["l1", "l2"]),
)
def test_any_row_and_any_bound(row, bound, dtype, norm):
    with np.errstate(all="ignore"):
        rows = np.array([row]).astype(dtype)
    got = CLIPS[norm](rows, bound)
    assert got.dtype == dtype
    assert_clipped(norm, rows, got, bound)
    assert on_every_instruction_set(norm, rows, module._checked_bound(bound)).tobytes() == got.tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@BY_NORM
def test_many_numbers_of_extreme_size(norm, dtype):
    """Sums that overflow or vanish without the scale."""
    for magnitude in (1e-320, 1e-308, 1e-200, 1e-45, 1e-38, 1e38, 1e200, 1e307):
        rows = rows_of(magnitude, (2, 3000), dtype)
        for bound in (1e-300, 1, 1e300):
            assert_clipped(norm, rows, CLIPS[norm](rows, bound), bound)


def test_one_large_number_does_not_hide_small_ones():
    row = np.array([1e300, 1.0, 1e-300, 5e-324])
    assert_clipped("l2", row[None], clip_l2(row[None], 1e150), 1e150)
    np.testing.assert_array_equal(clip_l2(row, 1e300)[1:] <= row[1:], True)


def test_a_row_at_the_bound():
    """3, 4 has norm 5, and a bound computed above that: it is scaled by a few ulps."""
    got = clip_l2([[3.0, 4.0], [3.0, 4.0 - 1e-9]], 5)
    assert 5 - 1e-12 < math.hypot(*got[0]) <= 5
    assert got[1].tolist() == [3.0, 4.0 - 1e-9]


@BY_NORM
def test_zeros_keep_their_signs(norm):
    got = CLIPS[norm](np.array([0.0, -0.0, -1e-300]), 1)
    assert np.signbit(got).tolist() == [False, True, True]


def test_what_counts_as_what():
    assert clip_l2([math.nan, None, 0.5], 1).tolist() == [0.0, 0.0, 0.5]
    assert clip_l1([math.inf, 0.0, -math.inf], 1).tolist() == pytest.approx([0.5, 0.0, -0.5])
    assert clip_l1(np.array([math.inf, 1], "f4"), 1).tolist() == pytest.approx([1, 0])
    masked = np.ma.array([3.0, 4.0], mask=[True, False])
    assert clip_l2(masked, 5).tolist() == [0.0, 4.0]


# Types, shapes and layouts


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("f4", "f4"), ("f2", "f4"), ("f8", "f8"), ("i8", "f8"), ("i4", "f8"), ("u8", "f8"), ("u1", "f8"), ("?", "f8")],
)
def test_dtypes(dtype, result):
    rows = (np.arange(12).reshape(3, 4) % 2).astype(dtype)
    got = clip_l2(rows, 1)
    assert got.dtype == result
    assert_clipped("l2", rows, got, 1)


LAYOUTS = {
    "C": lambda rows: rows,
    "Fortran": np.asfortranarray,
    "big-endian": lambda rows: rows.astype(rows.dtype.newbyteorder(">")),
    "every other row": lambda rows: np.repeat(rows, 2, axis=0)[::2],
    "every other column": lambda rows: np.repeat(rows, 2, axis=1)[:, ::2],
    "backwards": lambda rows: rows[::-1, ::-1].copy()[::-1, ::-1],
    "unaligned": lambda rows: np.frombuffer(b"\0" + rows.tobytes(), np.uint8)[1:].view(rows.dtype).reshape(rows.shape),
    "masked": np.ma.array,
    "matrix": lambda rows: rows.view(np.matrix),
    "list": lambda rows: rows.tolist(),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@BY_NORM
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_layouts(norm, dtype, layout, workers, monkeypatch):
    monkeypatch.setattr(module, "_RANGE", 100)
    rows = rows_of(1, (37, 19), dtype)
    want = on_every_instruction_set(norm, rows, 2.0)
    laid = LAYOUTS[layout](rows)
    got = CLIPS[norm](laid, 2, workers=workers)
    assert type(got) is np.ndarray
    if layout == "list":  # lists are float64, and have their own rounding
        assert_clipped(norm, rows.astype("f8"), got, 2)
    else:
        np.testing.assert_array_equal(got, want, strict=True)
    np.testing.assert_array_equal(np.asarray(laid), rows)


def test_missing_values_count_as_zero():
    """In masked arrays; columns of other libraries are read by the same code (test_columns.py)."""
    masked = np.ma.array([3, 99, 4], mask=[False, True, False])
    assert clip_l2(masked, 1).tolist() == pytest.approx([0.6, 0, 0.8])
    assert clip_l2([3, None, 4], 1).tolist() == pytest.approx([0.6, 0, 0.8])


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (0, 0)])
def test_nothing(shape):
    assert clip_l2(np.zeros(shape), 1).shape == shape


@pytest.mark.parametrize("rows", [1.0, np.float32(1), np.zeros(()), np.zeros((2, 2, 2)), [[[1.0]]]])
def test_other_shapes_are_refused(rows):
    with pytest.raises(ValueError, match="rows must be a vector or a matrix"):
        clip_l2(rows, 1)


@pytest.mark.parametrize("rows", [np.zeros(3, complex), np.zeros(3, np.longdouble), ["1"], np.array(["a"]), "12"])
def test_other_types_are_refused(rows):
    with pytest.raises(TypeError):
        clip_l2(rows, 1)


@pytest.mark.parametrize("bound", [0, -1, math.nan, math.inf, "1e-301", "1.1e300", 1e301, Fraction(1, 10**301)])
def test_bounds_that_are_refused(bound):
    with pytest.raises(ValueError, match="bound must"):
        clip_l2([1.0], bound)


@pytest.mark.parametrize("bound", [True, None, [1], 1j])
def test_bounds_that_are_no_numbers(bound):
    with pytest.raises(TypeError, match="bound must be a number"):
        clip_l2([1.0], bound)


@pytest.mark.parametrize("bound", ["1e-300", "1e300", 1e-300, 1e300, "0.1", "1/3", Fraction(1, 7), np.float32(0.1), 5])
def test_the_double_in_use_is_not_above_the_bound(bound):
    from exactnoise.accounting.amount import exact

    used = Fraction(module._checked_bound(bound))
    assert used <= exact(bound, "bound") < used * Fraction(2**52 + 1, 2**52)
    row = np.full(5, 1e301)
    assert not Norm("l2", clip_l2(row, bound)) > exact(bound, "bound")


@pytest.mark.parametrize(("workers", "error"), [(0, ValueError), (-1, ValueError), (1.0, TypeError), (True, TypeError)])
def test_workers_are_checked(workers, error):
    with pytest.raises(error, match="workers must be"):
        clip_l2([1.0], 1, workers=workers)


# out


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", ">f4"])
@BY_NORM
def test_in_place(norm, dtype, workers, monkeypatch):
    monkeypatch.setattr(module, "_RANGE", 60)
    for layout in (lambda a: a, lambda a: a[::2], lambda a: a[:, ::2], lambda a: a.T, lambda a: a[::-1]):
        rows = layout(rows_of(1, (40, 18), dtype))
        want = CLIPS[norm](rows.copy(), 2)
        assert CLIPS[norm](rows, 2, out=rows, workers=workers) is rows
        np.testing.assert_array_equal(rows, want)


@BY_NORM
def test_overlapping_out(norm, monkeypatch):
    monkeypatch.setattr(module, "_RANGE", 60)
    for shift in (1, 18, 19):
        for reverse in (False, True):
            base = rows_of(1, 18 * 42, "f8")
            x, out = (base[s : s + 18 * 40].reshape(40, 18) for s in ((shift, 0) if reverse else (0, shift)))
            want = CLIPS[norm](x.copy(), 2)
            CLIPS[norm](x, 2, out=out)
            np.testing.assert_array_equal(out, want)


def test_out_of_a_wider_type():
    rows = rows_of(1, (5, 5), "f4")
    out = np.empty((5, 5), "f8")
    np.testing.assert_array_equal(clip_l2(rows, 1, out=out), clip_l2(rows, 1))


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.empty((5, 5), "f4"), TypeError),
        (np.empty((5, 5), "i8"), TypeError),
        (np.empty(25), ValueError),
        ([[0.0] * 5] * 5, TypeError),
        (np.broadcast_to(np.zeros(5), (5, 5)), ValueError),
    ],
)
def test_out_that_is_refused(out, error):
    with pytest.raises(error, match="out must"):
        clip_l2(np.ones((5, 5)), 1, out=out)


# Interruption


class Raising:
    """The kernel, which works a few times and then raises, always."""

    def __init__(self, exception, times):
        self.exception, self.left, self.lock = exception, times, threading.Lock()

    def __call__(self, *args, **kwargs):
        with self.lock:
            self.left -= 1
            if self.left < 0:
                raise self.exception
        return clip_rows(*args, **kwargs)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("times", [0, 1, 3])
@pytest.mark.parametrize("exception", [KeyboardInterrupt(), MemoryError(), RuntimeError("stop")])
@pytest.mark.parametrize("layout", ["C", "Fortran", "big-endian"])
def test_an_interrupted_call_leaves_zeros(layout, exception, times, workers, monkeypatch):
    monkeypatch.setattr(module, "_RANGE", 60)
    rows = LAYOUTS[layout](rows_of(100, (40, 18), "f8"))
    monkeypatch.setattr(_native, "clip_rows", Raising(exception, times))
    with pytest.raises(type(exception)) as stopped:
        clip_l2(rows, 1, out=rows, workers=workers)
    assert stopped.value is exception
    assert not rows.any()


def test_copies_are_wiped(monkeypatch):
    staged = []

    def spy(norm, x, out, *args, **kwargs):
        staged.append(x)
        return clip_rows(norm, x, out, *args, **kwargs)

    monkeypatch.setattr(_native, "clip_rows", spy)
    assert clip_l2(np.ones((4, 4), "f2"), 1).any()
    assert staged
    assert not any(piece.any() for piece in staged)


# The door


def test_the_engine_checks_sizes():
    x = np.ones(6)
    for columns in (0, 4, 7):
        with pytest.raises(ValueError, match="whole rows"):
            clip_rows("l2", x, x, columns, 1.0, float32=False, simd="portable")
    with pytest.raises(ValueError, match="whole rows"):
        clip_rows("l2", x, np.ones(5), 3, 1.0, float32=False, simd="portable")
    for bound in (0.0, 1e-301, 2e300, math.nan):
        with pytest.raises(ValueError, match="bound must"):
            clip_rows("l2", x, x, 3, bound, float32=False, simd="portable")
