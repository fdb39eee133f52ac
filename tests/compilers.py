"""Compiling C for the tests, with the flags that the wheel is built with."""

from __future__ import annotations

import ast
import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NATIVE = ROOT / "native"
SOURCES = sorted(NATIVE.glob("*.c"))
HEADERS = sorted(NATIVE.glob("*.h"))
TEST_SOURCES = Path(__file__).resolve().parent / "native" / "c"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name) and sys.platform != "win32"]
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Werror"]


def build_flags() -> list[str]:
    """The flags in setup.py for compilers other than Microsoft's."""
    for node in ast.parse((ROOT / "setup.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CFLAGS":
            assert isinstance(node.value, ast.IfExp)
            flags: list[str] = ast.literal_eval(node.value.orelse)
            return flags
    raise AssertionError("setup.py sets no CFLAGS")


def run(*command: str | Path, **kwargs: object) -> str:
    """Run a command and return its output; its errors are the failure's message."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **kwargs)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def shared_library(source: str, directory: Path, *flags: str) -> Path:
    """Compile one file of tests/native/c for ctypes or LD_PRELOAD."""
    library = directory / Path(source).with_suffix(".so").name
    run(COMPILERS[0], "-std=c11", "-O1", "-shared", "-fPIC", *flags, TEST_SOURCES / source, "-o", library, "-lm")
    return library


def program(sources: Sequence[Path], output: Path, *flags: str, compiler: str = "cc") -> Path:
    """Compile C files that include the core's headers to a program."""
    run(compiler, *build_flags(), *flags, f"-I{NATIVE}", *sources, "-o", output)
    return output


@functools.cache
def core_objects(compiler: str) -> tuple[Path, ...]:
    """The core's objects, compiled once a test run, with warnings as errors."""
    directory = Path(tempfile.mkdtemp(prefix="core-"))
    atexit.register(shutil.rmtree, directory)
    run(compiler, *build_flags(), *WARNINGS, "-fPIC", "-c", *SOURCES, cwd=directory)
    return tuple(directory / f"{source.stem}.o" for source in SOURCES)
