"""No two releases share noise: not after a fork, not in threads, not from a copy or a pickle.

There is no state to inherit: every call takes its randomness from the operating system.
"""

from __future__ import annotations

import copy
import multiprocessing
import operator
import os
import pickle
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from support import ON_INTEGERS, Mechanism

from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

ALL = [
    Laplace(sensitivity=1, epsilon=1),
    Gaussian(sensitivity=1, scale=1),
    DiscreteLaplace(sensitivity=1, scale=2**30),
    DiscreteGaussian(sensitivity=1, scale=2**30),
]
# Small calls read the operating system directly, larger ones expand a key.
SIZES = [8, 31, 32, 33, 1000, 5000]


def draw(mechanism: Mechanism, size: int) -> bytes:
    """Released values about 0; two samples are equal by chance with a probability of about 2^-20."""
    dtype = np.int64 if isinstance(mechanism, ON_INTEGERS) else np.float64
    return mechanism.release(np.zeros(size, dtype), budget=None).tobytes()


def forked(work: Callable[[], bytes]) -> bytes:
    """What the work gives in a forked child."""
    reader, writer = os.pipe()
    if (child := os.fork()) == 0:
        status = 1
        try:
            os.write(writer, work())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    assert os.waitpid(child, 0)[1] == 0
    return answer


needs_fork = pytest.mark.skipif(sys.platform == "win32", reason="no fork on Windows")


# opendp/opendp#2934, numpy/numpy#9650: a buffer, or a state, that every forked worker inherits.


@needs_fork
@pytest.mark.parametrize("size", [8, 1000])
@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_forks_draw_anew(mechanism: Mechanism, size: int) -> None:
    draw(mechanism, size)  # whatever a first call sets up exists before the forks
    answers = [forked(lambda: draw(mechanism, size)) for _ in range(3)] + [draw(mechanism, size)]
    assert all(answers)
    assert len(set(answers)) == len(answers)


@needs_fork
@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_fork_from_a_thread(mechanism: Mechanism) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(draw, mechanism, 100).result()
        answers = [pool.submit(forked, lambda: draw(mechanism, 100)).result() for _ in range(2)]
        answers.append(pool.submit(draw, mechanism, 100).result())
    assert len(set(answers)) == len(answers)


# IBM/differential-privacy-library#40: a generator of the system's entropy that could not be pickled.


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_worker_processes_draw_anew(mechanism: Mechanism) -> None:
    dtype = np.int64 if isinstance(mechanism, ON_INTEGERS) else np.float64
    release = operator.methodcaller("release", np.zeros(8, dtype), budget=None)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        answers = [y.tobytes() for y in pool.map(release, [mechanism] * 4)]
    assert len(set(answers)) == len(answers)


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_threads_share_nothing(mechanism: Mechanism) -> None:
    """16 threads, 1.6 million samples: no run of four comes twice."""
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda _: draw(mechanism, 100_000), range(16)))
    runs = np.frombuffer(b"".join(answers), np.dtype("V32"))
    assert len(set(runs.tolist())) == runs.size


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_no_stretch_repeats_within_a_call(mechanism: Mechanism, workers: int) -> None:
    dtype = np.int64 if isinstance(mechanism, ON_INTEGERS) else np.float64
    x = np.zeros(400_003, dtype)
    y = mechanism.release(x, budget=None, workers=workers)
    runs = np.frombuffer(y[:400_000].tobytes(), np.dtype("V32"))
    assert len(set(runs.tolist())) == runs.size


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_copies_draw_anew(mechanism: Mechanism, size: int) -> None:
    twins = [mechanism, copy.copy(mechanism), copy.deepcopy(mechanism)]
    twins.append(pickle.loads(pickle.dumps(mechanism)))
    answers = [draw(twin, size) for twin in twins for _ in range(2)]
    assert len(set(answers)) == len(answers)


@pytest.mark.parametrize("mechanism", ALL, ids=lambda m: type(m).__name__)
def test_a_pickle_holds_parameters_only(mechanism: Mechanism) -> None:
    before = pickle.dumps(mechanism)
    for size in SIZES:
        draw(mechanism, size)
    assert pickle.dumps(mechanism) == before


def test_control_inherited_generator_repeats() -> None:
    """A generator with state in user space gives every fork the same noise."""
    generator = np.random.default_rng()

    def stateful() -> bytes:
        return generator.laplace(size=8).tobytes()

    if sys.platform == "win32":
        answers = [copy.deepcopy(generator).laplace(size=8).tobytes() for _ in range(3)]
    else:
        answers = [forked(stateful) for _ in range(3)]
    assert len(set(answers)) == 1
