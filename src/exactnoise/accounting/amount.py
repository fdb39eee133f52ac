"""Exact amounts: what a typed number means, and how an exact one is shown or rounded outwards.

Privacy parameters are kept as exact fractions of what the caller typed. A float stands for the
shortest decimal text that Python prints for it: 0.1 is one tenth and not
0.1000000000000000055..., so that ten spends of 0.1 are exactly 1.
"""

from __future__ import annotations

import math
import numbers
import operator
import re
import struct
import sys
from decimal import MAX_EMAX, MIN_EMIN, ROUND_DOWN, Context, Decimal, InvalidOperation
from fractions import Fraction

__all__ = [
    "Number",
    "approximately",
    "decimal_context",
    "exact",
    "float_down",
    "float_up",
    "from_text",
    "is_infinity",
    "shown",
    "text",
]

Number = int | float | Decimal | Fraction | str

# Decimal text is limited to a little more than what a double can hold, so that
# "1e999999999" is refused at once instead of becoming an integer of a thousand million digits.
_LARGEST_EXPONENT = 400
_MOST_PLACES = 2000
# The same for ratios and integers, with room for every decimal number above.
_MOST_BITS = 8000
# A price is a ratio of two parameters, or a share of such prices.
_MOST_BITS_OF_PRICES = 3 * _MOST_BITS
_RATIO = re.compile(r"\s*([+-]?[0-9]{1,1000})\s*/\s*([0-9]{1,1000})\s*")
# What `text` writes: an exponent has at most five digits there.
_WRITTEN = re.compile(
    r"(?P<decimal>-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]{1,5})?)|(?P<numerator>-?[0-9]+)/(?P<denominator>0*[1-9][0-9]*)",
    re.ASCII,
)
_LONGEST_SHOWN = 60
_LONGEST_DECIMAL = 28
# The floating types narrower than Python's, by NumPy's names, as struct formats.
_NARROW = {"float16": "<e", "float32": "<f"}


def exact(
    value: Number,
    name: str,
    *,
    positive: bool = True,
    signed: bool = False,
    below: int | Fraction | None = None,
    least: Fraction | None = None,
    price: bool = False,
) -> Fraction:
    """Turn a typed number into the exact fraction it stands for.

    Parameters
    ----------
    value : int, float, Decimal, Fraction or str
        A float means the decimal text that Python prints for it. Text is a decimal number
        (``"0.1"``, ``"1e-6"``) or a ratio of whole numbers (``"1/11"``). Other types registered
        as `numbers.Integral` or `numbers.Rational` are read the same way. NumPy's float16 and
        float32 mean the shortest decimal text that rounds to them: ``numpy.float32(0.1)`` is one
        tenth. Every other `numbers.Real`, such as ``numpy.longdouble``, means its exact value.
    name : str
        The parameter's name, for the message.
    positive : bool
        Refuse zero (the default); with False zero is allowed. Negative numbers are not.
    signed : bool
        Any sign is allowed, and zero.
    below : int or Fraction, optional
        An upper limit, itself not allowed.
    least : Fraction, optional
        A lower limit, itself allowed.
    price : bool
        The amount may be a price, computed from parameters: a ratio may be three times as long.

    Returns
    -------
    Fraction

    Raises
    ------
    TypeError
        `value` is not a number: a bool, None, a complex number, an array.
    ValueError
        `value` is NaN, infinite, negative or zero where that is not allowed, not below `below`,
        below `least`, malformed text, a decimal number outside 1e-400 to 1e400, or thousands of
        digits long.

    Examples
    --------
    >>> exact(0.1, "epsilon")
    Fraction(1, 10)
    >>> exact("1/11", "epsilon")
    Fraction(1, 11)
    """
    amount = value if type(value) is Fraction else _fraction(value, name)
    longest = _MOST_BITS_OF_PRICES if price else _MOST_BITS
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) > longest:
        raise _out_of_range(value, name)
    wrong_sign = not signed and (amount < 0 or (positive and not amount))
    if wrong_sign or (below is not None and amount >= below):
        allowed = "a positive number" if positive else "zero or a positive number"
        limit = "" if below is None else f" below {below}"
        raise ValueError(f"{name} must be {allowed}{limit}, got {shown(value)}")
    if least is not None and amount < least:
        raise ValueError(f"{name} must be at least {approximately(least)}, got {shown(value)}")
    return amount


