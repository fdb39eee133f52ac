"""Amounts: what a typed number means, what is refused, and rounding outwards."""

from __future__ import annotations

import math
import numbers
import re
import sys
import time
from decimal import Decimal
from fractions import Fraction

import gmpy2
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exactnoise.accounting.amount import approximately, exact, float_down, float_up, from_text, text

MAX = sys.float_info.max
TINY = 5e-324


@pytest.mark.parametrize(
    ("value", "meaning"),
    [
        (0.1, Fraction(1, 10)),
        (0.3, Fraction(3, 10)),
        (1 / 3, Fraction(3333333333333333, 10**16)),
        (1, Fraction(1)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Fraction(1, 11), Fraction(1, 11)),
        ("0.1", Fraction(1, 10)),
        (" 1/11 ", Fraction(1, 11)),
        ("1 / 7", Fraction(1, 7)),
        ("+2", Fraction(2)),
        ("1e-6", Fraction(1, 10**6)),
        (1e-6, Fraction(1, 10**6)),
        (TINY, Fraction(5, 10**324)),
        (1e300, Fraction(10**300)),
        ("1e400", Fraction(10**400)),
        ("1e-400", Fraction(1, 10**400)),
        (Fraction(1, 10**500), Fraction(1, 10**500)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.longdouble("0.1"), Fraction(*np.longdouble("0.1").as_integer_ratio())),
        (np.int64(3), Fraction(3)),
        (np.uint8(3), Fraction(3)),
    ],
)
def test_meaning(value, meaning):
    amount = exact(value, "epsilon")
    assert type(amount) is Fraction
    assert amount == meaning
    assert type(amount.numerator) is int


@pytest.mark.parametrize(
    "value",
    [True, False, np.True_, None, 1j, b"1", [1], (1,), np.array(1.0), np.timedelta64(1, "s")],
    ids=repr,
)
def test_wrong_types(value):
    with pytest.raises(TypeError, match=r"epsilon must be a number .*'1/11'.*, got ") as refusal:
        exact(value, "epsilon")
    assert type(value).__name__ in str(refusal.value)


@pytest.mark.parametrize(
    "value",
    [
        *(0, 0.0, -0.0, "0", "0/5", "-0", "0e999999999", -1, -0.1, "-1/11", Fraction(-1, 3)),
        *(math.nan, math.inf, -math.inf, "nan", "inf", "-Infinity", np.float32("nan")),
        *(Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), np.longdouble("inf")),
        *("", " ", "one", "0,1", "1/0", "1/", "/3", "1/2/3", "0.5/2", "1//2", "1e", "0x10", "--1"),
        *("1e401", "1e-401", "1e999999999", "1e-999999999", "1e99999999999999999999999"),
        *(Decimal("1e999999"), "1/" + "9" * 5000, "9" * 100_000, "0." + "1" * 100_000),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_refused_values(value):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"\Aepsilon must .*, got ") as refusal:
        exact(value, "epsilon")
    assert time.process_time() - started < 1
    assert repr(value)[:20] in str(refusal.value)
    assert len(str(refusal.value)) < 250


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("0,1", "a ratio such as '1/11', got '0,1'; a comma is no decimal point"),
        ("0.1 %", "a ratio such as '1/11', got '0.1 %'"),
        ("1E99999999999999999999", "must lie between 1e-400 and 1e400 and end within 2000 decimal places, "),
    ],
)
def test_what_is_wrong_with_a_text(value, told):
    with pytest.raises(ValueError, match=r"^epsilon must ") as refusal:
        exact(value, "epsilon")
    assert told in str(refusal.value)
    assert ("comma" in str(refusal.value)) == ("," in value)


@numbers.Real.register
class Opaque:
    """A real number that does not tell its value as a ratio."""


def test_reals_without_a_ratio():
    with pytest.raises(TypeError, match=r"^epsilon must be a number .*, got .*Opaque"):
        exact(Opaque(), "epsilon")


@pytest.mark.parametrize("written", [5, 0.5, None, b"1"])
def test_only_text_is_read_as_what_was_written(written):
    with pytest.raises(TypeError, match=f"^delta must be text, got {re.escape(repr(written))}$"):
        from_text(written, "delta")


