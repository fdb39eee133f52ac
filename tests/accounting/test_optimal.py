"""The optimal composition of pure queries, against sums over all outcomes."""

from __future__ import annotations

import itertools
import math
import time
from fractions import Fraction

import pytest
from golden import is_just_above, is_just_below, load
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exactnoise.accounting import (
    advanced_epsilon,
    advanced_filter_epsilon,
    basic_epsilon,
    optimal_delta,
    optimal_epsilon,
    optimal_epsilon_each,
    pure_losses,
    pure_rdp,
    rdp_epsilon,
)
from exactnoise.accounting.compose import too_many_sums
from exactnoise.accounting.interval import Interval, Precision, enclose

ROWS = load("composition")
DELTAS = st.fractions(Fraction(1, 10**9), Fraction(99, 100))
EPSILONS = st.fractions(Fraction(1, 1000), 3, max_denominator=1000)


@pytest.mark.parametrize("row", ROWS["equal"], ids=lambda row: f"{row['k']} of {row['epsilon']}, {row['delta']}")
def test_equal_queries(row):
    epsilon = optimal_epsilon(row["epsilon"], times=row["k"], delta=row["delta"])
    assert is_just_above(epsilon, row["optimal"])
    for bound in ("basic", "advanced", "filter", "with_tanh", "with_logarithm"):
        assert epsilon <= Fraction(row[bound]) * (1 + Fraction(1, 10**19))
    assert optimal_delta(row["epsilon"], times=row["k"], epsilon=epsilon) <= Fraction(row["delta"])


def test_noise_on_integers():
    for row in ROWS["geometric"]:
        assert is_just_above(optimal_epsilon(row["epsilon"], times=row["k"], delta=row["delta"]), row["value"])


@pytest.mark.parametrize("row", ROWS["mixed"], ids=lambda row: f"{len(row['epsilons'])}, {row['delta']}")
def test_several_epsilons(row):
    assert is_just_above(optimal_epsilon(row["epsilons"], delta=row["delta"]), row["optimal"])
    half = basic_epsilon(row["epsilons"]) / 2
    assert is_just_above(optimal_delta(row["epsilons"], epsilon=half), row["delta_at_half"])


def test_delta():
    for row in ROWS["delta"]:
        delta = optimal_delta(row["each"], times=row["k"], epsilon=row["epsilon"])
        assert is_just_above(delta, row["value"]), row
        assert (delta == 0) == (Fraction(row["epsilon"]) >= row["k"] * Fraction(row["each"]))


def test_queries_with_a_delta():
    for row in ROWS["delta_each"]:
        options = {"times": row["k"], "delta_each": row["delta_each"]}
        if row["value"] is None:
            with pytest.raises(ValueError, match="delta must be at least") as refusal:
                optimal_epsilon(row["epsilon"], delta=row["delta"], **options)
            least = str(refusal.value).split()[5].rstrip(",")
            assert is_just_above(Fraction(least), row["least"])
            optimal_epsilon(row["epsilon"], delta=least, **options)
        else:
            epsilon = optimal_epsilon(row["epsilon"], delta=row["delta"], **options)
            assert is_just_above(epsilon, row["value"]), row
            assert optimal_delta(row["epsilon"], epsilon=epsilon, **options) <= Fraction(row["delta"])
        assert is_just_above(optimal_delta(row["epsilon"], epsilon=1000, **options), row["least"])


def test_epsilon_of_each():
    for row in ROWS["each"]:
        each = optimal_epsilon_each(epsilon=row["epsilon"], delta=row["delta"], times=row["k"])
        assert is_just_below(each, row["value"], 1e-11), row
        assert optimal_epsilon(each, times=row["k"], delta=row["delta"]) <= Fraction(row["epsilon"])


