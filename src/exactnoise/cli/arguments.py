"""Names of files that are typed as arguments."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["input_file", "output_file"]


def input_file(typed: str) -> Path:
    """A file to read."""
    return _file(typed, "standard input: say /dev/stdin")


def output_file(typed: str) -> Path:
    """A file to make."""
    return _file(typed, "standard output: a table and its metadata are files")


def _file(typed: str, instead: str) -> Path:
    if typed == "-":
        raise argparse.ArgumentTypeError(f"- does not stand for {instead} (./- is a file of that name)")
    return Path(typed)
