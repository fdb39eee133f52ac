"""The package from outside: its names, its types, what importing it costs, and that its examples are true."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.resources
import inspect
import json
import pkgutil
import re
import subprocess
import sys
import types
from importlib.metadata import version
from pathlib import Path

import pytest

import exactnoise

ROOT = Path(exactnoise.__file__).parent
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(exactnoise.__path__, "exactnoise.")
    if not name.endswith(("__main__", "_native.engine"))
]
PUBLIC = [
    "BudgetExceeded",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "EntropyError",
    "ExactNoiseError",
    "Exponential",
    "Gaussian",
    "Laplace",
    "LocalHashing",
    "MissingExtra",
    "OptimizedUnaryEncoding",
    "PermuteAndFlip",
    "PrivacyBudget",
    "PrivacyCost",
    "RandomizedResponse",
    "Snapping",
    "SymmetricUnaryEncoding",
    "UnsupportedInstructionSet",
    "__version__",
    "clip_l1",
    "clip_l2",
]


def run(program: str, *options: str) -> str:
    result = subprocess.run(
        [sys.executable, *options, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == "" or "-X" in options
    return result.stdout


# Names


def test_public_names():
    assert sorted(exactnoise.__all__) == sorted(PUBLIC)
    assert len(set(exactnoise.__all__)) == len(exactnoise.__all__)
    for name in exactnoise.__all__:
        assert getattr(exactnoise, name) is not None
    others = {name for name, value in vars(exactnoise).items() if not isinstance(value, types.ModuleType)}
    assert {name for name in others if not name.startswith("_")} <= {*PUBLIC, "Any", "TYPE_CHECKING"}
    assert not hasattr(exactnoise, "Cauchy")


def test_star_import():
    names: dict[str, object] = {}
    exec("from exactnoise import *", names)
    assert set(PUBLIC) <= set(names)


def test_version():
    assert exactnoise.__version__ == version("exactnoise")
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]\d+|rc\d+|\.dev\d+)?", exactnoise.__version__)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_exports(name):
    module = importlib.import_module(name)
    assert module.__doc__
    names = getattr(module, "__all__", None)
    if names is None:
        assert all(part.startswith("_") or part in ("cli", "errors") for part in name.split(".")[1:2]), "no __all__"
        return
    assert len(set(names)) == len(names)
    for exported in names:
        assert hasattr(module, exported), exported


@pytest.mark.parametrize("name", [name for name in PUBLIC if name != "__version__"])
def test_everything_public_is_documented(name):
    thing = getattr(exactnoise, name)
    assert inspect.getdoc(thing)
    for attribute, value in vars(thing).items():
        if attribute.startswith("_"):
            continue
        if isinstance(value, (property, classmethod, types.FunctionType)):
            assert inspect.getdoc(getattr(thing, attribute)), f"{name}.{attribute}"


def test_types_are_shipped():
    assert importlib.resources.files("exactnoise").joinpath("py.typed").is_file()
    assert importlib.resources.files("exactnoise._native").joinpath("engine.pyi").is_file()


def test_the_stub_names_what_the_engine_has():
    """Every name of engine.pyi is in the compiled module, and the other way round."""
    from exactnoise._native import engine

    tree = ast.parse((ROOT / "_native" / "engine.pyi").read_text())
    stub = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            stub.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            stub.add(node.target.id)
    assert {name for name in stub if not hasattr(engine, name)} <= {"Buffer", "Family", "Form"}
    for name in ("Plan", "simd_available", "fill_entropy", "BLOCK"):
        assert name in stub


# What an import loads

LIGHT = ["argparse", "csv", "concurrent.futures", "statistics", "tempfile", "email", "importlib.metadata", "sqlite3"]
FOREIGN = ["pandas", "pyarrow", "polars", "matplotlib", "scipy", "mpmath", "pytest", "hypothesis"]


def loaded_by(statement: str) -> set[str]:
    program = (
        f"import json, sys, numpy; old = set(sys.modules); {statement}; print(json.dumps([*sys.modules.keys() - old]))"
    )
    return set(json.loads(run(program)))


def test_import_loads_little():
    loaded = loaded_by("import exactnoise")
    assert "exactnoise._native.engine" in loaded
    assert not loaded & set(LIGHT + FOREIGN)
    assert not {name for name in loaded if name.startswith(("exactnoise.cli", "exactnoise.testing"))}


@pytest.mark.parametrize(
    "use",
    [
        "exactnoise.Laplace(sensitivity=1, epsilon=1).release(numpy.zeros(100), budget=None)",
        "exactnoise.Gaussian(sensitivity=1, epsilon=1, delta=1e-6).release([1, None], budget=None)",
        "exactnoise.DiscreteLaplace(sensitivity=1, epsilon=1).release(numpy.ma.zeros(3, dtype=int), budget=None)",
    ],
)
def test_a_release_loads_no_other_library(use):
    assert not loaded_by(f"import exactnoise; {use}") & {*FOREIGN, "argparse", "sqlite3"}


def test_accounting_needs_no_numpy():
    """Budgets can be kept where there is no compiler: the modules import the standard library and each other."""
    own = [f"{folder}/{path.name}" for folder in ("accounting", "ledger") for path in (ROOT / folder).glob("*.py")]
    for name in ("errors.py", *own):
        for imported in imports_of(ROOT / name):
            top = imported.split(".")[0]
            if top == "dp_accounting" and name == "accounting/pld.py":
                continue  # on request, within a function: test_pld.py
            below = ("exactnoise.accounting", "exactnoise.errors") + ("exactnoise.ledger",) * name.startswith("ledger")
            assert top in sys.stdlib_module_names or imported.startswith(below)


def test_import_is_quick(monkeypatch, tmp_path):
    """At most 60 ms of processor time more than NumPy's import, in the best of 7 runs.

    On a slow or busy machine, where NumPy itself takes over 180 ms, a third of that. Modules are compiled in
    the first run, as an installation does.
    """
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path))
    program = """