def test_the_rows_catch_a_wrong_threshold(monkeypatch):
    """One loss too few in the event: the epsilon and the delta are too small."""
    right = pure_losses.EqualQueries.tails
    monkeypatch.setattr(
        pure_losses.EqualQueries, "tails", lambda self, index, at: right(self, min(index + 1, self.last), at)
    )

    def is_right(row):
        try:
            return is_just_above(optimal_epsilon(row["epsilon"], times=row["k"], delta=row["delta"]), row["optimal"])
        except OverflowError:  # no epsilon at all
            return False

    # Those whose event holds more losses than the largest.
    rows = [row for row in ROWS["equal"] if Fraction(row["optimal"]) < (row["k"] - 2) * Fraction(row["epsilon"])]
    assert len(rows) > 60
    assert not any(map(is_right, rows))
    rows = [row for row in ROWS["delta"] if Fraction(row["epsilon"]) < (row["k"] - 2) * Fraction(row["each"])]
    assert len(rows) > 15
    for row in rows:
        assert not is_just_above(optimal_delta(row["each"], times=row["k"], epsilon=row["epsilon"]), row["value"])


def by_enumeration(epsilons, epsilon):
    """Delta summed over all outcomes, the likely half of the responses first, as an interval."""

    def delta(at: Precision) -> Interval:
        total = at(0)
        for signs in itertools.product((1, -1), repeat=len(epsilons)):
            loss = sum(sign * eps for sign, eps in zip(signs, epsilons, strict=True))
            if loss > epsilon:
                probability = at(1)
                for sign, eps in zip(signs, epsilons, strict=True):
                    probability = probability / (1 + (-at(sign * eps)).exp())
                total = total + probability * (1 - at(epsilon - loss).exp())
        return total

    return enclose(delta)


@given(st.lists(EPSILONS, min_size=1, max_size=5), st.fractions(0, 1, max_denominator=50))
@example([Fraction(1, 10)] * 4, Fraction(1, 2))  # epsilon is one of the losses
@example([Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)], Fraction(0))  # two sums are equal, and 0
@settings(max_examples=60)
def test_delta_is_the_sum_over_all_outcomes(epsilons, share):
    epsilon = share * basic_epsilon(epsilons)
    delta, exact = optimal_delta(epsilons, epsilon=epsilon), by_enumeration(epsilons, epsilon)
    assert delta >= Fraction(exact.low)
    assert delta <= Fraction(exact.high) * (1 + Fraction(1, 10**18))


@given(st.lists(EPSILONS, min_size=1, max_size=5), DELTAS)
@settings(max_examples=60)
def test_epsilon_is_the_least(epsilons, delta):
    epsilon = optimal_epsilon(epsilons, delta=delta)
    assert Fraction(by_enumeration(epsilons, epsilon).low) <= delta
    if epsilon:
        assert Fraction(by_enumeration(epsilons, epsilon * (1 - Fraction(1, 10**15))).high) > delta


@given(EPSILONS, st.integers(1, 300), DELTAS)
@settings(max_examples=12)
def test_inverses(each, times, delta):
    epsilon = optimal_epsilon(each, times=times, delta=delta)
    assert optimal_delta(each, times=times, epsilon=epsilon) <= delta * (1 + Fraction(1, 10**19))  # rounded up
    if epsilon:
        below = epsilon * (1 - Fraction(1, 10**15))
        assert optimal_delta(each, times=times, epsilon=below) > delta
        largest = optimal_epsilon_each(epsilon=epsilon, delta=delta, times=times)
        assert each * (1 - Fraction(1, 10**11)) <= largest


