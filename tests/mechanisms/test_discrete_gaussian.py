"""The discrete Gaussian: what it refuses, that its scale is private, what it costs, and what comes out."""

from __future__ import annotations

import copy
import math
import pickle
import time
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

from exactnoise import (
    BudgetExceeded,
    DiscreteGaussian,
    Gaussian,
    PrivacyBudget,
    PrivacyCost,
    _native,
)
from exactnoise.accounting import zcdp_epsilon, zcdp_rho
from exactnoise.mechanisms import _engine
from exactnoise.testing import ambiguous_lanes

INT64 = np.iinfo(np.int64)
MILLIONTH = Fraction(1, 10**6)
# Noise that is 0 but with a probability below 10^-1000.
QUIET = DiscreteGaussian(sensitivity=1, scale="0.01")
NOISY = [DiscreteGaussian(sensitivity=1, scale=3), DiscreteGaussian(sensitivity=1, scale=5)]
on_both_ways = pytest.mark.parametrize("mechanism", NOISY, ids=repr)


# What is refused


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"rho": 1}, TypeError, "DiscreteGaussian needs sensitivity: how much one person can change x, in the L2 norm"),
        ({"sensitivity": 0, "rho": 1}, ValueError, "sensitivity must be a positive number, got 0"),
        ({"sensitivity": -1, "rho": 1}, ValueError, "sensitivity must be a positive number, got -1"),
        ({"sensitivity": math.nan, "rho": 1}, ValueError, "sensitivity must be finite, got nan"),
        ({"sensitivity": math.inf, "rho": 1}, ValueError, "sensitivity must be finite, got inf"),
        ({"sensitivity": True, "rho": 1}, TypeError, "sensitivity must be a number .*got True of type bool"),
        (
            {"sensitivity": 0.5, "rho": 1},
            ValueError,
            "sensitivity must be at least 1: integers change by 1 or not at all, got 0.5",
        ),
        (
            {"sensitivity": "0.99999999999999", "rho": 1},
            ValueError,
            "sensitivity must be at least 1: integers change by 1 or not at all, got '0.99999999999999'",
        ),
        (
            {"sensitivity": 1},
            TypeError,
            "DiscreteGaussian needs exactly one of: epsilon and delta; rho; scale; got none of them",
        ),
        (
            {"sensitivity": 1, "rho": 1, "scale": 1},
            TypeError,
            "DiscreteGaussian needs exactly one of: epsilon and delta; rho; scale; got rho, scale",
        ),
        (
            {"sensitivity": 1, "epsilon": 1, "delta": 1e-6, "rho": 1},
            TypeError,
            "DiscreteGaussian needs exactly one of: .* got epsilon and delta, rho",
        ),
        (
            {"sensitivity": 1, "epsilon": 1},
            TypeError,
            "DiscreteGaussian needs exactly one of: .* got only part of epsilon and delta",
        ),
        (
            {"sensitivity": 1, "delta": 1e-6},
            TypeError,
            "DiscreteGaussian needs exactly one of: .* got only part of epsilon and delta",
        ),
        ({"sensitivity": 1, "epsilon": 1, "delta": 1}, ValueError, "delta must be a positive number below 1, got 1"),
        ({"sensitivity": 1, "rho": 0}, ValueError, "rho must be a positive number, got 0"),
        (
            {"sensitivity": 1, "epsilon": 10**6 + 1, "delta": 1e-6},
            ValueError,
            "epsilon must be at most 1000000 with Gaussian noise, got 1000001",
        ),
        (
            {"sensitivity": 1, "scale": Fraction(2**30 - 1, 2**60)},
            ValueError,
            r"the scale must lie between 2\*\*-30 and 2\*\*36, got ",
        ),
        (
            {"sensitivity": 1, "scale": 2**36 + 1},
            ValueError,
            r"the scale must lie between 2\*\*-30 and 2\*\*36, got .* use Gaussian with an integer granularity",
        ),
        ({"sensitivity": 1, "rho": "1e-30"}, ValueError, "the scale must lie between "),
        ({"sensitivity": 1, "rho": "1e30"}, ValueError, "the scale must lie between "),
        ({"sensitivity": "1e300", "rho": 1}, ValueError, "the scale must lie between "),
        ({"sensitivity": 2, "epsilon": "1e-15", "delta": "1e-20"}, ValueError, "the scale must lie between "),
        (
            {"sensitivity": 1, "epsilon": "1e-15", "delta": "1e-20"},
            ValueError,
            "the noise would be too large for int64: raise epsilon or delta",
        ),
    ],
    ids=repr,
)
def test_what_the_constructor_refuses(parameters, error, message):
    with pytest.raises(error, match=f"^{message}"):
        DiscreteGaussian(**parameters)


