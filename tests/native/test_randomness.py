"""Noise is never used twice: fork, threads, copies; where the words come from; what is left of keys.

What a release does with the operating system's bytes, and with their failure, is in getrandom_cases.py, which runs in a
process of its own.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import compilers
import numpy as np
import pytest
from keystream import keystream, trial_keystream
from support import ON_INTEGERS

from exactnoise import DiscreteGaussian, DiscreteLaplace, EntropyError, Gaussian, Laplace, PrivacyBudget, _native
from exactnoise.mechanisms import _engine
from exactnoise.testing import release_from_words, word_count

RUN = 3  # consecutive values
FINE = 2**36  # scale in grid steps: two values agree with a probability below 2^-36, RUN of them below 2^-108
MECHANISMS = [
    Laplace(sensitivity=1, scale=FINE, granularity=1),
    Gaussian(sensitivity=1, scale=FINE, granularity=1),
    DiscreteLaplace(sensitivity=1, scale=FINE),
    DiscreteGaussian(sensitivity=1, scale=FINE),
]
SIZES = [RUN, 10, 32, 33, 1000]
on_every_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def zeros(mechanism: object, n: int) -> np.ndarray:
    return np.zeros(n, np.int64 if isinstance(mechanism, ON_INTEGERS) else np.float64)


def noise(mechanism: Laplace, n: int, randomness: str = "chacha20") -> np.ndarray:
    return mechanism.release(zeros(mechanism, n), budget=None, randomness=randomness)


def repeated_runs(draws: list[np.ndarray], length: int = RUN) -> int:
    """How many runs of `length` consecutive values occur more than once, anywhere in the draws."""
    windows = [np.lib.stride_tricks.sliding_window_view(draw, length) for draw in draws]
    runs = np.concatenate(windows).astype(np.float64)
    runs = runs[np.lexsort(runs.T)]
    return int(np.count_nonzero((runs[1:] == runs[:-1]).all(axis=1)))


def test_a_repeated_run_is_seen() -> None:
    draws = [noise(MECHANISMS[0], 1000) for _ in range(3)]
    assert repeated_runs(draws) == 0
    draws[2][500 : 500 + RUN] = draws[0][20 : 20 + RUN]
    assert repeated_runs(draws) == 1


@on_every_mechanism
@pytest.mark.parametrize("randomness", ["chacha20", "os"])
def test_two_calls_never_agree(mechanism: Laplace, randomness: str) -> None:
    for n in SIZES:
        assert repeated_runs([noise(mechanism, n, randomness) for _ in range(200)]) == 0


@on_every_mechanism
def test_single_numbers_never_agree(mechanism: Laplace) -> None:
    number = zeros(mechanism, 1)[0].item()
    assert repeated_runs([np.array([mechanism.release(number, budget=None) for _ in range(3000)])]) == 0


def test_equal_keys_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "fill_entropy", lambda buffer: None)
    assert repeated_runs([noise(MECHANISMS[0], 1000) for _ in range(2)]) == 1000 - RUN + 1


# Fork.

FORK_MARKS = [
    # A fork is safe here: the child does nothing but draw and leave.
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork"),
]


def forking(test: Callable[..., None]) -> Callable[..., None]:
    for mark in FORK_MARKS:
        test = mark(test)
    return test


def in_child(draw: Callable[[], np.ndarray]) -> np.ndarray:
    """What `draw` returns in a forked child."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with os.fdopen(writer, "wb") as pipe:
                pickle.dump(draw(), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        drawn: np.ndarray = pickle.load(pipe)
    os.waitpid(child, 0)
    return drawn


# numpy/numpy#9650: a generator's state, inherited by every child.


@forking
@on_every_mechanism
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("randomness", ["chacha20", "os"])
def test_parent_and_three_children_draw_different_noise(mechanism: Laplace, n: int, randomness: str) -> None:
    def draw() -> np.ndarray:
        return noise(mechanism, n, randomness)

    before = draw()
    children = [in_child(draw) for _ in range(3)]
    assert repeated_runs([before, *children, draw()]) == 0


@forking
def test_children_that_share_a_generator_would_be_seen() -> None:
    generator = np.random.Generator(np.random.PCG64(1))
    children = [in_child(lambda: generator.laplace(size=10)) for _ in range(3)]
    assert repeated_runs(children) > 0


@forking
@on_every_mechanism
def test_a_fork_from_a_thread_draws_different_noise(mechanism: Laplace) -> None:
    draws: list[np.ndarray] = [noise(mechanism, 100)]

    def fork() -> None:
        draws.append(noise(mechanism, 100))
        draws.extend(in_child(lambda: noise(mechanism, 100)) for _ in range(3))

    threads = [threading.Thread(target=fork) for _ in range(2)]
    for thread in threads:
        thread.start()
        thread.join()
    draws.append(noise(mechanism, 100))
    assert len(draws) == 10
    assert repeated_runs(draws) == 0


@forking
@on_every_mechanism
def test_a_pool_of_forked_workers_draws_different_noise(mechanism: Laplace) -> None:
    parent = [noise(mechanism, 50)]
    with multiprocessing.get_context("fork").Pool(3) as pool:
        results = [pool.apply_async(mechanism.release, (zeros(mechanism, 50),), {"budget": None}) for _ in range(12)]
        draws = [result.get(timeout=60) for result in results]
    assert repeated_runs([*parent, *draws, noise(mechanism, 50)]) == 0


# Threads.


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


@on_every_mechanism
@pytest.mark.usefixtures("frequent_switches")
def test_sixteen_threads_share_no_noise(mechanism: Laplace) -> None:
    draws: list[list[np.ndarray]] = [[] for _ in range(16)]
    start = threading.Barrier(16)

    def draw(mine: list[np.ndarray]) -> None:
        start.wait()
        mine.extend(noise(mechanism, n) for n in (7, 33, 1000, 5000) * 5)

    threads = [threading.Thread(target=draw, args=(mine,)) for mine in draws]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = [draw for mine in draws for draw in mine]
    assert sum(map(len, drawn)) == 16 * 5 * 6040
    assert repeated_runs(drawn) == 0
    # 1.2e11 pairs of values agree with a probability of about 2^-38 each, so that half a pair is expected;
    # 30 have a probability below 1e-40.
    assert repeated_runs(drawn, length=1) < 30


@on_every_mechanism
def test_workers_share_no_noise(mechanism: Laplace) -> None:
    strided = zeros(mechanism, 2 * 100_000)[::2]
    draws = [mechanism.release(strided, budget=None, workers=3) for _ in range(3)]
    assert repeated_runs(draws) == 0


@on_every_mechanism
def test_ranges_of_one_call_share_no_noise(mechanism: Laplace) -> None:
    draw = noise(mechanism, _engine._RANGE + 500)
    first, second = draw[:500], draw[_engine._RANGE :]
    assert repeated_runs([first, second]) == 0


# Copies.


@on_every_mechanism
@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_a_copy_has_the_parameters_and_other_noise(mechanism: Laplace, duplicate: Callable) -> None:
    noise(mechanism, 100)
    twin = duplicate(mechanism)
    assert twin == mechanism
    assert (twin.scale, twin.granularity, twin.cost) == (mechanism.scale, mechanism.granularity, mechanism.cost)
    for n in SIZES:
        assert repeated_runs([noise(mechanism, n), noise(twin, n), noise(twin, n)]) == 0


@on_every_mechanism
def test_a_release_leaves_no_trace_in_the_mechanism(mechanism: Laplace) -> None:
    fresh = pickle.loads(pickle.dumps(mechanism))
    noise(fresh, 10)  # a first use makes the plan
    before = dict(vars(fresh))
    pickled = pickle.dumps(fresh)
    noise(fresh, 1000)
    assert pickle.dumps(fresh) == pickled
    assert vars(fresh) == before


# The parameter `randomness`.


@on_every_mechanism
@pytest.mark.parametrize("randomness", ["chacha20", "os"])
@pytest.mark.parametrize("n", [0, 1, 10, 32, 33, 1000, 10**5])
def test_both_sources_serve_every_size(mechanism: Laplace, randomness: str, n: int) -> None:
    y = noise(mechanism, n, randomness)
    assert y.shape == (n,)
    assert np.count_nonzero(y == 0) <= n // 10  # each is 0 with a probability below 2^-36


@pytest.mark.parametrize("randomness", ["", "OS", "os ", "chacha", "ChaCha20", None, 0, 1, True, b"os", 7.0])
@pytest.mark.parametrize("x", [1.0, [1.0, 2.0]], ids=["number", "list"])
def test_another_source_is_refused_before_anything_is_spent(randomness: object, x: object) -> None:
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
    mechanism = Laplace(sensitivity=1, epsilon=1)
    with pytest.raises(ValueError, match=r"randomness must be 'chacha20' or 'os', got "):
        mechanism.release(x, budget=budget, randomness=randomness)
    assert budget.remaining.epsilon == 1


# Keys.


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytearray, bytes]]:
    """The key buffers of releases: the buffer itself and what it held when it was filled."""
    seen: list[tuple[bytearray, bytes]] = []
    fill = _native.fill_entropy

    def fill_and_remember(buffer: bytearray) -> None:
        fill(buffer)
        seen.append((buffer, bytes(buffer)))

    monkeypatch.setattr(_native, "fill_entropy", fill_and_remember)
    return seen


