"""A report for each code: types and shapes, what data may be, who pays, and nothing drawn after a refusal."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from exactnoise import (
    BudgetExceeded,
    EntropyError,
    LocalHashing,
    OptimizedUnaryEncoding,
    PrivacyBudget,
    PrivacyCost,
    RandomizedResponse,
    SymmetricUnaryEncoding,
    _native,
)
from exactnoise.mechanisms.response import LocalRandomizer

KINDS = [RandomizedResponse, SymmetricUnaryEncoding, OptimizedUnaryEncoding, LocalHashing]
ON_EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
ACCURATE = 45  # an epsilon whose noise nobody sees: a wrong answer among these reports has a chance below 1e-14
K = 300


def read_back(m: LocalRandomizer, reports: np.ndarray) -> np.ndarray:
    """The categories that reports of no noise are about; for hashing the first of those with the bucket."""
    if isinstance(m, LocalHashing):
        a, b, y = (reports[name].astype(np.uint64)[..., None] for name in ("a", "b", "bucket"))
        hashes = (a * np.arange(m.categories, dtype=np.uint64) + b) % 2**32 >> np.uint64(16)
        return hashes * np.uint64(m.buckets) >> np.uint64(16) == y
    if m.report_shape:
        return np.unpackbits(reports, axis=-1, count=m.categories, bitorder="little")
    return reports


def agrees(m: LocalRandomizer, reports: np.ndarray, codes: np.ndarray) -> bool:
    """Whether the reports are about these codes, where there is no noise to see (unary: none but in the true bit)."""
    seen, codes = read_back(m, reports), np.asarray(codes)
    if isinstance(m, LocalHashing):
        return bool(np.all(np.take_along_axis(seen, codes[..., None], -1)))
    if not m.report_shape:
        return np.array_equal(seen, codes)
    own = np.take_along_axis(seen, codes[..., None], -1)
    fair = m.truth_probability == Fraction(1, 2)
    return bool(np.all(seen.sum(axis=-1) == own[..., 0])) and bool(fair or np.all(own))


# Types and shapes


@ON_EVERY_KIND
@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 4)])
def test_shapes(kind: type[LocalRandomizer], shape: tuple[int, ...]) -> None:
    m = kind(epsilon=2 * ACCURATE, categories=K)
    codes = np.arange(np.prod(shape)).reshape(shape)
    reports = m.release(codes, budget=None)
    assert reports.shape == shape + m.report_shape
    assert reports.dtype == m.report_dtype
    assert agrees(m, reports, codes)


@pytest.mark.parametrize(("k", "dtype"), [(2, "u1"), (256, "u1"), (257, "<u2"), (65536, "<u2")])
def test_dtypes_of_responses(k: int, dtype: str) -> None:
    m = RandomizedResponse(epsilon=ACCURATE, categories=k)
    reports = m.release([0, k - 1], budget=None)
    assert reports.dtype == np.dtype(dtype)
    assert reports.tolist() == [0, k - 1]


def test_one_code_is_one_report() -> None:
    m = RandomizedResponse(epsilon=ACCURATE, categories=K)
    for code, kind in (
        (7, int),
        (True, int),
        (np.int64(7), np.uint16),
        (np.uint8(7), np.uint16),
        (np.bool_(1), np.uint16),
    ):
        report = m.release(code, budget=None)
        assert type(report) is kind
        assert report == int(code)
    assert type(m.release(np.array(7), budget=None)) is np.uint16
    unary = SymmetricUnaryEncoding(epsilon=2 * ACCURATE, categories=12)
    for code in (9, np.int16(9), np.array(9)):
        assert unary.release(code, budget=None).tolist() == [0, 2]
    hashing = LocalHashing(epsilon=ACCURATE, categories=12)
    for code in (9, np.int16(9), np.array(9)):
        report = hashing.release(code, budget=None)
        assert isinstance(report, np.void)
        assert ((int(report["a"]) * 9 + int(report["b"])) % 2**32 >> 16) * hashing.buckets >> 16 == report["bucket"]
        assert hashing.tally(report).n == 1


def test_a_hashed_report_is_ten_bytes() -> None:
    m = LocalHashing(epsilon=1, categories=12)
    assert m.report_dtype.itemsize == 10
    assert {name: (str(d), at) for name, (d, at) in m.report_dtype.fields.items()} == {
        "a": ("uint32", 0), "b": ("uint32", 4), "bucket": ("uint16", 8),
    }  # fmt: skip


CODES = np.arange(100)
DATA = {
    "list": CODES.tolist(),
    "tuple": tuple(CODES.tolist()),
    "range": range(100),
    "int8": CODES.astype(np.int8),
    "uint8": CODES.astype(np.uint8),
    "big-endian": CODES.astype(">i4"),
    "big-endian int64": CODES.astype(">i8"),
    "uint64": CODES.astype(np.uint64),
    "strided": np.repeat(CODES, 3)[::3],
    "reversed": CODES[::-1][::-1],
    "read-only": np.frombuffer(CODES.tobytes(), np.int64),
    "unmasked": np.ma.array(CODES, mask=False),
}


@ON_EVERY_KIND
@pytest.mark.parametrize("form", DATA)
def test_forms_of_data(kind: type[LocalRandomizer], form: str) -> None:
    m = kind(epsilon=2 * ACCURATE, categories=K)
    assert agrees(m, m.release(DATA[form], budget=None), CODES)


@ON_EVERY_KIND
def test_booleans_are_codes(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=2 * ACCURATE, categories=2)
    flags = np.array([True, False, True] * 20)
    for x in (flags, flags.tolist()):
        assert agrees(m, m.release(x, budget=None), flags.astype(int))


@ON_EVERY_KIND
def test_missing_and_unknown_values_count_as_the_public_category(kind: type[LocalRandomizer]) -> None:
    unknown = [-1, K, K + 1, -(2**63), 2**63 - 1, 2**64, -(2**70), 2**32, 2**32 + 5, 2**16, None]
    for missing in (0, 5):
        m = kind(epsilon=2 * ACCURATE, categories=K, missing=missing)
        for x in (
            unknown * 5,
            np.array([-1, -(2**63), 2**63 - 1, K] * 10),
            np.array([2**64 - 1, 2**63, K] * 10, np.uint64),
            np.ma.array(np.full(40, 9), mask=True),
            np.array([-1, -128] * 10, np.int8),
        ):
            assert agrees(m, m.release(x, budget=None), np.full(len(x), missing))
        assert agrees(m, np.asarray(m.release(K, budget=None)), np.asarray(missing))
        mixed = np.ma.array([1, 2, 3] * 12, mask=[False, True, False] * 12)
        assert agrees(m, m.release(mixed, budget=None), np.array([1, missing, 3] * 12))


@ON_EVERY_KIND
def test_pandas_and_arrow_columns(kind: type[LocalRandomizer]) -> None:
    class Nullable:
        """What a pandas column of type Int64 can do."""

        class dtype:  # noqa: N801
            numpy_dtype = np.dtype("i8")

        def isna(self) -> np.ndarray:
            return np.array([False, True] * 20)

        def to_numpy(self, dtype: object, na_value: int) -> np.ndarray:
            return np.array([7, na_value] * 20)

    m = kind(epsilon=2 * ACCURATE, categories=K, missing=3)
    assert agrees(m, m.release(Nullable(), budget=None), np.array([7, 3] * 20))


@ON_EVERY_KIND
@pytest.mark.parametrize(
    "x", [1.0, [1.0, 2.0], [1, None, 2.5], np.zeros(3), np.float32(1), float("nan"), np.zeros(3, np.float16)], ids=repr
)
def test_floats_are_no_categories(kind: type[LocalRandomizer], x: object) -> None:
    budget = PrivacyBudget(neighbors="replace-one", unit="person", epsilon=1)
    with pytest.raises(TypeError, match=r"^x must be category codes, integers 0 \.\. 299 or booleans, got dtype float"):
        kind(epsilon=1, categories=K).release(x, budget=budget)
    assert budget.history == ()


@ON_EVERY_KIND
@pytest.mark.parametrize("x", ["abc", b"abc", ["a"], np.array(["a"]), np.array([1, None]), 1j, {}, None], ids=repr)
def test_other_things_are_no_categories(kind: type[LocalRandomizer], x: object) -> None:
    with pytest.raises(TypeError, match=r"^x must "):
        kind(epsilon=1, categories=K).release(x, budget=None)


@ON_EVERY_KIND
def test_budgets_that_hide_who_reports_are_refused(kind: type[LocalRandomizer]) -> None:
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    with pytest.raises(ValueError, match=r"^budget must have neighbors='replace-one', got 'add-remove'"):
        kind(epsilon=1, categories=K).release([1, 2], budget=budget)
    assert budget.history == ()


# out


@ON_EVERY_KIND
@pytest.mark.parametrize("shape", [(), (50,), (5, 10)])
def test_out(kind: type[LocalRandomizer], shape: tuple[int, ...]) -> None:
    m = kind(epsilon=2 * ACCURATE, categories=K)
    codes = np.arange(np.prod(shape, dtype=int)).reshape(shape)
    out = np.zeros(shape + m.report_shape, m.report_dtype)
    assert m.release(codes, budget=None, out=out) is out
    assert agrees(m, out, codes)


def test_out_may_be_the_data() -> None:
    m = RandomizedResponse(epsilon=ACCURATE, categories=200)
    x = np.arange(150, dtype=np.uint8)
    m.release(x, budget=None, out=x)
    assert x.tolist() == list(range(150))
    memory = np.zeros(400, np.int64)
    memory[:300] = np.arange(300) % 200
    m.release(memory[:300], budget=None, out=memory.view(np.uint8)[100:400])
    assert memory.view(np.uint8)[100:400].tolist() == [i % 200 for i in range(300)]


@ON_EVERY_KIND
def test_other_outs_are_refused(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=1, categories=K)
    budget = PrivacyBudget(neighbors="replace-one", unit="person", epsilon=1)
    good = np.zeros((40, *m.report_shape), m.report_dtype)
    locked = good.copy()
    locked.flags.writeable = False
    wide = np.zeros((80, *m.report_shape), m.report_dtype)
    for out, error in (
        ([0] * 40, TypeError),
        (np.ma.array(good), TypeError),
        (np.zeros(good.shape, np.int64), TypeError),
        (np.zeros(good.shape, "S10"), TypeError),
        (good[:39], ValueError),
        (good.reshape(4, 10, *m.report_shape), ValueError),
        (wide[::2], ValueError),
        (locked, ValueError),
    ):
        with pytest.raises(error, match=r"^out must "):
            m.release(np.arange(40), budget=budget, out=out)
    assert budget.history == ()


# The budget


@ON_EVERY_KIND
def test_a_call_costs_one_report(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon="0.5", categories=K)
    for x in (3, [], [1], range(5000), np.zeros((0, 5), int)):
        budget = PrivacyBudget(neighbors="replace-one", unit="person", epsilon=1)
        m.release(x, budget=budget, label="words")
        (spend,) = budget.history
        assert (spend.cost, spend.mechanism, spend.label) == (m.cost, repr(m), "words")
        assert budget.remaining.epsilon == Fraction(1, 2)


@ON_EVERY_KIND
def test_a_budget_fits_a_randomizer(kind: type[LocalRandomizer]) -> None:
    budget = PrivacyBudget(neighbors="replace-one", unit="person", epsilon=1)
    m = budget.fit(kind, categories=K)
    assert m == kind(epsilon=1, categories=K)


@ON_EVERY_KIND
@pytest.mark.parametrize("budget", [1, "all", PrivacyCost(epsilon=1), PrivacyBudget, False])
def test_no_other_budgets(kind: type[LocalRandomizer], budget: object) -> None:
    with pytest.raises(TypeError, match=r"^budget must be a PrivacyBudget, or None"):
        kind(epsilon=1, categories=K).release(1, budget=budget)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'budget'"):
        kind(epsilon=1, categories=K).release(1)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Spending and drawing, in order."""
    events: list[str] = []

    def record(owner: object, name: str, event: str) -> None:
        original = getattr(owner, name)

        def recorded(*args: object, **kwargs: object) -> object:
            events.append(event)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, recorded)

    record(PrivacyBudget, "spend", "spend")
    record(_native, "fill_entropy", "draw")
    return events


