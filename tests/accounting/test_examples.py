"""The examples in the docstrings say what happens."""

from __future__ import annotations

import doctest

import pytest

from exactnoise.accounting import (
    amount,
    budget,
    capacity,
    compose,
    convert,
    cost,
    gaussian,
    laplace,
    pld,
    rdp,
    response,
    zcdp,
)

MODULES = [amount, budget, capacity, compose, convert, cost, gaussian, laplace, pld, rdp, response, zcdp]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
