"""Tables as text, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from fractions import Fraction

from exactnoise.utility import Row, Simulated, table, to_csv, to_json, to_text

ROW = Row(
    what="Laplace",
    epsilon=Fraction(1, 2),
    alpha=0.05,
    trials=1000,
    scale=2.0,
    std=2.8284271,
    half_width=5.9915,
    mean_error=2.0,
    simulated_std=Simulated(2.914, 0.103),
    simulated_half_width=Simulated(6.02, 0.0),
    simulated_mean_error=Simulated(1234.5, 12.3),
    relative_error=0.01234,
    share_below_noise=0.25,
    sample=(1.0, -2.0),
)


def test_text() -> None:
    wide = replace(ROW, epsilon=Fraction(10), scale=123456.0, simulated_std=Simulated(1.5e-12, 2e-14))
    lines = to_text([ROW, wide]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split("  ")[-1].strip() == "25 %"
    assert "2.91 +- 0.10" in lines[1]
    assert "1234 +- 12" in lines[1]
    assert "1.5e-12 +- 2e-14" in lines[2]


def test_columns_of_which_nothing_is_known_are_left_out() -> None:
    (row,) = table("laplace", [1], sensitivity=1, trials=0)
    assert to_text([row]) == (
        "epsilon  scale    std  mean error  95 % within\n"
        "      1      1  1.414           1        2.996"
    )  # fmt: skip
    assert "99.9 % within" in to_text(table("laplace", [1], sensitivity=1, trials=0, alpha=0.001))


def test_csv() -> None:
    written = to_csv([ROW, replace(ROW, simulated_std=None, relative_error=None)])
    first, second = csv.DictReader(io.StringIO(written))
    assert written.endswith("\n")
    assert "\r" not in written
    assert (first["what"], first["epsilon"], float(first["std"])) == ("Laplace", "0.5", ROW.std)
    assert (first["simulated_std"], first["simulated_std_se"]) == ("2.914", "0.103")
    assert (second["simulated_std"], second["simulated_std_se"], second["relative_error"]) == ("", "", "")
    assert list(first) == [
        "what", "epsilon", "alpha", "trials", "scale", "std", "half_width", "mean_error", "simulated_std",
        "simulated_std_se", "simulated_half_width", "simulated_half_width_se", "simulated_mean_error",
        "simulated_mean_error_se", "relative_error", "share_below_noise",
    ]  # fmt: skip


def test_json() -> None:
    (document,) = json.loads(to_json([replace(ROW, epsilon=Fraction(1, 3), simulated_std=None)]))
    assert (document["epsilon"], document["half_width"], document["simulated_std"]) == ("1/3", 5.9915, None)
    assert document["simulated_mean_error_se"] == 12.3
    assert "sample" not in document
