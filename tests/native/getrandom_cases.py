"""What a release makes of the operating system's bytes, and of their failure.

These cases need tests/native/c/getrandom.c in the place of getrandom: test_randomness.py runs them in a process that
has it.
"""

from __future__ import annotations

import ctypes
import errno
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from keystream import drawn_by_block, keystream, spread, trial_keystream
from support import ON_INTEGERS

from exactnoise import DiscreteGaussian, DiscreteLaplace, EntropyError, Gaussian, Laplace, PrivacyBudget
from exactnoise._native import BLOCK, KEY_BYTES
from exactnoise.mechanisms import _engine
from exactnoise.testing import release_from_words, word_count

STUB = ctypes.CDLL(None)
UNLIMITED = 2**40
MECHANISMS = [
    Laplace(sensitivity=1, scale=2**20, granularity=1),
    Gaussian(sensitivity=1, scale=2**20, granularity=1),
    DiscreteLaplace(sensitivity=1, scale=2**20),
    DiscreteGaussian(sensitivity=1, scale=3),
    DiscreteGaussian(sensitivity=1, scale=2**20),
]


@contextmanager
def getrandom(
    *,
    good_calls: int = -1,
    error: int = errno.EIO,
    interruptions: int = 0,
    most: int = UNLIMITED,
    zero_calls: int = 0,
) -> Iterator[None]:
    """getrandom gives a fixed stream, or what the parameters say; see c/getrandom.c."""
    settings = {
        "good_calls": good_calls,
        "error": error,
        "interruptions": interruptions,
        "zero_calls": zero_calls,
        "calls": 0,
        "interrupted": 0,
    }
    for name, value in settings.items():
        ctypes.c_int.in_dll(STUB, f"stub_{name}").value = value
    ctypes.c_size_t.in_dll(STUB, "stub_most").value = most
    ctypes.c_size_t.in_dll(STUB, "stub_position").value = 0
    active = ctypes.c_int.in_dll(STUB, "stub_active")
    active.value = 1
    try:
        yield
    finally:
        active.value = 0


def bytes_asked() -> list[int]:
    """The sizes of the calls since `getrandom` was last entered."""
    calls = ctypes.c_int.in_dll(STUB, "stub_calls").value
    assert calls <= 64
    return list((ctypes.c_size_t * 64).in_dll(STUB, "stub_asked"))[:calls]


def stream(count: int) -> np.ndarray:
    """The first words of the fixed stream: SplitMix64."""
    z = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return z ^ z >> np.uint64(31)


def data(mechanism: object, n: int) -> np.ndarray:
    return np.arange(1, n + 1, dtype=np.int64 if isinstance(mechanism, ON_INTEGERS) else np.float64)


def takes_trials(mechanism: object) -> bool:
    """At such scales as here, hardly a proposal is rejected: the first trial is all."""
    return isinstance(mechanism, DiscreteGaussian) and mechanism.scale >= 4


