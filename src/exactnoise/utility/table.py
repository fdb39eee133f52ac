"""Error against epsilon, and the epsilon for an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from exactnoise.accounting.amount import Number
from exactnoise.accounting.amount import exact as exact_number
from exactnoise.accounting.convert import checked_whole
from exactnoise.accounting.cost import Neighbors
from exactnoise.mechanisms import AdditiveMechanism
from exactnoise.mechanisms._parameters import checked_alpha, four_digits_up
from exactnoise.utility.rows import Row
from exactnoise.utility.simulation import simulated_half_width, simulated_mean_error, simulated_std
from exactnoise.utility.subjects import MECHANISMS, Case, subject_of

__all__ = ["Measure", "epsilon_for", "table"]

Measure = Literal["half_width", "std", "mean_error"]

_MOST_TRIALS = 10**7
_SAMPLE = 200
_PLAIN = {"sensitivity", "delta"}  # what `from_accuracy` takes
_LEAST_EPSILON, _LARGEST_EPSILON = Fraction(1, 10**9), Fraction(10**6)


def table(
    what: Any,
    epsilons: Iterable[Number],
    *,
    exact: Any = None,
    neighbors: Neighbors | None = None,
    trials: int = 1000,
    alpha: float = 0.05,
    data: Any = None,
    tell: Callable[[int], object] = lambda done: None,
    **params: Any,
) -> list[Row]:
    """Tell how far a release is off at each epsilon: by closed form, and by simulated releases beside it.

    FOR PUBLIC OR MADE-UP DATA ONLY: nothing is spent, every release is repeated `trials` times, and the exact values
    are in the result. On private data the table itself would be a leak, and a large one.

    Parameters
    ----------
    what : mechanism class, function, accumulator or str
        - A mechanism of `exactnoise`, such as `Laplace`, or its name ("laplace", "discrete-gaussian" ..): its error on
          the cells `exact`.
        - A function of `exactnoise.aggregates`, such as `mean`, or its name; or an accumulator's class, such as `Mean`:
          the error of that statistic of `data`. Also an accumulator to which rows have been added.
        - Any function that releases something: it is called with `data` (if given) and ``epsilon=, budget=None,
          neighbors=, **params`` for each trial, and returns a `Release`, a number or an array. There is no closed form
          then.

        A `functools.partial` of keywords is unfolded.
    epsilons : iterable of number
        A row each, in this order.
    exact : number or array-like, optional
        The exact cells: for a mechanism what the noise is added to (0 by default), for a mechanism of selection the
        candidates' scores, for a function what it would release without noise. For a statistic it is computed from
        `data`, as clipped; another value given here, such as that of the unclipped data, is what simulated errors are
        measured from, while closed forms tell the noise alone.
    neighbors : {"add-remove", "replace-one"}, optional
        For statistics. A mechanism's sensitivity has it in it.
    trials : int
        Releases that are simulated for each epsilon; of a mechanism that adds noise, cells. 0 for none.
    alpha : float
        Half widths hold with probability 1 - alpha, for each cell by itself.
    data : array-like, optional
        The rows of a statistic. PUBLIC OR MADE UP.
    tell : callable, optional
        Called with the number of rows of the table that are done, for a progress bar.
    **params
        The mechanism's, the statistic's or the function's further parameters: sensitivity, delta, bounds, q, by, keys,
        n, rows_per_person and so on.

    Returns
    -------
    list of Row

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed.

    Notes
    -----
    *Closed forms.* Exact for mechanisms, counts, sums, histograms and quantiles (the latter from the exact
    probabilities of the exponential mechanism). For means and variances to first order in the noise (the delta method):
    good while the noise in the number of rows is small against that number. They leave out what is cut afterwards to
    what is possible, which makes errors smaller: negative counts, means beyond the bounds. With several cells of
    different laws they are about a cell picked at random, of 256 across the range where there are more.

    The half width of a selection is what it promises for any scores: for those at hand the error may be far smaller, as
    the other closed forms tell. They leave out candidates that are selected less often than once in 10^9.

    *Simulated.* Through the same code as a release. A standard error tells by how much a simulated number may be off;
    five of them is far.

    Examples
    --------
    >>> from exactnoise import Laplace
    >>> rows = table(Laplace, [0.5, 1], sensitivity=1, exact=[120, 4, 38])
    >>> [(row.std, round(row.half_width, 3)) for row in rows]
    [(2.8284271247461903, 5.991), (1.4142135623730951, 2.996)]
    >>> rows[0].share_below_noise
    0.3333333333333333
    """
    subject = subject_of(what, exact=exact, neighbors=neighbors, data=data, params=params)
    checked, draws = checked_alpha(alpha), checked_whole(trials, "trials", least=0)
    if draws > _MOST_TRIALS:
        raise ValueError(f"trials must be at most 10**7, got {draws}")
    amounts = [exact_number(epsilon, f"epsilons[{i}]") for i, epsilon in enumerate(_listed(epsilons))]
    if not amounts:
        raise ValueError("epsilons must have at least one number")
    rows = []
    for done, epsilon in enumerate(amounts, 1):
        rows.append(_row(subject.name, epsilon, subject.at(epsilon), checked, draws))
        tell(done)
    return rows


def epsilon_for(
    what: Any,
    target: Number,
    *,
    measure: Measure = "half_width",
    exact: Any = None,
    neighbors: Neighbors | None = None,
    alpha: float = 0.05,
    data: Any = None,
    **params: Any,
) -> Fraction:
    """Return the least epsilon at which a release is no farther off than a target, by its closed form.

    FOR PUBLIC OR MADE-UP DATA ONLY, as `table`.

    Parameters
    ----------
    what, exact, neighbors, alpha, data, **params
        As for `table`.
    target : number
        The largest error that is allowed, in the data's units.
    measure : {"half_width", "std", "mean_error"}
        Which error: the one that is not exceeded with probability 1 - alpha, the root mean square, or the mean
        absolute one.

    Returns
    -------
    Fraction
        Rounded up to four significant digits.

    Raises
    ------
    TypeError, ValueError
        A parameter is missing or not allowed, no closed form is known, or no epsilon between 1e-9 and 1e6 is enough.

    Examples
    --------
    >>> from exactnoise import Laplace
    >>> float(epsilon_for(Laplace, 10, sensitivity=1))
    0.2996
    """
    if measure not in get_args(Measure):
        raise ValueError(f"measure must be one of {', '.join(get_args(Measure))}, got {measure!r}")
    largest, checked = exact_number(target, "target", positive=False), checked_alpha(alpha)
    subject = subject_of(what, exact=exact, neighbors=neighbors, data=data, params=params)
    mechanism: Any = MECHANISMS.get(what) if isinstance(what, str) else what
    plain = isinstance(mechanism, type) and issubclass(mechanism, AdditiveMechanism) and params.keys() <= _PLAIN
    if measure == "half_width" and plain:
        epsilon: Fraction = mechanism.from_accuracy(half_width=target, alpha=checked, **params).epsilon
        return epsilon

    def fits(epsilon: Fraction) -> bool:
        try:
            case = subject.at(epsilon)
        except ValueError:
            if epsilon >= 1:  # too little noise for the mechanism, or wrong in any case
                raise
            return False  # more noise than it can make
        if case.law is None:
            raise TypeError(f"no closed form of the error of {subject.name} is known: look at its table")
        if measure == "half_width":
            return (case.promise or case.law.half_width)(checked) <= largest
        return (case.law.std if measure == "std" else case.law.mean_absolute) <= largest

    return _least(fits)


def _least(fits: Callable[[Fraction], bool]) -> Fraction:
    """The least number of four digits that fits, errors falling with epsilon."""
    low = high = Fraction(1)
    while not fits(high):
        low, high = high, high * 4
        if high > _LARGEST_EPSILON:
            raise ValueError("no epsilon up to 1e6 is enough for this target")
    while low == high or fits(low):
        high, low = low, low / 4
        if high < _LEAST_EPSILON:
            raise ValueError("any epsilon is enough for this target")
    # Whole multiples of a step that has four digits throughout the factor of 4 left.
    while four_digits_up(low) < (middle := four_digits_up((low + high) / 2)) < high:
        low, high = (low, middle) if fits(middle) else (middle, high)
    rounded = four_digits_up(low)
    return rounded if rounded > low and fits(rounded) else four_digits_up(high)


def _listed(epsilons: Any) -> list[Any]:
    if isinstance(epsilons, (str, bytes)) or not isinstance(epsilons, Iterable):
        raise TypeError(f"epsilons must be several numbers, such as [0.1, 1], got {epsilons!r}")
    return list(epsilons)


def _row(name: str, epsilon: Fraction, case: Case, alpha: float, trials: int) -> Row:
    errors = case.simulate(trials).ravel() if trials else np.zeros(0)
    std = simulated_std(errors) if trials else None
    width = simulated_half_width(errors, alpha) if trials else None
    mean = simulated_mean_error(errors) if trials else None
    closed, half_width = case.law, case.half_width(alpha)
    error = closed.mean_absolute if closed is not None else mean.value if mean is not None else None
    reach = half_width if half_width is not None else width.value if width is not None else None
    relative, share = _against(case.exact, error, reach)
    return Row(
        what=name,
        epsilon=epsilon,
        alpha=alpha,
        trials=trials,
        scale=case.scale,
        std=None if closed is None else closed.std,
        half_width=half_width,
        mean_error=None if closed is None else closed.mean_absolute,
        simulated_std=std,
        simulated_half_width=width,
        simulated_mean_error=mean,
        relative_error=relative,
        share_below_noise=None if case.for_any_scores else share,  # nothing is added to a score
        for_any_scores=case.for_any_scores,
        sample=tuple(errors[:_SAMPLE].tolist()),
    )


def _against(exact: Any, error: float | None, reach: float | None) -> tuple[float | None, float | None]:
    """The relative error, and the share of exact cells below the noise."""
    if exact is None:
        return None, None
    magnitudes = np.abs(exact)
    relative = error / float(magnitudes.mean()) if error is not None and magnitudes.any() else None
    return relative, None if reach is None else float((magnitudes < reach).mean())
