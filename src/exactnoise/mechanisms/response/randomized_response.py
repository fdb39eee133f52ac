"""Randomised response among k categories: the truth, or any other answer."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, SupportsIndex

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import Number
from exactnoise.accounting.loss import RandomizedResponseLoss
from exactnoise.mechanisms.response.base import Codes, LocalRandomizer
from exactnoise.mechanisms.response.dyadic import ONE, other_share

__all__ = ["RandomizedResponse"]


class RandomizedResponse(LocalRandomizer):
    """Randomised response: the true category, or each other one with a probability e^epsilon times smaller.

    Parameters
    ----------
    epsilon : number
        The privacy parameter of one report; at least 1e-9.
    categories : int
        k, from 2 to 65536.
    missing : int
        The category that a missing or unknown value counts as.

    Attributes
    ----------
    truth_probability, other_probability : Fraction
        Of the true category and of each other one: exactly P / 2**64 and Q / 2**64, Q = ceil(2**64 / (e^epsilon + k -
        1)), P = 2**64 - (k - 1) Q.
    report_dtype : dtype
        A report is one byte, for more than 256 categories two (little-endian): the reported category.

    Raises
    ------
    TypeError, ValueError
        A parameter is not allowed; the message says what is.

    Notes
    -----
    Epsilon-differentially private, proved for the probabilities in use: P / Q <= e^epsilon (`response.dyadic`). Warner
    1965 for two categories; for k Kairouz, Oh, Viswanath 2016, "Extremal Mechanisms for Local Differential Privacy",
    Section 4 (k-ary randomised response). Estimates: the module `response.base`. For more than about 3 e^epsilon + 2
    categories `LocalHashing` and `OptimizedUnaryEncoding` are more accurate. The guarantee is computational: it takes
    ChaCha20 and the operating system's generator for random.

    Examples
    --------
    >>> m = RandomizedResponse(epsilon=2, categories=4)
    >>> round(float(m.truth_probability), 4), round(float(m.other_probability), 4)
    (0.7112, 0.0963)
    >>> reports = m.release([0, 3, 1, 1], budget=None)
    >>> reports.dtype, reports.shape
    (dtype('uint8'), (4,))
    """

    def __init__(self, *, epsilon: Number, categories: SupportsIndex, missing: SupportsIndex = 0) -> None:
        self._fix_domain(epsilon, categories, missing)
        other = other_share(self._epsilon, self.categories)
        self._fix(
            report_dtype=np.dtype("u1" if self.categories <= 256 else "<u2"),
            truth_probability=1 - Fraction((self.categories - 1) * other, ONE),
            other_probability=Fraction(other, ONE),
            _words_a_report=1,
            _other=other,
        )

    _other: int

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost.of(RandomizedResponseLoss(self._epsilon, self.categories))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon, and the rho of randomised response; of one report, people being disjoint."""
        return self._cost

    def _responder(self, simd: str) -> _native.Response:
        return _native.Response(self.categories, self.missing, self.categories, self._other, False, simd)

    def _count(self, reports: npt.NDArray[Any], supports: Codes) -> None:
        supports += np.bincount(reports, minlength=self.categories)[: self.categories]
