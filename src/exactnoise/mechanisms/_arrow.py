"""Columns of any library that speaks the Arrow C data interface, read without that library.

An object exports its column by `__arrow_c_stream__` (chunks) or `__arrow_c_array__` (one chunk), each a capsule around
a C struct whose producer frees the memory when told to. Here a column is read where it lies, within a `with` block that
releases every struct however it ends. A column's type is that of its schema: no value, and no missing one, changes it.

Source: The Arrow C data, C stream and PyCapsule interfaces, and the columnar format's layouts (arrow.apache.org).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Chunk", "Column", "Text", "UnsupportedFormatError", "exports", "is_table", "opened"]

_FIXED = {
    **dict(zip("cCsSiIlLefg", ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"), strict=True)),
    "tss:": "M8[s]",
    "tsm:": "M8[ms]",
    "tsu:": "M8[us]",
    "tsn:": "M8[ns]",
}
_BOOL, _DAYS, _MILLISECONDS, _STRUCT, _VIEWS = "b", "tdD", "tdm", "+s", "vu"
_OFFSETS = {"u": "i4", "U": "i8"}
_TEXT_VIEW = np.dtype([("length", "i4"), ("inline", "V4"), ("buffer", "i4"), ("offset", "i4")])
_INLINE = 12  # bytes of a text that stand in its view, after the length

_Missing: TypeAlias = npt.NDArray[np.bool_] | None


class UnsupportedFormatError(Exception):
    """A column of a type that is not read here."""


class Text:
    """A column of UTF-8 texts, which nobody has checked: the i-th is `data[starts[i]:stops[i]]`."""

    def __init__(self, data: bytes, starts: npt.NDArray[np.int64], stops: npt.NDArray[np.int64]) -> None:
        self.data = data
        self.starts = starts
        self.stops = stops

    def __len__(self) -> int:
        return self.starts.size

    def mapped(self, function: Callable[[list[bytes]], Iterable[int]]) -> npt.NDArray[np.int64]:
        """An integer for each text, a block of texts at a time."""
        data, block = self.data, 1 << 14
        out = np.empty(len(self), np.int64)
        for i in range(0, len(self), block):
            bounds = zip(self.starts[i : i + block].tolist(), self.stops[i : i + block].tolist(), strict=True)
            values = [data[start:stop] for start, stop in bounds]
            out[i : i + block] = np.fromiter(function(values), np.int64, len(values))
        return out


class Chunk(NamedTuple):
    """Rows that lie together; arrays are valid until the next chunk is asked for.

    Attributes
    ----------
    values : ndarray or Text
        With a dictionary: integer positions in it. What stands for a missing value means nothing.
    missing : ndarray of bool or None
        Rows without a value; None where the producer says that there are none.
    dictionary : Chunk or None
        The values that positions stand for; it is the chunk's own.
    """

    values: npt.NDArray[Any] | Text
    missing: _Missing
    dictionary: Chunk | None = None


class Column(NamedTuple):
    """A whole column.

    Attributes
    ----------
    dtype : dtype or None
        NumPy's name of the values' type (the dictionary's, where there is one); None for texts.
    encoded : bool
        Whether the chunks have dictionaries.
    chunks : iterator of Chunk
    """

    dtype: np.dtype[Any] | None
    encoded: bool
    chunks: Iterator[Chunk]

    def gathered(self) -> tuple[npt.NDArray[Any], _Missing]:
        """All values of a column of numbers, and the missing ones, as copies."""
        values, missing = [np.zeros(0, self.dtype)], [np.zeros(0, np.bool_)]
        can_miss = False
        for chunk in self.chunks:
            values.append(np.array(chunk.values))
            missing.append(np.zeros(len(chunk.values), np.bool_) if chunk.missing is None else chunk.missing)
            can_miss |= chunk.missing is not None
        if len(values) == 2:  # one chunk
            return values[1], missing[1] if can_miss else None
        return np.concatenate(values), np.concatenate(missing) if can_miss else None


class _Schema(Structure):
    pass


class _Array(Structure):
    pass


class _Stream(Structure):
    pass


_Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(_Schema))),
    ("dictionary", POINTER(_Schema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
_Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(_Array))),
    ("dictionary", POINTER(_Array)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
_Stream._fields_ = [
    ("get_schema", c_void_p),
    ("get_next", c_void_p),
    ("get_last_error", c_void_p),
    ("release", c_void_p),
    ("private_data", c_void_p),
]

_Release = ctypes.CFUNCTYPE(None, c_void_p)
_Get = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
_READ = 0x100  # PyBUF_READ
_memory_view = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, ctypes.c_ssize_t, c_int)(
    ("PyMemoryView_FromMemory", ctypes.pythonapi)
)
_capsule_pointer = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def _in_words(form: str) -> str:
    """A type as Arrow's libraries call it, where tables often have it; else in the notation of the interface."""
    if zoned := re.fullmatch("ts([smun]):(.+)", form):
        return f"a column of type timestamp[{zoned[1].removesuffix('s')}s, tz={zoned[2]}]"
    if decimal := re.fullmatch(r"d:(\d+),(-?\d+)(?:,(\d+))?", form):
        return f"a column of type decimal{decimal[3] or 128}({decimal[1]}, {decimal[2]})"
    return f"Arrow format {form!r}"


def exports(x: Any) -> bool:
    """Whether an object offers a column in this way."""
    return hasattr(x, "__arrow_c_stream__") or hasattr(x, "__arrow_c_array__")


def is_table(x: Any) -> bool:
    """Whether an object is no column but has some. What NumPy cannot read, as a query, is taken for its only column."""
    is_query = exports(x) and not hasattr(x, "__array__")
    return (hasattr(x, "columns") or hasattr(x, "column_names")) and not is_query


@contextmanager
def opened(x: Any) -> Iterator[Column]:
    """The column that an object exports: numbers, booleans, texts, dates, times without a zone, dictionaries of these.

    A table of one column is that column. What is taken out of the block must be a copy.

    Raises
    ------
    UnsupportedFormatError
        The column is of another type.
    OSError
        The producer could not go on. Its message is left out, as it may quote values.
    """
    with ExitStack() as stack:
        if hasattr(x, "__arrow_c_stream__"):
            capsule = x.__arrow_c_stream__()  # its destructor frees the struct
            stream = _released(stack, _of_capsule(capsule, b"arrow_array_stream", _Stream))
            schema = _released(stack, _Schema())
            _get(stream.get_schema, stream, schema)
            layout = _Layout(schema)
            chunks = _chunks(stream, layout)
            stack.callback(chunks.close)
            yield Column(layout.dtype, layout.encoded, chunks)
            return
        schema_capsule, array_capsule = x.__arrow_c_array__()
        schema = _released(stack, _of_capsule(schema_capsule, b"arrow_schema", _Schema))
        array = _released(stack, _of_capsule(array_capsule, b"arrow_array", _Array))
        layout = _Layout(schema)
        yield Column(layout.dtype, layout.encoded, iter([layout.read(array)]))


def _of_capsule(capsule: Any, name: bytes, kind: type[Any]) -> Any:
    return kind.from_address(_capsule_pointer(capsule, name))


def _released(stack: ExitStack, struct: Any) -> Any:
    """The struct, to be released at the end by its producer's function, which forgets itself when it is called."""

    def release() -> None:
        if struct.release:
            _Release(struct.release)(ctypes.addressof(struct))

    stack.callback(release)
    return struct


def _get(function: int, stream: _Stream, out: Structure) -> None:
    code = _Get(function)(ctypes.addressof(stream), ctypes.addressof(out))
    if code:
        raise OSError(code, "the producer of an Arrow stream failed")


def _chunks(stream: Any, layout: _Layout) -> Generator[Chunk, None, None]:
    while True:
        with ExitStack() as stack:
            array = _released(stack, _Array())
            _get(stream.get_next, stream, array)
            if not array.release:
                return
            yield layout.read(array)


class _Layout:
    """How the arrays of a schema are laid out."""

    def __init__(self, schema: Any) -> None:
        self._struct = schema.format.decode() == _STRUCT
        if self._struct:
            if schema.n_children != 1:
                raise UnsupportedFormatError(f"a table of {schema.n_children} columns")
            schema = schema.children[0].contents
        self._format = schema.format.decode()
        self._dictionary = _Layout(schema.dictionary.contents) if schema.dictionary else None
        self.encoded = self._dictionary is not None
        self.dtype: np.dtype[Any] | None = self._dictionary.dtype if self._dictionary else self._own_dtype()
        self._values = self._reader()

    def _own_dtype(self) -> np.dtype[Any] | None:
        if self._format in _FIXED:
            return np.dtype(_FIXED[self._format])
        if self._format in (_BOOL, _DAYS, _MILLISECONDS):
            return np.dtype("?" if self._format == _BOOL else "M8[D]")
        if self._format in _OFFSETS or self._format == _VIEWS:
            return None
        raise UnsupportedFormatError(_in_words(self._format))

    def _reader(self) -> Callable[[Any, int, int, _Missing], npt.NDArray[Any] | Text]:
        if self._format in _FIXED:
            return self._fixed
        return {_BOOL: _bits_of, _DAYS: _days, _MILLISECONDS: _days_in_milliseconds, _VIEWS: _views}.get(
            self._format, self._texts
        )

    def read(self, array: Any) -> Chunk:
        length, offset, outer = array.length, array.offset, None
        if self._struct:
            outer = _missing(array, offset, length)
            array = array.children[0].contents
            offset += array.offset
        missing = _missing(array, offset, length)
        if outer is not None:
            missing = outer if missing is None else missing | outer
        dictionary = None if self._dictionary is None else self._dictionary.read(array.dictionary.contents)
        return Chunk(self._values(array, offset, length, missing), missing, dictionary)

    def _fixed(self, array: Any, offset: int, length: int, _: _Missing) -> npt.NDArray[Any]:
        return _view(array.buffers[1], np.dtype(_FIXED[self._format]), offset, length)

    def _texts(self, array: Any, offset: int, length: int, _: _Missing) -> Text:
        if not length:  # then there need not be any offsets
            return Text(b"", np.zeros(0, np.int64), np.zeros(0, np.int64))
        offsets = _view(array.buffers[1], np.dtype(_OFFSETS[self._format]), offset, length + 1).astype(np.int64)
        first, last = int(offsets[0]), int(offsets[-1])
        data = _view(array.buffers[2], np.dtype(np.uint8), first, last - first).tobytes()
        return Text(data, offsets[:-1] - first, offsets[1:] - first)


def _views(array: Any, offset: int, length: int, missing: _Missing) -> Text:
    """A view is a length and either the text itself or its place in one of several buffers: buffers 2 .. n - 2."""
    views = _view(array.buffers[1], _TEXT_VIEW, offset, length)
    count = array.n_buffers - 3
    sizes = _view(array.buffers[array.n_buffers - 1], np.dtype(np.int64), 0, count)
    parts = [views.tobytes()]
    parts += [_view(array.buffers[2 + i], np.dtype(np.uint8), 0, int(sizes[i])).tobytes() for i in range(count)]
    begins = np.cumsum([*map(len, parts)], dtype=np.int64)  # of the buffers, in the joined bytes
    lengths = views["length"] if missing is None else np.where(missing, 0, views["length"])
    inline = lengths <= _INLINE
    own = np.arange(length, dtype=np.int64) * _TEXT_VIEW.itemsize + 4
    starts = np.where(inline, own, begins[np.where(inline, 0, views["buffer"])] + views["offset"])
    return Text(b"".join(parts), starts, starts + lengths)


def _missing(array: Any, offset: int, length: int) -> _Missing:
    if array.n_buffers < 1 or not array.buffers[0]:
        return None
    return ~_bits(array.buffers[0], offset, length)


def _bits_of(array: Any, offset: int, length: int, _: _Missing) -> npt.NDArray[np.bool_]:
    return _bits(array.buffers[1], offset, length)


def _bits(address: int | None, offset: int, length: int) -> npt.NDArray[np.bool_]:
    packed = _view(address, np.dtype(np.uint8), offset // 8, -(-(offset % 8 + length) // 8))
    return np.unpackbits(packed, bitorder="little")[offset % 8 : offset % 8 + length].view(np.bool_)


def _days(array: Any, offset: int, length: int, _: _Missing) -> npt.NDArray[np.datetime64]:
    return _view(array.buffers[1], np.dtype("i4"), offset, length).astype("M8[D]")


def _days_in_milliseconds(array: Any, offset: int, length: int, _: _Missing) -> npt.NDArray[np.datetime64]:
    return _view(array.buffers[1], np.dtype("M8[ms]"), offset, length).astype("M8[D]")


def _view(address: int | None, dtype: np.dtype[Any], start: int, count: int) -> npt.NDArray[Any]:
    """Elements start .. start + count - 1 of a buffer, read-only; an empty one may have no address."""
    if not count or not address:
        return np.zeros(count, dtype)
    memory = _memory_view(address + start * dtype.itemsize, count * dtype.itemsize, _READ)
    return np.frombuffer(memory, dtype)
