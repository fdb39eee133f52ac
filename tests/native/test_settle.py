"""Declined lanes in fixed point: exact like all others, where their cells are small as well, and nearly all decided.

A lane with a word that follows it comes within what fixed point leaves open, 3 * 2^-64 of a step, once in 2^60. So the
words that follow are chosen here: they put y at such distances from a half-integer.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import compilers
import gmpy2
import numpy as np
import oracle
import oracle_discrete_gaussian
import pytest
from gmpy2 import mpfr
from support import (
    Mechanism,
    assert_exact,
    expected,
    extension,
    in_steps,
    pending_of,
    random_words,
    with_scale,
    words_for,
    wrong_lanes,
)

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, _native
from exactnoise._native import BLOCK, simd_available
from exactnoise._refine import settle
from exactnoise.mechanisms import _engine
from exactnoise.mechanisms._data import KERNEL_DTYPES
from exactnoise.testing import ambiguous_lanes, release_from_words

ALL = (Laplace, Gaussian, DiscreteLaplace, DiscreteGaussian)
WHOLE = (DiscreteLaplace, DiscreteGaussian)
ONES = 2**64 - 1


def plan_of(mechanism: Mechanism, x: np.ndarray, simd: str = _native.SIMD, window_factor: float = 1.0) -> _native.Plan:
    return mechanism._make_plan(mechanism._form(x.dtype.kind == "i", x.dtype == np.float32), simd, window_factor)


def settled(
    plan: _native.Plan, pending: np.ndarray, words_after: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The values, and which lanes are decided."""
    out = np.zeros(pending.size, KERNEL_DTYPES[plan.form][1])
    left = pending.copy()
    count = plan.settle(left, out, words_after)
    decided = np.ones(pending.size, bool)
    decided[left["index"][:count]] = False
    # What is left is unchanged.
    assert left[:count].tobytes() == pending[~decided].tobytes()
    assert not out[~decided].any()
    return out, decided


# ---------------------------------------------------------------------------------------------
# Random lanes of every form, as if all had been declined


# Types of data, and the granularities that they have multiples of.
FORMS = {np.float64: (-1074, 1023), np.float32: (-149, 127), np.int64: (-1074, 62)}
FORMS_AND_STEPS = [
    (dtype, 2.0**exponent, s)
    for dtype, (least, most) in FORMS.items()
    for exponent in (-1042, -1000, -20, 0, 7, 950, 985)
    for s in (2.0**-30, 0.3, 1000.3, 2.0**20, 2.0**36)
    if least <= exponent <= most and 2.0**-1022 <= s * 2.0**exponent < 2.0**1023
]


@pytest.mark.parametrize(("dtype", "granularity", "s"), FORMS_AND_STEPS)
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_every_form(kind: type[Mechanism], dtype: type, granularity: float, s: float) -> None:
    mechanism = with_scale(kind, s * granularity, granularity, nan=0.75)
    rng = np.random.Generator(np.random.PCG64([1, int(s * 2**31)]))
    if dtype is np.int64:
        x = rng.integers(-(2**63), 2**63 - 1, 200, endpoint=True) >> rng.integers(0, 63, 200)
        x[:4] = 2**63 - 1, -(2**63), 0, 1
    else:
        with np.errstate(over="ignore", under="ignore"):
            near = rng.uniform(-4, 4, 100) * granularity
            wide = rng.choice([-1.0, 1.0], 100) * np.exp2(rng.uniform(-140, 140, 100)) * granularity
            x = np.concatenate([near, wide]).astype(dtype)
        x[:10] = math.nan, math.inf, -math.inf, 0.0, -0.0, np.finfo(dtype).max, np.finfo(dtype).min, 1.0, -1.0, 0.5
        x[10:12] = np.finfo(dtype).smallest_subnormal, -np.finfo(dtype).smallest_normal
    words = random_words(int(math.log2(granularity)) % 97, 200)
    want = expected(mechanism, x, words, nan=0.75)
    for simd in simd_available():
        got, decided = settled(plan_of(mechanism, x, simd), pending_of(mechanism, x, words))
        assert got.dtype == want.dtype
        assert np.all(got[decided].tobytes() == want[decided].tobytes())
        assert np.mean(decided) > (0.8 if s == 2.0**36 else 0.97)


