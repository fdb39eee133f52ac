"""The tables and the picture of results.json.

    python benchmarks/peers/report.py [--check]

Writes the tables between the marks in benchmarks/peers/README.md and in the project's README.md, and docs/pictures/
peers.svg (needs matplotlib). --check writes nothing and fails if a table is not that of the results.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from workloads import SIZES, WORKLOADS

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PICTURE = ROOT / "docs" / "pictures" / "peers.svg"
OURS = "exactnoise"
NOTHING = "-"

Results = dict[str, Any]  # results.json


class Figures:
    """What was measured, by way, workload and size."""

    def __init__(self, results: Results) -> None:
        self.versions = {name: part["version"] for name, part in results.items() if name != "machine"}
        self.machine: dict[str, Any] = results["machine"]
        self.imports = {name: part["import_seconds"] for name, part in results.items() if name != "machine"}
        self.environment_of: dict[str, str] = {}
        self._rows: dict[tuple[str, str, int], dict[str, Any]] = {}
        for name in _ORDER:
            for row in results[name]["rows"]:
                self.environment_of[row["way"]] = name
                self._rows[row["way"], row["workload"], row["n"]] = row

    def seconds(self, way: str, workload: str, n: int) -> float | None:
        """The time of n values; None where it was too long to measure."""
        return self._rows.get((way, workload, n), {}).get("seconds")

    def rate(self, way: str, workload: str, n: int) -> float | None:
        """Values a second."""
        seconds = self.seconds(way, workload, n)
        return None if seconds is None else n / seconds

    def bytes_a_value(self, way: str) -> float:
        """How much the peak grows."""
        ((n, row),) = ((n, row) for (w, workload, n), row in self._rows.items() if (w, workload) == (way, "memory"))
        return float(row["bytes"] / n)


_ORDER = ("exactnoise", "numpy", "randomgen", "opendp", "pydp", "diffprivlib")


def rate_text(rate: float | None) -> str:
    """Three digits, in thousands or millions a second."""
    if rate is None:
        return NOTHING
    return f"{rate / 1e6:.3g} M" if rate >= 1e6 else f"{rate / 1e3:.3g} k"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Markdown; all columns but the first are flushed right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def largest(figures: Figures, way: str, workload: str) -> float | None:
    """The rate at the largest size that was measured."""
    return next((rate for n in reversed(SIZES) if (rate := figures.rate(way, workload, n)) is not None), None)


def summary(figures: Figures) -> str:
    """The table of the project's README: a row a way."""
    header = ["values a second, one core", *(w.name for w in WORKLOADS), "one number, µs", "bytes a value"]
    rows = []
    for way, environment in figures.environment_of.items():
        rates = [rate_text(largest(figures, way, w.name)) for w in WORKLOADS]
        single = figures.seconds(way, "Laplace", 1)
        one = NOTHING if single is None else f"{single * 1e6:.{1 if single < 1e-5 else 0}f}"
        library, comma, how = way.partition(",")
        name = f"{library} {figures.versions[environment]}{comma}{how}"
        rows.append([name, *rates, one, f"{figures.bytes_a_value(way):.0f}"])
    return table(header, rows)


def details(figures: Figures) -> str:
    """The tables of benchmarks/peers/README.md: one a workload, and what an import takes."""
    parts = []
    for workload in WORKLOADS:
        rows = [
            [way, *(rate_text(figures.rate(way, workload.name, n)) for n in SIZES)]
            for way in figures.environment_of
            if figures.rate(way, workload.name, SIZES[0]) is not None
        ]
        parts += [f"### {workload.name}, scale 1", table(["values a second", *(f"n = {n:,}" for n in SIZES)], rows)]
    rows = [[f"{name} {version}", f"{figures.imports[name]:.2f} s"] for name, version in figures.versions.items()]
    parts += ["### Import", table(["", "processor time"], rows)]
    machine = figures.machine
    rounds = f"{machine['rounds']} rounds" if machine["rounds"] > 1 else "one round"
    parts.append(f"Measured in {rounds} on one core of {machine['processor']}, Python {machine['python']}.")
    return "\n\n".join(parts)


def draw(figures: Figures, path: Path) -> None:
    """Rates of arrays on a logarithmic axis, a panel a workload."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "exactnoise", "svg.fonttype": "none", "font.size": 9})
    import matplotlib.pyplot as plt

    shown = [way for way in figures.environment_of if way not in ("exactnoise, out=x", "OpenDP, k=-20")]
    figure, axes = plt.subplots(1, len(WORKLOADS), figsize=(11, 2.6), sharey=True, layout="constrained")
    for axis, workload in zip(axes, WORKLOADS, strict=True):
        rates = [largest(figures, way, workload.name) or 0.0 for way in shown]
        colours = ["#1b6ca8" if way == OURS else "#b8c4ce" for way in shown]
        axis.barh(shown, rates, color=colours)
        axis.set_xscale("log")
        axis.set_xlim(1e3, 3e9)
        for y, rate in enumerate(rates):
            axis.text(rate * 1.25, y, rate_text(rate), va="center")
        axis.set_title(workload.name)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(axis="y", length=0)
    axes[0].invert_yaxis()
    figure.supxlabel("noisy values a second on one core, a million at a time (logarithmic)", fontsize=9)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def between_marks(text: str, mark: str, content: str) -> str:
    """The text with what is between the two marks replaced."""
    start, end = f"<!-- {mark} -->", f"<!-- end of {mark} -->"
    before, rest = text.split(start)
    _, after = rest.split(end)
    return f"{before}{start}\n\n{content}\n\n{end}{after}"


def main() -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    figures = Figures(json.loads((HERE / "results.json").read_text()))
    stale = 0
    for path, content in ((HERE / "README.md", details(figures)), (ROOT / "README.md", summary(figures))):
        text = path.read_text()
        wanted = between_marks(text, "peers: benchmarks/peers/report.py", content)
        if args.check and wanted != text:
            print(f"{path.relative_to(ROOT)} does not show results.json: run benchmarks/peers/report.py")
            stale += 1
        if not args.check:
            path.write_text(wanted)
    if not args.check:
        draw(figures, PICTURE)
    return min(stale, 1)


if __name__ == "__main__":
    sys.exit(main())
