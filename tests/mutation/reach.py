"""Which test reaches which line, and what it costs: measured once, until a source or the test's text changes."""

from __future__ import annotations

import hashlib
import inspect
import json
import signal
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest
from trial import clear_caches, run_items

#: A test that takes longer is not used.
MOST_SECONDS = 2.0


_processor_time = time.process_time  # before the clocks are stopped


@dataclass
class Reach:
    """What one test does."""

    seconds: float
    lines: dict[str, list[int]] | None  # by the file's path


class Reaches:
    """Kept measurements, in a file."""

    def __init__(self, kept: Path, sources: Sequence[Path]) -> None:
        self._path, self._sources = kept, [str(path) for path in sources]
        state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
        self._kept: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
        if self._kept.get("state") != state:
            self._kept = {"state": state, "tests": {}}

    def measure(self, items: Sequence[pytest.Item], progress: Callable[[str], None]) -> dict[str, Reach]:
        """The reach of every test by its node id, that of one that failed or was too dear being unknown."""
        known = self._kept["tests"]
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in items:
            if item.nodeid not in known or known[item.nodeid]["source"] != _source(item):
                by_file.setdefault(item.path, []).append(item)
        for done, (path, tests) in enumerate(by_file.items()):
            progress(f"measuring {path.name}, {done} of {len(by_file)} files")
            reaches = self._of_file(tests)
            known.update(
                {test.nodeid: {"source": _source(test), "reach": vars(reaches[test.nodeid])} for test in tests}
            )
            self._path.parent.mkdir(exist_ok=True)
            self._path.write_text(json.dumps(self._kept))
        return {item.nodeid: Reach(**known[item.nodeid]["reach"]) for item in items}

    def _of_file(self, tests: Sequence[pytest.Item]) -> dict[str, Reach]:
        reaches = {}
        tracer = coverage.Coverage(data_file=None, config_file=False, include=self._sources)
        tracer.start()
        signal.signal(signal.SIGVTALRM, _too_dear)
        for test in tests:
            clear_caches("exactnoise")
            tracer.switch_context(test.nodeid)
            start = _processor_time()
            signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)
            passed = run_items([test])
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            seconds = round(_processor_time() - start, 4)
            reaches[test.nodeid] = Reach(seconds, {}) if passed else Reach(seconds, None)
        tracer.stop()
        with warnings.catch_warnings(action="ignore", category=coverage.exceptions.CoverageWarning):  # nothing reached
            data = tracer.get_data()
        for file in data.measured_files():
            for line, contexts in data.contexts_by_lineno(file).items():
                for context in contexts:
                    lines = reaches[context].lines if context in reaches else None
                    if lines is not None:
                        lines.setdefault(file, []).append(line)
        return reaches


def _source(test: pytest.Item) -> str:
    return hashlib.sha256(inspect.getsource(test.function).encode()).hexdigest()


def _too_dear(*_: object) -> None:
    raise TimeoutError
