"""Fuzz the C core with libFuzzer under AddressSanitizer and UBSan; exit 1 on a finding.

    python tests/fuzz/core.py [--seconds N | --runs N] [--seed N] [--define MACRO] [--corpus DIRECTORY] [TARGET ...]

Builds the core and the targets in c/, or those named, by clang, and gives each the same time or number of runs. What
fails is printed with the report and kept as crash-* in its target's part of the corpus, where a later run begins with
it. Needs clang with libFuzzer (Debian: libclang-rt-*-dev).
"""

from __future__ import annotations

import argparse
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import compilers

HERE = Path(__file__).resolve().parent / "c"
TARGETS = sorted(path.stem for path in HERE.glob("*.c"))
CHECKS = "address,undefined,float-cast-overflow,float-divide-by-zero"
# Pointers that overflow are looked for by sanitize.py: here clang would take most of a minute to compile the checks.
UNCHECKED = "pointer-overflow"
# The last -O counts: higher levels let the compiler use undefined behaviour before the sanitizer sees it.
FLAGS = ["-O1", "-gline-tables-only", "-fno-sanitize-recover=all", f"-fno-sanitize={UNCHECKED}"]
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


@functools.cache
def is_available() -> bool:
    """Whether clang can link a fuzzer."""
    if not shutil.which("clang"):
        return False
    with tempfile.TemporaryDirectory() as directory:
        source = Path(directory) / "nothing.c"
        source.write_text("int LLVMFuzzerTestOneInput(const char *bytes, unsigned long size);\n"
                          "int LLVMFuzzerTestOneInput(const char *bytes, unsigned long size) {"
                          " return bytes == 0 && size; }\n")  # fmt: skip
        command = ["clang", "-fsanitize=fuzzer,address,undefined", str(source), "-o", str(source.with_suffix(""))]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def build_core(directory: Path) -> list[Path]:
    """Compile the core for fuzzing; its objects."""
    flags = [*compilers.build_flags(), f"-fsanitize=fuzzer-no-link,{CHECKS}", *FLAGS]
    compilers.run("clang", *flags, "-c", *compilers.SOURCES, cwd=directory)
    return [directory / f"{source.stem}.o" for source in compilers.SOURCES]


def build_target(target: str, objects: list[Path], directory: Path, defines: list[str]) -> Path:
    """Compile one target and link it to the core."""
    flags = [*compilers.build_flags(), f"-fsanitize=fuzzer,{CHECKS}", *FLAGS, *WARNINGS]
    flags += [f"-I{compilers.NATIVE}", f"-I{compilers.TEST_SOURCES}"]
    program = directory / "-".join([target, *defines])
    compilers.run(
        "clang", *flags, *(f"-D{define}" for define in defines), HERE / f"{target}.c", *objects, "-lm", "-o", program
    )
    return program


def fuzz(program: Path, corpus: Path, limits: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a target; findings are its standard error and a return code that is not 0."""
    corpus.mkdir(parents=True, exist_ok=True)
    fixed = ["-max_len=1024", "-len_control=0", "-timeout=60", "-print_final_stats=1", f"-artifact_prefix={corpus}/"]
    return subprocess.run([program, *fixed, *limits, corpus], capture_output=True, text=True, check=False)


def summary(report: str) -> str:
    """Of a report without findings, how much was tried."""
    lines = [line.removeprefix("stat::") for line in report.splitlines() if line.startswith("stat::")]
    return ", ".join(" ".join(line.split()) for line in lines[:2])


def main(arguments: list[str] | None = None, objects: list[Path] | None = None) -> int:
    """Build and run; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("targets", nargs="*", default=TARGETS, metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--runs", type=int, help="inputs for each target, instead of a time")
    parser.add_argument("--seed", type=int, default=0, help="of libFuzzer; 0 takes another one each time")
    parser.add_argument("--define", action="append", default=[], help="compile the targets with this macro")
    parser.add_argument("--corpus", type=Path, help="where inputs are kept, a directory a target; nowhere by default")
    args = parser.parse_args(arguments)
    if unknown := set(args.targets) - set(TARGETS):
        parser.error(f"no target: {', '.join(unknown)}")
    if not is_available():
        print("clang cannot link a fuzzer here")
        return 1
    limits = [f"-runs={args.runs}"] if args.runs else [f"-max_total_time={args.seconds}"]
    found = 0
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        objects = objects or build_core(directory)
        for target in args.targets:
            program = build_target(target, objects, directory, args.define)
            corpus = (args.corpus or directory / "corpus") / target
            done = fuzz(program, corpus.resolve(), [*limits, f"-seed={args.seed}"])
            if done.returncode == 0:
                print(f"{target}: {summary(done.stderr)}", flush=True)
                continue
            found += 1
            report = [line for line in done.stderr.splitlines() if not line.lstrip().startswith(("#", "NEW_FUNC"))]
            print(f"{target}: a finding", *report, sep="\n", flush=True)
            for crash in sorted(corpus.glob("crash-*")):
                print(f"{crash.name}: {crash.read_bytes().hex()}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
