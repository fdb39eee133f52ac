"""Random words as cells of the unit interval, and the fresh words that make a cell smaller.

The words already drawn stay: redrawing a lane because it is near a boundary would condition the noise on the data
(Haney, Desfontaines, Hartman, Shrestha, Hay 2022, arXiv 2207.13793).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from exactnoise._native import fill_entropy
from exactnoise._refine.directed import Interval, exact

__all__ = ["Cell", "Extension", "fresh_extension"]

#: The j-th additional 64-bit word of a lane. One lane's words are asked for from the first on, some of them again, and
#: the two samples of a Gaussian pair share them.
Extension = Callable[[int, int], int]


@dataclass(slots=True)
class Cell:
    """The numbers in [index, index + 1] * 2^-bits: all that begin with the bits drawn so far."""

    index: int
    bits: int

    def append(self, word: int) -> None:
        self.index = self.index << 64 | word
        self.bits += 64

    @property
    def ends(self) -> Interval:
        return exact(self.index, -self.bits), exact(self.index + 1, -self.bits)


def fresh_extension() -> Extension:
    """Additional words from the operating system, kept so that both samples of a pair see the same."""
    drawn: dict[tuple[int, int], int] = {}

    def extension(lane: int, j: int) -> int:
        if (lane, j) not in drawn:
            word = bytearray(8)
            fill_entropy(word)
            drawn[lane, j] = int.from_bytes(word, "little")
        return drawn[lane, j]

    return extension
