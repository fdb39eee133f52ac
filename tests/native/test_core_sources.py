"""What the C core must not contain: warnings, Python, libm, memory allocation."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import compilers
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads objects of the ELF format")

# Copying, randomness and its error, and what compilers add: stack protection, fortified copies, the processor's model.
ALLOWED = {
    "memcpy",
    "memset",
    "memmove",
    "__memcpy_chk",
    "__memset_chk",
    "getrandom",
    "getentropy",
    "__errno_location",
    "__error",
    "__stack_chk_fail",
    "__cpu_model",
    "__cpu_indicator_init",
    "_GLOBAL_OFFSET_TABLE_",
}
ALLOWED_HEADERS = {
    "bcrypt.h",
    "errno.h",
    "fenv.h",
    "float.h",
    "immintrin.h",
    "emmintrin.h",
    "xmmintrin.h",
    "stddef.h",
    "stdint.h",
    "string.h",
    "sys/random.h",
    "sys/types.h",
    "unistd.h",
    "windows.h",
}


@pytest.fixture(scope="module", params=compilers.COMPILERS)
def core(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The core's objects linked into one."""
    core = tmp_path_factory.mktemp(request.param) / "core.o"
    compilers.run("ld", "-r", *compilers.core_objects(request.param), "-o", core)
    return core


def undefined(symbols: str) -> set[str]:
    return set(re.findall(r"^\s*U (\S+)$", symbols, re.MULTILINE))


def test_the_core_compiles_without_warnings_and_needs_no_library(core: Path) -> None:
    needed = undefined(compilers.run("nm", "-u", core))
    assert "getrandom" in needed or "getentropy" in needed
    assert needed <= ALLOWED, f"not allowed: {needed - ALLOWED}"


def test_the_core_has_no_global_state(core: Path) -> None:
    # d, b: data that can be written. Tables of constants with addresses are .data.rel.ro in position-independent code.
    for line in compilers.run("objdump", "-h", core).splitlines():
        fields = line.split()
        if len(fields) > 2 and re.fullmatch(r"\.(data|bss|tdata|tbss)", fields[1]):
            assert int(fields[2], 16) == 0, line


def test_names_of_the_core_have_its_prefix(core: Path) -> None:
    names = re.findall(r"^\S+ [A-Z] (\S+)$", compilers.run("nm", "-g", core), re.MULTILINE)
    assert "en_release" in names
    assert [name for name in names if not name.startswith("en_")] == []


@pytest.mark.parametrize("source", ["sqrt", "malloc"])
@pytest.mark.parametrize("compiler", compilers.COMPILERS)
def test_a_call_of_a_library_would_be_seen(compiler: str, source: str, tmp_path: Path) -> None:
    calls = {"sqrt": "double sqrt(double);", "malloc": "#include <stdlib.h>"}
    uses = {"sqrt": "double f(double x) { return sqrt(x + 1) + __builtin_log(x); }"}
    uses["malloc"] = "void *f(unsigned n) { return malloc(n); }"
    (tmp_path / "a.c").write_text(f"{calls[source]}\n{uses[source]}\n")
    flags = compilers.build_flags()
    compilers.run(compiler, *flags, "-c", tmp_path / "a.c", "-o", tmp_path / "a.o")
    assert not undefined(compilers.run("nm", "-u", tmp_path / "a.o")) <= ALLOWED


@pytest.mark.parametrize("path", [*compilers.SOURCES, *compilers.HEADERS], ids=lambda path: path.name)
def test_a_file_includes_the_core_and_plain_headers_only(path: Path) -> None:
    included = re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', path.read_text(), re.MULTILINE)
    for bracket, name in included:
        if bracket == '"':
            assert (compilers.NATIVE / name).exists(), name
        else:
            assert name in ALLOWED_HEADERS, name
