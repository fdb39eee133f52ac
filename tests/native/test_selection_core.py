"""Broken selections in C are found by the compilers' sanitizers: see c/selection_driver.c and test_sanitizers.py."""

from __future__ import annotations

import sys
from pathlib import Path

import compilers
import pytest
from broken_core import Fault

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")

# A change to the core, and the words by which gcc's sanitizers or the driver must find it.
FAULTS = {
    "a look into the next row": Fault(
        "selection_kernels.h",
        "for (size_t i = 0; i < candidates; i++)\n            most",
        "for (size_t i = 0; i <= candidates; i++)\n            most",
        "one excluded",
    ),
    "an excluded candidate": Fault(
        "selection_kernels.h",
        "*upper = en_pick_double(excluded, en_from_bits(UINT64_C(0x7ff8000000000000)), y + half_width);",
        "*upper = y + half_width;",
        "an excluded contender",
    ),
    "bits used twice": Fault(
        "select.c",
        "const size_t counter = tile *",
        "const size_t counter = 0 * tile *",
        "the words are not the keystream",
    ),
    "a list of one record too many": Fault(
        "select.c", "if (list->count < list->capacity)", "if (list->count <= list->capacity)", "AddressSanitizer"
    ),
}


@pytest.mark.parametrize("fault", [name for name in FAULTS if "gcc" in compilers.COMPILERS])
def test_faults_compile(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_compiles(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [name for name in FAULTS if "gcc" in compilers.COMPILERS])
def test_a_broken_core_is_found(fault: str, tmp_path: Path) -> None:
    FAULTS[fault].check_found("selection_driver.c", tmp_path)
