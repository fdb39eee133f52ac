"""What the tests of fuzz/ share: a script of that folder as a module, and how hypothesis makes cases."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from hypothesis import HealthCheck, Phase

HERE = Path(__file__).resolve().parent / "fuzz"
# Cases are the same in every run, so that one that fails needs no making smaller to be seen again.
FIXED = {"derandomize": True, "database": None, "deadline": None, "phases": [Phase.generate]}
FIXED |= {"report_multiple_bugs": False, "suppress_health_check": list(HealthCheck)}


def script(name: str) -> ModuleType:
    """A script as a module; its folder is not on the path of the tests."""
    spec = importlib.util.spec_from_file_location(f"fuzz_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found