def _fraction(value: object, name: str) -> Fraction:
    """Read any accepted type; the sign is not judged here."""
    if isinstance(value, bool):
        raise _wrong_type(value, name)
    if isinstance(value, float):
        # The base class's text: a subclass such as numpy.float64 prints its own name around it.
        return _from_decimal_text(float.__repr__(value), value, name)
    if isinstance(value, str):
        ratio = _RATIO.fullmatch(value)
        if ratio is None:
            return _from_decimal_text(value, value, name)
        if int(ratio[2]) == 0:
            raise ValueError(f"{name} must not be divided by zero, got {shown(value)}")
        return Fraction(int(ratio[1]), int(ratio[2]))
    if isinstance(value, Decimal):
        return _from_decimal(value, value, name)
    try:
        if isinstance(value, numbers.Integral):
            return Fraction(operator.index(value))
        if isinstance(value, numbers.Rational):
            ratio_of = int(value.numerator), int(value.denominator)
            if max(map(int.bit_length, ratio_of)) > _MOST_BITS_OF_PRICES:
                raise _out_of_range(value, name)  # before the slow search for a common divisor
            return Fraction(*ratio_of)
    except TypeError:  # numpy.timedelta64 is registered as an integer but is none
        raise _wrong_type(value, name) from None
    if isinstance(value, numbers.Real):
        return _from_other_real(value, name)
    raise _wrong_type(value, name)


def _from_other_real(value: numbers.Real, name: str) -> Fraction:
    """Read a floating type that is not Python's by its value: its text depends on print settings."""
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in _NARROW:
        return _from_decimal_text(_shortest_text(float(value), _NARROW[kind.__name__]), value, name)
    as_integer_ratio = getattr(value, "as_integer_ratio", None)
    if as_integer_ratio is None:
        raise _wrong_type(value, name)
    try:
        numerator, denominator = as_integer_ratio()
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be finite, got {shown(value)}") from None
    return Fraction(int(numerator), int(denominator))


def _shortest_text(value: float, narrow: str) -> str:
    """The shortest decimal text that rounds to `value` in the narrow type `value` is of."""
    for digits in range(1, 10):
        shortened = f"{value:.{digits}g}"
        try:
            (back,) = struct.unpack(narrow, struct.pack(narrow, float(shortened)))
        except OverflowError:  # rounded up beyond the type's largest number
            continue
        if back == value:
            return shortened
    return float.__repr__(value)


def _from_decimal_text(decimal_text: str, value: object, name: str) -> Fraction:
    try:
        decimal = Decimal(decimal_text)
    except InvalidOperation:
        if re.fullmatch(r"\s*[+-]?[0-9.]+[eE][+-]?[0-9]+\s*", decimal_text):
            raise _out_of_range(value, name) from None
        raise ValueError(
            f"{name} must be a decimal number such as '0.1' or '1e-6', or a ratio such as '1/11', got {shown(value)}"
            + ("; a comma is no decimal point" if "," in decimal_text else "")
        ) from None
    return _from_decimal(decimal, value, name)


def _from_decimal(decimal: Decimal, value: object, name: str) -> Fraction:
    if not decimal.is_finite():
        raise ValueError(f"{name} must be finite, got {shown(value)}")
    if not decimal:
        return Fraction(0)
    last_digit = decimal.as_tuple().exponent
    assert isinstance(last_digit, int)
    if abs(decimal.adjusted()) > _LARGEST_EXPONENT or last_digit < -_MOST_PLACES:
        raise _out_of_range(value, name)
    return Fraction(decimal)


def _out_of_range(value: object, name: str) -> ValueError:
    return ValueError(
        f"{name} must lie between 1e-{_LARGEST_EXPONENT} and 1e{_LARGEST_EXPONENT} and end within "
        f"{_MOST_PLACES} decimal places, or be a ratio of integers below 2**{_MOST_BITS}, got {shown(value)}"
    )


def _wrong_type(value: object, name: str) -> TypeError:
    return TypeError(
        f"{name} must be a number (int, float, Decimal, Fraction, or text such as '0.1' or "
        f"'1/11'), got {shown(value)} of type {type(value).__name__}"
    )


def shown(value: object) -> str:
    """The value for a message, cut to a readable length."""
    if isinstance(value, int) and value.bit_length() > 2 * _MOST_BITS:
        return f"a {type(value).__name__} of thousands of digits"  # where Python would print it, it is slow
    try:
        shown = repr(value)
    except ValueError:  # Python refuses to print integers of more than 4300 digits
        return f"a {type(value).__name__} of thousands of digits"
    return shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "..."