class Recorded:
    """A responder that notes in a log when it is asked."""

    def __init__(self, responder: object, log: list[str]) -> None:
        self.responder, self.log = responder, log

    def release(self, *args: object, **kwargs: object) -> None:
        self.log.append("write")
        self.responder.release(*args, **kwargs)


def recorded(m: LocalRandomizer, log: list[str]) -> LocalRandomizer:
    m._fix(_fast=Recorded(m._fast, log))
    return m


@ON_EVERY_KIND
def test_spend_then_draw_then_write(kind: type[LocalRandomizer], log: list[str]) -> None:
    m = recorded(kind(epsilon=1, categories=K), log)
    m.release(range(1000), budget=PrivacyBudget(neighbors="replace-one", unit="person", epsilon=1))
    assert log == ["spend", "draw", "write"]


@ON_EVERY_KIND
@pytest.mark.parametrize("x", [3, range(1000)], ids=["one", "many"])
def test_a_refusal_draws_nothing(kind: type[LocalRandomizer], x: object, log: list[str]) -> None:
    m = recorded(kind(epsilon=1, categories=K), log)
    budget = PrivacyBudget(neighbors="replace-one", unit="person", epsilon="0.999")
    out = np.full(np.shape(x) + m.report_shape, np.ones((), m.report_dtype))
    before = out.tobytes()
    with pytest.raises(BudgetExceeded):
        m.release(x, budget=budget, out=out)
    assert log == ["spend"]
    assert out.tobytes() == before
    assert budget.history == ()


