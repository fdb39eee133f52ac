"""Build, audit and test what is published, on every Python of this machine; exit 1 if anything is wrong.

    python tests/packaging/wheels.py [--quick] [--python PATH ...] [--keep DIRECTORY] [PYTEST ARGUMENT ...]

Needs `python -m pip install --group release`. The sdist is built from the source tree and the wheel from the sdist;
both are checked, the wheel is audited and, on Linux, repaired. For every Python found (on PATH, by pyenv, or named) the
repaired wheel is installed into a fresh environment, and the tests of the sdist run there without a compiler: PATH has
that environment, TOOLS and nothing else. Tests that compile are skipped and say so. With --quick the tests are those of
[tool.cibuildwheel]; else all of them, or what the further arguments choose. A free-threaded Python gets a wheel of its
own, since it cannot use the stable ABI.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ASK = """
import json, sys, sysconfig, venv
json.dump([list(sys.version_info[:3]), bool(sysconfig.get_config_var("Py_GIL_DISABLED"))], sys.stdout)
"""
COMPILERS = ["cc", "gcc", "clang", "c99", "cl"]
# What tests of the command line run beside it.
TOOLS = ["sh", "cat", "date", "mkdir", "mv", "rm"]
# It asserts that a compiler is here, so that no run leaves out by chance what is compiled.
NEEDS_A_COMPILER = "tests/native/test_sanitizers.py::test_a_compiler_is_here"


@dataclass(frozen=True)
class Python:
    """An interpreter that can make environments."""

    path: Path
    version: tuple[int, ...]
    free_threaded: bool

    def __str__(self) -> str:
        return ".".join(map(str, self.version)) + ("t" if self.free_threaded else "")


def run(*command: str | Path, **kwargs: object) -> None:
    """Run a command, which has the output to itself; a failure ends all."""
    print("+", *command, flush=True)
    subprocess.run(list(map(str, command)), check=True, **kwargs)


def ask(path: Path) -> Python | None:
    """What an interpreter is, or None if it does not work or is too old."""
    try:
        done = subprocess.run([path, "-c", ASK], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    version, free_threaded = json.loads(done.stdout)
    return Python(path, tuple(version), free_threaded) if version >= [3, 11] else None


def pythons() -> list[Python]:
    """One of each kind, oldest first."""
    names = [f"python3.{minor}{kind}" for minor in range(11, 20) for kind in ("", "t")]
    paths = [Path(found) for name in names if (found := shutil.which(name))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    paths += sorted(pyenv.glob("versions/*/bin/python"))
    found = {str(python): python for python in map(ask, paths) if python}
    return sorted(found.values(), key=lambda python: (python.version, python.free_threaded))


def build(directory: Path) -> tuple[Path, Path]:
    """The sdist, and the wheel built from it, both checked."""
    run(sys.executable, "-m", "build", "--outdir", directory, ROOT, stdout=subprocess.DEVNULL)
    (sdist,), (wheel,) = directory.glob("*.tar.gz"), directory.glob("*.whl")
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    run(sys.executable, "-m", "check_wheel_contents", wheel)
    run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    return sdist, repaired(wheel)


def repaired(wheel: Path) -> Path:
    """The wheel with its manylinux tag, as it is published."""
    if sys.platform != "linux":
        return wheel
    house = wheel.parent / "repaired"
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run(sys.executable, "-m", "auditwheel", "repair", "--strip", "-w", house, wheel, env=environment)
    (found,) = house.glob(f"{'-'.join(wheel.stem.split('-')[:-1])}-*.whl")
    wheel.unlink()
    return found


def install(python: Python, sdist: Path, wheel: Path, extras: str, directory: Path) -> Path:
    """A fresh environment with the wheel; its folder of programs."""
    environment = directory / f"python{python}"
    run(python.path, "-m", "venv", environment)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [programs / "python", "-m", "pip", "--disable-pip-version-check"]
    if python.free_threaded:
        run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", directory / str(python), sdist)
        (built,) = (directory / str(python)).glob("*.whl")
        wheel = repaired(built)
    run(*pip, "install", "--quiet", "--only-binary=:all:", f"{wheel}{extras}")
    for tool in TOOLS:
        if place := shutil.which(tool):
            (programs / tool).symlink_to(place)
    return programs


def test(programs: Path, source: Path, arguments: list[str] | str) -> int:
    """Run the tests against the installed wheel, with no compiler in reach; pytest's exit code."""
    environment = {**os.environ, "PATH": str(programs)}
    for name in ("CC", "PYTHONPATH", "PYTHONHOME"):
        environment.pop(name, None)
    found = [name for name in COMPILERS if shutil.which(name, path=str(programs))]
    assert not found, f"{programs} has {found}"
    python = programs / "python"
    show = [python, "-c", "import exactnoise; print(exactnoise.__file__)"]
    where = subprocess.run(show, cwd=source, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert str(programs.parent) in where, where
    if isinstance(arguments, str):  # the commands of cibuildwheel
        return subprocess.run(arguments, cwd=source, env=environment, shell=True, check=False).returncode
    command = [str(python), "-m", "pytest", "--deselect", NEEDS_A_COMPILER, *arguments]
    return subprocess.run(command, cwd=source, env=environment, check=False).returncode


def main() -> int:
    """Build, audit, and test on each Python; 0 if all is well."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="the tests of [tool.cibuildwheel] only")
    parser.add_argument("--python", type=Path, action="append", help="an interpreter; by default all that are found")
    parser.add_argument("--keep", type=Path, help="where the sdist and the wheel go")
    args, rest = parser.parse_known_args()
    # A shell's background jobs ignore Ctrl-C, and what they start does; the tests press it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = [ask(path) for path in args.python] if args.python else pythons()
    if not chosen or None in chosen:
        parser.error("no Python 3.11 or later with venv")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    results = {}
    with tempfile.TemporaryDirectory(prefix="wheel-") as name:
        directory = Path(name)
        sdist, wheel = build(directory)
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            for path in (sdist, wheel):
                shutil.copy(path, args.keep)
        with tarfile.open(sdist) as archive:
            archive.extractall(directory, filter="data")
        source = directory / sdist.name.removesuffix(".tar.gz")
        for python in filter(None, chosen):
            started = time.monotonic()
            programs = install(python, sdist, wheel, "" if args.quick else "[test]", directory)
            if args.quick:
                run(programs / "python", "-m", "pip", "install", "--quiet", *settings["test-requires"])
            code = test(programs, source, settings["test-command"] if args.quick else rest)
            results[python] = f"{'passed' if code == 0 else 'FAILED'} in {time.monotonic() - started:.0f} s"
    print(wheel.name)
    for python, result in results.items():
        print(f"Python {python}: {result}")
    return 0 if all(result.startswith("passed") for result in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
