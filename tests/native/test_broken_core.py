"""Faults in copies of the core are found by the compilers' sanitizers or by the C drivers: see c/sanitize.py."""

from __future__ import annotations

import sys
from pathlib import Path

import compilers
import pytest
from broken_core import Fault

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")

FAULTS = {
    # x + noise
    "scratch that calls share": Fault(
        "release.c",
        "    scratch_block scratch;\n",
        "    static scratch_block scratch;\n",
        "ThreadSanitizer: data race",
        driver="threads_driver.c",
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
    # selections
    "a look into the next row": Fault(
        "selection_kernels.h",
        "for (size_t i = 0; i < candidates; i++)\n            most",
        "for (size_t i = 0; i <= candidates; i++)\n            most",
        "one excluded",
        driver="selection_driver.c",
    ),
    "an excluded candidate": Fault(
        "selection_kernels.h",
        "*upper = en_pick_double(excluded, en_from_bits(UINT64_C(0x7ff8000000000000)), y + half_width);",
        "*upper = y + half_width;",
        "an excluded contender",
        driver="selection_driver.c",
    ),
    "bits of a selection used twice": Fault(
        "select.c",
        "const size_t counter = tile *",
        "const size_t counter = 0 * tile *",
        "the words are not the keystream",
        driver="selection_driver.c",
    ),
    "a list of one record too many": Fault(
        "select.c",
        "if (list->count < list->capacity)",
        "if (list->count <= list->capacity)",
        "AddressSanitizer",
        driver="selection_driver.c",
    ),
    # local reports
    "a group too many": Fault(
        "response.c",
        "groups = (count + 7) / 8;",
        "groups = (count + 15) / 8;",
        "AddressSanitizer",
        driver="response_driver.c",
    ),
    "padding left": Fault(
        "response_kernels.h", "row[plan->bytes - 1] &=", "row[0] &=", "padding is not 0", driver="response_driver.c"
    ),
    "a division put right the wrong way": Fault(
        "response_kernels.h",
        "uint64_t j = estimate + (rest >= plan->other);",
        "uint64_t j = estimate + (rest < plan->other);",
        "a response that is no category",
        driver="response_driver.c",
    ),
    # aggregates
    "a code that is no group": Fault(
        "aggregate_kernels.h",
        "en_pick((uint64_t)codes[i] < groups, ~UINT64_C(0), 0);",
        "en_pick((uint64_t)codes[i] <= groups, ~UINT64_C(0), 0);",
        "AddressSanitizer",
        driver="aggregation_driver.c",
    ),
    "a value beyond its bound": Fault(
        "aggregate_kernels.h",
        "y = y < quantizer->float_high ? y : quantizer->float_high;",
        "y = y < 2 * quantizer->float_high ? y : quantizer->float_high;",
        "a sum beyond its bounds",
        driver="aggregation_driver.c",
    ),
    "a carry forgotten": Fault(
        "sums.c",
        "sum[1] + high + (lower < low);",
        "sum[1] + high;",
        "a sum of few is not small",
        driver="aggregation_driver.c",
    ),
    "an edge too many": Fault(
        "aggregate_kernels.h",
        "en_pick((uint64_t)bins[i] == count, 1, 0);",
        "0;",
        "a bin that does not exist",
        driver="aggregation_driver.c",
    ),
    "a block too long": Fault(
        "counts.c",
        "const size_t n = en_less(codes->n - start, BLOCK);",
        "const size_t n = en_less(codes->n - start, BLOCK) + (start == 0);",
        "Sanitizer",
        driver="aggregation_driver.c",
    ),
}
HERE = [name for name, fault in FAULTS.items() if fault.compiler in compilers.COMPILERS]
# Most of the time goes into compiling: one of them in the default suite.
FOUND = [pytest.param(name, marks=[] if name == "one lane too many" else pytest.mark.slow) for name in HERE]


@pytest.mark.parametrize("name", HERE)
def test_faults_compile(name: str, tmp_path: Path) -> None:
    FAULTS[name].check_compiles(tmp_path)


@pytest.mark.parametrize("name", FOUND)
def test_faults_are_found(name: str, tmp_path: Path) -> None:
    FAULTS[name].check_found(tmp_path)
