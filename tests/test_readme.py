"""The Python example in the README runs and prints what its comments say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_python_example(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(example, str(README), "exec"), names)
    half_width, released, refusal = capsys.readouterr().out.splitlines()
    assert f"# {half_width}, known before" in example
    assert len(released.strip("[]").split()) == 5
    assert refusal.startswith("over budget: epsilon 0.6 requested")
    assert "0.4 remaining" in refusal
