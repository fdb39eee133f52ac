"""The searches behind every inverse: on the safe side, close, and with few evaluations."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exactnoise.accounting.interval import at_most, upper
from exactnoise.accounting.search import largest_on_grid, largest_whole, least_argument

CLOSE = Fraction(1, 10**17)


def counted(value):
    calls = []

    def evaluated(x):
        calls.append(x)
        return value(x)

    return evaluated, calls


def exp_falling(x):
    return lambda at: (-at(x)).exp()


def inverse(x):
    return lambda at: 1 / at(x)


def inverse_square(x):
    return lambda at: 1 / (at(x) * at(x))


HUGE, TINY = Fraction(10**300), Fraction(1, 10**300)
CASES = [
    # function, limit, low, high, the least argument, evaluations that are enough
    (exp_falling, Fraction(1, 1000), Fraction(0), Fraction(100), upper(lambda at: at(1000).ln()), 90),
    (exp_falling, Fraction(999, 1000), Fraction(0), Fraction(1), upper(lambda at: -at(Fraction(999, 1000)).ln()), 90),
    (exp_falling, Fraction(1, 10**300), Fraction(0), Fraction(1000), upper(lambda at: at(10**300).ln()), 90),
    (inverse, Fraction(1, 3), Fraction(1), Fraction(10), Fraction(3), 90),
    (inverse, Fraction(1, 7), Fraction(1, 10**5), Fraction(10**5), Fraction(7), 90),
    (inverse_square, Fraction(1, 3), Fraction(1, 10), Fraction(10), upper(lambda at: at(3).sqrt()), 90),
    (inverse, Fraction(1, 3), TINY, HUGE, Fraction(3), 90),
    (inverse, Fraction(10**299), TINY, HUGE, Fraction(1, 10**299), 90),
    (inverse, Fraction(1, 10**299), TINY, HUGE, Fraction(10**299), 90),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__}-{float(c[1]):.3g}-{float(c[2]):.3g}")
def test_least_argument_against_closed_forms(case):
    value, limit, low, high, root, enough = case
    evaluated, calls = counted(value)
    found = least_argument(evaluated, limit, low, high)
    assert at_most(value(found), limit)
    assert root * (1 - CLOSE) <= found <= root * (1 + CLOSE)
    # Exactly representable roots are found, not passed.
    assert len(calls) <= enough
    assert type(found) is Fraction


@given(st.fractions(Fraction(1, 1000), Fraction(999, 1000)), st.fractions(Fraction(1, 10**6), 10**6))
def test_least_argument_is_certified_and_close(limit, rate):
    evaluated, calls = counted(lambda x: exp_falling(rate * x))
    found = least_argument(evaluated, limit, Fraction(0), 8 / rate)
    assert at_most(exp_falling(rate * found), limit)
    assert not at_most(exp_falling(rate * found * (1 - CLOSE)), limit)
    assert len(calls) < 90


def test_a_step():
    """Where the function jumps over the limit there is no root, only a least argument."""

    def step(x):
        return lambda at: at(1 if x >= Fraction(1, 3) else 2)

    found = least_argument(step, Fraction(3, 2), Fraction(0), Fraction(1))
    assert Fraction(1, 3) <= found <= Fraction(1, 3) * (1 + CLOSE)


def test_a_flat_start_and_a_flat_end():
    def flat_then_falling(x):
        return lambda at: at(min(Fraction(10), 1 / x))

    found = least_argument(flat_then_falling, Fraction(1, 3), Fraction(1, 1000), Fraction(5))
    assert 3 <= found <= 3 * (1 + CLOSE)

    def falling_then_flat(x):
        return lambda at: at(max(1 / x, Fraction(1, 4)))

    found = least_argument(falling_then_flat, Fraction(1, 4), Fraction(1), Fraction(10**6))
    assert 4 <= found <= 10**6
    assert at_most(falling_then_flat(found), Fraction(1, 4))


def test_at_the_limit_everywhere():
    evaluated, calls = counted(lambda x: lambda at: at(1))
    found = least_argument(evaluated, Fraction(1), Fraction(0), Fraction(1))
    assert 0 <= found <= 1
    assert len(calls) < 400


def test_an_infinite_start():
    found = least_argument(inverse, Fraction(1, 3), Fraction(0), Fraction(10))
    assert 3 <= found <= 3 * (1 + CLOSE)


def test_the_callers_decimal_context_does_not_matter():
    expected = least_argument(exp_falling, Fraction(1, 7), Fraction(0), Fraction(9))
    with decimal.localcontext() as context:
        context.prec, context.rounding, context.Emax, context.Emin = 1, decimal.ROUND_UP, 0, 0
        context.traps = dict.fromkeys(context.traps, True)
        assert least_argument(exp_falling, Fraction(1, 7), Fraction(0), Fraction(9)) == expected
        assert largest_on_grid(lambda x: x <= Fraction(22, 7), Fraction(1), 5) == Fraction(31428, 10**4)


positive = st.builds(lambda m, e: m * Fraction(10) ** e, st.integers(1, 10**12), st.integers(-20, 20))


@given(positive, st.fractions(Fraction(1, 50), 50), st.integers(1, 17))
def test_largest_on_grid(limit, factor, digits):
    fits, calls = counted(lambda x: x <= limit)
    found = largest_on_grid(fits, limit * factor, digits)
    exponent = 0
    while found >= Fraction(10) ** (exponent + 1):
        exponent += 1
    while found < Fraction(10) ** exponent:
        exponent -= 1
    unit = Fraction(10) ** (exponent + 1 - digits)
    assert found <= limit < found + unit
    assert (found / unit).denominator == 1
    assert len(calls) < 4 * digits + 30


def test_a_power_of_ten_between_the_guess_and_the_limit():
    for guess in (1, 6, 11, 20, 10**6):
        assert largest_on_grid(lambda x: x <= Fraction("11.53"), Fraction(guess), 2) == 11


@given(st.integers(0, 10**30), st.integers(1, 10**30))
def test_largest_whole(limit, start):
    fits, calls = counted(lambda n: n <= limit)
    assert largest_whole(fits, start) == limit
    assert min(calls) >= 1
    assert len(calls) < 250


def test_largest_whole_is_quick_from_a_good_start():
    for limit, start in ((10**12, 10**12), (10**12 + 1, 10**12), (10**12, 10**12 + 1), (0, 1), (1, 1)):
        fits, calls = counted(lambda n, limit=limit: n <= limit)
        assert largest_whole(fits, start) == limit
        assert len(calls) <= 6
