"""Rows whose intervals left several contenders: which of them has the highest noisy score, exactly.

A contender's word fixes the first bits of its uniform variable. The noisy scores are enclosed with directed rounding,
and who cannot be the highest drops out. While several are left, 64 fresh bits are appended to the words of those alone,
and the precision rises by 64 bits.
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from exactnoise._native import CONTENDER
from exactnoise._refine.directed import FIRST_PRECISION, Directed, Interval, directed, rounded
from exactnoise._refine.words import Cell, Extension

__all__ = ["ScoreForm", "SelectionFamily", "selected"]

SelectionFamily = Literal["exponential", "permute-and-flip"]
ScoreForm = Literal["float64", "int64"]


@dataclass(frozen=True, slots=True)
class _Contender:
    candidate: int
    score: Fraction
    cell: Cell


def selected(
    family: SelectionFamily,
    form: ScoreForm,
    scale: float,
    contenders: np.ndarray[Any, Any],
    first_lane: int,
    extension: Extension,
) -> int:
    """Return the candidate of the highest noisy score.

    Parameters
    ----------
    family : {"exponential", "permute-and-flip"}
        Gumbel or exponential noise: native/selection_kernels.h.
    form : {"float64", "int64"}
        How the scores are stored.
    scale : float
        Of the noise, in the scores' units.
    contenders : ndarray of CONTENDER
        Of one row, at least one.
    first_lane : int
        The lane of the row's first candidate.
    extension : callable
        (lane, j) -> additional 64-bit word j = 0, 1, .. of the lane.
    """
    assert contenders.dtype == CONTENDER
    left = [
        _Contender(candidate, _score(score, form), Cell(word >> 13, 51))
        for _, candidate, word, score, _ in contenders.tolist()
    ]
    highest = max(contender.score for contender in left)
    exact_scale = Fraction(scale)
    for j in itertools.count():
        at = directed(FIRST_PRECISION + 64 * j)
        intervals = []
        for contender in left:
            low, high = _noise(family, contender.cell, at)
            t = (contender.score - highest) / exact_scale
            intervals.append((at.down.add(rounded(t, at.down), low), at.up.add(rounded(t, at.up), high)))
        top = max(low for low, _ in intervals)
        left = [contender for contender, (_, high) in zip(left, intervals, strict=True) if high >= top]
        if len(left) == 1:
            return left[0].candidate
        for contender in left:
            contender.cell.append(extension(first_lane + contender.candidate, j))
    raise AssertionError("unreachable: the precisions do not end")


def _noise(family: SelectionFamily, cell: Cell, at: Directed) -> Interval:
    exponential = at.negative_log(*cell.ends)
    return exponential if family == "permute-and-flip" else at.negative_log(*exponential)


def _score(bits: int, form: ScoreForm) -> Fraction:
    (score,) = struct.unpack("<d" if form == "float64" else "<q", bits.to_bytes(8, "little"))
    return Fraction(score)