@pytest.mark.parametrize("legacy", [False, "1.13", "1.21"])
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_print_settings_change_no_amount(kind, legacy):
    values = [kind(text) for text in ("0.1", "0.1234564", "3.4e4", "6e-5", "2049", "1234.567")]
    before = [exact(value, "sensitivity") for value in values]
    with np.printoptions(legacy=legacy, precision=3):
        assert [exact(value, "sensitivity") for value in values] == before
        if kind is np.float32:
            assert before[1] == Fraction("0.1234564")
    assert [kind(float(amount)) for amount in before] == [kind(float(value)) for value in values]


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_the_ends_of_narrow_types(kind):
    info = np.finfo(kind)
    for value in (info.max, info.smallest_subnormal, info.tiny):
        assert kind(float(exact(value, "x"))) == value
    for value in (kind("inf"), kind("nan")):
        with pytest.raises(ValueError, match="x must be finite"):
            exact(value, "x")


def test_other_reals_mean_their_exact_value():
    third = gmpy2.div(gmpy2.mpfr(1, 200), 3)
    with gmpy2.context(precision=8):
        assert exact(third, "x") == Fraction(*map(int, third.as_integer_ratio()))


@pytest.mark.parametrize(
    "value",
    [1 << 10**6, Fraction(1, 10**50_000), Fraction(10**50_000, 7), gmpy2.mpq(1, gmpy2.mpz(3) ** 10**6)],
    ids=["integer", "tiny", "huge", "rational"],
)
@pytest.mark.parametrize("price", [False, True])
def test_lengths_that_would_be_slow(value, price):
    started = time.process_time()
    with pytest.raises(ValueError, match=r"\Aepsilon must lie between 1e-400 and 1e400 .*, got ") as refusal:
        exact(value, "epsilon", price=price)
    assert time.process_time() - started < 0.2
    assert len(str(refusal.value)) < 250


def test_prices_may_be_longer_than_parameters():
    parameter, price = Fraction(2**8000 - 1, 3), Fraction(2**16000 - 1, 7)
    assert exact(parameter, "x") == parameter
    assert exact(price, "x", price=True) == price
    assert exact(Fraction(2**24000 - 1, 7), "x", price=True) == Fraction(2**24000 - 1, 7)
    with pytest.raises(ValueError, match="x must lie between"):
        exact(Fraction(2**24000, 7), "x", price=True)
    with pytest.raises(ValueError, match=r"ratio of integers below 2\*\*8000"):
        exact(price, "x")


def test_2000_decimal_places_and_no_more():
    assert exact("0." + "1" * 2000, "x") == Fraction(int("1" * 2000), 10**2000)
    with pytest.raises(ValueError, match="end within 2000 decimal places"):
        exact("0." + "1" * 2001, "x")


def test_28_characters_are_shown_and_no_more():
    shown = "0." + "123456789" * 2 + "12345678"
    assert approximately(Fraction(shown)) == shown
    assert approximately(Fraction(shown + "9")) == "about 0.123456789123"


def test_least():
    assert exact("0.1", "x", least=Fraction(1, 10)) == Fraction(1, 10)
    with pytest.raises(ValueError, match=r"^x must be at least 0.1, got 0.099$"):
        exact(0.099, "x", least=Fraction(1, 10))


def test_integers_that_python_does_not_print():
    with pytest.raises(ValueError, match="got a int of thousands of digits"):
        exact(-(10**5000), "epsilon")


def test_zero_and_upper_limit():
    assert exact(0, "delta", positive=False) == 0
    assert exact("0.999", "delta", below=1) == Fraction(999, 1000)
    with pytest.raises(ValueError, match="delta must be a positive number below 1, got 1"):
        exact(1, "delta", below=1)
    with pytest.raises(ValueError, match=r"delta must be zero or a positive number, got -1e-09"):
        exact(-1e-9, "delta", positive=False)


@given(st.floats(min_value=0, allow_infinity=False, exclude_min=True))
def test_a_float_means_its_text(value):
    assert exact(value, "x") == Fraction(repr(value))
    assert exact(value, "x") == exact(np.float64(value), "x") == exact(repr(value), "x")


