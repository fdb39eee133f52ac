"""What a command says: results on standard output, everything else on standard error.

Either can be closed, full, a broken pipe, or of an encoding that lacks a character. Every text is
flushed at once, so that a failure shows where it can be handled and not when the process ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from typing import TextIO

__all__ = ["complain", "say"]


def say(text: str) -> None:
    """Print `text` and a line break on standard output.

    Characters its encoding lacks are written as backslash escapes.

    Raises
    ------
    OSError
        It is closed or cannot be written to.
    """
    _write(sys.stdout, text)


def complain(message: str) -> None:
    """Print one line on standard error, or nothing where that is not possible."""
    with contextlib.suppress(OSError):
        _write(sys.stderr, f"exactnoise: {message}")


def _write(stream: TextIO | None, text: str) -> None:
    if stream is None or stream.closed:  # Python has None for what its parent closed
        raise OSError(errno.EBADF, "standard output is closed")
    encoding = stream.encoding or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
        stream.flush()
    except OSError:
        _discard(stream)
        raise


def _discard(stream: TextIO) -> None:
    """Send what `stream` still holds nowhere; at exit it would fail again and set the exit code."""
    with contextlib.suppress(OSError):
        handle = stream.fileno()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, handle)
        os.close(null)