def float_up(value: Fraction) -> float:
    """Return the smallest double that is not below `value`.

    Parameters
    ----------
    value : Fraction

    Returns
    -------
    float
        Finite; subnormal where `value` is that small, never a negative zero.

    Raises
    ------
    ValueError
        `value` is above the largest finite double.
    """
    try:
        nearest = value.numerator / value.denominator  # correctly rounded by Python
    except OverflowError:
        nearest = math.inf if value > 0 else -sys.float_info.max
    if nearest != math.inf and Fraction(nearest) < value:
        nearest = math.nextafter(nearest, math.inf)
    if nearest == math.inf:
        raise ValueError(f"{approximately(value)} is above the largest double, {sys.float_info.max!r}")
    return nearest + 0.0


def is_infinity(value: object) -> bool:
    """Tell whether a value is plus infinity; of Decimal's signalling NaN, too, which cannot be compared."""
    return not (isinstance(value, Decimal) and value.is_snan()) and bool(value == math.inf)


def float_down(value: Fraction) -> float:
    """Return the largest double that is not above `value`; see `float_up`.

    Raises
    ------
    ValueError
        `value` is below the most negative finite double.
    """
    return 0.0 - float_up(-value)


def text(value: Fraction) -> str:
    """Return a short text that `exact` reads back as the same fraction.

    Parameters
    ----------
    value : Fraction

    Returns
    -------
    str
        A decimal where one ends within reasonable length, else a ratio.

    Examples
    --------
    >>> text(Fraction(1, 10)), text(Fraction(1, 11)), text(Fraction(1, 10**6))
    ('0.1', '1/11', '1e-6')
    """
    # Decimal prints integers of any length; str(int) stops at 4300 digits.
    numerator, denominator = Decimal(value.numerator), Decimal(value.denominator)
    ratio = f"{numerator}/{denominator}"
    places = _decimal_places(value.denominator)
    if places is None:
        return ratio
    digits = str(Decimal(abs(value.numerator) * 10**places // value.denominator))
    exponent = len(digits) - places - 1
    if abs(exponent) > _LARGEST_EXPONENT and _RATIO.fullmatch(ratio):
        return ratio  # which `exact` reads, and no decimal as small or as large
    decimal = _positional_or_scientific(digits, exponent)
    if value < 0:
        decimal = "-" + decimal
    return decimal if len(decimal) <= max(_LONGEST_DECIMAL, len(ratio)) else ratio


def from_text(written: str, name: str) -> Fraction:
    """Return the fraction that `text` wrote: of any length, for sums grow with every price added.

    Parameters
    ----------
    written : str
    name : str
        The amount's name, for the message.

    Raises
    ------
    TypeError, ValueError
        It is not a text that `text` writes.
    """
    if not isinstance(written, str):
        raise TypeError(f"{name} must be text, got {shown(written)}")
    match = _WRITTEN.fullmatch(written)
    if match is None:
        raise ValueError(f"{name} must be a decimal number or a ratio, got {shown(written)}")
    # Decimal reads and gives integers of any length; int(str) stops at 4300 digits.
    decimal = Decimal(match["decimal"]) if match["decimal"] else Decimal(match["numerator"])
    return Fraction(decimal) / (int(Decimal(match["denominator"])) if match["denominator"] else 1)


def _decimal_places(denominator: int) -> int | None:
    """How many decimal places a fraction in lowest terms has; None if they never end."""
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest //= 5
        fives += 1
    return max(twos, fives) if rest == 1 else None


def _positional_or_scientific(digits: str, exponent: int) -> str:
    """Write digits whose first one stands at 10^exponent."""
    digits = digits.rstrip("0") or "0"
    if exponent < -4 or exponent > 15:
        point = "." if len(digits) > 1 else ""
        return f"{digits[0]}{point}{digits[1:]}e{exponent}"
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole, decimals = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{whole}.{decimals}" if decimals else whole


def approximately(value: Fraction, rounding: str = ROUND_DOWN) -> str:
    """Return `text` where that is short, else "about" and twelve digits, for messages.

    Parameters
    ----------
    value : Fraction
    rounding : str
        A rounding mode of the `decimal` module, for the amounts that are too long to show.
    """
    shown = text(value)
    if len(shown) <= _LONGEST_DECIMAL:
        return shown
    rounded = decimal_context(12, rounding).divide(Decimal(value.numerator), Decimal(value.denominator))
    return f"about {text(Fraction(rounded))}"


def decimal_context(digits: int, rounding: str) -> Context:
    """Return a context that owes nothing to ``decimal.DefaultContext``, which programs may change.

    Parameters
    ----------
    digits : int
        The significant digits of a result.
    rounding : str
        A rounding mode of the `decimal` module.
    """
    return Context(
        prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[], traps=[]
    )
