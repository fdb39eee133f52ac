"""The core of the local randomisers: what it leaves on the stack, and broken cores that the sanitizers' run must find.

The run itself is in test_sanitizers.py.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import compilers
import pytest

from exactnoise._native import simd_available

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")

SANITIZE = compilers.TEST_SOURCES / "sanitize.py"

# A change to the core, and the words by which its finding is known; all are found by gcc.
MUTATIONS = {
    "a group too many": ("response.c", "groups = (count + 7) / 8;", "groups = (count + 15) / 8;", "AddressSanitizer"),
    "padding left": ("response_kernels.h", "row[plan->bytes - 1] &=", "row[0] &=", "padding is not 0"),
    "a division put right the wrong way": (
        "response_kernels.h",
        "uint64_t j = estimate + (rest >= plan->other);",
        "uint64_t j = estimate + (rest < plan->other);",
        "a response that is no category",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutation", [name for name in MUTATIONS if "gcc" in compilers.COMPILERS])
def test_a_broken_core_is_found(mutation: str, tmp_path: Path) -> None:
    file, old, new, finding = MUTATIONS[mutation]
    native = tmp_path / "native"
    shutil.copytree(compilers.NATIVE, native, ignore=shutil.ignore_patterns("proofs"))
    text = (native / file).read_text()
    assert old in text, f"{file} has changed: choose the mutation anew"
    (native / file).write_text(text.replace(old, new))
    command = [sys.executable, str(SANITIZE), "--native", str(native), "gcc"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert finding in done.stdout, done.stdout


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_the_stack_is_wiped(compiler: str, tmp_path: Path) -> None:
    sources = [*compilers.core_objects(compiler), compilers.TEST_SOURCES / "response_residue.c"]
    program = compilers.program(sources, tmp_path / "residue", "-pthread", compiler=compiler)
    found = {}
    for line in compilers.run(program).splitlines():
        name, key, words = line.split()
        found[name] = (int(key), int(words))
    control = found.pop("control-")
    assert control[0] == 8
    assert control[1] > 100
    assert found == {f"{kind}-{simd}": (0, 0) for kind in ("respond", "hashed", "unary") for simd in simd_available()}
