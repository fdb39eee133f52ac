"""What every additive mechanism does: hold checked parameters, and release data once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt

from exactnoise import _native
from exactnoise._native import PENDING, Plan
from exactnoise._refine import Family, Form, Ideal, fresh_extension, refine, settle
from exactnoise.accounting import PrivacyBudget, PrivacyCost
from exactnoise.accounting.amount import Number, exact, shown, text
from exactnoise.mechanisms import _engine
from exactnoise.mechanisms._data import KERNEL_DTYPES, read
from exactnoise.mechanisms._options import Randomness, check_out, check_randomness, check_workers
from exactnoise.mechanisms._parameters import (
    LEAST_DELTA,
    check_budget,
    checked_alpha,
    checked_granularity,
    checked_nan,
    checked_sensitivity,
    least_epsilon,
    power_of_two,
)
from exactnoise.mechanisms._wide import Wide

__all__ = ["AdditiveMechanism", "Mechanism"]

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class Mechanism(ABC):
    """An immutable set of checked public parameters with a price.

    Two mechanisms are equal when their class and parameters are; `repr` can be pasted back; pickles and copies carry
    parameters only, so that no random state can be copied.
    """

    #: The constructor's parameters that set the price, one tuple for each way of saying it.
    priced_by: ClassVar[tuple[tuple[str, ...], ...]]

    _parameters: dict[str, Any]

    def _fix(self, **values: Any) -> None:
        """Set attributes once, in the constructor."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: make a new one to change {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._parameters == other._parameters

    def __hash__(self) -> int:
        return hash((type(self), tuple(self._parameters.items())))

    def __repr__(self) -> str:
        shown = (f"{name}={_pasteable(value)}" for name, value in self._parameters.items())
        return f"{type(self).__name__}({', '.join(shown)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._parameters)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def without_price(self) -> dict[str, Any]:
        """Return the constructor's parameters that do not set the price, as `PrivacyBudget.fit` takes them."""
        prices = {"scale", *(name for way in self.priced_by for name in way)}
        return {name: value for name, value in self._parameters.items() if name not in prices}

    @property
    @abstractmethod
    def cost(self) -> PrivacyCost:
        """The price of one `release`, whatever the size of the data."""

    @property
    def epsilon(self) -> Fraction | None:
        """The exact epsilon of one release; None where the mechanism has none by itself."""
        return self.cost.epsilon

    @property
    def delta(self) -> Fraction:
        """The exact delta that belongs to `epsilon`; 0 for pure differential privacy."""
        return self.cost.delta

    @property
    def rho(self) -> Fraction | None:
        """The rho of one release under zero-concentrated differential privacy; None where there is none."""
        return self.cost.rho


