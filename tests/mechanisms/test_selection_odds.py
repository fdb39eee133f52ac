"""The distribution of selections, their accuracy, and calibration to it."""

from __future__ import annotations

import math
from fractions import Fraction

import golden
import goodness
import numpy as np
import pytest
from support import random_words

from exactnoise import Exponential, PermuteAndFlip
from exactnoise.testing import select_from_words

KINDS = {"exponential": Exponential, "permute_and_flip": PermuteAndFlip}
VECTORS = golden.load("selection")
ROWS = VECTORS["selection"]
kinds = pytest.mark.parametrize("kind", KINDS.values())


def named(row: dict[str, object]) -> str:
    return "-".join(str(row[key]) for key in ("scores", "epsilon", "sensitivity", "monotonic"))


def built(name: str, row: dict[str, object]):
    return KINDS[name](sensitivity=row["sensitivity"], epsilon=row["epsilon"], monotonic=row["monotonic"])


# The vectors


@pytest.mark.parametrize("row", ROWS, ids=named)
@pytest.mark.parametrize("name", KINDS)
def test_probabilities(name, row):
    odds = built(name, row).probabilities(row["scores"])
    assert odds.dtype == np.float64
    assert odds == pytest.approx([float(p) for p in row[name]], abs=1e-12, rel=0)
    gap = odds @ (max(row["scores"]) - np.array(row["scores"], float))
    assert gap == pytest.approx(float(row[f"{name}_gap"]), abs=1e-12)


def test_permute_and_flip_is_never_worse():
    """McKenna & Sheldon 2020, Theorem 2: the expected gap is at most that of the exponential mechanism."""
    assert all(float(row["permute_and_flip_gap"]) <= float(row["exponential_gap"]) for row in ROWS)
    rng = np.random.default_rng(1)
    for size in (2, 5, 40):
        scores = rng.normal(size=size) * 3
        gaps = [
            kind(sensitivity=1, epsilon=1).probabilities(scores) @ (scores.max() - scores) for kind in KINDS.values()
        ]
        assert gaps[1] <= gaps[0]


@pytest.mark.parametrize("row", VECTORS["quantile"], ids=lambda row: str(row["edges"]))
@pytest.mark.parametrize("sensitivity", ["sensitivity_1", "sensitivity_q"])
def test_quantile(row, sensitivity):
    """A private quantile is a selection among intervals: score plus scale times the logarithm of the length."""
    q = row["quantile"]
    largest = 1 if sensitivity == "sensitivity_1" else max(q, 1 - q)
    mechanism = Exponential(sensitivity=largest, epsilon=row["epsilon"])
    lengths = np.diff(row["edges"])
    empty = lengths == 0
    scores = -np.abs(np.arange(lengths.size) - q * (lengths.size - 1))
    scores[~empty] += mechanism.scale * np.log(lengths[~empty])
    odds = mechanism.probabilities(scores, mask=empty)
    assert odds == pytest.approx([float(p) for p in row[sensitivity]], abs=1e-12, rel=0)


# Selections follow them


def selections(mechanism, scores: list[float], rows: int, seed: int, mask=None) -> np.ndarray:
    table = np.broadcast_to(np.asarray(scores), (rows, len(scores)))
    chosen = select_from_words(mechanism, table, random_words(seed, table.size), mask=mask)
    return np.bincount(chosen, minlength=len(scores))


@pytest.mark.parametrize("row", ROWS[::5], ids=named)
@pytest.mark.parametrize("name", KINDS)
def test_selections_follow_the_probabilities(name, row):
    exact = np.array([float(p) for p in row[name]])
    counts = selections(built(name, row), row["scores"], 200_000, ROWS.index(row))
    if np.sort(exact)[-2:][0] * counts.sum() < 50 or exact.size == 1:  # the best one takes nearly all
        assert counts[exact.argmax()] > counts.sum() - 200
    else:
        assert goodness.chi_square(counts, exact) > goodness.ALARM


@pytest.mark.parametrize("name", KINDS)
def test_half_the_scale_would_be_noticed(name):
    """Positive control: selections of the monotonic mechanism do not follow the other's probabilities."""
    row = next(row for row in ROWS if row["scores"] == [10, 9, 8] and row["epsilon"] == "0.1" and not row["monotonic"])
    exact = np.array([float(p) for p in row[name]])
    wrong = KINDS[name](sensitivity=row["sensitivity"], epsilon=row["epsilon"], monotonic=True)
    assert goodness.chi_square(selections(wrong, row["scores"], 200_000, 1), exact) < goodness.ALARM


