"""Unary encodings: one noisy bit for each category."""

from __future__ import annotations

from abc import abstractmethod
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
from exactnoise.mechanisms.response.coins import binary_expansion
from exactnoise.mechanisms.response.dyadic import ONE, other_share

__all__ = ["OptimizedUnaryEncoding", "SymmetricUnaryEncoding", "UnaryEncoding"]


class UnaryEncoding(LocalRandomizer):
    """A report of one bit a category: 1 with probability p for the true one, with probability q for each other one.

    Two people's reports differ in the law of two bits, so that the privacy loss is at most
    ln(p (1 - q) / ((1 - p) q)); p and q are multiples of 2^-64.
    """

    def __init__(self, *, epsilon: Number, categories: SupportsIndex, missing: SupportsIndex = 0) -> None:
        self._fix_domain(epsilon, categories, missing)
        truth, other = self._shares()
        size = (self.categories + 7) // 8
        self._fix(
            report_dtype=np.dtype("u1"),
            report_shape=(size,),
            truth_probability=Fraction(truth, ONE),
            other_probability=Fraction(other, ONE),
            _words_a_report=1 + -(-size * _native.COIN_LEVELS // 8),
            _truth=truth,
        )

    _truth: int

    @abstractmethod
    def _shares(self) -> tuple[int, int]:
        """p and q times 2^64."""

    def _responder(self, simd: str) -> _native.UnaryResponse:
        coin = _native.Coin(*binary_expansion(self.other_probability), simd)
        return _native.UnaryResponse(self.categories, self.missing, self._truth, coin)

    def _count(self, reports: npt.NDArray[Any], supports: Codes) -> None:
        columns = np.zeros(8 * self.report_shape[0], np.int64)
        _native.count_columns(reports, columns, simd=_native.SIMD)
        supports += columns[: self.categories]


class SymmetricUnaryEncoding(UnaryEncoding):
    """Symmetric unary encoding (basic RAPPOR): every bit is a randomised response of epsilon / 2.

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
        That the true category's bit is 1, and any other one: p = e^(epsilon/2) / (e^(epsilon/2) + 1) and q = 1 - p, as
        multiples of 2**-64, q rounded up.
    report_shape : tuple of int
        A report is ceil(k / 8) bytes: category v is bit v % 8 (1 << v % 8) of byte v // 8; the bits that pad the last
        byte are 0.

    Raises
    ------
    TypeError, ValueError
        A parameter is not allowed; the message says what is.

    Notes
    -----
    Epsilon-differentially private, proved for the probabilities in use: (p / q)^2 <= e^epsilon (`response.dyadic`). Two
    people differ in two bits, each a randomised response of epsilon / 2. Erlingsson, Pihur, Korolova 2014, "RAPPOR",
    Section 3.1; Wang, Blocki, Li, Jha 2017, "Locally Differentially Private Protocols for Frequency Estimation",
    Section 4. `OptimizedUnaryEncoding` is more accurate for rare categories. The guarantee is computational: it takes
    ChaCha20 and the operating system's generator for random.

    Examples
    --------
    >>> m = SymmetricUnaryEncoding(epsilon=2, categories=20)
    >>> round(float(m.truth_probability), 4), round(float(m.other_probability), 4)
    (0.7311, 0.2689)
    >>> m.release([0, 19, 5], budget=None).shape
    (3, 3)
    """

    def _shares(self) -> tuple[int, int]:
        other = other_share(self._epsilon / 2, 2)
        return ONE - other, other

    @cached_property
    def _cost(self) -> PrivacyCost:
        return 2 * PrivacyCost.of(RandomizedResponseLoss(self._epsilon / 2, 2))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon, and the rho of two binary responses of epsilon / 2; of one report, people being disjoint."""
        return self._cost


class OptimizedUnaryEncoding(UnaryEncoding):
    """Optimised unary encoding: the true bit is a fair coin, and the others are rarely 1.

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
        That the true category's bit is 1, and any other one: p = 1/2 and q = 1 / (e^epsilon + 1), as a multiple of
        2**-64, rounded up.
    report_shape : tuple of int
        A report is ceil(k / 8) bytes: category v is bit v % 8 (1 << v % 8) of byte v // 8; the bits that pad the last
        byte are 0.

    Raises
    ------
    TypeError, ValueError
        A parameter is not allowed; the message says what is.

    Notes
    -----
    Epsilon-differentially private, proved for the probabilities in use: (1 - q) / q <= e^epsilon (`response.dyadic`).
    Wang, Blocki, Li, Jha 2017, "Locally Differentially Private Protocols for Frequency Estimation", Section 4: of the
    unary encodings the one with the least error for rare categories. The guarantee is computational: it takes ChaCha20
    and the operating system's generator for random.

    Examples
    --------
    >>> m = OptimizedUnaryEncoding(epsilon=2, categories=20)
    >>> m.truth_probability, round(float(m.other_probability), 4)
    (Fraction(1, 2), 0.1192)
    """

    def _shares(self) -> tuple[int, int]:
        return ONE // 2, other_share(self._epsilon, 2)

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost(epsilon=self._epsilon)

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon; of one report, people being disjoint."""
        return self._cost
