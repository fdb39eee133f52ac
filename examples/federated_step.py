"""A few rounds of federated training: clipped updates, an exact sum, noise once, at a stated price."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from exactnoise import Gaussian, PrivacyBudget, clip_l2

# All of this is public and fixed beforehand.
INVITED = 1000  # clients a round; how many answer is not published
DIMENSION = 20
BOUND = 1.0  # C: what an update's norm is clipped to
GRID = 2.0**-20  # g: a power of two, so that dividing by it is exact
ROUNDS = 5
SENSITIVITY = Fraction(BOUND) / Fraction(GRID)  # of the sum in grid steps, if a client is added or removed: C / g


def message(update: np.ndarray) -> np.ndarray:
    """Return what a client sends: its update, of any floating type, as whole grid steps of norm C / g at most.

    Both steps can only shorten the vector: `clip_l2` keeps the exact norm within the bound, and truncation toward zero
    makes no coordinate larger. Rounding to nearest could.
    """
    clipped = clip_l2(update, BOUND)
    return np.trunc(clipped.astype(np.float64) / GRID).astype(np.int64)


def total(messages: Iterable[np.ndarray]) -> np.ndarray:
    """Return the sum, exact in int64 in any order: a client moves it by its own message and nothing else."""
    # In a single coordinate it stays below INVITED * C / g, about 2**30; int64 holds 2**63.
    return sum(messages, np.zeros(DIMENSION, np.int64))


def private_step(messages: Iterable[np.ndarray], noise: Gaussian, budget: PrivacyBudget, label: str) -> np.ndarray:
    """Return the mean update with noise; a round in which nobody answers gets its noise, too."""
    return noise.release(total(messages), budget=budget, label=label) * GRID / INVITED


def main() -> None:
    # The secret data: every client has eight noisy values of a linear function with the same weights.
    rng = np.random.default_rng(7)
    truth = rng.standard_normal(DIMENSION)
    inputs = rng.standard_normal((INVITED, 8, DIMENSION))
    targets = inputs @ truth + 0.1 * rng.standard_normal((INVITED, 8))

    budget = PrivacyBudget(neighbors="add-remove", unit="client", epsilon=1, delta="1e-6", method="zcdp")
    noise = budget.fit(Gaussian, times=ROUNDS, sensitivity=SENSITIVITY, granularity=1)
    promised = noise.half_width(alpha=0.05 / DIMENSION) * GRID / INVITED  # all coordinates at once, 19 times in 20
    print(f"planned: {ROUNDS} rounds of rho {float(noise.rho):.5f}, error of a coordinate up to {promised:.4f}")

    weights = np.zeros(DIMENSION)
    for number in range(1, ROUNDS + 1):
        answering = [] if number == 4 else range(0, INVITED, 1 + number % 2)  # nobody answers in the fourth round
        updates = []
        for client in answering:
            residual = targets[client] - inputs[client] @ weights
            half = client % 3 == 0  # older devices compute in half precision
            updates.append((inputs[client].T @ residual / 8).astype(np.float16 if half else np.float32))
        messages = [message(update) for update in updates]
        step = private_step(messages, noise, budget, f"round {number}")
        weights += 2 * step

        # For comparison only; none of this may be published.
        true = sum((update.astype(np.float64) for update in updates), np.zeros(DIMENSION)) / INVITED
        error = np.abs(step - total(messages) * GRID / INVITED).max()
        print(
            f"round {number}: {len(updates):4} clients, cosine with the true step {cosine(true, step):6.3f}, "
            f"error {error:.4f}, weights still {np.linalg.norm(weights - truth):.2f} off"
        )
    print(f"spent:   {budget.spent} of {budget.total}, so all rounds together cost {budget.guarantee}")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine of the angle between two vectors; 0 if one of them is 0."""
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / norms) if norms else 0.0


if __name__ == "__main__":
    main()
