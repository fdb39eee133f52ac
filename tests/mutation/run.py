"""Mutation testing of what proves the guarantee: does a test fail whenever a line of it is changed?

    python -m pip install mutmut==3.8.1 coverage
    python tests/mutation/run.py                   # every mutant
    python tests/mutation/run.py --sample 8        # every eighth
    python tests/mutation/run.py accounting.rdp    # of some modules

Mutants are numbered through the modules in alphabetical order, so that a sample is the same every time. Each runs
against the tests that reach its line, the cheapest first, up to some seconds of them: what only a dearer test would
find counts as survived. It prints the survivors and a table, and fails below 90 %.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

import pytest
import trial
from mutants import Mutant, Statements, mutants_of
from reach import MOST_SECONDS, Reach, Reaches

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("_refine", "accounting")
TESTS = (
    "tests/accounting",
    "tests/mechanisms/test_calibration.py",
    "tests/mechanisms/test_discrete_gaussian_golden.py",
    "tests/native/test_discrete_gaussian.py",
    "tests/native/test_selection.py",
    "tests/test_refine.py",
    "tests/test_refine_calculations.py",
    "tests/test_refine_sums.py",
)
LEAST_KILLED = 0.9
# Of tests for one mutant, in processor time.
_MOST_SECONDS = 5.0


class Run:
    """A pytest plugin: where the tests would run, the mutants do."""

    def __init__(self, sample: int, only: list[str]) -> None:
        sources = [path for package in PACKAGES for path in sorted((ROOT / "src/exactnoise" / package).glob("*.py"))]
        names = {f"{path.parent.name}.{path.stem}": path for path in sources}
        unknown = set(only) - set(names)
        if unknown:
            raise SystemExit(f"no module {', '.join(sorted(unknown))}; there are {', '.join(names)}")
        self.sources, self.statements = sources, {path: Statements(path.read_text()) for path in sources}
        every = [mutant for name, path in names.items() for mutant in mutants_of(path, _module(name))]
        self.count = len(every)
        chosen = {_module(name) for name in only or names}
        self.mutants = [mutant for mutant in every[::sample] if mutant.name in chosen]
        self.nursery = trial.Nursery()
        self.results: list[tuple[Mutant, int]] = []

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        items = {item.nodeid: item for item in session.items}
        trial.import_libraries()
        kept = ROOT / "build" / "mutation.json"
        reaches = Reaches(kept, self.sources).measure(session.items, _progress)
        for test, reach in reaches.items():
            if reach.lines is None:
                _say(f"left out, as it fails or takes more than {MOST_SECONDS:g} s: {test}")
        functions = trial.Functions(self.sources)
        seen: set[str] = set()
        for mutant in self.mutants:
            tests = self._tests(mutant, reaches)
            seconds = 5 + 5 * sum(reaches[test].seconds for test in tests)
            chosen = [items[test] for test in tests]
            if mutant.name not in seen:  # the control: nothing is changed, so nothing may be killed
                seen.add(mutant.name)
                original = mutant.module.code
                if trial.outcome_in_fork({}, functions, chosen, seconds) or self.nursery.outcome(
                    mutant, original, tests, seconds
                ):
                    raise pytest.UsageError(f"{mutant.name} is killed without any change")
            changes = trial.changed_functions(mutant)
            if not tests or mutant.source == mutant.module.code:
                outcome = trial.SURVIVED
            elif changes is None:
                outcome = self.nursery.outcome(mutant, mutant.source, tests, seconds)
            else:
                outcome = trial.outcome_in_fork(changes, functions, chosen, seconds)
            self.results.append((mutant, outcome))
            if outcome == trial.SURVIVED:
                _say(mutant.shown)
            survived = sum(not outcome for _, outcome in self.results)
            _progress(f"{len(self.results)} of {len(self.mutants)} mutants, {survived} survived")
        return True

    def _tests(self, mutant: Mutant, reaches: dict[str, Reach]) -> list[str]:
        """No test reaches what runs at import only: then those that reach its uses, at last all of the module."""
        statements = self.statements[mutant.path]
        return (
            _cheapest(mutant, statements.around(mutant.line), reaches)
            or _cheapest(mutant, statements.using(mutant.line), reaches)
            or _cheapest(mutant, None, reaches)
        )

    def table(self) -> str:
        """The result, module by module."""
        total: Counter[str] = Counter(mutant.name for mutant, _ in self.results)
        survived = Counter(mutant.name for mutant, outcome in self.results if outcome == trial.SURVIVED)
        hung = Counter(mutant.name for mutant, outcome in self.results if outcome < 0)
        rows = ["| module | mutants | killed | of them by time | survivors |", "| --- | ---: | ---: | ---: | ---: |"]
        for name in [*total, "all"]:
            if name == "all":
                counts = [sum(counter.values()) for counter in (total, survived, hung)]
            else:
                counts = [total[name], survived[name], hung[name]]
            shown = name.removeprefix("exactnoise.")
            rows.append(f"| `{shown}` | {counts[0]} | {counts[0] - counts[1]} | {counts[2]} | {counts[1]} |")
        return "\n".join(rows)

    @property
    def killed(self) -> float:
        return sum(outcome != trial.SURVIVED for _, outcome in self.results) / max(1, len(self.results))


def _module(name: str) -> str:
    return f"exactnoise.{name.removesuffix('.__init__')}"


def _cheapest(mutant: Mutant, lines: set[int] | None, reaches: dict[str, Reach]) -> list[str]:
    """The cheapest tests that reach one of the lines, or any line of the module."""
    file = str(mutant.path)
    reaching = [
        (reach.seconds, test)
        for test, reach in reaches.items()
        if reach.lines and file in reach.lines and (lines is None or not lines.isdisjoint(reach.lines[file]))
    ]
    chosen, seconds = [], 0.0
    for cost, test in sorted(reaching):
        if chosen and seconds + cost > _MOST_SECONDS:
            break
        chosen.append(test)
        seconds += cost
    return chosen


_ERROR = os.dup(2)  # pytest keeps the other for itself


def _progress(text: str) -> None:
    if os.isatty(_ERROR):
        os.write(_ERROR, f"\r\x1b[K{text}".encode())


def _say(text: str) -> None:
    start = "\r\x1b[K" if os.isatty(_ERROR) else ""
    os.write(_ERROR, f"{start}{text}\n".encode())


def main() -> int:
    parser = argparse.ArgumentParser(description="How many mutants of accounting and _refine the tests kill.")
    parser.add_argument("--sample", type=int, default=1, metavar="K", help="every K-th mutant (default: every one)")
    parser.add_argument("modules", nargs="*", help="such as accounting.rdp (default: all)")
    options = parser.parse_args()
    os.chdir(ROOT)
    run = Run(options.sample, options.modules)
    status = pytest.main([*trial.PYTEST_OPTIONS, *TESTS], plugins=[run, trial.Selection()])
    if status != pytest.ExitCode.OK or len(run.results) != len(run.mutants):
        _say(f"pytest ended with {status!r}")
        return 2
    print(run.table())
    print(f"\nkilled {run.killed:.1%} of {len(run.results)}, out of {run.count} mutants in all")
    return 0 if run.killed >= LEAST_KILLED else 1


if __name__ == "__main__":
    sys.exit(main())
