"""Every output is a finite multiple of the granularity, whatever the input and the scale."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from support import Mechanism, assert_on_grid, with_scale

from exactnoise import Gaussian, Laplace

SCALES = [2.0**-1000, 2.0**-500, 1e-30, 0.1, 1.0, 1000.3, 1e30, 2.0**500, 2.0**1000]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_outputs_are_on_the_grid(kind: type[Mechanism], scale: float) -> None:
    mechanism = with_scale(kind, scale)
    g = mechanism.granularity
    with np.errstate(over="ignore"):
        edges = np.array([0.0, 1.0, 0.1, 1e-300, 1e15 + 0.3, 2.0**53 * g, 1e300])
    edges = np.concatenate([edges, [g / 2, 3 * g / 2, np.nextafter(g / 2, 0), np.nextafter(g / 2, np.inf)]])
    more = [5e-324, sys.float_info.max, math.inf]
    x = np.concatenate([edges, more, -edges, np.negative(more), [math.nan]])
    y = mechanism.release(np.repeat(x, 100), budget=None)
    assert_on_grid(y, g)


@pytest.mark.parametrize("kind", [Laplace, Gaussian])
def test_zero_is_positive(kind: type[Mechanism]) -> None:
    """About half of the outputs are zeros, reached from either side."""
    mechanism = kind(sensitivity=1, scale=1.0, granularity=1.0)
    y = mechanism.release(np.full(10**4, -0.0), budget=None)
    assert np.sum(y == 0) > 1000
    assert not np.signbit(y[y == 0]).any()


def test_control_a_value_off_the_grid() -> None:
    for y in (0.1, 0.375, -0.0, math.inf, math.nan):
        with pytest.raises(AssertionError):
            assert_on_grid(np.array([0.25, y]), 0.25)
