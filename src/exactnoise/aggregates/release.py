"""What a release returns: noisy values, how far they may be off, and what they cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from exactnoise.accounting import PrivacyCost
from exactnoise.accounting.amount import text
from exactnoise.aggregates.estimate import Estimate, Selected
from exactnoise.mechanisms._parameters import checked_alpha
from exactnoise.mechanisms.base import Mechanism

__all__ = ["Release"]


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """A statistic with noise: free to be kept, shown and computed with.

    Attributes
    ----------
    statistic : str
        "count", "sum", "mean", "variance", "quantile", "histogram" or "vector_sum".
    value : int, float or ndarray
        A number for a single statistic; an array with a cell for each of `axes` otherwise.
    std_error : float, ndarray or None
        The standard deviation of the noise in `value`, as far as it is known without the data: exact for counts, sums
        and histograms; to first order for means and variances, and at most what their bounds allow; None for
        quantiles.
    cost : PrivacyCost
        What was spent.
    mechanism : Mechanism or tuple of Mechanism
        What made the noise; a tuple where several noisy parts make the value.
    axes : tuple of sequence
        The declared keys, categories or bins along each axis of `value`, in the declared order; () for a number.

    Notes
    -----
    It never holds an exact value. It has no arithmetic: ``float(release)`` and ``numpy.asarray(release)`` give the
    values, and what is computed from them is post-processing.

    Examples
    --------
    >>> from exactnoise.aggregates import count
    >>> r = count(n=1000, epsilon=1, budget=None, neighbors="add-remove")
    >>> r.mechanism, round(r.std_error, 2)
    (DiscreteLaplace(sensitivity=1, epsilon=1), 1.36)
    >>> low, high = r.interval(alpha=0.05)
    >>> high - low
    6.0
    """

    statistic: str
    value: Any
    std_error: Any
    cost: PrivacyCost
    mechanism: Mechanism | tuple[Mechanism, ...]
    axes: tuple[Sequence[Any], ...]
    _estimate: Estimate
    _facts: dict[str, Any] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[Any, ...] | None:
        """The declared keys in the order of `value`; tuples where there are several axes; None for a number."""
        if not self.axes:
            return None
        return tuple(self.axes[0]) if len(self.axes) == 1 else tuple(itertools.product(*self.axes))

    def interval(self, alpha: float = 0.05) -> tuple[Any, Any]:
        """Return the interval that holds the exact value with probability at least 1 - alpha.

        Parameters
        ----------
        alpha : float
            Between 0 and 1; 0.05 means 95 %. It is about each cell by itself.

        Returns
        -------
        low, high : float or ndarray
            About the value of the data as it was clipped and rounded to the grid: what that changes is not in it.

        Raises
        ------
        TypeError
            A quantile has no such interval.
        """
        level = checked_alpha(alpha)
        with np.errstate(all="ignore"):
            low, high = self._estimate.interval(level)
        if not self.axes:
            return low[0].item(), high[0].item()
        return low.reshape(np.shape(self.value)), high.reshape(np.shape(self.value))

    def to_dict(self) -> dict[Any, Any]:
        """Return {key: value} in the declared order, with Python numbers."""
        if self.keys is None:
            raise TypeError(f"this {self.statistic} is a number without keys: use float() or .value")
        return dict(zip(self.keys, np.asarray(self.value).ravel().tolist(), strict=True))

    def columns(self) -> dict[str, Any]:
        """Return the release as named columns, a row a cell: what DataFrame and table constructors take.

        Returns
        -------
        dict of str to list or ndarray
            The keys, the statistic's name, and "std_error" where it is known. Keys are a column "key", or "key_0",
            "key_1", .. where there are several axes, keys of several columns, or bins, which have two: lower and
            upper. A bin "other" is None there, unless the others are texts. ``pandas.DataFrame(release.columns())``,
            ``pyarrow.table(release.columns())`` and ``polars.DataFrame(release.columns())`` give tables.
        """
        labels = [_columns_of(axis) for axis in self.axes]
        places = np.indices(tuple(map(len, self.axes))).reshape(len(self.axes), np.size(self.value)).tolist()
        keys = [[column[i] for i in place] for axis, place in zip(labels, places, strict=True) for column in axis]
        names = ["key"] if len(keys) == 1 else [f"key_{i}" for i in range(len(keys))]
        columns: dict[str, Any] = dict(zip(names, keys, strict=True))
        columns[self.statistic] = np.asarray(self.value).ravel()
        if self.std_error is not None:
            columns["std_error"] = np.broadcast_to(self.std_error, np.shape(self.value)).ravel()
        return columns

    def rank_error(self, alpha: float = 0.05) -> float:
        """Return how many rows a quantile may be off, at most, with probability at least 1 - alpha.

        Parameters
        ----------
        alpha : float
            Between 0 and 1; 0.05 means 95 %. It is about each cell by itself.

        Returns
        -------
        float
            So many rows more or fewer than a share q of them may lie below the released value, beyond what the best
            candidate has; the largest of several q.

        Raises
        ------
        TypeError
            The statistic is no quantile.
        """
        if not isinstance(self._estimate, Selected):
            raise TypeError(f"rank_error is for quantiles: a {self.statistic} has interval() and std_error")
        return self._estimate.rank_error(checked_alpha(alpha))

    def metadata(self) -> dict[str, Any]:
        """Return how the release was made, in JSON's types: everything that a reader needs to judge it.

        Returns
        -------
        dict
            statistic, mechanism, scale, granularity, sensitivity (lists, one for each noisy part), epsilon, delta, rho,
            neighbors, unit, contribution bounds and whether they were enforced, the statistic's own parameters and the
            number of cells; amounts as exact text. Scales are those of the noisy parts: of the sum whose quotient a
            mean is, of n^2 times a variance of public size.
        """
        mechanisms = self.mechanism if isinstance(self.mechanism, tuple) else (self.mechanism,)
        cost = {name: getattr(self.cost, name) for name in ("epsilon", "delta", "rho")}
        return {
            "statistic": self.statistic,
            "mechanism": [repr(mechanism) for mechanism in mechanisms],
            "scale": [mechanism.scale for mechanism in mechanisms if hasattr(mechanism, "scale")],
            "granularity": [mechanism.granularity for mechanism in mechanisms if hasattr(mechanism, "granularity")],
            "sensitivity": [
                text(mechanism.sensitivity) for mechanism in mechanisms if hasattr(mechanism, "sensitivity")
            ],
            **{name: None if amount is None else text(amount) for name, amount in cost.items()},
            **self._facts,
            "cells": int(np.size(self.value)),
        }

    def __float__(self) -> float:
        return float(self._number())

    def __int__(self) -> int:
        return int(self._number())

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        array = np.asarray(self.value, dtype)
        return array.copy() if copy and array is self.value else array

    def __post_init__(self) -> None:
        for array in (self.value, self.std_error):
            if isinstance(array, np.ndarray):
                array.flags.writeable = False  # as a release is what it is

    def _number(self) -> Any:
        if self.axes:
            raise TypeError(f"this {self.statistic} has {np.size(self.value)} cells: use numpy.asarray() or .to_dict()")
        return self.value

    def __repr__(self) -> str:
        cost = ", ".join(
            f"{name}={float(value):g}" for name in ("epsilon", "delta", "rho") if (value := getattr(self.cost, name))
        )
        if self.axes:
            shape = " x ".join(str(len(axis)) for axis in self.axes)
            return f"<Release: {self.statistic} of {shape} cells, {cost}>"
        error = "" if self.std_error is None else f" +- {_rounded(self.std_error)}"
        return f"<Release: {self.statistic} {_rounded(self.value)}{error}, {cost}>"


def _rounded(value: Any) -> str:
    return str(value) if isinstance(value, int) or not math.isfinite(value) else f"{value:.6g}"


def _columns_of(axis: Sequence[Any]) -> list[list[Any]]:
    """An axis's labels as columns: the parts of keys that are tuples, and None for "other" among what is no text."""
    parts = [label if isinstance(label, tuple) else (label,) for label in axis]
    width = max(map(len, parts))
    numbers = not all(isinstance(part, str) for part in parts[0])
    if numbers and parts[-1] == ("other",):
        parts[-1] = (None,) * width
    return [[part[i] for part in parts] for i in range(width)]
