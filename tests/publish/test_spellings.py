"""What docs/jobs.md says to be understood is, and what it says to be missing is."""

from __future__ import annotations

import re

import numpy as np
import pytest
from pages import page

from exactnoise.publish.files.cells import cells_of
from exactnoise.publish.files.table import Kind

KINDS: dict[str, Kind] = {
    "number": "number",
    "whole number, as a key": "integers",
    "boolean": "booleans",
    "date": "dates",
    "time": "times",
}


def missing(kind: Kind, cell: str) -> bool:
    (value,) = cells_of(kind)([cell])
    return value is None or bool(isinstance(value, float) and np.isnan(value))


@pytest.mark.parametrize("name", KINDS)
def test_spellings(name: str) -> None:
    (row,) = re.findall(rf"^\| {name} \| (.*) \| (.*) \|$", page("jobs.md"), re.MULTILINE)
    understood, not_understood = (re.findall("`(.*?)`", cells) for cells in row)
    understood = [cell for cell in understood if cell != "float"]
    assert min(len(understood), len(not_understood)) >= 2
    for cell in understood:
        assert not missing(KINDS[name], cell), cell
        assert not missing(KINDS[name], f" {cell} "), cell
    for cell in ["", *not_understood]:
        assert missing(KINDS[name], cell), cell


def test_keys_of_text_are_the_cells() -> None:
    cells = ["harbour", " Harbour", "Harbour", ""]
    assert cells_of("texts")(cells) == cells
    assert cells_of("person")(cells) == [*cells[:3], None]
