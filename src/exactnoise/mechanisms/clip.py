"""Clipping to a public norm, proved: what makes the sensitivity of a sum of vectors a number that one can rely on."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise.accounting.amount import Number, exact, float_down, shown
from exactnoise.mechanisms._data import Lanes, read
from exactnoise.mechanisms._layout import is_plain, same_place, write
from exactnoise.mechanisms._options import check_out, check_workers
from exactnoise.mechanisms._ranges import ZeroedUnlessComplete
from exactnoise.mechanisms._threads import for_each

__all__ = ["clip_l1", "clip_l2"]

_LEAST, _LARGEST = Fraction(1, 10**300), Fraction(10**300)
_RANGE = 2**18  # numbers between two looks at pending signals


def clip_l2(rows: Any, bound: Number, *, out: npt.NDArray[Any] | None = None, workers: int = 1) -> npt.NDArray[Any]:
    """Scale vectors down to a Euclidean norm of at most `bound`, in truth and not only up to rounding.

    Parameters
    ----------
    rows : array-like of numbers
        One vector, or a matrix whose rows are clipped each. NaN and missing values count as 0, infinities as the
        largest finite number of the result's type, integers above 2**63 - 1 as that. C-contiguous float32 and float64
        are read in place; everything else is copied range by range, at least a row at a time.
    bound : number
        Between 1e-300 and 1e300: a public parameter, and as everywhere a float counts as the decimal number that it
        prints as.
    out : ndarray, optional
        Where to write; it may be `rows` itself. If anything fails, all of it is set to 0.
    workers : int
        Threads that share the rows; the GIL is released.

    Returns
    -------
    ndarray
        Of the shape of `rows`; float32 for float32 and float16, else float64.

    Raises
    ------
    TypeError, ValueError
        By types, shapes and parameters, never by values in `rows`.

    Notes
    -----
    *Guarantee.* The exact norm of every returned row, in real numbers, is at most `bound`. A row is returned unchanged,
    bit for bit, if an upper bound on its norm, computed with all rounding errors counted, is within the bound; else it
    is scaled by a few ulps less than bound / norm, and rounded toward zero where the result is float32. The usual
    `rows * min(1, bound / norm)` overshoots the bound in about half of the rows that it scales. Nothing overflows or
    underflows: vectors of numbers near 1e300 or 5e-324 are clipped as any others. Proof: native/clip.h. Source: Abadi
    and others 2016, arXiv 1607.00133, Section 3.1.

    *Sensitivity.* One row changes the sum of clipped rows, in real numbers, by at most `bound` if it is added or
    removed, and by twice that if it is replaced. A sum in floating point rounds, and its rounding errors depend on all
    rows: sum integers instead, as docs/gradients.md shows.

    Examples
    --------
    >>> clip_l2([[3.0, 4.0], [0.3, 0.4]], 1).round(6)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    return _clipped("l2", rows, bound, out, workers)


def clip_l1(rows: Any, bound: Number, *, out: npt.NDArray[Any] | None = None, workers: int = 1) -> npt.NDArray[Any]:
    """Scale vectors down to an L1 norm (sum of magnitudes) of at most `bound`: `clip_l2` in every other respect.

    Parameters
    ----------
    rows, bound, out, workers
        As in `clip_l2`.

    Returns
    -------
    ndarray
        As in `clip_l2`.

    Raises
    ------
    TypeError, ValueError
        By types, shapes and parameters, never by values in `rows`.

    Examples
    --------
    >>> clip_l1([3.0, -1.0], 2).round(6)
    array([ 1.5, -0.5])
    """
    return _clipped("l1", rows, bound, out, workers)


def _clipped(
    norm: Literal["l1", "l2"], rows: Any, bound: Number, out: npt.NDArray[Any] | None, workers: int
) -> npt.NDArray[Any]:
    limit = _checked_bound(bound)
    check_workers(workers)
    lanes = read(rows, "rows")
    shape = lanes.values.shape
    if len(shape) not in (1, 2):
        raise ValueError(f"rows must be a vector or a matrix, an array of one or two dimensions; got shape {shape}")
    is_float32 = lanes.values.dtype.kind == "f" and lanes.values.dtype.itemsize <= 4
    dtype = np.dtype("f4" if is_float32 else "f8")
    if out is None:
        result = np.empty(shape, dtype)
    else:
        check_out(out, lanes, dtype)
        result = np.asarray(out)  # without the ways of a subclass
    if result.size:
        _clip_lanes(norm, lanes, result, dtype, limit, int(workers))
    return result if out is None else out


def _clip_lanes(
    norm: str, lanes: Lanes, out: npt.NDArray[Any], dtype: np.dtype[Any], bound: float, workers: int
) -> None:
    """Write the clipped rows of `lanes` to `out`; if anything at all goes wrong, `out` is zeroed."""
    columns = out.shape[-1]
    simd = _native.SIMD
    with ZeroedUnlessComplete(out):
        if np.may_share_memory(lanes.values, out) and not same_place(lanes.values, out):
            lanes = Lanes(lanes.values.copy(), lanes.missing, None)
        plain = lanes.missing is None and is_plain(lanes.values, dtype) and is_plain(out, dtype)
        size = max(1, _RANGE // columns) * columns

        def clip(i: int) -> None:
            start, stop = i * size, min((i + 1) * size, out.size)
            if plain:
                x, y = lanes.values.reshape(-1)[start:stop], out.reshape(-1)[start:stop]
                _native.clip_rows(norm, x, y, columns, bound, float32=dtype.itemsize == 4, simd=simd)
                return
            staged = lanes.piece(start, stop, dtype, 0.0)
            try:
                _native.clip_rows(norm, staged, staged, columns, bound, float32=dtype.itemsize == 4, simd=simd)
                write(out, start, stop, staged)
            finally:
                staged.fill(0)

        for_each(clip, -(-out.size // size), workers)


def _checked_bound(bound: Number) -> float:
    """The largest double that is not above the exact bound."""
    amount = exact(bound, "bound")
    if not _LEAST <= amount <= _LARGEST:
        raise ValueError(f"bound must lie between 1e-300 and 1e300, got {shown(bound)}")
    return float_down(amount)
