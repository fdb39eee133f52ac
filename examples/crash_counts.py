"""How often does the app crash? Each device adds noise to its own count, and the server adds up the noisy counts.

A device counts its crashes of a day, clips the count to a bound, adds integer noise and sends eight bytes. The noise is
large against one count and small against the sum over many devices. The device keeps a budget over the days, and sends
nothing when it is used up.
"""

import sys
from statistics import NormalDist

import numpy as np

from exactnoise import BudgetExceeded, DiscreteLaplace, PrivacyBudget

BOUND = 10  # crashes of a day beyond this count as so many: known to everybody, and to be chosen without the data
EPSILON = 1  # of one day's report
DAYS = 7  # that a device's budget lasts for

# What a device's report can change by, when its day changes to any other day: from 0 to BOUND.
MECHANISM = DiscreteLaplace(sensitivity=BOUND, epsilon=EPSILON)


class Device:
    """One device: its budget, and a report a day for as long as that lasts."""

    def __init__(self) -> None:
        self.budget = PrivacyBudget(neighbors="replace-one", unit="device", epsilon=DAYS * EPSILON)

    def report(self, crashes: int, day: str) -> bytes | None:
        """Return the day's eight bytes, or None when the budget is used up."""
        clipped = min(max(crashes, 0), BOUND)
        try:
            noisy = MECHANISM.release(clipped, budget=self.budget, label=day)
        except BudgetExceeded:
            return None  # nothing was drawn and nothing is sent, whatever the count
        return int(noisy).to_bytes(8, "little", signed=True)


class Server:
    """The sum of all reports, and how far it may be from the sum of the clipped counts."""

    def __init__(self) -> None:
        self.total = self.reports = 0

    def receive(self, report: bytes) -> None:
        self.total += int.from_bytes(report, "little", signed=True)
        self.reports += 1

    def receive_many(self, reports: bytes) -> None:
        self.total += int(np.frombuffer(reports, "<i8").sum())
        self.reports += len(reports) // 8

    @property
    def std_error(self) -> float:
        """The devices' noise is independent, so that its variances add up."""
        return self.reports**0.5 * MECHANISM.std

    def interval(self, alpha: float = 0.05) -> tuple[float, float]:
        reach = NormalDist().inv_cdf(1 - alpha / 2) * self.std_error
        return self.total - reach, self.total + reach


def main(devices: int = 20_000) -> None:
    rng = np.random.default_rng()

    print("One device over nine days:")
    device = Device()
    for day in range(1, 10):
        report = device.report(crashes=int(rng.poisson(0.3)), day=f"day {day}")
        sent = "nothing: the budget is used up" if report is None else report.hex()
        print(f"  day {day}: sends {sent}, has epsilon {float(device.budget.remaining.epsilon):g} left")

    print(f"\n{devices} devices on one day, each count clipped to {BOUND}:")
    crashes = rng.poisson(0.3, devices)
    crashes[: devices // 100] += 25  # a few devices crash all day long
    clipped = np.minimum(crashes, BOUND)
    server = Server()
    for count in crashes[:1000].tolist():  # a thousand devices one by one, as they really are
        server.receive(Device().report(count, "day 1"))
    # The others at once, for a simulation: the same noise and the same bytes.
    server.receive_many(MECHANISM.release(clipped[1000:], budget=None).astype("<i8").tobytes())

    low, high = server.interval(alpha=0.05)
    print(f"  estimated  {server.total}, standard error {server.std_error:.0f}, 95 % interval {low:.0f} to {high:.0f}")
    print(f"  true sum   {clipped.sum()} of the clipped counts (the exact counts add up to {crashes.sum()})")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
