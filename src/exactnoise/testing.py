"""For tests only: mechanisms on given random words, with which nothing is private.

The words replace the operating system's randomness, so that a released value can be compared with the exact one for
the same words. Nothing else in the package imports this module. The words' meaning: native/laplace.h and
native/gaussian.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import Plan
from exactnoise._refine import Extension
from exactnoise.mechanisms._data import KERNEL_DTYPES, Lanes, read
from exactnoise.mechanisms._engine import release_range
from exactnoise.mechanisms.base import AdditiveMechanism

__all__ = ["ambiguous_lanes", "fixed_extension", "release_from_words", "window", "word_count"]

Words = npt.NDArray[np.uint64]


def word_count(mechanism: AdditiveMechanism, n: int) -> int:
    """How many 64-bit words n samples take. `DiscreteGaussian` takes as many again for the samples that it rejects."""
    return _plan_of(mechanism).word_count(n)


def fixed_extension(lane: int, j: int) -> int:
    """Return a fixed pseudo-random word for each lane and j: the default for appended bits."""
    z = (lane * 0x9E3779B97F4A7C15 + (j + 1) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    for multiplier in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):
        z = ((z ^ z >> 30) * multiplier) & 0xFFFFFFFFFFFFFFFF
    return z ^ z >> 31


def release_from_words(
    mechanism: AdditiveMechanism,
    x: Any,
    words: Words,
    *,
    extension: Extension | None = None,
    simd: str | None = None,
    window_factor: float = 1.0,
) -> npt.NDArray[Any]:
    """Release x with the given random words. NOT PRIVATE.

    Parameters
    ----------
    mechanism : Laplace, Gaussian, DiscreteLaplace or DiscreteGaussian
    x : array-like
        As for `release`; it is copied.
    words : ndarray of uint64
        `word_count` of them, or a multiple of that for fresh proposals (native/discrete_gaussian.h).
    extension : callable, optional
        (lane, j) -> the j-th word appended to a lane's words; `fixed_extension` by default.
    simd : str, optional
        The instruction set; the one in use by default.
    window_factor : float
        Scales the certified windows: below 1 the results may be wrong, which tests use to show that they would notice.

    Returns
    -------
    ndarray
        Of x's shape, as `release` gives.
    """
    return _run(mechanism, x, words, extension or fixed_extension, simd, window_factor)[0]


def ambiguous_lanes(
    mechanism: AdditiveMechanism,
    x: Any,
    words: Words,
    *,
    simd: str | None = None,
    window_factor: float = 1.0,
) -> npt.NDArray[np.int64]:
    """Return which samples the fast path would decline for these words; parameters as in `release_from_words`."""
    return _run(mechanism, x, words, fixed_extension, simd, window_factor)[1]


def window(mechanism: AdditiveMechanism, words: Words) -> npt.NDArray[np.float64]:
    """Return each sample's certified window in grid units, for a float64 (or discrete) release with these words.

    For discrete Gaussian noise that of Y, of the first proposals.
    """
    plan = _plan_of(mechanism)
    fixed, reach = plan.window
    if plan.family not in ("gaussian", "discrete-gaussian"):
        return fixed + reach * _power((words >> np.uint64(14)).astype(np.float64) + 0.5, 50)
    if plan.family == "discrete-gaussian":  # without every block's third words
        words = _without_thirds(words)
    windows = np.empty(words.size)
    for start in range(0, words.size, _native.BLOCK):
        block = words[start : start + _native.BLOCK]
        half = (block.size + 1) // 2
        first = block[:half]
        root = np.sqrt(2 * _native.elementary_negative_log(np.ascontiguousarray(first), _native.SIMD))
        power = _power((first >> np.uint64(13)).astype(np.float64) + 0.5, 51)
        windows[start : start + half] = fixed + reach * power * _inverse_above(root)
        windows[start + half : start + block.size] = windows[start : start + block.size - half]
    return windows


def _without_thirds(words: Words) -> Words:
    size = 3 * _native.BLOCK // 2
    blocks = [words[start : start + size] for start in range(0, words.size, size)]
    return np.concatenate([block[: 2 * (block.size // 3)] for block in blocks])


def _plan_of(mechanism: AdditiveMechanism) -> Plan:
    return mechanism._plan(mechanism._form(mechanism._on_integers, False))


def _power(index: npt.NDArray[np.float64], bits: int) -> npt.NDArray[np.float64]:
    """2^(1-e) / 2^64 of native/negative_log.h for u = index * 2^-bits = 2^e (1 + f), sqrt(1/2) <= 1 + f <= sqrt(2)."""
    mantissa, exponent = np.frexp(index)
    exponent = np.where(mantissa < np.sqrt(0.5), exponent - 1, exponent)
    return np.asarray(np.ldexp(1.0, bits - exponent - 63))


def _inverse_above(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The chords of 1/x between the powers of two, as in native/negative_log.h."""
    mantissa, exponent = np.frexp(x)
    return np.asarray(np.ldexp(1.5 - mantissa, 1 - exponent))


def _run(
    mechanism: AdditiveMechanism,
    x: Any,
    words: Words,
    extension: Callable[[int, int], int],
    simd: str | None,
    window_factor: float,
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    lanes: Lanes = read(x)
    form = mechanism._form(lanes.is_integer, lanes.is_float32)
    plan = mechanism._make_plan(form, simd or _native.SIMD, window_factor)
    x_dtype, out_dtype = KERNEL_DTYPES[form]
    replacement = round(mechanism._nan) if lanes.is_integer else mechanism._nan
    values = lanes.piece(0, lanes.values.size, x_dtype, replacement)
    out = np.empty(values.size, out_dtype)
    declined: list[int] = []
    given = np.ascontiguousarray(words, np.uint64)
    release_range(plan, mechanism._ideal(), values, out, extension, words=given, declined=declined)
    return out.reshape(lanes.values.shape), np.array(declined, np.int64)
