"""Where the words of reports come from: each range's own key, never twice, and nothing left when a release stops."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import oracle_response as oracle
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from exactnoise import (
    LocalHashing,
    OptimizedUnaryEncoding,
    RandomizedResponse,
    SymmetricUnaryEncoding,
    _native,
)
from exactnoise.mechanisms.response import LocalRandomizer, base, bernoulli
from exactnoise.testing import coins_from_words, respond_from_words

K = 266
MECHANISMS = [
    RandomizedResponse(epsilon="0.01", categories=65536),
    SymmetricUnaryEncoding(epsilon="0.1", categories=K),
    OptimizedUnaryEncoding(epsilon="0.1", categories=K),
    LocalHashing(epsilon="0.1", categories=K),
]
ON_EVERY_MECHANISM = pytest.mark.parametrize("m", MECHANISMS, ids=lambda m: type(m).__name__)


def stream(key: bytes, number: int, count: int) -> np.ndarray:
    """The first `count` words of a stream: from block number * 2^30 on, in the core's layout."""
    groups = -(-count // 128)
    counter = (number << 30).to_bytes(4, "little") + bytes(12)
    text = Cipher(ChaCha20(key, counter), None).encryptor().update(bytes(1024 * groups))
    blocks = np.frombuffer(text, "<u4").reshape(groups, 16, 16)
    return np.ascontiguousarray(blocks.swapaxes(1, 2)).reshape(-1).view(np.uint64)[:count]


def words_under(key: bytes, m: LocalRandomizer, n: int) -> np.ndarray:
    """All words that n reports may take under a key."""
    if isinstance(m, RandomizedResponse):
        return stream(key, 0, n)
    if isinstance(m, LocalHashing):
        return stream(key, 0, 2 * n)
    levels = oracle.level_words(m.other_probability, 8 * m.report_shape[0] * n)
    return np.concatenate([stream(key, 0, levels), stream(key, 1, n), stream(key, 2, 4000)])


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytearray, bytes]]:
    """The key buffers of releases: the buffer itself, and what it held when it was filled."""
    seen: list[tuple[bytearray, bytes]] = []
    fill = _native.fill_entropy

    def fill_and_remember(buffer: bytearray) -> None:
        fill(buffer)
        seen.append((buffer, bytes(buffer)))

    monkeypatch.setattr(_native, "fill_entropy", fill_and_remember)
    return seen


