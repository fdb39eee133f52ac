"""What floating point gives away: two attacks on a naive Laplace mechanism, and the same on exactnoise.

    python attack_demo.py

The secret is 0 or 1. The attacker sees one noisy value, knows the code, and says which it was. With ideal Laplace noise
of scale 1 / epsilon nobody is right more often than 1 - exp(-epsilon / 2) / 2.
"""

from math import exp

import numpy as np
import numpy.typing as npt

from exactnoise import Laplace

Array = npt.NDArray[np.float64]

SECRETS = (0.0, 1.0)
TRIES = 20_000  # for each secret
EPSILONS = (1.0, 0.1, 0.01)


def naive(secret: float, scale: float, n: int, rng: np.random.Generator) -> Array:
    """Textbook Laplace noise: a random sign and the logarithm of a uniform number; then one addition of doubles."""
    sign = rng.choice([-1.0, 1.0], n)
    uniform = 1 - rng.random(n)  # a multiple of 2^-53 in (0, 1], as of most generators
    return secret + sign * (-scale * np.log(uniform))


def exact(secret: float, scale: float, n: int) -> Array:
    return Laplace(sensitivity=1, scale=scale).release(np.full(n, secret), budget=None)


def has_fine_digits(y: Array) -> npt.NDArray[np.bool_]:
    """Whether a value is no multiple of 2^-53.

    1 + noise always is one: beside a 1 a double has no room for finer digits. 0 + noise need not be.
    """
    return y * 2.0**53 % 1 != 0


def can_come_from(y: Array, secret: float, scale: float) -> npt.NDArray[np.bool_]:
    """Whether `naive` gives y for this secret and any of its uniform numbers.

    Only those next to the one that would do if doubles were real numbers come into question. Each is tried, by what
    `naive` computes.
    """
    noise = y - secret
    sign = np.where(noise < 0, -1.0, 1.0)
    middle = np.rint(np.exp(-np.abs(noise) / scale) * 2.0**53)
    # Rounding the sum moves the noise by half a unit in y's last place; the rest rounds off less than three steps.
    reach = int(np.max(np.ceil(np.spacing(np.abs(y)) / scale * 2.0**52))) + 3
    possible = np.zeros(y.shape, bool)
    for step in range(-reach, reach + 1):
        uniform = np.clip(middle + step, 1, 2.0**53) * 2.0**-53
        possible |= secret + sign * (-scale * np.log(uniform)) == y
    return possible


def guess(y: Array, scale: float) -> Array:
    """The only secret that can have given y, if there is one; else the nearer, as with ideal noise."""
    zero, one = (can_come_from(y, secret, scale) for secret in SECRETS)
    return np.where(zero == one, np.where(y < 0.5, *SECRETS), np.where(zero, *SECRETS))


def share_of_right_guesses(outputs: tuple[Array, Array], scale: float) -> float:
    return float(np.mean([guess(y, scale) == secret for y, secret in zip(outputs, SECRETS, strict=True)]))


def main() -> None:
    rng = np.random.default_rng(1)  # an attack needs no luck: any seed will do
    print("Values with digits finer than 2^-53, epsilon 1:")
    print(f"{'secret':>10}{'naive':>10}{'exactnoise':>12}")
    for secret in SECRETS:
        shares = [np.mean(has_fine_digits(y)) for y in (naive(secret, 1.0, TRIES, rng), exact(secret, 1.0, TRIES))]
        print(f"{secret:>10.0f}{shares[0]:>10.0%}{shares[1]:>12.0%}")

    print("\nRight guesses from one value, by trying which secret can have given it:")
    print(f"{'epsilon':>10}{'naive':>10}{'exactnoise':>12}{'the most that epsilon allows':>32}")
    for epsilon in EPSILONS:
        scale = 1 / epsilon
        ours = share_of_right_guesses(tuple(exact(secret, scale, TRIES) for secret in SECRETS), scale)
        theirs = share_of_right_guesses(tuple(naive(secret, scale, TRIES, rng) for secret in SECRETS), scale)
        print(f"{epsilon:>10}{theirs:>10.0%}{ours:>12.0%}{1 - exp(-epsilon / 2) / 2:>32.0%}")


if __name__ == "__main__":
    main()