@kinds
def test_masked_and_replaced_scores_follow_them_too(kind):
    scores, mask = [3.0, math.nan, math.inf, 50.0, -math.inf, 0.0, 4.0], [0, 0, 0, 1, 0, 0, 0]
    mask = np.array(mask, bool)
    mechanism = kind(sensitivity=1, epsilon=1)
    odds = mechanism.probabilities(scores, mask)
    assert odds.tolist() == mechanism.probabilities([3.0, 0, 4, -1e9, 0, 0, 4], mask).tolist()
    assert odds[3] == 0
    assert goodness.chi_square(selections(mechanism, scores, 100_000, 5, mask), odds) > goodness.ALARM


# Probabilities of hard cases


@kinds
@pytest.mark.parametrize("seed", range(6))
def test_sums_to_one(kind, seed):
    rng = np.random.default_rng(seed)
    for size in (1, 2, 3, 20, 333, 5000):
        odds = kind(sensitivity=1, epsilon=1).probabilities(rng.normal(size=size) * 10**seed / 100)
        assert odds.sum() == pytest.approx(1, abs=1e-12)
        assert (odds >= 0).all()


@kinds
def test_equal_scores_are_equally_likely(kind):
    for size in (1, 7, 300, 20_000):
        assert kind(sensitivity=1, epsilon=1).probabilities(np.full(size, 5)) == pytest.approx(1 / size, abs=1e-13)


@kinds
def test_one_against_many(kind):
    """1491 zeros against a one, and one more: near ln of their number, where rounded exponents would change much."""
    scale = kind(sensitivity=1, epsilon=1).scale
    for zeros in (1491, 1492):
        scores = [0] * zeros + [1]
        odds = kind(sensitivity=1, epsilon=1).probabilities(scores)
        q = math.exp(-1 / scale)
        # The exponential mechanism; permute-and-flip: the integral of (1 - q z)^zeros.
        exact = (
            1 / (1 + zeros * q) if kind is Exponential else -math.expm1((zeros + 1) * math.log1p(-q)) / (zeros + 1) / q
        )
        assert odds[-1] == pytest.approx(exact, abs=1e-12)


def test_by_the_sum_over_subsets():
    """Against exact rationals: scores whose e^t are rational do not exist, so e^t is rounded once."""
    rng = np.random.default_rng(3)
    for size in (2, 3, 6, 9):
        scores = rng.normal(size=size) * 3
        mechanism = PermuteAndFlip(sensitivity=1, epsilon=1)
        p = [Fraction(math.exp((s - scores.max()) / mechanism.scale)) for s in scores]
        for i, odds in enumerate(mechanism.probabilities(scores)):
            # p_i times the integral of the product: expand in powers of z.
            polynomial = [Fraction(1)]
            for j, other in enumerate(p):
                if j != i:
                    polynomial = [
                        a - other * b
                        for a, b in zip([*polynomial, Fraction(0)], [Fraction(0), *polynomial], strict=True)
                    ]
            assert odds == pytest.approx(float(p[i] * sum(c / (n + 1) for n, c in enumerate(polynomial))), abs=1e-14)


@kinds
def test_probabilities_of_extreme_scores(kind):
    mechanism = kind(sensitivity=1, epsilon=1)
    assert mechanism.probabilities([0, -1e6]) == pytest.approx([1, 0], abs=1e-15)
    assert mechanism.probabilities([1e300, 5e-324]) == pytest.approx([1, 0], abs=1e-15)
    assert mechanism.probabilities([1.7e308, -1.7e308]) == pytest.approx([1, 0], abs=1e-15)
    assert mechanism.probabilities(np.array([2**64 - 1, 2**64 - 2], np.uint64))[1] == pytest.approx(
        mechanism.probabilities([1, 0])[1], abs=1e-15
    )
    assert mechanism.probabilities(np.array([[-(2**63), 2**63 - 1]]))[0] == pytest.approx([0, 1], abs=1e-15)
    assert mechanism.probabilities([math.nan, math.nan]) == pytest.approx(0.5)
    assert mechanism.probabilities([None, 5, 5]) == pytest.approx(1 / 3)
    assert mechanism.probabilities(np.zeros((0, 3))).shape == (0, 3)
    widest = kind(sensitivity=Fraction(1, 2), epsilon=Fraction(1, 10**308))
    assert mechanism.probabilities([1e308, -1e308])[0] == pytest.approx(1, abs=1e-15)
    assert widest.probabilities([1e308, -1e308])[0] == pytest.approx(
        kind(sensitivity=Fraction(1, 2), epsilon=1).probabilities([1, -1])[0], abs=1e-12
    )


# Accuracy


def within(kind, steps: float, k: int) -> float:
    """The formula for the worst case, at scale 1."""
    q = math.exp(-steps)
    return 1 / (1 + (k - 1) * q) if kind is Exponential else -math.expm1(k * math.log1p(-q)) / (k * q)


