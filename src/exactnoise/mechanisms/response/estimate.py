"""What a server makes of reports: counts that can be added up, and estimates with their errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactnoise.accounting.amount import shown
from exactnoise.mechanisms._parameters import normal_quantile

if TYPE_CHECKING:
    from exactnoise.mechanisms.response.base import LocalRandomizer

__all__ = ["Estimate", "Floats", "Tally"]

Floats = npt.NDArray[np.float64]


class Tally:
    """How many of n reports support each category: all that an estimate needs, and it can be added up.

    Parameters
    ----------
    mechanism : LocalRandomizer
        What the devices used.
    supports : array-like of int
        One a category, each between 0 and n.
    n : int
        All reports, whether they support anything or not.

    Raises
    ------
    TypeError, ValueError
        The counts are not whole numbers, not one for each category, or not between 0 and n.

    Notes
    -----
    Immutable. Tallies of equal mechanisms add up, in any order: ``sum(tallies)`` is the tally of all their reports.

    Examples
    --------
    >>> from exactnoise import RandomizedResponse
    >>> sites = RandomizedResponse(epsilon=2, categories=3)
    >>> morning, evening = (sites.tally(np.array(codes, np.uint8)) for codes in ([0, 2, 2], [1]))
    >>> (morning + evening).supports
    array([1, 1, 2])
    """

    __slots__ = ("mechanism", "n", "supports")

    mechanism: LocalRandomizer
    supports: npt.NDArray[np.int64]
    n: int

    def __init__(self, mechanism: LocalRandomizer, supports: npt.ArrayLike, n: int) -> None:
        given = np.asarray(supports)
        is_whole = isinstance(n, (int, np.integer)) and not isinstance(n, (bool, np.timedelta64))
        if given.dtype.kind not in "iu" or not is_whole:
            raise TypeError(f"supports and n must be whole numbers, got {given.dtype} and {type(n).__name__}")
        if given.shape != (mechanism.categories,):
            raise ValueError(f"supports must hold {mechanism.categories} counts, got shape {given.shape}")
        if not 0 <= n < 2**63:
            raise ValueError(f"n must lie between 0 and 2**63 - 1, got {shown(n)}")
        if np.any(given < 0) or np.any(given > n):
            raise ValueError(f"supports must lie between 0 and the number of reports, got n = {n}")
        counts = given.astype(np.int64)
        counts.flags.writeable = False
        for name, value in (("mechanism", mechanism), ("supports", counts), ("n", int(n))):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("Tally is immutable: add tallies to make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("Tally is immutable")

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.mechanism != self.mechanism:
            raise ValueError(
                f"tallies must come from one mechanism to be added, got {self.mechanism!r} and {other.mechanism!r}"
            )
        if self.n + other.n >= 2**63:
            raise ValueError("a tally holds fewer than 2**63 reports")
        return Tally(self.mechanism, self.supports + other.supports, self.n + other.n)

    def __radd__(self, other: object) -> Tally:
        # The builtin sum starts from the integer 0.
        return self if type(other) is int and other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return self.mechanism == other.mechanism and self.n == other.n and np.array_equal(self.supports, other.supports)

    def __hash__(self) -> int:
        return hash((self.mechanism, self.supports.tobytes(), self.n))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tally, (self.mechanism, self.supports, self.n)

    def __repr__(self) -> str:
        return f"<Tally of {self.n} reports of {self.mechanism!r}>"


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Estimated numbers of people in each category.

    Attributes
    ----------
    counts : ndarray of float64
        One a category. Unbiased: right on average over the noise. So it may be negative, or above n, where the true
        count is near an end; cutting it off would bias sums of estimates.
    std_error : ndarray of float64
        The standard deviation of the noise in each count, for the data as they are. The data's own variation as a
        sample of something larger is not in it.
    n : int
        The number of reports.
    """

    counts: Floats
    std_error: Floats
    n: int

    @property
    def frequencies(self) -> Floats:
        """counts / n; NaN without reports."""
        return self.counts / self.n if self.n else np.full_like(self.counts, np.nan)

    def interval(self, alpha: float = 0.05) -> tuple[Floats, Floats]:
        """Return the intervals that hold each true count with a probability of about 1 - alpha.

        Parameters
        ----------
        alpha : float
            0.05 means 95 %. It is about one count; for all k at once divide it by k.

        Returns
        -------
        low, high : ndarray of float64
            counts -+ a normal quantile times `std_error`: for thousands of reports and more, whose noise adds up to a
            normal variable nearly.
        """
        reach = normal_quantile(alpha) * self.std_error
        return self.counts - reach, self.counts + reach
