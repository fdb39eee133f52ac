"""The snapping mechanism, naively: NumPy's own noise, rounded and clamped; as private as generator and doubles are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

rng = np.random.default_rng()


def snapping_generator(x: Array, scale: float, low: float, high: float) -> Array:
    """Clamp, add NumPy's own Laplace variable, round to the power of two above the scale, clamp."""
    step = 2.0 ** np.ceil(np.log2(scale))
    noisy = np.clip(x, low, high) + rng.laplace(scale=scale, size=x.size)
    return np.clip(step * np.rint(noisy / step), low, high)


def snapping_in_place(x: Array, scale: float, low: float, high: float) -> Array:
    """The same by inverse transform, in one array and a scratch one."""
    step = 2.0 ** np.ceil(np.log2(scale))
    noise = rng.random(x.size)
    noise -= 0.5
    magnitude = np.abs(noise)
    magnitude *= -2
    np.log1p(magnitude, out=magnitude)
    magnitude *= -scale / step
    np.copysign(magnitude, noise, out=noise)
    np.clip(x, low, high, out=magnitude)
    magnitude /= step
    noise += magnitude
    np.rint(noise, out=noise)
    noise *= step
    return np.clip(noise, low, high, out=noise)


#: Name of the way -> function.
NAIVE_SNAPPING = {"Generator.laplace": snapping_generator, "inverse transform in place": snapping_in_place}
