"""Run the C core under the compilers' sanitizers; exit 1 on any finding.

    python tests/native/c/sanitize.py [--native DIRECTORY] [--driver FILE] [--checks KIND] [--level N] [COMPILER ...]

Builds the core with each of DRIVERS, or with the one named, warnings being errors, by every compiler named (gcc and
clang, if found, by default), runs the programs and compares the checksums of all compilers and instruction sets.
Accesses outside of buffers, undefined behaviour and races between threads are looked for by both compilers, uses of
uninitialised memory by clang.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import compilers

# Beyond "undefined": what the kernels must not rely on either.
BOUNDS = "address,undefined,float-cast-overflow,float-divide-by-zero"
CHECKS = {"bounds": BOUNDS, "memory": "memory", "threads": "thread"}
SANITIZERS = {"gcc": ["bounds", "threads"], "clang": ["bounds", "memory", "threads"]}
ONE_THREAD = ["driver.c", "response_driver.c", "selection_driver.c", "aggregation_driver.c"]
DRIVERS = {"bounds": ONE_THREAD, "memory": ONE_THREAD, "threads": ["threads_driver.c"]}
FLAGS = ["-g", "-pthread", "-fno-sanitize-recover=all"]


def sanitize(
    compiler: str, checks: str, native: Path, directory: Path, drivers: list[str], level: int
) -> dict[str, str] | None:
    """Return each driver's checksums, or None after printing what was found."""
    flags = [*compilers.build_flags(), *compilers.WARNINGS, *FLAGS, f"-O{level}", f"-fsanitize={checks}", f"-I{native}"]
    sources = sorted(native.glob("*.c"))
    objects = [source.with_suffix(".o").name for source in sources]
    if run([compiler, *flags, "-c", *map(str, sources)], checks, directory) is None:
        return None
    outputs = {}
    for driver in drivers:
        link = [compiler, *flags, str(compilers.TEST_SOURCES / driver), *objects, "-lm", "-o", driver + ".run"]
        if run(link, checks, directory) is None:
            return None
        output = run([f"./{driver}.run"], checks, directory)
        if output is None:
            return None
        print(f"{compiler}, {checks}, {driver}:\n{output}", flush=True)
        outputs[driver] = output
    return outputs


def run(command: list[str], checks: str, directory: Path) -> str | None:
    """Return a command's output, or None after printing why it failed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
    if done.returncode != 0:
        print(f"{command[0]}, {checks}:\n{done.stdout}{done.stderr}", flush=True)
        return None
    return done.stdout


def main() -> int:
    """Build and run; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("compilers", nargs="*", default=compilers.COMPILERS)
    parser.add_argument("--native", type=Path, default=compilers.NATIVE)
    parser.add_argument("--driver", choices=sorted(set().union(*DRIVERS.values())))
    parser.add_argument("--checks", choices=CHECKS)
    # Higher levels let the compiler use undefined behaviour before the sanitizer sees it.
    parser.add_argument("--level", type=int, choices=[0, 1], default=1, help="0 compiles faster and runs slower")
    args = parser.parse_args()
    if not args.compilers:
        print("no C compiler found")
        return 1
    sums: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as directory:
        for compiler in args.compilers:
            for kind in [args.checks] if args.checks else SANITIZERS[compiler]:
                drivers = [driver for driver in DRIVERS[kind] if args.driver in (None, driver)]
                if not drivers:
                    continue
                outputs = sanitize(compiler, CHECKS[kind], args.native.resolve(), Path(directory), drivers, args.level)
                if outputs is None:
                    return 1
                for driver, output in outputs.items():
                    sums.setdefault(driver, set()).update(line.split()[-1] for line in output.splitlines())
    return 0 if sums and all(len(found) == 1 for found in sums.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