@pytest.mark.usefixtures("repetition")
@given(st.lists(EPSILONS, min_size=1, max_size=4), EPSILONS, st.integers(1, 8), DELTAS, DELTAS)
@settings(max_examples=15)
def test_monotone(epsilons, another, times, a, b):
    delta = min(a, b)
    epsilon = optimal_epsilon(epsilons, times=times, delta=delta)
    assert optimal_epsilon(epsilons, times=times, delta=max(a, b)) <= epsilon
    assert epsilon <= optimal_epsilon(epsilons, times=times + 1, delta=delta)
    assert epsilon <= optimal_epsilon([*epsilons, another] * times, delta=delta)
    assert epsilon <= optimal_epsilon([eps + another for eps in epsilons], times=times, delta=delta)
    assert epsilon <= optimal_epsilon(
        epsilons, times=times, delta=delta, delta_each=delta / (2 * times * len(epsilons))
    )
    assert epsilon <= advanced_epsilon(epsilons, times=times, delta=delta) <= basic_epsilon(epsilons, times=times)
    assert epsilon <= advanced_filter_epsilon(epsilons, times=times, delta=delta)
    at_one, at_two = (optimal_delta(epsilons, times=times, epsilon=x) for x in (epsilon / 2, epsilon))
    assert at_two <= at_one


@given(EPSILONS, st.integers(2, 40), DELTAS)
@settings(max_examples=40)
def test_equal_and_several_agree(each, times, delta):
    """Queries whose epsilons differ by next to nothing are priced as equal ones, by other code."""
    epsilon = optimal_epsilon(each, times=times, delta=delta)
    nearly = optimal_epsilon([each * (1 + Fraction(1, 10**25)), *[each] * (times - 1)], delta=delta)
    assert abs(nearly - epsilon) <= max(epsilon, Fraction(1)) * Fraction(1, 10**17)
    listed = optimal_epsilon([str(each)] * times, delta=delta)
    assert listed == epsilon == optimal_epsilon({each: times}, delta=delta)


@pytest.mark.parametrize("times", [1500, 10**4, 10**5, 10**7])
@pytest.mark.parametrize("each", ["0.001", "0.01", "0.1", "1"])
def test_many_queries(each, times):
    start = time.process_time()
    epsilon = optimal_epsilon(each, times=times, delta=1e-6)
    assert time.process_time() - start < 5  # 0.05 s for 10^5, 0.4 s for 10^7; the machine may be busy
    assert optimal_delta(each, times=times, epsilon=epsilon) <= Fraction(1, 10**6)
    assert optimal_delta(each, times=times, epsilon=epsilon * (1 - Fraction(1, 10**15))) > Fraction(1, 10**6)
    assert epsilon <= rdp_epsilon(lambda order: times * pure_rdp(order, each), 1e-6)
    # Near the normal approximation of the sum of the losses, whose tail it is.
    e = float(each)
    mean, deviation = times * e * math.tanh(e / 2), math.sqrt(times) * e / math.cosh(e / 2)
    assert epsilon < mean + 5 * deviation


def test_many_queries_of_each():
    each = optimal_epsilon_each(epsilon=1, delta=1e-6, times=10**5)
    assert optimal_epsilon(each, times=10**5, delta=1e-6) <= 1
    assert optimal_epsilon(each * (1 + Fraction(1, 10**11)), times=10**5, delta=1e-6) > 1


@pytest.mark.parametrize("each", ["1e-300", "1e-101", "1e-30", "700", "1e15", "1e17", "1e300"])
@pytest.mark.parametrize("delta", ["1e-300", "1e-6", "0.999999"])
def test_extreme_parameters(each, delta):
    small = Fraction(delta)
    for times in (1, 2, 1000):
        total = times * Fraction(each)
        epsilon = optimal_epsilon(each, times=times, delta=delta)
        assert 0 <= epsilon <= total
        assert optimal_delta(each, times=times, epsilon=epsilon) <= small
        assert optimal_delta(each, times=times, epsilon=total) == 0
        assert 0 < optimal_delta(each, times=times, epsilon=0) <= 1
        mixture = optimal_epsilon([each, Fraction(each) / 3], delta=delta)
        assert 0 <= mixture <= Fraction(each) * Fraction(4, 3)
        largest = optimal_epsilon_each(epsilon=each, delta=delta, times=times)
        assert largest * times >= Fraction(each) * (1 - Fraction(1, 10**11))
        assert optimal_delta(largest, times=times, epsilon=each) <= small


