"""The compiled core's only door: the rest of the package imports from here.

`SIMD` is the instruction set in use: the widest that the machine has, or the one that the environment variable
EXACTNOISE_SIMD names when it is first needed.
"""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from exactnoise._native.engine import (
    BLOCK,
    COIN_GROUPS,
    COIN_LEVELS,
    CONTENDER_BYTES,
    EXCLUDED,
    GROUP_WORDS,
    KEY_BYTES,
    MISSING,
    PENDING_BYTES,
    REPORT_BLOCK,
    SAMPLES_PER_KEY,
    STATUS_END,
    TILES_PER_KEY,
    WORDS_PER_KEY,
    Coin,
    Plan,
    Quantizer,
    Response,
    Selection,
    UnaryResponse,
    add_rows,
    bin_values,
    chacha20_words,
    clamp,
    clip_rows,
    count_codes,
    count_columns,
    count_supports,
    entropy_source,
    fill_entropy,
    negative_log,
    simd_available,
    sincos,
    square_root,
    widen,
)
from exactnoise._native.self_check import self_check
from exactnoise.errors import UnsupportedInstructionSet

__all__ = [
    "BLOCK",
    "COIN_GROUPS",
    "COIN_LEVELS",
    "CONTENDER",
    "EXCLUDED",
    "GROUP_WORDS",
    "KEY_BYTES",
    "MISSING",
    "PENDING",
    "REPORT_BLOCK",
    "SAMPLES_PER_KEY",
    "SIMD",
    "STATUS_END",
    "TILES_PER_KEY",
    "WORDS_PER_KEY",
    "Coin",
    "Plan",
    "Quantizer",
    "Response",
    "Selection",
    "UnaryResponse",
    "add_rows",
    "bin_values",
    "chacha20_words",
    "clamp",
    "clip_rows",
    "count_codes",
    "count_columns",
    "count_supports",
    "elementary_negative_log",
    "elementary_sincos",
    "elementary_sqrt",
    "entropy_source",
    "fill_entropy",
    "self_check",
    "simd_available",
    "widen",
]

Doubles = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

#: One declined lane: en_pending of native/release.h.
PENDING = np.dtype([("index", "i8"), ("lane", "i8"), ("word", "u8", 3), ("x", "u8")])
assert PENDING.itemsize == PENDING_BYTES

#: One candidate that may be the selected one: en_contender of native/select.h.
CONTENDER = np.dtype([("row", "i8"), ("candidate", "i8"), ("word", "u8"), ("score", "u8"), ("upper", "f8")])
assert CONTENDER.itemsize == CONTENDER_BYTES


#: The instruction set in use.
SIMD: str


def __getattr__(name: str) -> str:
    """Settle SIMD when it is first needed, so that a wrong choice is an error of that call and not of the import."""
    if name != "SIMD":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    available = simd_available()
    chosen = os.environ.get("EXACTNOISE_SIMD") or available[-1]
    if chosen not in available:
        raise UnsupportedInstructionSet(
            f"EXACTNOISE_SIMD={chosen} asks for an instruction set that this machine or this build lacks; it has "
            f"{', '.join(available)}"
        )
    globals()["SIMD"] = chosen
    return chosen


def elementary_negative_log(words: Words, simd: str) -> Doubles:
    """Return -ln of the midpoints (J + 1/2) 2^-51, J a word's upper 51 bits, as the kernels compute it."""
    out = np.empty(words.shape)
    negative_log(words, out, simd=simd)
    return out


def elementary_sincos(words: Words, simd: str) -> tuple[Doubles, Doubles]:
    """Return sine and cosine of (pi/2) f, f the signed fraction of each word."""
    sine, cosine = np.empty(words.shape), np.empty(words.shape)
    sincos(words, sine, cosine, simd=simd)
    return sine, cosine


def elementary_sqrt(x: Doubles, simd: str) -> Doubles:
    """Return the square root as the kernels compute it."""
    out = np.empty(x.shape)
    square_root(x, out, simd=simd)
    return out
