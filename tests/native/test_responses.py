"""The core of the local randomisers: what it leaves on the stack, and broken cores that the sanitizers' run must find.

The run itself is in test_sanitizers.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import compilers
import pytest
from broken_core import Fault

from exactnoise._native import simd_available

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")

# A change to the core, and the words by which its finding is known; all are found by gcc.
FAULTS = {
    "a group too many": Fault(
        "response.c", "groups = (count + 7) / 8;", "groups = (count + 15) / 8;", "AddressSanitizer"
    ),
    "padding left": Fault("response_kernels.h", "row[plan->bytes - 1] &=", "row[0] &=", "padding is not 0"),
    "a division put right the wrong way": Fault(
        "response_kernels.h",
        "uint64_t j = estimate + (rest >= plan->other);",
        "uint64_t j = estimate + (rest < plan->other);",
        "a response that is no category",
    ),
}


@pytest.mark.parametrize("fault", [name for name in FAULTS if "gcc" in compilers.COMPILERS])
def test_faults_compile(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_compiles(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name in FAULTS if "gcc" in compilers.COMPILERS])
def test_a_broken_core_is_found(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_found("response_driver.c", tmp_path)


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
