"""Counts of codes and bins of values, against NumPy and tests/oracle_aggregation.py."""

from __future__ import annotations

import numpy as np
import oracle_aggregation as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import layouts

from exactnoise._native import bin_values, count_codes, simd_available

SIMD = simd_available()
INT64 = np.iinfo(np.int64)
FEW = 1024  # of native/counts.c
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
INF = float("inf")


def counted(codes: np.ndarray, groups: int) -> np.ndarray:
    inside = codes[(codes >= 0) & (codes < groups)]
    return np.bincount(inside.astype(np.int64), minlength=groups)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("groups", [1, 2, 10, 127, FEW, FEW + 1, 70_000])
def test_codes_are_counted(groups: int, dtype: str) -> None:
    rng = np.random.default_rng(groups)
    wanted = rng.integers(-2, groups + 2, 5003)
    limits = [INT64.min, INT64.max, -1, 2**32, groups, groups - 1, 255, -128]
    codes = np.concatenate([wanted, limits]).astype(dtype)
    for n in (0, 1, 2, 3, 4, 5, 511, 512, 513, groups - 1, groups, len(codes)):
        for same in layouts(codes[:n].copy()):
            counts = np.full(groups, 7)
            count_codes(same, counts)
            assert np.array_equal(counts - 7, counted(codes[:n].astype(object), groups) if n else np.zeros(groups))


def test_large_unsigned_codes_are_in_no_group() -> None:
    counts = np.zeros(3, "i8")
    count_codes(np.array([2**63, 2**64 - 1, 2**63 + 1, 2], "u8"), counts)
    assert counts.tolist() == [0, 0, 1]


def test_no_group() -> None:
    count_codes(np.arange(3), np.zeros(0, "i8"))


def test_many_equal_codes() -> None:
    counts = np.zeros(2, "i8")
    count_codes(np.broadcast_to(np.uint8(1), 10**7), counts)
    assert counts.tolist() == [0, 10**7]


@pytest.mark.slow
def test_counts_beyond_32_bits() -> None:
    counts = np.zeros(2, "i8")
    count_codes(np.broadcast_to(np.uint8(1), 5 * 2**32 // 4), counts)
    count_codes(np.broadcast_to(np.uint8(1), 4 * (2**32 + 7)), counts)  # more than a table can hold
    assert counts.tolist() == [0, 5 * 2**32 // 4 + 4 * (2**32 + 7)]


@pytest.mark.parametrize("codes", [np.zeros(3), np.zeros((3, 1), "i8"), np.zeros(3, ">i4"), np.zeros(3, "m8[s]")])
def test_other_codes_are_refused(codes: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"integers|dimensions|native|dtype"):
        count_codes(codes, np.zeros(3, "i8"))


def binned(x: np.ndarray, edges: np.ndarray, simd: str) -> list[int]:
    out = np.empty(len(x), "i8")
    bin_values(x, edges, out, simd=simd)
    return out.tolist()


EDGES = [
    [0.0, 1.0],
    [-0.0, 0.0],
    [0.0, -0.0, 5e-324],
    [1.0, 1.0, 1.0, 2.0, 2.0],
    [-INF, 0.0, INF],
    [-INF, -INF],
    [INF, INF],
    [-1e308, -1.0, -5e-324, 5e-324, 0.1, 1e308],
    [-2.0, 0.5, 3.0, 9.0, 9.5, 100.0, 1e5],
]


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("edges", EDGES, ids=str)
def test_values_are_binned(edges: list[float], dtype: str, simd: str) -> None:
    with np.errstate(all="ignore"):
        near = np.array([INF, -INF, 0.0, -0.0, 0.3, 7.7, 1e300, -1e300, *edges]).astype(dtype)
        x = np.concatenate([near, np.nextafter(near, near.dtype.type(INF)), np.nextafter(near, near.dtype.type(-INF))])
    x = np.tile(np.append(x, [np.nan, -np.nan]).astype(dtype), 40)
    want = [oracle.bin_of(value, edges) for value in x.tolist()]
    for same in layouts(x):
        assert binned(same, np.array(edges), simd) == want


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("edges", [[0, 1], [INT64.min, INT64.max], [-3, -3, 0, 7, 2**53, 2**53 + 1], [5, 5]], ids=str)
def test_integers_are_binned(edges: list[int], simd: str) -> None:
    near = [min(max(e + d, INT64.min), INT64.max) for e in edges for d in (-1, 0, 1)]
    x = np.array([*near, INT64.min, INT64.max, 0], "i8")
    for same in layouts(x):
        assert binned(same, np.array(edges, "i8"), simd) == [oracle.bin_of(value, edges) for value in x.tolist()]


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_any_number_of_edges_and_values(dtype: str, simd: str) -> None:
    rng = np.random.default_rng(1)
    for count in [*range(2, 70), 1000, 4097]:
        edges = np.sort(rng.integers(-500, 500, count)).astype("i8" if dtype == "i8" else "f8")
        x = rng.integers(-600, 600, 530 + count % 7).astype(dtype)
        bins = np.searchsorted(edges, x, side="right") - 1
        bins[x == edges[-1]] = count - 2
        bins[x > edges[-1]] = -1
        assert binned(x, edges, simd) == bins.tolist()
    for n in range(1100):
        assert binned(x[:n], edges, simd) == bins.tolist()[:n]


@given(st.lists(st.floats(allow_nan=False), min_size=2, max_size=20), st.lists(st.floats(), max_size=40))
@settings(max_examples=100, deadline=None)
def test_any_floats(edges: list[float], x: list[float]) -> None:
    edges.sort()
    want = [oracle.bin_of(value, edges) for value in x]
    for simd in SIMD:
        assert binned(np.array(x), np.array(edges), simd) == want


@pytest.mark.parametrize(
    ("x", "edges"),
    [("f8", np.arange(3)), ("i8", np.arange(3.0)), ("f4", np.arange(3, dtype="f4")), ("f8", np.zeros(1))],
)
def test_other_edges_are_refused(x: str, edges: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"edges|64 bits"):
        binned(np.zeros(4, x), edges, SIMD[0])
