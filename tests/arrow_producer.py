"""A producer of the Arrow C data interface for tests: structs of eight-byte fields, and a count of live ones.

Written from the specification, and not with what it tests.
"""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_char_p, c_int, c_int64, c_void_p, py_object
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_SCHEMA, _ARRAY, _STREAM = 9, 10, 5  # fields
_RELEASES = {_SCHEMA: 7, _ARRAY: 8, _STREAM: 3}  # which of them is the release callback
_new_capsule = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", ctypes.pythonapi))


@dataclass
class Node:
    """A column in Arrow's layout. Buffers are bytes; None is a null pointer."""

    format: str
    length: int
    buffers: list[bytes | None]
    offset: int = 0
    dictionary: Node | None = None
    children: list[Node] = field(default_factory=list)


def bits(flags: Any) -> bytes:
    return np.packbits(np.asarray(flags, bool), bitorder="little").tobytes()


def validity(values: list[Any], padding: int = 0) -> bytes | None:
    flags = [True] * padding + [value is not None for value in values]
    return None if all(flags) else bits(flags)


def numbers(values: list[Any], code: str, dtype: str, offset: int = 0) -> Node:
    """Values after `offset` others; where one is missing there is garbage."""
    filled = np.array([99] * offset + [77 if value is None else value for value in values], dtype)
    return Node(code, len(values), [validity(values, offset), filled.tobytes()], offset)


def booleans(values: list[Any], offset: int = 0) -> Node:
    flags = [True] * offset + [value is not False for value in values]
    return Node("b", len(values), [validity(values, offset), bits(flags)], offset)


def texts(values: list[str | None], code: str = "u", offset: int = 0) -> Node:
    encoded = [b"before"] * offset + [b"" if value is None else value.encode() for value in values]
    bounds = np.cumsum([0, *map(len, encoded)]).astype({"u": "i4", "U": "i8"}[code])
    return Node(code, len(values), [validity(values, offset), bounds.tobytes(), b"".join(encoded)], offset)


def views(values: list[str | None]) -> Node:
    """Long texts go to two buffers by turns; a missing one is a view of nowhere."""
    long: list[bytes] = [b"", b""]
    out = b""
    for i, value in enumerate(values):
        data = b"" if value is None else value.encode()
        if value is None:
            out += np.array([1000, 0, 12345, -6], "i4").tobytes()
        elif len(data) <= 12:
            out += np.array([len(data)], "i4").tobytes() + data.ljust(12, b"\0")
        else:
            place = np.array([i % 2, len(long[i % 2])], "i4").tobytes()
            out += np.array([len(data)], "i4").tobytes() + data[:4] + place
            long[i % 2] += data
    sizes = np.array([len(part) for part in long], "i8").tobytes()
    return Node("vu", len(values), [validity(values), out, *long, sizes])


def encoded(positions: list[int | None], dictionary: Node, code: str = "c", dtype: str = "i1") -> Node:
    node = numbers(positions, code, dtype)
    node.dictionary = dictionary
    return node


class Producer:
    """Exports chunks of one type as a stream, or a single one as an array.

    Attributes
    ----------
    live : int
        Structs that were handed out and not released.
    handed_out : int
    """

    def __init__(self, *chunks: Node, as_array: bool = False, fails_at: int | None = None) -> None:
        self.live = self.handed_out = 0
        self._chunks = chunks
        self._fails_at = fails_at
        self._keep: list[Any] = []
        if as_array:
            self.__arrow_c_array__ = self._array
        else:
            self.__arrow_c_stream__ = self._stream

    def _array(self, requested_schema: object = None) -> tuple[object, object]:
        (chunk,) = self._chunks
        schema, array = (c_int64 * _SCHEMA)(), (c_int64 * _ARRAY)()
        self._fill_schema(schema, chunk)
        self._fill_array(array, chunk)
        return self._capsule(schema, b"arrow_schema"), self._capsule(array, b"arrow_array")

    def _stream(self, requested_schema: object = None) -> object:
        remaining = list(self._chunks)
        left = [self._fails_at]

        def get_schema(_: int, out: int) -> int:
            if self._fails_at == -1:
                return 5
            self._fill_schema((c_int64 * _SCHEMA).from_address(out), self._chunks[0])
            return 0

        def get_next(_: int, out: int) -> int:
            if left[0] == 0:
                return 22
            if left[0] is not None:
                left[0] -= 1
            array = (c_int64 * _ARRAY).from_address(out)
            if remaining and remaining[0].length >= 0:
                self._fill_array(array, remaining.pop(0))
            else:
                array[_RELEASES[_ARRAY]] = 0
            return 0

        stream = (c_int64 * _STREAM)()
        stream[0] = self._function(CFUNCTYPE(c_int, c_void_p, c_void_p)(get_schema))
        stream[1] = self._function(CFUNCTYPE(c_int, c_void_p, c_void_p)(get_next))
        self._to_be_released(stream)
        return self._capsule(stream, b"arrow_array_stream")

    def _fill_schema(self, schema: Any, node: Node, *, is_child: bool = False) -> None:
        schema[0] = self._bytes(node.format.encode() + b"\0")
        schema[4], schema[5] = len(node.children), self._pointers(node.children, _SCHEMA, self._fill_schema)
        if node.dictionary is not None:
            schema[6] = self._pointer(node.dictionary, _SCHEMA, self._fill_schema)
        if not is_child:
            self._to_be_released(schema)

    def _fill_array(self, array: Any, node: Node, *, is_child: bool = False) -> None:
        array[0], array[1], array[2], array[3] = node.length, -1, node.offset, len(node.buffers)
        addresses = [0 if buffer is None else self._bytes(buffer) for buffer in node.buffers]
        array[5] = self._address((c_int64 * max(1, len(addresses)))(*addresses))
        array[4], array[6] = len(node.children), self._pointers(node.children, _ARRAY, self._fill_array)
        if node.dictionary is not None:
            array[7] = self._pointer(node.dictionary, _ARRAY, self._fill_array)
        if not is_child:
            self._to_be_released(array)

    def _pointer(self, node: Node, fields: int, fill: Any) -> int:
        struct = (c_int64 * fields)()
        fill(struct, node, is_child=True)
        return self._address(struct)

    def _pointers(self, nodes: list[Node], fields: int, fill: Any) -> int:
        addresses = [self._pointer(node, fields, fill) for node in nodes]
        return self._address((c_int64 * len(nodes))(*addresses)) if nodes else 0

    def _to_be_released(self, struct: Any) -> None:
        """The consumer may move the struct, so the callback goes by the address that it is given."""
        place = _RELEASES[len(struct)]

        def release(address: int) -> None:
            self.live -= 1
            (c_int64 * len(struct)).from_address(address)[place] = 0

        struct[place] = self._function(CFUNCTYPE(None, c_void_p)(release))
        self.live += 1
        self.handed_out += 1

    def _capsule(self, struct: Any, name: bytes) -> object:
        self._keep.append(name)
        capsule: object = _new_capsule(self._address(struct), name, None)
        return capsule

    def _function(self, function: Any) -> int:
        self._keep.append(function)
        return ctypes.cast(function, c_void_p).value or 0

    def _bytes(self, content: bytes) -> int:
        return self._address(ctypes.create_string_buffer(content, max(1, len(content))))

    def _address(self, memory: Any) -> int:
        self._keep.append(memory)
        return ctypes.addressof(memory)
