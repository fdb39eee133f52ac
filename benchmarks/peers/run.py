"""Measure exactnoise and its peers on the same work, each in a pinned environment of its own.

    python benchmarks/peers/run.py [--folder build/peers] [--rounds 3] [ENVIRONMENT ...]

Makes the environments that are missing (half a gigabyte, from PyPI), runs measure.py in each of them in turn, several
rounds, keeps the least time of every row, and writes results.json; then `python benchmarks/peers/report.py` makes the
table and the picture. Linux only: memory is read from /proc. A round takes about five minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RESULTS = HERE / "results.json"
ENVIRONMENTS = tuple(sorted(path.stem for path in (HERE / "environments").glob("*.txt")))

Measured = dict[str, Any]  # what measure.py prints


def python_of(environment: str, folder: Path) -> Path:
    """The interpreter of an environment, which is made if need be."""
    place = folder / environment
    python = place / "bin" / "python"
    if not python.exists():
        print(f"making {place}", flush=True)
        venv.create(place, with_pip=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"]
        subprocess.run([*pip, "-r", str(HERE / "environments" / f"{environment}.txt")], check=True)
        if environment == "exactnoise":
            subprocess.run([*pip, str(ROOT)], check=True)
    return python


def measure(environment: str, python: Path) -> Measured:
    """Run measure.py on one core."""
    core = [] if not hasattr(os, "sched_getaffinity") else ["taskset", "-c", str(max(os.sched_getaffinity(0)))]
    command = [*core, str(python), str(HERE / "measure.py"), environment]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=clean)
    measured: Measured = json.loads(done.stdout)
    return measured


def merged(old: Measured | None, new: Measured) -> Measured:
    """Row by row, the least of both."""
    if old is None or old["version"] != new["version"]:
        return new
    known = {_key(row): row for row in old["rows"]}
    rows = []
    for row in new["rows"]:
        before = known.get(_key(row), row)
        figure = "bytes" if "bytes" in row else "seconds"
        rows.append({**row, figure: min(before[figure], row[figure])})
    return {**new, "import_seconds": min(old["import_seconds"], new["import_seconds"]), "rows": rows}


def _key(row: dict[str, Any]) -> tuple[object, ...]:
    return row["way"], row["workload"], row["n"]


def processor() -> str:
    """Its name, as Linux has it."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> None:
    """Measure and write results.json."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("environments", nargs="*", metavar="ENVIRONMENT", help=f"of {', '.join(ENVIRONMENTS)}; all")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    chosen = args.environments or list(ENVIRONMENTS)
    if unknown := set(chosen) - set(ENVIRONMENTS):
        parser.error(f"no such environment: {', '.join(sorted(unknown))}")
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    pythons = {environment: python_of(environment, args.folder.resolve()) for environment in chosen}
    for turn in range(args.rounds):
        for environment, python in pythons.items():
            print(f"round {turn + 1} of {args.rounds}: {environment}", flush=True)
            results[environment] = merged(results.get(environment) if turn else None, measure(environment, python))
            results["machine"] = {"processor": processor(), "python": platform.python_version(), "rounds": turn + 1}
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main())
