"""Quantised sums are exact: the integers of tests/oracle_aggregation.py, whatever the memory, order or chunks."""

from __future__ import annotations

import itertools
import threading

import numpy as np
import oracle_aggregation as oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layouts import layouts

from exactnoise._native import Quantizer, simd_available

BLOCK = 512  # of native/sums.c, where it matters which lengths are tested
SIMD = simd_available()
INT64 = np.iinfo(np.int64)
MOST = oracle.MOST

Totals = tuple[list[int], list[int], list[int]]


def add(
    quantizer: Quantizer, x: np.ndarray, codes: np.ndarray | None = None, groups: int = 1, moments: bool = True
) -> Totals:
    counts, sums, squares = np.zeros(groups, "i8"), np.zeros((groups, 2), "u8"), np.zeros((groups, 2), "u8")
    if moments:
        quantizer.add_moments(x, codes, counts, sums, squares)
    else:
        quantizer.add_sums(x, codes, counts, sums)
    return counts.tolist(), oracle.integers(sums), oracle.integers(squares)


def expected(values: list[int | None], codes: np.ndarray | None, groups: int, middle: int, moments: bool) -> Totals:
    counts, sums, squares = oracle.grouped(
        values, [0] * len(values) if codes is None else codes.tolist(), groups, middle
    )
    return counts, sums, squares if moments else [0] * groups


# Bounds and exponents: (exponent, low, high).
BOUNDS = [
    (0, -5, 7),
    (0, 3, 8),
    (0, 0, 0),
    (0, -(2**30), 2**30),
    (-30, -100 * 2**30, 100 * 2**30),
    (-20, -(2**49), -(2**49) + 11),
    (-1000, -MOST, MOST),
    (-1000, -1, 2),
    (970, -MOST, MOST),
    (970, -3, 3),
    (49, -MOST, MOST - 1),
    (-149, -MOST, MOST),
]
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, 1e300, -1e300, float("inf"), float("-inf"), float("nan"), 1.5, -2.5]


def floats(exponent: int, low: int, high: int, dtype: str, count: int = 300) -> np.ndarray:
    """Special values; and integers and ties in units of 2^exponent, with their neighbours, at and in the bounds."""
    rng = np.random.default_rng(abs(exponent) + count)
    near = rng.integers(low - 3, high + 4, count).astype(np.float64) + rng.choice([0, 0.5, -0.5, 0.25], count)
    ends = np.array([low, low - 0.5, low + 0.5, high, high - 0.5, high + 0.5, 0.5, -0.5, 1.5, 2.5])
    with np.errstate(all="ignore"):
        scaled = np.ldexp(np.concatenate([ends, near]), exponent)
        x = np.concatenate([SPECIAL, scaled, np.nextafter(scaled, np.inf), np.nextafter(scaled, -np.inf)])
        return rng.permutation(x).astype(dtype)


def quantized(x: np.ndarray, exponent: int, low: int, high: int, nan: int | None) -> list[int | None]:
    return [oracle.quantize(value, exponent, low, high, nan) for value in x.tolist()]


def codes_for(n: int, groups: int) -> np.ndarray:
    codes = np.random.default_rng(n).integers(-1, groups + 1, n)
    codes[:4] = [INT64.min, INT64.max, -1, groups][:n]
    return codes


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_floats_are_exact(bounds: tuple[int, int, int], dtype: str, simd: str) -> None:
    exponent, low, high = bounds
    x = floats(exponent, low, high, dtype)
    moments = high - low <= 2**31
    for nan in (None, low, high):
        quantizer = Quantizer(exponent, low, high, nan, simd)
        values = quantized(x, exponent, low, high, nan)
        for codes, groups in ((None, 1), (codes_for(len(x), 1), 1), (codes_for(len(x), 37), 37)):
            want = expected(values, codes, groups, low + high, moments)
            assert add(quantizer, x, codes, groups, moments) == want
        out = np.empty(len(x), "i8")
        quantizer.cells(x, out)
        assert out.tolist() == [-1 if q is None else q - low for q in values]


