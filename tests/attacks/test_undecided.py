"""What is undecided is decided by more of the same random bits, and never by drawing again.

A draw that is repeated when it lies next to a boundary is conditioned on not lying there, and where the boundaries are
depends on the data. The toy here has 12 random bits, so that this shows; the engine's own lanes at the boundaries are
those of tests/native/test_targeted.py.
"""

from __future__ import annotations

import numpy as np
from auditor import Claim, Event, refutations

SAMPLES = 200_000
STEP = 1 / 16
EVENTS: dict[str, Event] = {f"y > {t}": lambda y, t=t: y > t for t in (-5, -4.5, -4, 0, 1, 5, 5.5, 6)}


def toy(x: float, seed: int, *, redraw: bool) -> np.ndarray:
    """x and Laplace noise of scale 1, rounded; the first 12 bits of a uniform decide, if they can."""
    rng = np.random.Generator(np.random.PCG64(seed))
    y = np.full(SAMPLES, np.nan)
    while (lanes := np.flatnonzero(np.isnan(y))).size:
        bits, more = rng.integers(0, 2**12, lanes.size), rng.random(lanes.size)
        sign = rng.choice([-1.0, 1.0], lanes.size)
        first, last, exact = (
            np.rint((x - sign * np.log((bits + part) / 2**12)) / STEP) * STEP for part in (1e-300, 1.0, more)
        )
        decided = first == last if redraw else np.ones(lanes.size, bool)
        y[lanes[decided]] = exact[decided]
    return y


def test_more_bits_tell_nothing() -> None:
    assert refutations(toy(0.0, 1, redraw=False), toy(1.0, 2, redraw=False), Claim(1.0), EVENTS) == []


def test_control_drawing_again_tells() -> None:
    y, other = toy(0.0, 1, redraw=True), toy(1.0, 2, redraw=True)
    assert y.max() < 5.5 < other.max()
    assert any(
        found.endswith("against 0") or ": 0 against" in found for found in refutations(y, other, Claim(1.0), EVENTS)
    )
