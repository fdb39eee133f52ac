"""The same noise, naively: a few readable lines for each way that suggests itself.

These are yardsticks for speed and nothing else. They add a floating-point number to x, so the sum
is rounded where the data is, and all but the system's bytes come from a generator that is not made
for secrets: none of them is differentially private as written.

Every function takes an array x and the noise's scale and returns a new array. NAIVE lists them by
mechanism.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Uniforms: TypeAlias = Callable[[int], npt.NDArray[np.float64]]

rng = np.random.default_rng()


def system_uniforms(n: int) -> npt.NDArray[np.float64]:
    """Return n uniform numbers in [0, 1) from the operating system's bytes."""
    words = np.frombuffer(os.urandom(8 * n), np.uint64)
    return (words >> np.uint64(11)) * 2.0**-53


def laplace_generator(x: Array, scale: float) -> Array:
    """NumPy's own Laplace variable, added."""
    return x + rng.laplace(scale=scale, size=x.size)


def laplace_inverse(x: Array, scale: float, uniforms: Uniforms = rng.random) -> Array:
    """Inverse transform: the Laplace quantile function at uniform numbers, a whole array at a time."""
    u = uniforms(x.size) - 0.5
    return x - scale * np.sign(u) * np.log1p(-2 * np.abs(u))


def laplace_in_place(x: Array, scale: float) -> Array:
    """The same in one array and without its sign function: the fastest way in NumPy that is still a few lines."""
    noise = rng.random(x.size)
    noise -= 0.5
    magnitude = np.abs(noise)
    magnitude *= -2
    np.log1p(magnitude, out=magnitude)
    magnitude *= -scale
    np.copysign(magnitude, noise, out=noise)
    noise += x
    return noise


def laplace_system(x: Array, scale: float) -> Array:
    """Inverse transform of the operating system's bytes."""
    return laplace_inverse(x, scale, system_uniforms)


def laplace_python(x: Array, scale: float) -> Array:
    """Pure Python: the difference of two exponential variables, one value after the other."""
    rate = 1 / scale
    noisy = [value + random.expovariate(rate) - random.expovariate(rate) for value in x.tolist()]
    return np.array(noisy)


def gaussian_generator(x: Array, scale: float) -> Array:
    """NumPy's own normal variable, scaled where that is needed, and added."""
    noise = rng.standard_normal(x.size)
    if scale != 1:
        noise *= scale
    return x + noise


def gaussian_box_muller(x: Array, scale: float, uniforms: Uniforms = rng.random) -> Array:
    """Box-Muller: two normal variables from two uniform numbers, half an array at a time."""
    half = (x.size + 1) // 2
    radius = scale * np.sqrt(-2 * np.log1p(-uniforms(half)))
    angle = 2 * np.pi * uniforms(half)
    return x + np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[: x.size]


def gaussian_system(x: Array, scale: float) -> Array:
    """Box-Muller on the operating system's bytes."""
    return gaussian_box_muller(x, scale, system_uniforms)


def gaussian_python(x: Array, scale: float) -> Array:
    """Pure Python: random.gauss, one value after the other."""
    return np.array([value + random.gauss(0, scale) for value in x.tolist()])


def discrete_laplace_generator(x: Array, scale: float) -> Array:
    """The difference of two of NumPy's geometric variables, added to integers."""
    p = -math.expm1(-1 / scale)
    return x + rng.geometric(p, x.size) - rng.geometric(p, x.size)


def discrete_laplace_inverse(x: Array, scale: float, uniforms: Uniforms = rng.random) -> Array:
    """Inverse transform: the difference of two rounded-down exponential variables."""
    first, second = (np.floor(-scale * np.log1p(-uniforms(x.size))) for _ in range(2))
    return x + (first - second).astype(np.int64)


def discrete_laplace_system(x: Array, scale: float) -> Array:
    """Inverse transform of the operating system's bytes."""
    return discrete_laplace_inverse(x, scale, system_uniforms)


def discrete_laplace_python(x: Array, scale: float) -> Array:
    """Pure Python: the same difference, one value after the other."""
    rate = 1 / scale
    noisy = [
        value + math.floor(random.expovariate(rate)) - math.floor(random.expovariate(rate)) for value in x.tolist()
    ]
    return np.array(noisy)


def discrete_gaussian_rint(x: Array, scale: float) -> Array:
    """NumPy's normal variable, rounded and added to integers: near the discrete Gaussian at large scales only."""
    return x + np.rint(rng.standard_normal(x.size) * scale).astype(np.int64)


#: Mechanism -> name of the way -> function.
NAIVE: dict[str, dict[str, Callable[[Array, float], Array]]] = {
    "Laplace": {
        "Generator.laplace + add": laplace_generator,
        "inverse transform": laplace_inverse,
        "inverse transform in place": laplace_in_place,
        "inverse transform, os.urandom": laplace_system,
        "pure Python": laplace_python,
    },
    "Gaussian": {
        "standard_normal + add": gaussian_generator,
        "Box-Muller": gaussian_box_muller,
        "Box-Muller, os.urandom": gaussian_system,
        "pure Python": gaussian_python,
    },
    "DiscreteLaplace": {
        "two geometrics": discrete_laplace_generator,
        "inverse transform": discrete_laplace_inverse,
        "inverse transform, os.urandom": discrete_laplace_system,
        "pure Python": discrete_laplace_python,
    },
    "DiscreteGaussian": {
        "rint of standard_normal": discrete_gaussian_rint,
    },
}
