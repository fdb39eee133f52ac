"""The C core under the compilers' sanitizers: see c/driver.c and c/sanitize.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import compilers
import pytest
from broken_core import SANITIZE, Fault

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")


# A change to the core, the compiler that must notice, and the words by which its finding is known.
FAULTS = {
    "scratch that calls share": Fault(
        "release.c",
        "    scratch_block scratch;\n",
        "    static scratch_block scratch;\n",
        "ThreadSanitizer: data race",
        checks="threads",
    ),
    "one lane too many": Fault(
        "kernels_body.h",
        "        for (size_t i = 0; i < n; i++) {",
        "        for (size_t i = 0; i <= n; i++) {",
        "AddressSanitizer",
    ),
    "one pair too many": Fault(
        "kernels_body.h",
        "const size_t half = (n + 1) / 2;",
        "const size_t half = n / 2 + 1;",
        "AddressSanitizer",
        compiler="clang",
    ),
    "a shift by the whole width": Fault(
        "plan.c",
        "(uint64_t)(1023 + exponent) << 52",
        "(uint64_t)(1023 + exponent) << (exponent + 64)",
        "runtime error: shift exponent",
    ),
    "a look at what was never written": Fault(
        "kernels_body.h",
        "all |= en_bits(slack[i]);",
        "all |= en_bits(slack[EN_BLOCK - 1]);",
        "MemorySanitizer",
        compiler="clang",
        checks="memory",
    ),
    "an exact cell left": Fault(
        "release.c", "memset((char *)out + 8 * i, 0, 8);", "(void)out;", "a declined lane is not 0"
    ),
    "bits used twice": Fault(
        "release.c", "start / EN_BLOCK *", "0 * (start / EN_BLOCK) *", "the words are not the keystream"
    ),
}


def sanitize(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SANITIZE), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_compiler_is_here() -> None:
    assert compilers.COMPILERS


# Accesses by gcc, what was never written and races by clang; in the slow suite the other one looks, too.
RUNS = [pytest.param("gcc", "bounds"), pytest.param("clang", "memory"), pytest.param("clang", "threads")]
RUNS += [
    pytest.param("clang", "bounds", marks=pytest.mark.slow),
    pytest.param("gcc", "threads", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("compiler", "checks"), [run for run in RUNS if run.values[0] in compilers.COMPILERS])
def test_sanitizers_find_nothing(compiler: str, checks: str) -> None:
    done = sanitize("--checks", checks, compiler)
    assert done.returncode == 0, done.stdout + done.stderr


ON_FAULTS = pytest.mark.parametrize(
    "fault", [name for name, fault in FAULTS.items() if fault.compiler in compilers.COMPILERS]
)


@ON_FAULTS
def test_faults_compile(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_compiles(tmp_path)


def driver_of(fault: Fault) -> str:
    return "threads_driver.c" if fault.checks == "threads" else "driver.c"


@pytest.mark.parametrize("fault", [name for name in ["one lane too many"] if "gcc" in compilers.COMPILERS])
def test_one_broken_core_is_found(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_found(driver_of(FAULTS[fault]), tmp_path)


@pytest.mark.slow
@ON_FAULTS
def test_a_broken_core_is_found(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_found(driver_of(FAULTS[fault]), tmp_path)