@pytest.mark.parametrize("s", [2.0**-30, 0.3, 1.0, 4.0, 5.7, 1000.3, 2.0**20, 1e9, 2.0**36])
@pytest.mark.parametrize("kind", WHOLE)
def test_integers(kind: type[Mechanism], s: float) -> None:
    mechanism = in_steps(kind, s)
    x = np.resize(np.array([2**63 - 1, -(2**63), 0, 12345, -7]), BLOCK)
    words = words_for(mechanism, BLOCK, 1, trials=1)
    pending = pending_of(mechanism, x, words) if kind is DiscreteLaplace or s >= 4 else pending_of(
        in_steps(DiscreteLaplace, s), x, words
    )  # fmt: skip
    want = expected(mechanism, x, words)
    for simd in simd_available():
        got, decided = settled(plan_of(mechanism, x, simd), pending)
        assert wrong_lanes(got[decided], want[decided]).size == 0
        if kind is DiscreteGaussian and s < 4:
            assert not decided.any()
        else:
            assert np.mean(decided) > (0.6 if kind is DiscreteGaussian and s < 100 else 0.8)


@pytest.mark.parametrize("word", [0, 1, 1 << 13, 1 << 14, 3 << 14, 2**63, ONES, ONES - (1 << 14), ONES >> 17 << 1])
@pytest.mark.parametrize("kind", ALL)
def test_words_at_the_ends(kind: type[Mechanism], word: int) -> None:
    """Zeros and ones in the words and in what follows them."""
    mechanism = in_steps(kind, 2.0**30)
    for other in (0, ONES, 1 << 61, (1 << 61) - 1, 0x123456789ABCDEF0):
        x = np.zeros(2, np.int64)
        words = np.array([word, other, other][: words_for(mechanism, 2, 0, 1).size], np.uint64)
        for further in (0, 1, ONES, 2**63):
            assert_exact(mechanism, x, words, lambda lane, j, further=further: further if j < 2 else extension(lane, j))


# ---------------------------------------------------------------------------------------------
# Lanes aimed at what fixed point leaves open