class AdditiveMechanism(Mechanism):
    """A mechanism that releases x plus noise, rounded once and exactly to a public grid."""

    _family: Family
    _sensitivity_means: ClassVar[str]
    #: Whether the noise is made for integers, which stay integers.
    _on_integers: ClassVar[bool] = False
    sensitivity: Fraction
    #: The noise's scale in the data's units: a double, at least the exact value that the parameters ask for.
    scale: float
    #: The grid's step, a power of two: every released value is a multiple of it.
    granularity: float
    _exponent: int
    _nan: float
    _plans: dict[Form, Plan]

    def _fix_on_grid(
        self,
        sensitivity: Fraction,
        price: Mapping[str, Fraction],
        scale: float,
        granularity: Number | None,
        nan: float,
    ) -> None:
        """Set everything that follows from the price and the options of a mechanism on a fine grid."""
        exponent = checked_granularity(granularity, scale)
        replacement = checked_nan(nan)
        options: dict[str, float] = {}
        if granularity is not None:
            options["granularity"] = power_of_two(exponent)
        if replacement != 0:
            options["nan"] = replacement
        self._fix_noise(sensitivity, {**price, **options}, scale, exponent, replacement)

    def _fix_noise(
        self, sensitivity: Fraction, parameters: Mapping[str, Any], scale: float, exponent: int, nan: float
    ) -> None:
        self._fix(
            sensitivity=sensitivity,
            scale=scale,
            granularity=power_of_two(exponent),
            _parameters={"sensitivity": sensitivity, **parameters},
            _exponent=exponent,
            _nan=nan,
            _plans={},
        )

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the noise, in the data's units squared; rounding moves a value by at most g/2 more."""

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation of the noise, in the data's units."""

    @abstractmethod
    def half_width(self, alpha: float = 0.05) -> float:
        """Return the t for which a released value is within t of the true one with probability at least 1 - alpha.

        Parameters
        ----------
        alpha : float
            Between 0 and 1; 0.05 means 95 %. It is about one value: for all of n at once, divide it by n.

        Returns
        -------
        float
            In the data's units; it covers the rounding to the grid.
        """

    @classmethod
    def from_accuracy(
        cls,
        *,
        half_width: Number,
        sensitivity: Number | None = None,
        alpha: float = 0.05,
        delta: Number | None = None,
    ) -> Self:
        """Return the mechanism of least epsilon that keeps a value within `half_width` with probability 1 - alpha.

        Parameters
        ----------
        half_width : number
            In the data's units; for integer noise what counts is the whole number below it.
        sensitivity : number
            As in the constructor.
        alpha : float
            As in `half_width`: 0.05 means 95 %.
        delta : number
            As in the constructor, for Gaussian noise only.

        Returns
        -------
        AdditiveMechanism
            Of the class it is called on. Its epsilon is rounded up to four significant digits.

        Raises
        ------
        TypeError, ValueError
            A parameter is missing or not allowed, or no noise is small enough.
        """
        target = exact(half_width, "half_width", positive=not cls._on_integers)
        exact_sensitivity = checked_sensitivity(cls.__name__, sensitivity, cls._sensitivity_means)
        price: dict[str, Fraction] = {}
        if ("epsilon", "delta") in cls.priced_by:
            if delta is None:
                name = f"{cls.__name__}.from_accuracy"
                raise TypeError(f"{name} needs delta, the probability that belongs to epsilon; such as 1e-6")
            price["delta"] = exact(delta, "delta", below=1, least=LEAST_DELTA)
        elif delta is not None:
            raise TypeError(f"delta is for Gaussian noise: {cls.__name__} has a guarantee without it")
        build: Callable[..., Self] = cls

        def fits(epsilon: Fraction) -> bool:
            mechanism = build(sensitivity=exact_sensitivity, epsilon=epsilon, **price)
            return Fraction(mechanism.half_width(alpha)) <= target

        level = checked_alpha(alpha)
        try:
            guess = cls._epsilon_guess(target, exact_sensitivity, level, price.get("delta"))
        except (OverflowError, ZeroDivisionError):  # no double is as large, or the scale is none
            raise ValueError(f"no noise is small enough for half_width {shown(half_width)}: allow more") from None
        return build(sensitivity=exact_sensitivity, epsilon=least_epsilon(guess, fits), **price)

    @classmethod
    @abstractmethod
    def _epsilon_guess(
        cls, half_width: Fraction, sensitivity: Fraction, alpha: float, delta: Fraction | None
    ) -> Fraction:
        """An epsilon that is at most a little too small for the half width."""

    def interval(self, value: npt.ArrayLike, alpha: float = 0.05) -> tuple[Any, Any]:
        """Return the interval that holds the true value with probability at least 1 - alpha.

        Parameters
        ----------
        value : float or array of float
            Released values.
        alpha : float
            As in `half_width`; the interval is for each value by itself.

        Returns
        -------
        low, high : float or ndarray
        """
        half_width = self.half_width(alpha)
        released = _numbers(value)
        return (released - half_width)[()], (released + half_width)[()]

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
        """Add noise to data and return it: one release, which costs `cost` whatever the size.

        Parameters
        ----------
        x : number or array-like of numbers
            Any shape. The mechanism's sensitivity is that of the whole array, after the replacement of NaN.
        budget : PrivacyBudget or None
            What pays. None says aloud that the accounting is done elsewhere.
        out : ndarray, optional
            Where to write; it may be `x` itself. If anything fails once the budget has paid, all of it is set to 0.
        workers : int
            Threads that share the work; the GIL is released.
        randomness : {"chacha20", "os"}
            "chacha20" expands fresh keys of the operating system; "os" takes every word from it, at a fifth to a
            sixth of the speed.
        label : str, optional
            For the budget's history.

        Returns
        -------
        float, int, NumPy scalar or ndarray
            A Python number for a Python number, else of x's shape. The dtype follows from x's dtype and the granularity
            alone. Every value is a multiple of the granularity and finite.

        Raises
        ------
        TypeError, ValueError
            By the types and parameters of the call, before anything is spent.
        BudgetExceeded
            The budget does not have `cost` left; nothing is spent and nothing drawn.
        EntropyError
            The operating system gives no random bytes: nothing is released, `out` is zeroed, and the spend stands, as
            after anything that goes wrong once the budget has been asked.

        Notes
        -----
        No value in `x` raises, warns or changes the result's type. NaN and missing values count as the mechanism's
        public replacement, infinities as the largest multiple of the granularity. The result is a function of the
        ideal mechanism's real output, so its guarantee carries over by post-processing.
        """
        check_randomness(randomness)
        check_workers(workers)
        check_budget(budget)
        if out is None and type(x) in (int, float, np.int64, np.float64):
            return self._release_number(x, budget, label)

        lanes, ideal = read(x), self._ideal()
        plan = self._plan(self._form(lanes.is_integer, lanes.is_float32))
        _, dtype = KERNEL_DTYPES[plan.form]
        if out is None:
            result = np.empty(lanes.values.shape, dtype)
        else:
            check_out(out, lanes, dtype)
            result = np.asarray(out)  # without the ways of a subclass
        if budget is not None:
            budget.spend(self, label=label)
        _engine.release_lanes(plan, ideal, lanes, result, workers=int(workers), randomness=randomness)
        if out is None and lanes.scalar:
            return result.item() if lanes.scalar == "python" else result[()]
        return result if out is None else out

    def release_wide(self, x: Wide, *, workers: int = 1) -> Wide:
        """Add noise to exact totals that no 64-bit number holds, rounded once.

        Parameters
        ----------
        x : Wide
            Exact totals; their unit is at most 2^53 times finer than the granularity. The accounting is the caller's.
        workers : int
            Threads that share the work.

        Returns
        -------
        Wide
            round((x + Z) / granularity), of x's shape, in units of the granularity: what `release` gives, for totals of
            which no double is exact.
        """
        whole, rest = x.split(self._exponent - x.exponent)
        if self._on_integers:
            steps = self.release(np.zeros(rest.shape, np.int64), budget=None, workers=workers)
        else:
            # 2^53 units are exact in a double, and so is the released multiple of the granularity.
            exact_rest = np.ldexp(rest.astype(np.float64), x.exponent)
            noisy = self.release(exact_rest, budget=None, workers=workers)
            steps = np.ldexp(noisy, -self._exponent).astype(np.int64)
        return whole + Wide.from_int64(steps, self._exponent)

    def _release_number(self, x: Any, budget: PrivacyBudget | None, label: str | None) -> Any:
        """One number, without the arrays: the words come straight from the operating system."""
        is_integer = type(x) in (int, np.int64)
        plan = self._plan(self._form(is_integer, False))
        if budget is not None:
            budget.spend(self, label=label)
        if is_integer:
            x = min(max(x, _INT64_MIN), _INT64_MAX)
        value = plan.release_one(x)
        if isinstance(value, tuple):
            value = self._refine_number(x, plan, *value)
        return KERNEL_DTYPES[plan.form][1].type(value) if isinstance(x, np.generic) else value

    def _refine_number(self, x: float | int, plan: Plan, lane: int, words: tuple[int, int, int]) -> float | int:
        pending = np.zeros(1, PENDING)
        pending["lane"] = lane
        pending["word"] = words
        pending["x"] = np.array([x], KERNEL_DTYPES[plan.form][0]).view(np.uint64)
        out, extension = np.empty(1, KERNEL_DTYPES[plan.form][1]), fresh_extension()
        left = settle(plan, pending, out, extension)
        for index, value in refine(self._ideal(), plan.form, pending[:left], extension):
            out[index] = value
        result: float | int = out.item()
        return result

    def _form(self, is_integer: bool, is_float32: bool) -> Form:
        """How data of this type is released; see the table of result dtypes in the documentation."""
        if not is_integer and self._on_integers:
            raise TypeError(
                f"{type(self).__name__} takes integers, and x is of a floating type: use "
                f"{type(self).__name__.removeprefix('Discrete')}, or convert counts to int64"
            )
        if not is_integer:
            return "float32" if is_float32 else "float64"
        return "int64" if self._exponent >= 0 else "int64-float64"

    def _ideal(self) -> Ideal:
        return Ideal(self._family, self._steps(), self._exponent, self._nan)

    def _steps(self) -> float:
        """scale / granularity, exact."""
        return math.ldexp(self.scale, -self._exponent)

    def _plan(self, form: Form) -> Plan:
        plan = self._plans.get(form)
        if plan is None:
            plan = self._plans[form] = self._make_plan(form, _native.SIMD)
        return plan

    def _make_plan(self, form: Form, simd: str, window_factor: float = 1.0) -> Plan:
        if form == "int64" and self._exponent > 62:
            raise TypeError(
                f"granularity 2**{self._exponent} leaves no int64 but 0 and the least one: convert x to float64, or "
                "set a smaller granularity"
            )
        if form == "float32" and not -149 <= self._exponent <= 127:
            raise TypeError(
                f"float32 has no multiples of the granularity 2**{self._exponent} but 0 and infinity: convert x to "
                "float64, or set a granularity between 2**-149 and 2**127"
            )
        return Plan(
            self._family,
            form,
            self._steps(),
            self._exponent,
            self._nan,
            self._offset(),
            simd,
            window_factor,
            self._thresholds(),
            self._shortfall(),
        )

    def _offset(self) -> float:
        return 0.0

    def _thresholds(self) -> tuple[float, ...]:
        return ()

    def _shortfall(self) -> int:
        return 0


def _pasteable(value: Any) -> str:
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else repr(text(value))
    return repr(value)


def _numbers(value: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Released values as doubles: in float16 or float32 the ends would be rounded, even to infinity."""
    given = np.asarray(value)
    if given.dtype.kind not in "iuf":
        raise TypeError(f"value must be a released number, or an array of them, got {shown(value)}")
    return given.astype(np.float64)


def _rebuild(mechanism: type[Mechanism], parameters: Mapping[str, Any]) -> Mechanism:
    return mechanism(**parameters)
