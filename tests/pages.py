"""The blocks of a document: commands with what they print, and the files that it shows."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, on one line, with what is printed below it."""
    for block in blocks(text, "console"):
        for command in block.replace("\\\n", " ").split("$ ")[1:]:
            first, _, printed = command.partition("\n")
            yield first, printed


def blocks(text: str, language: str, begin: str = "") -> list[str]:
    """The blocks of a language that begin with a text."""
    return re.findall(rf"^```{language}\n({re.escape(begin)}.*?)^```", text, re.DOTALL | re.MULTILINE)


def matches(expected: str, printed: str) -> bool:
    """As in a doctest: `...` stands for anything."""
    return doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
