"""The snapping mechanism: exact values from known words, the exact law, its price, its bounds."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from decimal import Decimal
from fractions import Fraction

import numpy as np
import oracle
import pytest
from auditor import Claim, precision_events, refutations
from goodness import ALARM, RoundedLaplace, chi_square
from support import extension, random_words

from exactnoise import BudgetExceeded, EntropyError, Laplace, PrivacyBudget, PrivacyCost, Snapping, _native
from exactnoise._native import BLOCK, simd_available
from exactnoise.accounting.amount import exact
from exactnoise.mechanisms import _engine
from exactnoise.testing import snapped_from_words

COUNT = Snapping(sensitivity=1, epsilon=1, bounds=(-10, 10))
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# Exact values


def within(low, high, dtype):
    """The outermost numbers of a type between exact bounds, found from either side by steps of one number."""
    if dtype.kind == "i":
        return max(math.ceil(low), INT64_MIN), min(math.floor(high), INT64_MAX)
    largest = Fraction(float(np.finfo(dtype).max))
    low, high = max(low, -largest), min(high, largest)
    least, most = dtype.type(float(low)), dtype.type(float(high))
    while Fraction(float(least)) < low:
        least = np.nextafter(least, dtype.type(math.inf))
    while Fraction(float(most)) > high:
        most = np.nextafter(most, dtype.type(-math.inf))
    return least, most


def expected(mechanism, x, words, nan=0.0):
    """Clamp, the oracle's Laplace release, clamp."""
    low, high = (exact(bound, "bound", signed=True) for bound in mechanism.bounds)
    least, most = within(low, high, x.dtype)
    clamped = np.array([value if value != value else min(max(value, least), most) for value in x], x.dtype)
    nan = min(max(nan, *within(low, high, np.dtype("f8"))[:1]), within(low, high, np.dtype("f8"))[1])
    y = oracle.laplace(
        clamped, words, scale=mechanism.scale, granularity=mechanism.granularity, nan=nan, extension=extension
    )
    least, most = within(low, high, y.dtype)
    return np.array([min(max(value, least), most) for value in y], y.dtype)


MECHANISMS = [
    ({"sensitivity": 1, "epsilon": 1, "bounds": (-10, 10)}, 1.0),
    ({"sensitivity": 1, "epsilon": "0.1", "bounds": (0, 100)}, 16.0),
    ({"sensitivity": 3, "epsilon": 1, "bounds": ("-0.1", "100.3")}, 4.0),
    ({"sensitivity": 1, "epsilon": 8, "bounds": ("1/3", 7)}, 0.125),
    ({"sensitivity": 1, "epsilon": 1, "bounds": (-1e300, 1e300)}, 1.0),
    ({"sensitivity": "1e-3", "epsilon": 1, "bounds": (-1, 1)}, 2.0**-9),
    ({"sensitivity": 1, "epsilon": "1e-6", "bounds": (0, 2**40)}, 2.0**20),
    ({"sensitivity": 1, "epsilon": "0.3", "bounds": (5, 8), "nan": 100.0}, 4.0),
]
EDGES = [0.0, -0.0, 0.1, -0.1, 1 / 3, 0.5, 1.5, 5.0, 7.0, 9.99, 10.0, 10.5, 99.0, 100.3, 1e-310, 5e-324, 1e18, 1e308]
EDGES += [math.inf, math.nan]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize(("parameters", "step"), MECHANISMS)
def test_exact_values(parameters, step, dtype):
    mechanism = Snapping(**parameters)
    assert mechanism.granularity == step
    rng = np.random.default_rng(1)
    if dtype == "i8":
        x = np.concatenate([np.arange(-20, 120), [INT64_MIN, INT64_MAX], rng.integers(-1000, 1000, 2 * BLOCK)])
    else:
        values = np.array(EDGES)
        with np.errstate(all="ignore"):
            x = np.concatenate([values, -values, rng.normal(5, 50, 2 * BLOCK)]).astype(dtype)
    words = random_words(1, x.size)
    words[:4] = 0, 1, 2**64 - 1, 2**13
    want = expected(mechanism, x, words, parameters.get("nan", 0.0))
    for simd in simd_available():
        got = snapped_from_words(mechanism, x, words, extension=extension, simd=simd)
        np.testing.assert_array_equal(got, want, strict=True)
    low, high = mechanism.bounds
    for value in np.unique(want).tolist():
        least, most = within(low, high, want.dtype)
        assert low <= Fraction(value) <= high
        assert Fraction(value) % Fraction(step) == 0 or value in (least, most)


