"""Logarithm, sine, cosine and square root: bounds proved, and met by the code that runs.

The proof (native/proofs) is about steps written in Python; the same steps in double arithmetic must
give the compiled functions' results bit for bit, on every instruction set.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import gmpy2
import numpy as np
import pytest
from gmpy2 import mpfr, mpq

from exactnoise._native import (
    elementary_negative_log,
    elementary_sincos,
    elementary_sqrt,
    simd_available,
)

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "native" / "proofs"))

from bounds import prove
from elementary import constants, negative_log, sincos_quarter
from forward_error import DoubleMachine

DEFINED = constants()
EXACT = gmpy2.context(precision=200)
NEAREST = gmpy2.context(precision=53)
WORD = 2**64
SQRT_HALF_WORD = int(math.sqrt(0.5) * 2**53) << 11

# The largest errors among 4 * 10^6 words near the critical points, without and with multiply-add.
WORST_LOG = [0xEFB6E88D3FE86000, 0xEF9661126562A800, 0x5A84CD52A90DD000, 0x59BE5A246C21AC00]
WORST_ANGLE = [0x1FF47C86BCCA9800, 0x1FED240AD4FCE100, 0x1FFE557F068C2A00, 0x1F3256829AD76600]


@pytest.fixture(params=simd_available())
def simd(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _as_words(values: Iterator[int] | list[int]) -> np.ndarray:
    return np.array([value % WORD for value in values], dtype=np.uint64)


def _near(centre: int) -> Iterator[int]:
    """Words at every distance 2^j from a centre, both sides, and the nearest ones."""
    for j in range(63):
        yield from (centre + 2**j, centre - 2**j)
    yield from range(centre - 8, centre + 9)


def _random(seed: int, count: int) -> list[int]:
    return [int(word) for word in np.random.PCG64(seed).random_raw(count)]


def log_words() -> np.ndarray:
    values = [*WORST_LOG, *_random(1, 4000)]
    values += [word >> (i % 64) for i, word in enumerate(_random(2, 2000))]  # u next to 0
    values += [WORD - 1 - (word >> (i % 64)) for i, word in enumerate(_random(3, 2000))]  # to 1
    for power in range(64):
        values += [2**power + d for d in (-2, -1, 0, 1)]
        values += [(SQRT_HALF_WORD >> power) + d for d in range(-4, 5)]
    for centre in (0, WORD - 1, 2**63, SQRT_HALF_WORD, SQRT_HALF_WORD >> 1, 2**32):
        values += _near(centre)
    return _as_words(values)


def angle_words() -> np.ndarray:
    """The two highest bits do not count; f is next to 0 at word 0 and to 1/2 at 2^61."""
    values = [*WORST_ANGLE, *_random(4, 4000)]
    values += [(word >> (2 + i % 61)) * (-1) ** i for i, word in enumerate(_random(5, 2000))]
    for centre in (0, 2**61, -(2**61), 2**60, 2**61 * 2 // 3, -(2**61) * 2 // 3):
        values += _near(centre)
    return _as_words(values)


def _uniform(word: int) -> mpq:
    """The midpoint (J + 1/2) 2^-51 of the cell that the upper 51 bits begin."""
    return mpq(2 * (word >> 13) + 1, 2**52)


def _angle(word: int) -> mpq:
    """The midpoint (tau + 1/2) 2^-49, tau the next 49 bits after the quadrant's two, signed."""
    tau = (word >> 13) % 2**49
    return mpq(2 * (tau - 2**49 if tau >= 2**48 else tau) + 1, 2**50)


def log_errors(words: np.ndarray, results: np.ndarray) -> tuple[float, float]:
    """For -2 ln u, twice the results: the largest relative error, and the largest beyond B times it."""
    relative = absolute = -math.inf
    for word, result in zip(words, results, strict=True):
        true = EXACT.mul(mpfr(-2), EXACT.log(mpfr(_uniform(int(word)), 200)))
        error = abs(EXACT.sub(mpfr(2 * float(result)), true))
        relative = max(relative, float(EXACT.div(error, true)))
        beyond = EXACT.sub(error, EXACT.mul(mpfr(DEFINED["EN_LOG_ABSOLUTE_B"]), true))
        absolute = max(absolute, float(beyond))
    return relative, absolute


