"""A release checks, then spends, then draws, then writes: in this order, and nothing after a refusal."""

from __future__ import annotations

import inspect
from fractions import Fraction

import numpy as np
import pytest
from support import ON_INTEGERS, in_steps

from exactnoise import (
    BudgetExceeded,
    DiscreteGaussian,
    DiscreteLaplace,
    EntropyError,
    Gaussian,
    Laplace,
    PrivacyBudget,
    PrivacyCost,
    _native,
    testing,
)
from exactnoise.ledger import Ledger
from exactnoise.mechanisms import _engine

ALL = (Laplace, Gaussian, *ON_INTEGERS)
MECHANISMS = [
    Laplace(sensitivity=1, epsilon=1),
    Gaussian(sensitivity=1, epsilon=1, delta="1e-6"),
    DiscreteLaplace(sensitivity=1, epsilon=1),
    DiscreteGaussian(sensitivity=1, epsilon=1, delta="1e-6"),
    DiscreteGaussian(sensitivity=1, epsilon=1, delta="1e-3"),
]
BY_KIND = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def basic_budget(epsilon=1, delta="1e-3"):
    return PrivacyBudget(neighbors="add-remove", unit="row", epsilon=epsilon, delta=delta, method="basic")


@pytest.fixture
def log(monkeypatch):
    """What happens in a release, in order: spending, random numbers and writing."""
    events = []

    def record(owner, name, event):
        original = getattr(owner, name)

        def recorded(*args, **kwargs):
            events.append(event)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, recorded)

    record(PrivacyBudget, "spend", "spend")
    record(_native, "fill_entropy", "draw")
    record(_engine, "release_range", "write")
    return events


class RecordedPlan:
    """A plan that notes in a log when it is asked for a release."""

    def __init__(self, plan, log):
        self.plan, self.log = plan, log
        self.form, self.family, self.word_count = plan.form, plan.family, plan.word_count
        self.settle, self.extension_count = plan.settle, plan.extension_count

    def release(self, *args, **kwargs):
        self.log.append("kernel")
        return self.plan.release(*args, **kwargs)

    def release_one(self, x):
        self.log.append("kernel")
        return self.plan.release_one(x)


def with_recorded_plans(mechanism, log):
    """A new mechanism whose kernels note that they run."""
    fresh = eval(repr(mechanism), {kind.__name__: kind for kind in ALL})
    forms = ["int64"] if isinstance(fresh, ON_INTEGERS) else ["float64", "float32", "int64-float64"]
    for form in forms:
        fresh._plans[form] = RecordedPlan(fresh._plan(form), log)
    return fresh


DATA = [5, np.arange(5), np.arange(40), np.arange(40, dtype=">i4"), [1, 2, None], np.int8(3)]


