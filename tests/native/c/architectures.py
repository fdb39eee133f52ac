"""Run the C core as other compilers and processors run it; exit 1 if one of them gets another result.

    python tests/native/c/architectures.py [--native DIRECTORY] [--flags FLAGS] [TARGET ...]

Builds the core with the wheel's flags, warnings being errors, for every target named (by default those in TARGETS whose
tools are here), and runs DRIVERS, other processors' programs under qemu-user. The drivers check what needs no
oracle. What they print is compared with the first target's: no lane may have two values, and every checksum must be the
same, whatever the compiler, the instruction set, the size of a pointer and the order of bytes.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import compilers

# Lane by lane; one checksum for all; and two that check themselves, and whose checksums leave out what one of the
# instruction sets of the machine declined.
LANES, CHECKSUMS, CHECKS = (
    "known_words.c",
    ["response_driver.c", "aggregation_driver.c"],
    ["driver.c", "selection_driver.c"],
)
DRIVERS = [LANES, *CHECKSUMS, *CHECKS]


@dataclass(frozen=True)
class Target:
    """A compiler, its flags beyond setup.py's, what runs its programs, and what they need besides the core."""

    compiler: str
    flags: tuple[str, ...] = ()
    runner: str | None = ""  # None: they are only compiled
    libraries: tuple[str, ...] = ("-static", "-lm")

    def missing(self) -> list[str]:
        """The tools that are not on this machine."""
        return [tool for tool in (self.compiler, self.runner) if tool and not shutil.which(tool)]


TARGETS = {
    "gcc": Target("gcc"),
    "clang": Target("clang"),
    "i686": Target("i686-linux-gnu-gcc", ("-msse2", "-mfpmath=sse")),
    "aarch64": Target("aarch64-linux-gnu-gcc", runner="qemu-aarch64"),
    "riscv64": Target("riscv64-linux-gnu-gcc", runner="qemu-riscv64"),
    # Its bytes are in the other order. By default its compiler would compute in double what is written in float.
    "s390x": Target("s390x-linux-gnu-gcc", ("-fexcess-precision=fast",), "qemu-s390x"),
    "musl": Target("musl-gcc"),
    "windows": Target("x86_64-w64-mingw32-gcc", runner=None, libraries=("-lbcrypt",)),
}


def build(target: Target, native: Path, directory: Path, flags: tuple[str, ...] = ()) -> dict[str, Path]:
    """Compile the core and the drivers; an AssertionError has the compiler's words."""
    common = [*compilers.build_flags(), *compilers.WARNINGS, *target.flags, *flags, f"-I{native}"]
    sources = sorted(native.glob("*.c"))
    compilers.run(target.compiler, *common, "-c", *sources, cwd=directory)
    objects = [directory / source.with_suffix(".o").name for source in sources]
    programs = {driver: directory / f"{driver}.run" for driver in DRIVERS}
    for driver, program in programs.items():
        source = compilers.TEST_SOURCES / driver
        # The drivers' own arithmetic is only that of the data, which must not depend on the flags in question.
        own = [*common, "-O1", "-ffp-contract=off", "-Wno-float-conversion"]
        compilers.run(target.compiler, *own, source, *objects, *target.libraries, "-o", program)
    return programs


def outputs(target: Target, native: Path, flags: tuple[str, ...] = ()) -> dict[str, str] | None:
    """What each driver prints; None for a target that is only compiled."""
    with tempfile.TemporaryDirectory() as directory:
        programs = build(target, native.resolve(), Path(directory), flags)
        if target.runner is None:
            return None
        command = [target.runner] if target.runner else []
        return {driver: compilers.run(*command, program) for driver, program in programs.items()}


def checksums(text: str) -> set[str]:
    """The checksums of a driver's instruction sets."""
    return {line.split()[-1] for line in text.splitlines()}


def calls(text: str) -> dict[str, list[list[str]]]:
    """Instruction set -> the words of each line of known_words.c."""
    found: dict[str, list[list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("== "):
            lines = found.setdefault(line[3:], [])
        else:
            lines.append(line.split())
    return found


def differences(a: dict[str, str], b: dict[str, str]) -> Iterator[str]:
    """Where two targets, or two instruction sets of theirs, have different results."""
    (reference, expected), *_ = calls(a[LANES]).items()
    for simd, lines in chain(calls(a[LANES]).items(), calls(b[LANES]).items()):
        for mine, theirs in zip(lines, expected, strict=True):
            for lane, (x, y) in enumerate(zip(mine, theirs, strict=True)):
                if x != y and "-" not in (x, y):
                    yield f"{' '.join(mine[:12])} ...: word {lane} is {x} by {simd}, and {y} by {reference}"
    for driver in CHECKSUMS:
        if len(checksums(a[driver]) | checksums(b[driver])) > 1:
            yield f"{driver}:\n{a[driver]}{b[driver]}"


def main() -> int:
    """Build, run and compare; 0 if all is equal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--native", type=Path, default=compilers.NATIVE)
    parser.add_argument("--flags", type=shlex.split, default=[], help="for all but the first target")
    args = parser.parse_args()
    for name, target in TARGETS.items():
        if not args.targets and target.missing():
            print(f"{name}: not run, no {' and no '.join(target.missing())}")
    names = args.targets or [name for name, target in TARGETS.items() if not target.missing()]
    reference = None
    equal = bool(names)
    for name in names:
        printed = outputs(TARGETS[name], args.native, tuple(args.flags) if reference else ())
        if printed is None:
            print(f"{name}: compiled without a warning", flush=True)
            continue
        reference = reference or printed
        found = list(differences(reference, printed))
        lanes = [word for lines in calls(printed[LANES]).values() for line in lines for word in line]
        sets = ", ".join(calls(printed[LANES]))
        sums = " ".join(chain.from_iterable(sorted(checksums(printed[driver])) for driver in CHECKSUMS))
        print(f"{name} ({sets}): {len(lanes)} words, {len(found)} differences, checksums {sums}", flush=True)
        print(*found[:20], sep="\n", end="\n" if found else "")
        equal &= not found
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