@pytest.mark.parametrize("x", [1.0, [1.0], [1, None, 2.5], np.zeros(3), np.zeros(3, "f4"), np.float32(1), math.nan])
def test_floats_are_refused(x):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", rho=1)
    with pytest.raises(
        TypeError, match=r"^DiscreteGaussian takes integers, .* use Gaussian, or convert counts to int64"
    ):
        DiscreteGaussian(sensitivity=1, rho=1).release(x, budget=budget)
    assert budget.history == ()


# Privacy


def delta_of(scale: float, epsilon: Fraction, shift: tuple[int, ...]) -> mpfr:
    """The exact delta of discrete Gaussian noise on one count or two: a sum over all outputs, or all pairs of them."""
    with gmpy2.context(precision=200):
        far = math.ceil(16 * scale) + 8
        weights = {k: gmpy2.exp(-(mpfr(k) ** 2) / (2 * mpfr(scale) ** 2)) for k in range(-far - 1, far + 2)}
        total, power = gmpy2.fsum(list(weights.values())), gmpy2.exp(mpfr(mpq(epsilon)))
        ks = range(-far, far + 1)
        if len(shift) == 1:
            terms = (weights[k] - power * weights[k - shift[0]] for k in ks)
        else:
            a, b = shift
            terms = (weights[k] * weights[j] - power * weights[k - a] * weights[j - b] for k in ks for j in ks)
        return sum((term for term in terms if term > 0), start=mpfr(0)) / total ** len(shift)


PRICES = [(e, d) for d in ("1e-2", "1e-6") for e in ("1", "2", "3", "5", "8")]


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_two_counts_that_one_person_changes(epsilon, delta):
    """Sensitivity sqrt(2): the change may be (1, 1), for which the theorem on one count does not speak."""
    mechanism = DiscreteGaussian(sensitivity=math.sqrt(2), epsilon=epsilon, delta=delta)
    assert zcdp_epsilon(mechanism.rho, delta) <= Fraction(epsilon) * (1 + Fraction(1, 10**15))
    assert 0.6 < mechanism.scale < 6.5
    assert delta_of(mechanism.scale, Fraction(epsilon), (1, 1)) <= mpq(Fraction(delta))


@pytest.mark.parametrize(("epsilon", "delta"), [("8", "1e-2"), ("5", "1e-6"), ("8", "1e-6")])
def test_control_continuous_noise_of_that_price_would_not_do(epsilon, delta):
    scale = Gaussian(sensitivity=math.sqrt(2), epsilon=epsilon, delta=delta).scale
    assert delta_of(scale, Fraction(epsilon), (1, 1)) > mpq(Fraction(delta))


@pytest.mark.parametrize(("epsilon", "delta"), [*PRICES, ("0.3", "1e-3"), ("20", "1e-9"), ("11", "0.3")])
def test_one_count(epsilon, delta):
    """The scale suffices, and the double below it does not."""
    scale = DiscreteGaussian(sensitivity=1, epsilon=epsilon, delta=delta).scale
    for shift in ((1,), (-1,)):
        assert delta_of(scale, Fraction(epsilon), shift) <= mpq(Fraction(delta))
    assert delta_of(math.nextafter(scale, 0), Fraction(epsilon), (1,)) > mpq(Fraction(delta))


@pytest.mark.parametrize(
    ("epsilon", "delta", "scale"),
    [("2.95", "1e-2", 0.713), ("3.2", "1e-2", 0.6831), ("6", "1e-6", 0.7635), ("3.1", "1e-6", 1.4477)],
)
def test_more_noise_may_be_less_private(epsilon, delta, scale):
    """Delta does not always fall as the scale grows: the least scale is found, and it suffices."""
    found = DiscreteGaussian(sensitivity=1, epsilon=epsilon, delta=delta).scale
    limit = mpq(Fraction(delta))
    assert found == pytest.approx(scale, rel=1e-3)
    assert delta_of(found, Fraction(epsilon), (1,)) <= limit
    assert any(delta_of(found * (1 + i / 100), Fraction(epsilon), (1,)) > limit for i in range(1, 30))
    assert all(delta_of(found * (1 - i / 100), Fraction(epsilon), (1,)) > limit for i in range(1, 90))