def draws(mechanism: object, n: int) -> list[int]:
    """How many words a release draws from the system, call by call."""
    if not takes_trials(mechanism):
        return drawn_by_block(word_count(mechanism, n))
    blocks = [min(BLOCK, n - start) for start in range(0, n, BLOCK)]
    return [size for block in blocks for size in (*drawn_by_block(block + block % 2), (block + 1) // 2)]


def system_words(mechanism: object, n: int) -> np.ndarray:
    """The words of a release, made of those that the system gives."""
    sizes = draws(mechanism, n)
    drawn = stream(sum(sizes))
    if not takes_trials(mechanism):
        return spread(drawn, word_count(mechanism, n))
    parts = np.split(drawn, np.cumsum(sizes)[:-1])
    for i, third in enumerate(parts[1::2]):
        parts[2 * i] = spread(parts[2 * i], 2 * third.size)
    return np.concatenate(parts)


READS = [
    pytest.param({}, id="whole"),
    pytest.param({"interruptions": 3}, id="interrupted"),
    pytest.param({"most": 1}, id="one byte a call"),
    pytest.param({"most": 13}, id="13 bytes a call"),
    pytest.param({"most": 100, "interruptions": 1}, id="short and interrupted"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("n", [1, 10, 32, 33, 1000, BLOCK + 1, 3 * BLOCK])
def test_system_words_are_used_as_they_come(mechanism: Laplace, reads: dict, n: int) -> None:
    x = data(mechanism, n)
    with getrandom(**reads):
        y = mechanism.release(x, budget=None, randomness="os")
    want = release_from_words(mechanism, x, system_words(mechanism, n))
    assert y.tobytes() == want.tobytes()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("n", [33, 1000, 3 * BLOCK + 1])
def test_the_key_is_32_bytes_of_the_system(mechanism: Laplace, reads: dict, n: int) -> None:
    x = data(mechanism, n)
    with getrandom(**reads):
        y = mechanism.release(x, budget=None)
    key = stream(4).tobytes()
    words = trial_keystream(key, n, 1) if takes_trials(mechanism) else keystream(key, word_count(mechanism, n))
    assert y.tobytes() == release_from_words(mechanism, x, words).tobytes()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_one_number_takes_its_own_words(mechanism: Laplace) -> None:
    number = 3 if isinstance(mechanism, ON_INTEGERS) else 3.0
    with getrandom(most=3, interruptions=1):
        y = mechanism.release(number, budget=None)
    assert y == release_from_words(mechanism, [number], stream(word_count(mechanism, 1)))[0]


# How many bytes are asked for.


# At such a scale hardly a lane is declined (and the stream is fixed), so no additional words are asked for.
COARSE = [
    Laplace(sensitivity=1, scale=4, granularity=1),
    Gaussian(sensitivity=1, scale=4, granularity=1),
    DiscreteLaplace(sensitivity=1, scale=4),
    DiscreteGaussian(sensitivity=1, scale=3),
    DiscreteGaussian(sensitivity=1, scale=2**10),
]


@pytest.mark.parametrize("mechanism", COARSE, ids=repr)
@pytest.mark.parametrize("n", [0, 1, 2, 10, 31, 32])
def test_small_calls_take_no_cipher(mechanism: Laplace, n: int) -> None:
    x = np.zeros(n, np.int64)
    with getrandom():
        mechanism.release(x, budget=None)
    words = word_count(mechanism, n)
    if words > 32:
        assert bytes_asked() == [KEY_BYTES]
    else:
        assert bytes_asked() == [8 * size for size in draws(mechanism, n)]


RANGES = [(33, 1), (1000, 1), (10**5, 1), (_engine._RANGE, 1), (_engine._RANGE + 1, 2)]


@pytest.mark.parametrize("mechanism", COARSE, ids=repr)
@pytest.mark.parametrize(("n", "keys"), RANGES)
def test_larger_calls_take_a_key_for_each_range(mechanism: Laplace, n: int, keys: int) -> None:
    x = np.zeros(n, np.int64 if isinstance(mechanism, ON_INTEGERS) else np.float64)
    for workers in (1, 2):
        with getrandom():
            mechanism.release(x, budget=None, workers=workers)
        assert bytes_asked() == [KEY_BYTES * keys]


@pytest.mark.parametrize("mechanism", COARSE, ids=repr)
@pytest.mark.parametrize("n", [0, 33, 1000, 3 * BLOCK + 1])
def test_os_takes_every_word_from_the_system(mechanism: Laplace, n: int) -> None:
    x = np.zeros(n, np.int64)
    with getrandom():
        mechanism.release(x, budget=None, randomness="os")
    assert bytes_asked() == [8 * size for size in draws(mechanism, n)]


# Refinement appends words from the same source.


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_refinement_appends_system_words_to_the_words_it_has(mechanism: Laplace) -> None:
    n = 16
    x = data(mechanism, n)
    with getrandom(zero_calls=1):
        y = mechanism.release(x, budget=None)
    assert len(bytes_asked()) > n, "every lane must have needed more"
    first, *others = draws(mechanism, n)  # the first call gave zeros
    given, rest = stream(512)[: sum(others)], iter(stream(512)[sum(others) :].tolist())
    drawn: dict[tuple[int, int], int] = {}

    def extension(lane: int, j: int) -> int:
        if (lane, j) not in drawn:
            drawn[lane, j] = next(rest)
        return drawn[lane, j]

    words = np.concatenate([np.zeros(first, np.uint64), given])
    assert y.tobytes() == release_from_words(mechanism, x, words, extension=extension).tobytes()


# Failure: an exception, and no exact value where the result would have been.

FAILURES = [
    pytest.param("chacha20", 33, 0, id="no key"),
    pytest.param("chacha20", 5 * BLOCK, 0, id="no key for several blocks"),
    pytest.param("chacha20", 10, 0, id="no words for a small call"),
    pytest.param("os", 10, 0, id="no words"),
    pytest.param("os", 5 * BLOCK, 0, id="no words for the first block"),
    pytest.param("os", 5 * BLOCK, 3, id="no words for the fourth block"),
    pytest.param("os", 5 * BLOCK + 1, 5, id="no words for the last block"),
    pytest.param("os", 100_000, 50, id="no words in a later range"),
]
LAYOUTS = ["contiguous", "strided", "big-endian"]


def laid_out(x: np.ndarray, layout: str) -> np.ndarray:
    if layout == "strided":
        wide = np.full(2 * x.size, 5, x.dtype)
        wide[::2] = x
        return wide[::2]
    return x.astype(x.dtype.newbyteorder(">")) if layout == "big-endian" else x.copy()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize(("randomness", "n", "good_calls"), FAILURES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_failure_in_place_leaves_no_exact_value(
    mechanism: Laplace, randomness: str, n: int, good_calls: int, layout: str, workers: int
) -> None:
    x = laid_out(data(mechanism, n), layout)
    with getrandom(good_calls=good_calls), pytest.raises(EntropyError, match="no random bytes"):
        mechanism.release(x, budget=None, out=x, randomness=randomness, workers=workers)
    assert not x.any()


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize(("randomness", "n", "good_calls"), FAILURES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_failure_leaves_zeros_in_out_and_x_as_it_was(
    mechanism: Laplace, randomness: str, n: int, good_calls: int, layout: str
) -> None:
    x = laid_out(data(mechanism, n), layout)
    out = np.full_like(x, 77)
    before = x.copy()
    with getrandom(good_calls=good_calls), pytest.raises(EntropyError):
        mechanism.release(x, budget=None, out=out, randomness=randomness)
    assert not out.any()
    assert np.array_equal(x, before)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSYS, errno.EAGAIN, errno.EFAULT, 0])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_every_kind_of_failure_is_an_entropy_error(mechanism: Laplace, error: int) -> None:
    x = data(mechanism, 100)
    with getrandom(good_calls=0, error=error):
        for value in (x, x[:5], x[0].item()):
            with pytest.raises(EntropyError):
                mechanism.release(value, budget=None)
            with pytest.raises(OSError, match="no random bytes"):
                mechanism.release(value, budget=None, randomness="os")


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@pytest.mark.parametrize("good_calls", [1, 3, 9])
def test_a_failure_during_refinement_leaves_zeros(mechanism: Laplace, good_calls: int) -> None:
    x = data(mechanism, 16)
    with getrandom(zero_calls=1, good_calls=good_calls), pytest.raises(EntropyError):
        mechanism.release(x, budget=None, out=x)
    assert not x.any()
    with getrandom(zero_calls=1, good_calls=1), pytest.raises(EntropyError):
        mechanism.release(x[0].item(), budget=None)


def test_a_read_that_fails_halfway_is_a_failure() -> None:
    x = data(MECHANISMS[0], 100)
    with getrandom(most=7, good_calls=3), pytest.raises(EntropyError):  # 21 of 32 bytes
        MECHANISMS[0].release(x, budget=None)


def test_the_budget_is_spent_before_the_draw_and_stays_spent() -> None:
    paid = Laplace(sensitivity=1, epsilon=1, granularity=1)
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=3)
    for x in (np.zeros(100), np.zeros(5), 1.0):
        before = budget.remaining.epsilon
        with getrandom(good_calls=0), pytest.raises(EntropyError):
            paid.release(x, budget=budget)
        assert budget.remaining.epsilon == before - 1


def test_after_a_failure_the_next_release_works() -> None:
    x = data(MECHANISMS[0], 100)
    with getrandom(good_calls=0), pytest.raises(EntropyError):
        MECHANISMS[0].release(x, budget=None)
    with getrandom():
        first = MECHANISMS[0].release(x, budget=None)
    with getrandom():
        second = MECHANISMS[0].release(x, budget=None)
    assert np.array_equal(first, second)
    assert not np.array_equal(MECHANISMS[0].release(x, budget=None), first)
