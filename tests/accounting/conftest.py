"""The machine may be busy: a property does not fail because one example was slow. Costly ones have few examples."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("exactnoise", deadline=None)
settings.load_profile("exactnoise")


@pytest.fixture(scope="session", params=[0, *(pytest.param(i, marks=pytest.mark.slow) for i in range(1, 20))])
def repetition() -> None:
    """Of a property whose examples are costly: few by default, twenty times as many in the slow suite."""
