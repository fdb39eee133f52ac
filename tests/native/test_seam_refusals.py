"""The seam's own checks: C is never given a buffer of the wrong size, nor numbers that it takes on trust."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from exactnoise import _native
from exactnoise._native import CONTENDER, SIMD, Coin, Plan, Quantizer, Response, Selection, UnaryResponse

LONG_KEY = bytes(33)
TOO_MANY = _native.WORDS_PER_KEY + 1
COIN = (3, 5, 2**63, "tail", SIMD)


def words(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64)


def room(size: int) -> np.ndarray:
    return np.zeros(size, np.uint8)


def selection() -> Selection:
    return Selection("exponential", "float64", 1.0, SIMD)


def contenders() -> np.ndarray:
    return np.zeros(4, CONTENDER)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "logarithms": (lambda: _native.negative_log(words(2), room(8), simd=SIMD), "one length"),
    "roots": (lambda: _native.square_root(words(2), room(24), simd=SIMD), "one length"),
    "sines": (lambda: _native.sincos(words(2), room(8), room(16), simd=SIMD), "one length"),
    "cosines": (lambda: _native.sincos(words(2), room(16), room(24), simd=SIMD), "one length"),
    "clamped": (lambda: _native.clamp(words(2), room(24), 0.0, 1.0, float32=False), "one length"),
    "widened": (lambda: _native.widen(words(2), room(16), simd=SIMD), "one length"),
    "a plan's thresholds": (
        lambda: Plan("tabulated", "int64", 3.0, 0, 0.0, 0.0, SIMD, 1.0, (1.0,) * 1000),
        "thresholds, got 1000",
    ),
    "a key of responses": (
        lambda: Response(3, 0, 3, 5, False, SIMD).release(words(2), room(2), key=LONG_KEY),
        "a key has 32 bytes",
    ),
    "a key for too many responses": (
        lambda: Response(3, 0, 3, 5, False, SIMD).release(words(TOO_MANY), room(TOO_MANY), key=bytes(32)),
        "at most WORDS_PER_KEY words",
    ),
    "words of responses": (
        lambda: Response(3, 0, 3, 5, False, SIMD).release(words(2), room(2), words=words(3)),
        "words must hold 2 64-bit words",
    ),
    "one category": (lambda: Response(1, 0, 1, 5, False, SIMD), "categories must be 2"),
    "a missing category": (lambda: Response(3, 3, 3, 5, False, SIMD), "missing one of them"),
    "other choices": (lambda: Response(3, 0, 4, 5, False, SIMD), "choices must be the categories"),
    "one bucket": (lambda: Response(3, 0, 1, 5, True, SIMD), "2 .. 2..16 buckets"),
    "no other choice": (lambda: Response(3, 0, 3, 0, False, SIMD), "other must be positive"),
    "others beyond certainty": (lambda: Response(4, 0, 4, 2**62, False, SIMD), r"below 2\*\*64 / choices"),
    "reports of responses": (
        lambda: Response(3, 0, 3, 5, False, SIMD).release(words(2), room(3), key=bytes(32)),
        "a report for each code",
    ),
    "no levels": (lambda: Coin(0, 0, 0, "tail", SIMD), "1 .. COIN_LEVELS"),
    "too many levels": (lambda: Coin(_native.COIN_LEVELS + 1, 0, 0, "tail", SIMD), "1 .. COIN_LEVELS"),
    "marks of coins": (lambda: Coin(*COIN).flip(room(8), room(9), key=bytes(32)), "one length"),
    "words of coins": (
        lambda: Coin(*COIN).flip(room(8), room(8), words=words(2)),
        "must hold 3 64-bit words and spare ones",
    ),
    "a coin without an end": (
        lambda: UnaryResponse(3, 0, 2**63, Coin(3, 5, 2**63, "never", SIMD)),
        "must end in the levels or the tail",
    ),
    "reports of bits": (
        lambda: UnaryResponse(9, 0, 2**63, Coin(*COIN)).release(words(2), room(3), key=bytes(32)),
        "a report for each code",
    ),
    "columns that are no bytes": (lambda: _native.count_columns(room(2), room(72), simd=SIMD), "rows whole rows"),
    "half a row": (lambda: _native.count_columns(room(3), room(128), simd=SIMD), "rows whole rows"),
    "half a report": (lambda: _native.count_supports(room(3), room(8), 4, simd=SIMD), "reports must be whole"),
    "half a count": (lambda: _native.count_supports(room(8), room(9), 4, simd=SIMD), "supports int64"),
    "too many buckets": (lambda: _native.count_supports(room(8), room(8), 2**15 + 1, simd=SIMD), "buckets 2"),
    "one maximum of a range": (lambda: selection().widen_range(words(3), None, room(8)), "two numbers"),
    "one maximum of a part": (
        lambda: selection().select_part(words(3), None, room(8), contenders(), words=words(3)),
        "two numbers",
    ),
    "half a score": (lambda: selection().widen_range(room(12), None, room(16)), "whole rows"),
    "a flag too few": (lambda: selection().widen_range(words(3), room(2), room(16)), "a byte for each candidate"),
    "a key of selections": (
        lambda: selection().select(words(3), None, 3, room(8), contenders(), key=LONG_KEY),
        "a key has 32 bytes",
    ),
    "words of selections": (
        lambda: selection().select(words(3), None, 3, room(8), contenders(), words=words(2)),
        "a word for each candidate",
    ),
    "choices of selections": (
        lambda: selection().select(words(3), None, 3, room(16), contenders(), words=words(3)),
        "a number for each row",
    ),
    "a quantizer's bounds": (lambda: Quantizer(0, 3, 2, None, SIMD), "low"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    call, said = REFUSED[name]
    with pytest.raises(ValueError, match=said):
        call()


@pytest.mark.parametrize(
    ("form", "x", "expected"),
    [("float64", 2.6, 3.0), ("float32", 2.6, 3.0), ("int64-float64", -7, -7.0), ("int64", -7, -7)],
)
def test_single_numbers_of_every_form(form: str, x: float, expected: float) -> None:
    """A scale far below the grid makes the result certain."""
    plan = Plan("laplace", form, 2.0**-30, 0, 0.0, 0.0, SIMD)
    value = plan.release_one(x)
    assert value == expected
    assert type(value) is type(expected)
