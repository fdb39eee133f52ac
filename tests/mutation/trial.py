"""One mutant, one process: the changed code is put in place after a fork, and the tests that reach it run.

Tests are collected once. A mutant inside functions then costs a fork and its tests: the functions that exist get the
changed code, and caches are emptied. A mutant of anything that runs at import (constants, class bodies, defaults)
needs a process that has not imported the package yet: there a finder puts the changed source in the file's place.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import json
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from _pytest.runner import runtestprotocol
from mutants import Mutant

SURVIVED, KILLED = 0, 1
# Enough for a mutant of any sane size; one that asks for more is killed by MemoryError.
_MOST_MEMORY = 8 << 30


def run_items(items: Sequence[pytest.Item]) -> bool:
    """Whether all pass; stops at the first that does not."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        try:
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return False
        except Exception:  # of a plugin that did not expect what the test raised
            item.session._setupstate.teardown_exact(None)
            return False
    return True


class Functions:
    """The functions of the modules under test, by their code."""

    def __init__(self, paths: Sequence[Path]) -> None:
        files = {str(path) for path in paths}
        self._by_code: dict[CodeType, list[FunctionType]] = {}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType) and thing.__code__.co_filename in files:
                self._by_code.setdefault(thing.__code__, []).append(thing)

    def change(self, changes: dict[CodeType, CodeType]) -> None:
        for old, new in changes.items():
            for function in self._by_code.get(old, ()):
                function.__code__ = new


def changed_functions(mutant: Mutant) -> dict[CodeType, CodeType] | None:
    """Old code to new; None if the mutant changes what runs at import."""
    old, new = (_codes(compile(text, str(mutant.path), "exec")) for text in (mutant.module.code, mutant.source))
    if [code.co_qualname for code in old] != [code.co_qualname for code in new]:
        return None
    changes = {}
    for before, after in zip(old, new, strict=True):
        if before.co_flags & inspect.CO_OPTIMIZED:  # a function; not the module or the body of a class
            if before.co_freevars != after.co_freevars:
                return None
            changes[before] = after
        elif _own(before) != _own(after):
            return None
    return changes


def _codes(code: CodeType) -> list[CodeType]:
    return [code, *(inner for const in code.co_consts if isinstance(const, CodeType) for inner in _codes(const))]


def _own(code: CodeType) -> tuple[object, ...]:
    constants = tuple((type(const), const) for const in code.co_consts if not isinstance(const, CodeType))
    return code.co_code, code.co_names, constants


def clear_caches(prefix: str) -> None:
    """Empty every lru_cache of the package: what it holds was computed by other code."""
    for name, module in list(sys.modules.items()):
        if name.startswith(prefix):
            for value in vars(module).values():
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def outcome_in_fork(
    changes: dict[CodeType, CodeType], functions: Functions, items: Sequence[pytest.Item], seconds: float
) -> int:
    """Run the tests on changed functions in a child, which gets some processor time and no more.

    Returns
    -------
    int
        `SURVIVED`, `KILLED`, or minus the number of the signal that ended it: SIGXCPU and SIGALRM for one that hangs.
    """
    child = os.fork()
    if child == 0:
        status = KILLED
        try:
            _limit(seconds)
            functions.change(changes)
            clear_caches("exactnoise")
            status = SURVIVED if run_items(items) else KILLED
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _limit(seconds: float) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(60 + 20 * int(seconds))  # for one that waits; the machine may be busy


class Nursery:
    """A process that has imported what every test needs but the package, for mutants of what runs at import."""

    def __init__(self) -> None:
        requests, self._requests = os.pipe()
        self._outcomes, outcomes = os.pipe()
        if os.fork() == 0:
            try:
                os.close(self._requests)
                _serve(requests, outcomes)
            finally:
                os._exit(0)
        os.close(requests)
        os.close(outcomes)

    def outcome(self, mutant: Mutant, source: str, tests: Sequence[str], seconds: float) -> int:
        """As of `outcome_in_fork`."""
        request = json.dumps([str(mutant.path), mutant.name, source, seconds, *tests]) + "\n"
        os.write(self._requests, b"%20d" % len(request.encode()) + request.encode())
        return int(os.read(self._outcomes, 20))


def import_libraries() -> None:
    """What takes seconds to import is there before any test is timed."""
    for module in ("gmpy2", "hypothesis", "numpy", "scipy.special", "dp_accounting.pld.privacy_loss_distribution"):
        with contextlib.suppress(ImportError):  # some are extras
            importlib.import_module(module)


def _serve(requests: int, outcomes: int) -> None:
    import_libraries()
    with open(requests, encoding="utf-8") as stream:
        while length := stream.read(20):
            path, name, source, seconds, *tests = json.loads(stream.read(int(length)))
            child = os.fork()
            if child == 0:
                status = KILLED
                try:
                    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                    os.dup2(1, 2)
                    _limit(30 + seconds)
                    sys.meta_path.insert(0, _Finder(path, name, source))
                    status = (
                        SURVIVED if not pytest.main([*PYTEST_OPTIONS, "-x", *tests], plugins=[Selection()]) else KILLED
                    )
                finally:
                    os._exit(status)
            os.write(outcomes, b"%20d" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Loads one module from the given source."""

    def __init__(self, path: str, name: str, source: str) -> None:
        self._path, self._name, self._source = path, name, source

    def find_spec(
        self, name: str, path: object, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._name:
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=self)

    def get_filename(self, name: str) -> str:
        return self._path

    def get_data(self, path: str | bytes) -> bytes:
        return self._source.encode()

    def path_stats(self, path: str) -> dict[str, float]:
        raise OSError("never cached")


PYTEST_OPTIONS = [
    *("-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # the nursery has imported hypothesis
]


class Selection:
    """A pytest plugin: what a test may depend on.

    Clocks stand still, for a busy machine must not kill a mutant; tests that time in other ways, or run in another
    process, are left out. Hypothesis need not make a failing example small, nor keep it from one mutant to the next.
    """

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        from hypothesis import Phase, settings  # pytest wants to be first, for its assertions

        time.perf_counter = time.process_time = lambda: 0.0
        items[:] = [item for item in items if not _ELSEWHERE.search(inspect.getsource(item.function))]
        for item in items:
            test = getattr(item.obj, "__func__", item.obj)
            given = getattr(test, "_hypothesis_internal_use_settings", None)
            if given is not None:
                quick = settings(given, database=None, phases=[Phase.explicit, Phase.generate])
                test._hypothesis_internal_use_settings = quick


_ELSEWHERE = re.compile(r"\b(timeit|subprocess)\b")
