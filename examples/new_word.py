"""How popular is a new word? Phones report, no phone's word is known, and the server still learns the answer.

Each phone has one word that its owner typed most often this week. It sends ten bytes: a hash function that it chose at
random, and the word's hash value, told truthfully only some of the time. From one report nobody can learn much: each
answer is at most e^epsilon times as likely from one word as from any other. From all of them together the server
estimates how many phones have each word.
"""

import sys

import numpy as np

from exactnoise import LocalHashing, PrivacyBudget

# The public dictionary: everybody knows it beforehand. Its first entry stands for "another word, or none", which is
# what a phone's word counts as when it is not in the dictionary.
WORDS = ["(another word)", "hello", "coffee", "weather", "football", "vote", "zeugma", "rizz", "skibidi", "delulu"]
SHARES = [0.40, 0.20, 0.12, 0.08, 0.06, 0.04, 0.0, 0.07, 0.02, 0.01]
EPSILON = 2


def device_report(word: str) -> bytes:
    """What one phone sends: the only function that sees the word."""
    # The phone's own budget: this report is all that it ever says about this week's word.
    budget = PrivacyBudget(neighbors="replace-one", unit="phone-week", epsilon=EPSILON)
    mechanism = LocalHashing(epsilon=EPSILON, categories=len(WORDS))
    code = WORDS.index(word) if word in WORDS else -1  # a code that does not exist counts as category 0
    return mechanism.release(code, budget=budget, label="word of the week").tobytes()


def simulated_reports(codes: np.ndarray) -> np.ndarray:
    """The same reports of many phones at once, for a simulation: one code a phone."""
    return LocalHashing(epsilon=EPSILON, categories=len(WORDS)).release(codes, budget=None)


def main(phones: int = 100_000) -> None:
    mechanism = LocalHashing(epsilon=EPSILON, categories=len(WORDS))
    print(f"{phones} phones, epsilon {EPSILON} for each one's word; a report looks like", device_report("rizz").hex())
    print(f"planned: a rare word's count will be off by about {mechanism.std_error(phones):.0f} (one standard error)\n")

    true = np.round(np.array(SHARES) * phones).astype(int)
    reports = simulated_reports(np.repeat(np.arange(len(WORDS)), true))

    # The server counts as reports arrive; tallies of different machines can be added up.
    half = reports.size // 2
    estimate = mechanism.estimate(mechanism.tally(reports[:half]) + mechanism.tally(reports[half:]))

    low, high = estimate.interval(alpha=0.05)
    print(f"{'word':<16}{'phones':>8}{'estimate':>10}{'+-':>7}   95 % interval")
    for word, count, guess, error, start, end in zip(
        WORDS, true, estimate.counts, estimate.std_error, low, high, strict=True
    ):
        print(f"{word:<16}{count:>8}{guess:>10.0f}{error:>7.0f}   {start:.0f} to {end:.0f}")
    print("\nAn estimate may be negative where nobody has the word: cutting it off at 0 would make sums too large.")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
