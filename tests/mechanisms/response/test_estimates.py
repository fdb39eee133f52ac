"""The server's estimates: unbiased, with true errors, mergeable, and unmoved by malformed reports."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import oracle_response as oracle
import pytest
from goodness import ALARM, chi_square_tail, normal_tail
from support import random_words

from exactnoise import LocalHashing, OptimizedUnaryEncoding, RandomizedResponse, SymmetricUnaryEncoding
from exactnoise._native import count_columns, count_supports, simd_available
from exactnoise.mechanisms.response import Estimate, LocalRandomizer, Tally
from exactnoise.testing import respond_from_words

KINDS = [RandomizedResponse, SymmetricUnaryEncoding, OptimizedUnaryEncoding, LocalHashing]
ON_EVERY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
DOMAIN = 266


def zipf(n: int, k: int) -> np.ndarray:
    """Codes with a few common categories and many rare ones, the last two of which nobody has."""
    shares = 1 / np.arange(1, k - 1)
    counts = np.floor(n * shares / shares.sum()).astype(int)
    counts[0] += n - counts.sum()
    return np.repeat(np.arange(k - 2), counts)


def reports_of(mechanism: LocalRandomizer, codes: np.ndarray, seed: int) -> np.ndarray:
    """Reports from fixed words."""
    if isinstance(mechanism, RandomizedResponse):
        count = codes.size
    elif isinstance(mechanism, LocalHashing):
        count = 2 * codes.size
    else:
        coins = 8 * mechanism.report_shape[0] * codes.size
        count = oracle.level_words(mechanism.other_probability, coins) + codes.size + coins // 200 + 1000
    return respond_from_words(mechanism, codes, random_words(seed, count))


def standard_scores(mechanism: LocalRandomizer, codes: np.ndarray, estimate: Estimate) -> np.ndarray:
    """How many true standard errors each estimate is off."""
    n, true = codes.size, np.bincount(codes, minlength=mechanism.categories)
    errors = np.array([mechanism.std_error(n, Fraction(int(f), n)) for f in true])
    return (estimate.counts - true) / errors


@ON_EVERY_KIND
@pytest.mark.parametrize("n", [100_000, pytest.param(10_000_000, marks=pytest.mark.slow)])
def test_estimates_are_within_their_errors(kind: type[LocalRandomizer], n: int) -> None:
    m = kind(epsilon=2, categories=DOMAIN)
    parts = np.array_split(zipf(n, DOMAIN), max(1, n // 500_000))
    tally = sum(m.tally(reports_of(m, part, seed)) for seed, part in enumerate(parts))
    codes = np.concatenate(parts)
    estimate = m.estimate(tally)
    assert estimate.n == n
    assert estimate.counts.dtype == estimate.std_error.dtype == np.float64
    assert estimate.counts.shape == estimate.std_error.shape == (DOMAIN,)
    z = standard_scores(m, codes, estimate)
    assert np.max(np.abs(z)) < 5
    # Together, too: with many categories the covariances are small, and the sum of squares is nearly a chi-square one.
    assert 0.7 < np.mean(z**2) < 1.4
    np.testing.assert_allclose(estimate.frequencies, estimate.counts / n)
    true = np.bincount(codes, minlength=DOMAIN)
    low, high = estimate.interval()
    assert np.mean((low <= true) & (true <= high)) > 0.85
    low, high = estimate.interval(alpha=1e-6)
    assert np.all((low <= true) & (true <= high))


@ON_EVERY_KIND
def test_a_wrong_epsilon_would_be_seen(kind: type[LocalRandomizer]) -> None:
    """The control: reports of epsilon 2 read as those of 3 are biased."""
    codes = zipf(100_000, DOMAIN)
    m, wrong = kind(epsilon=2, categories=DOMAIN), kind(epsilon=3, categories=DOMAIN)
    reports = reports_of(m, codes, 0)
    if kind is LocalHashing:  # with another number of buckets, nothing is supported as it should
        assert m.buckets != wrong.buckets
    assert np.max(np.abs(standard_scores(wrong, codes, wrong.estimate(reports)))) > 5


def laws(m: LocalRandomizer) -> tuple[Sequence[np.void], dict[int, list[Fraction]]]:
    """All reports, and their probabilities for each category (for unary encodings of few categories)."""
    k = m.categories
    p, q = m.truth_probability, m.other_probability
    if isinstance(m, RandomizedResponse):
        return np.arange(k, dtype=np.uint8), {v: [p if y == v else q for y in range(k)] for v in range(k)}
    rows = np.arange(2**k, dtype=np.uint8)[:, None]
    law = {}
    for v in range(k):
        law[v] = []
        for row in range(2**k):
            chances = ((p if i == v else q, row >> i & 1) for i in range(k))
            law[v].append(Fraction(math.prod(c if bit else 1 - c for c, bit in chances)))
    return rows, law


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind.__name__)
def test_the_mean_and_the_variance_of_an_estimate_are_exact(kind: type[LocalRandomizer]) -> None:
    """Summed over all reports that one person can send."""
    m = kind(epsilon="0.8", categories=4)
    reports, law = laws(m)
    estimates = [m.estimate(reports[i : i + 1]).counts for i in range(len(reports))]
    for v in range(4):
        assert sum(law[v]) == 1
        weights = np.array([float(x) for x in law[v]])
        mean = weights @ estimates
        np.testing.assert_allclose(mean, np.eye(4)[v], atol=1e-13)
        variance = weights @ (estimates - mean) ** 2
        expected = [m.std_error(1, 1 if i == v else 0) ** 2 for i in range(4)]
        np.testing.assert_allclose(variance, expected, rtol=1e-12)


def test_hashed_reports_support_as_often_as_they_should() -> None:
    """p and q of local hashing, over many hash functions, for buckets of unequal sizes."""
    n = 400_000
    for epsilon, k in (("1", 5), ("2.4", 5), ("6.5", 5)):
        m = LocalHashing(epsilon=epsilon, categories=k)
        tally = m.tally(reports_of(m, np.full(n, 3), 7))
        for v in range(k):
            p = float(m.truth_probability if v == 3 else m.other_probability)
            assert normal_tail((tally.supports[v] - n * p) / math.sqrt(n * p * (1 - p))) > ALARM


def test_the_error_that_is_shown_is_that_of_the_clipped_count() -> None:
    m = RandomizedResponse(epsilon=1, categories=3)
    n = 50
    estimate = m.estimate(np.zeros(n, np.uint8))
    assert estimate.counts[0] > n
    assert estimate.counts[1] < 0
    np.testing.assert_allclose(estimate.std_error, [m.std_error(n, 1), m.std_error(n, 0), m.std_error(n, 0)])
    assert estimate.counts.sum() == pytest.approx(n)


# What is counted


def counted(m: LocalRandomizer, reports: np.ndarray) -> list[int]:
    """Supports, one report and category at a time, in Python's integers."""
    k = m.categories
    if isinstance(m, RandomizedResponse):
        return [sum(int(y) == v for y in reports) for v in range(k)]
    if isinstance(m, LocalHashing):
        return [
            sum(oracle.bucket(int(a), int(b), v, m.buckets) == int(y) for a, b, y in reports.tolist()) for v in range(k)
        ]
    return [sum(int(row[v // 8]) >> v % 8 & 1 for row in reports) for v in range(k)]


def arbitrary(m: LocalRandomizer, n: int, seed: int) -> np.ndarray:
    """Reports of any bytes at all."""
    width = m.report_dtype.itemsize * math.prod(m.report_shape)
    data = np.random.default_rng(seed).integers(0, 256, n * width, dtype=np.uint8)
    return data.view(m.report_dtype).reshape(n, *m.report_shape)


@ON_EVERY_KIND
@pytest.mark.parametrize("k", [2, 7, 8, 9, 21, 255, 256, 257])
def test_any_bytes_are_counted_as_stated(kind: type[LocalRandomizer], k: int) -> None:
    for n, epsilon in ((0, 1), (1, 5), (257, 2), (600, 1)):
        m = kind(epsilon=epsilon, categories=k)
        reports = arbitrary(m, n, n)
        if kind is LocalHashing:
            reports["bucket"][::2] %= m.buckets + 2
        tally = m.tally(reports)
        assert tally.n == n
        assert tally.supports.tolist() == counted(m, reports)
        assert np.all(np.isfinite(m.estimate(tally).counts))


@pytest.mark.parametrize("simd", simd_available())
def test_counts_on_every_instruction_set(simd: str) -> None:
    rng = np.random.default_rng(3)
    for width, n in (
        (1, 1),
        (1, 300_000),
        (2, 255 * 512 + 1),
        (3, 5000),
        (34, 9000),
        (1023, 300),
        (1024, 256),
        (2049, 300),
    ):
        rows = rng.integers(0, 256, (n, width), dtype=np.uint8)
        counts = np.arange(8 * width)
        count_columns(rows, counts, simd=simd)
        bits = np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0, dtype=np.int64)
        np.testing.assert_array_equal(counts, np.arange(8 * width) + bits)
    full = np.full((256 * 30, 34), 255, np.uint8)
    counts = np.zeros(8 * 34, np.int64)
    count_columns(full, counts, simd=simd)
    assert np.all(counts == 256 * 30)
    for g, n, k in ((2, 513, 70), (3, 1024, 5), (1000, 511, 9), (1024, 1, 65536)):
        m = LocalHashing(epsilon=1, categories=k)
        reports = arbitrary(m, n, g)
        reports["bucket"] %= g + 1
        supports = np.zeros(k, np.int64)
        count_supports(reports, supports, g, simd=simd)
        a, b, y = (reports[name].astype(np.uint64)[:, None] for name in ("a", "b", "bucket"))
        hashes = (a * np.arange(k, dtype=np.uint64) + b) % 2**32 >> np.uint64(16)
        np.testing.assert_array_equal(supports, np.sum(hashes * np.uint64(g) >> np.uint64(16) == y, axis=0))


def test_malformed_reports_support_nothing() -> None:
    m = RandomizedResponse(epsilon=1, categories=3)
    assert m.tally(np.array([0, 3, 255, 1], np.uint8)).supports.tolist() == [1, 1, 0]
    m = RandomizedResponse(epsilon=1, categories=300)
    tally = m.tally(np.array([299, 300, 65535], np.uint16))
    assert (tally.n, tally.supports.sum(), tally.supports[299]) == (3, 1, 1)
    hashed = LocalHashing(epsilon=1, categories=40)
    for bucket in (hashed.buckets, 65535):
        tally = hashed.tally(np.array([(1, 2, bucket)], hashed.report_dtype))
        assert (tally.n, tally.supports.sum()) == (1, 0)
    unary = OptimizedUnaryEncoding(epsilon=1, categories=9)
    assert unary.tally(np.array([[0, 0xFE]], np.uint8)).supports.sum() == 0


@ON_EVERY_KIND
def test_shapes_and_layouts_of_reports(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=1, categories=300)
    reports = m.release(np.arange(24).reshape(4, 6), budget=None)
    tally = m.tally(reports)
    assert tally.n == 24
    assert m.tally(reports.reshape(24, *m.report_shape)) == tally
    assert m.tally(reports[::-1]) == tally
    assert m.tally(reports.swapaxes(0, 1)) == tally
    assert sum(m.tally(reports[i, j]) for i, j in itertools.product(range(4), range(6))) == tally
    data = reports.tobytes()
    assert m.tally(np.frombuffer(data, m.report_dtype).reshape(-1, *m.report_shape)) == tally
    if kind in (RandomizedResponse, LocalHashing):
        assert m.tally(reports.astype(m.report_dtype.newbyteorder(">"))) == tally
    assert m.tally(reports[:0]).n == 0


@ON_EVERY_KIND
def test_other_dtypes_and_shapes_are_refused(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=1, categories=100)
    for reports in (np.zeros(13, np.int64), np.zeros(13), [1, 2, 3], np.zeros(13, "S10"), np.zeros(13, "u4")):
        with pytest.raises(TypeError, match=r"^reports must have dtype "):
            m.tally(reports)
        with pytest.raises(TypeError, match=r"^reports must have dtype "):
            m.estimate(reports)
    if m.report_shape:
        for shape in ((), (12,), (13, 12), (13, 1)):
            with pytest.raises(ValueError, match=r"^reports must have a shape that ends in \(13,\), got "):
                m.tally(np.zeros(shape, np.uint8))


# Tallies


@ON_EVERY_KIND
def test_partial_tallies_add_up_to_the_batch(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=1, categories=DOMAIN)
    reports = m.release(zipf(5000, DOMAIN), budget=None)
    batch = m.tally(reports)
    parts = [m.tally(part) for part in np.array_split(reports, [1, 1, 700, 701, 4000])]
    assert sum(parts) == batch
    assert parts[3] + (parts[0] + parts[5]) + parts[4] + parts[2] + parts[1] == batch
    assert sum(pickle.loads(pickle.dumps(parts))) == batch
    one, other = m.estimate(batch), m.estimate(reports)
    for name in ("counts", "std_error", "frequencies"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert len({batch, sum(parts)}) == 1
    assert repr(batch) == f"<Tally of 5000 reports of {m!r}>"


def test_tallies_are_immutable_and_of_one_mechanism() -> None:
    m = RandomizedResponse(epsilon=1, categories=3)
    tally = m.tally(np.array([0, 1, 2], np.uint8))
    for fresh in (tally, pickle.loads(pickle.dumps(tally)), tally + tally):
        with pytest.raises(ValueError, match="read-only"):
            fresh.supports[0] = 7
        with pytest.raises(AttributeError, match="immutable"):
            fresh.n = 7
        with pytest.raises(AttributeError, match="immutable"):
            del fresh.n
    other = RandomizedResponse(epsilon=2, categories=3)
    with pytest.raises(ValueError, match="tallies must come from one mechanism"):
        tally + other.tally(np.array([0], np.uint8))
    with pytest.raises(ValueError, match="the tally must be one of RandomizedResponse"):
        other.estimate(tally)
    for wrong in (1, None, np.zeros(3), [1]):
        with pytest.raises(TypeError):
            tally + wrong
    assert tally != 1
    assert tally == Tally(m, [1, 1, 1], 3)
    assert tally != Tally(m, [1, 1, 1], 4)


@pytest.mark.parametrize(
    ("supports", "n", "error"),
    [
        ([1, 2], 3, ValueError), ([1, 2, 4], 3, ValueError), ([1, -1, 0], 3, ValueError), ([0, 0, 0], -1, ValueError),
        ([1.0, 0, 0], 3, TypeError), ([1, 0, 0], 3.0, TypeError), ([1, 0, 0], True, TypeError),
    ],
)  # fmt: skip
def test_impossible_tallies_are_refused(supports: list, n: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        Tally(RandomizedResponse(epsilon=1, categories=3), supports, n)


@ON_EVERY_KIND
def test_no_reports(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=1, categories=5)
    estimate = m.estimate(m.release([], budget=None))
    assert estimate.n == 0
    assert not estimate.counts.any()
    assert not estimate.std_error.any()
    assert np.isnan(estimate.frequencies).all()


# Planning


@ON_EVERY_KIND
def test_planned_errors(kind: type[LocalRandomizer]) -> None:
    m = kind(epsilon=1, categories=40)
    p, q = float(m.truth_probability), float(m.other_probability)
    assert m.std_error(1000) == pytest.approx(math.sqrt(1000 * q * (1 - q)) / (p - q))
    assert m.std_error(1000, 1) == pytest.approx(math.sqrt(1000 * p * (1 - p)) / (p - q))
    assert m.std_error(np.int64(1000), 0.25) ** 2 == pytest.approx(
        (m.std_error(1000) ** 2 * 3 + m.std_error(1000, 1) ** 2) / 4
    )
    assert m.std_error(0) == 0
    for n, frequency, error in ((-1, 0, ValueError), (1.5, 0, TypeError), (1, 1.5, ValueError), (1, -0.1, ValueError)):
        with pytest.raises(error):
            m.std_error(n, frequency)


@ON_EVERY_KIND
@pytest.mark.parametrize("half_width", [200, 1000, 10_000, "1e5"])
def test_the_least_epsilon_for_an_accuracy(kind: type[LocalRandomizer], half_width: object) -> None:
    n, k = 1_000_000, 100
    m = kind.from_accuracy(half_width=half_width, n=n, categories=k)
    target = float(half_width) / 1.959963984540054
    assert m.std_error(n) <= target
    digits = str(float(m.epsilon)).replace(".", "").lstrip("0").split("e")[0]
    assert len(digits.rstrip("0")) <= 4
    less = kind(epsilon=m.epsilon * Fraction(998, 1000), categories=k)
    assert less.std_error(n) > target
    strict = kind.from_accuracy(half_width=half_width, n=n, categories=k, alpha=0.001, missing=3)
    assert strict.epsilon > m.epsilon
    assert strict.missing == 3


@ON_EVERY_KIND
def test_accuracies_that_cannot_be(kind: type[LocalRandomizer]) -> None:
    with pytest.raises(ValueError, match=r"^half_width must be larger: "):
        kind.from_accuracy(half_width="1e-20", n=10**12, categories=10)
    for wrong in ({"half_width": 0}, {"n": 0}, {"alpha": 0}, {"categories": 1}):
        with pytest.raises(ValueError, match=rf"^{next(iter(wrong))} must "):
            kind.from_accuracy(**{"half_width": 10, "n": 100, "categories": 10, **wrong})


def test_the_sum_of_squares_has_its_law() -> None:
    """For a fixed category over many batches: standard scores are standard normal."""
    m = OptimizedUnaryEncoding(epsilon=1, categories=8)
    codes = np.arange(4000) % 8
    scores = np.array([standard_scores(m, codes, m.estimate(reports_of(m, codes, s)))[2] for s in range(200)])
    assert chi_square_tail(float(np.sum(scores**2)), 200) > ALARM
    assert chi_square_tail(float(np.sum((1.5 * scores) ** 2)), 200) < ALARM  # the control


def test_absurd_numbers_are_refused_in_words() -> None:
    m = RandomizedResponse(epsilon=1, categories=5)
    for call in (
        lambda: m.std_error(10**400),
        lambda: Tally(m, [1] * 5, 10**400),
        lambda: Tally(m, np.array([2**63 + 5, 0, 0, 0, 0], np.uint64), 2**64),
        lambda: Tally(m, [2**62] * 5, 2**62) + Tally(m, [2**62] * 5, 2**62),
        lambda: RandomizedResponse.from_accuracy(half_width=1, n=10**400, categories=5),
    ):
        with pytest.raises(ValueError, match=r"2\*\*63"):
            call()
    with pytest.raises(TypeError, match="whole numbers"):
        Tally(m, [1] * 5, np.timedelta64(7, "s"))
    assert RandomizedResponse.from_accuracy(half_width=10**300, n=10**6, categories=5).epsilon == Fraction(1, 10**9)