def sincos_errors(words: np.ndarray, sines: np.ndarray, cosines: np.ndarray) -> tuple[float, float]:
    half_pi = EXACT.div(EXACT.const_pi(), mpfr(2))
    worst = [0.0, 0.0]
    for word, *results in zip(words, sines, cosines, strict=True):
        angle = EXACT.mul(mpfr(_angle(int(word)), 200), half_pi)
        for i, true in enumerate((EXACT.sin(angle), EXACT.cos(angle))):
            worst[i] = max(worst[i], float(abs(EXACT.sub(mpfr(float(results[i])), true))))
    return worst[0], worst[1]


def test_logarithm_meets_its_bounds(simd: str) -> None:
    words = log_words()
    results = elementary_negative_log(words, simd)
    assert np.all(np.isfinite(results))
    assert np.all(results > 0)
    relative, absolute = log_errors(words, results)
    assert relative <= DEFINED["EN_LOG_RELATIVE_ERROR"]
    assert absolute <= DEFINED["EN_LOG_ABSOLUTE_A"]


def test_sine_and_cosine_meet_their_bounds(simd: str) -> None:
    words = angle_words()
    sine, cosine = sincos_errors(words, *elementary_sincos(words, simd))
    assert sine <= DEFINED["EN_SIN_ABSOLUTE_ERROR"] <= DEFINED["EN_SINCOS_ABSOLUTE_ERROR"]
    assert cosine <= DEFINED["EN_COS_ABSOLUTE_ERROR"] <= DEFINED["EN_SINCOS_ABSOLUTE_ERROR"]


def test_bounds_are_nearly_reached(simd: str) -> None:
    """Positive control: the worst inputs known refute half of the logarithm's bound, 2/3 of the others."""
    words = _as_words(WORST_LOG)
    relative, _ = log_errors(words, elementary_negative_log(words, simd))
    assert relative > 0.5 * DEFINED["EN_LOG_RELATIVE_ERROR"]

    words = _as_words(WORST_ANGLE)
    sine, cosine = sincos_errors(words, *elementary_sincos(words, simd))
    assert sine > 2 / 3 * DEFINED["EN_SIN_ABSOLUTE_ERROR"]
    assert cosine > 2 / 3 * DEFINED["EN_COS_ABSOLUTE_ERROR"]


def test_square_root_is_correctly_rounded(simd: str) -> None:
    """Numbers next to squares and to squares of midpoints between doubles are the hard ones."""
    values = [0.0, 2.0**-65, 2.0**-1022, sys.float_info.max, 1.0, 2.0, 91.0]
    for word in _random(6, 4000):
        root = 2**52 + word % 2**52
        for square in (mpq(root**2), mpq((2 * root + 1) ** 2, 4)):
            near = float(square)
            values += [math.ldexp(x, word % 40 - 100) for x in (near, math.nextafter(near, 0.0))]
        values.append(word * 2.0**-60)
    x = np.array(values)
    expected = [float(NEAREST.sqrt(mpfr(value))) for value in values]
    assert elementary_sqrt(x, simd).tolist() == expected


def _model_log(word: int, machine: DoubleMachine) -> float:
    """The reduction of negative_log.h in exact arithmetic, then the steps that are proved."""
    u = _uniform(word)
    minus_e = 0
    while u * 2**minus_e <= mpq(math.sqrt(0.5)):
        minus_e += 1
    g = float(2 * (u * 2**minus_e - 1))
    return negative_log(machine, DEFINED, minus_e, g, -g) / 2


def test_the_proved_steps_are_the_compiled_ones(simd: str) -> None:
    logs, angles = log_words()[::4].copy(), angle_words()[::4].copy()
    compiled = [elementary_negative_log(logs, simd), *elementary_sincos(angles, simd)]
    matches = []
    for fma in (True, False):
        machine = DoubleMachine(fma=fma)
        pairs = [sincos_quarter(machine, DEFINED, float(_angle(int(w)))) for w in angles]
        model = [
            [_model_log(int(word), machine) for word in logs],
            *map(list, zip(*pairs, strict=True)),
        ]
        matches.append([values.tolist() for values in compiled] == model)
    assert any(matches)
    assert not all(matches)  # the words tell the two orders apart


def test_claims_are_proved() -> None:
    refuted = [str(result) for result in prove(DEFINED, quick=True) if not result.holds]
    assert refuted == []


def test_slightly_wrong_coefficients_are_not_proved() -> None:
    """Positive control: a unit in the last place of sine and cosine, 1024 of the logarithm."""
    wrong = dict(DEFINED)
    for name, units in (("EN_LOG_C0", 1024), ("EN_SIN_C0", 1), ("EN_COS_C0", 1)):
        wrong[name] += units * math.ulp(wrong[name])
    assert [result.claim for result in prove(wrong, quick=True) if result.holds] == []
