"""A release leaves neither key nor random words nor exact values on its stack: see c/residue.c."""

from __future__ import annotations

import sys
from pathlib import Path

import compilers
import pytest

from exactnoise._native import simd_available

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="gives a thread a stack of the test's own")


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_the_stack_is_wiped(compiler: str, tmp_path: Path) -> None:
    sources = [*compilers.core_objects(compiler), compilers.TEST_SOURCES / "residue.c"]
    program = compilers.program(sources, tmp_path / "residue", "-pthread", compiler=compiler)
    found = {}
    for line in compilers.run(program).splitlines():
        name, *counts = line.split()
        found[name] = dict(zip(("key", "words", "data"), map(int, counts), strict=True))
    control = found.pop("control")
    assert control["key"] == 8
    assert control["words"] > 100
    assert control["data"] > 100
    assert len(found) == 6 * len(simd_available())
    assert found == {name: {"key": 0, "words": 0, "data": 0} for name in found}
