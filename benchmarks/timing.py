"""The least time of each of several functions, measured fairly on a machine that does other things too."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Mapping
from time import perf_counter, thread_time

#: What other programs do meanwhile does not count; but Windows counts it in steps of 16 ms.
OWN_TIME = perf_counter if sys.platform == "win32" else thread_time

_LEAST_ROUNDS = 5
_TURN = 3  # measurements in a row: the first one finds the memory as the function before it left it
_CALL_SECONDS = 2e-4  # shorter calls are repeated until together they take this long


def least_seconds(
    functions: Mapping[str, Callable[[], object]],
    seconds: float,
    clock: Callable[[], float] = OWN_TIME,
) -> dict[str, float]:
    """Return each function's fastest time of a call.

    Parameters
    ----------
    functions : mapping of str to callable
    seconds : float
        How long to go on. The functions take turns, so that a busy moment of the machine meets all of
        them, and the minimum drops it.
    clock : callable
        The processor's time for this thread by default; perf_counter where several threads work.
    """
    repeats = {name: _repeats(function) for name, function in functions.items()}
    least = dict.fromkeys(functions, float("inf"))
    end = perf_counter() + seconds
    for done in itertools.count(1):
        for name, function in functions.items():
            for _ in range(_TURN):
                least[name] = min(least[name], _time(function, repeats[name], clock))
        if done >= _LEAST_ROUNDS and perf_counter() > end:
            return least
    raise AssertionError("unreachable")


def _repeats(function: Callable[[], object]) -> int:
    repeats = 1
    while (elapsed := _time(function, repeats, perf_counter) * repeats) < _CALL_SECONDS:
        repeats *= 2 if elapsed > _CALL_SECONDS / 4 else 4
    return repeats


def _time(function: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeats):
        function()
    return (clock() - start) / repeats