INT_BOUNDS = [
    (INT64.min, INT64.max),
    (-5, 7),
    (INT64.max - 2**31, INT64.max),
    (INT64.min, INT64.min + 2**31),
    (-(2**61), 2**61 - 1),
    (4, 4),
]


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("bounds", INT_BOUNDS, ids=str)
def test_integers_are_exact(bounds: tuple[int, int], simd: str) -> None:
    low, high = bounds
    rng = np.random.default_rng(1)
    near = [rng.integers(max(c - 9, INT64.min), min(c + 9, INT64.max), 99) for c in (low, high, 0)]
    x = np.concatenate([[INT64.min, INT64.max, 0, -1], rng.integers(INT64.min, INT64.max, 999), *near]).astype("i8")
    moments = high - low <= 2**31
    quantizer = Quantizer(0, low, high, None, simd)
    values = [oracle.clamp(value, low, high) for value in x.tolist()]
    for codes, groups in ((None, 1), (codes_for(len(x), 1), 1), (codes_for(len(x), 37), 37)):
        assert add(quantizer, x, codes, groups, moments) == expected(values, codes, groups, low + high, moments)
    if high - low < 2**62:
        out = np.empty(len(x), "i8")
        quantizer.cells(x, out)
        assert out.tolist() == [q - low for q in values]


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_every_length(dtype: str, simd: str) -> None:
    exponent, low, high, nan = 0, -1000, 1001, None
    n = 2 * BLOCK + 3
    x = floats(exponent, low, high, "f8", n)[:n] if dtype != "i8" else np.arange(n) * 7919 % 3000 - 1500
    x = x.astype(dtype) if dtype != "f4" else np.clip(x, -3e38, 3e38).astype(dtype)
    codes = codes_for(n, 3)
    values = quantized(x, exponent, low, high, nan)
    quantizer = Quantizer(exponent, low, high, nan, simd)
    all_of_one, grouped = [[0], [0], [0]], [[0] * 3, [0] * 3, [0] * 3]
    for length in range(n):
        assert add(quantizer, x[:length]) == tuple(all_of_one)
        if length <= 200 or length % BLOCK < 2:
            assert add(quantizer, x[:length], codes[:length], 3) == tuple(grouped)
        q, code = values[length], codes[length]
        if q is not None:
            for totals, group in ((all_of_one, 0), (grouped, code)):
                if 0 <= group < 3:
                    for total, term in zip(totals, (1, q, (2 * q - low - high) ** 2), strict=True):
                        total[group] += term


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
@pytest.mark.parametrize("n", [1, 63, 700])
def test_memory_does_not_matter(n: int, dtype: str, simd: str) -> None:
    x = (np.random.default_rng(n).normal(size=n) * 50).astype(dtype)
    quantizer = Quantizer(0, -70, 70, None, simd)
    codes = codes_for(n, 5)
    want = add(quantizer, x), add(quantizer, x, codes, 5)
    assert want[0] == expected(quantized(x, 0, -70, 70, None), None, 1, 0, True)
    for same in layouts(x):
        assert np.array_equal(same, x)
        assert (add(quantizer, same), add(quantizer, same, codes, 5)) == want
        out = np.empty(n, "i8")
        quantizer.cells(same, out)
        assert sum(out) == want[0][1][0] + 70 * n


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("value", [INT64.max, INT64.min, INT64.min + 1, -1, 2**62])
def test_sums_carry_into_the_higher_word(value: int, simd: str) -> None:
    n = 3000
    x = np.broadcast_to(np.int64(value), n)
    quantizer = Quantizer(0, INT64.min, INT64.max, None, simd)
    codes = np.arange(n) % 2
    assert add(quantizer, x, moments=False)[1] == [n * value]
    assert add(quantizer, x, codes, 2, moments=False)[1] == [n // 2 * value] * 2
    for before in (-1, 2**64 - 1, -(2**64), 2**126, -(2**127)):
        if before + n * value < -(2**127):
            continue
        counts, sums = np.array([5]), oracle.words([before])
        quantizer.add_sums(x, None, counts, sums)
        quantizer.add_sums(x, np.zeros(n, "i8"), counts, sums)
        assert (counts.tolist(), oracle.integers(sums)) == ([5 + 2 * n], [before + 2 * n * value])


@pytest.mark.parametrize("simd", SIMD)
@pytest.mark.parametrize("far", [-(2**30), 2**30])
def test_squares_carry_into_the_higher_word(far: int, simd: str) -> None:
    n = 3000
    quantizer = Quantizer(0, -(2**30), 2**30, None, simd)
    for dtype in ("f8", "f4", "i8"):
        x = np.full(n, far, dtype)
        assert add(quantizer, x) == ([n], [n * far], [n * 2**62])
        assert add(quantizer, x, np.zeros(n, "i8"), 1) == ([n], [n * far], [n * 2**62])


@pytest.mark.parametrize("n", [10**7, pytest.param(6 * 10**8, marks=pytest.mark.slow)])
def test_many_equal_values(n: int) -> None:
    x = np.broadcast_to(np.int64(5), n)
    assert add(Quantizer(0, 0, 5, None, SIMD[-1]), x)[:2] == ([n], [5 * n])


def test_nothing_and_no_group() -> None:
    quantizer = Quantizer(0, 0, 5, None, SIMD[-1])
    assert add(quantizer, np.zeros(0)) == ([0], [0], [0])
    assert add(quantizer, np.full(9, np.nan)) == ([0], [0], [0])
    assert add(quantizer, np.ones(3), np.zeros(3, "i8"), 0) == ([], [], [])
    quantizer.cells(np.zeros(0), np.zeros(0, "i8"))


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_order_and_chunks_do_not_matter(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(["f8", "f4", "i8"]))
    if dtype == "i8":
        exponent, low, high = 0, *sorted(data.draw(st.tuples(*[st.integers(INT64.min, INT64.max)] * 2)))
        items: st.SearchStrategy[float | int] = st.integers(INT64.min, INT64.max)
    else:
        exponent = data.draw(st.integers(-1000, 970) if dtype == "f8" else st.integers(-160, 120))
        low, high = sorted(data.draw(st.tuples(*[st.integers(-MOST, MOST)] * 2)))
        items = st.floats(width=64 if dtype == "f8" else 32)
    nan = data.draw(st.sampled_from([None, low, high]))
    x = np.array(data.draw(st.lists(items, max_size=60)), dtype)
    codes = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=len(x), max_size=len(x))), "i8")
    want = expected(quantized(x, exponent, low, high, nan), codes, 3, 0, False)
    order = np.array(data.draw(st.permutations(range(len(x)))), int)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(x)), max_size=4)))
    counts, sums = np.zeros(3, "i8"), np.zeros((3, 2), "u8")
    for start, end in itertools.pairwise([0, *cuts, len(x)]):
        chunk = order[start:end]
        simd = data.draw(st.sampled_from(SIMD))
        Quantizer(exponent, low, high, nan, simd).add_sums(x[chunk], codes[chunk], counts, sums)
    assert (counts.tolist(), oracle.integers(sums)) == want[:2]


