"""The arithmetic of negative_log.h and sincos.h, step by step, on a machine of forward_error.py.

Names, order of operations and constants are those of the headers. The constants are read from them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, TypeVar

NATIVE = Path(__file__).resolve().parent.parent
_DEFINITION = re.compile(r"^#define\s+(EN_\w+)\s+(-?0x[0-9a-fA-F.]+p[-+]?\d+)", re.MULTILINE)

T = TypeVar("T")


class Machine(Protocol[T]):
    fma: bool

    def constant(self, value: float) -> T: ...
    def add(self, a: T, b: T) -> T: ...
    def sub(self, a: T, b: T) -> T: ...
    def mul(self, a: T, b: T) -> T: ...
    def div(self, a: T, b: T) -> T: ...
    def multiply_add(self, a: T, b: T, c: T) -> T: ...
    def exact_multiple(self, integer: int, b: float) -> T: ...


def constants(native: Path = NATIVE) -> dict[str, float]:
    """Every hexadecimal constant that the two headers define."""
    text = (native / "negative_log.h").read_text() + (native / "sincos.h").read_text()
    return {name: float.fromhex(value) for name, value in _DEFINITION.findall(text)}


def coefficients(defined: Mapping[str, float], prefix: str) -> list[float]:
    count = sum(name.startswith(prefix) and name[len(prefix) :].isdigit() for name in defined)
    return [defined[f"{prefix}{index}"] for index in range(count)]


def _polynomial(machine: Machine[T], defined: Mapping[str, float], prefix: str, z: T) -> T:
    values = coefficients(defined, prefix)
    result = machine.constant(values[-1])
    for value in values[-2::-1]:
        result = machine.multiply_add(result, z, machine.constant(value))
    return result


def negative_log(machine: Machine[T], defined: Mapping[str, float], minus_e: int, g: T, minus_g: T) -> T:
    """From the reduced argument g = 2 (2^-e u - 1) on; it is exact.

    word power = 2^(1-e) u is a double in [sqrt(2), 2 sqrt(2)], and 2 minus it has no more bits:
    Sterbenz's lemma.
    """
    s = machine.div(g, machine.add(machine.constant(4.0), g))
    z = machine.mul(s, s)
    slope = machine.multiply_add(_polynomial(machine, defined, "EN_LOG_C", z), z, g)
    times = machine.constant(float(minus_e))
    if machine.fma:
        rest = machine.multiply_add(s, slope, minus_g)
        return machine.multiply_add(times, machine.constant(defined["EN_LN4"]), rest)
    rest = machine.sub(machine.mul(s, slope), g)
    low = machine.mul(times, machine.constant(defined["EN_LN4_LOW"]))
    high = machine.exact_multiple(minus_e, defined["EN_LN4_HIGH"])
    return machine.add(high, machine.add(low, rest))


def sincos_quarter(machine: Machine[T], defined: Mapping[str, float], f: T) -> tuple[T, T]:
    """With f in units of 1 instead of 2^-64: nothing overflows or underflows, so powers of two cancel."""
    z = machine.mul(f, f)
    sine = machine.mul(f, _polynomial(machine, defined, "EN_SIN_C", z))
    cosine = machine.multiply_add(_polynomial(machine, defined, "EN_COS_C", z), z, machine.constant(1.0))
    return sine, cosine
