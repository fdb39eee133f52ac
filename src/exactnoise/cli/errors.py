"""Exit codes, and the two failures a command reports in its own words.

No message ever holds a value read from a table: names of keys, columns and files, and line numbers,
are all a message may say. What a message may not say is in the file the reader already has.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

__all__ = ["SENSITIVITY", "CommandError", "ContentError", "ExitCode", "UsageError", "refuse_missing"]

SENSITIVITY = "how much one person can change the numbers in total; 1 for a count"


class ExitCode(IntEnum):
    """What the process answers to the shell."""

    DONE = 0
    OTHER = 1
    USAGE = 2
    REFUSED = 3
    CONTENT = 4
    IO = 5
    INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class CommandError(Exception):
    """A failure whose message was written for the person at the terminal."""

    exit_code = ExitCode.OTHER


class UsageError(CommandError):
    """Options that do not make sense, alone or together: known before any data is read."""

    exit_code = ExitCode.USAGE


class ContentError(CommandError):
    """A table that is not what the options say it is."""

    exit_code = ExitCode.CONTENT


def refuse_missing(options: Mapping[str, str]) -> None:
    """Ask for all options that are missing at once, each with what it means."""
    if options:
        raise UsageError("; ".join(f"{option}: {meaning}" for option, meaning in options.items()))
