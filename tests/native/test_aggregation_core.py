"""The core of the aggregates: what it leaves on the stack, and broken cores that the sanitizers' run must find.

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

# A change to the core, and the words by which gcc's sanitizers or the driver must find it.
FAULTS = {
    "a code that is no group": Fault(
        "aggregate_kernels.h",
        "en_pick((uint64_t)codes[i] < groups, ~UINT64_C(0), 0);",
        "en_pick((uint64_t)codes[i] <= groups, ~UINT64_C(0), 0);",
        "AddressSanitizer",
    ),
    "a value beyond its bound": Fault(
        "aggregate_kernels.h",
        "y = y < quantizer->float_high ? y : quantizer->float_high;",
        "y = y < 2 * quantizer->float_high ? y : quantizer->float_high;",
        "a sum beyond its bounds",
    ),
    "a carry forgotten": Fault(
        "sums.c", "sum[1] + high + (lower < low);", "sum[1] + high;", "a sum of few is not small"
    ),
    "an edge too many": Fault(
        "aggregate_kernels.h", "en_pick((uint64_t)bins[i] == count, 1, 0);", "0;", "a bin that does not exist"
    ),
    "a block too long": Fault(
        "counts.c",
        "const size_t n = en_less(codes->n - start, BLOCK);",
        "const size_t n = en_less(codes->n - start, BLOCK) + (start == 0);",
        "Sanitizer",
    ),
}


@pytest.mark.parametrize("fault", [name for name in FAULTS if "gcc" in compilers.COMPILERS])
def test_faults_compile(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_compiles(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name in FAULTS if "gcc" in compilers.COMPILERS])
def test_a_broken_core_is_found(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_found("aggregation_driver.c", tmp_path)


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_the_stack_is_wiped(compiler: str, tmp_path: Path) -> None:
    sources = [*compilers.core_objects(compiler), compilers.TEST_SOURCES / "aggregation_residue.c"]
    program = compilers.program(sources, tmp_path / "residue", "-pthread", compiler=compiler)
    found = {name: int(count) for name, count in map(str.split, compilers.run(program).splitlines())}
    assert found.pop("control-") > 1000
    functions = ("sums", "moments", "cells", "bins", "counts", "rows")
    assert found == {f"{function}-{simd}": 0 for function in functions for simd in simd_available()}
