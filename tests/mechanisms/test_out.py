"""out= follows NumPy's rules: the same object comes back, whatever it shares with x."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support import ON_INTEGERS, in_steps

from exactnoise import Gaussian, Laplace, PrivacyBudget, _native
from exactnoise.mechanisms import _engine

REAL = (Laplace, Gaussian)
ALL = (*REAL, *ON_INTEGERS)
# Noise that rounds to 0: a release is the rounding of x.
QUIET = {kind: in_steps(kind, 2.0**-30) for kind in ALL}
N = 5 * _native.BLOCK + 7


@pytest.fixture(autouse=True, params=[False, True], ids=["one range", "many ranges"])
def _ranges(request, monkeypatch):
    if request.param:
        monkeypatch.setattr(_engine, "_RANGE", _native.BLOCK)
        monkeypatch.setattr(_engine, "_STAGED_RANGE", 100)


def numbers(n=N):
    return np.arange(n) * 3 % 1001 + 0.25


def release_into(kind, x, out, workers=1):
    expected = np.round(np.asarray(x).astype(float))
    returned = QUIET[kind].release(x, budget=None, out=out, workers=workers)
    assert returned is out
    np.testing.assert_array_equal(out, expected, strict=False)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kind", ALL)
def test_a_new_array(kind, workers):
    x = numbers().astype("i8" if kind in ON_INTEGERS else "f8")
    before = x.copy()
    release_into(kind, x, np.empty_like(x), workers)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", ">f8", ">i8", ">f4"])
@pytest.mark.parametrize("kind", REAL)
def test_in_place(kind, dtype, workers):
    x = numbers().astype(dtype)
    release_into(kind, x, x, workers)
    for layout in (
        lambda x: x[::2],
        lambda x: x[::-1],
        lambda x: x.reshape(-1, 7)[:, ::3],
        lambda x: x.reshape(7, -1).T,
    ):
        x = layout(numbers(7 * 777).astype(dtype))
        release_into(kind, x, x, workers)


@pytest.mark.parametrize("dtype", ["i8", ">i8"])
@pytest.mark.parametrize("kind", ON_INTEGERS)
def test_in_place_discrete(kind, dtype):
    x = numbers().astype(dtype)
    release_into(kind, x, x)
    release_into(kind, x[::3], x[::3])


@pytest.mark.parametrize("kind", REAL)
def test_the_same_memory_under_another_type(kind):
    """int64 data released in place as float64, bytes swapped in place, and halves of wider elements."""
    x = numbers().astype("i8")
    fine = kind(sensitivity=1, scale=2.0**-32, granularity=0.25)
    expected = x.astype(float)
    out = x.view("f8")
    assert fine.release(x, budget=None, out=out) is out
    np.testing.assert_array_equal(out, expected)

    x = numbers()
    release_into(kind, x, x.view(">f8"))
    x = numbers().astype("f4")
    release_into(kind, x[: N // 2], x[: N // 2 * 2].view("f8"))


OVERLAPS = {
    "one later": lambda a: (a[:-1], a[1:]),
    "one earlier": lambda a: (a[1:], a[:-1]),
    "a block later": lambda a: (a[: -_native.BLOCK], a[_native.BLOCK :]),
    "a block earlier": lambda a: (a[_native.BLOCK :], a[: -_native.BLOCK]),
    "a staged range later": lambda a: (a[:-100:1], a[100:]),
    "backwards": lambda a: (a, a[::-1]),
    "from backwards": lambda a: (a[::-1], a),
    "odd from even": lambda a: (a[0:-1:2], a[1::2]),
    "half from every second": lambda a: (a[: len(a) // 2], a[: len(a) // 2 * 2 : 2]),
    "every second from half": lambda a: (a[: len(a) // 2 * 2 : 2], a[: len(a) // 2]),
    "transposed": lambda a: (a[:3600].reshape(60, 60) if len(a) >= 3600 else a[:900].reshape(30, 30),) * 2,
    "broadcast": lambda a: (np.broadcast_to(a[5:6], a.shape), a),
}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("overlap", OVERLAPS)
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8", "i8"])
def test_overlaps(dtype, overlap, workers):
    """As if x had been copied first."""
    x, out = OVERLAPS[overlap](numbers().astype(dtype))
    if overlap == "transposed":
        out = out.T
    assert np.shares_memory(x, out) or overlap == "odd from even"
    for kind in ALL if dtype == "i8" else REAL:
        release_into(kind, x, out, workers)


CASTS = [
    ("f8", ">f8"), ("f4", "f8"), ("f4", ">f4"), ("i8", "f8"), ("i8", ">i8"), ("u1", "i8"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target"), CASTS)
def test_types_that_hold_the_result(source, target):
    x = numbers().astype(source)
    for layout in (lambda a: a, lambda a: a[::-2], lambda a: a[: 7 * 400].reshape(7, -1).T):
        release_into(Laplace, layout(x), layout(np.full(N, 99, dtype=target)))


@pytest.mark.parametrize(
    ("source", "granularity", "target"),
    [("f8", 1, "i8"), ("f8", 1, "u8"), ("f8", 1, "?"), ("f4", 1, "i8"), ("i8", 1, "u8"), ("i8", 1, "?"),
     ("i8", 0.5, "i8"), ("f8", 1, "U10"), ("f8", 1, "M8[s]"), ("f8", 1, "m8[s]"), ("i8", 1, "M8[s]"),
     ("f8", 1, "c16"), ("f8", 1, "O"), ("i8", 1, "V8"), ("f8", 1, "f4"), ("f8", 1, "f2"), ("f8", 1, "g"),
     ("f4", 1, "f2"), ("i8", 1, "i4"), ("i8", 1, "i2"), ("i8", 1, "f4")],
)  # fmt: skip
def test_casts_that_are_refused(source, granularity, target):
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    out = np.zeros(5, dtype=target)
    with pytest.raises(TypeError, match=r"^out must have dtype (float|int)\d\d, the result's for this x, got "):
        Laplace(sensitivity=1, epsilon=1, granularity=granularity).release(np.ones(5, source), budget=budget, out=out)
    assert budget.history == ()
    np.testing.assert_array_equal(out, np.zeros(5, dtype=target))


@pytest.mark.parametrize("shape", [(), (4,), (6,), (5, 1), (1, 5), (0,)], ids=str)
def test_other_shapes(shape):
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    with pytest.raises(ValueError, match=r"^out must have x's shape \(5,\), got \("):
        Laplace(sensitivity=1, epsilon=1).release(np.ones(5), budget=budget, out=np.zeros(shape))
    assert budget.history == ()


def test_read_only():
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    out = np.zeros(5)
    out.setflags(write=False)
    for target in (out, np.broadcast_to(np.zeros(1), 5)):
        with pytest.raises(ValueError, match=r"^out must be writeable"):
            Laplace(sensitivity=1, epsilon=1).release(np.ones(5), budget=budget, out=target)
    assert budget.history == ()


@pytest.mark.parametrize("out", [[0] * 5, (0,) * 5, bytearray(40), np.ma.zeros(5), np.float64(0), "out", 0], ids=repr)
def test_no_arrays(out):
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon=1)
    with pytest.raises(TypeError, match=f"^out must be a NumPy array, got {type(out).__name__}$"):
        Laplace(sensitivity=1, epsilon=1).release(np.ones(5), budget=budget, out=out)
    assert budget.history == ()


@pytest.mark.parametrize("x", [3, 3.25, np.float64(3.25), np.array(3.25), np.float32(3), True], ids=repr)
def test_scalars_into_an_array_without_axes(x):
    out = np.zeros(())
    assert QUIET[Laplace].release(x, budget=None, out=out) is out
    assert out == 3 if x is not True else out == 1


@pytest.mark.parametrize("x", [[1, 2.25, None], (1, 2), range(4), np.ma.array([1.25, 2], mask=[0, 1])], ids=repr)
def test_what_is_no_array_into_out(x):
    out = np.full(len(x), 99.0)
    assert QUIET[Laplace].release(x, budget=None, out=out) is out
    np.testing.assert_array_equal(out, QUIET[Laplace].release(x, budget=None))


def test_a_masked_array_in_place():
    x = np.ma.array(numbers(), mask=np.arange(N) % 3 == 0)
    noisy = Laplace(sensitivity=1, scale=Fraction(1, 2**30), granularity=1, nan=-5)
    expected = np.where(x.mask, -5, np.round(x.data))
    data = x.data
    assert noisy.release(x, budget=None, out=data) is data
    np.testing.assert_array_equal(data, expected)


def test_nothing_into_nothing():
    out = np.zeros((3, 0))
    assert QUIET[Laplace].release(np.zeros((3, 0)), budget=None, out=out) is out


def test_out_is_filled_with_noise():
    """What was in out before does not matter."""
    out = np.full(1000, np.nan)
    Gaussian(sensitivity=1, rho=1).release(np.zeros(1000), budget=None, out=out)
    assert np.isfinite(out).all()
    assert len(np.unique(out)) > 990
