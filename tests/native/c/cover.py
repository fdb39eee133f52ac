"""Which lines of the C core and of the Cython seam the tests run, by gcov; exit 1 below the bars.

    python tests/native/c/cover.py [--missing] [PYTEST_ARGUMENT ...]

Builds the core and the extension with gcov's counters and without optimisation, aside from the source tree, by gcc.
Runs the C programs of sanitize.py, and against that extension the tests of TESTS, or what pytest is told to. The files
of the core come first; a line of them counts if any instruction set runs it. Then comes each instruction set: what its
own kernels are made of. The seam is last. Lines for other platforms are not compiled and so not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import compilers
from sanitize import DRIVERS

LEAST = 95.0
SEAM = Path("src", "exactnoise", "_native")
TESTS = [
    *(f"tests/native/test_{name}.py" for name in ("aggregation", "chacha20", "counts", "randomness", "row_sums")),
    *(
        f"tests/native/test_{name}.py"
        for name in ("seam_refusals", "selection_seam", "settle", "simd_choice", "status")
    ),
    *(
        f"tests/native/test_elementary.py::test_{name}"
        for name in ("bounds_are_nearly_reached", "square_root_is_correctly_rounded")
    ),
    *(f"tests/mechanisms/test_{name}.py" for name in ("clip", "release", "snapping")),
    *(f"tests/mechanisms/response/test_{name}.py" for name in ("coins", "estimates", "exactness")),
]
# The last -O counts: lines as they were written, neither fused nor removed.
FLAGS = ["-O0", "-g", "--coverage", "-fprofile-abs-path", "-fprofile-update=atomic", "-fPIC"]
# Above the C of each line Cython quotes the line.
QUOTED = re.compile(r'\s*/\* "([\w/]+\.(?:pyx|pxi))":(\d+)$')

Counts = dict[tuple[str, int], int]


def build(directory: Path) -> None:
    """Compile the core, and a copy of the package with an extension of it."""
    shutil.copytree(compilers.NATIVE, directory / "native", ignore=shutil.ignore_patterns("proofs"))
    shutil.copytree(compilers.ROOT / "src", directory / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    pyx = SEAM / "engine.pyx"
    compilers.run(sys.executable, "-m", "cython", "-3", pyx, "-o", directory / "engine.c", cwd=directory)
    flags = [*compilers.build_flags(), *FLAGS, "-Inative", f"-I{sysconfig.get_path('include')}"]
    sources = [f"native/{source.name}" for source in compilers.SOURCES]
    compilers.run("gcc", *flags, "-w", "-c", *sources, "engine.c", cwd=directory)
    extension = directory / SEAM / f"engine{sysconfig.get_config_var('EXT_SUFFIX')}"
    compilers.run("gcc", *FLAGS, "-shared", *core(directory), "engine.o", "-o", extension, cwd=directory)


def core(directory: Path) -> list[Path]:
    return [directory / f"{source.stem}.o" for source in compilers.SOURCES]


def run_drivers(directory: Path) -> None:
    """Run the C programs, which are not measured themselves."""
    for driver in DRIVERS:
        source = compilers.TEST_SOURCES / driver
        program = directory / f"{driver}.run"
        compilers.run("gcc", "--coverage", "-Inative", source, *core(directory), "-lm", "-o", program, cwd=directory)
        compilers.run(program, cwd=directory)


def run_tests(directory: Path, arguments: list[str]) -> int:
    """Run tests against the extension; their exit code."""
    environment = os.environ | {"PYTHONPATH": str(directory / "src")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, env=environment, cwd=compilers.ROOT, check=False).returncode


def counted(directory: Path) -> dict[str, Counts]:
    """How often each line ran, by object and (file, line)."""
    counts: dict[str, Counts] = {}
    for data in sorted(directory.glob("*.gcda")):
        report = json.loads(compilers.run("gcov", "--json-format", "--stdout", data.name, cwd=directory))
        of_object = counts[data.stem] = defaultdict(int)
        for file in report["files"]:
            path = (directory / file["file"]).resolve()
            if path.is_relative_to(directory):
                for line in file["lines"]:
                    of_object[str(path.relative_to(directory)), line["line_number"]] += line["count"]
    return counts


def of_the_seam(directory: Path, generated: Counts) -> Counts:
    """The counts of Cython's lines from those of the generated C: how often a statement of theirs ran."""
    counts: Counts = defaultdict(int)
    place = None
    for number, text in enumerate((directory / "engine.c").read_text().splitlines(), 1):
        if quoted := QUOTED.match(text):
            place = str(SEAM / Path(quoted[1]).name), int(quoted[2])
        elif "/* function exit code */" in text:
            place = None
        elif place and ("engine.c", number) in generated:
            counts[place] += generated["engine.c", number]
    return counts


def merged(counts: Iterable[Counts]) -> Counts:
    total: Counts = defaultdict(int)
    for of_object in counts:
        for place, count in of_object.items():
            total[place] += count
    return total


def row(name: str, counts: Counts, missing: bool) -> float:
    """Print a line of the table; the share of lines that ran, in percent."""
    ran = sum(count > 0 for count in counts.values())
    share = 100 * ran / len(counts)
    lines = [line for (_, line), count in sorted(counts.items()) if count == 0] if missing else []
    print(f"{name:40} {len(counts):6} {len(counts) - ran:6} {share:7.1f} %", *lines)
    return share


def table(directory: Path, missing: bool) -> bool:
    """Print what ran; whether everything is above the bar."""
    counts = counted(directory)
    counts["engine"] = of_the_seam(directory, counts["engine"])
    places = merged(counts.values())
    shares = {}
    print(f"{'':40} {'lines':>6} {'missed':>6}")
    for place in ("native", str(SEAM)):
        inside = {key: count for key, count in places.items() if key[0].startswith(place)}
        for file in sorted({file for file, _ in inside}):
            row(file, {key: count for key, count in inside.items() if key[0] == file}, missing)
        shares[place] = row(f"all of {place}", inside, False)
        if place == "native":
            for name in sorted(name for name in counts if name.startswith("kernels_")):
                shares[name] = row(name, counts[name], False)
    low = [name for name, share in shares.items() if share < LEAST]
    for name in low:
        print(f"{name}: below {LEAST} % of lines")
    return not low


def main() -> int:
    """Build, run and print; 0 if the tests pass and enough of the lines ran."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--missing", action="store_true", help="print the numbers of lines that did not run")
    arguments, tests = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary).resolve()
        build(directory)
        run_drivers(directory)
        failed = run_tests(directory, tests or TESTS)
        enough = table(directory, arguments.missing)
    return 1 if failed or not enough else 0


if __name__ == "__main__":
    sys.exit(main())
