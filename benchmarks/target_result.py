"""One promise of speed, and what was measured."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
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


def measure_alone(part: Callable[[float], Iterator[Result]], seconds: float) -> int:
    """What a file of targets does as a script: print them, and return 1 if one is missed."""
    parser = argparse.ArgumentParser(description="Measure these targets alone.")
    parser.add_argument(
        "seconds", nargs="?", type=float, default=seconds, help=f"for each comparison; default {seconds:g}"
    )
    missed = 0
    for result in part(parser.parse_args().seconds):
        print(result, flush=True)
        missed += not result.met
    return 1 if missed else 0
