"""A TOML file whose complaints name the key and its line, which the standard library's parser does not remember."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from exactnoise.errors import JobError

__all__ = ["Document", "Section", "shown"]

Key = tuple[str | int, ...]

_TOKEN = re.compile(
    r"""
    (?P<text>\"\"\"(?:\\.|[^\\])*?\"{3,5}|'''.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |(?P<comment>\#[^\n]*)
    |(?P<open>[\[{])
    |(?P<close>[\]}])
    |(?P<line>\n)
    |(?P<other>[^"'\#\[\]{}\n]+)
    """,
    re.VERBOSE | re.DOTALL,
)
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")
_PART = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'[^']*'|[A-Za-z0-9_-]+)\s*""")


class Document:
    """A parsed file; numbers with a point are kept as they are typed.

    Raises
    ------
    JobError
        The file is not UTF-8, or no valid TOML.
    OSError
        It cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError:
            raise JobError(f"{path}: not UTF-8 text") from None
        try:
            data = tomllib.loads(self._text, parse_float=Decimal)
            repr(data)  # a hexadecimal number is read at any length, but no message could quote it
        except tomllib.TOMLDecodeError as error:  # it names line and column
            raise JobError(f"{path}: not valid TOML: {error}") from None
        except (ValueError, ArithmeticError):  # of int and Decimal: thousands of digits, or an exponent as long
            raise JobError(f"{path}: a number in it is too long") from None
        except RecursionError:
            raise JobError(f"{path}: not valid TOML: brackets in brackets without end") from None
        self.root = Section(self, (), data)

    def error(self, key: Key, message: str) -> JobError:
        """What is wrong with the value of a key, or with a table."""
        line = self.line(key)
        where = f", line {line}" if line else ""
        name = ".".join(part if isinstance(part, str) else f"[{part + 1}]" for part in key).replace(".[", "[")
        return JobError(_DECIMAL.sub(r"\1", f"{self.path}{where}: {name + ': ' if name else ''}{message}"))

    def line(self, key: Key) -> int | None:
        """The line of a key, or of the nearest table that it would be in."""
        lines: dict[Key, int] = {}
        for found, line in _statements(self._text):
            for length in range(1, len(found) + 1):
                lines.setdefault(found[:length], line)
        return next((lines[key[:length]] for length in range(len(key), 0, -1) if key[:length] in lines), None)


class Section:
    """A table of the document, of which every key must be asked for."""

    def __init__(self, document: Document, key: Key, data: Mapping[str, Any]) -> None:
        self._document, self._key, self._data = document, key, data

    def error(self, name: str | None, message: str) -> JobError:
        """What is wrong with a key of the table, or with the table."""
        return self._document.error(self._key if name is None else (*self._key, name), message)

    def only(self, known: Collection[str]) -> None:
        """Refuse any key that is not known, and name the nearest one that is."""
        for name in self._data:
            if name not in known:
                near = difflib.get_close_matches(name, known, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
                raise self.error(name, f"there is no such key here; {hint}")

    def __contains__(self, name: str) -> bool:
        return name in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a key, of any type."""
        return self._data.get(name, default)

    def needed(self, name: str, why: str) -> Any:
        """The value of a key that must be there."""
        if name not in self._data:
            raise self.error(None, f"{name} is missing: {why}")
        return self._data[name]

    def text(self, name: str) -> str | None:
        """Text that is not empty, or None where the key is missing."""
        value = self._data.get(name)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.error(name, f"must be text in quotation marks, got {shown(value)}")
        return value

    def section(self, name: str) -> Section:
        """A table; an empty one where it is missing."""
        value = self._data.get(name, {})
        if not isinstance(value, dict):
            raise self.error(name, f"must be a table [{name}], got {shown(value)}")
        return Section(self._document, (*self._key, name), value)

    def sections(self, name: str) -> list[Section]:
        """The tables of an array of tables."""
        value = self._data.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise self.error(name, f"must be tables [[{name}]], got {shown(value)}")
        return [Section(self._document, (*self._key, name, i), item) for i, item in enumerate(value)]


def shown(value: Any) -> str:
    """A value as a message quotes it: short, and numbers as they are typed."""
    text = _DECIMAL.sub(r"\1", repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."


def _statements(text: str) -> Iterator[tuple[Key, int]]:
    """Each key of a valid document that is not inside a value, and its line."""
    table: Key = ()
    arrays: dict[Key, int] = {}
    for statement, line in _split(text):
        if statement.startswith("["):
            array = statement.startswith("[[")
            table = _of_arrays(_parts(statement.strip("[]")), arrays, new=array)
            yield table, line
        elif statement:
            yield (*table, *_parts(statement)), line


def _split(text: str) -> Iterator[tuple[str, int]]:
    """The statements of a document, each with its first line; of a key with its value only the key."""
    line, first, depth, written, in_value = 1, 1, 0, "", False
    for token in _TOKEN.finditer(text + "\n"):
        piece = token.group()
        if token.lastgroup == "line" and depth == 0:
            if written.strip():
                yield written.strip(), first
            written, in_value, first = "", False, line + 1
        elif token.lastgroup in ("open", "close"):
            # The brackets of a table's header stand where no value has begun.
            if in_value:
                depth += 1 if token.lastgroup == "open" else -1
            else:
                written += piece
        elif not in_value and token.lastgroup in ("text", "other"):
            before, equals, _ = piece.partition("=") if token.lastgroup == "other" else (piece, "", "")
            written += before
            in_value = bool(equals)
        line += piece.count("\n")


def _parts(name: str) -> tuple[str, ...]:
    """``a."b.c".d`` -> a, b.c, d."""
    parts = []
    for part in _PART.findall(name):
        parts.append(tomllib.loads(f"x = {part}")["x"] if part[0] in "\"'" else part)
    return tuple(parts)


def _of_arrays(name: tuple[str, ...], arrays: dict[Key, int], *, new: bool) -> Key:
    """The key of a table's header, with the number of each array of tables on the way."""
    key: Key = ()
    for i, part in enumerate(name):
        key = (*key, part)
        if new and i == len(name) - 1:
            arrays[key] = arrays.get(key, -1) + 1
        if key in arrays:
            key = (*key, arrays[key])
    return key
