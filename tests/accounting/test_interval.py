"""Every operation on intervals holds every possible result, and `upper` and `lower` never cross the truth."""

from __future__ import annotations

import decimal
import math
import operator
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from exactnoise.accounting import interval
from exactnoise.accounting.amount import decimal_context
from exactnoise.accounting.interval import Interval, Precision, at_most, enclose, lower, upper

INFINITY = Decimal("Infinity")
ROOMY = decimal_context(400, decimal.ROUND_HALF_EVEN)
# The reference below is rounded at 400 digits.
ERROR = Fraction(1, 10**380)

digits = st.integers(1, 40)
numbers = st.one_of(
    st.fractions(-1000, 1000, max_denominator=10**6),
    st.integers(-3, 3).map(Fraction),
    st.builds(lambda m, e: m * Fraction(10) ** e, st.integers(-(10**30), 10**30), st.integers(-320, 290)),
)
positive = numbers.map(abs).filter(bool)
# Where the reference's exp has 400 digits that are all right, and no integer of a million digits arises.
exponents = st.one_of(
    st.fractions(-500, 500), st.builds(lambda m, e: Fraction(m, 10**e), numbers, st.integers(300, 340))
)


@st.composite
def intervals(draw, values=numbers):
    """An interval of some precision, and an exact number inside: sometimes an end of it."""
    at = Precision(draw(digits))
    ends = sorted((draw(values), draw(values)))
    result = Interval(at, at(ends[0]).low, at(ends[1]).high)
    share = draw(st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 2), Fraction(1, 3)]))
    low, high = Fraction(result.low), Fraction(result.high)
    return result, low + share * (high - low)


def contains(result: Interval, truth: Fraction) -> bool:
    """Comparisons of decimals with fractions are exact; a fraction of 1e-1999999999999999997 is out of reach."""
    return result.low <= truth <= result.high


def contains_nearly(result: Interval, reference: Decimal) -> bool:
    """The same for a reference that is itself rounded: the interval may not end short of its error."""
    middle, slack = Fraction(reference), abs(Fraction(reference)) * ERROR
    return contains(result, middle - slack) or contains(result, middle + slack) or contains(result, middle)


def reference(name: str, x: Fraction) -> Decimal:
    return getattr(ROOMY, name)(ROOMY.divide(Decimal(x.numerator), Decimal(x.denominator)))


@given(numbers, digits)
def test_an_exact_number_is_held(x, count):
    result = Precision(count)(x)
    assert contains(result, x)
    assert len(result.low.as_tuple().digits) <= count
    assert len(result.high.as_tuple().digits) <= count
    # No wider than one unit in the last place.
    assert Fraction(result.high) - Fraction(result.low) <= abs(x) * 10 * Fraction(1, 10**count) * 10


OPERATIONS = [operator.add, operator.sub, operator.mul, operator.truediv]


@given(intervals(), intervals(), st.sampled_from(OPERATIONS))
def test_arithmetic_holds_the_exact_result(a, b, operation):
    (left, x), (right, y) = a, b
    result = operation(left, right)
    assert not result.low.is_nan()
    assert not result.high.is_nan()
    if operation is operator.truediv and right.low <= 0 <= right.high:
        assert (result.low, result.high) == (-INFINITY, INFINITY)
    else:
        assert contains(result, operation(x, y))


@given(intervals(), numbers, st.sampled_from(OPERATIONS), st.booleans())
def test_arithmetic_with_exact_numbers(a, y, operation, reflected):
    left, x = a
    assume(operation is not operator.truediv or (not contains(left, Fraction(0)) if reflected else y))
    if reflected:
        assert contains(operation(y, left), operation(y, x))
    else:
        assert contains(operation(left, y), operation(x, y))
    assert contains(-left, -x)


@given(intervals(exponents))
def test_exp(a):
    argument, x = a
    result = argument.exp()
    assert result.low >= 0
    assert contains_nearly(result, reference("exp", x))


@given(intervals(positive))
def test_ln(a):
    argument, x = a
    assume(x)
    assert contains_nearly(argument.ln(), reference("ln", x))


