"""Broken selections in C are found by the compilers' sanitizers: see c/selection_driver.c and test_sanitizers.py."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import compilers
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")

# A change to the core, and the words by which gcc's sanitizers or the driver must find it.
MUTATIONS = {
    "a look into the next row": (
        "selection_kernels.h",
        "for (size_t i = 0; i < candidates; i++)\n            most",
        "for (size_t i = 0; i <= candidates; i++)\n            most",
        "one excluded",
    ),
    "an excluded candidate": (
        "selection_kernels.h",
        "*upper = en_pick_double(excluded, en_from_bits(UINT64_C(0x7ff8000000000000)), y + half_width);",
        "*upper = y + half_width;",
        "an excluded contender",
    ),
    "bits used twice": (
        "select.c",
        "const size_t counter = tile *",
        "const size_t counter = 0 * tile *",
        "the words are not the keystream",
    ),
    "a list of one record too many": (
        "select.c",
        "if (list->count < list->capacity)",
        "if (list->count <= list->capacity)",
        "AddressSanitizer",
    ),
}


def sanitize(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    script = compilers.TEST_SOURCES / "sanitize.py"
    command = [sys.executable, str(script), "--driver", "selection_driver.c", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_broken_core_is_found(mutation: str, tmp_path: Path) -> None:
    file, old, new, finding = MUTATIONS[mutation]
    native = tmp_path / "native"
    shutil.copytree(compilers.NATIVE, native, ignore=shutil.ignore_patterns("proofs"))
    text = (native / file).read_text()
    assert old in text, f"{file} has changed: choose the mutation anew"
    (native / file).write_text(text.replace(old, new))
    done = sanitize("--native", native, "gcc")
    assert done.returncode == 1
    assert finding in done.stdout, done.stdout
