"""Local hashing: randomised response of a hash value, for many categories in ten bytes.

The estimator's q. The hash family is pairwise independent on the 16 bits t that a bucket is made of
(native/response_kernels.h), so that a category v' other than the person's falls into bucket j with probability
pi_j = n_j / 2^16, n_j the number of t with floor(t g / 2^16) = j, independently of the person's own bucket. That one is
j with probability pi_j, too, so the report is j with probability p pi_j + r (1 - pi_j), p and r the probabilities of
the response among g. Hence a report supports v' with probability

    q = sum_j pi_j (r + (p - r) pi_j) = r + (p - r) sum_j pi_j^2,

which is 1 / g where g is a power of two, and a little more elsewhere. It is the same for all v', and a report supports
the person's own category iff the response is true: with probability p.
"""

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
from exactnoise.mechanisms.response.dyadic import ONE, nearest_buckets, other_share

__all__ = ["LocalHashing"]

_MOST_BUCKETS = 1024
_HASHES = 2**16


class LocalHashing(LocalRandomizer):
    """Optimal local hashing: a public random hash function, and randomised response of the category's bucket.

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
    buckets : int
        g, the whole number nearest to e^epsilon + 1 between 2 and 1024.
    truth_probability, other_probability : Fraction
        That a report supports its person's category, and any other one: the module's docstring.
    report_dtype : dtype
        A report is a record of 10 bytes, little-endian: a (uint32), b (uint32), bucket (uint16). It supports the
        categories v with ``((a * v + b) % 2**32 >> 16) * g >> 16 == bucket``.

    Raises
    ------
    TypeError, ValueError
        A parameter is not allowed; the message says what is.

    Notes
    -----
    Epsilon-differentially private: a and b do not depend on the data, and the bucket is reported by randomised response
    among g, whose probabilities are proved (`response.dyadic`). Wang, Blocki, Li, Jha 2017, "Locally Differentially
    Private Protocols for Frequency Estimation", Section 4. The hash family is multiply-shift (Dietzfelbinger 1996).
    The guarantee is computational: it takes ChaCha20 and the operating system's generator for random.

    Examples
    --------
    >>> m = LocalHashing(epsilon=2, categories=1000)
    >>> m.buckets, m.report_dtype.itemsize
    (8, 10)
    >>> m.release([7, 999], budget=None)["bucket"].shape
    (2,)
    """

    #: g, the number of buckets.
    buckets: int
    _other: int

    def __init__(self, *, epsilon: Number, categories: SupportsIndex, missing: SupportsIndex = 0) -> None:
        self._fix_domain(epsilon, categories, missing)
        g = nearest_buckets(self._epsilon, _MOST_BUCKETS)
        other = other_share(self._epsilon, g)
        truth = ONE - (g - 1) * other
        # Sizes of the buckets: `larger` of them hold one hash value more.
        size, larger = divmod(_HASHES, g)
        same = Fraction(larger * (size + 1) ** 2 + (g - larger) * size**2, _HASHES**2)
        self._fix(
            buckets=g,
            report_dtype=np.dtype([("a", "<u4"), ("b", "<u4"), ("bucket", "<u2")]),
            truth_probability=Fraction(truth, ONE),
            other_probability=Fraction(other, ONE) + Fraction(truth - other, ONE) * same,
            _words_a_report=2,
            _other=other,
        )

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost.of(RandomizedResponseLoss(self._epsilon, self.buckets))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon, and the rho of randomised response among the buckets; of one report, people being disjoint."""
        return self._cost

    def _responder(self, simd: str) -> _native.Response:
        return _native.Response(self.categories, self.missing, self.buckets, self._other, True, simd)

    def _count(self, reports: npt.NDArray[Any], supports: Codes) -> None:
        _native.count_supports(reports, supports, self.buckets, simd=_native.SIMD)
