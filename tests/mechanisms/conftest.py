"""The machine may be busy: a property does not fail because one example was slow."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("mechanisms", deadline=None)
settings.load_profile("mechanisms")
