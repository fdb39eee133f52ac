"""The examples in the documents say what happens, and the reference names everything that is public."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = {page.relative_to(DOCS).with_suffix("").as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
MODULES = ["accounting", "aggregates", "errors", "ledger", "mechanisms", "mechanisms.response"]
MODULES += ["publish", "testing", "utility"]


def broken(text: str, name: str) -> list[str]:
    """What is wrong with the Python in a page: examples that do not say what happens, blocks that are no Python."""
    said: list[str] = []
    examples = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, name, 0)
    doctest.DocTestRunner(verbose=False).run(examples, out=said.append)
    for block in re.findall(r"^```(?:python|pycon)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if not doctest.DocTestParser().get_examples(block):
            try:
                compile(block, name, "exec")
            except SyntaxError as error:
                said.append(f"{error}\n{block}")
    return said


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_examples(page: Path) -> None:
    assert broken(page.read_text(encoding="utf-8"), page.name) == []


@pytest.mark.parametrize(
    "page",
    [
        "```python\n>>> 1 + 1\n3\n\n```\n",
        "```pycon\n>>> 1 / 0\n\n```\n",
        "```python\nx = = 1\n```\n",
        "```python\n> >> 1\n```\n",
    ],
)
def test_what_is_wrong_is_found(page: str) -> None:
    assert broken(page, "made up")
    assert not broken("```python\n>>> 1 + 1\n2\n\n```\n\n```python\nx = unknown(1)\n```\n", "made up")


def test_there_are_examples() -> None:
    """Also in the pages whose figures are the product's own."""
    for page in ("quick-start", "choosing-epsilon", "limits", "statistics", "jobs", "ledgers"):
        assert doctest.DocTestParser().get_examples(PAGES[page].read_text(encoding="utf-8")), page


def test_the_reference_is_complete() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for name, page in PAGES.items() if name.startswith("api/"))
    documented = set(re.findall(r"^\.\. auto(?:class|function|exception|data):: (\w+)$", reference, re.MULTILINE))
    documented |= set(importlib.import_module("exactnoise.errors").__all__)  # a page by itself
    for module in ("exactnoise", *(f"exactnoise.{name}" for name in MODULES)):
        missing = set(importlib.import_module(module).__all__) - documented - {"__version__"}
        assert not missing, module


def not_linked(index: str) -> set[str]:
    """The pages to which the index has no link that GitHub shows, too; chapters name their own."""
    return {name for name in PAGES if f"({name}.md)" not in index and not name.startswith(("api/", "mechanisms/"))}


def test_the_index_links_every_page() -> None:
    index = PAGES["index"].read_text(encoding="utf-8")
    assert not_linked(index) == {"index"}
    assert {"(mechanisms/index.md)", "(api/index.md)"} <= set(re.findall(r"\([\w/.-]+\.md\)", index))
    assert not_linked(index.replace("(limits.md)", "")) == {"index", "limits"}