class Targets(NamedTuple):
    """Lanes, of which `aimed` have the words that follow chosen."""

    mechanism: Mechanism
    x: np.ndarray
    words: np.ndarray
    words_after: np.ndarray  # as many a lane as it has cells
    aimed: np.ndarray

    def extension(self, lane: int, j: int) -> int:
        if lane >= 0 and j < self.words_after.shape[1]:
            return int(self.words_after[lane, j])
        return extension(lane, j)

    def settled(self, window_factor: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        pending = pending_of(self.mechanism, self.x, self.words)
        after = self.words_after[pending["lane"]].copy()
        return settled(plan_of(self.mechanism, self.x, window_factor=window_factor), pending, after)

    def truth(self) -> np.ndarray:
        if not isinstance(self.mechanism, DiscreteGaussian):
            return expected(self.mechanism, self.x, self.words, self.extension)
        half = self.x.size // 2
        radii, angles = (part.tolist() for part in np.split(self.words, 3)[:2])
        truth = [0] * self.x.size
        for lane in range(self.x.size):
            # The rounding of Y: with V = 0 it is the sample.
            proposal = oracle_discrete_gaussian.Proposal(radii[lane % half], angles[lane % half], 0, lane >= half)
            cells, number = oracle_discrete_gaussian._Cells(proposal, self.mechanism.scale), 0
            while (k := cells.verdict(oracle.Attempt(number))) is None:
                after = [self.extension(lane % half, 2 * number + i) for i in range(2)]
                cells.append(*after, extension(-1 - lane, number))
                number += 1
            truth[lane] = k
        return np.array(truth)


@cache
def targets(kind: type[Mechanism], s: float, reach: tuple[float, float] = (-6.0, 8.0), lanes: int = 400) -> Targets:
    """With their words after, lanes have a y that lies 2^-64 times 2 to a power in `reach` from a half-integer."""
    rng = np.random.Generator(np.random.PCG64([5, int(s), 100 + int(reach[0])]))
    mechanism = in_steps(kind, s)
    x = np.zeros(lanes, np.int64 if kind in WHOLE else np.float64)
    if kind not in WHOLE:  # a rest with digits beyond 2^-64
        x += rng.choice([-1, 1], lanes) * rng.uniform(0.5, 1, lanes) * np.exp2(rng.integers(-24, -2, lanes))
    paired = kind in (Gaussian, DiscreteGaussian)
    half = lanes // 2
    words = words_for(mechanism, lanes, [9, int(s)], trials=1)
    if kind is DiscreteGaussian:
        words[2 * half :] = random_words(8, half) >> np.uint64(1) & np.uint64(0x7FFFFFFF7FFFFFFF)
    words_after = random_words([7, int(s)], 2 * lanes).reshape(lanes, 2)[:, : 2 if paired else 1].copy()
    aimed = np.zeros(lanes, bool)
    spare, bits = (13, 51) if paired else (14, 50)
    with gmpy2.context(precision=300):
        scale = mpfr(s)
        offset = scale * gmpy2.log(2 / (1 + gmpy2.exp(-1 / scale))) - 0.5 if kind is DiscreteLaplace else mpfr(0)
        for i in range(half if paired else lanes):
            factor = mpfr(1)  # y = offset + rest + sign * factor * (-s ln U), or factor * s sqrt(-2 ln U)
            if paired:
                quadrant, cell = oracle.split_angle(int(words[half + i]))
                f = (mpfr(cell << 64 | int(words_after[i, 1])) + 0.5) / mpfr(2) ** 113
                factor = gmpy2.cos(gmpy2.const_pi() / 2 * (quadrant + f))
            elif kind is Laplace and int(words[i]) >> 13 & 1:
                factor = mpfr(-1)
            u = (mpfr(int(words[i]) >> spare) + 0.5) / mpfr(2) ** bits
            size = scale * (gmpy2.sqrt(-2 * gmpy2.log(u)) if paired else -gmpy2.log(u))
            distance = mpfr(2) ** (rng.uniform(*reach) - 64) * int(rng.choice([-1, 1]))
            boundary = gmpy2.floor(offset + mpfr(float(x[i])) + factor * size) + 0.5
            wanted = (boundary + distance - offset - mpfr(float(x[i]))) / factor / scale
            if wanted <= 0:
                continue
            t = gmpy2.exp(-(wanted**2) / 2 if paired else -wanted) * mpfr(2) ** (bits + 64)
            whole = int(gmpy2.floor(t))
            if not 0 < whole >> 64 < 2**bits - 2 ** (bits - 15):
                continue
            words[i] = (whole >> 64 << spare) | (int(words[i]) & ((1 << spare) - 1))
            words_after[i, 0] = whole & ONES
            aimed[i] = True
    return Targets(mechanism, x, words, words_after, aimed)


AIMED = [(kind, s) for kind in ALL for s in (50.0, 1000.3, 2.0**20, 1.3 * 2.0**30, 2.0**36)]
# Below it the cells of V hide the others'.
AIMED = [(kind, s) for kind, s in AIMED if kind is not DiscreteGaussian or s > 50]


@pytest.mark.parametrize(("kind", "s"), AIMED)
def test_exact_next_to_the_boundaries(kind: type[Mechanism], s: float) -> None:
    some = targets(kind, s)
    got, decided = some.settled()
    assert wrong_lanes(got[decided], some.truth()[decided]).size == 0
    # The targets lie on both sides of what is left open, and the other lanes are decided.
    assert some.aimed.sum() > 0.4 * some.x.size
    assert 0.3 < decided[some.aimed].mean() < 0.8
    assert decided[~some.aimed].all()
    if kind is not DiscreteGaussian:
        assert_exact(some.mechanism, some.x, some.words, some.extension)


# Not a third for integers, which have no rest: its rounding is most of what is doubted.
@pytest.mark.parametrize(
    ("kind", "factor"), [*((kind, 0.0) for kind in ALL), *((kind, 1 / 3) for kind in ALL if kind not in WHOLE)]
)
def test_a_smaller_doubt_is_found(kind: type[Mechanism], factor: float) -> None:
    """Without doubt, or with a third of it, lanes are decided that do not round so."""
    some = targets(
        kind, 2.0**20 if kind is not DiscreteGaussian else 2.0**36, (-50.0 if kind is DiscreteGaussian else -6.0, 1.0)
    )
    got, decided = some.settled(factor)
    truth = some.truth()
    assert wrong_lanes(got[decided], truth[decided]).size > 0
    got, decided = some.settled()
    assert wrong_lanes(got[decided], truth[decided]).size == 0


@pytest.mark.parametrize(("kind", "s"), AIMED)
def test_no_later_word_changes_a_settled_lane(kind: type[Mechanism], s: float) -> None:
    """By its words alone, a lane is decided only if whatever follows them gives the same: in the cell that holds a
    boundary and next to it."""
    some = targets(kind, s)
    some = some._replace(words=some.words.copy())
    spare = 13 if kind in (Gaussian, DiscreteGaussian) else 14
    cells_away = np.resize(np.arange(-2, 3), some.x.size) * some.aimed
    some.words[: some.x.size] += cells_away.astype(np.uint64) << np.uint64(spare)
    pending = pending_of(some.mechanism, some.x, some.words)
    got, decided = settled(plan_of(some.mechanism, some.x), pending)
    assert 0.1 < decided[some.aimed].mean() < 0.95
    for after in (0, ONES):
        other = some._replace(words_after=np.full_like(some.words_after, after))
        assert wrong_lanes(got[decided], other.truth()[decided]).size == 0
        again, still = other.settled()
        assert still[decided].all()
        assert wrong_lanes(again[decided], got[decided]).size == 0


# ---------------------------------------------------------------------------------------------
# A core with a wrong constant


def compiled(directory: Path, native: Path, *sources: str) -> list[Path]:
    """Objects with symbols that other libraries see."""
    flags = [flag for flag in compilers.build_flags() if flag != "-fvisibility=hidden"]
    paths = [native / source for source in sources]
    compilers.run(compilers.COMPILERS[0], *flags, "-O1", "-fPIC", "-c", *paths, cwd=directory)
    return [(directory / source).with_suffix(".o") for source in sources]


@cache
def without_fixed_point() -> list[Path]:
    """What en_settle needs of the core that no constant of fixed_point.h is in."""
    directory = Path(tempfile.mkdtemp(prefix="core-"))
    atexit.register(shutil.rmtree, directory)
    return compiled(directory, compilers.NATIVE, "plan.c", "kernels_portable.c")


class Core:
    """en_settle of a library of its own."""

    def __init__(self, native: Path, directory: Path) -> None:
        library = directory / "core.so"
        objects = [*compiled(directory, native, "settle.c"), *without_fixed_point()]
        compilers.run(compilers.COMPILERS[0], "-shared", *objects, "-o", library)
        self.library = ctypes.CDLL(str(library))
        self.library.en_settle.restype = ctypes.c_size_t

    def settled(self, some: Targets) -> tuple[np.ndarray, np.ndarray]:
        discrete = isinstance(some.mechanism, WHOLE)
        family = ALL.index(type(some.mechanism))
        plan = ctypes.create_string_buffer(4096)
        double, size = ctypes.c_double, ctypes.c_size_t
        offset = some.mechanism._offset()
        numbers = double(some.mechanism.scale), 0, double(0), double(offset), double(1)
        self.library.en_plan_init(plan, family, 4 if discrete else 0, *numbers)
        self.library.en_plan_set_shortfall(plan, ctypes.c_uint64(some.mechanism._shortfall()))
        pending = pending_of(some.mechanism, some.x, some.words)
        after = some.words_after[pending["lane"]].copy()
        out = np.zeros(pending.size, np.int64 if discrete else np.float64)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (pending, after, out)]
        kernels = ctypes.byref(ctypes.c_char.in_dll(self.library, "en_kernels_portable"))
        count = self.library.en_settle(plan, kernels, pointers[0], size(pending.size), pointers[1], pointers[2])
        decided = np.ones(pending.size, bool)
        decided[pending["index"][:count]] = False
        return out, decided


