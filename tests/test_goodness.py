"""The statistical helpers against known values, without the engine."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from goodness import (
    Geometric,
    Law,
    RoundedGaussian,
    RoundedLaplace,
    cell_edges,
    chi_square_tail,
    count_tail,
)


def test_chi_square_tail() -> None:
    assert chi_square_tail(3.841458820694124, 1) == pytest.approx(0.05)
    assert chi_square_tail(9.487729036781154, 4) == pytest.approx(0.05)
    assert chi_square_tail(7.0, 2) == pytest.approx(math.exp(-3.5))
    assert chi_square_tail(1e6, 143) == 0.0


def test_count_tail_bounds_the_binomial() -> None:
    """Chernoff: never below the exact tail, and tight enough to see a tail that is missing."""
    for seen in range(21):
        counts = range(seen + 1) if seen <= 6 else range(seen, 21)
        exact = sum(math.comb(20, k) * 0.3**k * 0.7 ** (20 - k) for k in counts)
        assert count_tail(seen, 20, 0.3) >= exact
    assert count_tail(0, 10**6, 1e-4) == pytest.approx(2 * math.exp(-100), rel=0.01)


@pytest.mark.parametrize("steps", [0.3, 1.0, 8.0, 1e6])
@pytest.mark.parametrize("law", [RoundedLaplace, RoundedGaussian, Geometric])
def test_masses(law: Callable[[float, float], Law], steps: float) -> None:
    masses = law(steps, 3.0).masses(cell_edges(law(steps, 3.0)))
    assert np.all(masses > 0)
    assert masses.sum() == pytest.approx(1, abs=1e-12)


def test_known_masses() -> None:
    """At scale 1 the rounded Laplace has 0.393 at 0, the geometric (e - 1)/(e + 1) = 0.462."""
    assert RoundedLaplace(1.0).masses([-1, 0])[1] == pytest.approx(1 - math.exp(-0.5))
    assert Geometric(1.0).masses([-1, 0])[1] == pytest.approx((math.e - 1) / (math.e + 1))
    assert RoundedGaussian(1.0).masses([-1, 0])[1] == pytest.approx(math.erf(0.5 / math.sqrt(2)))


def test_variances() -> None:
    assert RoundedLaplace(1.0).mean_and_variance[1] == pytest.approx(2.0760, abs=1e-3)
    assert Geometric(1.0).mean_and_variance[1] == pytest.approx(1.8414, abs=1e-3)
    summed = RoundedGaussian(8.0).mean_and_variance[1]
    assert summed == pytest.approx(64 + 1 / 12, rel=1e-12)
