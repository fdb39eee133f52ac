"""The C core under the compilers' sanitizers: see c/driver.c and c/sanitize.py."""

from __future__ import annotations

import sys

import compilers
import pytest
from broken_core import sanitize

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sanitizers differ between systems")


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