@ON_EVERY_KIND
@pytest.mark.parametrize(
    "arguments",
    [{"workers": 0}, {"workers": 1.5}, {"workers": True}, {"randomness": "seed"}, {"randomness": None}, {"out": 5}],
    ids=repr,
)
def test_wrong_arguments_spend_nothing(kind: type[LocalRandomizer], arguments: dict, log: list[str]) -> None:
    budget = PrivacyBudget(neighbors="replace-one", unit="person", epsilon=1)
    for x in (3, range(40)):
        with pytest.raises((TypeError, ValueError), match=f"^{next(iter(arguments))} must "):
            kind(epsilon=1, categories=K).release(x, budget=budget, **arguments)
    assert log == []


@ON_EVERY_KIND
@pytest.mark.parametrize("workers", [1, 2])
def test_no_entropy(kind: type[LocalRandomizer], workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_bytes(buffer: bytearray) -> None:
        raise EntropyError("no bytes")

    monkeypatch.setattr(_native, "fill_entropy", no_bytes)
    m = kind(epsilon=1, categories=K)
    out = np.full((1000, *m.report_shape), np.ones((), m.report_dtype))
    with pytest.raises(EntropyError, match="no bytes"):
        m.release(range(1000), budget=None, out=out, workers=workers)
    assert not any(out.tobytes())
