"""Errors that were drawn, and how well they tell the law's."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Simulated", "simulated_half_width", "simulated_mean_error", "simulated_std"]

Doubles = npt.NDArray[np.float64]


class Simulated(NamedTuple):
    """A number from a Monte Carlo run.

    Attributes
    ----------
    value : float
    std_error : float
        The standard deviation of `value`, estimated from the same run; 0 where all draws agreed.
    """

    value: float
    std_error: float


def simulated_std(errors: Doubles) -> Simulated:
    """The root mean square of errors, with its standard error to first order."""
    squares = errors**2
    rms = math.sqrt(squares.mean())
    return Simulated(rms, float(squares.std()) / (2 * rms * math.sqrt(errors.size)) if rms else 0.0)


def simulated_mean_error(errors: Doubles) -> Simulated:
    """The mean absolute error."""
    distances = np.abs(errors)
    return Simulated(float(distances.mean()), float(distances.std()) / math.sqrt(errors.size))


def simulated_half_width(errors: Doubles, alpha: float) -> Simulated:
    """The empirical quantile of absolute errors at 1 - alpha.

    Its standard error is half the distance of the order statistics one standard deviation of their rank away.
    """
    n = errors.size
    distances = np.sort(np.abs(errors))
    rank, spread = n * (1 - alpha), math.sqrt(n * alpha * (1 - alpha))
    at, below, above = (distances[min(max(math.ceil(r) - 1, 0), n - 1)] for r in (rank, rank - spread, rank + spread))
    return Simulated(float(at), float(above - below) / 2)
