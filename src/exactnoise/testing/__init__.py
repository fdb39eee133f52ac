"""For tests only: releases from given random words, and replays of whole pipelines. Nothing here is private.

`words` replaces the operating system's randomness, so that a released value can be compared with the exact one.
`recording` and `replaying` run a pipeline of your own on neighbouring data, with the noise frozen, and check what the
mechanisms rely on. Nothing else in the package imports this one, and the mechanisms have no hooks for it.
"""

from exactnoise.testing.recording import Call
from exactnoise.testing.replaying import Replay, ReplayError, recorded, replay
from exactnoise.testing.words import (
    ambiguous_lanes,
    coins_from_words,
    fixed_extension,
    refined_rows,
    release_from_words,
    respond_from_words,
    select_from_words,
    snapped_from_words,
    window,
    word_count,
)

__all__ = [
    "Call",
    "Replay",
    "ReplayError",
    "ambiguous_lanes",
    "coins_from_words",
    "fixed_extension",
    "recorded",
    "refined_rows",
    "release_from_words",
    "replay",
    "respond_from_words",
    "select_from_words",
    "snapped_from_words",
    "window",
    "word_count",
]
