"""With out= a release takes less than a megabyte of memory, whatever its size and layout."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

LIMIT = 1_000_000

MEASURED = textwrap.dedent(
    """
    import sys, tracemalloc
    import numpy as np
    from exactnoise import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace

    def resident_peak():
        # Of this process alone: getrusage would count the parent's, too. Linux has it; elsewhere tracemalloc must do.
        try:
            with open("/proc/self/status") as status:
                return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        except OSError:
            return 0

    kind, layout, n, workers = sys.argv[1], sys.argv[2], int(float(sys.argv[3])), int(sys.argv[4])
    mechanism = {
        "laplace": Laplace(sensitivity=1, epsilon=1),
        "gaussian": Gaussian(sensitivity=1, rho=1),
        "discrete": DiscreteLaplace(sensitivity=1, scale=1000),
        "discrete gaussian": DiscreteGaussian(sensitivity=1, scale=1000),
        "tabulated": DiscreteGaussian(sensitivity=1, scale=3),
    }[kind]
    dtype = "f8" if kind in ("laplace", "gaussian") else "i8"

    def arrays(n):
        if layout == "contiguous":
            x, out = np.ones(n, dtype), np.ones(n, dtype)
        elif layout == "in place":
            x = out = np.ones(n, dtype)
        elif layout == "strided":
            x = out = np.ones(2 * n, dtype)[::2]
        elif layout == "big-endian":
            x = out = np.ones(n, ">" + dtype)
        elif layout == "two-dimensional":
            x = out = np.ones((n // 1000, 1000), dtype).T
        elif layout == "masked":
            x = np.ma.array(np.ones(n, dtype), mask=np.zeros(n, bool))
            out = x.data
        elif layout == "overlapping":
            x, out = (base := np.ones(n + 1, dtype))[:-1], base[1:]
        return x, out

    x, out = arrays(100_000)
    for _ in range(3):  # imports, stacks of threads, the first pages of the heap
        mechanism.release(x, budget=None, out=out, workers=workers)
    x, out = arrays(n)
    before = resident_peak()
    tracemalloc.start()
    mechanism.release(x, budget=None, out=out, workers=workers)
    _, allocated = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    grown = resident_peak() - before
    assert np.count_nonzero(out == 1) < n / (5 if kind == "tabulated" else 100)
    print(allocated, grown)
    """
)


def measured(*arguments: object) -> tuple[int, int]:
    result = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    allocated, grown = map(int, result.stdout.split())
    return allocated, grown


CASES = [
    ("laplace", "contiguous"), ("laplace", "in place"), ("laplace", "strided"), ("laplace", "big-endian"),
    ("laplace", "two-dimensional"), ("laplace", "masked"), ("gaussian", "in place"), ("gaussian", "strided"),
    ("discrete", "in place"), ("discrete gaussian", "in place"), ("tabulated", "in place"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "layout"), CASES)
def test_memory(kind, layout):
    allocated, grown = measured(kind, layout, 2e6, 1)
    assert allocated < LIMIT
    assert grown < LIMIT


@pytest.mark.parametrize(("layout", "n"), [("contiguous", 2e7), ("strided", 1e7), ("big-endian", 2e7)])
def test_memory_of_large_arrays(layout, n):
    allocated, grown = measured("laplace", layout, n, 1)
    assert allocated < LIMIT
    assert grown < LIMIT


def test_memory_with_workers():
    """A worker needs no more than a release."""
    allocated, _ = measured("laplace", "big-endian", 2e6, 2)
    assert allocated < 2 * LIMIT


def test_control_a_copy_is_seen():
    """Data that overlaps with out has to be copied."""
    allocated, grown = measured("laplace", "overlapping", 2e6, 1)
    assert allocated > 16_000_000
    assert grown > 15_000_000 or sys.platform != "linux"
