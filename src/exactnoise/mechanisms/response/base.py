"""What every local randomiser does: a report for each person's category, and the server's estimate from reports.

The estimator. Let a report support category v with probability p if its person is in v, and with probability q if not,
the same q for all other v. Of n people, f in category v, the number of supporting reports has the mean f p + (n - f) q
and, since people's noise is independent, the variance f p (1 - p) + (n - f) q (1 - q). So

    (supports - n q) / (p - q)

is f on average, exactly, and its standard deviation is the root of that variance over p - q. In the error that is
shown, the unknown f is replaced by its estimate, cut to what is possible.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self, SupportsIndex

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import Number, exact, shown
from exactnoise.accounting.convert import checked_whole
from exactnoise.mechanisms._data import Lanes, read
from exactnoise.mechanisms._options import Randomness, check_randomness, check_workers
from exactnoise.mechanisms._parameters import check_budget, least_epsilon, normal_quantile
from exactnoise.mechanisms._ranges import ZeroedUnlessComplete, run_in_ranges
from exactnoise.mechanisms.base import Mechanism
from exactnoise.mechanisms.response.dyadic import LEAST_EPSILON, checked_epsilon
from exactnoise.mechanisms.response.estimate import Estimate, Floats, Tally

__all__ = ["MOST_CATEGORIES", "LocalRandomizer", "Responder"]

MOST_CATEGORIES = 2**16

_RANGE_BYTES = 2**18  # of reports under one key, which a second-level cache holds
_DIRECT_RANGE, _STAGED_RANGE = 2**18, 2**16  # reports, at most
_LARGEST_EPSILON = Fraction(64)
_MOST_REPORTS = 2**63 - 1
_LARGEST_ERROR = Fraction(10**30)  # of 2^63 reports of the least epsilon

Codes = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


class Responder(Protocol):
    """The compiled part: reports of contiguous int64 codes, as bytes."""

    def release(
        self,
        codes: Codes,
        out: Bytes,
        *,
        key: bytearray | None = None,
        words: npt.NDArray[np.uint64] | None = None,
    ) -> None: ...


class LocalRandomizer(Mechanism):
    """A mechanism that turns each person's category into a report that hides it."""

    priced_by = (("epsilon",),)

    #: The number of categories: codes are 0 .. categories - 1.
    categories: int
    #: The category that a missing or unknown value counts as.
    missing: int
    #: A report's dtype; reports of codes of shape S are an array of shape S + report_shape.
    report_dtype: np.dtype[Any]
    report_shape: tuple[int, ...] = ()
    #: p, the probability that a report supports its person's own category.
    truth_probability: Fraction
    #: q, the probability that it supports any one other category.
    other_probability: Fraction
    _words_a_report: int

    _epsilon: Fraction

    def _fix_domain(self, epsilon: Number, categories: SupportsIndex, missing: SupportsIndex) -> None:
        """Set what all local randomisers are given."""
        exact_epsilon = checked_epsilon(epsilon)
        k = checked_whole(categories, "categories", least=2)
        if k > MOST_CATEGORIES:
            raise ValueError(f"categories must be at most 2**16 = {MOST_CATEGORIES}, got {shown(k)}")
        replacement = checked_whole(missing, "missing", least=0)
        if replacement >= k:
            raise ValueError(f"missing must be one of the {k} categories, 0 .. {k - 1}, got {shown(replacement)}")
        self._fix(
            categories=k,
            missing=replacement,
            _epsilon=exact_epsilon,
            _parameters={
                "epsilon": exact_epsilon,
                "categories": k,
                **({"missing": replacement} if replacement else {}),
            },
        )

    @abstractmethod
    def _responder(self, simd: str) -> Responder: ...

    @cached_property
    def _fast(self) -> Responder:
        return self._responder(_native.SIMD)

    @abstractmethod
    def _count(self, reports: npt.NDArray[Any], supports: Codes) -> None:
        """Add to `supports` what contiguous reports support."""

    @property
    @abstractmethod
    def cost(self) -> PrivacyCost:
        """The price of one report. A call with many codes costs the same: they are those of different people."""

    def release(
        self,
        x: Any,
        *,
        budget: PrivacyBudget | None,
        out: npt.NDArray[Any] | None = None,
        workers: int = 1,
        randomness: Randomness = "chacha20",
        label: str | None = None,
    ) -> Any:
        """Report categories: one report a person, which costs `cost` however many people there are.

        Parameters
        ----------
        x : int or array-like of int or bool
            Each person's category, 0 .. categories - 1: one code a person. Any shape. Missing values, negative ones
            and those from `categories` on count as the public category `missing`.
        budget : PrivacyBudget or None
            What pays the price of one report, for people are disjoint: nobody has two codes in one call. A person who
            reports again pays again. Its neighbours are those of "replace-one", since a report hides what it says and
            not that it was sent. None says aloud that the accounting is done elsewhere.
        out : ndarray, optional
            Where to write: C-contiguous, of the reports' dtype and shape. If anything fails once the budget has paid,
            all of it is set to 0.
        workers : int
            Threads that share the work; the GIL is released.
        randomness : {"chacha20", "os"}
            "chacha20" expands fresh keys of the operating system; "os" takes every word from it.
        label : str, optional
            For the budget's history.

        Returns
        -------
        ndarray, NumPy scalar or int
            Of dtype `report_dtype` and shape ``x.shape + report_shape``: for one code one report. The bytes are
            documented and will not change.

        Raises
        ------
        TypeError, ValueError
            By the types and parameters of the call, before anything is spent: floats are no categories.
        BudgetExceeded
            The budget does not have `cost` left; nothing is spent and nothing drawn.
        EntropyError
            The operating system gives no random bytes: `out` is zeroed, and the spend stands.

        Notes
        -----
        No value in `x` raises, warns, or changes dtype, shape or timing. How many reports there are is public.
        """
        check_randomness(randomness)
        check_workers(workers)
        check_budget(budget)
        if budget is not None and budget.neighbors != "replace-one":
            raise ValueError(
                f"budget must have neighbors='replace-one', got {budget.neighbors!r}: a report hides which category "
                "somebody is in, and who receives it sees that there is one"
            )
        lanes = read(x)
        if not lanes.is_integer:
            raise TypeError(
                f"x must be category codes, integers 0 .. {self.categories - 1} or booleans, got dtype "
                f"{lanes.values.dtype}: convert x to integers"
            )
        reports, responder = self._room_for(lanes, out), self._fast
        if budget is not None:
            budget.spend(self, label=label)
        self._write(responder, lanes, reports, int(workers), randomness)
        if out is not None:
            return out
        if lanes.scalar == "python" and self.report_dtype.kind == "u" and not self.report_shape:
            return reports.item()
        return reports[()] if lanes.scalar else reports

    def _room_for(self, lanes: Lanes, out: object) -> npt.NDArray[Any]:
        shape = lanes.values.shape + self.report_shape
        if out is None:
            return np.empty(shape, self.report_dtype)
        if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
            raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
        if out.dtype != self.report_dtype:
            raise TypeError(f"out must have dtype {self.report_dtype}, that of the reports, got {out.dtype}")
        if out.shape != shape:
            raise ValueError(f"out must have shape {shape}, that of the reports, got {out.shape}")
        if not (out.flags.c_contiguous and out.flags.writeable):
            raise ValueError("out must be C-contiguous and writeable: reports are bytes to be sent")
        return np.asarray(out)

    def _write(
        self, responder: Responder, lanes: Lanes, reports: npt.NDArray[Any], workers: int, randomness: Randomness
    ) -> None:
        written = reports.reshape(-1).view(np.uint8)
        with ZeroedUnlessComplete(written):
            self._write_to(responder, lanes, written, workers, randomness)

    def _write_to(
        self, responder: Responder, lanes: Lanes, written: Bytes, workers: int, randomness: Randomness
    ) -> None:
        if np.may_share_memory(lanes.values, written):
            lanes = Lanes(lanes.values.copy(), lanes.missing, lanes.scalar)
        values = lanes.values
        direct = (
            lanes.missing is None and values.dtype == np.int64 and values.flags.c_contiguous and values.flags.aligned
        )
        n, width = values.size, self.report_dtype.itemsize * math.prod(self.report_shape)

        def write(start: int, stop: int, key: bytearray | None) -> None:
            if direct:
                codes = values.reshape(-1)[start:stop]
            else:
                codes = lanes.piece(start, stop, np.dtype(np.int64), self.missing)
            try:
                responder.release(codes, written[width * start : width * stop], key=key)
            finally:
                if not direct:
                    codes.fill(0)

        size = max(1, min(_DIRECT_RANGE if direct else _STAGED_RANGE, _RANGE_BYTES // width))
        words = n * self._words_a_report
        run_in_ranges(write, n, size, words=words, workers=workers, randomness=randomness)

    def tally(self, reports: npt.ArrayLike) -> Tally:
        """Count which categories reports support: the part of an estimate that can be added up.

        Parameters
        ----------
        reports : array-like
            Of dtype `report_dtype` (its byte order may differ) and of a shape that ends in `report_shape`, as `release`
            gives them. Bytes from devices: ``numpy.frombuffer(data, m.report_dtype)``, and for unary encodings
            ``.reshape(-1, *m.report_shape)``.

        Returns
        -------
        Tally

        Raises
        ------
        TypeError, ValueError
            The dtype or the shape is another. No value raises: a report that no device makes counts as a report and
            supports no category (a code from `categories` on, a bucket that does not exist); padding bits are ignored.
        """
        given = np.asarray(reports)
        if given.dtype.newbyteorder("=") != self.report_dtype.newbyteorder("="):
            raise TypeError(
                f"reports must have dtype {self.report_dtype}, got {given.dtype}: numpy.asarray(reports, "
                "mechanism.report_dtype) for numbers, numpy.frombuffer(data, mechanism.report_dtype) for bytes"
            )
        people = given.ndim - len(self.report_shape)
        if people < 0 or given.shape[people:] != self.report_shape:
            raise ValueError(f"reports must have a shape that ends in {self.report_shape}, got {given.shape}")
        n = math.prod(given.shape[:people])
        rows = given.reshape(n, *self.report_shape)
        supports = np.zeros(self.categories, np.int64)
        size = max(1, _RANGE_BYTES // self.report_dtype.itemsize // math.prod(self.report_shape))
        for start in range(0, n, size):
            self._count(np.ascontiguousarray(rows[start : start + size], self.report_dtype), supports)
        return Tally(self, supports, n)

    def estimate(self, reports: npt.ArrayLike | Tally) -> Estimate:
        """Estimate how many people are in each category.

        Parameters
        ----------
        reports : array-like or Tally
            Reports as for `tally`, or a tally of them.

        Returns
        -------
        Estimate
            Unbiased counts with their standard errors. A report can never be trusted: a device that lies, or invents a
            report, moves the estimates by up to 1 / (p - q) each.

        Raises
        ------
        TypeError, ValueError
            As `tally`; or the tally is one of another mechanism.
        """
        tally = reports if isinstance(reports, Tally) else self.tally(reports)
        if tally.mechanism != self:
            raise ValueError(f"the tally must be one of {self!r}, got one of {tally.mechanism!r}")
        p, q = self.truth_probability, self.other_probability
        supports: Floats = tally.supports.astype(np.float64)
        counts: Floats = supports * float(1 / (p - q)) - float(tally.n * q / (p - q))
        present: Floats = np.clip(counts, 0.0, float(tally.n))
        variance: Floats = present * self._variance_present + (tally.n - present) * self._variance_absent
        return Estimate(counts, np.sqrt(variance), tally.n)

    @cached_property
    def _variance_present(self) -> float:
        """The variance that one person adds to the estimate of the own category."""
        p, q = self.truth_probability, self.other_probability
        return float(p * (1 - p) / (p - q) ** 2)

    @cached_property
    def _variance_absent(self) -> float:
        """The variance that one person adds to the estimate of any other category."""
        p, q = self.truth_probability, self.other_probability
        return float(q * (1 - q) / (p - q) ** 2)

    def std_error(self, n: int, frequency: float = 0.0) -> float:
        """Return the standard error of one estimated count, for planning.

        Parameters
        ----------
        n : int
            The number of reports.
        frequency : float
            The share of people in the category, 0 for a rare one.

        Returns
        -------
        float
            In people: sqrt(n (frequency p (1 - p) + (1 - frequency) q (1 - q))) / (p - q).

        Raises
        ------
        TypeError, ValueError
            `n` is not a whole number, or `frequency` is not between 0 and 1.
        """
        reports = _checked_reports(n, least=0)
        share = exact(frequency, "frequency", positive=False)
        if share > 1:
            raise ValueError(f"frequency must lie between 0 and 1, got {shown(frequency)}")
        present = float(share)
        return math.sqrt(reports * (present * self._variance_present + (1 - present) * self._variance_absent))

    @classmethod
    def from_accuracy(
        cls,
        *,
        half_width: Number,
        n: SupportsIndex,
        categories: SupportsIndex,
        alpha: float = 0.05,
        missing: SupportsIndex = 0,
    ) -> Self:
        """Return the mechanism of least epsilon whose estimate of a rare category is good enough.

        Parameters
        ----------
        half_width : number
            In people: how far the estimated count may be off, with probability 1 - alpha.
        n : int
            How many reports there will be, at least 1.
        categories, missing : int
            As in the constructor.
        alpha : float
            0.05 means 95 %; as in `Estimate.interval`.

        Returns
        -------
        LocalRandomizer
            Of the class it is called on. Its epsilon is rounded up to four significant digits.

        Raises
        ------
        TypeError, ValueError
            A parameter is not allowed, or no report is that accurate.
        """
        target = float(min(exact(half_width, "half_width"), _LARGEST_ERROR)) / normal_quantile(alpha)
        reports = _checked_reports(n, least=1)
        build: Callable[..., Self] = cls

        def fits(epsilon: Fraction) -> bool:
            return build(epsilon=epsilon, categories=categories, missing=missing).std_error(reports) <= target

        low, high = LEAST_EPSILON, _LARGEST_EPSILON
        if not fits(high):
            raise ValueError(
                f"half_width must be larger: with {reports} reports of epsilon {high} it is not met, got "
                f"{shown(half_width)}"
            )
        while high > low * Fraction(10001, 10000):
            middle = Fraction(math.sqrt(low * high))
            low, high = (low, middle) if fits(middle) else (middle, high)
        return build(epsilon=least_epsilon(low, fits), categories=categories, missing=missing)


def _checked_reports(n: SupportsIndex, least: int) -> int:
    reports = checked_whole(n, "n", least=least)
    if reports > _MOST_REPORTS:
        raise ValueError(f"n must be at most 2**63 - 1, got {shown(reports)}")
    return reports
