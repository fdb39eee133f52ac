"""One release of an array: random keys, kernels, refinement, and never an exact cell left behind.

Samples are released in ranges, each under a ChaCha20 key of its own; all keys are drawn before the first value is
written. Ranges are independent, so that threads may share them out. Arrays that the kernels cannot read in place
(another byte order, strides, narrow integers, missing values) go through a small copy range by range.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import PENDING, Plan
from exactnoise._refine import Extension, Ideal, fresh_extension, refine, settle
from exactnoise.mechanisms._data import KERNEL_DTYPES, Lanes
from exactnoise.mechanisms._layout import is_plain, same_place, write
from exactnoise.mechanisms._options import Randomness
from exactnoise.mechanisms._ranges import ZeroedUnlessComplete, run_in_ranges

__all__ = ["release_lanes", "release_range"]

_RANGE = 400 * _native.BLOCK  # samples under one key, and between two looks at pending signals
_STAGED_RANGE = 50 * _native.BLOCK
_PENDING = 4 * _native.BLOCK


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
    x_dtype, out_dtype = KERNEL_DTYPES[plan.form]
    direct = False

    def release(start: int, stop: int, key: bytearray | None) -> None:
        if direct:
            x, y = lanes.values.reshape(-1)[start:stop], out.reshape(-1)[start:stop]
            release_range(plan, ideal, x, y, fresh_extension(), key=key)
            return
        staged = lanes.piece(start, stop, x_dtype, ideal.nan)
        result = staged if x_dtype == out_dtype else np.empty(stop - start, out_dtype)
        try:
            release_range(plan, ideal, staged, result, fresh_extension(), key=key)
            write(out, start, stop, result)
        finally:
            staged.fill(0)

    with ZeroedUnlessComplete(out):
        if np.may_share_memory(lanes.values, out) and not same_place(lanes.values, out):
            lanes = Lanes(lanes.values.copy(), lanes.missing, lanes.scalar)
        direct = lanes.missing is None and is_plain(lanes.values, x_dtype) and is_plain(out, out_dtype)
        size = min(max(_RANGE, n // 4096), _native.SAMPLES_PER_KEY) if direct else _STAGED_RANGE
        run_in_ranges(release, n, size, words=plan.word_count(n), workers=workers, randomness=randomness)


def release_range(
    plan: Plan,
    ideal: Ideal,
    x: npt.NDArray[Any],
    out: npt.NDArray[Any],
    extension: Extension,
    *,
    key: bytearray | None = None,
    words: npt.NDArray[np.uint64] | None = None,
) -> None:
    """Release one range of contiguous samples and decide what the kernels declined."""
    n = x.size
    pending = np.empty(min(_PENDING, n), PENDING)
    done = 0
    try:
        while done < n:
            done, count = plan.release(x, out, done, n, pending, key=key, words=words)
            if count:
                left = settle(plan, pending[:count], out, extension)
                for index, value in refine(ideal, plan.form, pending[:left], extension):
                    out[index] = value
                pending[:count] = 0  # it holds exact values
    except BaseException:
        pending.view(np.uint8)[:] = 0
        raise
