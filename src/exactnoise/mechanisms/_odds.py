"""The exact distribution of a selection, for planning."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import numpy.typing as npt

__all__ = ["exponential_odds", "exponential_outside", "permute_and_flip_odds", "permute_and_flip_outside"]

Doubles = npt.NDArray[np.float64]


def exponential_odds(t: Doubles) -> Doubles:
    """P(i) of one row, proportional to e^t_i; the largest t is 0, that of an excluded candidate -inf."""
    weights = np.exp(t)
    return np.asarray(weights / weights.sum())


def permute_and_flip_odds(t: Doubles) -> Doubles:
    """P(i) of one row: the integral over z from 0 to 1 of p_i prod_{j != i} (1 - p_j z), p = e^t.

    With exponential noise, P(t_j + E_j <= y) = 1 - p_j e^-y for y >= 0, and the highest is above 0; z = e^-y.
    """
    p = np.exp(t)
    odds = np.zeros_like(p)
    for z, weight in _nodes(max(1.0, float(p.sum()))):
        logs = np.log1p(-p * z)
        odds += weight * p * np.exp(logs.sum() - logs)
    return odds


def exponential_outside(steps: float, candidates: int) -> float:
    """The largest probability of a score more than steps * scale below the best: all others just there."""
    others = (candidates - 1) * float(np.exp(-steps))
    return others / (1 + others)


def permute_and_flip_outside(steps: float, candidates: int) -> float:
    """The same for permute-and-flip: the integral over z from 0 to 1 of 1 - (1 - q z)^(k - 1), q = e^-steps.

    Let B(z) be the product of 1 - p_j z over those that far below, p_j <= q. By `permute_and_flip_odds` they have
    together at most the integral of -B'(z) (1 - z), as the best contributes 1 - z and any other at most 1: integrated
    by parts, that of 1 - B(z). It is largest for k - 1 candidates of p_j = q.
    """
    q, others = float(np.exp(-steps)), candidates - 1
    return float(sum(-weight * np.expm1(others * np.log1p(-q * z)) for z, weight in _nodes(max(1.0, others * q))))


def _nodes(rate: float) -> list[tuple[float, float]]:
    """Nodes and weights on [0, 1] for products of 1 - p_j z, 0 <= p_j <= 1, sum of p_j = rate >= 1.

    Panels [0, 2^-m], [2^-m, 2^(1-m)], .., [1/2, 1] with 2^-m <= 1/rate. About each there is an ellipse, with foci at
    its ends and semi-axes that add up to 4 times its half length, on which no product is above 8 in absolute value, so
    that Gauss-Legendre quadrature of 32 nodes is exact to 4^-64 (Trefethen 2008, "Is Gauss Quadrature Better than
    Clenshaw-Curtis?", Theorem 4.5).
    """
    edges = [0.0, *(2.0**-m for m in range(math.ceil(math.log2(rate)), -1, -1))]
    return [
        (start + half * (1 + x), half * weight)
        for start, end in itertools.pairwise(edges)
        for half in [(end - start) / 2]
        for x, weight in _gauss_legendre()
    ]


@cache
def _gauss_legendre() -> list[tuple[float, float]]:
    from numpy.polynomial.legendre import leggauss  # for those alone who plan

    x, weights = leggauss(32)
    return list(zip(x.tolist(), weights.tolist(), strict=True))
