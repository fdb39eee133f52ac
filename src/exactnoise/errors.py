"""Every exception of the package, and the table from the C core's status codes to them.

Each exception derives from :class:`ExactNoiseError` and from the built-in exception that a
reader would expect, so both ``except ExactNoiseError`` and ``except ValueError`` work.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exactnoise.accounting.cost import PrivacyCost

__all__ = [
    "STATUS",
    "BudgetExceeded",
    "EntropyError",
    "ExactNoiseError",
    "IdConflict",
    "JobError",
    "LedgerDamaged",
    "LedgerNote",
    "LedgerUnavailable",
    "MissingExtra",
    "SchemaError",
    "SnapshotDamaged",
    "SnapshotLost",
    "UnsupportedInstructionSet",
    "raise_for_status",
]


class ExactNoiseError(Exception):
    """Base class of the exceptions that this package defines."""


class BudgetExceeded(ExactNoiseError, ValueError, RuntimeError):  # noqa: N818
    """A spend does not fit in what remains of a budget; nothing was spent and nothing drawn.

    Parameters
    ----------
    message : str
        The refusal in words, amounts included.
    requested : PrivacyCost or None
        What was asked for, in the budget's currency; None when no amount was named because
        nothing at all remains (``split`` and ``fit`` on an exhausted budget).
    spent, remaining : PrivacyCost or None
        The state of the budget at the refusal. They add up to its total.
    largest_epsilon : Fraction or None
        The largest epsilon at which it would have fitted; None when nothing fits, and for what is
        priced by rho (then ``remaining.rho`` is the largest).
    scale : float or None
        The scale of the refused mechanism's noise at the largest price that fits; for a bare cost,
        that of noise for a sensitivity of 1.

    Notes
    -----
    Pickling keeps the attributes, so that a refusal in a worker process arrives whole.
    """

    def __init__(
        self,
        message: str,
        *,
        requested: PrivacyCost | None = None,
        spent: PrivacyCost | None = None,
        remaining: PrivacyCost | None = None,
        largest_epsilon: Fraction | None = None,
        scale: float | None = None,
    ) -> None:
        super().__init__(message)
        self.requested = requested
        self.spent = spent
        self.remaining = remaining
        self.largest_epsilon = largest_epsilon
        self.scale = scale


class IdConflict(ExactNoiseError, ValueError):  # noqa: N818
    """An id is taken: by another query, by a process at work on it, or by what was charged; nothing was spent."""


class LedgerDamaged(ExactNoiseError, ValueError):  # noqa: N818
    """A file is no ledger of this version, or its entries are not what was once written; nothing was spent."""


class LedgerUnavailable(ExactNoiseError, OSError):  # noqa: N818
    """A ledger cannot be opened, locked, read or written to: what the transaction was to record is not recorded."""


class LedgerNote(str):
    """What a failure left behind in a ledger, among the notes of the exception: public, unlike the notes of others."""

    __slots__ = ()


class SnapshotDamaged(ExactNoiseError, ValueError):  # noqa: N818
    """A published file, its metadata and the ledger do not agree."""


class SnapshotLost(ExactNoiseError, FileNotFoundError):  # noqa: N818
    """A release was committed, and its file is gone: it is never drawn again."""


class MissingExtra(ExactNoiseError, ImportError):  # noqa: N818
    """A part of the package needs a library that is installed only on request.

    Parameters
    ----------
    purpose : str
        What needs it.
    library : str
        Its name.
    extra : str
        The extra of this package that brings it.
    """

    def __init__(self, purpose: str, library: str, extra: str) -> None:
        super().__init__(f'{purpose} need {library}: pip install "exactnoise[{extra}]"')
        self._parts = (purpose, library, extra)

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str, str]]:
        return type(self), self._parts


class JobError(ExactNoiseError, ValueError):
    """A job file that asks for something that cannot be; the message names its key and line. No data was read."""


class SchemaError(ExactNoiseError, ValueError):
    """A file is not what it was said to be: another format, a missing column, a column of another type.

    Parameters
    ----------
    message : str
        Names of files, columns and types, which are public; never a value.
    """


class EntropyError(ExactNoiseError, OSError):
    """The operating system gave no random bytes; nothing was released."""


class UnsupportedInstructionSet(ExactNoiseError, RuntimeError):  # noqa: N818
    """The instruction set asked for is not available on this machine."""


STATUS: Mapping[int, tuple[type[ExactNoiseError], str]] = {
    1: (EntropyError, "the operating system gave no random bytes; nothing was released"),
    2: (UnsupportedInstructionSet, "this machine lacks the instruction set asked for"),
}
"""Status code of ``native/status.h`` -> exception and message. 0 is success, hence absent."""


def raise_for_status(code: int) -> None:
    """Raise the exception that belongs to a status code of the C core; return on success.

    Parameters
    ----------
    code : int
        A value of the enum in ``native/status.h``.

    Raises
    ------
    EntropyError, UnsupportedInstructionSet
        As `STATUS` says.
    ExactNoiseError
        For a code that is not in `STATUS`: core and package do not belong together.
    """
    if code == 0:
        return
    exception, message = STATUS.get(code, (ExactNoiseError, f"the native core returned the unknown status {code}"))
    raise exception(message)
