"""The command line: ``exactnoise demo``, ``noise``, ``plan``, ``publish``, ``ledger`` and others.

One module a command; `main` dispatches and turns every failure into an exit code and one line that
never quotes a value of the user's table.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import importlib
import json
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

import exactnoise
from exactnoise.cli.console import complain, say
from exactnoise.cli.errors import CommandError, ExitCode, UsageError
from exactnoise.errors import (
    BudgetExceeded,
    ExactNoiseError,
    IdConflict,
    JobError,
    LedgerDamaged,
    LedgerNote,
    MissingExtra,
    SchemaError,
    SnapshotDamaged,
)

__all__ = ["main"]

_COMMANDS = ("demo", "noise", "plan", "publish", "verify", "ledger", "utility", "budget", "info")

_LONGEST_SHOWN = 40  # characters of what may have been typed by mistake
_NEGATIVE = re.compile(r"-[.]?[0-9]")

_EPILOG = """\
start here:
  exactnoise demo              a made-up table, from plan to release, in a second
  exactnoise noise --help      the same for your own table, with examples
  exactnoise plan --help       a nightly job, and what it would cost
  exactnoise publish --help    that job, paid for once and frozen
  exactnoise budget --help     how many queries a total privacy loss pays for
  python -m pydoc exactnoise   the Python package

exit codes:
  0 done, 2 usage, job file or a library that is missing, 3 refused by a budget,
  4 a file is not as declared, 5 reading or writing failed, 1 anything else, 130 interrupted
"""


class _Parser(argparse.ArgumentParser):
    """Reports a bad option as an exception, so that ``--json`` can report it too.

    An option that there is not is told before those that are missing: it may be one of them, mistyped.
    """

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        known = [option for action in self._actions for option in action.option_strings]
        own = args if self._subparsers is None else takewhile(lambda argument: argument.startswith("-"), args)
        for argument in takewhile(lambda argument: argument != "--", own):
            typed = argument.partition("=")[0]
            if typed.startswith("--") and " " not in typed and typed not in known:  # with a blank it is a value
                longer = [option for option in known if option.startswith(typed)]
                near = longer or difflib.get_close_matches(typed, known, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                self.error(f"there is no option {typed[:_LONGEST_SHOWN]}{hint}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        The exit code, an `exactnoise.cli.errors.ExitCode`.
    """
    arguments = _with_values(sys.argv[1:] if argv is None else list(argv))
    try:
        with _tidied_up_on_sigterm():
            args = _parser(_command(arguments)).parse_args(arguments)
            args.run(args)
        return ExitCode.DONE
    except BrokenPipeError:  # whoever read our output has seen enough
        return ExitCode.IO
    except (Exception, KeyboardInterrupt) as error:
        code, message = _explain(error)
        message = "; ".join([message, *(n for n in getattr(error, "__notes__", ()) if isinstance(n, LedgerNote))])
    if "--json" in arguments:
        with contextlib.suppress(OSError):
            say(json.dumps({"error": message, "exit_code": int(code)}))
    complain(message)
    return code


@contextlib.contextmanager
def _tidied_up_on_sigterm() -> Iterator[None]:
    """SIGTERM ends a command as Ctrl-C does, and afterwards what it did before.

    A program that calls `main` has forked children to whom SIGTERM must stay deadly: Python's handler
    runs between two instructions, so a child that the signal meets on its way into a wait never ends.
    """
    before = signal.getsignal(signal.SIGTERM)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield  # a handler that is not Python's cannot be put back, and only the main thread may set one
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _with_values(arguments: list[str]) -> list[str]:
    """``--bounds -1,1`` as ``--bounds=-1,1``: argparse takes what begins with a minus for an option."""
    joined: list[str] = []
    for argument in arguments:
        if _NEGATIVE.match(argument) and joined and joined[-1].startswith("--") and "=" not in joined[-1]:
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def _explain(error: BaseException) -> tuple[ExitCode, str]:
    match error:
        case CommandError():
            return error.exit_code, str(error)
        case BudgetExceeded():
            return ExitCode.REFUSED, str(error)
        case JobError() | IdConflict() | MissingExtra():
            return ExitCode.USAGE, str(error)
        case SchemaError() | LedgerDamaged() | SnapshotDamaged():
            return ExitCode.CONTENT, str(error)
        case OSError():
            reason = error.strerror or str(error)
            return ExitCode.IO, f"{error.filename}: {reason}" if error.filename else reason
        case ExactNoiseError():
            return ExitCode.OTHER, str(error)
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED, "interrupted"
        case _:  # the text of an unforeseen error may quote data, so only its place is told
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            return ExitCode.OTHER, f"unexpected {type(error).__name__} at {where}"


def _command(arguments: Sequence[str]) -> str:
    """The command that is asked for; or an option, for which it takes no command."""
    typed = arguments[0] if arguments else ""
    if typed in _COMMANDS or typed.startswith("-"):
        return typed
    known = f"the commands are {', '.join(_COMMANDS)}"
    if not typed:
        raise UsageError(f"{known}; try: exactnoise demo (see exactnoise --help)")
    near = difflib.get_close_matches(typed, _COMMANDS, 1)
    hint = f"did you mean {near[0]}?" if near else known
    raise UsageError(f"there is no command {typed[:_LONGEST_SHOWN]!r}; {hint} (see exactnoise --help)")


def _parser(command: str) -> argparse.ArgumentParser:
    """The parser of one command, whose imports are then the only ones; of all of them for an option."""
    parser = _Parser(
        prog="exactnoise",
        description="Differentially private noise, exactly rounded.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"exactnoise {exactnoise.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in (command,) if command in _COMMANDS else _COMMANDS:
        importlib.import_module(f"exactnoise.cli.{name}").add_command(commands)
    return parser
