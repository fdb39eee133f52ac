"""The exact privacy of repeated Laplace noise."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from itertools import pairwise

import pytest
from golden import is_just_above, load
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.accounting import laplace, laplace_delta, laplace_epsilon, laplace_rdp, optimal_epsilon, rdp_epsilon
from exactnoise.accounting.interval import upper

ROWS = load("laplace_profile")


@pytest.mark.parametrize("row", ROWS["epsilon"], ids=lambda row: f"{row['k']} of {row['scale']}, {row['delta']}")
def test_epsilon(row):
    epsilon = laplace_epsilon(1 / Fraction(row["scale"]), row["delta"], times=row["k"])
    assert is_just_above(epsilon, row["value"], 1e-14)


@pytest.mark.parametrize("row", ROWS["delta"], ids=lambda row: f"{row['k']} of {row['scale']}, {row['epsilon']}")
def test_delta(row):
    delta = laplace_delta(1 / Fraction(row["scale"]), row["epsilon"], times=row["k"])
    assert is_just_above(delta, row["value"])
    if Fraction(row["epsilon"]) >= row["k"] / Fraction(row["scale"]):
        assert delta == 0


@pytest.mark.parametrize(
    ("each", "k", "epsilon", "value"),
    [
        ("0.1", 50, "1.3", "0.01490818396947155513666979"),
        ("0.5", 100, "10", "0.4742225513450336773325288"),
    ],
)
def test_many_releases(each, k, epsilon, value):
    """By the formula of the vectors' script at 330 digits: 40 of the 51 polynomials matter here."""
    assert is_just_above(laplace_delta(each, epsilon, times=k), value)


def test_the_rows_catch_the_wrong_side(monkeypatch):
    monkeypatch.setattr(laplace, "upper", lambda formula: upper(formula) * (1 - Fraction(1, 10**16)))
    for row in ROWS["delta"]:
        delta = laplace_delta(1 / Fraction(row["scale"]), row["epsilon"], times=row["k"])
        assert not delta or not is_just_above(delta, row["value"])


@given(st.fractions(Fraction(1, 100), 20), st.fractions(0, 20))
def test_one_release_has_a_short_formula(each, epsilon):
    if epsilon >= each:
        assert laplace_delta(each, epsilon) == 0
    else:
        assert laplace_delta(each, epsilon) == upper(lambda at: 1 - at((epsilon - each) / 2).exp())


def convolved_delta(each, times, epsilon, steps=400):
    """Bounds of delta by brute force: the loss rounded up and down to a lattice, convolved."""
    e = float(each)
    width = 2 * e / steps
    edges = [-e + i * width for i in range(steps + 1)]

    def below(loss):  # P(L < loss) within the density's range
        return math.exp(-e) / 2 + (math.exp((loss - e) / 2) - math.exp(-e)) / 2

    cells = [below(b) - below(a) for a, b in pairwise(edges)]
    bounds = []
    for shift in (0, 1):
        single = [0.0] * (steps + 1)
        single[0], single[-1] = math.exp(-e) / 2, 0.5
        for i, mass in enumerate(cells):
            single[i + shift] += mass
        several = [1.0]
        for _ in range(times):
            several = [
                sum(several[i - j] * single[j] for j in range(max(0, i - len(several) + 1), min(i, steps) + 1))
                for i in range(len(several) + steps)
            ]
        losses = [-times * e + i * width for i in range(len(several))]
        bounds.append(
            sum(p * (1 - math.exp(float(epsilon) - x)) for p, x in zip(several, losses, strict=True) if x > epsilon)
        )
    return bounds


@pytest.mark.parametrize(("each", "times", "epsilon"), [("1", 2, "0.3"), ("0.5", 3, "0.9"), ("2", 2, "1.7")])
def test_against_brute_force(each, times, epsilon):
    low, high = convolved_delta(Fraction(each), times, Fraction(epsilon))
    assert high - low < 0.01
    assert low * (1 - 1e-9) <= float(laplace_delta(each, epsilon, times=times)) <= high * (1 + 1e-9)


@given(st.fractions(Fraction(1, 10), 3), st.integers(2, 6), st.fractions(0, 5))
def test_a_change_in_one_coordinate_is_the_worst(whole, parts, epsilon):
    """A bounded L1 norm divided over several coordinates is several releases of smaller epsilon."""
    assert laplace_delta(whole / parts, epsilon, times=parts) <= laplace_delta(whole, epsilon)


@given(st.fractions(Fraction(1, 10), 2), st.integers(1, 12), st.sampled_from(["0.1", "1e-4", "1e-9"]))
def test_inverse_and_order(each, times, delta):
    epsilon = laplace_epsilon(each, delta, times=times)
    assert laplace_delta(each, epsilon, times=times) <= Fraction(delta)
    assert epsilon <= optimal_epsilon(each, times=times, delta=delta) * (1 + Fraction(1, 10**18))
    assert epsilon <= rdp_epsilon(lambda order: times * laplace_rdp(order, each), delta)
    assert epsilon <= laplace_epsilon(each, delta, times=times + 1)


@pytest.mark.parametrize("each", ["1e-300", "1e-6", 50, "1e300"])
@pytest.mark.parametrize("times", [1, 7, 30])
def test_extremes(each, times):
    whole = times * Fraction(each)
    assert laplace_epsilon(each, 0, times=times) == whole
    assert 0 <= laplace_epsilon(each, "1e-300", times=times) <= whole
    assert 0 <= laplace_epsilon(each, "0.999", times=times) <= whole
    assert laplace_delta(each, 0, times=times) <= 1


def test_long_parameters_keep_the_contract():
    each = Fraction(1, 3 * 10**121)
    assert laplace_delta(each, each) == 0
    assert laplace_epsilon(each, 0) == each
    assert laplace_epsilon(each, "1e-300", times=3) <= 3 * each


def test_the_largest_number_of_releases_is_quick():
    started = time.process_time()
    assert float(laplace_epsilon("0.1", 1e-6, times=laplace.MOST_TIMES)) == pytest.approx(4.6926674, abs=1e-7)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: laplace_delta(0, 1), ValueError, "epsilon_each must be a positive number"),
        (lambda: laplace_delta(1, -1), ValueError, "epsilon must be zero or a positive number"),
        (lambda: laplace_delta(1, 1, times=0), ValueError, "times must be a whole number >= 1"),
        (lambda: laplace_delta(1, 1, times=2.0), TypeError, "times must be a whole number >= 1"),
        (lambda: laplace_epsilon(1, 1), ValueError, "delta must be zero or a positive number below 1"),
        (
            lambda: laplace_epsilon(1, 0.1, times=101),
            ValueError,
            "times must be at most 100 .* rdp_epsilon .* pld_epsilon",
        ),
    ],
)
def test_refusals(call, error, words):
    with pytest.raises(error, match=words):
        call()
