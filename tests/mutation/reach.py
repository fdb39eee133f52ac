"""Which test reaches which line, and what the test costs: measured once and kept until a source or the test changes."""

from __future__ import annotations

import hashlib
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

    def __init__(self, kept: Path, sources: Sequence[Path], root: Path) -> None:
        self._kept, self._sources, self._root = kept, [str(path) for path in sources], root
        self._state = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()
        self._files: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}

    def measure(self, items: Sequence[pytest.Item], progress: Callable[[str], None]) -> dict[str, Reach]:
        """The reach of every test by its node id, that of one that failed or was too dear being unknown."""
        by_file: dict[Path, list[pytest.Item]] = {}
        for item in items:
            by_file.setdefault(item.path, []).append(item)
        reaches: dict[str, Reach] = {}
        for done, (path, tests) in enumerate(by_file.items()):
            name = str(path.relative_to(self._root))
            state = hashlib.sha256(self._state.encode() + path.read_bytes()).hexdigest()
            if self._files.get(name, {}).get("state") != state:
                self._files[name] = {"state": state, "tests": {}}
            known = self._files[name]["tests"]
            if missing := [test for test in tests if test.nodeid not in known]:
                progress(f"measuring {name}, {done} of {len(by_file)} files")
                known.update({test: vars(reach) for test, reach in self._of_file(missing).items()})
                self._kept.parent.mkdir(exist_ok=True)
                self._kept.write_text(json.dumps(self._files))
            reaches |= {test.nodeid: Reach(**known[test.nodeid]) for test in tests}
        return reaches

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


def _too_dear(*_: object) -> None:
    raise TimeoutError
