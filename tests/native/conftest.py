"""The core, compiled once a compiler for all the tests of this folder that link it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import compilers
import pytest


@pytest.fixture(scope="session")
def core_objects(tmp_path_factory: pytest.TempPathFactory) -> compilers.CoreObjects:
    """By compiler, the core's objects, made with the wheel's flags and with warnings as errors."""

    @cache
    def compiled(compiler: str) -> list[Path]:
        directory = tmp_path_factory.mktemp(f"core-{compiler}")
        objects = []
        for source in compilers.SOURCES:
            objects.append(directory / f"{source.stem}.o")
            flags = [*compilers.build_flags(), *compilers.WARNINGS, "-fPIC"]
            compilers.run(compiler, *flags, "-c", source, "-o", objects[-1])
        return objects

    return compiled
