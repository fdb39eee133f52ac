"""What a proof says of one claim of a header."""

from __future__ import annotations

from dataclasses import dataclass

import gmpy2
from forward_error import UP
from gmpy2 import mpfr

DOUBLE_ROUNDING = -53


@dataclass(frozen=True)
class Result:
    claim: str
    claimed: mpfr
    proved: mpfr
    where: str
    unit: int = DOUBLE_ROUNDING  # the power of two to print numbers in

    @property
    def holds(self) -> bool:
        return bool(self.proved <= self.claimed)

    def __str__(self) -> str:
        verdict = "proved" if self.holds else "NOT PROVED"
        unit = gmpy2.exp2(self.unit)
        claimed, proved = (float(UP.div(value, unit)) for value in (self.claimed, self.proved))
        return f"{self.claim:26} claimed {claimed:.5f}, proved {proved:.5f} * 2^{self.unit} at {self.where}: {verdict}"
