"""Selecting one of several candidates by score: the exponential mechanism and permute-and-flip."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import Selection
from exactnoise._refine import fresh_extension
from exactnoise._refine.selection import ScoreForm, SelectionFamily
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import Number, exact, shown
from exactnoise.accounting.loss import ExponentialLoss
from exactnoise.mechanisms._data import read
from exactnoise.mechanisms._odds import (
    exponential_odds,
    exponential_outside,
    permute_and_flip_odds,
    permute_and_flip_outside,
)
from exactnoise.mechanisms._options import Randomness, check_randomness, check_workers
from exactnoise.mechanisms._parameters import (
    check_budget,
    checked_alpha,
    checked_sensitivity,
    least_epsilon,
    scale_above,
)
from exactnoise.mechanisms._ranges import ZeroedUnlessComplete
from exactnoise.mechanisms._selecting import Drawn, Scores, select_rows
from exactnoise.mechanisms.base import Mechanism

__all__ = ["Exponential", "PermuteAndFlip", "SelectionMechanism", "checked_scores"]

_ONE_SCORE = "how much one person can change any one score; 1 for counts"


class SelectionMechanism(Mechanism):
    """A mechanism that selects the candidate of the highest score, noise added to each, and releases nothing else."""

    _family: ClassVar[SelectionFamily]
    priced_by = (("epsilon",),)

    sensitivity: Fraction
    #: Whether one person changes all scores in the same direction.
    monotonic: bool
    #: The noise's scale in the scores' units: a double, at least the exact value that the parameters ask for.
    scale: float
    _epsilon: Fraction
    _plans: dict[ScoreForm, Selection]

    def __init__(
        self, *, sensitivity: Number | None = None, epsilon: Number | None = None, monotonic: bool = False
    ) -> None:
        name = type(self).__name__
        exact_sensitivity = checked_sensitivity(name, sensitivity, _ONE_SCORE)
        if epsilon is None:
            raise TypeError(f"{name} needs epsilon, the privacy parameter of one release; such as 0.5")
        exact_epsilon = exact(epsilon, "epsilon")
        if not isinstance(monotonic, bool):
            raise TypeError(
                f"monotonic must be True (one person changes all scores in the same direction) or False, "
                f"got {monotonic!r}"
            )
        self._fix(
            sensitivity=exact_sensitivity,
            monotonic=monotonic,
            scale=scale_above((1 if monotonic else 2) * exact_sensitivity / exact_epsilon),
            _epsilon=exact_epsilon,
            _parameters={
                "sensitivity": exact_sensitivity,
                "epsilon": exact_epsilon,
                **({"monotonic": True} if monotonic else {}),
            },
            _plans={},
        )

    def release(
        self,
        scores: Any,
        *,
        budget: PrivacyBudget | None,
        out: npt.NDArray[np.int64] | None = None,
        disjoint: bool = False,
        mask: npt.ArrayLike | None = None,
        workers: int = 1,
        randomness: Randomness = "chacha20",
        label: str | None = None,
    ) -> Any:
        """Select a candidate and return its index: one release, which costs `cost` (see `disjoint`).

        Parameters
        ----------
        scores : array-like of numbers
            One score a candidate; or rows of them, of which each gives a selection (see `disjoint`).
        budget : PrivacyBudget or None
            What pays. None says aloud that the accounting is done elsewhere.
        out : ndarray of int64, optional
            Where to write, as for `numpy.argmax`. If anything fails once the budget has paid, it is set to 0.
        disjoint : bool
            For rows: True says that they are about disjoint people, each of them in one row. Then all rows together
            cost what one does; under a budget of neighbours that replace one person, who may leave one row while the
            other enters a second, they cost what two do.
        mask : array-like of bool, optional
            True excludes a candidate, as in `numpy.ma`; for all rows, or of the scores' shape. It must be public:
            chosen without looking at the data.
        workers : int
            Threads that share the work; the GIL is released.
        randomness : {"chacha20", "os"}
            "chacha20" expands fresh keys of the operating system; "os" takes every word from it.
        label : str, optional
            For the budget's history.

        Returns
        -------
        int or ndarray of int64
            The index within the row: a Python int for one row, else of shape (rows,).

        Raises
        ------
        TypeError, ValueError
            By the types, shapes and parameters of the call, before anything is spent: among them a row without any
            candidate that is not excluded, which is public.
        BudgetExceeded
            The budget does not have `cost` left; nothing is spent and nothing drawn.
        EntropyError
            The operating system gives no random bytes; the spend stands, as after anything that goes wrong later.

        Notes
        -----
        No value among the scores raises or warns. NaN, missing values and -infinity count as the lowest finite score of
        their row that is not excluded and +infinity as the highest, for a candidate that could not be selected at all
        would tell something about the data; with no finite score all count as equal. The selection is exactly that of
        the real-valued noise: near ties are decided with as many random bits as they take.
        """
        check_randomness(randomness)
        check_workers(workers)
        check_budget(budget)
        table, shape = checked_scores(scores, mask)
        if not isinstance(disjoint, bool):
            raise TypeError(f"disjoint must be True or False, got {disjoint!r}")
        if shape and not disjoint:
            raise ValueError(
                "scores have rows, each of which would be a release of its own: pass disjoint=True if no person is in "
                "two of them, or release the rows one by one"
            )
        if out is not None:
            _check_out(out, shape)
        result = np.zeros(table.rows, np.int64)
        if budget is not None:
            rows_changed = 2 if budget.neighbors == "replace-one" and table.rows > 1 else 1
            budget.spend(self if rows_changed == 1 else rows_changed * self.cost, label=label)

        with ZeroedUnlessComplete(out):
            words = Drawn(table, randomness)
            try:
                select_rows(self._plan(table.form), table, result, words, fresh_extension, workers=int(workers))
            finally:
                words.wipe()
            if out is not None:
                np.asarray(out)[...] = result.reshape(shape)
        if out is not None:
            return out
        return result if shape else int(result[0])

    def probabilities(self, scores: Any, mask: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
        """Return the probability of each candidate. NOT PRIVATE: for scores made up while planning, never for data.

        Parameters
        ----------
        scores, mask : array-like
            As for `release`. The probabilities tell the scores: looking at those of real data breaks the guarantee.

        Returns
        -------
        ndarray of float64
            Of the scores' shape, within 1e-12 of the exact values; each row adds up to 1.
        """
        table, shape = checked_scores(scores, mask)
        rows = [self._odds(t) for t in _steps(table, self.scale)]
        return np.array(rows, np.float64).reshape(*shape, table.candidates)

    def probability_within(self, t: float, candidates: int) -> float:
        """Return how likely the selected score is within t of the best one, at least, whatever the scores are.

        Parameters
        ----------
        t : float
            In the scores' units, 0 or more.
        candidates : int
            How many there are.

        Returns
        -------
        float
            The probability for the worst scores: all others just more than t below the best.
        """
        number = isinstance(t, (int, float, np.integer, np.floating)) and not isinstance(t, (bool, np.timedelta64))
        if not number or not t >= 0:
            raise ValueError(f"t must be a number, zero or more, in the scores' units, got {t!r}")
        try:
            distance = min(float(t), sys.float_info.max)
        except OverflowError:  # a whole number beyond the doubles
            distance = sys.float_info.max
        return 1 - self._outside(distance / self.scale, _checked_candidates(candidates))

    def half_width(self, alpha: float = 0.05, *, candidates: int) -> float:
        """Return the t for which the selected score is within t of the best with probability at least 1 - alpha.

        Parameters
        ----------
        alpha : float
            Between 0 and 1; 0.05 means 95 %.
        candidates : int
            How many there are.

        Returns
        -------
        float
            The smallest such t for the worst scores, up to rounding.
        """
        return self.scale * self._unit_half_width(checked_alpha(alpha), _checked_candidates(candidates))

    @classmethod
    def from_accuracy(
        cls,
        *,
        half_width: Number,
        sensitivity: Number | None = None,
        candidates: int,
        alpha: float = 0.05,
        monotonic: bool = False,
    ) -> Self:
        """Return the mechanism of least epsilon that selects a score within `half_width` of the best.

        Parameters
        ----------
        half_width : number
            In the scores' units.
        sensitivity, monotonic
            As in the constructor.
        candidates : int
            How many there are.
        alpha : float
            As in `half_width`: 0.05 means with a probability of 95 %.

        Returns
        -------
        SelectionMechanism
            Of the class it is called on. Its epsilon is rounded up to four significant digits.

        Raises
        ------
        TypeError, ValueError
            A parameter is missing or not allowed, or any epsilon is enough.
        """
        target = exact(half_width, "half_width")
        exact_sensitivity = checked_sensitivity(cls.__name__, sensitivity, _ONE_SCORE)
        unit = cls._unit_half_width(checked_alpha(alpha), _checked_candidates(candidates))
        if unit == 0:
            raise ValueError(
                f"any epsilon is enough for {candidates} candidates and alpha = {alpha!r}: choose a smaller alpha"
            )

        def fits(epsilon: Fraction) -> bool:
            mechanism = cls(sensitivity=exact_sensitivity, epsilon=epsilon, monotonic=monotonic)
            return Fraction(mechanism.half_width(alpha, candidates=candidates)) <= target

        guess = (1 if monotonic else 2) * exact_sensitivity * Fraction(unit) / target
        return cls(sensitivity=exact_sensitivity, epsilon=least_epsilon(guess, fits), monotonic=monotonic)

    @classmethod
    def _unit_half_width(cls, alpha: float, candidates: int) -> float:
        """The half width at scale 1, by bisection."""
        low, high = 0.0, 800 + 2 * math.log(candidates)
        if cls._outside(low, candidates) <= alpha:
            return low
        while low < (middle := (low + high) / 2) < high:
            if cls._outside(middle, candidates) <= alpha:
                high = middle
            else:
                low = middle
        return high

    @staticmethod
    @abstractmethod
    def _odds(t: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The probabilities of a row of (score - highest) / scale."""

    @staticmethod
    @abstractmethod
    def _outside(steps: float, candidates: int) -> float:
        """The largest probability of a score more than steps * scale below the best."""

    def _plan(self, form: ScoreForm) -> Selection:
        plan = self._plans.get(form)
        if plan is None:
            plan = self._plans[form] = self._make_plan(form, _native.SIMD)
        return plan

    def _make_plan(self, form: ScoreForm, simd: str, window_factor: float = 1.0) -> Selection:
        return Selection(self._family, form, self.scale, simd, window_factor)


