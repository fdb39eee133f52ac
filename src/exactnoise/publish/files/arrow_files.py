"""Parquet and Arrow IPC files, a record batch at a time; needs the extra `files`.

Columns keep the types that the file declares. Memory does not grow with the file: pages are decoded as they are needed.

pyarrow's own error texts may quote what is in the file, so that none of them is passed on.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exactnoise.errors import MissingExtra, SchemaError
from exactnoise.publish.files.cells import as_text
from exactnoise.publish.files.table import Chunk, Kind, Table, found

__all__ = ["ArrowTable", "ArrowWriter", "chunked", "read_arrow"]

_ROWS = 2**17
_ROW_GROUP = 2**20
_READ_AHEAD = 2**20  # bytes
_ALIASES: Mapping[Kind, str] = {
    "number": "double",
    "exact": "int64",
    "integers": "int64",
    "booleans": "bool",
    "texts": "string",
    "dates": "date32",
    "times": "timestamp[us]",
    "person": "string",
}


def _libraries() -> Any:
    """pyarrow with its Parquet and IPC parts; imported when a file needs it."""
    try:
        import pyarrow as pa
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("Parquet and Arrow files", "pyarrow", "files") from None
    return pa


class ArrowTable(Table):
    """Some columns of a Parquet or Arrow IPC file."""

    def __init__(
        self, path: Path, columns: Mapping[str, Kind], *, parquet: bool, others: bool = False, rows: int | None = None
    ) -> None:
        pa = _libraries()
        self._pa, self._path, self._rows, self._part = pa, path, rows or _ROWS, 0.0
        self._kinds = columns
        super().__init__(path, path.stat().st_size)
        if not self.size:
            raise SchemaError(f"{self.name} is empty")
        self._source = pa.OSFile(str(path))
        try:
            with _in_our_words(pa, path, _unreadable(self.name, parquet)):
                self._open = _Parquet(pa, self._source) if parquet else _Ipc(pa, self._source)
            names = list(self._open.schema.names)
            for name in columns:
                found(self.name, name, names, "the schema")
            self._names = names if others else list(columns)
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> int:
        return round(self._part * self.size)

    def empty(self) -> Chunk:
        schema = self._open.schema
        none = [self._pa.array([], schema.field(name).type) for name in self._names]
        return Chunk(0, self._columns(none))

    def chunks(self) -> Iterator[Chunk]:
        batches = self._open.batches(self._names, self._rows)
        while True:
            with _in_our_words(self._pa, self._path, f"{self.name} is damaged: it cannot be read to its end"):
                batch, self._part = next(batches, (None, 1.0))
                if batch is None:
                    return
                chunk = Chunk(batch.num_rows, self._columns(batch.columns))
            yield chunk

    def close(self) -> None:
        self._source.close()

    def _columns(self, arrays: Sequence[Any]) -> dict[str, Any]:
        columns = {}
        for name, array in zip(self._names, arrays, strict=True):
            if name in self._kinds and self._pa.types.is_null(array.type):
                # Written by what saw no value, so that the type depends on the data: it counts as the one asked for.
                array = array.cast(self._pa.type_for_alias(_ALIASES[self._kinds[name]]))
            columns[name] = _column(array)
        return columns


def _unreadable(name: str, parquet: bool) -> str:
    return f"{name} cannot be read as {'Parquet' if parquet else 'an Arrow IPC file'}"


@contextlib.contextmanager
def _in_our_words(pa: Any, path: Path, problem: str) -> Iterator[None]:
    """Errors of pyarrow without their texts; it has what is damaged as an OSError too, of no number."""
    try:
        yield
    except OSError as error:
        if error.errno:
            raise OSError(error.errno, os.strerror(error.errno), str(path)) from None
        raise SchemaError(problem) from None
    except MemoryError:
        raise
    except (pa.ArrowException, ArithmeticError, LookupError, ValueError):
        raise SchemaError(problem) from None


class _Parquet:
    def __init__(self, pa: Any, source: Any) -> None:
        # Pages are read as they are needed: a row group can be as large as the file.
        self._file = pa.parquet.ParquetFile(source, buffer_size=_READ_AHEAD, pre_buffer=False)
        self.schema = self._file.schema_arrow

    def batches(self, names: list[str], rows: int) -> Iterator[tuple[Any, float]]:
        """Record batches, and how much of the file is read with them."""
        done, total = 0, max(self._file.metadata.num_rows, 1)
        for batch in self._file.iter_batches(batch_size=rows, columns=names):
            done += batch.num_rows
            yield batch, done / total


class _Ipc:
    def __init__(self, pa: Any, source: Any) -> None:
        self._file = pa.ipc.open_file(source)
        self.schema = self._file.schema

    def batches(self, names: list[str], rows: int) -> Iterator[tuple[Any, float]]:
        """As of Parquet."""
        total = self._file.num_record_batches
        for i in range(total):
            batch = self._file.get_batch(i).select(names)
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows), (i + 1) / total


def _column(array: Any) -> Any:
    """A view of NumPy's where nothing is missing: the values and their type are the same either way."""
    kind = str(array.type)
    if array.null_count == 0 and (kind.lstrip("u").startswith("int") or kind in ("float", "double")):
        return array.to_numpy(zero_copy_only=True)
    return array