@BY_KIND
@pytest.mark.parametrize("x", DATA, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
def test_order(mechanism, x, log):
    mechanism = with_recorded_plans(mechanism, log)
    budget = basic_budget()
    mechanism.release(x, budget=budget)
    assert log[0] == "spend"
    assert log.count("spend") == 1
    assert "kernel" in log
    draws = [i for i, event in enumerate(log) if event == "draw"]
    if np.size(x) > 32:  # fewer words come from the system without a key
        assert draws
    # Refinement may draw later; a key is drawn before anything is written.
    assert not draws or draws[0] < log.index("kernel") or np.size(x) <= 32


@BY_KIND
@pytest.mark.parametrize("x", DATA, ids=lambda x: f"{type(x).__name__}{np.shape(x)}")
def test_a_refusal_draws_nothing(mechanism, x, log):
    mechanism = with_recorded_plans(mechanism, log)
    budget = basic_budget(epsilon="0.999")
    out = np.full(np.shape(x), 77)
    data = np.array(x, copy=True)
    with pytest.raises(BudgetExceeded):
        mechanism.release(x, budget=budget)
    if isinstance(mechanism, ON_INTEGERS):
        with pytest.raises(BudgetExceeded):
            mechanism.release(x, budget=budget, out=out)
    assert set(log) == {"spend"}
    assert np.all(out == 77)
    np.testing.assert_array_equal(np.array(x), data)
    assert budget.history == ()
    assert budget.remaining == budget.total


def test_a_price_in_the_wrong_currency_draws_nothing(log):
    """Noise without a price in the budget's currency is a TypeError before the draw."""
    mechanism = with_recorded_plans(Gaussian(sensitivity=1, rho=1), log)
    x = np.ones(100)
    with pytest.raises(TypeError):
        mechanism.release(x, budget=basic_budget(), out=x)
    assert "kernel" not in log
    assert "draw" not in log
    assert np.all(x == 1)


@BY_KIND
def test_all_keys_are_drawn_first(mechanism, log, monkeypatch):
    monkeypatch.setattr(_engine, "_RANGE", _native.BLOCK)
    mechanism.release(np.arange(4 * _native.BLOCK), budget=None)
    assert log.count("write") == 4
    assert log[0] == "draw"
    # One call for all keys; what refinement draws comes after a write.
    assert "draw" not in log[1 : log.index("write")]


@BY_KIND
@pytest.mark.parametrize(
    "arguments",
    [
        {"x": "abc"},
        {"x": np.array([1, None])},
        {"out": [0] * 40},
        {"out": np.zeros(39)},
        {"out": np.zeros((40, 1))},
        {"out": np.zeros(40, dtype="U5")},
        {"out": np.zeros(40, dtype=np.int8) > 0},
        {"workers": 0},
        {"workers": -1},
        {"workers": 1.5},
        {"workers": "2"},
        {"workers": True},
        {"workers": None},
        {"randomness": "seed"},
        {"randomness": None},
        {"randomness": ["os"]},
    ],
    ids=lambda arguments: repr(arguments)[:30],
)
def test_wrong_arguments_spend_nothing(mechanism, arguments, log):
    budget = basic_budget()
    with pytest.raises((TypeError, ValueError)) as refusal:
        mechanism.release(**{"x": np.arange(40), "budget": budget, **arguments})
    name = next(iter(arguments))
    assert str(refusal.value).startswith(f"{name} must ")
    assert log == []
    assert budget.history == ()


@BY_KIND
def test_wrong_arguments_for_a_number_spend_nothing(mechanism, log):
    budget = basic_budget()
    for arguments in ({"workers": 0}, {"randomness": "seed"}, {"out": np.zeros(1)}, {"out": 5}):
        with pytest.raises((TypeError, ValueError)):
            mechanism.release(3, budget=budget, **arguments)
    assert log == []
    assert budget.history == ()


# The budget


@BY_KIND
def test_a_budget_must_be_named(mechanism):
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'budget'"):
        mechanism.release(1)
    with pytest.raises(TypeError, match="positional argument"):
        mechanism.release(1, basic_budget())


@BY_KIND
@pytest.mark.parametrize("budget", [1, "all", PrivacyCost(epsilon=1), PrivacyBudget, False, 0, ()], ids=repr)
def test_no_other_budgets(mechanism, budget, log):
    for x in (1, np.arange(40)):
        with pytest.raises(
            TypeError, match=r"^budget must be a PrivacyBudget, or None to say that the accounting is done"
        ):
            mechanism.release(x, budget=budget)
    assert log == []


def test_a_ledger_s_budget(tmp_path):
    """The way out that is named must not be a release that nobody pays."""
    ledger = Ledger(tmp_path / "ledger.db")
    kept = ledger.create("visits", neighbors="add-remove", unit="person", epsilon=1)
    with pytest.raises(TypeError, match=r"got LedgerBudget: exactnoise\.publish\.publish spends it, and gives make a "):
        DiscreteLaplace(sensitivity=1, epsilon=1).release(1, budget=kept)


@BY_KIND
def test_without_a_budget(mechanism, log):
    assert mechanism.release(np.arange(40), budget=None).shape == (40,)
    assert isinstance(mechanism.release(3, budget=None), (int, float))
    assert "spend" not in log


@BY_KIND
def test_one_release_has_one_price(mechanism):
    """Whatever the size, down to nothing at all."""
    for x in (3, [], [1], np.arange(2 * _native.BLOCK), np.zeros((0, 5), dtype=int), np.int64(1)):
        budget = basic_budget()
        mechanism.release(x, budget=budget, label="visits")
        (spend,) = budget.history
        assert spend.cost == mechanism.cost
        assert spend.mechanism == repr(mechanism)
        assert spend.label == "visits"
        assert budget.remaining.epsilon == 0


@BY_KIND
def test_labels(mechanism):
    budget = basic_budget(epsilon=4, delta="4e-3")
    for x in (3, [3]):
        mechanism.release(x, budget=budget)
        mechanism.release(x, budget=budget, label="day 2")
    assert [spend.label for spend in budget.history] == [None, "day 2", None, "day 2"]


@pytest.mark.parametrize(
    ("mechanism", "cost"),
    [
        (Laplace(sensitivity=2, epsilon="0.1"), {"epsilon": Fraction(1, 10), "delta": 0}),
        (Laplace(sensitivity=2, scale=8), {"epsilon": Fraction(1, 4), "delta": 0}),
        (
            Gaussian(sensitivity=2, epsilon="0.1", delta="1e-6"),
            {"epsilon": Fraction(1, 10), "delta": Fraction(1, 10**6)},
        ),
        (Gaussian(sensitivity=2, rho="0.1"), {"epsilon": None, "delta": 0, "rho": Fraction(1, 10)}),
        (Gaussian(sensitivity=2, scale=4), {"epsilon": None, "delta": 0, "rho": Fraction(1, 8)}),
        (DiscreteLaplace(sensitivity=2, epsilon="1/7"), {"epsilon": Fraction(1, 7), "delta": 0}),
        (DiscreteGaussian(sensitivity=2, rho="0.1"), {"epsilon": None, "delta": 0, "rho": Fraction(1, 10)}),
        (DiscreteGaussian(sensitivity=2, scale=4), {"epsilon": None, "delta": 0, "rho": Fraction(1, 8)}),
        (DiscreteGaussian(sensitivity=2, scale=3), {"epsilon": None, "delta": 0, "rho": Fraction(2, 9)}),
    ],
    ids=repr,
)
def test_costs(mechanism, cost):
    for name, amount in cost.items():
        assert getattr(mechanism, name) == amount
        assert getattr(mechanism.cost, name) == amount
    assert mechanism.rho > 0
    budget = PrivacyBudget(neighbors="add-remove", unit="row", rho=mechanism.rho)
    mechanism.release([1], budget=budget)
    assert budget.remaining.rho == 0


# Randomness and workers


@pytest.mark.parametrize("randomness", ["chacha20", "os"])
@pytest.mark.parametrize("n", [0, 1, 2, 31, 32, 33, 1000, 5000])
@BY_KIND
def test_keys(mechanism, n, randomness, monkeypatch):
    """A key for arrays of more than 32 words, unless the system's bytes were asked for."""
    keys = []
    original = _engine.release_range

    def recorded(*args, key=None, **kwargs):
        keys.append(None if key is None else bytes(key))
        return original(*args, key=key, **kwargs)

    monkeypatch.setattr(_engine, "release_range", recorded)
    y = mechanism.release(np.zeros(n, dtype=int), budget=None, randomness=randomness)
    assert y.shape == (n,)
    if n > 32:
        assert len(np.unique(y)) > 1  # all alike: with a probability below 1e-10
    words = testing.word_count(mechanism, n)
    assert [key is None for key in keys] == [randomness == "os" or words <= 32] * (1 if n else 0)


def test_every_range_has_a_key_of_its_own(monkeypatch):
    monkeypatch.setattr(_engine, "_RANGE", _native.BLOCK)
    keys = []
    original = _engine.release_range

    def recorded(*args, key, **kwargs):
        keys.append((key, bytes(key)))
        return original(*args, key=key, **kwargs)

    monkeypatch.setattr(_engine, "release_range", recorded)
    for workers in (1, 3):
        Laplace(sensitivity=1, epsilon=1).release(np.zeros(5 * _native.BLOCK), budget=None, workers=workers)
    assert len({secret for _, secret in keys}) == 10
    # Wiped when the release is over.
    assert all(bytes(key) == bytes(32) for key, _ in keys)


@pytest.mark.parametrize("workers", [1, 2, 3, 4, 100, np.int64(2)])
@pytest.mark.parametrize("kind", ALL)
def test_workers_change_nothing(kind, workers, monkeypatch):
    """Noise too small to see: every sample in its place, whatever the number of threads."""
    monkeypatch.setattr(_engine, "_RANGE", _native.BLOCK)
    monkeypatch.setattr(_engine, "_STAGED_RANGE", _native.BLOCK // 2)
    x = np.arange(7 * _native.BLOCK + 3)
    mechanism = in_steps(kind, 2.0**-30)
    for data in (x, x[::2], x.astype(">i4"), x.reshape(1, -1).T, x[:1], x[: _native.BLOCK]):
        np.testing.assert_array_equal(mechanism.release(data, budget=None, workers=workers), data)


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@BY_KIND
def test_workers_draw_fresh_noise(mechanism, workers, monkeypatch):
    monkeypatch.setattr(_engine, "_RANGE", _native.BLOCK)
    n = 8 * _native.BLOCK
    y = mechanism.release(np.zeros(n, dtype=int), budget=None, workers=workers).reshape(8, -1)
    assert len({row.tobytes() for row in y}) == 8
    # The mean of |Z| / std lies within (0.5, 1) for all of them; so do those of 5000 samples, but for 1e-30.
    assert 0.5 < np.mean(np.abs(y)) / mechanism.std < 1


@BY_KIND
def test_an_empty_array_with_workers(mechanism):
    assert mechanism.release(np.zeros((3, 0), dtype=int), budget=None, workers=2).shape == (3, 0)


# IBM/differential-privacy-library#31, #79: one seed for several mechanisms, and noise that was correlated.
def test_there_is_no_seed_and_no_size():
    assert list(inspect.signature(Laplace.release).parameters) == [
        "self", "x", "budget", "out", "workers", "randomness", "label",
    ]  # fmt: skip


@BY_KIND
@pytest.mark.parametrize("workers", [1, 2])
def test_no_entropy(mechanism, workers, monkeypatch):
    """Without random bytes there is an exception before any output."""

    def no_bytes(buffer):
        raise EntropyError("no bytes")

    monkeypatch.setattr(_engine, "_RANGE", _native.BLOCK)
    monkeypatch.setattr(_native, "fill_entropy", no_bytes)
    x = np.arange(1, 4 * _native.BLOCK + 1)
    out = np.full(x.shape, -7 if isinstance(mechanism, ON_INTEGERS) else -7.0)
    with pytest.raises(EntropyError, match="no bytes"):
        mechanism.release(x, budget=None, out=out, workers=workers)
    assert set(out.tolist()) in ({-7}, {0})