def test_more_noise_for_changes_in_several_counts():
    one, root, two = (DiscreteGaussian(sensitivity=s, epsilon=1, delta="1e-6").scale for s in (1, math.sqrt(2), 2))
    assert one < root / math.sqrt(2)
    assert root == pytest.approx(two / math.sqrt(2), rel=1e-15)


@pytest.mark.parametrize("k", [*range(1, 400), 10**6 + 3, 10**15 + 1])
def test_a_rounded_root_counts_as_the_root(k):
    """math.sqrt(k) may lie below the root of k: rho is that of k all the same."""
    given, scale = math.sqrt(k), 10**9
    mechanism = DiscreteGaussian(sensitivity=given, scale=scale)
    assert mechanism.sensitivity == Fraction(str(given))
    square = 2 * scale**2 * mechanism.rho
    # Of numbers so large that the root's error is more than theirs, the next one may be taken.
    assert max(k, mechanism.sensitivity**2) <= square <= k * (1 + Fraction(1, 10**12))
    assert Fraction(DiscreteGaussian(sensitivity=given, rho="1e-3").scale) ** 2 >= 500 * k
    root = math.isqrt(k)
    if root**2 == k:
        assert mechanism == DiscreteGaussian(sensitivity=root, scale=scale)


def test_control_the_root_of_three_is_rounded_down():
    given = Fraction(str(math.sqrt(3)))
    assert given**2 < 3
    assert DiscreteGaussian(sensitivity=given, scale=1).rho == Fraction(3, 2)
    # What is more than a rounding below it was meant as it stands.
    assert DiscreteGaussian(sensitivity="1.7320508", scale=1).rho == Fraction("1.7320508") ** 2 / 2
    # One count and no more: the theorem on one count needs it exactly.
    more = DiscreteGaussian(sensitivity=1 + 2**-52, epsilon=1, delta="1e-6")
    assert more.scale == pytest.approx(DiscreteGaussian(sensitivity=1.001, epsilon=1, delta="1e-6").scale, rel=0.002)
    assert more.scale > 1.001 * DiscreteGaussian(sensitivity=1, epsilon=1, delta="1e-6").scale


# Cost


@pytest.mark.parametrize("sensitivity", [1, 2, math.sqrt(2), 1.5])
def test_cost_by_rho(sensitivity):
    mechanism = DiscreteGaussian(sensitivity=sensitivity, rho="0.1")
    assert (mechanism.epsilon, mechanism.delta, mechanism.rho) == (None, 0, Fraction(1, 10))
    square = Fraction(str(sensitivity)) ** 2  # the root of 2 is rounded up
    assert Fraction(math.nextafter(mechanism.scale, 0)) ** 2 < 5 * square <= Fraction(mechanism.scale) ** 2


@pytest.mark.parametrize("scale", [2, "7/3", 5, "0.3"])
def test_cost_by_scale(scale):
    mechanism = DiscreteGaussian(sensitivity=3, scale=scale)
    assert (mechanism.epsilon, mechanism.delta) == (None, 0)
    assert mechanism.rho == 9 / (2 * Fraction(scale) ** 2)


@pytest.mark.parametrize("sensitivity", [1, math.sqrt(2), 3])
def test_cost_by_epsilon_and_delta(sensitivity):
    mechanism = DiscreteGaussian(sensitivity=sensitivity, epsilon=1, delta="1e-6")
    cost, scale = mechanism.cost, Fraction(mechanism.scale)
    assert (cost.epsilon, cost.delta) == (1, MILLIONTH)
    # The root of 2 is rounded up.
    square = Fraction(str(sensitivity)) ** 2
    assert square / (2 * scale**2) <= cost.rho <= square / (2 * scale**2) * (1 + Fraction(1, 10**19))
    if sensitivity != 1:
        assert cost.rho <= zcdp_rho(1, MILLIONTH)


