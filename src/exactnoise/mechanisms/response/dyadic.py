"""Probabilities as multiples of 2^-64, rounded to the side on which the privacy guarantee is proved.

A response among k values is the true one with probability P / 2^64 and each other one with Q / 2^64, for

    Q = ceil(2^64 / (e^epsilon + k - 1)),    P = 2^64 - (k - 1) Q.

From Q (e^epsilon + k - 1) >= 2^64 follows P / Q <= e^epsilon; the other direction, Q / P <= e^epsilon, needs no more
than P > Q. So the mechanism with these probabilities, and not only an ideal one that it resembles, is
epsilon-differentially private, and one 64-bit word decides a report.
"""

from __future__ import annotations

import math
from fractions import Fraction

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.interval import enclose, upper

__all__ = ["LEAST_EPSILON", "ONE", "checked_epsilon", "nearest_buckets", "other_share"]

#: The unit of all probabilities.
ONE = 2**64
#: The least epsilon. For up to 2^16 values 2^64 (e^epsilon - 1) / (e^epsilon + k - 1), which P - Q is but for k units
#: of rounding, is then at least 4 k: so P > Q.
LEAST_EPSILON = Fraction(1, 10**9)
# e^64 is above 2^64, where Q has come down to 1.
_LARGEST = Fraction(64)


def checked_epsilon(epsilon: Number) -> Fraction:
    """The exact epsilon of a local randomiser."""
    return exact(epsilon, "epsilon", least=LEAST_EPSILON)


def other_share(epsilon: Fraction, choices: int) -> int:
    """Q: how many of 2^64 words report one certain other value; the true one takes what the others leave."""
    eps = min(epsilon, _LARGEST)
    return math.ceil(upper(lambda at: ONE / (at(eps).exp() + (choices - 1)), digits=40))


def nearest_buckets(epsilon: Fraction, most: int) -> int:
    """The whole number nearest to e^epsilon + 1, between 2 and `most`."""
    eps = min(epsilon, Fraction(most.bit_length()))  # e^eps is above `most` there
    # e to a rational power is irrational, so the ends agree on the rounding once they are close enough.
    return max(2, min(most, math.floor(enclose(lambda at: at(eps).exp() + Fraction(3, 2), digits=40).low)))
