"""Error against epsilon: for planning, before anything is spent.

`table` tells how far a mechanism or a statistic is off at each epsilon, by closed form and by simulated releases beside
it; `epsilon_for` finds the epsilon for an error; `to_text`, `to_csv` and `to_json` write a table down; `plot` and
`plot_band` draw it (with the extra `plot`).

FOR PUBLIC OR MADE-UP DATA ONLY: simulating is releasing again and again without paying, and the results tell exact
values. Plan on data of the same size and bounds that is public, from last year's release, or made up.

>>> from exactnoise import aggregates, utility
>>> minutes = [i * 60 / 9999 for i in range(10_000)]
>>> rows = utility.table(aggregates.mean, [0.1, 1], data=minutes, bounds=(0, 60), neighbors="add-remove")
>>> [round(row.std, 4) for row in rows]
[0.0849, 0.0085]
"""

from exactnoise.utility.pictures import plot, plot_band
from exactnoise.utility.rows import Row
from exactnoise.utility.simulation import Simulated
from exactnoise.utility.table import Measure, epsilon_for, table
from exactnoise.utility.text import to_csv, to_json, to_text

__all__ = ["Measure", "Row", "Simulated", "epsilon_for", "plot", "plot_band", "table", "to_csv", "to_json", "to_text"]
