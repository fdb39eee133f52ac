"""The same local reports, naively: a few readable lines for each protocol, and for what its server counts.

Yardsticks for speed and nothing else, as `naive`: their probabilities are rounded to doubles and their numbers come
from a generator that is not made for secrets.

Reports are made from an array x of codes 0 .. k - 1; RESPOND and COUNT list the functions by mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

rng = np.random.default_rng()


def randomized_response(x: Array, epsilon: float, k: int) -> Array:
    """The truth, or one of the others: one uniform number each for the coin and for the choice."""
    keep = rng.random(x.size) < math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    other = rng.integers(0, k - 1, x.size)
    return np.where(keep, x, other + (other >= x))


def count_responses(reports: Array, k: int) -> Array:
    return np.bincount(reports, minlength=k)


def unary_encoding(x: Array, epsilon: float, k: int) -> Array:
    """The optimised one, from a uniform number a bit."""
    bits = rng.random((x.size, k)) < 1 / (math.exp(epsilon) + 1)
    bits[np.arange(x.size), x] = rng.random(x.size) < 0.5
    return np.packbits(bits, axis=1, bitorder="little")


def symmetric_unary_encoding(x: Array, epsilon: float, k: int) -> Array:
    q = 1 / (math.exp(epsilon / 2) + 1)
    bits = rng.random((x.size, k)) < q
    bits[np.arange(x.size), x] = rng.random(x.size) < 1 - q
    return np.packbits(bits, axis=1, bitorder="little")


def count_bits(reports: Array, k: int) -> Array:
    return np.unpackbits(reports, axis=1, count=k, bitorder="little").sum(axis=0, dtype=np.int64)


def local_hashing(x: Array, epsilon: float, k: int) -> Array:
    """A random multiply-shift hash function a person, and randomised response of the bucket."""
    a, b = (rng.integers(0, 2**32, x.size, dtype=np.uint32) for _ in range(2))
    g = _buckets(epsilon)
    bucket = ((a * x.astype(np.uint32) + b) >> 16) * np.uint32(g) >> 16
    reports = np.empty(x.size, [("a", "u4"), ("b", "u4"), ("bucket", "u2")])
    reports["a"], reports["b"], reports["bucket"] = a, b, randomized_response(bucket, epsilon, g)
    return reports


def count_supports(reports: Array, k: int, epsilon: float) -> Array:
    """All hash functions at one category after the other."""
    a, b, bucket = (np.ascontiguousarray(reports[name]) for name in ("a", "b", "bucket"))
    g = np.uint32(_buckets(epsilon))
    return np.array([np.sum(((a * np.uint32(v) + b) >> 16) * g >> 16 == bucket) for v in range(k)])


def _buckets(epsilon: float) -> int:
    return max(2, round(math.exp(epsilon) + 1))


#: Mechanism -> function of codes, epsilon and the number of categories.
RESPOND: dict[str, Callable[[Array, float, int], Array]] = {
    "RandomizedResponse": randomized_response,
    "SymmetricUnaryEncoding": symmetric_unary_encoding,
    "OptimizedUnaryEncoding": unary_encoding,
    "LocalHashing": local_hashing,
}

#: Mechanism -> function of reports, the number of categories and epsilon.
COUNT: dict[str, Callable[[Array, int, float], Array]] = {
    "RandomizedResponse": lambda reports, k, epsilon: count_responses(reports, k),
    "SymmetricUnaryEncoding": lambda reports, k, epsilon: count_bits(reports, k),
    "OptimizedUnaryEncoding": lambda reports, k, epsilon: count_bits(reports, k),
    "LocalHashing": count_supports,
}
