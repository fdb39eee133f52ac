"""The examples in the docstrings say what happens."""

from __future__ import annotations

import doctest

import pytest

from exactnoise.accounting import amount, budget, convert, cost


@pytest.mark.parametrize("module", [amount, budget, convert, cost], ids=lambda module: module.__name__)
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
