"""Run the C core under the compilers' sanitizers; exit 1 on any finding.

    python tests/native/c/sanitize.py [--native DIRECTORY] [--driver FILE] [COMPILER ...]

Builds the core with a driver (driver.c), warnings being errors, by every compiler named (gcc and clang, if found, by
default), runs the program and compares the checksums of all compilers and instruction sets. Accesses outside of
buffers and undefined behaviour are looked for by both compilers, uses of uninitialised memory by clang.
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
SANITIZERS = {"gcc": [BOUNDS], "clang": [BOUNDS, "memory"]}
# The last -O counts: higher levels let the compiler use undefined behaviour before the sanitizer sees it.
FLAGS = ["-O1", "-g", "-fno-sanitize-recover=all"]


def sanitize(compiler: str, checks: str, native: Path, directory: Path, driver: str) -> str | None:
    """Return the driver's checksums, or None after printing what was found."""
    binary = directory / compiler
    sources = [*sorted(native.glob("*.c")), compilers.TEST_SOURCES / driver]
    flags = [*compilers.build_flags(), *compilers.WARNINGS, *FLAGS, f"-fsanitize={checks}", f"-I{native}"]
    for command in ([compiler, *flags, *map(str, sources), "-lm", "-o", str(binary)], [str(binary)]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"{compiler}, {checks}:\n{done.stdout}{done.stderr}", flush=True)
            return None
    print(f"{compiler}, {checks}:\n{done.stdout}", flush=True)
    return done.stdout


def main() -> int:
    """Build and run; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("compilers", nargs="*", default=compilers.COMPILERS)
    parser.add_argument("--native", type=Path, default=compilers.NATIVE)
    parser.add_argument("--driver", default="driver.c")
    args = parser.parse_args()
    if not args.compilers:
        print("no C compiler found")
        return 1
    sums = set()
    with tempfile.TemporaryDirectory() as directory:
        for compiler in args.compilers:
            for checks in SANITIZERS[compiler]:
                output = sanitize(compiler, checks, args.native, Path(directory), args.driver)
                if output is None:
                    return 1
                sums.update(line.split()[-1] for line in output.splitlines())
    return 0 if len(sums) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
