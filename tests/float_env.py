"""The processor's floating-point environment, as other libraries may leave it."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# Rounding; subnormal numbers as zeros; exceptions that end the process, and the old unit at the precision of a float.
HOSTILE = ["down", "up", "zero", "flush", "down flush", "up flush", "zero flush", "traps narrow"]


class Control:
    """The processor's floating-point control word, for the calling thread."""

    def __init__(self, library: Path) -> None:
        self._c = ctypes.CDLL(str(library))
        self._c.control_read.restype = ctypes.c_uint64
        self._c.control_write.argtypes = [ctypes.c_uint64]
        self._c.control_write.restype = None
        self.default = self.read() & self._bits("mask")

    def _bits(self, name: str) -> int:
        return ctypes.c_uint64.in_dll(self._c, f"control_{name}").value

    def read(self) -> int:
        return int(self._c.control_read())

    def modes(self) -> int:
        """The control word without the sticky flags."""
        return self.read() & self._bits("mask")

    def write(self, control: int) -> None:
        """Compute in this mode from now on."""
        self._c.control_write(control)

    @contextmanager
    def set(self, names: str) -> Iterator[int]:
        """Compute in a mode such as "up flush", and see that it stays."""
        control = self.default & ~self._bits("rounding")
        for name in names.split():
            control ^= self._bits(name)
        self.write(control)
        try:
            yield control
            assert self.modes() == control, "the mode that was found was not put back"
        finally:
            self.write(self.default)
