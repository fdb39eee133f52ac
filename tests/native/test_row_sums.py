"""Sums of rows are exact, and no row's norm grows on its way to integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import oracle_aggregation as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactnoise._native import add_rows, simd_available

SIMD = simd_available()
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, float("inf"), float("-inf"), float("nan"), 0.5, -0.5, 1.5, -2.5]


def added(rows: np.ndarray, codes: np.ndarray | None, groups: int, exponent: int, simd: str) -> list[list[int]]:
    sums = np.zeros((groups, 2, rows.shape[1]), "u8")
    add_rows(rows, codes, sums, exponent, simd=simd)
    return [oracle.integers(group.T) for group in sums]


def expected(rows: np.ndarray, codes: np.ndarray | None, groups: int, exponent: int) -> list[list[int]]:
    sums = [[0] * rows.shape[1] for _ in range(groups)]
    for row, code in zip(rows.tolist(), [0] * len(rows) if codes is None else codes.tolist(), strict=True):
        if 0 <= code < groups:
            sums[code] = [total + oracle.truncate(x, exponent) for total, x in zip(sums[code], row, strict=True)]
    return sums


def rows_of(n: int, columns: int, exponent: int, dtype: str) -> np.ndarray:
    rng = np.random.default_rng(n + columns)
    x = rng.choice([0, 1, 5, 1000, 2.0**49, 2.0**50], (n, columns)) * rng.choice([-1, 1], (n, columns))
    x += rng.choice([0, 0, 0.5, 2.0**-30, -(2.0**-30)], (n, columns))
    with np.errstate(all="ignore"):
        x = np.ldexp(x, exponent)
        chosen = rng.random((n, columns)) < 0.1
        x[chosen] = rng.choice(SPECIAL, int(chosen.sum()))
        return x.astype(dtype)


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (700, 1), (60, 7), (13, 100), (9, 511), (9, 512), (9, 513), (5, 1030)]
)
@pytest.mark.parametrize("exponent", [0, -30, 970, -1000, -149])
def test_rows_are_exact(exponent: int, shape: tuple[int, int], dtype: str, simd: str) -> None:
    rows = rows_of(*shape, exponent, dtype)
    codes = np.random.default_rng(1).integers(-1, 4, shape[0])
    codes[:2] = [-(2**63), 2**63 - 1][: shape[0]]
    assert added(rows, None, 1, exponent, simd) == expected(rows, None, 1, exponent)
    assert added(rows, codes, 3, exponent, simd) == expected(rows, codes, 3, exponent)


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("columns", [1, 3, 600])
@pytest.mark.parametrize("x", [float("inf"), -1e300, 2.0**50 - 1, -1.0])
def test_sums_carry_into_the_higher_word(x: float, columns: int, simd: str) -> None:
    n = 30_000 if columns < 600 else 9000  # more than a strip's 64 bits can take at once
    rows = np.broadcast_to(x, (n, columns)).copy()
    q = oracle.truncate(x, 0)
    for before in (0, -1, 2**64 - 1, 2**126):
        sums = np.ascontiguousarray(oracle.words([before] * columns).T)[None]
        add_rows(rows, None, sums, 0, simd=simd)
        add_rows(rows, np.zeros(n, "i8"), sums, 0, simd=simd)
        assert oracle.integers(sums[0].T) == [before + 2 * n * q] * columns


@given(st.lists(st.floats(width=32), min_size=1, max_size=20), st.integers(-160, 100), st.sampled_from(["f8", "f4"]))
@settings(max_examples=150, deadline=None)
def test_norms_do_not_grow(row: list[float], exponent: int, dtype: str) -> None:
    x = np.array([row], dtype)
    finite = [Fraction(value) if np.isfinite(value) else None for value in x[0].tolist()]
    for simd in SIMD:
        (total,) = added(x, None, 1, exponent, simd)
        assert total == expected(x, None, 1, exponent)[0]
        for q, value in zip(total, finite, strict=True):
            assert value is None or abs(q * Fraction(2) ** exponent) <= abs(value)


def test_rounding_to_nearest_would_be_seen() -> None:
    x = np.full((1, 10), 0.75)
    assert added(x, None, 1, 0, SIMD[-1]) == [[0] * 10]
    assert [round(value) for value in x[0]] == [1] * 10  # the norm would grow from 2.4 to 3.2


def test_no_columns_and_no_group() -> None:
    add_rows(np.zeros((3, 0)), None, np.zeros((1, 2, 0), "u8"), 0, simd=SIMD[0])
    add_rows(np.zeros((3, 2)), np.zeros(3, "i8"), np.zeros((0, 2, 2), "u8"), 0, simd=SIMD[0])


def test_buffers_are_checked() -> None:
    sums = np.zeros((1, 2, 3), "u8")
    wrong = [np.zeros((4, 3), "i8"), np.zeros((4, 3), ">f8"), np.zeros(3), np.zeros((4, 4))]
    for rows in wrong:
        with pytest.raises(ValueError, match=r"rows|native|dimensions|64 bits"):
            add_rows(rows, None, sums, 0, simd=SIMD[0])
    with pytest.raises((ValueError, BufferError), match="contiguous"):
        add_rows(np.zeros((3, 4)).T, None, np.zeros((1, 2, 3), "u8"), 0, simd=SIMD[0])
    with pytest.raises(ValueError, match="one group"):
        add_rows(np.zeros((4, 3)), None, np.zeros((2, 2, 3), "u8"), 0, simd=SIMD[0])
    with pytest.raises(ValueError, match="exponent"):
        add_rows(np.zeros((4, 3)), None, sums, 971, simd=SIMD[0])
