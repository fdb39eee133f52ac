"""One release of an array: random keys, kernels, refinement, and never an exact cell left behind.

Samples are released in ranges, each under a ChaCha20 key of its own; all keys are drawn before the first value is written.
Ranges are independent, so that threads may share them out. Arrays that the kernels cannot read in place (another byte
order, strides, narrow integers, missing values) go through a small copy range by range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import PENDING, Plan
from exactnoise._refine import Extension, Ideal, fresh_extension, refine
from exactnoise.mechanisms._data import Lanes, kernel_dtype

__all__ = ["Randomness", "check_out", "check_randomness", "check_workers", "release_lanes", "release_range"]

Randomness = Literal["chacha20", "os"]

_RANGE = 1 << 20  # samples under one key, and between two looks at pending signals
_STAGED_RANGE = 1 << 15
_PENDING = 2 * _native.BLOCK
_SYSTEM_WORDS = 32  # calls of up to so many words take them from the system, with no cipher at all


def check_randomness(randomness: object) -> None:
    if randomness not in get_args(Randomness):
        raise ValueError(f"randomness must be 'chacha20' or 'os', got {randomness!r}")


def check_workers(workers: object) -> None:
    if isinstance(workers, bool) or not isinstance(workers, (int, np.integer)):
        raise TypeError(f"workers must be a whole number of threads, got {workers!r}")
    if workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers!r}")


def check_out(out: object, lanes: Lanes, dtype: np.dtype[Any]) -> None:
    """NumPy's rules for out=: an array of the result's shape to which its dtype can be cast."""
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
    if out.shape != lanes.values.shape:
        raise ValueError(f"out must have x's shape {lanes.values.shape}, got {out.shape}")
    if not np.can_cast(dtype, out.dtype, "same_kind"):
        raise TypeError(f"out must have dtype {dtype}, or one it can be cast to within its kind, got {out.dtype}")
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
    x_dtype, out_dtype = kernel_dtype(plan.form)  # type: ignore[arg-type]
    direct = _is_plain(lanes.values, x_dtype) and _is_plain(out, out_dtype) and lanes.missing is None
    if np.may_share_memory(lanes.values, out) and not _same_place(lanes.values, out):
        lanes = Lanes(lanes.values.copy(), lanes.missing, lanes.scalar)
    size = _RANGE if direct else _STAGED_RANGE
    count = -(-n // size)
    keys = None
    words = n + n % 2 if plan.family == "gaussian" else n
    if randomness == "chacha20" and words > _SYSTEM_WORDS:
        keys = bytearray(_native.KEY_BYTES * count)
        _native.fill_entropy(keys)

    def release(i: int) -> None:
        start, stop = i * size, min((i + 1) * size, n)
        key = None if keys is None else memoryview(keys)[_native.KEY_BYTES * i : _native.KEY_BYTES * (i + 1)]
        if direct:
            x, y = lanes.values.reshape(-1)[start:stop], out.reshape(-1)[start:stop]
            release_range(plan, ideal, x, y, fresh_extension(), key=key)
            return
        replacement = round(ideal.nan) if lanes.is_integer else ideal.nan
        staged = lanes.piece(start, stop, x_dtype, replacement)
        result = staged if x_dtype == out_dtype else np.empty(stop - start, out_dtype)
        try:
            release_range(plan, ideal, staged, result, fresh_extension(), key=key)
            _write(out, start, stop, result)
        finally:
            staged.fill(0)

    complete = False
    try:
        _for_each(release, count, workers)
        complete = True
    finally:
        if not complete:
            out.fill(0)
        if keys is not None:
            keys[:] = bytes(len(keys))


def release_range(
    plan: Plan,
    ideal: Ideal,
    x: npt.NDArray[Any],
    out: npt.NDArray[Any],
    extension: Extension,
    *,
    key: memoryview | None = None,
    words: npt.NDArray[np.uint64] | None = None,
) -> npt.NDArray[np.int64]:
    """Release one range of contiguous samples and refine what the kernels declined; return which lanes those were."""
    pending = np.empty(min(_PENDING, max(x.size, 1)), PENDING)
    declined: list[npt.NDArray[np.int64]] = []
    done = 0
    while done < x.size:
        done, count = plan.release(x, out, done, x.size, pending, key=key, words=words)
        if count:
            declined.append(pending["index"][:count].copy())
            for index, value in refine(ideal, plan.form, pending[:count], extension):  # type: ignore[arg-type]
                out[index] = value
            pending[:count] = 0
    return np.concatenate([*declined, np.empty(0, np.int64)])


def _for_each(task: Callable[[int], None], count: int, workers: int) -> None:
    if workers == 1 or count == 1:
        for i in range(count):
            task(i)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(workers, count)) as pool:
        futures = [pool.submit(task, i) for i in range(count)]
        try:
            for future in futures:
                future.result()
        finally:
            for future in futures:
                future.cancel()  # what has not started; leaving the block waits for what has


def _is_plain(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether the kernels can use the array where it is."""
    return array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned


def _same_place(x: npt.NDArray[Any], out: npt.NDArray[Any]) -> bool:
    """Whether sample i of x lies where sample i of out does, so that reading before writing is enough."""
    return (
        x.__array_interface__["data"][0] == out.__array_interface__["data"][0]
        and x.strides == out.strides
        and x.itemsize == out.itemsize
    )


def _write(out: npt.NDArray[Any], start: int, stop: int, result: npt.NDArray[Any]) -> None:
    with np.errstate(all="ignore"):  # a cast to a narrower float may overflow; a warning would depend on data
        if out.flags.c_contiguous:
            np.copyto(out.reshape(-1)[start:stop], result, casting="same_kind")
        else:
            out.flat[start:stop] = result
