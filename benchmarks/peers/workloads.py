"""What every library is asked to do: noise of scale 1 on values of which one person changes one by 1."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Workload(NamedTuple):
    """A kind of noise, and whether it is for integers."""

    name: str
    on_integers: bool
    is_laplace: bool

    def data(self, n: int) -> npt.NDArray[Any]:
        """Values as a table of counts or of sums has them."""
        values = np.arange(n) % 1000
        return values if self.on_integers else values + 0.5


WORKLOADS = (
    Workload("Laplace", on_integers=False, is_laplace=True),
    Workload("Gaussian", on_integers=False, is_laplace=False),
    Workload("discrete Laplace", on_integers=True, is_laplace=True),
    Workload("discrete Gaussian", on_integers=True, is_laplace=False),
)
SIZES = (10, 1_000, 100_000, 1_000_000)

#: Of the libraries that take a privacy loss only, not a standard deviation: its value does not change their speed.
DELTA = 1e-6
