"""Targets of what is not Laplace, Gaussian or two-sided geometric noise, and of rates over scales: see targets.py."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from naive import NAIVE
from naive_response import randomized_response
from naive_selection import exponential_choice
from target_result import Result
from timing import least_seconds
from workload import data, mechanism

import exactnoise

SAMPLES = 1_000_000
#: At 1e9 integers, whose grid is 1, have the fast path decline 3e-5 of all lanes.
SCALES = (1e-3, 1.0, 4.0, 10.0, 1e3, 1e6, 1e8, 1e9)
#: How much slower than at scale 1e6 any of them may be.
SLOWEST = 1.2
ADDITIVE = ("Laplace", "Gaussian", "DiscreteLaplace", "DiscreteGaussian")
CATEGORIES, REPORTS = 266, 10_000_000
MILLIONS_A_SECOND = {
    "RandomizedResponse": 5,
    "SymmetricUnaryEncoding": 5,
    "OptimizedUnaryEncoding": 5,
    "LocalHashing": 2,
}


def discrete_gaussian(seconds: float) -> Iterator[Result]:
    x = data("DiscreteGaussian", SAMPLES)
    (naive,) = NAIVE["DiscreteGaussian"].values()
    for scale in (1.0, 10.0, 1e6):
        noise = mechanism("DiscreteGaussian", scale)
        least = least_seconds(
            {
                "ours": lambda noise=noise: noise.release(x, budget=None),
                "theirs": lambda scale=scale: naive(x, scale),
            },
            seconds,
        )
        yield _faster(f"DiscreteGaussian, scale {scale:g}", "rint", least, SAMPLES, 1.0)


def selection(seconds: float) -> Iterator[Result]:
    scores = np.random.default_rng(1).normal(size=(100_000, 16)) * 10
    noise = exactnoise.Exponential(sensitivity=1, epsilon=1)
    least = least_seconds(
        {
            "ours": lambda: noise.release(scores, budget=None, disjoint=True),
            "theirs": lambda: exponential_choice(scores, 1, 1),
        },
        seconds,
    )
    yield _faster("Exponential, 100000 rows of 16", "normalise and choose", least, scores.size, 2.0)


def local_reports(seconds: float) -> Iterator[Result]:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, CATEGORIES, SAMPLES)
    noise = exactnoise.RandomizedResponse(epsilon=2, categories=CATEGORIES)
    least = least_seconds(
        {
            "ours": lambda: noise.release(codes, budget=None),
            "theirs": lambda: randomized_response(codes, 2, CATEGORIES),
        },
        seconds,
    )
    yield _faster(
        f"RandomizedResponse, {CATEGORIES} categories, n = {SAMPLES}", "random and where", least, SAMPLES, 3.0
    )

    codes = rng.integers(0, CATEGORIES, REPORTS)
    for name, least_rate in MILLIONS_A_SECOND.items():
        kind = getattr(exactnoise, name)(epsilon=2, categories=CATEGORIES)
        reports = kind.release(codes, budget=None)
        least = least_seconds(
            {
                "release": lambda kind=kind, reports=reports: kind.release(codes, budget=None, out=reports),
                "tally": lambda kind=kind, reports=reports: kind.tally(reports),
            },
            seconds,
        )
        rates = {job: REPORTS / time / 1e6 for job, time in least.items()}
        yield Result(
            f"{name}, {REPORTS:.0e} reports: the slower job",
            min(rates.values()),
            least_rate,
            True,
            "M/s",
            ", ".join(f"{job} {rate:.1f}" for job, rate in rates.items()) + " million a second",
        )


def rates_over_scales(seconds: float) -> Iterator[Result]:
    for name in ADDITIVE:
        times = _times_by_scale(name, 2 * seconds)
        detail = ", ".join(f"{scale} {time:.1f}" for scale, time in times.items()) + " ns a sample"
        slowest = max(times.values()) / times["1e+06"]
        yield Result(f"{name}: slowest scale, times 1e6", slowest, SLOWEST, False, "", detail)


def _times_by_scale(name: str, seconds: float) -> dict[str, float]:
    x = data(name, SAMPLES)
    out = np.empty_like(x)
    noises = {f"{scale:g}": mechanism(name, scale) for scale in SCALES}
    least = least_seconds(
        {scale: lambda noise=noise: noise.release(x, budget=None, out=out) for scale, noise in noises.items()}, seconds
    )
    return {scale: time / SAMPLES * 1e9 for scale, time in least.items()}


def _faster(what: str, way: str, least: dict[str, float], count: int, factor: float) -> Result:
    ours, theirs = (least[who] / count * 1e9 for who in ("ours", "theirs"))
    return Result(
        f"{what}: times faster than {way}",
        theirs / ours,
        factor,
        True,
        "",
        f"{ours:.2f} against {theirs:.2f} ns each",
    )