import time
start = time.process_time()
import numpy
between = time.process_time()
import exactnoise
print(between - start, time.process_time() - between)
"""
    runs = [tuple(map(float, run(program).split())) for _ in range(8)][1:]
    assert min(own / max(numpy / 3, 0.06) for numpy, own in runs) < 1


def test_import_does_not_warn():
    assert run("import exactnoise", "-W", "error") == ""
    assert run("import exactnoise.testing, exactnoise.cli", "-W", "error") == ""


# Direction of imports


def imports_of(path: Path) -> set[str]:
    """Modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


SOURCES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    """Each layer imports from those below it."""
    layers = ["cli", "mechanisms", "_refine", "_native"]
    relative = path.relative_to(ROOT)
    own = relative.parts[0].removesuffix(".py")
    imported = {name.split(".")[1] for name in imports_of(path) if name.startswith("exactnoise.")}
    if own in layers:
        assert not imported & set(layers[: layers.index(own)])
    if own != "testing":
        assert "testing" not in imported
    if own not in ("_refine", "cli"):
        assert "gmpy2" not in {name.split(".")[0] for name in imports_of(path)}


def test_the_linter_agrees():
    cli = pytest.importorskip("importlinter.cli", reason="it is run with the other linters")
    config = Path(__file__).parents[1] / "pyproject.toml"
    assert cli.lint_imports(config_filename=str(config), no_cache=True) == cli.EXIT_STATUS_SUCCESS


# Examples


@pytest.mark.parametrize("name", ["exactnoise", *MODULES])
def test_examples(name):
    if name == "exactnoise.accounting.pld":
        pytest.importorskip("dp_accounting", reason="the extra accounting")
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def is_shown(thing: object) -> bool:
    return bool(doctest.DocTestParser().get_examples(inspect.getdoc(thing) or ""))


@pytest.mark.parametrize("name", ["exactnoise", "exactnoise.accounting", "exactnoise.aggregates"])
def test_there_are_examples(name):
    """Of every function and mechanism; values are shown where they come from."""
    module = importlib.import_module(name)
    kinds = (exactnoise.mechanisms.Mechanism, exactnoise.PrivacyBudget, exactnoise.PrivacyCost)
    things = [getattr(module, public) for public in module.__all__]
    things = [t for t in things if inspect.isfunction(t) or (inspect.isclass(t) and issubclass(t, kinds))]
    assert things
    assert [t.__name__ for t in things if not is_shown(t)] == []
    assert not is_shown(test_there_are_examples)
