"""Which category of sites is the favourite? Select one without releasing any count.

    python favourite_site.py [repetitions]

Every visitor is in each count at most once, so one person changes any score by 1 at most, and all of them in the same
direction: the scores are monotonic. The first four categories are far apart, the others nearly equal.
"""

import sys

import numpy as np

from exactnoise import Exponential, PermuteAndFlip, PrivacyBudget

VISITS = {
    "far apart": {"news": 5200, "shopping": 3100, "video": 8700, "travel": 2400},
    "nearly equal": {"news": 5200, "shopping": 5198, "video": 5203, "travel": 5195},
}
EPSILON = 0.5


def observed(mechanism: Exponential | PermuteAndFlip, counts: list[int], repetitions: int) -> np.ndarray:
    """Return how often each category is selected in many repetitions.

    This is for looking at the mechanism: on real data every repetition would be a release and cost its price. Rows are
    disjoint here in the sense that they are made up.
    """
    rows = np.tile(counts, (repetitions, 1))
    selected = mechanism.release(rows, budget=None, disjoint=True)
    return np.bincount(selected, minlength=len(counts)) / repetitions


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    budget = PrivacyBudget(neighbors="add-remove", unit="visitor", epsilon=1)
    for kind in (Exponential, PermuteAndFlip):
        mechanism = kind(sensitivity=1, epsilon=EPSILON, monotonic=True)
        close = mechanism.half_width(alpha=0.05, candidates=4)
        print(f"{kind.__name__}, epsilon {EPSILON}: within {close:.1f} visits of the favourite in 95 % of all cases")
        for name, visits in VISITS.items():
            counts = list(visits.values())
            promised = mechanism.probabilities(counts)  # these counts are made up; those of real data stay secret
            shares = observed(mechanism, counts, repetitions)
            print(f"  {name:<13} {'visits':>7} {'promised':>9} {'observed':>9}")
            for category, count, p, share in zip(visits, counts, promised, shares, strict=True):
                print(f"    {category:<11} {count:>7} {p:>9.4f} {share:>9.4f}")
        categories = list(VISITS["far apart"])
        favourite = mechanism.release(list(VISITS["far apart"].values()), budget=budget, label=kind.__name__)
        print(f"  released: {categories[favourite]}; remaining: {budget.remaining}")


if __name__ == "__main__":
    main()
