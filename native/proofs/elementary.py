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

DEGREE = 6

T = TypeVar("T")


class Machine(Protocol[T]):
    def constant(self, value: float) -> T: ...
    def add(self, a: T, b: T) -> T: ...
    def sub(self, a: T, b: T) -> T: ...
    def mul(self, a: T, b: T) -> T: ...
    def div(self, a: T, b: T) -> T: ...
    def multiply_add(self, a: T, b: T, c: T) -> T: ...
    def exact_multiple(self, integer: int, b: float) -> T: ...
    def fast_two_sum(self, a: T, b: T) -> tuple[T, T]: ...


def constants(native: Path = NATIVE) -> dict[str, float]:
    """Every hexadecimal constant that the two headers define."""
    text = (native / "negative_log.h").read_text() + (native / "sincos.h").read_text()
    return {name: float.fromhex(value) for name, value in _DEFINITION.findall(text)}


def coefficients(defined: Mapping[str, float], prefix: str) -> list[float]:
    return [defined[f"{prefix}{index}"] for index in range(DEGREE + 1)]


def _polynomial(machine: Machine[T], defined: Mapping[str, float], prefix: str, z: T) -> T:
    values = coefficients(defined, prefix)
    result = machine.constant(values[-1])
    for value in values[-2::-1]:
        result = machine.multiply_add(result, z, machine.constant(value))
    return result


def negative_log(
    machine: Machine[T], defined: Mapping[str, float], minus_e: int, f: T, minus_f: T
) -> T:
    """From the reduced argument f, the double nearest to 2^-e u - 1, on.

    That f is one rounding of the real number, as f = coarse + lo scale has two exact terms. With
    u = (2^33 n + m) 2^-65, n < 2^32, 0 < m < 2^33 and 2^-e u < 1.5: coarse = n 2^-(32+e) - 1 is a
    multiple of 2^-(32+e) of at most 33 bits for e >= -32, and -1 for e < -32, where n = 0;
    lo scale = m 2^-(65+e) has at most 33 bits.
    """
    s = machine.div(f, machine.add(machine.constant(2.0), f))
    z = machine.mul(s, s)
    slope = machine.multiply_add(_polynomial(machine, defined, "EN_LOG_C", z), z, f)

    head, tail = machine.fast_two_sum(
        machine.exact_multiple(minus_e, defined["EN_LN2_HIGH"]), minus_f
    )
    tail = machine.multiply_add(
        machine.constant(float(minus_e)), machine.constant(defined["EN_LN2_LOW"]), tail
    )
    return machine.add(head, machine.multiply_add(s, slope, tail))


def sincos_quarter(machine: Machine[T], defined: Mapping[str, float], f: T) -> tuple[T, T]:
    z = machine.mul(f, f)
    sine = machine.multiply_add(f, _polynomial(machine, defined, "EN_SIN_C", z), f)
    cosine = machine.multiply_add(
        _polynomial(machine, defined, "EN_COS_C", z), z, machine.constant(1.0)
    )
    return sine, cosine