@given(intervals(positive))
@example((Interval(Precision(1), Decimal(4), Decimal(9)), Fraction(4)))
def test_sqrt(a):
    argument, x = a
    result = argument.sqrt()
    assert contains_nearly(result, reference("sqrt", x))
    assert Fraction(result.low) ** 2 <= Fraction(argument.low)
    assert Fraction(result.high) ** 2 >= Fraction(argument.high)


@given(intervals(), st.integers(-5, 5), st.integers(0, 5))
def test_clipped(a, least, width):
    argument, x = a
    result = argument.clipped(least, least + width)
    assert contains(result, min(max(x, Fraction(least)), Fraction(least + width)))
    assert least <= result.low <= result.high <= least + width
    assert contains(argument.clipped(least), max(x, Fraction(least)))


def test_what_is_not_positive_counts_as_zero():
    at = Precision(10)
    around = Interval(at, Decimal(-1), Decimal(4))
    assert around.ln().low == -INFINITY
    assert around.ln().high > Decimal("1.38")
    assert (at(-1).ln().low, at(-1).ln().high) == (-INFINITY, -INFINITY)
    assert at(0).ln().high == -INFINITY
    assert around.sqrt().low == 0
    assert around.sqrt().high == 2
    assert (at(-3).sqrt().low, at(-3).sqrt().high) == (0, 0)
    assert (at(9).sqrt().low, at(9).sqrt().high) == (3, 3)


ends = st.one_of(
    st.sampled_from(
        [-INFINITY, INFINITY, Decimal(0), Decimal("-0"), Decimal("1e-999999999999"), Decimal("1e999999999")]
    ),
    numbers.map(lambda x: Precision(20)(x).low),
)
UNARY = [operator.neg, Interval.exp, Interval.ln, Interval.sqrt, lambda i: i.clipped(0, 1)]


@given(ends, ends, ends, ends, st.sampled_from(OPERATIONS), st.sampled_from(UNARY))
def test_no_result_is_nan_or_upside_down(a, b, c, d, operation, function):
    at = Precision(20)
    left, right = Interval(at, *sorted((a, b))), Interval(at, *sorted((c, d)))
    for result in (operation(left, right), function(left), function(operation(left, right))):
        assert not result.low.is_nan()
        assert not result.high.is_nan()
        assert result.low <= result.high


def test_infinities():
    at = Precision(10)
    endless = Interval(at, Decimal(1), INFINITY)
    assert endless.exp().high == INFINITY
    assert endless.ln().high == INFINITY
    assert endless.sqrt().high == INFINITY
    assert (1 / endless).low == 0
    assert (endless - endless).low == -INFINITY
    assert (endless - endless).high == INFINITY
    assert (endless * at(0)).high == INFINITY  # no bound is known
    assert (-endless).exp().low == 0
    assert at(10**400).exp().high == INFINITY  # beyond the decimal exponents
    assert at(10**400).exp().low.is_finite()
    assert (at(-(10**400)).exp()).low == 0
    assert (at(-(10**400)).exp()).high > 0


def test_a_nan_end_means_no_bound():
    nan = Decimal("NaN")
    result = Interval(Precision(5), nan, nan)
    assert (result.low, result.high) == (-INFINITY, INFINITY)


def test_agreement():
    at = Precision(30)
    assert Interval(at, Decimal(1), Decimal("1.0001")).agrees_to(4)
    assert not Interval(at, Decimal(1), Decimal("1.0002")).agrees_to(4)
    assert not Interval(at, Decimal(0), Decimal("1e-100")).agrees_to(1)
    assert Interval(at, Decimal(0), Decimal(0)).agrees_to(30)
    assert not Interval(at, Decimal(1), INFINITY).agrees_to(1)
    assert Interval(at, INFINITY, INFINITY).agrees_to(30)
    assert "1 .. 2" in repr(Interval(at, Decimal(1), Decimal(2)))


def machin_pi(count: int) -> Fraction:
    """Pi between two fractions, by another formula: Euler's arctan 1/2 + arctan 1/3."""
    terms = 4 * count

    def arctan(x: Fraction) -> Fraction:
        return sum(((-1) ** i * x ** (2 * i + 1) / (2 * i + 1) for i in range(terms)), Fraction(0))

    return 4 * (arctan(Fraction(1, 2)) + arctan(Fraction(1, 3)))