def test_sums_out_of_range_are_one_query():
    below, above = Fraction(1, 10**100), Fraction(10**18)
    for inside, outside in ((below, below * (1 - Fraction(1, 10**30))), (above, above * (1 + Fraction(1, 10**30)))):
        for share in (Fraction(0), Fraction(1, 3), 1 - Fraction(1, 10**18)):
            within = optimal_delta(inside, epsilon=share * inside)
            without = optimal_delta(outside, epsilon=share * outside)
            assert abs(within - without) <= within * Fraction(1, 10**11)
        for delta in (inside / 5 if inside < 1 else Fraction(1, 5), Fraction(9, 10)):
            epsilons = [optimal_epsilon(total, delta=delta) for total in (inside, outside)]
            assert abs(epsilons[1] - epsilons[0]) <= epsilons[0] * Fraction(1, 10**18)


def test_sums_of_hundreds_are_composed():
    # The sum is 1000; the loss has the mean 1000 tanh(1/2) = 462 and a deviation of 89 or less.
    assert 462 < optimal_epsilon(1, times=1000, delta="1e-6") < 700
    assert optimal_delta(1, times=1000, epsilon=700) < Fraction(1, 10**6)


def test_the_epsilon_of_each_has_twelve_digits():
    assert optimal_epsilon_each(epsilon=1, delta="1e-6", times=100) == Fraction("0.0240110803971")


def test_nothing_to_spare():
    assert optimal_epsilon(0.1, times=50, delta=0) == 5
    assert optimal_epsilon([1, 2], delta=0) == 3
    assert optimal_epsilon(1, delta="1e-6", delta_each="1e-6") == 1  # decided exactly: not refused, not below 1
    assert optimal_epsilon(1, times=2, delta=0.75, delta_each=0.5) == 2
    with pytest.raises(ValueError, match="delta must be at least"):
        optimal_epsilon(1, times=2, delta=0.75 - 1e-15, delta_each=0.5)
    assert optimal_epsilon_each(epsilon=1, delta=0, times=7) == Fraction("0.142857142857")


@given(st.integers(1, 10**6), st.fractions(Fraction(1, 10**12), Fraction(1, 10), max_denominator=10**12))
@settings(max_examples=60)
def test_failures_of_many_queries(times, each):
    with_failures = optimal_delta(1, times=times, epsilon=times, delta_each=each)
    assert with_failures <= 1
    assert math.isclose(with_failures, -math.expm1(times * math.log1p(-float(each))), rel_tol=1e-9)


@given(st.integers(2, 5000), st.integers(0, 5000), st.integers(10, 80))
@example(2002, 1001, 80)
@example(2000, 1000, 80)
def test_binomial_coefficients(n, k, digits):
    k = 1 + k % (n - 1)  # the logarithm of 1 lies between numbers too small for fractions
    interval, exact = pure_losses.log_choose(n, k, Precision(digits)), Precision(100)(math.comb(n, k)).ln()
    assert interval.low <= exact.high
    assert exact.low <= interval.high
    assert Fraction(interval.high) - Fraction(interval.low) <= Fraction(10**4 * n, 10**digits)


@given(st.integers(2, 10**8), st.integers(0, 10**8), st.integers(20, 80))
def test_neighbouring_binomial_coefficients(n, k, digits):
    """Their ratio is (n - k) / (k + 1), near the ends as in the middle of a row."""
    k = k % n if k % 2 else k % min(n, 2000)
    at = Precision(digits)
    difference = pure_losses.log_choose(n, k + 1, at) - pure_losses.log_choose(n, k, at)
    exact = Precision(100)(Fraction(n - k, k + 1)).ln()
    assert difference.low <= exact.high
    assert exact.low <= difference.high
    assert Fraction(difference.high) - Fraction(difference.low) <= Fraction(10**4 * n, 10**digits)


