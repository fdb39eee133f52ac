"""Fixed point of 128 bits: bounds proved, and met by the code that runs.

The proof (native/proofs/fixed_point.py) is about steps written in Python, which must give the compiled functions'
integers: by every compiler, and where there is no integer type of 128 bits.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path

import compilers
import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "native" / "proofs"))

import fixed_point

pytestmark = pytest.mark.skipif(not compilers.COMPILERS, reason="compiles the core's headers")

DEFINED = fixed_point.constants()
ONE = fixed_point.ONE
NEAR_ONE = ONE - (ONE >> 16)  # up to here the radius is proved

Function = Callable[[int], int]


def _sine(f: int) -> int:
    return fixed_point.direction(DEFINED, f, sine=True)


def _cosine(f: int) -> int:
    return fixed_point.direction(DEFINED, f, sine=False)


def _half_pi(f: int) -> mpfr:
    return gmpy2.const_pi() / 2 * mpfr(f) / ONE


#: By their numbers in c/fixed_point.c: the steps of the proof, the unit, the claim, the true function.
FUNCTIONS: dict[str, tuple[Function, int, str, Callable[[int], mpfr]]] = {
    "-ln u": (
        lambda u: fixed_point.negative_log(DEFINED, u),
        120,
        "EN_FIXED_LOG_ERROR",
        lambda u: -gmpy2.log(mpfr(u) / ONE),
    ),
    "radius": (
        lambda u: fixed_point.radius(DEFINED, u),
        120,
        "EN_FIXED_RADIUS_ERROR",
        lambda u: gmpy2.sqrt(-2 * gmpy2.log(mpfr(u) / ONE)),
    ),
    "sine": (_sine, 127, "EN_FIXED_SINCOS_ERROR", lambda f: gmpy2.sin(_half_pi(f))),
    "cosine": (_cosine, 127, "EN_FIXED_SINCOS_ERROR", lambda f: gmpy2.cos(_half_pi(f))),
}


def _random(seed: int, count: int) -> list[int]:
    words = np.random.PCG64(seed).random_raw(2 * count).tolist()
    return [high << 64 | low for high, low in zip(words[::2], words[1::2], strict=True)]


def arguments(name: str) -> list[int]:
    """Of any magnitude, at powers of two, next to where the reduction changes, and at the ends."""
    most = ONE // 2 if name in ("sine", "cosine") else NEAR_ONE if name == "radius" else ONE - 1
    centres = [0, most, ONE // 2, ONE // 3, int(DEFINED["EN_FIXED_SQRT_HALF"]) << 64]
    values = [value >> i % 128 for i, value in enumerate(_random(1, 1500))]
    values += [ONE - (value >> i % 128) for i, value in enumerate(_random(2, 500))]
    for centre in centres:
        values += [centre + sign * (2**j + d) for j in range(128) for sign in (-1, 1) for d in (-1, 0, 1)]
        values += [(centre >> j) + d for j in range(128) for d in (-1, 0, 1)]
    least = 0 if name in ("sine", "cosine") else 1
    return [value for value in values if least <= value <= most]


@pytest.fixture(
    scope="module",
    params=[(compiler, *flags) for compiler in compilers.COMPILERS for flags in ([], ["-U__SIZEOF_INT128__"])],
    ids=" ".join,
)
def apply(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, list[int]], list[int]]:
    compiler, *flags = request.param
    library = tmp_path_factory.mktemp("fixed") / "fixed_point.so"
    source = compilers.TEST_SOURCES / "fixed_point.c"
    compilers.program([source], library, "-shared", "-fPIC", *compilers.WARNINGS, *flags, compiler=compiler)
    function = ctypes.CDLL(str(library)).en_apply

    def apply(name: str, values: list[int]) -> list[int]:
        words = np.array([[value >> 64, value % 2**64] for value in values], np.uint64)
        function(list(FUNCTIONS).index(name), words.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(values)))
        return [high << 64 | low for high, low in words.tolist()]

    return apply


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_steps_proved_are_those_compiled(apply: Callable[[str, list[int]], list[int]], name: str) -> None:
    values = arguments(name)
    assert len(values) > 2000
    steps = FUNCTIONS[name][0]
    assert apply(name, values) == [steps(value) for value in values]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_steps_meet_their_bounds(name: str) -> None:
    steps, bits, claim, true = FUNCTIONS[name]
    worst = 0.0
    with gmpy2.context(precision=400):
        for value in arguments(name):
            worst = max(worst, float(abs(mpfr(steps(value)) / mpfr(2) ** bits - true(value)) * ONE))
    claimed = float(DEFINED[claim] * ONE)
    assert claimed / 2**13 < worst < claimed  # a test with no error at all would test nothing


def test_the_bounds_are_proved() -> None:
    results = fixed_point.prove(DEFINED)
    assert {result.claim for result in results} == {
        "EN_FIXED_LOG_ERROR",
        "EN_FIXED_RADIUS_ERROR",
        "EN_FIXED_SINCOS_ERROR",
        "EN_SETTLE_DOUBT",
    }
    assert all(result.holds for result in results), "\n".join(map(str, results))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("EN_FIXED_LN2_LOW", -(2**12)),
        ("EN_FIXED_LN2_LOW", 1),
        ("EN_FIXED_QUARTER_PI_LOW", -(2**8)),
        ("EN_FIXED_QUARTER_PI_LOW", 1),
        ("EN_LOG_TERMS", -4),
        ("EN_SINE_TERMS", -2),
        ("EN_INVERSE_STEPS", -1),
        ("EN_ROOT_STEPS", -1),
        ("EN_SETTLE_DOUBT", -1),
    ],
)
def test_other_constants_are_not_proved(name: str, change: int) -> None:
    results = fixed_point.prove({**DEFINED, name: DEFINED[name] + change})
    assert not all(result.holds for result in results)


def test_a_border_elsewhere_leaves_the_domain() -> None:
    for border in (0xB4 << 56, 0xB6 << 56):
        with pytest.raises(ArithmeticError):
            fixed_point.prove({**DEFINED, "EN_FIXED_SQRT_HALF": border})
