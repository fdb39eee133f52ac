"""Collects the benchmarks' minima and prints how many times faster exactnoise is than each other way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from exactnoise import _native

OURS = "exactnoise"

Minima = dict[str, dict[str, float]]  # group -> implementation -> seconds
_minima = pytest.StashKey[Minima]()


@pytest.fixture
def run(benchmark, request: pytest.FixtureRequest) -> Callable[[str, Callable[[], object]], None]:
    """run(impl, function) times the function as one implementation of the benchmark's group."""

    def run(impl: str, function: Callable[[], object]) -> None:
        benchmark.name = impl
        benchmark.extra_info["simd"] = _native.SIMD
        benchmark(function)
        if benchmark.stats is not None:  # None with --benchmark-disable
            groups = request.config.stash.setdefault(_minima, defaultdict(dict))
            groups[benchmark.group][impl] = benchmark.stats.stats.min

    return run


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    """Print the table of ratios below pytest-benchmark's own tables."""
    yield
    minima = config.stash.get(_minima, {})
    compared = {group: times for group, times in minima.items() if OURS in times and len(times) > 1}
    if compared:
        terminalreporter.section(f"time / time of {OURS}, by minimum: above 1, {OURS} is faster")
        for line in _ratio_lines(compared):
            terminalreporter.write_line(line)


def _ratio_lines(minima: Minima) -> Iterator[str]:
    """One table for each run of groups that differ in n alone."""
    table = None
    for group, times in minima.items():
        name, _, size = group.partition(" n=")
        if name != table:
            table = name
            others = [impl for g in minima if g.startswith(name) for impl in minima[g] if impl != OURS]
            columns = list(dict.fromkeys(others))
            yield f"\n{name:<16}{OURS:>12}  " + "  ".join(f"{impl:>8}" for impl in columns)
        ratios = (f"{times[impl] / times[OURS]:.2f}" if impl in times else "" for impl in columns)
        yield f"{'n=' + size:<16}{_readable(times[OURS]):>12}  " + "  ".join(
            f"{ratio:>{max(8, len(impl))}}" for ratio, impl in zip(ratios, columns, strict=True)
        )


def _readable(seconds: float) -> str:
    unit, size = next((unit, size) for unit, size in _UNITS if seconds >= size or size == _UNITS[-1][1])
    return f"{seconds / size:.3g} {unit}"


_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
