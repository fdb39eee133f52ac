"""What a release is made of and what surrounds it: the floor, one value, threads, instruction sets.

The floor of Laplace noise is the cost of what no implementation can leave out: its keystream, and one
pass over the data that reads and writes 8 bytes a value.
"""

from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest
from workload import data, keystream, mechanism

from exactnoise import PrivacyBudget, _native

NAMES = ("Laplace", "Gaussian", "DiscreteLaplace")
N = 1_000_000


@pytest.mark.benchmark(group="floor n=1000000")
@pytest.mark.parametrize("impl", ["exactnoise", "keystream alone", "one addition alone"])
def test_floor(run, impl):
    x = data("Laplace", N)
    out, noise = np.empty_like(x), mechanism("Laplace")
    words = keystream(N)
    key = bytes(_native.KEY_BYTES)
    parts = {
        "exactnoise": lambda: noise.release(x, budget=None, out=out),
        "keystream alone": lambda: _native.chacha20_words(key, 0, words, simd=_native.SIMD),
        "one addition alone": lambda: np.add(x, x, out=out),
    }
    run(impl, parts[impl])


@pytest.mark.benchmark(group="one Python number")
@pytest.mark.parametrize("impl", [*NAMES, "Laplace, charged to a budget", "random.expovariate"])
def test_one_value(run, impl):
    if impl == "random.expovariate":
        run(impl, lambda: 100.0 + random.expovariate(1.0) - random.expovariate(1.0))
        return
    name = impl.split(",")[0]
    noise, value = mechanism(name), data(name, 1).item()
    budget = None
    if "budget" in impl:
        budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=10**9)
    run(impl, lambda: noise.release(value, budget=budget))


@pytest.mark.benchmark(group="threads, n=10000000")
@pytest.mark.parametrize("workers", [1, 2])
def test_workers(run, workers):
    x = data("Laplace", 10_000_000)
    out, noise = np.empty_like(x), mechanism("Laplace")
    run(f"workers={workers}", lambda: noise.release(x, budget=None, out=out, workers=workers))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("simd", _native.simd_available())
def test_instruction_sets(run, benchmark, monkeypatch, name, simd):
    benchmark.group = f"instruction sets, {name} n={N}"
    monkeypatch.setattr(_native, "SIMD", simd)
    x, noise = data(name, N), mechanism(name)
    out = np.empty_like(x)
    run(simd, lambda: noise.release(x, budget=None, out=out))


@pytest.mark.benchmark(group="import in a new process", min_rounds=5)
@pytest.mark.parametrize("module", ["exactnoise", "numpy"])
def test_import(run, module):
    run(module, lambda: subprocess.run([sys.executable, "-c", f"import {module}"], check=True))
