"""Faults put into copies of the core, which the compilers' sanitizers or the C drivers' own checks must find."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import compilers


def sanitize(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run sanitize.py."""
    command = [sys.executable, compilers.TEST_SOURCES / "sanitize.py", *arguments]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


@dataclass(frozen=True)
class Fault:
    """A change to one file of the core, who must notice, and the words by which its finding is known."""

    file: str
    old: str
    new: str
    finding: str
    driver: str = "driver.c"
    compiler: str = "gcc"
    checks: str = "bounds"

    def put_into_copy(self, directory: Path) -> Path:
        """Return a copy of the core that has the fault."""
        native = directory / "native"
        shutil.copytree(compilers.NATIVE, native, ignore=shutil.ignore_patterns("proofs"))
        text = (native / self.file).read_text()
        assert self.old in text, f"{self.file} has changed: choose the fault anew"
        (native / self.file).write_text(text.replace(self.old, self.new))
        return native

    def check_compiles(self, directory: Path) -> None:
        """A fault that the compiler refuses controls nothing."""
        native = self.put_into_copy(directory)
        source = native / self.file if self.file.endswith(".c") else native / "kernels_portable.c"
        compilers.run(self.compiler, *compilers.build_flags(), *compilers.WARNINGS, "-fsyntax-only", source)

    def check_found(self, directory: Path) -> None:
        """Most of the time goes into compiling, and a fault is found early: so at level 0."""
        options = ["--native", self.put_into_copy(directory), "--driver", self.driver]
        done = sanitize(*options, "--checks", self.checks, "--level", "0", self.compiler)
        assert done.returncode == 1
        assert self.finding in done.stdout, done.stdout