def test_control_the_oracle_sees_a_missing_clamp():
    x = np.array([-100.0, 3.0, 100.0] * 10)
    words = random_words(2, x.size)
    want = expected(COUNT, x, words)
    without = oracle.laplace(x, words, scale=1.0, granularity=1.0, extension=extension)
    assert (np.clip(without, -10, 10) != want).any()  # the first clamp
    assert (oracle.laplace(np.clip(x, -10, 10), words, scale=1.0, granularity=1.0, extension=extension) != want).any()


# The law


@pytest.mark.parametrize("x", [0.0, 0.3, -9.7, 10.0, 1e9])
@pytest.mark.parametrize("factor", [1, Fraction(9, 10)])
def test_law(x, factor):
    """Exact masses of all 11 values; the control has another scale."""
    mechanism = Snapping(sensitivity=Fraction(1) * factor, epsilon="0.6", bounds=(-9, 11))
    assert mechanism.granularity == 2.0
    count = 4 * 10**5
    y = snapped_from_words(mechanism, np.full(count, x), random_words(7, count), extension=extension)
    # Grid points -8 .. 10, and the two bounds, which are none.
    edges = list(range(-5, 6))  # K <= -5 is clamped to -9, K >= 6 to 11
    ks = np.where(y == -9, -5, np.where(y == 11, 6, y / 2)).astype(int)
    law = RoundedLaplace(1 / 0.6 / 2, min(max(x, -9), 11) / 2)
    observed = np.bincount(ks + 5, minlength=12)
    assert set(np.unique(y)) <= {-9, 11, *range(-8, 12, 2)}
    p = chi_square(observed, law.masses(edges))
    assert p > ALARM if factor == 1 else p < ALARM


SAMPLES = 20_000
EVENTS = {
    **precision_events(0.0, 1.0),
    **{f"value {v}": lambda y, v=v: y == v for v in range(-10, 11)},
    **{f"up to {v}": lambda y, v=v: y <= v for v in range(-10, 11)},
}


def test_auditor():
    y, other = (COUNT.release(np.full(SAMPLES, value), budget=None) for value in (0.0, 1.0))
    assert refutations(y, other, Claim(1.0), EVENTS) == []


def test_auditor_control_noise_that_is_not_snapped():
    rng = np.random.default_rng(1)
    y, other = (np.clip(value + rng.laplace(size=SAMPLES), -10, 10) for value in (0.0, 1.0))
    assert any("A[" in found for found in refutations(y, other, Claim(1.0), EVENTS))


def test_auditor_control_a_smaller_scale():
    y, other = (COUNT.release(np.full(SAMPLES, value), budget=None) for value in (0.0, 1.0))
    assert refutations(y, other, Claim(0.7), EVENTS)


# Price and accuracy