@pytest.mark.parametrize(
    "mechanism",
    [
        DiscreteGaussian(sensitivity=1, rho="0.1"),
        DiscreteGaussian(sensitivity=1, scale=3),
        DiscreteGaussian(sensitivity=2, rho="0.1"),
        DiscreteGaussian(sensitivity=2, scale=3),
    ],
    ids=repr,
)
def test_conversions_of_the_cost(mechanism):
    cost, rho = mechanism.cost, mechanism.rho
    assert cost.rdp(2) == 2 * rho
    assert cost.rdp("7/2") == Fraction(7, 2) * rho
    assert cost.epsilon_at("1e-6") == zcdp_epsilon(rho, MILLIONTH)
    assert cost.delta_at(cost.epsilon_at("1e-6")) <= MILLIONTH * (1 + Fraction(1, 10**12))
    assert (3 * cost).epsilon_at("1e-6") == zcdp_epsilon(3 * rho, MILLIONTH)
    assert cost.mu is None
    if mechanism.sensitivity == 1:
        assert delta_of(mechanism.scale, cost.epsilon_at("1e-6"), (1,)) <= mpq(MILLIONTH)


@pytest.mark.parametrize("sensitivity", [1, 2])
def test_conversions_of_a_price_in_epsilon(sensitivity):
    cost = DiscreteGaussian(sensitivity=sensitivity, epsilon=1, delta="1e-6").cost
    assert cost.rdp(3) == 3 * cost.rho
    assert zcdp_epsilon(cost.rho, "1e-9") == cost.epsilon_at("1e-9")
    assert cost.delta_at(2) < MILLIONTH / 100


def test_spending():
    priced, by_rho = (DiscreteGaussian(sensitivity=1, **p) for p in ({"epsilon": 1, "delta": "1e-6"}, {"rho": "0.1"}))
    terms = {"neighbors": "add-remove", "unit": "person"}
    basic = PrivacyBudget(epsilon=2, delta="2e-6", method="basic", **terms)
    for _ in range(2):
        priced.release([1, 2], budget=basic)
    assert (basic.remaining.epsilon, basic.remaining.delta) == (0, 0)
    with pytest.raises(BudgetExceeded):
        priced.release(1, budget=basic)
    with pytest.raises(TypeError):
        by_rho.release(1, budget=PrivacyBudget(epsilon=2, delta="2e-6", method="basic", **terms))

    in_rho = PrivacyBudget(rho="0.3", **terms)
    for _ in range(3):
        by_rho.release(1, budget=in_rho)
    assert in_rho.remaining.rho == 0
    with pytest.raises(BudgetExceeded):
        by_rho.release(1, budget=in_rho)

    zcdp = PrivacyBudget(epsilon=3, delta="1e-6", method="zcdp", **terms)
    spent = 0
    while True:
        try:
            priced.release(1, budget=zcdp)
        except BudgetExceeded:
            break
        spent += 1
    assert spent == zcdp_rho(3, "1e-6") // priced.rho > 5
    assert zcdp.history[0].mechanism == repr(priced)


@pytest.mark.parametrize("times", [1, 10])
@pytest.mark.parametrize("sensitivity", [1, math.sqrt(3)])
@pytest.mark.parametrize(
    "cap", [{"epsilon": 1, "delta": "1e-6", "method": method} for method in ("basic", "zcdp")] + [{"rho": 1}], ids=str
)
def test_fitting(cap, sensitivity, times):
    budget = PrivacyBudget(neighbors="replace-one", unit="person", **cap)
    mechanism = budget.fit(DiscreteGaussian, times=times, sensitivity=sensitivity)
    assert type(mechanism) is DiscreteGaussian
    for _ in range(times):
        mechanism.release([5, 7], budget=budget)
    with pytest.raises(BudgetExceeded):
        mechanism.release([5, 7], budget=budget)
    if cap.get("method") == "basic":
        assert mechanism.cost.epsilon == Fraction(1, times)
    again = PrivacyBudget(neighbors="replace-one", unit="person", **cap)
    with pytest.raises(TypeError, match="leave out scale"):
        again.fit(DiscreteGaussian, sensitivity=1, scale=3)


def test_splitting():
    budget = PrivacyBudget(neighbors="replace-one", unit="person", rho="0.5")
    for part in budget.split(1, 4):
        mechanism = part.fit(DiscreteGaussian, sensitivity=1)
        mechanism.release([1], budget=part)
        assert part.remaining.rho == 0
    first = PrivacyBudget(neighbors="replace-one", unit="person", rho="0.5").split(1, 4)[0]
    assert first.fit(DiscreteGaussian, sensitivity=1).rho == Fraction(1, 10)