class Exponential(SelectionMechanism):
    """The exponential mechanism: candidate i is selected with probability proportional to exp(score_i / scale).

    Parameters
    ----------
    sensitivity : number
        How much one person can change any one score. 1 for counts.
    epsilon : number
        The privacy parameter of one release. Like every number here, a float counts as the decimal number that it
        prints as. The scale is 2 sensitivity / epsilon, as a double not below it.
    monotonic : bool
        True says that one person changes all scores in the same direction, as counts do under the add-remove relation
        and not under the replace-one relation, where one count goes up and another down.
        Then half the scale is enough: sensitivity / epsilon.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    Epsilon-differentially private (McSherry & Talwar 2007, "Mechanism Design via Differential Privacy", Theorem 6; for
    monotonic scores Dwork & Roth 2014, section 3.4), and of bounded range epsilon, hence epsilon^2 / 8-zCDP (Cesar &
    Rogers 2021, arXiv 2004.07223, Lemma 3.2; Dong, Durfee & Rogers 2020, arXiv 1909.13830). It is computed as the
    highest of scores with Gumbel noise, exactly. The guarantee is computational: it takes ChaCha20 and the operating
    system's generator for random.

    Examples
    --------
    >>> m = Exponential(sensitivity=1, epsilon=1)
    >>> m
    Exponential(sensitivity=1, epsilon=1)
    >>> [round(p, 4) for p in m.probabilities([10, 9, 8]).tolist()]
    [0.5065, 0.3072, 0.1863]
    >>> m.release([0, 1000, 3], budget=None)
    1
    """

    _family = "exponential"
    _odds = staticmethod(exponential_odds)
    _outside = staticmethod(exponential_outside)

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost.of(ExponentialLoss(self._epsilon))

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon, and the rho of a mechanism of bounded range epsilon."""
        return self._cost


class PermuteAndFlip(SelectionMechanism):
    """Permute-and-flip: as private as the exponential mechanism in epsilon, and never less accurate.

    Parameters
    ----------
    sensitivity : number
        How much one person can change any one score. 1 for counts.
    epsilon : number
        The privacy parameter of one release. Like every number here, a float counts as the decimal number that it
        prints as. The scale is 2 sensitivity / epsilon, as a double not below it.
    monotonic : bool
        True says that one person changes all scores in the same direction, as counts do under the add-remove relation
        and not under the replace-one relation, where one count goes up and another down.
        Then half the scale is enough: sensitivity / epsilon.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed; the message says what is.

    Notes
    -----
    Epsilon-differentially private; the expected error is at most that of the exponential mechanism, whatever the
    scores, and for hard ones half of it (McKenna & Sheldon 2020, arXiv 2010.12603, Theorems 1 and 2). It has no bounded
    range, so its price under zCDP is that of any epsilon: where a budget counts rho, the exponential mechanism of the
    same rho has nearly twice the epsilon. It is computed as the highest of scores with exponential noise, exactly,
    which is the same distribution (Ding et al. 2021, arXiv 2105.07260). The guarantee is computational: it takes
    ChaCha20 and the operating system's generator for random.

    Examples
    --------
    >>> m = PermuteAndFlip(sensitivity=1, epsilon=1)
    >>> [round(p, 4) for p in m.probabilities([10, 9, 8]).tolist()]
    [0.5872, 0.2661, 0.1468]
    >>> m.cost
    PrivacyCost(epsilon='1')
    """

    _family = "permute-and-flip"
    _odds = staticmethod(permute_and_flip_odds)
    _outside = staticmethod(permute_and_flip_outside)

    @cached_property
    def _cost(self) -> PrivacyCost:
        return PrivacyCost(epsilon=self._epsilon)

    @property
    def cost(self) -> PrivacyCost:
        """Epsilon alone: epsilon^2 / 8-zCDP does not hold here."""
        return self._cost


def checked_scores(scores: Any, mask: npt.ArrayLike | None) -> tuple[Scores, tuple[int, ...]]:
    """The checked scores and the shape of their selections."""
    lanes = read(scores, "scores")
    shape = lanes.values.shape
    if len(shape) not in (1, 2):
        raise ValueError(f"scores must have one score a candidate, or rows of them; got shape {shape}")
    if shape[-1] == 0:
        raise ValueError(f"scores must have at least one candidate, got shape {shape}")
    excluded = None
    if mask is not None:
        excluded = np.asarray(mask)
        if excluded.dtype != np.bool_:
            raise TypeError(f"mask must be boolean, True where a candidate is excluded, got dtype {excluded.dtype}")
        if excluded.shape not in (shape, shape[-1:]):
            raise ValueError(f"mask must have shape {shape[-1:]} or that of scores, {shape}, got {excluded.shape}")
        if excluded.all(axis=-1).any():
            raise ValueError("mask must leave at least one candidate in every row; it excludes all of them")
    return Scores(lanes, excluded, shape[0] if len(shape) == 2 else 1, shape[-1]), shape[:-1]


def _check_out(out: object, shape: tuple[int, ...]) -> None:
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
    if out.shape != shape:
        raise ValueError(f"out must have shape {shape}, a place for each selection, got {out.shape}")
    if out.dtype != np.int64:
        raise TypeError(f"out must have dtype int64, got {out.dtype}")
    if not out.flags.writeable:
        raise ValueError("out must be writeable")


def _checked_candidates(candidates: int) -> int:
    if isinstance(candidates, (bool, np.timedelta64)) or not isinstance(candidates, (int, np.integer)):
        raise TypeError(f"candidates must be a whole number, got {candidates!r}")
    if not 1 <= candidates < 2**63:
        raise ValueError(f"candidates must be between 1 and 2**63 - 1, got {shown(candidates)}")
    return int(candidates)


def _steps(table: Scores, scale: float) -> npt.NDArray[np.float64]:
    """(score - highest) / scale for every row, -inf for an excluded candidate: native/selection_kernels.h."""
    shape = table.rows, table.candidates
    n = table.rows * table.candidates
    values = table.lanes.ranked(0, n).reshape(shape)
    flags = table.flags(0, n)
    flags = np.zeros(shape, np.uint8) if flags is None else flags.reshape(shape)
    usable = (flags == 0) & np.isfinite(values)
    least, most = (-np.inf, np.inf) if values.dtype.kind == "f" else (-(2**63), 2**63 - 1)
    high = np.where(usable, values, least).max(axis=1, keepdims=True)
    low = np.where(usable, values, most).min(axis=1, keepdims=True)
    none = ~usable.any(axis=1, keepdims=True)
    high, low = np.where(none, 0, high), np.where(none, 0, low)
    infinite = (values == np.inf) & (flags == 0)
    counted = np.where(usable, values, np.where(infinite, high, low))
    with np.errstate(over="ignore"):
        if values.dtype.kind == "f":
            half = 0.5 if scale >= 2 else 1.0
            t = (counted * half - high * half) / (scale * half)
        else:
            t = -(high.astype(np.uint64) - counted.astype(np.uint64)).astype(np.float64) / scale
    return np.asarray(np.where(flags & _native.EXCLUDED, -np.inf, t))