def test_it_costs_what_laplace_noise_costs():
    assert COUNT.cost == Laplace(sensitivity=1, epsilon=1).cost
    assert (COUNT.epsilon, COUNT.delta) == (1, 0)
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    COUNT.release([1.0], budget=budget, label="one")
    assert budget.remaining == PrivacyCost(epsilon=0)
    assert budget.history[0].mechanism == repr(COUNT)
    assert budget.history[0].label == "one"
    rho = PrivacyBudget(neighbors="add-remove", unit="person", rho="0.1")
    fitted = rho.fit(Snapping, sensitivity=1, bounds=(0, 9))
    fitted.release(3, budget=rho)
    assert fitted.bounds == (0, 9)


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "bounds", "added"),
    [
        (1, 1, (-10, 10), Fraction(10, 2**49)),
        (1, 1, (0, 20), Fraction(10, 2**49)),
        (2, 1, (0, 20), Fraction(10, 2**50)),
        (1, "0.5", (-(2**40), 2**40), Fraction(2**39, 2**49)),
    ],
)
def test_mironov_epsilon(sensitivity, epsilon, bounds, added):
    """1/lambda + 2^-49 B/lambda, for data divided by its sensitivity."""
    mechanism = Snapping(sensitivity=sensitivity, epsilon=epsilon, bounds=bounds)
    stated = exact(epsilon, "epsilon") + added
    assert stated <= mechanism.mironov_epsilon <= stated * (1 + Fraction(1, 10**19))
    scaled = Snapping(sensitivity=1, epsilon=epsilon, bounds=tuple(Fraction(b) / sensitivity for b in bounds))
    assert scaled.mironov_epsilon == mechanism.mironov_epsilon
    assert mechanism.mironov_epsilon > mechanism.epsilon


def test_mironov_epsilon_is_rounded_up():
    mechanism = Snapping(sensitivity="0.1", epsilon="0.3", bounds=("-4/3", "1/7"))
    value = (Fraction(1, 10) + Fraction(31, 42) / 2**49) / Fraction(mechanism.scale)
    assert value < mechanism.mironov_epsilon < value * (1 + Fraction(1, 10**18))


@pytest.mark.parametrize(("half_width", "applies"), [(1, False), ("1.001", True), (2**46 - 1, True), (2**46, False)])
def test_mironov_epsilon_where_the_theorem_holds(half_width, applies):
    width = exact(half_width, "half_width")
    mechanism = Snapping(sensitivity=1, epsilon=1, bounds=(0, 2 * width))
    assert (mechanism.mironov_epsilon is not None) == applies


def test_accuracy():
    m = Snapping(sensitivity=1, epsilon="0.5", bounds=(0, 100))
    assert m.half_width(0.05) == pytest.approx(2 * math.log(20) + 1)
    assert (m.variance, m.std) == (8.0, pytest.approx(math.sqrt(8)))
    for x in (0.0, 0.9, 50.3, 100.0, -30.0, 1e300):
        y = m.release(np.full(20_000, x), budget=None)
        true = min(max(x, 0.0), 100.0)
        for alpha in (0.05, 0.3):
            assert np.mean(np.abs(y - true) <= m.half_width(alpha)) > 1 - alpha - 0.025  # 6 standard errors and more
            low, high = m.interval(y, alpha)
            assert np.mean((low <= true) & (true <= high)) > 1 - alpha - 0.025
            assert low.min() >= 0
            assert high.max() <= 100


def test_interval_of_one_value():
    m = Snapping(sensitivity=1, epsilon="0.5", bounds=(0, 100))
    assert m.interval(0.0) == (0.0, m.half_width())
    assert m.interval(100) == (100 - m.half_width(), 100.0)
    low, high = m.interval([50, 99])
    assert low.shape == high.shape == (2,)


@pytest.mark.parametrize("alpha", [1e-9, 0.01, 0.05, 0.5, 0.99])
@pytest.mark.parametrize("half_width", ["1e-5", 0.3, 1, 7, 100, 12345.6])
def test_from_accuracy(half_width, alpha):
    m = Snapping.from_accuracy(half_width=half_width, sensitivity=2, bounds=(0, 9), alpha=alpha, nan=3)
    target = exact(half_width, "half_width")
    assert Fraction(m.half_width(alpha)) <= target
    less = Snapping(sensitivity=2, epsilon=m.epsilon * Fraction(998, 1000), bounds=(0, 9))
    assert Fraction(less.half_width(alpha)) > target
    assert (m.bounds, m.sensitivity, m._noise._nan) == ((0, 9), 2, 3.0)


