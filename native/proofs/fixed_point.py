"""Prove the error bounds that fixed_point.h and settle.h claim.

Part of bounds.py. The functions of fixed_point.h are written here once more, step by step, against the operations of a
machine: `IntegerMachine` computes what the compiled code does, bit for bit, which a test checks; `ErrorMachine` bounds
how far each number is from the one that the same steps give in real arithmetic. Numbers are in units of 2^-128.
Constants and numbers of terms are read from the headers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

import gmpy2
from elementary import NATIVE
from gmpy2 import mpfr, mpq
from results import Result

ONE = 1 << 128
LARGEST_EXPONENT = 36  # of s
UNIT = Fraction(1, ONE)
LAST = Fraction(1, 1 << 120)  # the unit of -ln u and of the radius

T = TypeVar("T")


class Machine(Protocol[T]):
    def constant(self, value: int) -> T: ...
    def inverse(self, divisor: int) -> T: ...
    def add(self, a: T, b: T) -> T: ...
    def sub(self, a: T, b: T) -> T: ...
    def mul(self, a: T, b: T) -> T: ...
    def left(self, a: T, bits: int) -> T: ...


class IntegerMachine:
    """The operations of wide.h."""

    def constant(self, value: int) -> int:
        return value

    def inverse(self, divisor: int) -> int:
        return (ONE - 1) // divisor

    def add(self, a: int, b: int) -> int:
        return (a + b) % ONE

    def sub(self, a: int, b: int) -> int:
        return (a - b) % ONE

    def mul(self, a: int, b: int) -> int:
        return a * b >> 128

    def left(self, a: int, bits: int) -> int:
        return (a << bits) % ONE


@dataclass(frozen=True)
class Quantity:
    """A variable between 0 and `most`, at most `error` from its ideal value: both in units of 1."""

    most: Fraction
    error: Fraction


class ErrorMachine:
    """The operations on quantities. None may leave the range from 0 to 1, where wide.h would wrap around."""

    def _checked(self, most: Fraction, error: Fraction) -> Quantity:
        if most >= 1:
            raise ArithmeticError("a number may reach 1")
        return Quantity(most, error)

    def constant(self, value: int) -> Quantity:
        return self._checked(Fraction(value, ONE), Fraction(0))

    def inverse(self, divisor: int) -> Quantity:
        return self._checked(Fraction(1, divisor), UNIT)

    def add(self, a: Quantity, b: Quantity) -> Quantity:
        return self._checked(a.most + b.most, a.error + b.error)

    def sub(self, a: Quantity, b: Quantity) -> Quantity:
        """Where b <= a, as its callers see to."""
        return self._checked(a.most, a.error + b.error)

    def mul(self, a: Quantity, b: Quantity) -> Quantity:
        return self._checked(a.most * b.most, a.most * b.error + a.error * b.most + a.error * b.error + UNIT)

    def left(self, a: Quantity, bits: int) -> Quantity:
        return self._checked(a.most * 2**bits, a.error * 2**bits)


def constants() -> dict[str, int | Fraction]:
    """Every constant that the two headers define."""
    text = (NATIVE / "fixed_point.h").read_text() + (NATIVE / "settle.h").read_text()
    found: dict[str, int | Fraction] = {
        name: int(value, 16) for name, value in re.findall(r"^#define (EN_\w+) UINT64_C\((0x\w+)\)", text, re.MULTILINE)
    }
    for name, value in re.findall(r"^#define (EN_\w+) (0x1p-\d+)", text, re.MULTILINE):
        found[name] = Fraction(float.fromhex(value))
    for body in re.findall(r"^enum \{(.*?)\};", text, re.MULTILINE | re.DOTALL):
        found.update({name: int(value) for name, value in re.findall(r"(EN_\w+) = (\d+)", body)})
    return found


def wide(defined: Mapping[str, int | Fraction], name: str) -> int:
    return int(defined[f"{name}_HIGH"]) << 64 | int(defined[f"{name}_LOW"])


# --- the steps of fixed_point.h ---------------------------------------------------------------


def twice_atanh(machine: Machine[T], terms: int, s: T) -> T:
    z = machine.mul(s, s)
    total = machine.constant(0)
    for k in range(terms, 0, -1):
        total = machine.add(machine.inverse(2 * k + 1), machine.mul(z, total))
    return machine.left(machine.add(s, machine.mul(s, machine.mul(z, total))), 1)


def versine(machine: Machine[T], terms: int, z: T, *, sine: bool) -> T:
    rest = machine.constant(0)
    for k in range(terms, 0, -1):
        term = machine.mul(z, machine.inverse(2 * k * (2 * k + 1 if sine else 2 * k - 1)))
        rest = machine.sub(term, machine.mul(term, rest))
    return rest


def inverse(steps: int, b: int) -> int:
    """Units of 2^-126."""
    y = ONE - b
    for _ in range(steps):
        product = (y * b >> 128) + 1
        if product >= 1 << 126:
            break
        y += y * ((1 << 126) - product << 2) >> 128
    return y


def root(steps: int, a: int) -> int:
    """Units of 2^-126."""
    y = (15 << 123) - (a >> 2)
    for _ in range(steps):
        product = (a * (y * y >> 128) >> 128) + 2
        if product >= 1 << 124:
            break
        y += y * ((1 << 124) - product << 3) >> 128
    return a * y >> 128


def negative_log(defined: Mapping[str, int | Fraction], u: int) -> int:
    """Units of 2^-120."""
    n = 128 - u.bit_length()
    u <<= n
    above = u >> 64 < int(defined["EN_FIXED_SQRT_HALF"])
    n += above
    difference = u * 2 % ONE if above else ONE - u
    s = difference * inverse(int(defined["EN_INVERSE_STEPS"]), (1 << 126) + (u >> (1 if above else 2))) >> 128
    ln = twice_atanh(IntegerMachine(), int(defined["EN_LOG_TERMS"]), s) >> 8
    whole = wide(defined, "EN_FIXED_LN2") * (n << 120) >> 128
    return whole - ln if above else whole + ln


def radius(defined: Mapping[str, int | Fraction], u: int) -> int:
    """Units of 2^-120."""
    square = negative_log(defined, u) << 1
    half = (128 - square.bit_length()) // 2
    return root(int(defined["EN_ROOT_STEPS"]), square << 2 * half) >> 2 + half


def direction(defined: Mapping[str, int | Fraction], f: int, *, sine: bool) -> int:
    """Units of 2^-127."""
    angle = (wide(defined, "EN_FIXED_QUARTER_PI") * f >> 128) << 1
    versed = versine(IntegerMachine(), int(defined["EN_SINE_TERMS"]), angle * angle >> 128, sine=sine)
    if sine:
        return angle - (angle * versed >> 128) >> 1
    return (1 << 127) - (versed >> 1)


# --- their errors -----------------------------------------------------------------------------


def _above(function: str, *arguments: int) -> Fraction:
    """A constant, rounded up to 200 bits."""
    with gmpy2.context(precision=200, round=gmpy2.RoundUp):
        return Fraction(*map(int, getattr(gmpy2, function)(*arguments).as_integer_ratio()))


LN2_ABOVE = _above("const_log2")
QUARTER_PI_ABOVE = _above("const_pi") / 4
INVERSE_DOMAIN = Fraction(426, 1000), Fraction(604, 1000)  # of (m + 1) / 4
S_MOST = Fraction(1717, 10000)


def _constant_error(defined: Mapping[str, int | Fraction], name: str, exact_above: Fraction) -> Fraction:
    """How far a constant is below the exact one; 1 if it is above."""
    missing = exact_above - Fraction(wide(defined, name), ONE)
    return missing if missing >= 0 else Fraction(1)


def inverse_error(steps: int) -> Fraction:
    """Of 1/b, relative. With e = 1 - b y and the unit v = 2^-126 of product and y: the product is from b y to b y + v.

    The next y is below y (1 + e), so that e stays positive: b y (1 + e) = 1 - e^2. It is above y (1 + e - v) - v, so
    that the next e is below e^2 + 2v, as b < 1. The iteration ends early where e <= v.
    """
    v = Fraction(1, 1 << 126)
    e = max((1 - 2 * b) ** 2 for b in INVERSE_DOMAIN)  # 1 - b (4 - 4b)
    for _ in range(steps):
        e = e * e + 2 * v
    return e


def root_error(steps: int) -> Fraction:
    """Of sqrt(a), relative, and the last unit of a y. With e = 1 - a y^2 and the product's unit w = 2^-124:

    The product is from a y^2 to a y^2 + 2w. The next y is below y (1 + e/2), so that e stays positive:
    (1 - e) (1 + e/2)^2 = 1 - 3/4 e^2 - e^3/4. It is above y (1 + e/2 - w) - w/4, so that the next e is below
    3/4 e^2 + e^3/4 + 3w. The iteration ends early where e <= 2w. In the end a y = sqrt(a) sqrt(1 - e).
    """
    w = Fraction(1, 1 << 124)
    start = Fraction(15, 8)
    # a (15/8 - a)^2 has its maximum at a = 5/8, where it is below 1, and its minima at the ends of [1/4, 1].
    assert Fraction(5, 8) * (start - Fraction(5, 8)) ** 2 < 1 - w
    e = max(1 - a * (start - a) ** 2 for a in (Fraction(1, 4), Fraction(1)))
    for _ in range(steps):
        e = Fraction(3, 4) * e * e + e**3 / 4 + 3 * w
    return e


def log_error(defined: Mapping[str, int | Fraction]) -> Fraction:
    """Of -ln u."""
    assert_domain(defined)
    terms = int(defined["EN_LOG_TERMS"])
    # (m + 1) / 4 is rounded down, by less than a unit of at least 0.426.
    relative = inverse_error(int(defined["EN_INVERSE_STEPS"])) + 3 * UNIT
    of_s = S_MOST * relative + UNIT
    carried = 2 * of_s / (1 - (S_MOST + of_s) ** 2)
    computed = twice_atanh(ErrorMachine(), terms, Quantity(S_MOST, Fraction(0))).error
    left_out = 2 * S_MOST ** (2 * terms + 3) / (2 * terms + 3) / (1 - S_MOST**2)
    of_ln2 = 128 * _constant_error(defined, "EN_FIXED_LN2", LN2_ABOVE)
    return carried + computed + left_out + of_ln2 + 2 * LAST


def assert_domain(defined: Mapping[str, int | Fraction]) -> None:
    """Both cases of m keep to what the bounds of 1/b and of the series are for."""
    border = Fraction(int(defined["EN_FIXED_SQRT_HALF"]), 1 << 64)
    below, above = border, border + Fraction(1, 1 << 64)  # the least m below 1, and more than half the largest above 1
    low, high = INVERSE_DOMAIN
    if not (low + UNIT < (below + 1) / 4 and (2 * above + 1) / 4 < high):
        raise ArithmeticError("1/b is needed outside of its domain")
    if max((1 - below) / (1 + below), (2 * above - 1) / (2 * above + 1)) > S_MOST - Fraction(1, 1 << 60):
        raise ArithmeticError("s is outside of its domain")


def radius_error(defined: Mapping[str, int | Fraction]) -> Fraction:
    """Of sqrt(-2 ln u): -ln u > 2^-16, so that the square is above 2^-15 and its root above 2^-8."""
    carried = 2 * log_error(defined) * 2**8
    largest = 16  # the square is below 2^8
    return carried + largest * (root_error(int(defined["EN_ROOT_STEPS"])) + Fraction(1, 1 << 126)) + LAST


def direction_error(defined: Mapping[str, int | Fraction], *, sine: bool) -> Fraction:
    """Of sin and cos of (pi/2) f."""
    machine, terms = ErrorMachine(), int(defined["EN_SINE_TERMS"])
    factor = Quantity(QUARTER_PI_ABOVE, _constant_error(defined, "EN_FIXED_QUARTER_PI", QUARTER_PI_ABOVE))
    angle = machine.left(machine.mul(factor, Quantity(Fraction(1, 2), Fraction(0))), 1)
    versed = versine(machine, terms, machine.mul(angle, angle), sine=sine)
    left_out = Fraction(4, 5) ** (2 * terms + 2) / int(gmpy2.fac(2 * terms + 2))
    error = machine.sub(angle, machine.mul(angle, versed)).error if sine else versed.error
    return error + left_out + 2 * UNIT  # the shift to units of 2^-127 loses one


def settle_error(defined: Mapping[str, int | Fraction]) -> Fraction:
    """Of y, in units of 2^-64, from what fixed_point.h claims: settle.h, "Error"."""
    s = 1 << LARGEST_EXPONENT
    log, radius, direction = (Fraction(defined[f"EN_FIXED_{name}_ERROR"]) for name in ("LOG", "RADIUS", "SINCOS"))
    product = 2 * LAST  # of a radius and a direction, in units of 2^-119
    noise = max(log, 14 * direction + radius + radius * direction + product)  # sqrt(2 * 128 ln 2) < 14
    scaled = s * noise + 2 * s * LAST  # s has the mantissa's unit 2^-63 in 2^37
    return scaled * 2**64 + 1 + 1


def _mpfr(value: Fraction | int) -> mpfr:
    with gmpy2.context(precision=200, round=gmpy2.RoundUp):
        return mpfr(mpq(Fraction(value).numerator, Fraction(value).denominator))


def prove(defined: Mapping[str, int | Fraction]) -> list[Result]:
    errors = {
        "EN_FIXED_LOG_ERROR": log_error(defined),
        "EN_FIXED_RADIUS_ERROR": radius_error(defined),
        "EN_FIXED_SINCOS_ERROR": max(direction_error(defined, sine=sine) for sine in (False, True)),
    }
    results = [
        Result(name, _mpfr(defined[name]), _mpfr(error), "every u or f", unit=-128) for name, error in errors.items()
    ]
    doubt = "EN_SETTLE_DOUBT"
    return [*results, Result(doubt, _mpfr(defined[doubt]), _mpfr(settle_error(defined)), "every lane", unit=0)]
