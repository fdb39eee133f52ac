"""Selecting by the exponential mechanism, naively: exponentiate, normalise, choose.

A yardstick for speed and nothing else. Rounded exponents, a rounded running sum and a generator that is not made for
secrets: it is not differentially private as written.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

rng = np.random.default_rng()


def exponential_choice(scores: npt.NDArray[Any], epsilon: float, sensitivity: float) -> npt.NDArray[np.int64]:
    """Choose one candidate of every row of scores, a whole array at a time."""
    exponents = scores * (epsilon / (2 * sensitivity))
    weights = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
    probabilities = weights / weights.sum(axis=-1, keepdims=True)
    chosen = rng.random((len(scores), 1)) < probabilities.cumsum(axis=-1)
    return np.asarray(chosen.argmax(axis=-1))
