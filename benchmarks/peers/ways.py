"""How users of each library add noise: its bulk call where it has one, else its scalar call in a list comprehension.

One function a way; it imports its library, builds the mechanism and returns what is timed: None if there is no such
noise. n is the length of arrays, None for single numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from workloads import DELTA, Workload

Release = Callable[[Any], object]


class Way(NamedTuple):
    """A row of the tables: a library, and after a comma how it is used; `prepare(workload, n)` returns a release."""

    label: str
    prepare: Callable[[Workload, int | None], Release | None]
    takes_arrays: bool = True


def exactnoise(workload: Workload, n: int | None, *, in_place: bool = False) -> Release | None:
    import exactnoise as en

    kinds = {
        "Laplace": en.Laplace,
        "Gaussian": en.Gaussian,
        "discrete Laplace": en.DiscreteLaplace,
        "discrete Gaussian": en.DiscreteGaussian,
    }
    mechanism = kinds[workload.name](sensitivity=1, scale=1)
    if not in_place:
        return lambda x: mechanism.release(x, budget=None)
    return None if n is None else lambda x: mechanism.release(x, budget=None, out=x)


def distributions(bits: Any, workload: Workload, n: int | None) -> Release:
    """NumPy's, over a bit generator."""
    rng = np.random.Generator(bits)
    if workload.name == "Laplace":
        return lambda x: x + rng.laplace(size=n)
    if workload.name == "Gaussian":
        return lambda x: x + rng.standard_normal(n)
    if workload.name == "discrete Laplace":
        p = -math.expm1(-1)
        return lambda x: x + rng.geometric(p, n) - rng.geometric(p, n)
    if n is None:
        return lambda x: x + round(rng.standard_normal())
    return lambda x: x + np.rint(rng.standard_normal(n)).astype(np.int64)


def numpy_generator(workload: Workload, n: int | None) -> Release:
    return distributions(np.random.PCG64(), workload, n)


def numpy_inverse(workload: Workload, n: int | None) -> Release | None:
    """The quickest of the short ways in NumPy."""
    if workload.name != "Laplace" or n is None:
        return None
    rng = np.random.default_rng()

    def release(x: Any) -> object:
        u = rng.random(n) - 0.5
        return x - np.sign(u) * np.log1p(-2 * np.abs(u))

    return release


def randomgen(workload: Workload, n: int | None, *, bits: str) -> Release:
    import randomgen as generators

    return distributions(getattr(generators, bits)(), workload, n)


def opendp(workload: Workload, n: int | None, *, grid: int | None = None) -> Release | None:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    if workload.on_integers:
        if grid is not None:
            return None
        atom, number = dp.atom_domain(T="i64"), "i64"
    else:
        atom, number = dp.atom_domain(T=float, nan=False), float
    if n is None:
        space = atom, dp.absolute_distance(T=number)
    else:
        distance = dp.l1_distance if workload.is_laplace else dp.l2_distance
        space = dp.vector_domain(atom, size=n), distance(T=number)
    make = dp.m.make_laplace if workload.is_laplace else dp.m.make_gaussian
    return make(*space, scale=1.0, k=grid)


def pydp(workload: Workload, n: int | None) -> Release:
    from pydp.algorithms import numerical_mechanisms as mechanisms

    if workload.is_laplace:
        return mechanisms.LaplaceMechanism(1.0, 1.0).add_noise  # rounded for an int
    return mechanisms.GaussianMechanism.create_from_standard_deviation(1.0).add_noise


def diffprivlib(workload: Workload, n: int | None) -> Release:
    from diffprivlib import mechanisms

    if workload.name == "Laplace":
        return mechanisms.Laplace(epsilon=1, sensitivity=1).randomise
    if workload.name == "discrete Laplace":
        return mechanisms.Geometric(epsilon=1, sensitivity=1).randomise
    kind = mechanisms.GaussianDiscrete if workload.on_integers else mechanisms.GaussianAnalytic
    return kind(epsilon=1, delta=DELTA, sensitivity=1).randomise


#: By environment: the name of a file in environments/.
WAYS = {
    "exactnoise": [Way("exactnoise", exactnoise), Way("exactnoise, out=x", partial(exactnoise, in_place=True))],
    "numpy": [Way("NumPy, Generator", numpy_generator), Way("NumPy, inverse transform", numpy_inverse)],
    "randomgen": [Way(f"randomgen, {bits}", partial(randomgen, bits=bits)) for bits in ("AESCounter", "ChaCha")],
    "opendp": [Way("OpenDP", opendp), Way("OpenDP, k=-20", partial(opendp, grid=-20))],
    "pydp": [Way("PyDP", pydp, takes_arrays=False)],
    "diffprivlib": [Way("diffprivlib", diffprivlib, takes_arrays=False)],
}