def changed_core(directory: Path, name: str, value: str) -> Core:
    """The core with another value for one of the constants of fixed_point.h."""
    native = directory / "native"
    shutil.copytree(compilers.NATIVE, native, ignore=shutil.ignore_patterns("proofs"))
    header = native / "fixed_point.h"
    text, count = re.subn(rf"({name} (?:= )?)(UINT64_C\(\w+\)|\d+)", rf"\g<1>{value}", header.read_text())
    assert count == (name != "")
    header.write_text(text)
    return Core(native, directory)


@pytest.fixture(scope="module")
def unchanged_core(tmp_path_factory: pytest.TempPathFactory) -> Core:
    return Core(compilers.NATIVE, tmp_path_factory.mktemp("core"))


@pytest.mark.skipif(not compilers.COMPILERS, reason="compiles the core")
@pytest.mark.parametrize(
    ("name", "value", "kinds"),
    [
        ("EN_FIXED_LN2_LOW", "UINT64_C(0)", ALL),
        ("EN_FIXED_QUARTER_PI_LOW", "UINT64_C(0)", (Gaussian, DiscreteGaussian)),
        ("EN_LOG_TERMS", "10", ALL),
        ("EN_SINE_TERMS", "8", (Gaussian, DiscreteGaussian)),
        ("EN_INVERSE_STEPS", "3", ALL),
        ("EN_ROOT_STEPS", "4", (Gaussian, DiscreteGaussian)),
    ],
)
def test_an_inexact_constant_is_found(
    name: str, value: str, kinds: tuple[type[Mechanism], ...], unchanged_core: Core, tmp_path: Path
) -> None:
    core = changed_core(tmp_path, name, value)
    for kind in kinds:
        some = targets(kind, 1.3 * 2.0**30)
        truth = some.truth()
        got, decided = core.settled(some)
        assert wrong_lanes(got[decided], truth[decided]).size > 0
        got, decided = unchanged_core.settled(some)
        assert wrong_lanes(got[decided], truth[decided]).size == 0
        assert decided.any()