# Accuracy


@pytest.mark.parametrize("alpha", [0.05, 1e-9])
@pytest.mark.parametrize("half_width", [0.5, 1, 3, 50, 2000])
@pytest.mark.parametrize("sensitivity", [1, math.sqrt(2), 3])
def test_from_accuracy(sensitivity, half_width, alpha):
    accuracy = {"half_width": half_width, "alpha": alpha}
    start = time.process_time()
    mechanism = DiscreteGaussian.from_accuracy(**accuracy, sensitivity=sensitivity, delta="1e-6")
    assert time.process_time() - start < 5  # a fraction of a second
    assert mechanism.half_width(alpha) <= half_width
    epsilon = Decimal(mechanism.epsilon.numerator) / Decimal(mechanism.epsilon.denominator)
    cheaper = epsilon - Decimal(1).scaleb(epsilon.adjusted() - 3)
    short = DiscreteGaussian(sensitivity=sensitivity, epsilon=cheaper, delta="1e-6")
    assert short.half_width(alpha) > half_width


@pytest.mark.parametrize("scale", [2.0**-30, 0.3, 1, 3.7, 4, 25, 1000.5])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-3, 1e-9])
def test_half_width_is_the_least(scale, alpha):
    t = int(DiscreteGaussian(sensitivity=1, scale=Fraction(scale)).half_width(alpha))
    with gmpy2.context(precision=200):
        weights = [gmpy2.exp(-(mpfr(k) ** 2) / (2 * mpfr(scale) ** 2)) for k in range(math.ceil(20 * scale) + 2)]
        total = 2 * gmpy2.fsum(weights) - 1
        beyond = [2 * gmpy2.fsum(weights[k:]) / total for k in (t + 1, t)]
        assert beyond[0] <= alpha
        assert t == 0 or beyond[1] > alpha


def test_intervals():
    mechanism = DiscreteGaussian(sensitivity=1, epsilon=1, delta="1e-6")
    low, high = mechanism.interval([10, 20])
    assert (low.tolist(), high.tolist()) == ([2.0, 12.0], [18.0, 28.0])
    assert mechanism.half_width() == 8.0


@pytest.mark.parametrize("scale", [2.0**-30, 0.2, 0.5, 1, 1.9, 2, 3.3, 7.9, 8, 1000])
def test_moments(scale):
    mechanism = DiscreteGaussian(sensitivity=1, scale=Fraction(scale))
    with gmpy2.context(precision=200):
        weights = [gmpy2.exp(-(mpfr(k) ** 2) / (2 * mpfr(scale) ** 2)) for k in range(math.ceil(20 * scale) + 2)]
        second = 2 * gmpy2.fsum([k * k * w for k, w in enumerate(weights)])
        variance = float(second / (2 * gmpy2.fsum(weights) - 1))
    assert mechanism.variance == pytest.approx(variance, rel=1e-12, abs=0)
    assert mechanism.std == pytest.approx(math.sqrt(variance), rel=1e-12, abs=0)
    assert mechanism.std <= scale


# Identity


