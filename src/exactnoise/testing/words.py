"""For tests only: mechanisms on given random words, with which nothing is private.

The words replace the operating system's randomness, so that a released value can be compared with the exact one for
the same words. Their meaning: native/laplace.h and native/gaussian.h.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import Plan
from exactnoise._refine import Extension
from exactnoise.accounting.amount import Number
from exactnoise.mechanisms._data import KERNEL_DTYPES, Lanes, read
from exactnoise.mechanisms._engine import release_range
from exactnoise.mechanisms._selecting import Given, select_rows
from exactnoise.mechanisms.base import AdditiveMechanism
from exactnoise.mechanisms.response import LocalRandomizer
from exactnoise.mechanisms.response.coins import binary_expansion, checked_probability, flip
from exactnoise.mechanisms.selection import SelectionMechanism, checked_scores
from exactnoise.mechanisms.snapping import Snapping

__all__ = [
    "ambiguous_lanes",
    "coins_from_words",
    "fixed_extension",
    "refined_rows",
    "release_from_words",
    "respond_from_words",
    "select_from_words",
    "snapped_from_words",
    "window",
    "word_count",
]

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
        (lane, j) -> the j-th word appended to a lane's words, the same whenever it is asked for; `fixed_extension` by
        default.
    simd : str, optional
        The instruction set; the one in use by default.
    window_factor : float
        Scales the certified windows, that of fixed point too: below 1 the results may be wrong, which tests use to show
        that they would notice.

    Returns
    -------
    ndarray
        Of x's shape, as `release` gives.

    Examples
    --------
    >>> from exactnoise import DiscreteLaplace
    >>> noise = DiscreteLaplace(sensitivity=1, epsilon="0.5")
    >>> words = np.full(word_count(noise, 3), 2**60, np.uint64)
    >>> release_from_words(noise, [10, 20, 30], words)
    array([15, 25, 35])
    """
    plan, values, out = _prepared(mechanism, x, simd, window_factor)
    given = np.ascontiguousarray(words, np.uint64)
    release_range(plan, mechanism._ideal(), values, out.reshape(-1), extension or fixed_extension, words=given)
    return out


def respond_from_words(
    mechanism: LocalRandomizer, codes: Any, words: Words, *, simd: str | None = None
) -> npt.NDArray[Any]:
    """Report codes with the given random words. NOT PRIVATE.

    Parameters
    ----------
    mechanism : RandomizedResponse, SymmetricUnaryEncoding, OptimizedUnaryEncoding or LocalHashing
    codes : array-like of int
        As for `release`.
    words : ndarray of uint64
        The streams of native/response.h, one after the other; the last one may be longer than needed.
    simd : str, optional
        The instruction set; the one in use by default.

    Returns
    -------
    ndarray
        Of the shape that `release` gives.
    """
    lanes = read(codes)
    values = lanes.piece(0, lanes.values.size, np.dtype(np.int64), mechanism.missing)
    out = np.empty(lanes.values.shape + mechanism.report_shape, mechanism.report_dtype)
    given = np.ascontiguousarray(words, np.uint64)
    mechanism._responder(simd or _native.SIMD).release(values, out.reshape(-1).view(np.uint8), words=given)
    return out


def coins_from_words(
    probability: Number,
    n: int,
    words: Words,
    *,
    extension: Extension | None = None,
    simd: str | None = None,
) -> npt.NDArray[np.bool_]:
    """Return coins from the given random words. NOT PRIVATE.

    Parameters
    ----------
    probability : number
        Of True; between 0 and 1, and neither of them.
    n : int
        How many.
    words : ndarray of uint64
        As for `respond_from_words`.
    extension : callable, optional
        What a coin takes beyond those words: (coin, j) -> the j-th further one; `fixed_extension` by default.
    simd : str, optional
        The instruction set; the one in use by default.

    Returns
    -------
    ndarray of bool
        n of them.
    """
    p = checked_probability(probability)
    coin = _native.Coin(*binary_expansion(p), simd or _native.SIMD)
    return flip(coin, p, n, extension or fixed_extension, words=np.ascontiguousarray(words, np.uint64))


