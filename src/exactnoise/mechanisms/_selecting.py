"""One release of selections: random keys, kernels, and the exact decision where they leave several contenders.

Rows are selected in spans, each under a ChaCha20 key of its own; all keys are drawn before anything is selected. A span
is whole rows or, of rows too long for that, a part of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import CONTENDER, EXCLUDED, MISSING, Selection
from exactnoise._refine import Extension
from exactnoise._refine.selection import ScoreForm, selected
from exactnoise.mechanisms._data import Lanes
from exactnoise.mechanisms._options import Randomness
from exactnoise.mechanisms._ranges import SYSTEM_WORDS
from exactnoise.mechanisms._threads import for_each, surely

__all__ = ["Drawn", "Given", "Scores", "select_rows"]

_TILES = 400  # tiles or blocks under one key, and between two looks at pending signals
_RECORDS = 64

Words = dict[str, Any]  # key= or words= of the kernels


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of `rows` times `candidates`, and the public mask of who is excluded."""

    lanes: Lanes
    mask: npt.NDArray[np.bool_] | None
    rows: int
    candidates: int

    @property
    def form(self) -> ScoreForm:
        return "int64" if self.lanes.is_integer else "float64"

    @property
    def in_parts(self) -> bool:
        """Whether a row is longer than a span."""
        return self.candidates > _TILES * _native.BLOCK

    @property
    def span(self) -> int:
        """Candidates of a span; those of a row, if it is in parts, are cut into spans of their own."""
        k, block = self.candidates, _native.BLOCK
        if self.in_parts:
            return min(max(_TILES * block, k // 4096), _native.TILES_PER_KEY * block)
        return k * (_TILES * (block // k) if k <= block else max(1, _TILES // -(-k // block)))

    @property
    def spans(self) -> int:
        if self.in_parts:
            return self.rows * -(-self.candidates // self.span)
        return -(-self.rows * self.candidates // self.span)

    def flags(self, start: int, stop: int) -> npt.NDArray[np.uint8] | None:
        """A byte for each of the candidates start..stop, None where all would be 0."""
        missing = self.lanes.missing_piece(start, stop)
        if self.mask is None and missing is None:
            return None
        flags = np.zeros(stop - start, np.uint8)
        if missing is not None:
            flags[missing] = MISSING
        if self.mask is not None:
            flags[np.broadcast_to(self.mask, (self.rows, self.candidates)).flat[start:stop]] |= EXCLUDED
        return flags


class Drawn:
    """Words from the operating system: as keys, all of them drawn here, or one by one for each span."""

    def __init__(self, scores: Scores, randomness: Randomness) -> None:
        self.keys = bytearray()
        if randomness == "chacha20" and scores.rows * scores.candidates > SYSTEM_WORDS:
            self.keys = bytearray(_native.KEY_BYTES * scores.spans)
            _native.fill_entropy(self.keys)

    @contextmanager
    def __call__(self, i: int, start: int, stop: int) -> Iterator[Words]:
        if self.keys:
            source: Any = self.keys[_native.KEY_BYTES * i : _native.KEY_BYTES * (i + 1)]
        else:
            source = np.empty(stop - start, np.uint64)
        try:
            if not self.keys:
                _native.fill_entropy(source)
            yield {"key" if self.keys else "words": source}
        finally:
            _wipe(source)

    def wipe(self) -> None:
        if self.keys:
            _wipe(self.keys)


class Given:
    """Given words, for tests."""

    def __init__(self, words: npt.NDArray[np.uint64]) -> None:
        self.words = np.ascontiguousarray(words, np.uint64)

    @contextmanager
    def __call__(self, i: int, start: int, stop: int) -> Iterator[Words]:
        yield {"words": self.words[start:stop]}


def select_rows(
    plan: Selection,
    scores: Scores,
    out: npt.NDArray[np.int64],
    words: Callable[[int, int, int], AbstractContextManager[Words]],
    extension: Callable[[], Extension],
    *,
    workers: int = 1,
    refined: list[int] | None = None,
) -> None:
    """Write the selected candidate of every row to the contiguous array `out`; `refined` collects rows not decided.

    `words(i, start, stop)` lends the words of span i, which holds the candidates start..stop; `extension()` makes what
    a span's contenders get more words from.
    """
    k, size = scores.candidates, scores.span

    def select_span(i: int) -> None:
        start, stop = i * size, min((i + 1) * size, scores.rows * k)
        rows = out[start // k : stop // k]
        with _staged(scores, start, stop) as (values, flags), words(i, start, stop) as given:
            contenders = _listed(lambda room: (plan.select(values, flags, k, rows, room, **given), None))[0]
        if contenders.size:
            try:
                _decide(plan, contenders, start, k, rows, extension(), refined)
            finally:
                _wipe(contenders)

    if not scores.in_parts:
        for_each(select_span, scores.spans, workers)
        return
    for row in range(scores.rows):
        _select_long_row(plan, scores, row, out[row : row + 1], words, extension(), workers, refined)


def _select_long_row(
    plan: Selection,
    scores: Scores,
    row: int,
    out: npt.NDArray[np.int64],
    words: Callable[[int, int, int], AbstractContextManager[Words]],
    extension: Extension,
    workers: int,
    refined: list[int] | None,
) -> None:
    """A row in parts: the range of its scores first, then the contenders of each part, then those of all."""
    begin, end = row * scores.candidates, (row + 1) * scores.candidates
    parts = [(start, min(start + scores.span, end)) for start in range(begin, end, scores.span)]
    maxima = np.full((len(parts), 2), -(2**63), np.int64)
    found: list[Any] = [None] * len(parts)

    def widen(i: int) -> None:
        with _staged(scores, *parts[i]) as (values, flags):
            plan.widen_range(values, flags, maxima[i])

    def search(i: int) -> None:
        start, stop = parts[i]
        with _staged(scores, start, stop) as (values, flags), words(row * len(parts) + i, start, stop) as given:
            contenders, top = _listed(lambda room: plan.select_part(values, flags, whole, room, **given))
        contenders["candidate"] += start - begin
        found[i] = contenders, top

    try:
        for_each(widen, len(parts), workers)
        whole = maxima.max(axis=0)
        for_each(search, len(parts), workers)
        top = max(top for _, top in found)
        contenders = np.concatenate([part[part["upper"] >= top] for part, _ in found])
        contenders["row"] = 0
        found.append((contenders, top))
        if contenders.size == 1:
            out[0] = contenders["candidate"][0]
        else:
            _decide(plan, contenders, begin, scores.candidates, out, extension, refined)
    finally:
        _wipe(maxima)
        for part in found:
            if part:
                _wipe(part[0])


def _listed(listing: Callable[[npt.NDArray[Any]], tuple[int, Any]]) -> tuple[npt.NDArray[Any], Any]:
    """The records that a kernel lists, with room for all of them: the same words, and so the same list, twice if need
    be."""
    room = np.empty(_RECORDS, CONTENDER)
    try:
        while True:
            count, top = listing(room)
            if count <= room.size:
                return room[:count].copy(), top
            _wipe(room)
            room = np.empty(count, CONTENDER)
    finally:
        _wipe(room)


def _decide(
    plan: Selection,
    contenders: npt.NDArray[Any],
    first_lane: int,
    candidates: int,
    out: npt.NDArray[np.int64],
    extension: Extension,
    refined: list[int] | None,
) -> None:
    """Select exactly in the rows that have contenders listed."""
    for row in sorted(set(contenders["row"].tolist())):
        lane = first_lane + row * candidates
        own = contenders[contenders["row"] == row]
        out[row] = selected(plan.family, plan.form, plan.scale, own, lane, extension)
        if refined is not None:
            refined.append(lane // candidates)


@contextmanager
def _staged(scores: Scores, start: int, stop: int) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.uint8] | None]]:
    """The candidates start..stop as the kernels read them; what is a copy of ours is wiped."""
    values = scores.lanes.ranked(start, stop)
    flags = scores.flags(start, stop)
    try:
        yield values, flags
    finally:
        if not np.may_share_memory(values, scores.lanes.values):
            _wipe(values)
        if flags is not None:
            _wipe(flags)


def _wipe(memory: npt.NDArray[Any] | bytearray) -> None:
    if isinstance(memory, bytearray):
        surely(lambda: memory.__setitem__(slice(None), bytes(len(memory))))
    else:
        surely(lambda: memory.view(np.uint8).fill(0))
