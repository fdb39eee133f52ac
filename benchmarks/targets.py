"""Measure the speed that this project promises itself, and say which promises are kept.

    python benchmarks/targets.py [--seconds 5]

Each instruction set runs in a process of its own, one thread. Within it the functions that are
compared take turns, and the least processor time of each counts. NumPy always runs at its own best.
Exits with 1 if a target is missed. Threads need a machine that has nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from time import perf_counter

import numpy as np
from naive import NAIVE
from target_result import Result
from targets_aggregates import exact_aggregates
from targets_family import discrete_gaussian, local_reports, rates_over_scales, selection
from targets_files import commands
from targets_ledger import old_ledgers
from timing import least_seconds
from workload import SCALE, data, keystream, mechanism

from exactnoise import _native

# Mechanism, n, the naive way, and how many times faster exactnoise is to be on each instruction set.
FASTER = (
    ("Laplace", 1_000_000, "Generator.laplace + add", {"avx512": 6.0, "avx2": 3.5, "portable": 1.0}),
    ("Laplace", 1_000_000, "inverse transform", {"avx512": 3.0}),
    ("Laplace", 1_000_000, "inverse transform in place", {"avx512": 3.0}),
    ("Laplace", 100_000, "inverse transform", {"avx512": 1.5}),
    ("Laplace", 100_000, "inverse transform in place", {"avx512": 1.5}),
    ("Gaussian", 1_000_000, "standard_normal + add", {"avx512": 4.0, "avx2": 2.5, "portable": 1.0}),
    ("DiscreteLaplace", 1_000_000, "two geometrics", {"avx512": 5.0, "avx2": 3.0, "portable": 1.0}),
)
FLOOR_FACTOR = 2.0
ONE_VALUE_SECONDS = 4e-6
TWO_WORKERS_FACTOR = 1.7


def faster_than_naive(seconds: float) -> Iterator[Result]:
    for name, n, way, factors in FASTER:
        if _native.SIMD in factors:
            ours, theirs = ours_and_theirs(name, n, way, seconds)
            yield Result(
                f"{name}, n = {n}: times faster than {way}",
                theirs / ours,
                factors[_native.SIMD],
                True,
                "",
                f"{ours / n * 1e9:.2f} against {theirs / n * 1e9:.2f} ns a sample",
            )


def ours_and_theirs(name: str, n: int, way: str, seconds: float) -> tuple[float, float]:
    x, noise, naive = data(name, n), mechanism(name), NAIVE[name][way]
    functions = {"ours": lambda: noise.release(x, budget=None), "theirs": lambda: naive(x, SCALE)}
    least = least_seconds(functions, seconds)
    return least["ours"], least["theirs"]


def near_the_floor(seconds: float) -> Iterator[Result]:
    n = 1_000_000
    x, noise = data("Laplace", n), mechanism("Laplace")
    out = np.empty_like(x)
    key = bytes(_native.KEY_BYTES)
    words = keystream(n)
    least = least_seconds(
        {
            "release": lambda: noise.release(x, budget=None, out=out),
            "keystream": lambda: _native.chacha20_words(key, 0, words, simd=_native.SIMD),
            "pass": lambda: np.add(x, x, out=out),
        },
        seconds,
    )
    yield Result(
        "Laplace, n = 1000000: keystream and one addition, times",
        least["release"] / (least["keystream"] + least["pass"]),
        FLOOR_FACTOR,
        False,
        "",
        ", ".join(f"{part} {time / n * 1e9:.2f}" for part, time in least.items()) + " ns a sample",
    )


def one_value(seconds: float) -> Iterator[Result]:
    def releasing(name: str) -> Callable[[], object]:
        noise, value = mechanism(name), data(name, 1).item()
        return lambda: noise.release(value, budget=None)

    least = least_seconds({name: releasing(name) for name in NAIVE}, seconds)
    slowest = max(least, key=lambda name: least[name])
    yield Result(
        "one Python number, the slowest mechanism",
        least[slowest] * 1e6,
        ONE_VALUE_SECONDS * 1e6,
        False,
        "us",
        ", ".join(f"{name} {time * 1e6:.2f}" for name, time in least.items()) + " us",
    )


def two_workers(seconds: float) -> Iterator[Result]:
    x, noise = data("Laplace", 10_000_000), mechanism("Laplace")
    out = np.empty_like(x)
    least = least_seconds(
        {
            "1": lambda: noise.release(x, budget=None, out=out, workers=1),
            "2": lambda: noise.release(x, budget=None, out=out, workers=2),
        },
        seconds,
        clock=perf_counter,
    )
    yield Result(
        "Laplace, n = 10000000: times faster with workers=2",
        least["1"] / least["2"],
        TWO_WORKERS_FACTOR,
        True,
        "",
        f"{least['2'] * 1e3:.1f} against {least['1'] * 1e3:.1f} ms",
    )


def measure(seconds: float) -> list[Result]:
    """Everything that has a target on the instruction set in use."""
    results = list(faster_than_naive(seconds))
    if _native.SIMD == "avx512":
        own = (near_the_floor, one_value, two_workers)
        others = (
            discrete_gaussian,
            selection,
            local_reports,
            rates_over_scales,
            exact_aggregates,
            commands,
            old_ledgers,
        )
        for part in own + others:
            results += part(seconds)
    return results


def measure_in_new_process(simd: str, seconds: float) -> list[Result]:
    command = [sys.executable, __file__, "--seconds", str(seconds), "--json"]
    environment = {**os.environ, "EXACTNOISE_SIMD": simd}
    output = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout
    return [Result(**fields) for fields in json.loads(output)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5, help="for each comparison; default 5")
    parser.add_argument("--json", action="store_true", help="measure the instruction set in use only")
    args = parser.parse_args()
    if args.json:
        print(json.dumps([asdict(result) for result in measure(args.seconds)]))
        return 0
    missed = 0
    for simd in reversed(_native.simd_available()):
        print(f"{simd:<68}{'target':>8}{'measured':>10}")
        for result in measure_in_new_process(simd, args.seconds):
            print(f"  {result}")
            missed += not result.met
    print(f"{missed} missed" if missed else "all met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
