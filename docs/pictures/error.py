"""Draw error.svg: the error of a noisy count against epsilon, in closed form and simulated."""

from __future__ import annotations

from pathlib import Path

from exactnoise import utility

rows = utility.table("discrete-laplace", [0.05, 0.1, 0.2, 0.5, 1, 2], sensitivity=1, exact=[5200, 310, 87, 24, 6])
utility.plot(rows, Path(__file__).with_suffix(".svg"), unit="visits", title="The error of a count")
