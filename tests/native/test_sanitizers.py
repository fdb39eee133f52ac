"""The C core under the compilers' sanitizers: see c/driver.c and c/sanitize.py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import compilers
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")

SANITIZE = compilers.TEST_SOURCES / "sanitize.py"

# A change to the core, the compiler that must notice, and the words by which its finding is known.
MUTATIONS = {
    "scratch that calls share": (
        "release.c",
        "    scratch_block scratch;\n",
        "    static scratch_block scratch;\n",
        "gcc",
        "ThreadSanitizer: data race",
    ),
    "one lane too many": (
        "kernels_body.h",
        "        for (size_t i = 0; i < n; i++) {",
        "        for (size_t i = 0; i <= n; i++) {",
        "gcc",
        "AddressSanitizer",
    ),
    "one pair too many": (
        "kernels_body.h",
        "const size_t half = (n + 1) / 2;",
        "const size_t half = n / 2 + 1;",
        "clang",
        "AddressSanitizer",
    ),
    "a shift by the whole width": (
        "plan.c",
        "(uint64_t)(1023 + exponent) << 52",
        "(uint64_t)(1023 + exponent) << (exponent + 64)",
        "gcc",
        "runtime error: shift exponent",
    ),
    "a look at what was never written": (
        "kernels_body.h",
        "all |= en_bits(slack[i]);",
        "all |= en_bits(slack[EN_BLOCK - 1]);",
        "clang",
        "MemorySanitizer",
    ),
    "an exact cell left": (
        "release.c",
        "memset((char *)out + 8 * i, 0, 8);",
        "(void)out;",
        "gcc",
        "a declined lane is not 0",
    ),
    "bits used twice": (
        "release.c",
        "start / EN_BLOCK *",
        "0 * (start / EN_BLOCK) *",
        "gcc",
        "the words are not the keystream",
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


@pytest.mark.parametrize(
    "mutation",
    [
        pytest.param(name, marks=[] if name == "one lane too many" else pytest.mark.slow)
        for name, (*_, compiler, _) in MUTATIONS.items()
        if compiler in compilers.COMPILERS
    ],
)
def test_a_broken_core_is_found(mutation: str, tmp_path: Path) -> None:
    file, old, new, compiler, finding = MUTATIONS[mutation]
    native = tmp_path / "native"
    shutil.copytree(compilers.NATIVE, native, ignore=shutil.ignore_patterns("proofs"))
    text = (native / file).read_text()
    assert old in text, f"{file} has changed: choose the mutation anew"
    (native / file).write_text(text.replace(old, new))
    kind = {"ThreadSanitizer": "threads", "MemorySanitizer": "memory"}.get(finding.split(":")[0], "bounds")
    driver = "threads_driver.c" if kind == "threads" else "driver.c"
    # Most of the time goes into compiling: a fault is found early.
    done = sanitize("--native", native, "--driver", driver, "--checks", kind, "--level", "0", compiler)
    assert done.returncode == 1
    assert finding in done.stdout, done.stdout
