"""Fuzz what reads bytes by coverage, with atheris; exit 1 on a finding.

    python tests/fuzz/atheris_parsers.py [--seconds N] [--corpus DIRECTORY] [--planted | PARSER ...]

Each parser of parsers.py, or those named, gets the same time in a process of its own. An input that fails is kept as
crash-* in its part of the corpus. Needs `pip install atheris`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any


def load(planted: bool) -> dict[str, Any]:
    """The parsers, imported so that atheris sees which code runs; or one that fails."""
    import atheris

    sys.path.insert(0, str(Path(__file__).resolve().parent))
    with contextlib.redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["exactnoise", "tomllib"]):
        from parsers import PARSERS, Parser
    return {"planted": Parser([b"epsilon"], parse_planted)} if planted else PARSERS


def parse_planted(data: bytes, folder: Path) -> None:
    """Raise what no parser documents, on bytes that are not among the examples."""
    if not data.isascii():
        raise KeyError(data)


def fuzz(parse: Callable[[bytes, Path], None], corpus: Path, seconds: int) -> None:
    """Fuzz one parser in this process; does not return."""
    import atheris

    warnings.simplefilter("error")
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))

    def one(data: bytes) -> None:
        parse(data, folder)
        for left in folder.iterdir():
            left.unlink()

    limits = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=60", "-rss_limit_mb=4096"]
    atheris.Setup([sys.argv[0], *limits, f"-artifact_prefix={corpus}/", str(corpus)], one)
    try:
        atheris.Fuzz()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Run the parsers one after the other; 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parsers", nargs="*", metavar="PARSER", help="of parsers.py; all by default")
    parser.add_argument("--seconds", type=int, default=60, help="for each parser")
    parser.add_argument("--corpus", type=Path, help="where inputs are kept; nowhere by default")
    parser.add_argument("--planted", action="store_true", help="instead, one that fails and must be found")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # in this process
    args = parser.parse_args()
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed here")
        return 1
    parsers = load(args.planted)
    if unknown := set(args.parsers) - set(parsers):
        parser.error(f"no parser: {', '.join(unknown)}; there are: {', '.join(parsers)}")
    found = 0
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.parsers or parsers:
            corpus = (args.corpus or Path(temporary)).resolve() / name.replace(" ", "-")
            corpus.mkdir(parents=True, exist_ok=True)
            for i, example in enumerate(parsers[name].examples):
                (corpus / f"example-{i}").write_bytes(example)
            if args.here:
                fuzz(parsers[name].parse, corpus, args.seconds)
            own = [sys.executable, __file__, "--here", f"--seconds={args.seconds}", f"--corpus={corpus.parent}", name]
            own += ["--planted"] * args.planted
            done = subprocess.run(own, capture_output=True, text=True, check=False)
            last = next((line for line in reversed(done.stderr.splitlines()) if line.startswith("Done")), "")
            print(f"{name}: {last if done.returncode == 0 else done.stdout + done.stderr}", flush=True)
            found += done.returncode != 0
            for crash in sorted(corpus.glob("crash-*")):
                print(f"{crash.name}: {crash.read_bytes()!r}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
