"""Whatever stops a release, no exact value is left: out is all zeros, or all noise."""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from float_env_cases import fixed_entropy
from support import ON_INTEGERS

from exactnoise import DiscreteGaussian, DiscreteLaplace, EntropyError, Gaussian, Laplace, _native
from exactnoise.mechanisms import _engine, _layout, _threads

# Scales that leave many lanes to refinement.
MECHANISMS = [
    Laplace(sensitivity=1, scale=2**30, granularity=2.0**-6),
    Gaussian(sensitivity=1, scale=2**30, granularity=2.0**-6),
    DiscreteLaplace(sensitivity=1, scale=2**36),
    DiscreteGaussian(sensitivity=1, scale=2**36),
]
BY_KIND = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
BY_WORKERS = pytest.mark.parametrize("workers", [1, 2])
RANGE = 8 * _native.BLOCK
N = 6 * RANGE + 5
X = np.arange(1, N + 1)

#: How x and out lie in memory: a function of a dtype that makes both.
PLACES: dict[str, Callable[[str], tuple[np.ndarray, np.ndarray]]] = {
    "direct": lambda dtype: (X.astype(dtype), X.astype(dtype)),
    "direct in place": lambda dtype: (X.astype(dtype),) * 2,
    "staged": lambda dtype: (X.astype(dtype), np.repeat(X, 2).astype(dtype)[::2]),
    "staged in place": lambda dtype: (np.repeat(X, 2).astype(dtype)[::2],) * 2,
    "big-endian in place": lambda dtype: (X.astype(">" + dtype),) * 2,
    "two-dimensional in place": lambda dtype: (np.resize(X, (N // 3, 3)).astype(dtype).T[::-1],) * 2,
}
BY_PLACE = pytest.mark.parametrize("place", PLACES)
# Windows has no signals between threads.
press_ctrl_c = partial(os.kill, os.getpid(), signal.SIGINT) if os.name == "posix" else _thread.interrupt_main

EXCEPTIONS = [RuntimeError("stop"), KeyboardInterrupt(), MemoryError(), SystemExit(1), GeneratorExit()]


@pytest.fixture(autouse=True)
def _small_ranges(monkeypatch):
    monkeypatch.setattr(_engine, "_RANGE", RANGE)
    monkeypatch.setattr(_engine, "_STAGED_RANGE", RANGE)


@pytest.fixture(autouse=True)
def fixed_keys(monkeypatch):
    """How many lanes are declined, and how many of them take further words, is the same in every run."""
    monkeypatch.setattr(_native, "fill_entropy", fixed_entropy)


def arrays(place, mechanism):
    """x and out, and all the memory that out lies in."""
    x, out = PLACES[place]("i8" if isinstance(mechanism, ON_INTEGERS) else "f8")
    assert out.all()
    return x, out


def assert_stopped(mechanism, x, out, exception, workers):
    with pytest.raises(type(exception)) as stopped:
        mechanism.release(x, budget=None, out=out, workers=workers)
    assert stopped.value is exception
    assert not out.any()


class Raising:
    """A function that works a few times and then raises, always."""

    def __init__(self, function, exception, times):
        self.function, self.exception, self.left = function, exception, times
        self.lock = threading.Lock()

    def __call__(self, *args, **kwargs):
        with self.lock:
            self.left -= 1
            if self.left < 0:
                raise self.exception
        return self.function(*args, **kwargs)


@BY_WORKERS
@pytest.mark.parametrize("exception", EXCEPTIONS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("times", [0, 1, 5])
@BY_PLACE
def test_between_ranges(place, times, exception, workers, monkeypatch):
    for mechanism in MECHANISMS[1:]:
        x, out = arrays(place, mechanism)
        with monkeypatch.context() as patch:
            patch.setattr(_engine, "release_range", Raising(_engine.release_range, exception, times))
            assert_stopped(mechanism, x, out, exception, workers)


@BY_WORKERS
@pytest.mark.parametrize("times", [0, 1, 2, 4])
@BY_PLACE
@BY_KIND
def test_in_refinement(mechanism, place, times, workers, monkeypatch):
    monkeypatch.setattr(_engine, "_PENDING", _native.BLOCK)
    x, out = arrays(place, mechanism)
    exception = KeyboardInterrupt()
    monkeypatch.setattr(_engine, "refine", Raising(_engine.refine, exception, times))
    assert_stopped(mechanism, x, out, exception, workers)


@BY_WORKERS
@BY_PLACE
@BY_KIND
def test_in_fixed_point(mechanism, place, workers, monkeypatch):
    monkeypatch.setattr(_engine, "_PENDING", _native.BLOCK)
    x, out = arrays(place, mechanism)
    exception = KeyboardInterrupt()
    monkeypatch.setattr(_engine, "settle", Raising(_engine.settle, exception, 2))
    assert_stopped(mechanism, x, out, exception, workers)


def settle_nothing(plan, pending, out, extension):
    """Leaves all declined lanes to refinement."""
    return pending.size


@BY_WORKERS
@BY_PLACE
@BY_KIND
def test_within_a_list_of_declined_lanes(mechanism, place, workers, monkeypatch):
    monkeypatch.setattr(_engine, "settle", settle_nothing)
    original = _engine.refine
    exception = RuntimeError("stop")

    def refine(*args):
        yield next(original(*args))
        raise exception

    monkeypatch.setattr(_engine, "refine", refine)
    x, out = arrays(place, mechanism)
    assert_stopped(mechanism, x, out, exception, workers)


class StoppingPlan:
    """A plan whose kernels run a few times and then raise: before or after they wrote."""

    def __init__(self, plan, exception, times, *, after):
        self.form, self.family, self.word_count = plan.form, plan.family, plan.word_count
        self.settle, self.extension_count = plan.settle, plan.extension_count
        self.run = Raising(plan.release, exception, times)
        self.after = after

    def release(self, *args, **kwargs):
        if not self.after:
            return self.run(*args, **kwargs)
        self.run.function(*args, **kwargs)
        return self.run(*args, **kwargs)


@BY_WORKERS
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("times", [0, 1, 4])
@BY_PLACE
@BY_KIND
def test_around_the_kernels(mechanism, place, times, after, workers, monkeypatch):
    monkeypatch.setattr(_engine, "_PENDING", _native.BLOCK)
    x, out = arrays(place, mechanism)
    exception = KeyboardInterrupt()
    form = "int64" if isinstance(mechanism, ON_INTEGERS) else "float64"
    monkeypatch.setitem(mechanism._plans, form, StoppingPlan(mechanism._plan(form), exception, times, after=after))
    assert_stopped(mechanism, x, out, exception, workers)


class NumpyWithout:
    """NumPy, of which one function works a few times and then raises."""

    def __init__(self, name, exception, times):
        self.name, self.replacement = name, Raising(getattr(np, name), exception, times)

    def __getattr__(self, name):
        return self.replacement if name == self.name else getattr(np, name)


@BY_WORKERS
@pytest.mark.parametrize("times", [0, 1, 3])
@pytest.mark.parametrize(
    ("name", "place"), [*(("empty", place) for place in PLACES), ("copyto", "big-endian in place")]
)
def test_in_numpy(name, place, times, workers, monkeypatch):
    x, out = arrays(place, MECHANISMS[0])
    exception = MemoryError(name)
    module = _layout if name == "copyto" else _engine
    monkeypatch.setattr(module, "np", NumpyWithout(name, exception, times))
    assert_stopped(MECHANISMS[0], x, out, exception, workers)


@pytest.mark.parametrize("times", [0, 1, 3])
@BY_WORKERS
def test_while_reading(times, workers, monkeypatch):
    from exactnoise.mechanisms._data import Lanes

    mechanism = MECHANISMS[0]
    for place in ("staged in place", "big-endian in place"):
        x, out = arrays(place, mechanism)
        exception = MemoryError()
        original = Lanes.piece
        run = Raising(original, exception, times)
        with monkeypatch.context() as patch:
            patch.setattr(Lanes, "piece", lambda self, *args, run=run: run(self, *args))
            assert_stopped(mechanism, x, out, exception, workers)


@BY_WORKERS
@BY_PLACE
@BY_KIND
def test_entropy_ends_in_the_middle(mechanism, place, workers, monkeypatch):
    """Extension words come from the system, which may fail."""
    from exactnoise._refine import words

    monkeypatch.setattr(_engine, "settle", settle_nothing)
    x, out = arrays(place, mechanism)
    exception = EntropyError("no bytes")
    monkeypatch.setattr(words, "fill_entropy", Raising(words.fill_entropy, exception, 1))
    assert_stopped(mechanism, x, out, exception, workers)


@BY_WORKERS
@pytest.mark.parametrize("place", ["direct in place", "staged in place"])
def test_after_the_spend_and_before_the_first_range(place, workers, monkeypatch):
    """When a release fails after it has been paid for, out holds no exact value either."""
    x, out = arrays(place, MECHANISMS[0])
    exception = EntropyError("no bytes")
    monkeypatch.setattr(_native, "fill_entropy", Raising(_native.fill_entropy, exception, 0))
    assert_stopped(MECHANISMS[0], x, out, exception, workers)


def test_while_x_is_copied(monkeypatch):
    """The same, where memory runs out for a copy of x that overlaps with out."""

    class Uncopyable(np.ndarray):
        def copy(self, *args, **kwargs):
            raise MemoryError

    base = np.arange(1.0, 101.0)
    from exactnoise.mechanisms import _data

    original = _data._columns
    monkeypatch.setattr(_data, "_columns", lambda x: (original(x)[0].view(Uncopyable), None))
    with pytest.raises(MemoryError):
        MECHANISMS[0].release(base[:-1], budget=None, out=base[1:])
    assert not base[1:].any()


# What others can see meanwhile


@BY_WORKERS
@pytest.mark.parametrize("place", ["direct", "direct in place", "staged in place"])
@BY_KIND
def test_declined_lanes_hold_zero_until_they_are_decided(mechanism, place, workers, monkeypatch):
    x, out = arrays(place, mechanism)
    original_range, original = _engine.release_range, _engine.refine
    local = threading.local()
    seen = []

    def release_range(plan, ideal, x, out, *args, **kwargs):
        local.out = out
        return original_range(plan, ideal, x, out, *args, **kwargs)

    def look(pending):
        held = local.out[pending["index"]]
        seen.append((pending.size, np.count_nonzero(held), np.count_nonzero(np.signbit(held))))

    def settle(plan, pending, out, extension):
        look(pending)
        return settle_nothing(plan, pending, out, extension)

    def refine(ideal, form, pending, extension):
        look(pending)
        return original(ideal, form, pending, extension)

    monkeypatch.setattr(_engine, "release_range", release_range)
    monkeypatch.setattr(_engine, "settle", settle)
    monkeypatch.setattr(_engine, "refine", refine)
    mechanism.release(x, budget=None, out=out, workers=workers)
    assert sum(size for size, _, _ in seen) > 5  # of about 40: fewer have a probability below 1e-10
    assert all(nonzero == negative == 0 for _, nonzero, negative in seen)


@pytest.mark.parametrize("place", ["staged", "staged in place", "big-endian in place"])
def test_copies_are_wiped(place, monkeypatch):
    """What is staged holds nothing when its range is over."""
    from exactnoise.mechanisms._data import Lanes

    pieces = []
    original = Lanes.piece
    monkeypatch.setattr(Lanes, "piece", lambda self, *args: pieces.append(original(self, *args)) or pieces[-1])
    for failing in (False, True):
        x, out = arrays(place, MECHANISMS[0])
        if failing:
            monkeypatch.setattr(_engine, "refine", Raising(_engine.refine, RuntimeError("stop"), 2))
            with pytest.raises(RuntimeError):
                MECHANISMS[0].release(x, budget=None, out=out)
        else:
            MECHANISMS[0].release(x, budget=None, out=out)
    assert len(pieces) > 7
    assert not any(piece.any() for piece in pieces)


class NumpyThatRemembers:
    """NumPy, and the lists of declined lanes that were made with it."""

    def __init__(self):
        self.made = []

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, shape, dtype=float):
        array = np.zeros(shape, dtype)
        if dtype == _native.PENDING:
            self.made.append(array)
        return array


@BY_WORKERS
@pytest.mark.parametrize("failing", ["nothing", "refinement", "kernel"])
@BY_KIND
def test_lists_of_declined_lanes_are_wiped(mechanism, failing, workers, monkeypatch):
    """They hold exact values, which do not stay in freed memory."""
    remembered = NumpyThatRemembers()
    monkeypatch.setattr(_engine, "np", remembered)
    exception = RuntimeError("stop")
    x, out = arrays("direct", mechanism)
    if failing == "nothing":
        mechanism.release(x, budget=None, out=out, workers=workers)
    else:
        if failing == "refinement":
            monkeypatch.setattr(_engine, "refine", Raising(_engine.refine, exception, 2))
        else:
            form = "int64" if isinstance(mechanism, ON_INTEGERS) else "float64"
            plan = StoppingPlan(mechanism._plan(form), exception, 2, after=True)
            monkeypatch.setitem(mechanism._plans, form, plan)
        assert_stopped(mechanism, x, out, exception, workers)
    assert len(remembered.made) > 1
    assert not any(array.view("u1").any() for array in remembered.made)


@BY_WORKERS
def test_no_worker_writes_after_the_end(workers, monkeypatch):
    """When release raises, every thread has stopped."""
    mechanism = MECHANISMS[0]
    exception = RuntimeError("stop")
    original = _engine.release_range
    calls = []

    def release_range(plan, ideal, x, out, *args, **kwargs):
        calls.append(None)
        if len(calls) == 1:
            raise exception
        time.sleep(0.02)
        return original(plan, ideal, x, out, *args, **kwargs)

    monkeypatch.setattr(_engine, "release_range", release_range)
    x, out = arrays("direct in place", mechanism)
    assert_stopped(mechanism, x, out, exception, workers)
    before = len(calls)
    time.sleep(0.1)
    assert len(calls) == before
    assert not out.any()


@pytest.mark.parametrize("thread", [1, 2, 3])
@pytest.mark.parametrize("place", ["direct", "direct in place", "staged"])
def test_an_interrupt_while_a_thread_starts(place, thread, monkeypatch):
    """The new thread is running, and the interrupt comes before anybody knows."""
    starts = []
    keys = []
    original_start, original_range = _threads.start_new_thread, _engine.release_range

    def start(function, arguments):
        starts.append(original_start(function, arguments))
        if len(starts) == thread:
            raise KeyboardInterrupt

    def release_range(plan, ideal, x, out, extension, *, key=None, **kwargs):
        time.sleep(0.02)
        keys.append(bytes(key))
        original_range(plan, ideal, x, out, extension, key=key, **kwargs)

    x, out = arrays(place, MECHANISMS[0])
    with monkeypatch.context() as patch:
        patch.setattr(_threads, "start_new_thread", start)
        patch.setattr(_engine, "release_range", release_range)
        with pytest.raises(KeyboardInterrupt):
            MECHANISMS[0].release(x, budget=None, out=out, workers=3)
        stopped = len(keys)
        assert not out.any()
        time.sleep(0.2)
    assert len(keys) == stopped, "ranges were released after the exception"
    assert bytes(32) not in keys
    assert not out.any()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="this system has no such signal")
@pytest.mark.parametrize("pause", [0.0005, 0.001, 0.002, 0.004] * 5)
def test_other_exceptions_of_signal_handlers(pause, monkeypatch):
    """A handler that raises what it likes, twice: no thread goes on, and none works under a wiped key."""
    keys = []
    original = _engine.release_range

    def release_range(*args, key=None, **kwargs):
        original(*args, key=key, **kwargs)
        keys.append(bytes(key))

    def stop(signum, frame):
        if releasing:
            raise TimeoutError

    def press_twice():
        for _ in range(2):
            time.sleep(pause)
            os.kill(os.getpid(), signal.SIGUSR1)

    monkeypatch.setattr(_engine, "_RANGE", RANGE)
    monkeypatch.setattr(_engine, "release_range", release_range)
    x = np.tile(X.astype("f8"), 40)
    out = np.full(x.shape, 99.0)
    releasing = []
    before = signal.signal(signal.SIGUSR1, stop)
    user = threading.Thread(target=press_twice)
    user.start()
    try:
        with contextlib.suppress(TimeoutError):
            releasing.append(True)
            try:
                MECHANISMS[0].release(x, budget=None, out=out, workers=2)
            finally:
                releasing.clear()
        user.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    released, seen = len(keys), out.copy()
    time.sleep(0.05)
    assert len(keys) == released
    assert bytes(32) not in keys
    np.testing.assert_array_equal(out, seen)
    assert not seen.any() or (seen == 99).all() or (seen != 0).mean() > 0.9  # zeroed, untouched, or done


def test_a_second_interrupt_leaves_no_worker_without_its_key(monkeypatch):
    """A user who presses Ctrl-C twice: a range that is still being released keeps its random key."""
    monkeypatch.setattr(_engine, "_RANGE", RANGE)
    started, interrupted = threading.Event(), threading.Event()
    keys = []

    def release_range(plan, ideal, x, out, extension, *, key=None, words=None):
        started.set()
        interrupted.wait(5)
        time.sleep(0.2)
        keys.append(bytes(key))
        out[:] = 0

    def press_twice():
        started.wait(5)
        for _ in range(2):
            time.sleep(0.2)
            press_ctrl_c()
        interrupted.set()

    monkeypatch.setattr(_engine, "release_range", release_range)
    x, out = arrays("direct in place", MECHANISMS[0])
    user = threading.Thread(target=press_twice)
    user.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            MECHANISMS[0].release(x, budget=None, out=out, workers=2)
        assert not out.any()
    finally:
        user.join()
        time.sleep(0.5)
    assert keys
    assert bytes(32) not in keys
