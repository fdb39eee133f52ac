"""The exact aggregates of benchmarks: the same data for all ways, and a function without arguments for each of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import _native

Array = npt.NDArray[Any]
Job = Callable[[], object]

#: Bounds of the values, which are normal with deviation 50, and the exponent of their grid.
LOW, HIGH, EXPONENT = -100.0, 100.0, -23


def values(n: int, dtype: str = "float64") -> Array:
    return (np.random.default_rng(1).standard_normal(n) * 50).astype(dtype)


def codes(n: int, groups: int) -> Array:
    return np.random.default_rng(2).integers(0, groups, n)


def edges(count: int) -> Array:
    return np.linspace(LOW, HIGH, count)


def clipped_sum(x: Array, codes: Array | None = None, groups: int = 1) -> Job:
    quantizer, counts, sums = _quantizer(x), np.zeros(groups, np.int64), np.zeros((groups, 2), np.uint64)
    return lambda: quantizer.add_sums(x, codes, counts, sums)


def moments(x: Array, codes: Array | None = None, groups: int = 1) -> Job:
    quantizer, counts, sums = _quantizer(x), np.zeros(groups, np.int64), np.zeros((groups, 2), np.uint64)
    squares = np.zeros((groups, 2), np.uint64)
    return lambda: quantizer.add_moments(x, codes, counts, sums, squares)


def cells(x: Array) -> Job:
    quantizer, out = _quantizer(x), np.empty(len(x), np.int64)
    return lambda: quantizer.cells(x, out)


def count(codes: Array, groups: int) -> Job:
    counts = np.zeros(groups, np.int64)
    return lambda: _native.count_codes(codes, counts)


def bins(x: Array, edges: Array) -> Job:
    out = np.empty(len(x), np.int64)
    return lambda: _native.bin_values(x, edges, out, simd=_native.SIMD)


def row_sum(rows: Array, codes: Array | None = None, groups: int = 1) -> Job:
    sums = np.zeros((groups, 2, rows.shape[1]), np.uint64)
    return lambda: _native.add_rows(rows, codes, sums, -30, simd=_native.SIMD)


def _quantizer(x: Array) -> _native.Quantizer:
    exponent = 0 if x.dtype.kind == "i" else EXPONENT
    return _native.Quantizer(exponent, int(LOW * 2**-exponent), int(HIGH * 2**-exponent), None, _native.SIMD)
