"""The same of everything else: other people's threads, libraries that spoil the environment as they are loaded, Python.

What is computed: tests/float_env_cases.py.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import compilers
import float_env_cases
import numpy as np
import pytest
from float_env import Control

from exactnoise import _native
from exactnoise._refine import words
from exactnoise.mechanisms import _ranges, discrete_gaussian, gaussian

pytestmark = pytest.mark.skipif(not compilers.COMPILERS, reason="compiles C by Unix rules")

CASES = float_env_cases.cases()


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Control:
    return Control(compilers.shared_library("float_env.c", tmp_path_factory.mktemp("float_env")))


@pytest.fixture
def fixed_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_native, "fill_entropy", float_env_cases.fixed_entropy)
    monkeypatch.setattr(words, "fill_entropy", float_env_cases.fixed_entropy)
    monkeypatch.setattr(_ranges, "SYSTEM_WORDS", 0)


def computed(case: Callable[[], object]) -> bytes:
    """A result that no earlier one is remembered for."""
    gaussian._calibrated.cache_clear()
    discrete_gaussian._calibrated.cache_clear()
    return float_env_cases.result(case)


def assert_same(name: str, got: bytes, want: bytes) -> None:
    if name in float_env_cases.QUOTIENTS:
        np.testing.assert_allclose(np.frombuffer(got), np.frombuffer(want), rtol=2.0**-45, atol=0)
    else:
        assert got == want, name


@pytest.mark.usefixtures("fixed_keys")
@pytest.mark.parametrize("names", ["down", "zero", "up flush", "traps narrow"])
def test_everything_is_the_same(control: Control, names: str) -> None:
    for name, case in CASES.items():
        want = computed(case)
        with control.set(names):
            got = computed(case)
        assert_same(name, got, want)


@pytest.mark.usefixtures("fixed_keys")
@pytest.mark.parametrize("names", ["up flush", "traps narrow"])
def test_threads_with_an_environment_of_their_own(control: Control, names: str) -> None:
    """Each thread of the pool sets it when it starts, and finds it again after every task."""

    def task(name: str) -> tuple[bytes, int]:
        return float_env_cases.result(CASES[name]), control.modes()

    want = {name: computed(case) for name, case in CASES.items()}
    with control.set(names) as hostile:
        pass
    with ThreadPoolExecutor(3, initializer=control.write, initargs=(hostile,)) as pool:
        for name, (got, modes) in zip(CASES, pool.map(task, CASES), strict=True):
            assert_same(name, got, want[name])
            assert modes == hostile, f"after {name} the mode was not put back"
    assert control.modes() == control.default


def printed(*arguments: str | Path) -> tuple[str, dict[str, str]]:
    """The environment that the process computes in, and the digest of each case."""
    lines = compilers.run(sys.executable, float_env_cases.__file__, *arguments).splitlines()
    return lines[0], dict(
        line.rsplit(" ", 1) for line in lines[1:] if line.rsplit(" ", 1)[0] not in float_env_cases.QUOTIENTS
    )


LIBRARIES = [
    ("-ffast-math", "before"),
    ("-DAT_LOAD=(UP | FLUSH)", "after"),
    ("-DAT_LOAD=(DOWN ^ TRAPS ^ NARROW)", "before"),
]


@pytest.fixture(scope="module")
def undisturbed() -> tuple[str, dict[str, str]]:
    return printed()


@pytest.mark.parametrize(("flag", "when"), LIBRARIES)
def test_libraries_that_spoil_it_when_they_are_loaded(
    undisturbed: tuple[str, dict[str, str]], tmp_path: Path, flag: str, when: str
) -> None:
    spoiler = compilers.shared_library("float_env.c", tmp_path, flag)
    environment, got = printed(spoiler, when)
    if flag != "-ffast-math":  # whose meaning for libraries differs between compilers
        assert environment != undisturbed[0], "the library does not do what the test needs"
    assert len(got) == len(CASES) - len(float_env_cases.QUOTIENTS)
    assert got == undisturbed[1]


def test_traps_and_the_narrow_unit_are_real(tmp_path: Path) -> None:
    if not sys.platform.startswith("linux") or np.finfo(np.longdouble).nmant != 63:
        pytest.skip("only x86 has them")
    trap = compilers.shared_library("float_env.c", tmp_path, "-DAT_LOAD=TRAPS")
    script = f"import ctypes, numpy as np; ctypes.CDLL({str(trap)!r}); np.array([1.0]) / np.array([0.0])"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -signal.SIGFPE
    narrow = compilers.shared_library("float_env.c", tmp_path, "-DAT_LOAD=NARROW")
    third = "import numpy as np; print(float.hex(float(np.longdouble(1) / np.longdouble(3))))"
    load = f"import ctypes; ctypes.CDLL({str(narrow)!r}); "
    assert compilers.run(sys.executable, "-c", load + third) != compilers.run(sys.executable, "-c", third)
