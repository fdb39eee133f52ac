"""Speed, latency and memory of the library of one environment, as JSON: run by run.py inside that environment.

    python measure.py ENVIRONMENT

Times are the processor's, the least of some repetitions, of the call alone: data and mechanisms are made before.
"""

from __future__ import annotations

import argparse
import gc
import importlib.metadata
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

from ways import WAYS, Way
from workloads import SIZES, WORKLOADS, Workload

_LONG = 1.0  # seconds; a longer call is timed once a round, and ten times its size is not tried
_REPEATS = 5
_SHORTEST = 0.02  # seconds; quicker calls are timed together
_MEMORY_SIZE = 1_000_000
_DISTRIBUTIONS = {"pydp": "python-dp"}

Row = dict[str, object]


def least_seconds(call: Callable[[], object]) -> float:
    """The processor's time of a call, at least."""
    first = _time(call, 1)
    if first > _LONG:
        return first
    inner = 1
    while _time(call, inner) * inner < _SHORTEST:
        inner *= 2
    return min(_time(call, inner) for _ in range(_REPEATS))


def _time(call: Callable[[], object], times: int) -> float:
    start = process_time()
    for _ in range(times):
        call()
    return (process_time() - start) / times


def prepared(way: Way, workload: Workload, n: int) -> Callable[[], object] | None:
    """A call that noises n values, ready to be timed."""
    x = workload.data(n)
    release = way.prepare(workload, n if way.takes_arrays else None)
    if release is None:
        return None
    if way.takes_arrays:
        return lambda: release(x)
    values = x.tolist()
    return lambda: [release(value) for value in values]


def rates(way: Way, workload: Workload) -> list[Row]:
    """A row for every size, if there is such noise; and one for a single Python number, of size 1."""
    rows: list[Row] = []
    for n in SIZES:
        call = prepared(way, workload, n)
        if call is None:
            return rows
        if n == SIZES[0]:
            call()  # first calls also set things up
        seconds = least_seconds(call)
        rows.append({"way": way.label, "workload": workload.name, "n": n, "seconds": seconds})
        if seconds > _LONG:
            break
    single = way.prepare(workload, None)
    if single is not None:
        value = workload.data(1).tolist()[0]
        seconds = least_seconds(lambda: single(value))
        rows.append({"way": way.label, "workload": workload.name, "n": 1, "seconds": seconds})
    return rows


def memory(way: Way, environment: str) -> Row:
    """How much the peak grows by one call, in a fresh process."""
    run = subprocess.run(
        [sys.executable, __file__, environment, "--memory-of", way.label], capture_output=True, text=True, check=True
    )
    return {"way": way.label, "workload": "memory", "n": _MEMORY_SIZE, "bytes": int(run.stdout)}


def peak_growth(way: Way) -> int:
    """The growth of this process's peak by noising _MEMORY_SIZE values with Laplace noise, input not counted."""
    warm_up, call = (prepared(way, WORKLOADS[0], n) for n in (1000, _MEMORY_SIZE))
    assert warm_up is not None  # all have Laplace noise
    assert call is not None
    warm_up()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _kilobytes("VmRSS")
    kept = call()  # the result counts
    after = _kilobytes("VmHWM")
    del kept
    return (after - before) * 1024


def _kilobytes(field: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split(field + ":")[1].split()[0])


def import_seconds(statement: str) -> float:
    """The processor's time of a fresh interpreter that imports, beyond one that does not, at least."""

    def spent(code: str) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(spent(statement) for _ in range(_REPEATS)) - min(spent("pass") for _ in range(_REPEATS))


_IMPORTS = {
    "numpy": "import numpy",
    "exactnoise": "import exactnoise",
    "randomgen": "import randomgen",
    "opendp": "import opendp.prelude",
    "pydp": "import pydp.algorithms.numerical_mechanisms",
    "diffprivlib": "import diffprivlib.mechanisms",
}


def main() -> None:
    """Print the rows of one environment as a JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("environment", choices=WAYS)
    parser.add_argument("--memory-of", help="only the memory of this way; in a fresh process")
    args = parser.parse_args()
    ways = {way.label: way for way in WAYS[args.environment]}
    if args.memory_of:
        print(peak_growth(ways[args.memory_of]))
        return
    rows: list[Row] = []
    for way in ways.values():
        rows.append(memory(way, args.environment))
        for workload in WORKLOADS:
            rows.extend(rates(way, workload))
    version = importlib.metadata.version(_DISTRIBUTIONS.get(args.environment, args.environment))
    seconds = import_seconds(_IMPORTS[args.environment])
    json.dump({"version": version, "import_seconds": seconds, "rows": rows}, sys.stdout)


if __name__ == "__main__":
    main()