# Parameters


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"epsilon": 1, "bounds": (0, 1)}, TypeError, "Snapping needs sensitivity: how much one person"),
        ({"sensitivity": 1, "bounds": (0, 1)}, TypeError, "Snapping needs epsilon"),
        ({"sensitivity": 1, "epsilon": 1}, TypeError, r"Snapping needs bounds: \(low, high\)"),
        ({"bounds": 3}, TypeError, "bounds must be a pair of numbers .*got 3"),
        ({"bounds": "01"}, TypeError, "bounds must be a pair"),
        ({"bounds": (1, 2, 3)}, TypeError, "bounds must be a pair"),
        ({"bounds": (0, None)}, TypeError, r"bounds\[1\] must be a number"),
        ({"bounds": (False, 1)}, TypeError, r"bounds\[0\] must be a number"),
        ({"bounds": (0, math.nan)}, ValueError, r"bounds\[1\] must be finite"),
        ({"bounds": (-math.inf, 0)}, ValueError, r"bounds\[0\] must be finite"),
        ({"bounds": (1, 1)}, ValueError, r"low < high, got \(1, 1\)"),
        ({"bounds": (2, 1)}, ValueError, "low < high"),
        ({"bounds": ("-1e309", 1)}, ValueError, "within the doubles"),
        ({"bounds": (0, "1e400")}, ValueError, "within the doubles"),
        ({"bounds": (1 + Fraction(1, 10**20), 1 + Fraction(2, 10**20))}, ValueError, "a double between them"),
        ({"epsilon": 0}, ValueError, "epsilon must be a positive number"),
        ({"epsilon": "x"}, ValueError, "epsilon must be"),
        ({"sensitivity": -1}, ValueError, "sensitivity must be a positive number"),
        ({"nan": math.nan}, ValueError, "nan must be finite"),
        ({"nan": None}, TypeError, "nan must be a number"),
        ({"sensitivity": "1e308", "epsilon": "0.9"}, ValueError, r"too large for doubles: its scale .* 2\*\*1023"),
        ({"epsilon": "1e350"}, ValueError, "too small for doubles"),
        ({"epsilon": "1e-350"}, ValueError, "too large for doubles"),
    ],
)
def test_what_is_refused(parameters, error, message):
    given = {"sensitivity": 1, "epsilon": 1, "bounds": (0, 1)}
    given = parameters if len(parameters) > 1 and "nan" not in parameters else {**given, **parameters}
    given = {**({"bounds": (0, 1)} if "1e308" in given.values() else {}), **given}
    with pytest.raises(error, match=message):
        Snapping(**given)


@pytest.mark.parametrize(
    "bounds", [(0, 1), [0, 1], (0.0, 1.0), ("0", "1"), (Fraction(0), Decimal(1)), np.array([0, 1])]
)
def test_every_way_to_write_the_bounds_is_one(bounds):
    assert Snapping(sensitivity=1, epsilon=1, bounds=bounds) == Snapping(sensitivity=1, epsilon=1, bounds=(0, 1))


@pytest.mark.parametrize("parameters", [parameters for parameters, _ in MECHANISMS])
def test_identity(parameters):
    m = Snapping(**parameters)
    assert eval(repr(m), {"Snapping": Snapping}) == m
    assert pickle.loads(pickle.dumps(m)) == m == copy.deepcopy(m)
    assert hash(pickle.loads(pickle.dumps(m))) == hash(m)
    assert Snapping(**{**parameters, "epsilon": 77}) != m
    with pytest.raises(AttributeError, match="immutable"):
        m.scale = 1
    assert Snapping(epsilon=m.epsilon, sensitivity=parameters["sensitivity"], **without(m, "sensitivity")) == m


def without(m, name):
    return {key: value for key, value in m.without_price().items() if key != name}


