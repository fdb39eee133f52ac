"""What the tests of the samplers share: mechanisms, words, comparison with the oracle, high precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import gmpy2
import numpy as np
import oracle
import oracle_discrete_gaussian
from gmpy2 import mpfr, mpq

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, testing
from exactnoise._native import BLOCK, PENDING, simd_available
from exactnoise.testing import ambiguous_lanes, release_from_words

Mechanism = Laplace | Gaussian | DiscreteLaplace | DiscreteGaussian
ON_INTEGERS = (DiscreteLaplace, DiscreteGaussian)


def with_scale(kind: type[Mechanism], scale: float, granularity: float | None = None, nan: float = 0.0) -> Mechanism:
    """A mechanism of exactly this scale: a float parameter would count as its decimal text."""
    exact = Fraction(scale)
    if kind in ON_INTEGERS:
        return kind(sensitivity=1, scale=exact)
    return kind(sensitivity=exact, scale=exact, granularity=granularity, nan=nan)


def in_steps(kind: type[Mechanism], steps: float, granularity: float = 1.0) -> Mechanism:
    """A mechanism whose scale is ``steps`` grid steps."""
    return with_scale(kind, steps * granularity, granularity)


def random_words(seed: object, count: int) -> np.ndarray:
    return np.random.PCG64(seed).random_raw(count)


def word_count(kind: type[Mechanism], samples: int) -> int:
    return samples + (samples & 1) if kind is Gaussian else samples


def words_for(mechanism: Mechanism, samples: int, seed: object, trials: int = 3) -> np.ndarray:
    """Random words for a release; for samples that may be rejected, those of so many trials."""
    count = testing.word_count(mechanism, samples)
    takes_trials = isinstance(mechanism, DiscreteGaussian) and mechanism.scale >= 4
    return random_words(seed, count * trials if takes_trials else count)


def extension(lane: int, j: int) -> int:
    """Fixed pseudo-random extension words: SplitMix64's output function over (lane, j)."""
    z = (lane * 0x9E3779B97F4A7C15 + (j + 1) * 0xD1342543DE82EF95) % 2**64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
    return z ^ (z >> 31)


def expected(
    mechanism: Mechanism,
    x: np.ndarray,
    words: np.ndarray,
    extension: oracle.Extension = extension,
    nan: float = 0.0,
    simd: str | None = None,
) -> np.ndarray:
    """What the oracle says the release must be.

    Which discrete Gaussian lanes the engine sets aside is its own choice, by instruction set.
    """
    if isinstance(mechanism, DiscreteGaussian):
        lanes = ambiguous_lanes(mechanism, x, words, simd=simd).tolist()
        choice = {"set_aside": frozenset(lanes), "block": BLOCK, "extension": extension}
        return oracle_discrete_gaussian.discrete_gaussian(x, words, scale=mechanism.scale, **choice)
    if isinstance(mechanism, DiscreteLaplace):
        return oracle.discrete_laplace(x, words, scale=mechanism.scale, extension=extension)
    parameters = {
        "scale": mechanism.scale,
        "granularity": mechanism.granularity,
        "nan": nan,
        "extension": extension,
    }
    if isinstance(mechanism, Gaussian):
        return oracle.gaussian(x, words, block=BLOCK, **parameters)
    return oracle.laplace(x, words, **parameters)


def assert_exact(
    mechanism: Mechanism,
    x: np.ndarray,
    words: np.ndarray,
    extension: oracle.Extension = extension,
    nan: float = 0.0,
) -> None:
    """Every instruction set returns the oracle's bytes, finite multiples of the granularity."""
    want, set_aside = None, None
    for simd in simd_available():
        before, set_aside = set_aside, _set_aside(mechanism, x, words, simd)
        if want is None or set_aside != before:
            want = expected(mechanism, x, words, extension, nan, simd)
        got = release_from_words(mechanism, x, words, extension=extension, simd=simd)
        assert got.dtype == want.dtype, f"{simd}: {got.dtype}, not {want.dtype}"
        assert got.shape == want.shape, f"{simd}: {got.shape}, not {want.shape}"
        if got.tobytes() != want.tobytes():
            raise AssertionError(_differences(mechanism, x, words, got, want, simd))
    assert_on_grid(want, mechanism.granularity)


