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
#: Where each fault was reported, or one of the places. A comment at its test says so.
REFERENCES = {
    "B1": "opendp/opendp#414",
    "B2": "IBM/differential-privacy-library#19",
    "B3": "meta-pytorch/opacus#616",
    "B4": "opendp/smartnoise-core#242",
    "B5": "opendp/opendp#2638",
    "B7": "opendp/opendp#182",
    "B9": "world-federation-of-advertisers/cardinality_estimation_evaluation_framework#97",
    "B10": "opendp/opendp#1309",
    "B11": "opendp/opendp#2934",
    "B12": "IBM/differential-privacy-library#40",
    "B13": "IBM/differential-privacy-library#31",
    "B15": "opendp/opendp#178",
    "B17": "opendp/opendp#2941",
    "B18": "opendp/opendp#2923",
    "B19": "google/differential-privacy#126",
    "B21": "opendp/smartnoise-core#356",
    "B22": "opendp/smartnoise-core#360",
    "B23": "IBM/differential-privacy-library#104",
    "B24": "opendp/smartnoise-sdk#622",
    "B25": "IBM/differential-privacy-library#44",
    "B26": "OpenMined/PyDP#268",
    "B28": "IBM/differential-privacy-library#87",
    "B29": "opendp/smartnoise-sdk#572",
    "B32": "opendp/opendp#429",
    "B33": "opendp/opendp#621",
    "B34": "opendp/opendp#2802",
    "B35": "opendp/smartnoise-sdk#462",
    "B36": "google/differential-privacy#464",
    "B37": "opendp/opendp#2911",
    "B39": "opendp/opendp#2131",
    "B40": "maziyarpanahi/openmed#2457",
    "B41": "NVIDIA-NeMo/Safe-Synthesizer#367",
    "B42": "opendp/smartnoise-sdk#621",
    "B44": "google/differential-privacy#87",
    "B46": "meta-pytorch/opacus#161",
    "B48": "symengine/symengine#1453",
    "B49": "numpy/numpy#9650",
}


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
    attacks = {f"T{i}" for i in range(1, 14)} | {f"V{i}" for i in range(1, 7)}
    assert NAMES.keys() == attacks | REFERENCES.keys()
    named = {(path, test) for line in ROWS for path, test in TEST.findall(line)}
    for path in (TESTS / "attacks").glob("test_known_faults_*.py"):
        file = f"attacks/{path.name}"
        assert {test for owner, test in named if owner == file} == functions(file)


def reported(name: str, reference: str) -> bool:
    """Whether a comment in a file of the row names it."""
    files = {TESTS / path for path, _ in TEST.findall(NAMES[name])}
    comment = re.compile(rf"#.* {re.escape(reference)}\b")
    return any(comment.search(file.read_text(encoding="utf-8")) for file in files)


@pytest.mark.parametrize("name", REFERENCES)
def test_a_fault_has_its_reference(name: str) -> None:
    assert reported(name, REFERENCES[name])


def test_control_a_reference_of_another_row() -> None:
    assert not reported("B1", REFERENCES["B44"])
    assert not reported("B1", "opendp/opendp#41")


def test_control_a_test_that_is_not_there() -> None:
    assert missing("`attacks/test_catalogue.py::test_nothing_is_missing`") == []
    assert missing("`attacks/test_catalogue.py::missing` `test_docs.py::test_exampels`") == [
        "attacks/test_catalogue.py::missing",
        "test_docs.py::test_exampels",
    ]