@kinds
@pytest.mark.parametrize("candidates", [1, 2, 3, 10, 1000, 10**6])
def test_probability_within(kind, candidates):
    mechanism = kind(sensitivity=1, epsilon=2)  # scale 1
    assert mechanism.probability_within(0, candidates) == pytest.approx(1 / candidates)
    for t in (0.01, 1, 5, 20):
        assert mechanism.probability_within(t, candidates) == pytest.approx(within(kind, t, candidates), abs=1e-12)
    assert mechanism.probability_within(math.inf, candidates) == 1


@kinds
def test_the_bound_is_reached_and_never_crossed(kind):
    rng = np.random.default_rng(2)
    mechanism = kind(sensitivity=1, epsilon=2)
    for k in (2, 3, 10, 50):
        for t in (0.5, 2.0, 6.0):
            bound = mechanism.probability_within(t, k)
            worst = mechanism.probabilities([t, *[0.0] * (k - 1)])[0]  # all others just t below
            assert worst == pytest.approx(bound, abs=1e-12)
            for _ in range(20):
                scores = rng.normal(size=k) * rng.choice([0.5, 3, 10])
                inside = scores >= scores.max() - t
                assert mechanism.probabilities(scores)[inside].sum() >= bound - 1e-12


def test_permute_and_flip_is_at_least_as_accurate():
    for k in (2, 10, 1000):
        ours, other = (kind(sensitivity=1, epsilon=1) for kind in (PermuteAndFlip, Exponential))
        for t in (0, 1, 10):
            assert ours.probability_within(t, k) >= other.probability_within(t, k) - 1e-15
        assert ours.half_width(candidates=k) < other.half_width(candidates=k)


@kinds
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-6, 1e-20, 1e-300])
@pytest.mark.parametrize("candidates", [2, 3, 100, 10**9])
def test_half_width_is_the_smallest(kind, alpha, candidates):
    mechanism = kind(sensitivity=3, epsilon="0.7")
    t = mechanism.half_width(alpha, candidates=candidates)
    if kind is Exponential:
        exact = max(0.0, mechanism.scale * (math.log(candidates - 1) + math.log1p(-alpha) - math.log(alpha)))
        assert t == pytest.approx(exact, rel=1e-12)
    if alpha >= 1e-6 and t:
        assert mechanism.probability_within(t * (1 + 1e-9), candidates) >= 1 - alpha
        assert mechanism.probability_within(t * (1 - 1e-9), candidates) < 1 - alpha


@kinds
def test_half_width_of_no_choice(kind):
    assert kind(sensitivity=1, epsilon=1).half_width(candidates=1) == 0
    assert kind(sensitivity=1, epsilon=1).half_width(0.9, candidates=2) == 0


@kinds
@pytest.mark.parametrize("monotonic", [False, True])
def test_from_accuracy(kind, monotonic):
    for half_width in ("0.001", 1, 37.5, "1e9"):
        mechanism = kind.from_accuracy(half_width=half_width, sensitivity=2, candidates=50, monotonic=monotonic)
        assert mechanism.monotonic is monotonic
        assert Fraction(mechanism.half_width(candidates=50)) <= Fraction(str(half_width))
        cheaper = kind(sensitivity=2, epsilon=mechanism.epsilon * Fraction(9985, 10000), monotonic=monotonic)
        assert Fraction(cheaper.half_width(candidates=50)) > Fraction(str(half_width))
        digits = f"{float(mechanism.epsilon):.3e}"
        assert Fraction(digits) == mechanism.epsilon


@kinds
def test_wrong_accuracies_are_refused(kind):
    mechanism = kind(sensitivity=1, epsilon=1)
    for wrong in (-1, math.nan, "1", True, None):
        with pytest.raises(ValueError, match=r"^t must be a number"):
            mechanism.probability_within(wrong, 3)
    for error, wrong in ((TypeError, 2.0), (TypeError, True), (TypeError, "3"), (ValueError, 0), (ValueError, -1)):
        with pytest.raises(error, match=r"^candidates must be"):
            mechanism.half_width(candidates=wrong)
        with pytest.raises(error, match=r"^candidates must be"):
            mechanism.probability_within(1, wrong)
        with pytest.raises(error, match=r"^candidates must be"):
            kind.from_accuracy(half_width=1, sensitivity=1, candidates=wrong)
    for error, wrong in ((ValueError, 0), (ValueError, 1), (TypeError, "0.1")):
        with pytest.raises(error, match=r"^alpha must"):
            mechanism.half_width(wrong, candidates=3)
    with pytest.raises(TypeError, match=r"needs sensitivity"):
        kind.from_accuracy(half_width=1, candidates=2)
    with pytest.raises(ValueError, match=r"^half_width must be a positive number"):
        kind.from_accuracy(half_width=0, sensitivity=1, candidates=2)
    with pytest.raises(ValueError, match=r"^any epsilon is enough"):
        kind.from_accuracy(half_width=1, sensitivity=1, candidates=1)