# ---------------------------------------------------------------------------------------------
# How many lanes it takes


@pytest.mark.parametrize(("s", "lanes"), [(1e9, 10**6), (2.0**36, 2 * 10**4)])
@pytest.mark.parametrize("kind", ALL)
def test_no_declined_lane_is_left(kind: type[Mechanism], s: float, lanes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words alone decide many of them, one more a cell the rest."""
    mechanism = in_steps(kind, s)
    x = np.zeros(lanes, np.int64 if kind in WHOLE else np.float64)
    words = words_for(mechanism, lanes, 11, trials=1)
    alone: list[int] = []
    left: list[int] = []

    def counted_settle(plan: _native.Plan, pending: np.ndarray, out: np.ndarray, source: oracle.Extension) -> int:
        alone.append(pending.size - plan.settle(pending.copy(), out.copy()))
        left.append(settle(plan, pending, out, source))
        return left[-1]

    monkeypatch.setattr(_engine, "settle", counted_settle)
    release_from_words(mechanism, x, words, extension=extension)
    declined = ambiguous_lanes(mechanism, x, words).size
    assert declined > 12
    assert sum(alone) > 0.3 * declined
    assert sum(left) == 0


@pytest.mark.parametrize("s", [50.0, 2.0**36])
@pytest.mark.parametrize("kind", ALL)
def test_single_numbers(kind: type[Mechanism], s: float) -> None:
    """They are refined as arrays are; the words that follow, fresh ones, matter for none of these."""
    mechanism, x = in_steps(kind, s), np.array([7])
    plan = plan_of(mechanism, x)
    for seed in range(20):
        words = words_for(mechanism, 1, seed, trials=1)
        pending = pending_of(mechanism, x, words)
        assert settled(plan, pending)[1].all() or kind is DiscreteGaussian or s == 2.0**36
        got = mechanism._refine_number(7, plan, 0, tuple(pending["word"][0].tolist()))
        assert type(got) is int
        if not ambiguous_lanes(mechanism, x, words).size:
            assert got == release_from_words(mechanism, x, words)[0]


def test_lists_and_words_of_another_size_are_refused() -> None:
    mechanism, x = in_steps(Gaussian, 1.0), np.zeros(4)
    plan = plan_of(mechanism, x)
    pending = pending_of(mechanism, x, random_words(1, 4))
    with pytest.raises(ValueError, match="index"):
        plan.settle(pending, np.zeros(3))
    with pytest.raises(ValueError, match="index"):
        plan.settle(pending, np.zeros(4, np.float32))
    with pytest.raises(ValueError, match="extension_count"):
        plan.settle(pending, np.zeros(4), np.zeros(4, np.uint64))
    assert [plan_of(in_steps(kind, 1.0), np.zeros(1, np.int64)).extension_count for kind in ALL] == [1, 2, 1, 0]