# Data


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("randomness", ["chacha20", "os"])
def test_shapes_and_types(workers, randomness):
    options = {"budget": None, "workers": workers, "randomness": randomness}
    m = COUNT
    for x, kind in ((3.5, float), (3, int), (True, int), (np.float32(1), np.float32), (np.int8(1), np.int64)):
        assert type(m.release(x, **options)) is kind
    for dtype, result in (("f4", "f4"), ("f2", "f8"), ("f8", "f8"), (">f8", "f8"), ("u1", "i8"), ("i8", "i8")):
        for shape in ((0,), (5,), (2, 3, 4), ()):
            y = m.release(np.zeros(shape, dtype), **options)
            assert y.shape == shape
            assert np.asarray(y).dtype == result
    assert m.release([1, None, 3], **options).dtype == np.int64
    assert m.release([1.5, None, math.inf], **options).dtype == np.float64
    fine = Snapping(sensitivity=1, epsilon=8, bounds=(0, 9))
    assert fine.release(np.arange(9), **options).dtype == np.float64


@pytest.mark.parametrize(
    ("x", "kind", "want"),
    [
        (3, int, 3),
        (10**30, int, 10),
        (-(10**30), int, -10),
        (np.int64(-77), np.int64, -10),
        (3.0, float, 3.0),
        (math.inf, float, 10.0),
        (-math.inf, float, -10.0),
        (math.nan, float, 0.0),
        (np.float64(77), np.float64, 10.0),
    ],
)
def test_a_number(x, kind, want, monkeypatch):
    """With noise that is always 0 the value is the clamped one."""
    m = Snapping(sensitivity=1, epsilon=1, bounds=(-10, 10))
    released = []

    def release(self, x, *, budget):
        released.append(x)
        return 0.0 if x != x else x

    monkeypatch.setattr(Laplace, "release", release)
    y = m.release(x, budget=None)
    assert type(y) is kind
    assert y == want
    assert released[0] == want or math.isnan(x)
    monkeypatch.setattr(Laplace, "release", lambda self, x, *, budget: type(want)(1000))
    assert m.release(x, budget=None) == 10  # the last clamp


def test_numbers_follow_the_law():
    m = Snapping(sensitivity=1, epsilon=1, bounds=(-3, 3))
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=4000)
    ys = [m.release(1e9, budget=budget) for _ in range(4000)]
    masses = RoundedLaplace(1.0, 3.0).masses(list(range(-3, 3)))
    assert chi_square(np.bincount(np.array(ys, int) + 3, minlength=7), masses) > ALARM
    assert budget.remaining == PrivacyCost(epsilon=0)
    with pytest.raises(BudgetExceeded):
        m.release(1e9, budget=budget)


def test_nan_is_clamped_too():
    quiet = Snapping(sensitivity="1e-6", epsilon=1, bounds=(5, 8))
    step = quiet.granularity
    assert np.abs(quiet.release([math.nan, None, -math.inf, math.inf], budget=None) - [5, 5, 5, 8]).max() < 60 * step
    high = Snapping(sensitivity="1e-6", epsilon=1, bounds=(5, 8), nan=100)
    assert np.abs(high.release([math.nan, None, -math.inf], budget=None) - [8, 8, 5]).max() < 60 * step
    assert "nan=100.0" in repr(high)