def test_pi():
    truth, error = machin_pi(150), Fraction(1, 10**200)
    for count in [*range(1, 150, 7), 5, 6, 9]:
        pi = Precision(count).pi
        assert Fraction(pi.low) <= truth - error
        assert truth + error <= Fraction(pi.high)
        assert pi.agrees_to(count - 2)
    assert interval._pi(30) == Decimal("3.141592653589793238462643383279")


@given(st.integers(1, 500))
def test_pi_is_cut_below(count):
    """Whatever the digits: cut, not rounded, as more digits show."""
    cut, more = interval._pi(count), interval._pi(600)
    assert Fraction(cut) <= Fraction(more) < Fraction(cut) + Fraction(1, 10**count)


# Formulas that lose nearly all their digits, and their values by series.
def exp_less_its_start(x: Fraction) -> tuple[interval.Formula, Fraction, Fraction]:
    """e^x - 1 - x: about x^2 / 2, between the first terms of its series."""
    below = x**2 / 2 + x**3 / 6
    return lambda at: at(x).exp() - 1 - x, below, below + x**4 / 23


@given(st.integers(-300, -3), st.integers(1, 40))
def test_cancellation_costs_no_correctness(exponent, count):
    formula, below, above = exp_less_its_start(Fraction(10) ** exponent)
    result, beneath = upper(formula, count), lower(formula, count)
    assert below <= result
    assert beneath <= above
    assert result - beneath <= above * Fraction(1, 10 ** (count - 1))
    assert len(str(Decimal(result.numerator))) <= count or result.denominator > 1


@given(numbers.filter(bool), digits)
def test_upper_and_lower_round_outwards_and_keep_the_digits(x, count):
    above, below = upper(lambda at: at(x), count), lower(lambda at: at(x), count)
    assert below <= x <= above
    assert above - below <= abs(x) * Fraction(10, 10**count)
    for kept in (above, below):
        assert Fraction(decimal_context(count, decimal.ROUND_DOWN).create_decimal(reference("plus", kept))) == kept


@given(st.fractions(Fraction(1, 1000), 1000), digits)
def test_upper_and_lower_of_an_irrational_value(x, count):
    truth = reference("exp", x)
    assert (
        Fraction(lower(lambda at: at(x).exp(), count))
        < Fraction(truth)
        < Fraction(upper(lambda at: at(x).exp(), count))
    )


def test_at_most():
    assert at_most(lambda at: at(2).sqrt(), Fraction(1414214, 10**6))
    assert not at_most(lambda at: at(2).sqrt(), Fraction(1414213, 10**6))
    # Exact numbers are decided at once, equal ones too.
    assert at_most(lambda at: at(Fraction(1, 4)), Fraction(1, 4))
    # Nearer than the first precision tells apart.
    close = Fraction(reference("exp", Fraction(1)))
    assert not at_most(lambda at: at(1).exp(), close - Fraction(1, 10**300))
    assert at_most(lambda at: at(1).exp(), close + Fraction(1, 10**300))


def tries(formula):
    used = []

    def counted(at):
        used.append(at.digits)
        return formula(at)

    return counted, used


def test_the_search_for_digits_ends():
    """A value of exactly 0 never agrees in relative terms; an equal limit is never decided."""
    formula, used = tries(lambda at: at(Fraction(1, 3)) - Fraction(1, 3))
    result = enclose(formula)
    assert result.low <= 0 <= result.high
    assert result.high < Decimal("1e-3000")
    assert len(used) < 12
    assert used == sorted(used)
    formula, used = tries(lambda at: at(Fraction(1, 3)) * 3)
    assert not at_most(formula, Fraction(1))
    assert len(used) < 12
    formula, used = tries(lambda at: Interval(at, -INFINITY, INFINITY))
    assert enclose(formula).high == INFINITY
    assert len(used) < 12


def test_agreement_ends_the_search_at_once():
    formula, used = tries(lambda at: at(2).sqrt())
    enclose(formula, 20)
    assert used == [30]


