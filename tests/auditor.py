"""Falsifying a privacy claim by events counted on two neighbouring inputs.

A claim of (epsilon, delta) is refuted by an event E when the lower confidence bound of P[M(x) in E]
exceeds e^epsilon times the upper bound of P[M(x') in E], plus delta, in either direction. Events
are fixed before sampling and the false-alarm rate is shared among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

FALSE_ALARM = 1e-9

Event = Callable[[np.ndarray], np.ndarray]  # outputs -> boolean mask


class Claim(NamedTuple):
    epsilon: float
    delta: float = 0.0


def gaussian_claim(sigma: float, epsilon: float, distance: float = 1.0) -> Claim:
    """The delta of a Gaussian of this sigma at epsilon: Balle and Wang 2018, Theorem 8."""
    mu = distance / sigma
    delta = _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)
    return Claim(epsilon, delta)


def refutations(y: np.ndarray, neighbour: np.ndarray, claim: Claim, events: Mapping[str, Event]) -> list[str]:
    """The events that refute the claim, with their shares in the two samples; each row is one output."""
    alpha = FALSE_ALARM / (2 * len(events))  # two directions each
    found = []
    for name, event in events.items():
        a, b = int(np.sum(event(y))), int(np.sum(event(neighbour)))
        for seen, other in ((a, b), (b, a)):
            if seen / len(y) <= math.exp(claim.epsilon) * other / len(neighbour) + claim.delta:
                continue  # the bounds lie outside the shares and cannot refute either
            low = lower_bound(seen, len(y), alpha / 2)
            high = upper_bound(other, len(neighbour), alpha / 2)
            if low > math.exp(claim.epsilon) * high + claim.delta:
                found.append(f"{name}: {a / len(y):.4g} against {b / len(neighbour):.4g}")
    return found


def precision_events(x: float, neighbour: float) -> dict[str, Event]:
    """Which binary digits an output uses (Haney et al. 2022), anywhere and in a window.

    A_j: the lowest digit of y is below 2^j. B_j: y lies beyond both inputs, by once to twice their
    distance, and its lowest digit is exactly 2^j.
    """
    events: dict[str, Event] = {}
    low, high = min(x, neighbour), max(x, neighbour)
    distance = high - low
    windows = {
        "below": (low - 2 * distance, low - distance),
        "above": (high + distance, high + 2 * distance),
    }
    for j in range(-60, -19):
        events[f"A[{j}]"] = lambda y, j=j: lowest_digit(y) < j
        for name, (start, end) in windows.items():
            events[f"B[{j}] {name}"] = lambda y, j=j, start=start, end=end: (
                (start < y) & (y < end) & (lowest_digit(y) == j)
            )
    return events


def lowest_digit(y: np.ndarray) -> np.ndarray:
    """The exponent of the lowest set bit of each double; a large number for 0."""
    fractions, exponents = np.frexp(y)
    mantissas = np.ldexp(fractions, 53).astype(np.int64)
    lowest = mantissas & -mantissas
    places = np.frexp(lowest.astype(np.float64))[1] - 1
    return np.where(y == 0, 10**6, exponents - 53 + places)


# ---------------------------------------------------------------------------------------------
# Clopper-Pearson


def upper_bound(seen: int, trials: int, alpha: float) -> float:
    """The p at which a count of at most ``seen`` has probability alpha."""
    if seen == trials:
        return 1.0
    return _bisected(lambda p: _binomial(trials, p)[: seen + 1].sum() > alpha, seen / trials, 1.0)


def lower_bound(seen: int, trials: int, alpha: float) -> float:
    """The p at which a count of at least ``seen`` has probability alpha."""
    if seen == 0:
        return 0.0
    return _bisected(lambda p: _binomial(trials, p)[seen:].sum() < alpha, 0.0, seen / trials)


def _bisected(below: Callable[[float], bool], low: float, high: float) -> float:
    """Where ``below`` turns from true to false."""
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if below(middle):
            low = middle
        else:
            high = middle
    return high


def _binomial(trials: int, p: float) -> np.ndarray:
    """The probabilities of 0, 1, ..., trials successes."""
    k = np.arange(trials + 1)
    return np.exp(_log_binomials(trials) + k * math.log(p) + (trials - k) * math.log1p(-p))


_KNOWN_BINOMIALS: dict[int, np.ndarray] = {}


def _log_binomials(trials: int) -> np.ndarray:
    if trials not in _KNOWN_BINOMIALS:
        factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, trials + 1)))])
        _KNOWN_BINOMIALS[trials] = factorials[-1] - factorials - factorials[::-1]
    return _KNOWN_BINOMIALS[trials]


def _normal(t: float) -> float:
    return math.erfc(-t / math.sqrt(2)) / 2
