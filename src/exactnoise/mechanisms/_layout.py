"""Where arrays lie: which of them the kernels can use in place, and what overlaps what."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["is_plain", "same_place", "write"]


def is_plain(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether the kernels can use the array where it is."""
    return array.dtype == dtype and array.flags.c_contiguous and array.flags.aligned


def same_place(x: npt.NDArray[Any], out: npt.NDArray[Any]) -> bool:
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


def write(out: npt.NDArray[Any], start: int, stop: int, result: npt.NDArray[Any]) -> None:
    if out.flags.c_contiguous:
        np.copyto(out.reshape(-1)[start:stop], result)
    else:
        out.flat[start:stop] = result
