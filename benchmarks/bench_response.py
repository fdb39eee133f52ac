"""Local reports and what a server counts in them, exactnoise against the naive ways.

python -m pytest benchmarks/bench_response.py --benchmark-disable-gc

`python benchmarks/bench_response.py` prints the rates of ten million reports among 266 categories instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive_response import COUNT, RESPOND
from timing import least_seconds

import exactnoise
from exactnoise.mechanisms.response import bernoulli

EPSILON = 2
CATEGORIES = 266
SIZES = (1, 1_000, 100_000, 1_000_000)
MOST_NAIVE_BITS = 10**8  # a uniform number for each bit: beyond, it is memory that is measured
OURS = "exactnoise"


def mechanism(name: str, k: int = CATEGORIES) -> Any:
    return getattr(exactnoise, name)(epsilon=EPSILON, categories=k)


def codes(n: int, k: int = CATEGORIES) -> Any:
    return np.random.default_rng(1).integers(0, k, n)


def cases(most: int = SIZES[-1]):
    for name in RESPOND:
        for k in (4, CATEGORIES):
            for n in SIZES:
                for impl in (OURS, "naive"):
                    bits = n * k if name.endswith("Encoding") else n
                    if n <= most and (impl == OURS or bits <= MOST_NAIVE_BITS):
                        group = pytest.mark.benchmark(group=f"{name}[{k}] n={n}")
                        yield pytest.param(name, k, n, impl, id=f"{name}-{k}-{n}-{impl}", marks=group)


@pytest.mark.parametrize(("name", "k", "n", "impl"), list(cases()))
def test_release(run, name, k, n, impl):
    x = codes(n, k)
    if impl == OURS:
        response = mechanism(name, k)
        run(impl, lambda: response.release(x, budget=None))
    else:
        run(impl, lambda: RESPOND[name](x, EPSILON, k))


@pytest.mark.parametrize(("name", "k", "n", "impl"), list(cases(most=100_000)))
def test_tally(run, name, k, n, impl):
    response = mechanism(name, k)
    reports = response.release(codes(n, k), budget=None)
    if impl == OURS:
        run(impl, lambda: response.tally(reports))
    else:
        run(impl, lambda: COUNT[name](reports, k, EPSILON))


@pytest.mark.parametrize("impl", [OURS, "rng.random < p"])
@pytest.mark.parametrize("n", [pytest.param(n, marks=pytest.mark.benchmark(group=f"bernoulli n={n}")) for n in SIZES])
def test_coins(run, n, impl):
    rng = np.random.default_rng()
    run(impl, (lambda: bernoulli("1/3", n)) if impl == OURS else (lambda: rng.random(n) < 1 / 3))


def main() -> None:
    """Millions of reports a second, of ten million among CATEGORIES categories, one thread."""
    n = 10_000_000
    x = codes(n)
    print(f"{'million a second':<24}{'release':>10}{'tally':>10}")
    for name in RESPOND:
        response = mechanism(name)
        out = response.release(x, budget=None)
        least = least_seconds(
            {
                "release": lambda response=response, out=out: response.release(x, budget=None, out=out),
                "tally": lambda response=response, out=out: response.tally(out),
            },
            seconds=2,
        )
        print(f"{name:<24}" + "".join(f"{n / seconds / 1e6:>10.1f}" for seconds in least.values()))


if __name__ == "__main__":
    main()