def test_threads_share_a_quantizer() -> None:
    x = np.random.default_rng(1).normal(size=200_000)
    quantizer = Quantizer(-40, -(2**40), 2**40, None, SIMD[-1])
    want = add(quantizer, x, moments=False)
    results: list[Totals] = []
    threads = [threading.Thread(target=lambda: results.append(add(quantizer, x, moments=False))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [want] * 8


# Positive controls: what is not exact would be seen.


def test_float_sums_would_differ() -> None:
    """Values of [0, 1] whose sum in doubles depends on the order, and in integers does not."""
    x = np.array([1.0] * 1024 + [1.5 * 2.0**-43] * 1001)
    quantizer = Quantizer(-50, 0, MOST, None, SIMD[-1])
    want = [1024 * MOST + 192 * 1001]
    assert add(quantizer, x, moments=False)[1] == add(quantizer, x[::-1], moments=False)[1] == want
    forward, backward = (np.add.accumulate(values)[-1] for values in (x, x[::-1]))
    assert forward != backward


def test_other_roundings_would_differ() -> None:
    exponent, low, high = -30, -100 * 2**30, 100 * 2**30
    x = floats(exponent, low, high, "f8")
    (right,) = add(Quantizer(exponent, low, high, 0, SIMD[-1]), x, moments=False)[1]
    with np.errstate(over="ignore"):
        scaled = np.nan_to_num(x / 2.0**exponent, nan=0.0)
    for wrong in (np.floor, np.trunc, lambda y: np.floor(y + 0.5)):
        assert sum(int(y) for y in wrong(np.clip(scaled, low, high))) != right
    assert sum(int(y) for y in np.rint(np.clip(scaled, low, high))) == right


# What the door refuses.


@pytest.mark.parametrize(
    ("exponent", "low", "high", "nan"),
    [(-1001, 0, 1, None), (971, 0, 1, None), (0, 1, 0, None), (0, 0, 1, 2), (0, 0, 1, -1)],
)
def test_parameters_are_checked(exponent: int, low: int, high: int, nan: int | None) -> None:
    with pytest.raises(ValueError, match="exponent must be"):
        Quantizer(exponent, low, high, nan, SIMD[0])


def test_buffers_are_checked() -> None:
    quantizer = Quantizer(-1, 0, 5, None, SIMD[0])
    one, two, codes = np.zeros(1, "i8"), np.zeros((1, 2), "u8"), np.zeros(4, "i8")
    for x in (np.zeros(4, "i8"), np.zeros(4, "i4"), np.zeros(4, ">f8"), np.zeros((2, 2)), np.zeros(4, "c16")):
        with pytest.raises(ValueError, match=r"int64|native|dimensions|must hold"):
            quantizer.add_sums(x, None, one, two)
    for x, by, counts, sums in (
        (np.zeros(4), None, np.zeros(2, "i8"), np.zeros((2, 2), "u8")),
        (np.zeros(4), codes[:3], one, two),
        (np.zeros(4), codes, one, np.zeros((2, 2), "u8")),
        (np.zeros(4), codes, np.frombuffer(bytearray(9), "u1")[1:], two),
    ):
        with pytest.raises(ValueError, match=r"groups?|64 bits|aligned"):
            quantizer.add_sums(x, by, counts, sums)
    with pytest.raises(ValueError, match=r"2\*\*31"):
        Quantizer(0, 0, 2**31 + 1, None, SIMD[0]).add_moments(np.zeros(1), None, one, two, two)
    with pytest.raises(ValueError, match=r"2\*\*50"):
        Quantizer(0, 0, 2**50 + 1, None, SIMD[0]).add_sums(np.zeros(1), None, one, two)
    with pytest.raises(ValueError, match=r"2\*\*62"):
        Quantizer(0, 0, 2**62, None, SIMD[0]).cells(np.zeros(1, "i8"), one)
