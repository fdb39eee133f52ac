"""Releases of selections: what comes in, what comes out, what is paid and what is refused."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest

from exactnoise import (
    BudgetExceeded,
    EntropyError,
    Exponential,
    Laplace,
    PermuteAndFlip,
    PrivacyBudget,
    PrivacyCost,
    _native,
)
from exactnoise.mechanisms import _selecting

KINDS = (Exponential, PermuteAndFlip)
kinds = pytest.mark.parametrize("kind", KINDS)
ROWS = np.random.default_rng(1).normal(size=(50, 6))


def made(kind: type, **parameters: object):
    return kind(**{"sensitivity": 1, "epsilon": 1, **parameters})


# What comes out


@kinds
def test_one_row_gives_an_int(kind):
    for scores in (
        [0, 10**6, 5],
        (0.0, 1e6),
        np.array([0, 6e4], np.float16),
        range(0, 10**8, 10**7),
        np.arange(3) * 1e9,
    ):
        index = made(kind).release(scores, budget=None)
        assert type(index) is int
        assert index == np.argmax(scores)


@kinds
def test_rows_give_an_array(kind):
    index = made(kind, epsilon=10**6).release(ROWS, budget=None, disjoint=True)
    assert index.dtype == np.int64
    assert index.tolist() == ROWS.argmax(axis=1).tolist()
    assert made(kind).release(np.zeros((0, 4)), budget=None, disjoint=True).shape == (0,)
    assert made(kind).release(np.zeros((3, 1)), budget=None, disjoint=True).tolist() == [0, 0, 0]
    assert made(kind).release([[1, 2], [3, 4]], budget=None, disjoint=True).shape == (2,)
    assert made(kind).release([5], budget=None) == 0


@kinds
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i8", "f2", "f4", "f8", ">f4"])
def test_every_dtype_gives_int64(kind, dtype):
    scores = np.array([[0, 1, 0], [1, 0, 0]]).astype(dtype)
    index = made(kind, sensitivity="1e-6").release(scores, budget=None, disjoint=True)
    assert index.dtype == np.int64
    assert index.tolist() == [1, 0]


@kinds
@pytest.mark.parametrize("wrong", ["c16", "S3", "M8[s]", "m8[s]", "O", np.longdouble])
def test_other_dtypes_are_refused(kind, wrong):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    with pytest.raises(TypeError, match="numbers"):
        made(kind).release(np.zeros(3, wrong), budget=budget)
    assert budget.spent.epsilon == 0


@kinds
def test_columns_with_missing_values(kind):
    best = made(kind, epsilon=10**6)
    assert best.release(np.ma.masked_array([1, 2, 9], [0, 0, 1]), budget=None) == 1
    assert best.release([1, None, 3], budget=None) == 2
    assert best.release(np.array([1, 3, 2]).view(np.recarray), budget=None) == 1


@kinds
def test_no_value_raises_or_warns(kind):
    values = [0.0, math.nan, math.inf, -math.inf, 1e300, 5e-324, -1.7e308, 1.7e308]
    for row in itertools.product(values, repeat=3):
        assert made(kind).release(row, budget=None) in (0, 1, 2)
    for scale in ("2.3e-308", "1.7e308"):
        extreme = made(kind, sensitivity=scale, monotonic=True)
        assert extreme.release(list(itertools.product(values, repeat=3)), budget=None, disjoint=True).shape == (512,)


@kinds
def test_hard_rows(kind):
    m = made(kind)
    assert m.release([0, -1e6], budget=None) == 0
    assert m.release([1e300, 5e-324], budget=None) == 0
    assert 0 <= m.release([0] * 1491 + [1], budget=None) < 1492
    assert 0 <= m.release([0] * 1492 + [1], budget=None) < 1493


@kinds
def test_many_equal_scores_of_a_million(kind):
    scores = np.zeros(10**6)
    scores[200_000:] = 1000
    seen = {made(kind).release(scores, budget=None) for _ in range(20)}
    assert len(seen) > 15
    assert min(seen) >= 200_000
    assert max(seen) - min(seen) > 100_000  # all within a tenth of them: 8^-19


# Masks


@kinds
def test_excluded_candidates_are_never_selected(kind):
    m = made(kind, epsilon="1e-3")
    mask = [True, False, True, False]
    seen = {m.release([10**6, 1, 10**6, 1], budget=None, mask=mask) for _ in range(60)}
    assert seen == {1, 3}
    by_row = np.array([mask, [False, True, True, True]])
    assert m.release(np.zeros((2, 4)), budget=None, mask=by_row, disjoint=True)[1] == 0
    assert m.release([1, 2, 3], budget=None, mask=[True, False, True]) == 1
    assert m.release(np.zeros((0, 2)), budget=None, mask=np.zeros((0, 2), bool), disjoint=True).size == 0


@kinds
def test_wrong_masks_are_refused(kind):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    for error, mask, scores in (
        (ValueError, [True, True], [1, 2]),
        (ValueError, [[True, True], [False, True]], [[1, 2], [3, 4]]),
        (ValueError, [True], [1, 2]),
        (ValueError, [False, False, False], [1, 2]),
        (ValueError, [[False, False]], [[1, 2], [3, 4]]),
        (TypeError, [0, 1], [1, 2]),
        (TypeError, [None, True], [1, 2]),
    ):
        with pytest.raises(error, match=r"^mask must"):
            made(kind).release(scores, budget=budget, mask=mask, disjoint=True)
        with pytest.raises(error, match=r"^mask must"):
            made(kind).probabilities(scores, mask)
    assert budget.spent.epsilon == 0


# out


@kinds
def test_out(kind):
    m = made(kind, epsilon=10**6)
    for out in (np.empty(50, np.int64), np.empty(100, np.int64)[::2], np.empty(50, np.int64)[::-1]):
        assert m.release(ROWS, budget=None, disjoint=True, out=out) is out
        assert out.tolist() == ROWS.argmax(axis=1).tolist()
    single = np.empty((), np.int64)
    assert m.release([1, 3, 2], budget=None, out=single) is single
    assert single == 1
    scores = np.arange(12).reshape(4, 3)
    assert m.release(scores, budget=None, disjoint=True, out=scores[:, 0]).tolist() == [2, 2, 2, 2]


@kinds
def test_wrong_outs_are_refused(kind):
    read_only = np.empty(50, np.int64)
    read_only.flags.writeable = False
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    for error, out in (
        (TypeError, [0] * 50),
        (TypeError, np.ma.zeros(50, np.int64)),
        (TypeError, np.empty(50)),
        (TypeError, np.empty(50, np.int32)),
        (TypeError, np.empty(50, ">i8")),
        (ValueError, np.empty(49, np.int64)),
        (ValueError, np.empty((50, 1), np.int64)),
        (ValueError, read_only),
    ):
        with pytest.raises(error, match=r"^out must"):
            made(kind).release(ROWS, budget=budget, disjoint=True, out=out)
    with pytest.raises(ValueError, match=r"^out must have shape"):
        made(kind).release([1, 2], budget=budget, out=np.empty(1, np.int64))
    assert budget.spent.epsilon == 0


# Refusals


@kinds
def test_wrong_scores_are_refused(kind):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    for scores in ([], [[]], np.zeros((3, 0)), np.zeros((0, 0)), 3.0, np.float64(1), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"^scores must"):
            made(kind).release(scores, budget=budget, disjoint=True)
    with pytest.raises(ValueError, match="disjoint=True"):
        made(kind).release(ROWS, budget=budget)
    for name, error, wrong in (
        ("disjoint", TypeError, 1),
        ("workers", TypeError, 1.0),
        ("workers", ValueError, 0),
        ("randomness", ValueError, "numpy"),
    ):
        with pytest.raises(error, match=f"^{name} must"):
            made(kind).release([1, 2], budget=budget, **{name: wrong})
    with pytest.raises(TypeError, match=r"^budget must"):
        made(kind).release([1, 2], budget=1)
    with pytest.raises(TypeError, match="budget"):
        made(kind).release([1, 2])
    assert budget.spent.epsilon == 0


@kinds
def test_wrong_parameters_are_refused(kind):
    for error, words, parameters in (
        (TypeError, "needs sensitivity", {"epsilon": 1}),
        (TypeError, "needs epsilon", {"sensitivity": 1}),
        (TypeError, "monotonic must be", {"sensitivity": 1, "epsilon": 1, "monotonic": 1}),
        (TypeError, "epsilon must be a number", {"sensitivity": 1, "epsilon": True}),
        (ValueError, "sensitivity must be a positive", {"sensitivity": 0, "epsilon": 1}),
        (ValueError, "epsilon must be a positive", {"sensitivity": 1, "epsilon": -1}),
        (ValueError, "epsilon must be finite", {"sensitivity": 1, "epsilon": math.inf}),
        (ValueError, "noise would be too large", {"sensitivity": "1e300", "epsilon": "1e-30"}),
        (ValueError, "noise would be too small", {"sensitivity": "1e-300", "epsilon": "1e30"}),
    ):
        with pytest.raises(error, match=words):
            kind(**parameters)


# Price


def test_costs():
    exponential, flip = made(Exponential, epsilon="0.5"), made(PermuteAndFlip, epsilon="0.5")
    assert exponential.cost == PrivacyCost(epsilon="0.5", rho=exponential.rho)
    assert Fraction(99, 3200) < exponential.rho < Fraction(1, 32)  # a little below epsilon^2 / 8
    assert flip.cost == PrivacyCost(epsilon="0.5")
    assert flip.rho is None
    assert flip.cost.implied_rho > exponential.rho
    for m in (exponential, flip):
        assert (m.epsilon, m.delta) == (Fraction(1, 2), 0)
        assert m.scale == 4
        assert made(type(m), epsilon="0.5", monotonic=True).scale == 2
        assert made(type(m), epsilon="0.5", monotonic=True).cost == m.cost
    assert Fraction(made(Exponential, epsilon=3).scale) >= Fraction(2, 3)


@kinds
def test_one_release_costs_once_whatever_its_size(kind):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=2)
    made(kind).release(ROWS, budget=budget, disjoint=True, label="rows")
    made(kind).release([1, 2, 3], budget=budget)
    assert budget.spent.epsilon == 2


@kinds
def test_fit(kind):
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=2)
    assert budget.fit(kind, sensitivity=1, monotonic=True).epsilon == 2
    in_rho = PrivacyBudget(neighbors="add-remove", unit="person", rho="0.5")
    fitted = in_rho.fit(kind, sensitivity=1)
    assert fitted.cost.implied_rho <= Fraction(1, 2)
    # epsilon^2 / 8 and a little less for the one, epsilon^2 / 2 and a little less for the other
    assert (2 if kind is Exponential else 1) < fitted.epsilon < (2.1 if kind is Exponential else 1.05)


@kinds
def test_a_refusal_draws_nothing(kind, monkeypatch):
    def fail(memory: object) -> None:
        raise AssertionError("drawn")

    monkeypatch.setattr(_native, "fill_entropy", fail)
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon="0.1")
    out = np.full(50, 7)
    with pytest.raises(BudgetExceeded):
        made(kind).release(ROWS, budget=budget, disjoint=True, out=out)
    with pytest.raises(BudgetExceeded):
        made(kind).release([1, 2], budget=budget)
    assert (out == 7).all()
    assert budget.spent.epsilon == 0


# Failures


@kinds
@pytest.mark.parametrize("rows", [2, 50])
@pytest.mark.parametrize("randomness", ["chacha20", "os"])
def test_without_entropy_nothing_is_released(kind, monkeypatch, rows, randomness):
    def fail(memory: object) -> None:
        raise EntropyError("none")

    monkeypatch.setattr(_native, "fill_entropy", fail)
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=2)
    out = np.full(rows, 7)
    with pytest.raises(EntropyError):
        made(kind).release(ROWS[:rows], budget=budget, disjoint=True, out=out, randomness=randomness)
    assert not out.any()
    assert budget.spent.epsilon == 1  # after the spend everything stands


@kinds
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_leaves_zeros(kind, monkeypatch, workers):
    memories = []
    kept = _native.fill_entropy

    def remember(memory: object) -> None:
        memories.append(memory)
        kept(memory)

    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_native, "fill_entropy", remember)
    monkeypatch.setattr(_selecting, "_listed", interrupt)
    monkeypatch.setattr(_selecting, "_TILES", 2)
    out = np.full(1000, 7)
    with pytest.raises(KeyboardInterrupt):
        made(kind).release(np.zeros((1000, 5)), budget=None, disjoint=True, out=out, workers=workers)
    assert not out.any()
    assert memories
    assert not any(map(any, memories))  # the keys


@kinds
@pytest.mark.parametrize("shape", [(4, 5), (600, 5)])
def test_keys_and_words_are_wiped(kind, monkeypatch, shape):
    memories, wiped = [], []
    kept, wipe = _native.fill_entropy, _selecting._wipe

    def remember(memory: object) -> None:
        memories.append(memory)
        kept(memory)

    def watch(memory: object) -> None:
        wipe(memory)
        wiped.append(memory)

    monkeypatch.setattr(_native, "fill_entropy", remember)
    monkeypatch.setattr(_selecting, "_wipe", watch)
    for randomness in ("chacha20", "os"):
        made(kind).release(np.zeros(shape, np.float32), budget=None, disjoint=True, randomness=randomness)
    assert memories
    assert not any(np.frombuffer(memory, np.uint8).any() for memory in memories)
    assert any(isinstance(memory, np.ndarray) and memory.dtype == np.float64 for memory in wiped)  # the copied scores
    assert not any(np.frombuffer(memory, np.uint8).any() for memory in wiped if len(memory))


# Identity


@kinds
def test_identity(kind):
    seen = set()
    for parameters in ({}, {"epsilon": "1/3"}, {"monotonic": True}, {"sensitivity": 0.7, "epsilon": 2}):
        m = made(kind, **parameters)
        for twin in (
            eval(repr(m)),
            pickle.loads(pickle.dumps(m)),
            copy.copy(m),
            copy.deepcopy(m),
            made(kind, **parameters),
        ):
            assert twin == m
            assert hash(twin) == hash(m)
            assert (twin.scale, twin.cost, twin.monotonic) == (m.scale, m.cost, m.monotonic)
        assert m not in seen
        seen.add(m)
        with pytest.raises(AttributeError, match="is immutable"):
            m.scale = 1
    assert made(Exponential) != made(PermuteAndFlip)
    assert repr(made(kind, monotonic=True)) == f"{kind.__name__}(sensitivity=1, epsilon=1, monotonic=True)"
    assert made(kind, monotonic=True).without_price() == {"sensitivity": 1, "monotonic": True}


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2"])
def test_signalling_nans_do_not_warn(dtype: str) -> None:
    bits = np.array([0x7C01, 0x3C00] if dtype == "<f2" else [0x7F800001, 0x3F800000], "u2" if dtype == "<f2" else "u4")
    scores = bits.view(dtype) if dtype[0] == "<" else bits.byteswap().view(dtype)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Exponential(sensitivity=1, epsilon=1).release(scores, budget=None)
        Laplace(sensitivity=1, epsilon=1).release(scores[::-1], budget=None)
    assert not caught


@pytest.mark.parametrize(
    ("neighbors", "rows", "spent"), [("add-remove", 3, 1), ("replace-one", 3, 2), ("replace-one", 1, 1)]
)
def test_a_replaced_person_changes_two_rows(neighbors: str, rows: int, spent: int) -> None:
    budget = PrivacyBudget(neighbors=neighbors, unit="person", epsilon=2)
    Exponential(sensitivity=1, epsilon=1).release(np.zeros((rows, 4)), budget=budget, disjoint=True)
    assert budget.spent == PrivacyCost(epsilon=spent)


def test_absurd_numbers_are_refused_in_words() -> None:
    m = Exponential(sensitivity=1, epsilon=1)
    for call in (lambda: m.half_width(candidates=10**400), lambda: m.probability_within(3, 10**400)):
        with pytest.raises(ValueError, match="candidates must be between 1 and"):
            call()
    with pytest.raises(ValueError, match="t must be a number"):
        m.probability_within(np.timedelta64(3, "s"), 5)
    assert m.probability_within(10**400, 5) == m.probability_within(float("inf"), 5) == 1
    for small in (np.float16, np.float32):
        assert m.probability_within(small(3), 5) == m.probability_within(3.0, 5)