def chunked(columns: Sequence[Any]) -> Any:
    """Columns of several chunks, some of which may be NumPy's, as one of Arrow's."""
    pa = _libraries()
    return pa.chunked_array([pa.array(column) if isinstance(column, np.ndarray) else column for column in columns])


class ArrowWriter:
    """A Parquet file (a row group a call of `write`, of 2^20 rows at most) or an Arrow IPC file (a batch a call)."""

    def __init__(self, path: Path, *, parquet: bool) -> None:
        self._pa = _libraries()
        self._path, self._parquet = path, parquet
        self._writer: Any = None
        self._schema: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        arrays = [self._array(columns[name], i) for i, name in enumerate(columns)]
        if self._writer is None:
            self._schema = self._pa.schema([(name, array.type) for name, array in zip(columns, arrays, strict=True)])
            make = self._pa.parquet.ParquetWriter if self._parquet else self._pa.ipc.new_file
            self._writer = make(str(self._path), self._schema)
        batch = self._pa.record_batch(arrays, schema=self._schema)
        if self._parquet:
            self._writer.write_batch(batch, row_group_size=_ROW_GROUP)
        else:
            self._writer.write_batch(batch)

    def close(self) -> None:
        if self._writer is None:
            self._path.write_bytes(b"")
        else:
            self._writer.close()

    def _array(self, column: Any, place: int) -> Any:
        pa = self._pa
        wanted = None if self._schema is None else self._schema.field(place).type
        if isinstance(column, (pa.Array, pa.ChunkedArray)):
            if isinstance(column, pa.DictionaryArray) and not self._parquet:
                column = column.dictionary_decode()  # an IPC file has one dictionary, and each batch may have another
            return column if wanted is None or column.type == wanted else column.cast(wanted)
        try:
            array = pa.array(column, type=wanted)
        except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
            return self._of_mixed_types(column, wanted)
        # Of a type that later batches can have too, where all is missing in the first.
        return array.cast(pa.string()) if wanted is None and pa.types.is_null(array.type) else array

    def _of_mixed_types(self, column: Any, wanted: Any) -> Any:
        """Text where the first batch has no one type; later, what is of another type is missing."""
        pa = self._pa
        if wanted is None or pa.types.is_string(wanted):
            return pa.array([None if value is None else as_text(value) for value in column], pa.string())
        values = []
        for value in column:
            try:
                values.append(pa.scalar(value, wanted).as_py())
            except (pa.ArrowException, ArithmeticError, TypeError, ValueError):
                values.append(None)
        return pa.array(values, wanted)


def read_arrow(path: Path, *, parquet: bool) -> dict[str, Any]:
    """Read a released file: numbers as NumPy arrays, others as lists."""
    pa = _libraries()
    with _in_our_words(pa, path, _unreadable(path.name, parquet)):
        if parquet:
            table = pa.parquet.ParquetFile(str(path)).read()
        else:
            with pa.memory_map(str(path)) as source:
                table = pa.ipc.open_file(source).read_all()
        return {name: _public(table.column(name)) for name in table.column_names}


def _public(column: Any) -> Any:
    if column.null_count == 0 and str(column.type).lstrip("u").startswith(("int", "float", "double")):
        return np.array(column.to_numpy())
    return column.to_pylist()
