"""Neither key nor random words nor exact values are left on the stack: see c/residue.c and its siblings."""

from __future__ import annotations

import sys
from pathlib import Path

import compilers
import pytest

from exactnoise._native import simd_available

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="gives a thread a stack of the test's own")


def residue(source: str, compiler: str, directory: Path) -> dict[str, list[int]]:
    """What a program found, by what it called."""
    sources = [*compilers.core_objects(compiler), compilers.TEST_SOURCES / source]
    program = compilers.program(sources, directory / "residue", "-pthread", compiler=compiler)
    lines = map(str.split, compilers.run(program).splitlines())
    return {name: [int(count) for count in counts] for name, *counts in lines}


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_a_release_leaves_nothing(compiler: str, tmp_path: Path) -> None:
    found = residue("residue.c", compiler, tmp_path)
    key, words, data = found.pop("control")
    assert key == 8
    assert words > 100
    assert data > 100
    assert len(found) == 6 * len(simd_available())
    assert found == {name: [0, 0, 0] for name in found}


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_a_local_report_leaves_nothing(compiler: str, tmp_path: Path) -> None:
    found = residue("response_residue.c", compiler, tmp_path)
    key, words = found.pop("control-")
    assert key == 8
    assert words > 100
    assert found == {f"{kind}-{simd}": [0, 0] for kind in ("respond", "hashed", "unary") for simd in simd_available()}


@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_an_aggregate_leaves_nothing(compiler: str, tmp_path: Path) -> None:
    found = residue("aggregation_residue.c", compiler, tmp_path)
    (values,) = found.pop("control-")
    assert values > 1000
    functions = ("sums", "moments", "cells", "bins", "counts", "rows")
    assert found == {f"{function}-{simd}": [0] for function in functions for simd in simd_available()}
