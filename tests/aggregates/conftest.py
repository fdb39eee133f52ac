"""The machine may be busy: a property does not fail because one example was slow."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("aggregates", deadline=None)
settings.load_profile("aggregates")