@pytest.mark.parametrize(
    ("shown", "mechanism"),
    [
        ("DiscreteGaussian(sensitivity=1, epsilon=1, delta='1e-6')",
         DiscreteGaussian(sensitivity=1, epsilon=1.0, delta=1e-6)),
        ("DiscreteGaussian(sensitivity=2, rho='1/3')", DiscreteGaussian(sensitivity="2", rho="2/6")),
        ("DiscreteGaussian(sensitivity='1.4142135623730951', scale='0.7')",
         DiscreteGaussian(sensitivity=math.sqrt(2), scale=0.7)),
    ],
)  # fmt: skip
def test_identity(shown, mechanism):
    assert repr(mechanism) == shown
    copies = [
        eval(shown, {"DiscreteGaussian": DiscreteGaussian}), copy.copy(mechanism), copy.deepcopy(mechanism),
        *(pickle.loads(pickle.dumps(mechanism, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
    ]  # fmt: skip
    for other in copies:
        assert other == mechanism
        assert hash(other) == hash(mechanism)
        assert (other.scale, other.cost, other.half_width()) == (
            mechanism.scale,
            mechanism.cost,
            mechanism.half_width(),
        )
        assert other._thresholds() == mechanism._thresholds()
    assert mechanism != DiscreteGaussian(sensitivity=5, rho=1)
    assert mechanism != Gaussian(sensitivity=1, epsilon=1, delta=1e-6)
    with pytest.raises(AttributeError, match=r"^DiscreteGaussian is immutable"):
        mechanism.scale = 1
    assert isinstance(mechanism.cost, PrivacyCost)
    assert mechanism.granularity == 1.0


# Data


@on_both_ways
def test_saturation(mechanism):
    x = np.repeat(np.array([INT64.min, INT64.max]), 3000)
    y = mechanism.release(x, budget=None)
    assert y.dtype == np.int64
    # |X| > 50 scale has a probability below 1e-500.
    assert np.all(y[:3000] < INT64.min + 50 * 5)
    assert np.all(y[3000:] > INT64.max - 50 * 5)
    assert 1000 < np.count_nonzero(y == x) < 5000  # half the noise is beyond the ends
    for end in (INT64.min, INT64.max, 10**400, -(10**400)):
        numbers = [mechanism.release(int(end), budget=None) for _ in range(200)]
        assert all(type(y) is int and INT64.min <= y <= INT64.max for y in numbers)
        assert sum(abs(y) >= INT64.max for y in numbers) > 20


def test_data():
    large = np.array([2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1], np.uint64)
    assert QUIET.release(large, budget=None).tolist() == [INT64.max] * 4
    assert [QUIET.release(value, budget=None) for value in large] == [INT64.max] * 4
    assert QUIET.release([1, None, 3], budget=None).tolist() == [1, 0, 3]
    masked = np.ma.array([1, 2, 3, INT64.min], mask=[0, 1, 0, 1])
    for x in (masked, masked.astype(">i8"), np.ma.masked_array(np.repeat(masked, 2))[::2]):
        y = QUIET.release(x, budget=None)
        assert type(y) is np.ndarray
        assert y.dtype == np.int64
        assert y.tolist() == [1, 0, 3, 0]
    assert QUIET.release(np.ma.masked_all(3, "u1"), budget=None).tolist() == [0] * 3
    assert QUIET.release(True, budget=None) == 1
    assert QUIET.release(np.arange(6, dtype="i1").reshape(2, 3).T, budget=None).tolist() == [[0, 3], [1, 4], [2, 5]]


@pytest.fixture
def one_key(monkeypatch):
    """The same keys for every release, one for each of several ranges."""

    def fill(buffer):
        buffer[:] = bytes(i * 7 % 251 for i in range(len(buffer)))

    monkeypatch.setattr(_native, "fill_entropy", fill)
    monkeypatch.setattr(_engine, "_RANGE", 4 * _native.BLOCK)
    monkeypatch.setattr(_engine, "_STAGED_RANGE", 4 * _native.BLOCK)


@pytest.mark.usefixtures("one_key")
@on_both_ways
def test_workers_and_layouts_change_nothing(mechanism):
    """One key, one result: with any number of workers, in place, through a copy and onto overlapping memory."""
    n = 10 * 4 * _native.BLOCK + 77
    x = np.arange(n) % 1001
    noise = mechanism.release(np.zeros(n, int), budget=None)
    assert 0.8 * mechanism.scale < np.std(noise) < 1.2 * mechanism.scale
    for workers in (1, 3):
        np.testing.assert_array_equal(mechanism.release(x, budget=None, workers=workers), x + noise)
        in_place = x.copy()
        assert mechanism.release(in_place, budget=None, out=in_place, workers=workers) is in_place
        np.testing.assert_array_equal(in_place, x + noise)
        swapped = x.astype(">i8")
        mechanism.release(swapped, budget=None, out=swapped, workers=workers)
        np.testing.assert_array_equal(swapped, x + noise)
        base = np.append(x, 0)
        mechanism.release(base[:-1], budget=None, out=base[1:], workers=workers)
        np.testing.assert_array_equal(base[1:], x + noise)


def test_the_tested_noise_is_decided_by_its_first_words():
    """Else the tests above would depend on fresh words: a lane is declined with a probability below 10^-8."""
    for mechanism in NOISY:
        words = np.random.PCG64(1).random_raw(10**6 * 3)
        samples = 10**6 if mechanism.scale < 4 else 2 * 10**5
        words = words[:samples] if mechanism.scale < 4 else words
        assert ambiguous_lanes(mechanism, np.zeros(samples, int), words).size <= 1
