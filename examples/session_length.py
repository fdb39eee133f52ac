"""How long is a session on average? The error of the answer against epsilon, before anything is spent.

    python session_length.py [picture.png]

Ten thousand sessions of up to an hour are made up, their lengths spread evenly, and for each epsilon a thousand noisy
means of them are simulated beside the closed form. Nobody's data is read: the error depends on the bounds, on the
number of sessions and on their mean, all of which one knows roughly, and not on anybody's session.
"""

import sys

import numpy as np

from exactnoise import utility
from exactnoise.aggregates import mean
from exactnoise.errors import MissingExtra

SESSIONS = 10_000
EPSILONS = [0.1, 0.5, 1, 2, 5]
WANTED = 0.1  # minutes


def main() -> None:
    minutes = np.random.default_rng(20261130).uniform(0, 60, SESSIONS)  # made up: a seed does no harm
    sessions = {"data": minutes, "bounds": (0, 60), "neighbors": "add-remove"}
    rows = utility.table(mean, EPSILONS, trials=1000, **sessions)
    print(f"Mean length of {SESSIONS} sessions of 0 to 60 minutes: {minutes.mean():.2f} minutes\n")
    print(utility.to_text(rows))
    epsilon = utility.epsilon_for(mean, WANTED, **sessions)
    print(f"\nWithin {60 * WANTED:.0f} seconds of it, 19 times in 20: epsilon {float(epsilon)}")
    if len(sys.argv) > 1:
        try:
            utility.plot(rows, sys.argv[1], unit="minutes", title="Mean session length: error against epsilon")
        except MissingExtra as missing:
            sys.exit(str(missing))
        print(f"{sys.argv[1]}: drawn")


if __name__ == "__main__":
    main()
