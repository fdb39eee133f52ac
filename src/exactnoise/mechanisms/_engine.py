"""One release of an array: random keys, kernels, refinement, and never an exact cell left behind.

Samples are released in ranges, each under a ChaCha20 key of its own; all keys are drawn before the first value is
written. Ranges are independent, so that threads may share them out. Arrays that the kernels cannot read in place
(another byte order, strides, narrow integers, missing values) go through a small copy range by range.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import PENDING, Plan
from exactnoise._refine import Extension, Ideal, fresh_extension, refine
from exactnoise.mechanisms._data import KERNEL_DTYPES, Lanes
from exactnoise.mechanisms._threads import for_each, surely

__all__ = ["Randomness", "check_out", "check_randomness", "check_workers", "release_lanes", "release_range"]

Randomness = Literal["chacha20", "os"]

_RANDOMNESS = get_args(Randomness)
_RANGE = 400 * _native.BLOCK  # samples under one key, and between two looks at pending signals
_STAGED_RANGE = 50 * _native.BLOCK
_PENDING = 4 * _native.BLOCK
_SYSTEM_WORDS = 32  # calls of up to so many words take them from the system, with no cipher at all


def check_randomness(randomness: object) -> None:
    if randomness not in _RANDOMNESS:
        raise ValueError(f"randomness must be 'chacha20' or 'os', got {randomness!r}")


def check_workers(workers: object) -> None:
    if isinstance(workers, (bool, np.timedelta64)) or not isinstance(workers, (int, np.integer)):
        raise TypeError(f"workers must be a whole number of threads, got {workers!r}")
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers!r}")


def check_out(out: object, lanes: Lanes, dtype: np.dtype[Any]) -> None:
    """An array of the result's shape that holds its dtype without loss: a cast would round off the grid or overflow."""
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
    if out.shape != lanes.values.shape:
        raise ValueError(f"out must have x's shape {lanes.values.shape}, got {out.shape}")
    if out.dtype.kind not in "if" or out.dtype.itemsize > 8 or not np.can_cast(dtype, out.dtype, "safe"):
        raise TypeError(f"out must have dtype {dtype}, the result's for this x, got {out.dtype}: convert x or out")
    if not out.flags.writeable:
        raise ValueError("out must be writeable")


def release_lanes(
    plan: Plan,
    ideal: Ideal,
    lanes: Lanes,
    out: npt.NDArray[Any],
    *,
    workers: int,
    randomness: Randomness,
) -> None:
    """Write the release of `lanes` to `out`; if anything at all goes wrong, `out` is zeroed."""
    n = out.size
    keys = bytearray()
    complete = False
    try:
        x_dtype, out_dtype = KERNEL_DTYPES[plan.form]
        if np.may_share_memory(lanes.values, out) and not _same_place(lanes.values, out):
            lanes = Lanes(lanes.values.copy(), lanes.missing, lanes.scalar)
        direct = lanes.missing is None and _is_plain(lanes.values, x_dtype) and _is_plain(out, out_dtype)
        size = min(max(_RANGE, n // 4096), _native.SAMPLES_PER_KEY) if direct else _STAGED_RANGE
        count = -(-n // size)
        if randomness == "chacha20" and plan.word_count(n) > _SYSTEM_WORDS:
            keys = bytearray(_native.KEY_BYTES * count)
            _native.fill_entropy(keys)

        def release(i: int) -> None:
            start, stop = i * size, min((i + 1) * size, n)
            key = keys[_native.KEY_BYTES * i : _native.KEY_BYTES * (i + 1)] or None  # a copy that nobody else wipes
            try:
                if direct:
                    x, y = lanes.values.reshape(-1)[start:stop], out.reshape(-1)[start:stop]
                    release_range(plan, ideal, x, y, fresh_extension(), key=key)
                else:
                    release_staged(start, stop, key)
            finally:
                if key:
                    key[:] = bytes(len(key))

        def release_staged(start: int, stop: int, key: bytearray | None) -> None:
            staged = lanes.piece(start, stop, x_dtype, ideal.nan)
            result = staged if x_dtype == out_dtype else np.empty(stop - start, out_dtype)
            try:
                release_range(plan, ideal, staged, result, fresh_extension(), key=key)
                _write(out, start, stop, result)
            finally:
                staged.fill(0)

        for_each(release, count, workers)
        complete = True
    finally:
        if not complete:
            surely(lambda: out.fill(0))
        surely(lambda: keys.__setitem__(slice(None), bytes(len(keys))))


def release_range(
    plan: Plan,
    ideal: Ideal,
    x: npt.NDArray[Any],
    out: npt.NDArray[Any],
    extension: Extension,
    *,
    key: bytearray | None = None,
    words: npt.NDArray[np.uint64] | None = None,
    declined: list[int] | None = None,
) -> None:
    """Release one range of contiguous samples and refine what the kernels declined; `declined` collects which."""
    n = x.size
    pending = np.empty(min(_PENDING, n), PENDING)
    done = 0
    try:
        while done < n:
            done, count = plan.release(x, out, done, n, pending, key=key, words=words)
            if count:
                for index, value in refine(ideal, plan.form, pending[:count], extension):
                    out[index] = value
                    if declined is not None:
                        declined.append(index)
                pending[:count] = 0  # it holds exact values
    except BaseException:
        pending.view(np.uint8)[:] = 0
        raise


def _is_plain(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether the kernels can use the array where it is."""
    return array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned


def _same_place(x: npt.NDArray[Any], out: npt.NDArray[Any]) -> bool:
    """Whether sample i of x lies where that of out does and nowhere else, so that reading before writing is enough."""
    return (
        _is_injective(out)
        and x.__array_interface__["data"][0] == out.__array_interface__["data"][0]
        and x.strides == out.strides
        and x.itemsize == out.itemsize
    )


def _is_injective(array: npt.NDArray[Any]) -> bool:
    """Whether no two elements share memory: every stride steps over all that the smaller ones reach."""
    reach = array.itemsize
    for stride, length in sorted(
        (abs(stride), length) for stride, length in zip(array.strides, array.shape, strict=True)
    ):
        if length > 1:
            if stride < reach:
                return False
            reach += stride * (length - 1)
    return True


def _write(out: npt.NDArray[Any], start: int, stop: int, result: npt.NDArray[Any]) -> None:
    if out.flags.c_contiguous:
        np.copyto(out.reshape(-1)[start:stop], result)
    else:
        out.flat[start:stop] = result