def ambiguous_lanes(
    mechanism: AdditiveMechanism,
    x: Any,
    words: Words,
    *,
    simd: str | None = None,
    window_factor: float = 1.0,
) -> npt.NDArray[np.int64]:
    """Return which samples the fast path would decline for these words, those included that fixed point settles.

    Parameters
    ----------
    mechanism, x, words, simd, window_factor
        As for `release_from_words`.

    Returns
    -------
    ndarray of int64
        Their places in x, counted in C order.
    """
    plan, values, out = _prepared(mechanism, x, simd, window_factor)
    pending = np.empty(values.size, _native.PENDING)
    given = np.ascontiguousarray(words, np.uint64)
    _, count = plan.release(values, out.reshape(-1), 0, values.size, pending, words=given)
    return pending["index"][:count].copy()


def window(mechanism: AdditiveMechanism, words: Words) -> npt.NDArray[np.float64]:
    """Return each sample's certified window, for a release of float64 (or of integers, by discrete noise).

    Parameters
    ----------
    mechanism, words
        As for `release_from_words`.

    Returns
    -------
    ndarray of float64
        In steps of the grid, a sample each; for discrete Gaussian noise that of Y, of the first proposals.
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


def _prepared(
    mechanism: AdditiveMechanism, x: Any, simd: str | None, window_factor: float
) -> tuple[Plan, npt.NDArray[Any], npt.NDArray[Any]]:
    """The plan, x as its kernels read it, in one dimension, and an array of x's shape for what they write."""
    lanes: Lanes = read(x)
    form = mechanism._form(lanes.is_integer, lanes.is_float32)
    plan = mechanism._make_plan(form, simd or _native.SIMD, window_factor)
    x_dtype, out_dtype = KERNEL_DTYPES[form]
    replacement = round(mechanism._nan) if lanes.is_integer else mechanism._nan
    values = lanes.piece(0, lanes.values.size, x_dtype, replacement)
    return plan, values, np.empty(lanes.values.shape, out_dtype)


def snapped_from_words(mechanism: Snapping, x: Any, words: Words, **options: Any) -> npt.NDArray[Any]:
    """Release x by the snapping mechanism with the given random words. NOT PRIVATE.

    Parameters
    ----------
    mechanism : Snapping
    x, words
        As for `release_from_words`.
    **options
        The others of `release_from_words`.

    Returns
    -------
    ndarray
        Of x's shape, as `release` gives.
    """
    lanes = read(x)
    x_dtype, dtype = KERNEL_DTYPES[mechanism._noise._form(lanes.is_integer, lanes.is_float32)]
    clamped = mechanism._clamped(lanes, x_dtype, mechanism._limits(x_dtype))
    low, high = mechanism._limits(dtype)
    return np.asarray(np.clip(release_from_words(mechanism._noise, clamped, words, **options), low, high))


def select_from_words(
    mechanism: SelectionMechanism,
    scores: Any,
    words: Words,
    *,
    mask: npt.ArrayLike | None = None,
    extension: Extension | None = None,
    simd: str | None = None,
    window_factor: float = 1.0,
    workers: int = 1,
) -> npt.NDArray[np.int64]:
    """Select with the given random words. NOT PRIVATE.

    Parameters
    ----------
    mechanism : Exponential or PermuteAndFlip
    scores, mask, workers
        As for `release`.
    words : ndarray of uint64
        One a candidate, in C order.
    extension, simd, window_factor
        As for `release_from_words`.

    Returns
    -------
    ndarray of int64
        The candidates selected: of the scores' shape less the last axis.
    """
    return _select(mechanism, scores, words, mask, extension or fixed_extension, simd, window_factor, workers)[0]


def refined_rows(
    mechanism: SelectionMechanism,
    scores: Any,
    words: Words,
    *,
    mask: npt.ArrayLike | None = None,
    simd: str | None = None,
    window_factor: float = 1.0,
) -> npt.NDArray[np.int64]:
    """Return which rows the kernels would leave to refinement.

    Parameters
    ----------
    mechanism, scores, words, mask, simd, window_factor
        As for `select_from_words`.

    Returns
    -------
    ndarray of int64
        Their numbers, counted in C order.
    """
    return _select(mechanism, scores, words, mask, fixed_extension, simd, window_factor, 1)[1]


def _select(
    mechanism: SelectionMechanism,
    scores: Any,
    words: Words,
    mask: npt.ArrayLike | None,
    extension: Extension,
    simd: str | None,
    window_factor: float,
    workers: int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    table, shape = checked_scores(scores, mask)
    plan = mechanism._make_plan(table.form, simd or _native.SIMD, window_factor)
    out = np.zeros(table.rows, np.int64)
    refined: list[int] = []
    select_rows(plan, table, out, Given(words), lambda: extension, workers=workers, refined=refined)
    return out.reshape(shape), np.array(refined, np.int64)
