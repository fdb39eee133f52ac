"""Scripts as modules: the examples, and others whose folders are not on the path of the tests."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType


def load(path: Path) -> ModuleType:
    """The script at the path, run anew, as a module of the file's name."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
