"""The catalogue of attacks names tests that exist, and a control for each."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = [
    line
    for line in (TESTS / "attacks/README.md").read_text(encoding="utf-8").splitlines()
    if re.match(r"\| [TVB]\d", line)
]
NAMES = {line.split("|")[1].strip(): line for line in ROWS}
TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")
#: A control that is part of the test itself, or a fault that cannot occur.
SAID = ("in the test: ", "in the tests: ", "cannot occur: ")


@cache
def functions(path: str) -> frozenset[str]:
    """The tests of a file that are run: those at its top, and once each."""
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert len(names) == len(set(names)), path
    return frozenset(name for name in names if name.startswith("test_"))


def missing(text: str) -> list[str]:
    return [f"{path}::{name}" for path, name in TEST.findall(text) if name not in functions(path)]


@pytest.mark.parametrize("name", NAMES)
def test_every_test_named_exists(name: str) -> None:
    _, _, attack, test, control, _ = NAMES[name].split("|")
    assert attack.strip()
    assert TEST.search(test)
    assert TEST.search(control) or control.strip().startswith(SAID)
    assert missing(NAMES[name]) == []
    assert len(TEST.findall(NAMES[name])) == NAMES[name].count("::")


def test_nothing_is_missing() -> None:
    """Every attack has a row of its own, and every test here is in one."""
    assert len(NAMES) == len(ROWS)
    assert {name for name in NAMES if name[0] != "B"} == {f"T{i}" for i in range(1, 14)} | {
        f"V{i}" for i in range(1, 7)
    }
    named = {(path, test) for line in ROWS for path, test in TEST.findall(line)}
    for path in (TESTS / "attacks").glob("test_known_faults_*.py"):
        file = f"attacks/{path.name}"
        assert {test for owner, test in named if owner == file} == functions(file)


@pytest.mark.parametrize("name", [name for name in NAMES if name[0] == "B"])
def test_a_fault_has_its_reference(name: str) -> None:
    files = [TESTS / path for path, _ in TEST.findall(NAMES[name])]
    assert any(re.search(r"# .*[\w-]+/[\w-]+#\d+", file.read_text(encoding="utf-8")) for file in files)


def test_control_a_test_that_is_not_there() -> None:
    assert missing("`attacks/test_catalogue.py::test_nothing_is_missing`") == []
    assert missing("`attacks/test_catalogue.py::missing` `test_docs.py::test_exampels`") == [
        "attacks/test_catalogue.py::missing",
        "test_docs.py::test_exampels",
    ]
