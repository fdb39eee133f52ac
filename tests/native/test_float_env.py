"""Results do not depend on the rounding mode and flush-to-zero that other libraries leave in a process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from fractions import Fraction

import compilers
import numpy as np
import pytest
import support
from float_env import HOSTILE, Control
from support import ON_INTEGERS, Mechanism

from exactnoise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    Laplace,
    Snapping,
    _native,
    clip_l2,
)
from exactnoise._native import BLOCK, PENDING, Plan, simd_available
from exactnoise.testing import release_from_words, select_from_words, snapped_from_words

pytestmark = pytest.mark.skipif(not compilers.COMPILERS, reason="compiles C by Unix rules")


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Control:
    return Control(compilers.shared_library("float_env.c", tmp_path_factory.mktemp("float_env")))


def test_the_modes_are_really_set(control: Control) -> None:
    one, tiny = np.array([1.0]), np.array([2.0**-1074])
    fifths, products = {}, {}
    for names in ["", *HOSTILE]:
        with control.set(names):
            fifths[names] = (one / 5).tobytes(), (-one / 5).tobytes()
            products[names] = (tiny * one).tobytes()
    assert len({fifths[names] for names in ("", "down", "up", "zero")}) == 4
    for names in ("flush", "down flush", "up flush", "zero flush"):
        assert fifths[names] == fifths[names.removesuffix("flush").strip()]
    for names, product in products.items():
        assert product == (bytes(8) if "flush" in names else tiny.tobytes())


@pytest.mark.parametrize("names", HOSTILE)
def test_new_threads_inherit_the_mode(control: Control, names: str) -> None:
    """So the workers of a release begin in it."""
    seen: list[int] = []
    with control.set(names) as expected:
        thread = threading.Thread(target=lambda: seen.append(control.modes()))
        thread.start()
        thread.join()
    assert seen == [expected]


MECHANISMS = [
    Laplace(sensitivity=1, epsilon=1),
    Laplace(sensitivity=1, scale=2.5, granularity=2),
    Laplace(sensitivity=1, scale=2.0**-1022, granularity=2.0**-1040),
    Laplace(sensitivity=1, scale=2.0**-1020, granularity=2.0**-1000),
    Gaussian(sensitivity=1, scale=1),
    Gaussian(sensitivity=1, scale=2**36, granularity=1),
    Gaussian(sensitivity=1, scale=2.0**-1020, granularity=2.0**-1050),
    Gaussian(sensitivity=1, scale="1e300"),
    DiscreteLaplace(sensitivity=1, epsilon="0.1"),
    DiscreteGaussian(sensitivity=1, scale=3),
    DiscreteGaussian(sensitivity=1, scale=5),
    DiscreteGaussian(sensitivity=1, scale=2**36),
]
SPECIAL = [0.0, -0.0, 2.0**-1074, -(2.0**-1060), 1.5, 1e300, -1e308, float("inf"), float("-inf"), float("nan")]


def data(mechanism: Laplace, n: int, dtype: str) -> np.ndarray:
    values = np.random.Generator(np.random.PCG64(n)).standard_normal(n) * 10
    with np.errstate(all="ignore"):
        if dtype.endswith("i8") or isinstance(mechanism, ON_INTEGERS):
            return values.astype("i8")
        values[: len(SPECIAL)] = SPECIAL[:n]
        if dtype.endswith("f4"):
            values = np.clip(values, -3e38, 3e38)
        return values.astype(dtype)


def cases() -> Iterator[pytest.param]:
    for mechanism in MECHANISMS:
        exponent = round(np.log2(mechanism.granularity))
        for dtype in ("f8", "f4", "i8"):
            if isinstance(mechanism, ON_INTEGERS) and dtype != "i8":
                continue
            if (dtype == "f4" and not -149 <= exponent <= 127) or (dtype == "i8" and exponent > 62):
                continue
            yield pytest.param(mechanism, dtype, id=f"{mechanism!r} of {dtype}")


def words_for(mechanism: Laplace, n: int) -> np.ndarray:
    words = support.words_for(mechanism, n, n)
    words[:3] = [0, 1, 2**64 - 1]
    return words


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize(("mechanism", "dtype"), list(cases()))
def test_the_fast_path_gives_the_same_bytes(control: Control, names: str, mechanism: Laplace, dtype: str) -> None:
    n = BLOCK + 77
    x, words = data(mechanism, n, dtype), words_for(mechanism, n)
    for simd in simd_available():
        want = release_from_words(mechanism, x, words, simd=simd)
        with control.set(names):
            got = release_from_words(mechanism, x, words, simd=simd)
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize(("mechanism", "dtype"), list(cases()))
def test_refinement_gives_the_same_bytes(control: Control, names: str, mechanism: Laplace, dtype: str) -> None:
    n = 24
    x, words = data(mechanism, n, dtype), words_for(mechanism, n)
    want = release_from_words(mechanism, x, words)
    for window_factor in (2.0**60, 2.0**62):  # both decline every lane, the second one in fixed point too
        with control.set(names):
            got = release_from_words(mechanism, x, words, window_factor=window_factor)
        assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("names", HOSTILE)
def test_the_core_puts_back_flags_and_modes(control: Control, names: str) -> None:
    plan = Plan("laplace", "float64", 1.3 * 2**20, -20, 0.0, 0.0, _native.SIMD)
    x, out, pending = np.ones(BLOCK), np.ones(BLOCK), np.empty(BLOCK, PENDING)
    words = np.random.PCG64(5).random_raw(BLOCK)
    with control.set(names):
        before = control.read()
        plan.release(x, out, 0, BLOCK, pending, words=words)
        assert control.read() == before  # no flag raised by the kernels either


# Whole releases: the words are made reproducible by a fixed key.


@pytest.fixture
def fixed_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(buffer: bytearray) -> None:
        buffer[:] = bytes(i * 7 % 251 for i in range(len(buffer)))

    monkeypatch.setattr(_native, "fill_entropy", fill)


@pytest.mark.usefixtures("fixed_keys")
@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", ">f8", ">f4", "f2"])
def test_whole_releases_give_the_same_bytes(control: Control, names: str, workers: int, dtype: str) -> None:
    mechanisms = [Laplace(sensitivity=1, epsilon=1), Gaussian(sensitivity=1, scale=3)]
    if dtype.endswith("i8"):
        mechanisms += [DiscreteGaussian(sensitivity=1, scale=scale) for scale in (3, 5)]
    for mechanism in mechanisms:
        x = data(mechanism, 80_000, dtype)[::2]  # strided: two ranges, so that two threads work
        want = mechanism.release(x, budget=None, workers=workers)
        with control.set(names):
            got = mechanism.release(x, budget=None, workers=workers)
        assert got.tobytes() == want.tobytes()


# Single numbers take their words from the system; a scale far below the grid makes the result certain.
CERTAIN = Laplace(sensitivity=1, scale=2.0**-30, granularity=1)


@pytest.mark.parametrize("names", HOSTILE)
def test_single_numbers_are_rounded_to_nearest(control: Control, names: str) -> None:
    numbers = [0.25, -0.75, 1.4, 2.6, -1e300, 1e17, float("nan"), float("inf"), 12, -7]
    want = [CERTAIN.release(number, budget=None) for number in numbers]
    assert want[:4] == [0.0, -1.0, 1.0, 3.0]
    with control.set(names):
        got = [CERTAIN.release(number, budget=None) for number in numbers]
    assert got == want


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize("dtype", ["f8", "f4", ">f8"])
def test_clipped_rows_are_the_same(control: Control, names: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        rows = np.array([[1.5, 2.5, 3.5], [1e300, -1e308, 5e-324], [2.0**-1074] * 3, [float("nan")] * 3]).astype(dtype)
    for bound in (0.1, "1e-300", 1e300):
        want = clip_l2(rows, bound)
        with control.set(names):
            got = clip_l2(rows, bound)
        assert got.tobytes() == want.tobytes()


# Parameters.


def constructions() -> list[Callable[[], Mechanism]]:
    return [
        *(lambda e=e: Laplace(sensitivity=1, epsilon=e) for e in (0.1, "0.3", 1 / 3, 3, "1e-9", 7e5)),
        *(lambda s=s: Laplace(sensitivity=s, epsilon=0.7) for s in (0.1, 1e-300, 1e300, 3)),
        *(lambda s=s: Gaussian(sensitivity=s, rho="0.07") for s in (0.1, 1, 1e-300, 1e300)),
        *(
            lambda e=e, d=d: Gaussian(sensitivity=1.1, epsilon=e, delta=d)
            for e in (0.1, "1", 8)
            for d in (1e-9, "1e-5", 0.3)
        ),
        *(lambda e=e: DiscreteLaplace(sensitivity=2, epsilon=e) for e in (0.1, "0.3", 5)),
        *(lambda e=e: DiscreteGaussian(sensitivity=1, epsilon=e, delta="1e-5") for e in (0.1, "3.1", 8)),
        *(lambda s=s: DiscreteGaussian(sensitivity=s, epsilon=2, delta="1e-5") for s in (1.5, 3**0.5, 10)),
        *(lambda r=r: DiscreteGaussian(sensitivity=1, rho=r) for r in (0.1, "0.03", 3)),
        lambda: Laplace.from_accuracy(half_width=10, sensitivity=1),
        lambda: Gaussian.from_accuracy(half_width=10, sensitivity=1, delta="1e-6"),
        lambda: DiscreteLaplace.from_accuracy(half_width=10, sensitivity=1),
        lambda: DiscreteGaussian.from_accuracy(half_width=3, sensitivity=1, delta="1e-6"),
    ]


def parameters(mechanism: Mechanism) -> tuple[object, ...]:
    return (
        mechanism.scale.hex(),
        mechanism.granularity.hex(),
        repr(mechanism),
        mechanism._steps().hex(),
        mechanism._offset().hex(),
        mechanism._thresholds(),
        mechanism.cost,
    )


@pytest.mark.parametrize("names", ["", *HOSTILE])
@pytest.mark.parametrize("scale", ["1e-320", 5e-324, 2.0**-1023])
def test_a_scale_that_a_flush_would_turn_into_zero_is_refused(control: Control, names: str, scale: str | float) -> None:
    with control.set(names), pytest.raises(ValueError, match=r"too small for doubles|must be a positive number"):
        Laplace(sensitivity=1, scale=scale)


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize("i", range(len(constructions())))
def test_parameters_are_the_same(control: Control, names: str, i: int) -> None:
    from exactnoise.mechanisms import discrete_gaussian, gaussian

    construct = constructions()[i]
    want = parameters(construct())
    gaussian._calibrated.cache_clear()
    discrete_gaussian._calibrated.cache_clear()
    with control.set(names):
        got = parameters(construct())
    assert got == want


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "f8"])
def test_selections_among_subnormal_scores(control: Control, names: str, dtype: str) -> None:
    """Scores a few subnormal numbers apart, which a conversion of NumPy's would take for 0."""
    least = np.finfo(np.dtype(dtype).newbyteorder("=")).tiny
    mechanism = Exponential(sensitivity=Fraction(float(least)), epsilon=1)
    row = np.array([np.nextafter(least, least * 0), least * 2, least * 0, least / 2]).astype(dtype)
    scores = np.tile(row, (200, 1))
    words = np.random.PCG64(5).random_raw(scores.size)
    expected = select_from_words(mechanism, scores, words)
    with control.set(names):
        got = select_from_words(mechanism, scores, words)
    assert got.tobytes() == expected.tobytes()
    as_zeros = np.where(row < least, 0, row)  # positive control: it would show
    assert select_from_words(mechanism, np.tile(as_zeros, (200, 1)), words).tobytes() != expected.tobytes()


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_snapping_of_subnormal_data(control: Control, names: str, dtype: str) -> None:
    least = np.finfo(dtype).tiny
    mechanism = Snapping(sensitivity=Fraction(float(least)), epsilon=1, bounds=(0, 1))
    x = np.tile(np.array([least, np.nextafter(least, least * 0), -least / 2, least / 4], dtype), 50)
    words = np.random.PCG64(6).random_raw(x.size)
    expected = snapped_from_words(mechanism, x, words)
    with control.set(names):
        got = snapped_from_words(mechanism, x, words)
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("names", HOSTILE)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_quantised_sums_and_bins(control: Control, names: str, dtype: str) -> None:
    """Ties, and subnormal numbers that are not 0 among the quantised ones or the edges."""
    tiny = float(np.finfo(dtype).tiny)
    exponent = -149 if dtype == "f4" else -1000
    with np.errstate(all="ignore"):
        scaled = np.array([0.5, 1.5, -2.5, 3.49, -7.51, 1e9 / 3]) * 2.0**exponent
        x = np.concatenate([np.tile([*SPECIAL, tiny / 2, -tiny / 4], 20), scaled]).astype(dtype)
    edges = np.array([-tiny, -tiny / 2, 0.0, tiny / 8, tiny / 2, tiny])
    rows = np.ascontiguousarray(x[: len(x) // 3 * 3].reshape(-1, 3))

    def everything(simd: str) -> bytes:
        counts, sums, squares = np.zeros(1, "i8"), np.zeros((1, 2), "u8"), np.zeros((1, 2), "u8")
        cells, bins, row_sums = np.empty(len(x), "i8"), np.empty(len(x), "i8"), np.zeros((1, 2, 3), "u8")
        quantizer = _native.Quantizer(exponent, -(2**30), 2**30, None, simd)
        quantizer.add_sums(x, None, counts, sums)
        quantizer.add_moments(x[::-1], np.zeros(len(x), "i8"), counts, sums, squares)
        quantizer.cells(x, cells)
        _native.bin_values(x, edges, bins, simd=simd)
        _native.add_rows(rows, None, row_sums, exponent, simd=simd)
        _native.add_rows(rows, np.zeros(len(rows), "i8"), row_sums, exponent, simd=simd)
        return b"".join(array.tobytes() for array in (counts, sums, squares, cells, bins, row_sums))

    want = everything(simd_available()[0])
    for simd in simd_available():
        with control.set(names):
            got = everything(simd)
        assert got == want