@given(st.floats(min_value=0, allow_infinity=False, exclude_min=True, width=32))
def test_single_precision_means_its_own_text(value):
    amount = exact(np.float32(value), "x")
    assert np.float32(float(amount)) == np.float32(value)
    assert len(str(amount.numerator).rstrip("0")) <= 9


fractions = st.one_of(
    st.fractions(),
    st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
    st.builds(
        lambda f, k, s: Fraction(f) + Fraction(s, 10**k),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(0, 400),
        st.sampled_from([-1, 1]),
    ),
)


@given(fractions)
@example(Fraction(0))
@example(Fraction(1, 10**400))
@example(Fraction(TINY) / 2)
@example(Fraction(sys.float_info.min) - Fraction(1, 10**400))
@example(Fraction(MAX))
def test_outward_rounding_is_tight(value):
    for x, up, down in ((value, float_up, float_down), (-value, float_down, float_up)):
        if abs(x) <= Fraction(MAX):
            upper = up(x) if up is float_up else -up(x)
            target = x if up is float_up else -x
            assert Fraction(upper) >= target
            below = math.nextafter(upper, -math.inf)
            assert below == -math.inf or Fraction(below) < target
            assert float_up(target) == -float_down(-target)
        assert down is not up


def test_outward_rounding_at_the_ends():
    beyond = Fraction(MAX) + 1
    assert float_down(beyond) == float_down(Fraction(10**400)) == MAX
    assert float_up(-beyond) == float_up(Fraction(-(10**400))) == -MAX
    for too_large in (beyond, Fraction(10**400)):
        with pytest.raises(ValueError, match="above the largest double"):
            float_up(too_large)
    assert float_up(Fraction(1, 10**400)) == TINY
    assert float_down(Fraction(1, 10**400)) == 0
    for zero in (float_up(Fraction(0)), float_down(Fraction(0)), float_up(Fraction(-1, 10**400))):
        assert math.copysign(1, zero) == 1


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0.1", "0.1"),
        ("1/11", "1/11"),
        ("1/2", "0.5"),
        ("0", "0"),
        ("20", "20"),
        ("1e15", "1000000000000000"),
        ("1e16", "1e16"),
        ("0.0001", "0.0001"),
        ("1e-6", "1e-6"),
        ("12.5e-7", "1.25e-6"),
        ("123456.75", "123456.75"),
    ],
)
def test_text(value, shown):
    assert text(Fraction(value)) == shown
    assert text(-Fraction(value)) == (shown if shown == "0" else "-" + shown)


@given(st.fractions(min_value=0) | st.decimals(0, 10**20).map(Fraction) | fractions.map(abs))
def test_text_is_read_back(value):
    assert exact(text(value), "x", positive=False) == value


def test_text_of_thousands_of_digits():
    assert text(Fraction(1, 3**20_000)).startswith("1/")
    assert text(Fraction(10) ** 9999) == "1e9999"


@pytest.mark.parametrize("exponent", [400, 401, 415, 800])
@pytest.mark.parametrize("sign", [1, -1])
def test_text_at_the_ends_of_what_is_read(exponent, sign):
    value = Fraction("1.248") * Fraction(10) ** (sign * exponent)
    assert exact(text(value), "epsilon") == value


@given(st.fractions(min_value=0, max_value=10**9))
def test_approximate_text_does_not_exceed(value):
    shown = approximately(value)
    if shown.startswith("about "):
        assert exact(shown[6:], "x", positive=False) <= value
        assert len(shown) < 30
    else:
        assert exact(shown, "x", positive=False) == value


@pytest.mark.parametrize("value", ["-0.1", -0.1, Decimal("-0.1"), Fraction(-1, 10), "-1/10"])
def test_signed_amounts(value):
    assert exact(value, "low", signed=True) == Fraction(-1, 10)
    assert exact(0, "low", signed=True) == 0
    assert exact("0.1", "low", signed=True) == Fraction(1, 10)
    with pytest.raises(ValueError, match=r"^low must be a positive number, got "):
        exact(value, "low")
    with pytest.raises(ValueError, match=r"^low must be finite, got "):
        exact("nan", "low", signed=True)