def _set_aside(mechanism: Mechanism, x: np.ndarray, words: np.ndarray, simd: str) -> list[int]:
    """What the oracle's answer may depend on."""
    if not isinstance(mechanism, DiscreteGaussian):
        return []
    lanes: list[int] = ambiguous_lanes(mechanism, x, words, simd=simd).tolist()
    return lanes


def pending_of(mechanism: Mechanism, x: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Every lane as if it had been declined; of a discrete Gaussian, its first proposal."""
    stored = x.astype("f8") if x.dtype.kind == "f" else x
    lanes = np.zeros(x.size, PENDING)
    lanes["index"] = lanes["lane"] = np.arange(x.size)
    lanes["x"] = stored.view("u8")
    if isinstance(mechanism, Gaussian):
        for pair in oracle.gaussian_pairs(x.size, BLOCK):
            for lane in (pair.cosine_lane, pair.sine_lane):
                if lane is not None:
                    lanes["lane"][lane] = pair.cosine_lane
                    lanes["word"][lane, :2] = words[pair.radius_word], words[pair.angle_word]
    elif isinstance(mechanism, DiscreteGaussian):
        assert x.size <= BLOCK
        half = (x.size + 1) // 2
        pairs = np.resize(np.arange(half), x.size)
        lanes["lane"] = pairs
        for i in range(2):
            lanes["word"][:, i] = words[i * half + pairs]
        thirds = words[2 * half + pairs]
        lanes["word"][:, 2] = np.where(np.arange(x.size) < half, thirds >> np.uint64(32), thirds) << np.uint64(32)
    else:
        lanes["word"][:, 0] = words
    return lanes


def wrong_lanes(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Lanes whose bytes differ."""
    return np.flatnonzero(_bits(got) != _bits(want))


def assert_on_grid(y: np.ndarray, granularity: float) -> None:
    """Every value is a finite multiple of the granularity, and no zero is negative."""
    if y.dtype.kind == "i":
        assert not np.any(y % int(granularity)) if granularity < 2.0**63 else not np.any(y)
        return
    assert np.isfinite(y).all()
    assert not np.any((y == 0) & np.signbit(y)), "-0.0"
    step = Fraction(granularity)
    exponent = math.frexp(granularity)[1] - 1
    # A double is a multiple of its last digit: only values with digits below the step can be off.
    _, exponents = np.frexp(y.astype(np.float64))
    doubtful = y[(y != 0) & (exponents - 53 < exponent)]
    assert all(Fraction(value) % step == 0 for value in doubtful.tolist())


def _bits(a: np.ndarray) -> np.ndarray:
    return a.ravel().view(f"u{a.dtype.itemsize}")


def _differences(
    mechanism: Mechanism,
    x: np.ndarray,
    words: np.ndarray,
    got: np.ndarray,
    want: np.ndarray,
    simd: str,
) -> str:
    lanes = wrong_lanes(got, want)
    lines = [f"{mechanism!r} with {simd}: {lanes.size} of {x.size} lanes are wrong"]
    for lane in lanes[:8].tolist():
        value = x.ravel()[lane].item()
        shown = value.hex() if isinstance(value, float) else value
        lines.append(
            f"  lane {lane}: x = {shown}, word[{lane}] = {int(words[lane]):#x}: "
            f"{got.ravel()[lane]!r}, not {want.ravel()[lane]!r}"
        )
    return "\n".join(lines)


def precise(function: Callable[[], mpfr], bits: int = 500) -> Fraction:
    """A computation with `bits` bits, as a fraction."""
    with gmpy2.context(precision=bits):
        return fraction(function())


def fraction(number: mpfr) -> Fraction:
    return Fraction(*map(int, number.as_integer_ratio()))


def real(number: Fraction) -> mpfr:
    return mpfr(mpq(number.numerator, number.denominator))
