"""``exactnoise info``: what is installed, what this machine uses, and whether it works."""

from __future__ import annotations

import argparse
import json
import textwrap
from typing import Any

from exactnoise import _native
from exactnoise.cli.console import say
from exactnoise.cli.errors import CommandError
from exactnoise.publish.metadata import versions

__all__ = ["add_command"]

_DESCRIPTION = """\
Show versions, the instruction set in use and the source of randomness, and run
a self-check: ChaCha20 against the vector of RFC 8439, and every mechanism
against known answers, through the compiled core that is installed.
"""

_EPILOG = """\
EXACTNOISE_SIMD=portable exactnoise info   tries another instruction set; the
released numbers are the same for all of them.

exit code: 0, or 1 if the self-check fails.
"""


def add_command(commands: argparse._SubParsersAction[Any]) -> None:
    """Add ``info`` to the command line."""
    parser = commands.add_parser(
        "info",
        help="versions, instruction set, self-check",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Carry out ``exactnoise info``."""
    from importlib.metadata import version  # slow to import, and needed only here

    checks = _native.self_check()
    facts = {
        **versions(),
        "gmpy2": version("gmpy2"),
        "instruction_sets": list(_native.simd_available()),
        "randomness": f"ChaCha20, keyed anew for every call by {_native.entropy_source()}",
        "self_check": checks,
    }
    failed = [name for name, passed in checks.items() if not passed]
    if failed:
        raise CommandError(f"self-check failed: {', '.join(failed)}; do not release anything")
    say(json.dumps(facts) if args.json else _text(facts))


def _text(facts: dict[str, Any]) -> str:
    sets, in_use = facts["instruction_sets"], facts["instruction_set"]
    return "\n".join(
        [
            f"exactnoise       {facts['exactnoise']}",
            f"python           {facts['python']}, numpy {facts['numpy']}, gmpy2 {facts['gmpy2']}",
            f"instruction set  {in_use} (of {', '.join(sets)})",
            f"randomness       {facts['randomness']}",
            textwrap.fill(f"self-check       passed: {', '.join(facts['self_check'])}", 80, subsequent_indent=" " * 17),
        ]
    )