@pytest.mark.parametrize(
    "case", [(1, 2, "0.5"), (50, 3, "0.01"), (1000, 1001, "0.999"), (10**5, 10**5 + 2, "0.9999999")]
)
def test_series(case):
    numerator, denominator, x = case
    series = pure_losses._series(numerator, denominator, Precision(30)(Fraction(x)))
    term, total, scale = Fraction(1), Fraction(1), 10**60
    for j in range(min(numerator, 4000)):
        term = Fraction(int(term * Fraction(x) * (numerator - j) / (denominator + j) * scale), scale)
        total += term
    assert Fraction(series.low) <= total + Fraction(1, 10**50)
    assert total <= Fraction(series.high)
    assert Fraction(series.high) - Fraction(series.low) < total / 10**18


def test_limits():
    start = time.process_time()
    plans = {
        "kinds": [1.001**i for i in range(99)],
        "sums": {"0.1": 30_000, "0.2": 30_000, "0.30001": 1000},
        "steps": [Fraction(i, 1000) for i in range(1, 362)],
    }
    for plan in plans.values():
        assert too_many_sums(plan)
        with pytest.raises(ValueError, match="epsilons must have at most"):
            optimal_epsilon(plan, delta=1e-6)
        with pytest.raises(ValueError, match="epsilons must have at most"):
            optimal_delta(plan, epsilon="0.001")
    assert time.process_time() - start < 10
    with pytest.raises(ValueError, match=r"up to 100000000 queries, got 100000001; zcdp_epsilon is for any number$"):
        optimal_epsilon(0.1, times=10**8 + 1, delta=1e-6)
    assert too_many_sums(0.1, times=10**8 + 1)
    assert not too_many_sums([Fraction(2**i, 10**6) for i in range(16)])
    assert not too_many_sums([0.1, 0.2], times=300)


def test_the_largest_plans_of_several_epsilons():
    plan = [Fraction(2**i, 10**5) for i in range(16)]  # 2^16 different sums
    start = time.process_time()
    epsilon = optimal_epsilon(plan, delta=1e-6)
    assert time.process_time() - start < 10
    assert optimal_delta(plan, epsilon=epsilon) <= Fraction(1, 10**6)
    assert optimal_delta(plan, epsilon=epsilon * (1 - Fraction(1, 10**15))) > Fraction(1, 10**6)


def test_bad_parameters():
    for delta, error in ((1, ValueError), (-0.1, ValueError), (float("nan"), ValueError), (None, TypeError)):
        with pytest.raises(error, match="delta"):
            optimal_epsilon(0.1, delta=delta)
        with pytest.raises(error, match="delta"):
            optimal_epsilon_each(epsilon=1, delta=delta, times=2)
        for function in (lambda **options: optimal_epsilon(0.1, delta=0.1, **options),
                         lambda **options: optimal_delta(0.1, epsilon=0.1, **options)):  # fmt: skip
            with pytest.raises(error, match="delta_each"):
                function(delta_each=delta)
    for epsilon, error in ((-1, ValueError), (float("inf"), ValueError), (None, TypeError)):
        with pytest.raises(error, match="epsilon"):
            optimal_delta(0.1, epsilon=epsilon)
        with pytest.raises(error, match="epsilon"):
            optimal_epsilon_each(epsilon=epsilon, delta=0.1, times=2)
    with pytest.raises(ValueError, match="times"):
        optimal_epsilon_each(epsilon=1, delta=0.1, times=0)
    with pytest.raises(ValueError, match="epsilon must be a positive number"):
        optimal_epsilon_each(epsilon=0, delta=0.1, times=1)


def test_as_many_queries_as_the_limit_and_no_more():
    assert pure_losses.losses_of({Fraction(1): 10**8}).last == 10**8
    with pytest.raises(ValueError, match=r"up to 100000000 queries, got 100000001; zcdp_epsilon is for any number$"):
        pure_losses.losses_of({Fraction(1): 10**8 + 1})