def test_types_without_a_number_between_the_bounds():
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=9)
    m = Snapping(sensitivity=1, epsilon=1, bounds=("0.2", "0.8"))
    with pytest.raises(TypeError, match="int64 has no number between the bounds"):
        m.release([1, 2], budget=budget)
    with pytest.raises(TypeError, match="float32 has no number between"):
        Snapping(sensitivity=1, epsilon=1, bounds=(1e39, 1e40)).release(np.zeros(1, "f4"), budget=budget)
    with pytest.raises(TypeError, match="x must be"):
        m.release(["a"], budget=budget)
    with pytest.raises(TypeError, match="out must"):
        m.release([1.0], budget=budget, out=np.zeros(1, "i8"))
    with pytest.raises(TypeError, match="budget must"):
        m.release([1.0], budget=1)
    with pytest.raises(ValueError, match="randomness must"):
        m.release([1.0], budget=budget, randomness="x")
    with pytest.raises(ValueError, match="workers must"):
        m.release([1.0], budget=budget, workers=0)
    assert budget.history == ()


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", ">f8", "f2"])
def test_out(dtype):
    quiet = Snapping(sensitivity="1e-3", epsilon=1, bounds=(0, 50)) if dtype != "i8" else COUNT
    x = (np.arange(2000) % 70).astype(dtype)
    high = 50 if dtype != "i8" else 10
    if dtype != "f2":
        for place in (lambda a: a, lambda a: a[::2], lambda a: a[::-1], lambda a: a.reshape(-1, 8).T):
            own = place(x.copy())
            want = np.clip(own.astype("f8"), 0, high)
            assert quiet.release(own, budget=None, out=own) is own
            assert np.abs(own - want).max() < 50
            assert own.max() <= high
    wide = np.empty(x.shape, "f8" if x.dtype.kind == "f" else "i8")
    assert quiet.release(x, budget=None, out=wide) is wide


# Order of things, and what is left behind


def test_a_refusal_draws_and_writes_nothing(monkeypatch):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon="0.5")
    out = np.arange(5.0)

    def fail(*args):
        raise AssertionError

    monkeypatch.setattr(_native, "fill_entropy", fail)
    monkeypatch.setattr(_engine, "release_range", fail)
    with pytest.raises(BudgetExceeded):
        COUNT.release(out, budget=budget, out=out)
    assert out.tolist() == [0, 1, 2, 3, 4]


class Stop:
    """A function that raises from the given call on, and keeps what it was called with."""

    def __init__(self, function, exception, times):
        self.function, self.exception, self.left, self.lock = function, exception, times, threading.Lock()

    def __call__(self, *args, **kwargs):
        with self.lock:
            self.left -= 1
            if self.left < 0:
                raise self.exception
        return self.function(*args, **kwargs)


@pytest.mark.parametrize("exception", [KeyboardInterrupt(), MemoryError(), EntropyError("no bytes")])
@pytest.mark.parametrize(
    ("where", "times"),
    [
        ((_engine, "release_range"), 0),
        ((_engine, "release_range"), 2),
        ((_native, "fill_entropy"), 0),
        ((Snapping, "_clamped"), 0),
        ((np, "clip"), 0),
        ((_native, "clamp"), 0),
    ],
)
@pytest.mark.parametrize("workers", [1, 2])
def test_interruption_leaves_nothing_exact(where, times, exception, workers, monkeypatch):
    monkeypatch.setattr(_engine, "_RANGE", BLOCK)
    copies = []
    piece = Snapping._clamped

    def clamped(self, *args):
        copies.append(piece(self, *args))
        return copies[-1]

    monkeypatch.setattr(Snapping, "_clamped", clamped)
    owner, name = where
    monkeypatch.setattr(owner, name, Stop(getattr(owner, name), exception, times))
    x = np.arange(1.0, 5 * BLOCK)
    with pytest.raises(type(exception)) as stopped:
        COUNT.release(x, budget=None, out=x, workers=workers)
    assert stopped.value is exception
    assert not x.any()
    assert not any(copy.any() for copy in copies)


def test_the_copy_is_wiped_after_success(monkeypatch):
    copies = []
    piece = Snapping._clamped

    def clamped(self, *args):
        copies.append(piece(self, *args))
        return copies[-1]

    monkeypatch.setattr(Snapping, "_clamped", clamped)
    x = np.arange(1.0, 50)
    COUNT.release(x, budget=None)
    assert x.all()
    assert not copies[0].any()


@pytest.mark.parametrize("bounds", [("-1e-60", 10), (-10, "1e-60")])
def test_a_bound_next_to_zero_gives_no_negative_zero(bounds):
    y = Snapping(sensitivity=1, epsilon=1, bounds=bounds).release(np.zeros(200, np.float32), budget=None)
    assert (y == 0).any()
    assert not np.signbit(y[y == 0]).any()
