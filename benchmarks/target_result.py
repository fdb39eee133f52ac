"""One promise of speed, and what was measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    what: str
    measured: float
    bound: float
    at_least: bool
    unit: str
    detail: str

    @property
    def met(self) -> bool:
        return self.measured >= self.bound if self.at_least else self.measured <= self.bound

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        target = f"{sign} {self.bound:g} {self.unit}".rstrip()
        verdict = "met" if self.met else "MISSED"
        return f"{self.what:<66}{target:>8}{self.measured:>10.2f}  {verdict:<7} {self.detail}"