@on_every_mechanism
def test_keys_are_fresh_and_wiped(mechanism: Laplace, keys: list[tuple[bytearray, bytes]]) -> None:
    strided = zeros(mechanism, 2 * 100_000)[::2]
    ranges = -(-strided.size // _engine._STAGED_RANGE)
    assert ranges > 2
    for x, count in ((zeros(mechanism, 33), 1), (zeros(mechanism, 1000), 1), (strided, ranges)):
        keys.clear()
        for _ in range(3):
            mechanism.release(x, budget=None, workers=2)
        assert len(keys) == 3
        drawn = []
        for buffer, content in keys:
            assert len(content) == count * _native.KEY_BYTES
            assert not any(buffer), "the key is still there"
            drawn += [content[i : i + 32] for i in range(0, len(content), 32)]
        assert len(set(drawn)) == 3 * count


@on_every_mechanism
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_each_range_has_the_keystream_of_its_own_key(
    mechanism: Laplace, workers: int, keys: list[tuple[bytearray, bytes]]
) -> None:
    size = _engine._STAGED_RANGE
    x = np.arange(2 * (2 * size + 777)).astype(zeros(mechanism, 1).dtype)[::2]
    y = mechanism.release(x, budget=None, workers=workers)
    ((_, content),) = keys
    for i, start in enumerate(range(0, x.size, size)):
        piece = x[start : start + size]
        key = content[32 * i : 32 * (i + 1)]
        if isinstance(mechanism, DiscreteGaussian):
            words = trial_keystream(key, piece.size, 2)
        else:
            words = keystream(key, word_count(mechanism, piece.size))
        want = release_from_words(mechanism, piece, words)
        # A lane that needed more than its words got fresh ones, which nobody knows: a few in 10^5 at this scale.
        assert np.count_nonzero(y[start : start + size] != want) < 100


def test_keys_are_wiped_when_a_release_fails(
    keys: list[tuple[bytearray, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise EntropyError("in the middle")

    monkeypatch.setattr(_engine, "release_range", fail)
    x = np.ones(1000)
    with pytest.raises(EntropyError, match="in the middle"):
        MECHANISMS[0].release(x, budget=None, out=x)
    ((buffer, content),) = keys
    assert any(content)
    assert not any(buffer)
    assert not x.any()


def test_small_calls_make_no_key(keys: list[tuple[bytearray, bytes]]) -> None:
    for mechanism in MECHANISMS:
        for n in (0, 1, 31, 32):
            if word_count(mechanism, n) <= 32:
                noise(mechanism, n)
        mechanism.release(1, budget=None)
        noise(mechanism, 1000, "os")
    assert keys == []
    noise(MECHANISMS[1], 33)
    assert len(keys) == 1


@pytest.mark.parametrize("scale", [4, 5, 1000])
def test_fresh_proposals_have_words_of_their_own(scale: int, keys: list[tuple[bytearray, bytes]]) -> None:
    """Samples that are rejected again and again take all their words from the key's stream."""
    mechanism = DiscreteGaussian(sensitivity=1, scale=scale)
    for n in (33, _native.BLOCK, _native.BLOCK + 1, 50_001):
        keys.clear()
        x = np.zeros(n, np.int64)
        y = mechanism.release(x, budget=None)
        ((_, key),) = keys
        want = release_from_words(mechanism, x, trial_keystream(key, n, 9))
        assert np.count_nonzero(y != want) <= 2  # a lane is declined with a probability below 10^-7


# The operating system.


def test_entropy_fills_exactly_the_buffer() -> None:
    for size in (0, 1, 31, 32, 33, 255, 256, 257, 2**20 + 1):
        buffer = bytearray(size + 16)
        _native.fill_entropy(memoryview(buffer)[8 : size + 8])
        assert not any(buffer[:8])
        assert not any(buffer[size + 8 :])
        # The chance of a zero byte where a random one belongs is no reason to fail: look at runs of 16.
        assert all(any(buffer[i : i + 16]) for i in range(8, size - 8, 16))


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD replaces getrandom on Linux")
@pytest.mark.skipif(not compilers.COMPILERS, reason="compiles a getrandom of its own")
def test_the_cases_with_a_getrandom_of_our_own(tmp_path: Path) -> None:
    library = compilers.shared_library("getrandom.c", tmp_path)
    cases = Path(__file__).with_name("getrandom_cases.py")
    compilers.run(
        *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", cases),
        env={**os.environ, "LD_PRELOAD": str(library)},
        cwd=compilers.ROOT,
    )