class Nearest(Precision):
    """What a program without directed rounding calculates with."""

    __slots__ = ()

    def __init__(self, digits: int) -> None:
        super().__init__(digits)
        self.down = self.up = decimal_context(digits, decimal.ROUND_HALF_EVEN)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_rounding_to_the_nearest_is_caught(operation):
    missed = 0
    for i in range(1, 200):
        x, y = Fraction(i * 7919, 997), Fraction(i, 331)
        exact = operation(x, y)
        missed += not contains(operation(Nearest(5)(x), Nearest(5)(y)), exact)
        assert contains(operation(Precision(5)(x), Precision(5)(y)), exact)
    assert missed > 100


@pytest.mark.parametrize("name", ["exp", "ln"])
def test_missing_steps_outwards_are_caught(monkeypatch, name):
    """Both functions are correct to half a unit only: without the step to the neighbour they fail."""

    def misses() -> int:
        at = Precision(5)
        values = [Fraction(i, 64) for i in range(1, 200)]
        return sum(not contains_nearly(getattr(at(x), name)(), reference(name, x)) for x in values)

    assert misses() == 0

    def without_steps(self):
        return Interval(self.at, getattr(self.at.down, name)(self.low), getattr(self.at.up, name)(self.high))

    monkeypatch.setattr(Interval, name, without_steps)
    assert misses() > 40


def test_exp_and_ln_are_correct_to_half_a_unit():
    """The property of the decimal module that the steps rely on, in every rounding direction."""
    for rounding in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING):
        context = decimal_context(4, rounding)
        for i in range(1, 400, 7):
            x = Decimal(i).scaleb(-2)
            for name in ("exp", "ln"):
                rounded, truth = getattr(context, name)(x), reference(name, Fraction(x))
                unit = Fraction(10) ** (rounded.adjusted() - 3)
                assert abs(Fraction(rounded) - Fraction(truth)) <= unit / 2


HOSTILE = {"prec": 1, "rounding": decimal.ROUND_UP, "Emin": 0, "Emax": 0, "capitals": 0, "clamp": 1}


def every_operation():
    at = Precision(12)
    x, y = at(Fraction(10, 7)), at(Fraction(-1, 3))
    around = Interval(at, Decimal(-1), Decimal(3))
    results = [x + y, x - y, x * y, x / y, -x, x.exp(), x.ln(), x.sqrt(), y.clipped(0), at.pi, 2 / x, 3 - y]
    results += [
        1 / around,
        around * y,
        around.ln(),
        around.sqrt(),
        at(10**30).exp(),
        x / Interval(at, Decimal(1), INFINITY),
    ]
    decided = [at_most(lambda at: at(2).sqrt(), Fraction(3, 2)), x.agrees_to(5), y.agrees_to(12)]
    ends = [upper(lambda at: at(Fraction(1, 10**9)).exp() - 1), lower(lambda at: at.pi.sqrt(), 7)]
    return [*((x.low, x.high) for x in results), *decided, *ends]


def test_no_decimal_setting_of_the_program_matters(monkeypatch):
    expected = every_operation()
    defaults = decimal.DefaultContext
    for name, value in HOSTILE.items():
        monkeypatch.setattr(defaults, name, value)
    monkeypatch.setattr(defaults, "traps", dict.fromkeys(defaults.traps, True))
    interval._pi.cache_clear()
    with decimal.localcontext() as context:
        for name, value in HOSTILE.items():
            setattr(context, name, value)
        context.traps = dict.fromkeys(context.traps, True)
        assert every_operation() == expected
        with pytest.raises(decimal.DecimalException):  # the settings are hostile
            Decimal(1) / Decimal(3)


def test_results_are_fractions():
    assert type(upper(lambda at: at(1))) is Fraction
    assert type(lower(lambda at: at(1))) is Fraction
    assert math.isclose(float(upper(lambda at: at(2).ln())), math.log(2), rel_tol=1e-15)


def test_what_does_not_fit_in_memory_is_bounded():
    """A positive number is never rounded up to 0, however small it is."""

    def tiny(at):
        return (-at(10**6)).exp()

    least = Fraction(1, 10**20_000)
    assert upper(tiny) == least
    assert lower(tiny) == 0
    assert upper(lambda at: -tiny(at)) == 0
    assert lower(lambda at: -tiny(at)) == -least
    assert upper(lambda at: at(least)) == least