@ON_EVERY_MECHANISM
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("staged", [False, True])
def test_each_range_has_the_keystream_of_its_own_key(
    m: LocalRandomizer,
    workers: int,
    staged: bool,
    keys: list[tuple[bytearray, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "_DIRECT_RANGE", 1000)
    monkeypatch.setattr(base, "_STAGED_RANGE", 700)
    size = 700 if staged else 1000
    codes = np.arange(3500) % m.categories
    reports = m.release(codes.astype(np.int32) if staged else codes, budget=None, workers=workers)
    ((buffer, content),) = keys
    count = -(-codes.size // size)
    assert len(content) == 32 * count
    assert len({content[32 * i : 32 * (i + 1)] for i in range(count)}) == count
    assert not any(buffer), "the key is still there"
    for i in range(count):
        piece = codes[size * i : size * (i + 1)]
        want = respond_from_words(m, piece, words_under(content[32 * i : 32 * (i + 1)], m, piece.size))
        assert reports[size * i : size * (i + 1)].tobytes() == want.tobytes()


def test_coins_have_the_keystream_of_their_key(keys: list[tuple[bytearray, bytes]]) -> None:
    n = 20_000
    coins = bernoulli("1/3", n)
    ((buffer, content),) = keys
    assert not any(buffer)
    words = np.concatenate([stream(content, 0, oracle.level_words(Fraction(1, 3), n)), stream(content, 2, 500)])
    np.testing.assert_array_equal(coins, coins_from_words("1/3", n, words))


@ON_EVERY_MECHANISM
def test_small_calls_and_the_system_make_no_key(m: LocalRandomizer, keys: list[tuple[bytearray, bytes]]) -> None:
    m.release(range(1000), budget=None, randomness="os")
    if not m.report_shape:
        m.release(5, budget=None)
        m.release(range(10), budget=None)
    assert keys == []
    m.release(range(1000), budget=None)
    assert len(keys) == 1


# Never twice


def draw(m: LocalRandomizer, n: int = 64, randomness: str = "chacha20") -> bytes:
    """Reports of so much noise that two are equal with a probability far below 2^-60."""
    return m.release(np.zeros(n, int), budget=None, randomness=randomness).tobytes()


@ON_EVERY_MECHANISM
@pytest.mark.parametrize("randomness", ["chacha20", "os"])
@pytest.mark.parametrize("n", [20, 64, 1000])
def test_two_calls_never_agree(m: LocalRandomizer, randomness: str, n: int) -> None:
    assert len({draw(m, n, randomness) for _ in range(100)}) == 100


@ON_EVERY_MECHANISM
def test_copies_draw_anew(m: LocalRandomizer) -> None:
    twins = [m, copy.copy(m), copy.deepcopy(m), pickle.loads(pickle.dumps(m))]
    assert all(twin == m for twin in twins)
    assert len({draw(twin) for twin in twins for _ in range(2)}) == 8
    assert pickle.dumps(twins[3]) == pickle.dumps(m)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@ON_EVERY_MECHANISM
@pytest.mark.parametrize("n", [20, 1000])
def test_forks_draw_anew(m: LocalRandomizer, n: int) -> None:
    draw(m, n)
    answers = [draw(m, n)]
    for _ in range(3):
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            try:
                os.write(writer, draw(m, n)[:30_000])
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            answers.append(pipe.read())
        os.waitpid(child, 0)
    answers.append(draw(m, n))
    assert all(answers)
    assert len({answer[:30_000] for answer in answers}) == 5


@ON_EVERY_MECHANISM
def test_threads_share_nothing(m: LocalRandomizer) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: draw(m, 20), range(200)))
    assert len(set(answers)) == 200


@pytest.mark.parametrize("workers", [1, 2, 5])
@ON_EVERY_MECHANISM
def test_workers_keep_the_order(m: LocalRandomizer, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_DIRECT_RANGE", 100)
    quiet = type(m)(epsilon=90, categories=m.categories)
    codes = np.arange(1234) % m.categories
    reports = quiet.release(codes, budget=None, workers=workers)
    if isinstance(quiet, LocalHashing):  # a report shows the bucket of its category by its own hash function
        hashes = (reports["a"] * codes.astype(np.uint32) + reports["b"]) >> np.uint32(16)
        np.testing.assert_array_equal(reports["bucket"], hashes * np.uint32(1024) >> np.uint32(16))
    elif not quiet.report_shape:
        np.testing.assert_array_equal(reports, codes)
    else:
        bits = np.unpackbits(reports, axis=1, count=m.categories, bitorder="little")
        rows, columns = np.nonzero(bits)
        np.testing.assert_array_equal(columns, codes[rows])


# Interruption


class Stopping:
    """A responder that works for a few ranges and then raises, before or after it wrote."""

    def __init__(self, responder: object, exception: BaseException, times: int, *, after: bool) -> None:
        self.responder, self.exception, self.left, self.after = responder, exception, times, after
        self.lock = threading.Lock()

    def release(self, *args: object, **kwargs: object) -> None:
        with self.lock:
            self.left -= 1
            stops = self.left < 0
        if self.after or not stops:
            self.responder.release(*args, **kwargs)
        if stops:
            raise self.exception


@pytest.mark.parametrize(
    "exception", [RuntimeError("stop"), KeyboardInterrupt(), MemoryError(), SystemExit(1)], ids=repr
)
@pytest.mark.parametrize("workers", [1, 2])
@ON_EVERY_MECHANISM
def test_whatever_stops_a_release_leaves_zeros(
    m: LocalRandomizer,
    workers: int,
    exception: BaseException,
    keys: list[tuple[bytearray, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(base, "_DIRECT_RANGE", 100)
    for times in (0, 1, 5):
        for after in (False, True):
            fresh = pickle.loads(pickle.dumps(m))
            fresh._fix(_fast=Stopping(m._fast, exception, times, after=after))
            out = np.full((1000, *m.report_shape), np.ones((), m.report_dtype))
            keys.clear()
            with pytest.raises(type(exception)) as stopped:
                fresh.release(np.arange(1000), budget=None, out=out, workers=workers)
            assert stopped.value is exception
            assert not any(out.tobytes())
            assert not any(keys[0][0])


def test_copies_of_the_data_are_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    m = RandomizedResponse(epsilon=1, categories=9)
    seen: list[np.ndarray] = []

    class Remembering:
        def release(self, codes: np.ndarray, *args: object, **kwargs: object) -> None:
            assert codes.any()
            seen.append(codes)
            m._responder(_native.SIMD).release(codes, *args, **kwargs)

    fresh = pickle.loads(pickle.dumps(m))
    fresh._fix(_fast=Remembering())
    fresh.release(np.ones(1000, np.int16), budget=None)
    assert len(seen) == 1
    assert not seen[0].any()


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_control_c_leaves_zeros() -> None:
    program = textwrap.dedent(
        """
        import os, signal, threading, time
        import numpy as np
        from exactnoise import OptimizedUnaryEncoding
        m = OptimizedUnaryEncoding(epsilon=1, categories=266)
        x, out = np.zeros(3_000_000, int), np.full((3_000_000, 34), 255, np.uint8)
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            m.release(x, budget=None, out=out)
        except KeyboardInterrupt:
            print("interrupted", out.any())
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("interrupted False\n", "")


# Memory


MEASURED = textwrap.dedent(
    """
    import tracemalloc
    import numpy as np
    import exactnoise

    def peak(work):
        tracemalloc.start()
        work()
        _, allocated = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return allocated

    for name in ("RandomizedResponse", "OptimizedUnaryEncoding", "LocalHashing"):
        m = getattr(exactnoise, name)(epsilon=1, categories=266)
        x = np.zeros(500_000, np.int32)
        out = np.zeros((x.size, *m.report_shape), m.report_dtype)
        m.release(x[:1000], budget=None)
        print(peak(lambda: m.release(x, budget=None, out=out)), peak(lambda: m.tally(out)))
    """
)


def test_memory_is_bounded() -> None:
    """Less than a megabyte beside data and reports."""
    done = subprocess.run([sys.executable, "-c", MEASURED], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    sizes = [int(size) for size in done.stdout.split()]
    assert len(sizes) == 6
    assert max(sizes[::2]) < 1_000_000
    assert max(sizes[1::2]) < 2_000_000
